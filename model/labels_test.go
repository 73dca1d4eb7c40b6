package model_test

import (
	"bytes"
	"testing"
	"time"

	"liftstream/model"
)

func TestLateLabelsByIDAndByPosition(t *testing.T) {
	byID, byPlace := model.NewPartition(newSpec(nil), 0), model.NewPartition(newSpec(nil), 0)
	for _, p := range []*model.Partition{byID, byPlace} {
		feed(p, 0, 500, 50, nil)
		feed(p, 500, 700, 50, func(b *model.Batch) { withhold(b, 1) })
	}
	b := rows(500, 200)
	n, rest := int32(len(b.Label)), &model.Labels{N: 200, Class: b.Label}
	for i := range n {
		rest.Partition = append(rest.Partition, 0)
		rest.Offset = append(rest.Offset, 0)
		rest.Row = append(rest.Row, 500+i)
	}
	one := byID.Labels(&model.Labels{N: 200, Class: b.Label, ID: b.ID})
	two := byPlace.Labels(rest)
	if one.Learnt != 200 || two != one {
		t.Fatalf("labels by id %+v, by position %+v", one, two)
	}
	if !bytes.Equal(state(byID), state(byPlace)) {
		t.Error("labels by id and by position lead to different states")
	}
	if again := byID.Labels(&model.Labels{N: 200, Class: b.Label, ID: b.ID}); again.Repeated != 200 ||
		byID.Labelled() != 700 {
		t.Errorf("the same labels again: %+v", again)
	}
	if c := byID.Labels(&model.Labels{N: 1, Class: []int32{0}, ID: []string{"nobody"}}); c.Unmatched != 1 {
		t.Errorf("label of an unknown record: %+v", c)
	}
	rest.Partition[0] = 9
	if c := byPlace.Labels(rest); c.Misrouted != 1 {
		t.Errorf("label of another partition: %+v", c)
	}
	flip := []int32{1 - b.Label[0]}
	if c := byID.Labels(&model.Labels{N: 1, Class: flip, ID: b.ID[:1]}); c.Corrected != 1 || byID.Labelled() != 700 {
		t.Errorf("another class for a learnt record: %+v, labelled %v", c, byID.Labelled())
	}
}

// TestLabelsMoveTheTimeHoweverTheyAreBatched: the times of labels decide which records are overdue; the order of the
// labels in a message does not.
func TestLabelsMoveTheTimeHoweverTheyAreBatched(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second) })
	var states [][]byte
	for _, size := range []int{1, 2} {
		p := model.NewPartition(spec, 0)
		feed(p, 0, 50, 50, func(b *model.Batch) { withhold(b, 1) })
		ids, times := []string{"c48", "c49"}, []int64{int64(120 * time.Second), int64(60 * time.Second)}
		for i := 0; i < 2; i += size {
			l := &model.Labels{N: size, Class: make([]int32, size), ID: ids[i : i+size], Time: times[i : i+size]}
			if c := p.Labels(l); c.Learnt != size {
				t.Fatalf("labels %+v", c)
			}
		}
		states = append(states, state(p))
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Error("labels in one message and in two lead to different states")
	}
}

// TestCorrectionReachesTheSample: later fits see the corrected class of a record, in the tail and in the reservoir.
func TestCorrectionReachesTheSample(t *testing.T) {
	p := model.NewPartition(newSpec(func(o *model.Options) {
		o.WaitWindow, o.WaitBytes, o.ReservoirRecords = 0, 1<<24, 1<<12
		o.TailBytes = 1
	}), 0)
	const n = 5000 // the tail holds 4,096, the reservoir all others
	feed(p, 0, n, 500, nil)
	for _, i := range []int{10, n - 10} {
		section := map[int]string{10: "reservoir", n - 10: "tail/0"}[i]
		was := rows(i, 1).Label[0]
		states := [][]byte{p.Snapshot()[section]}
		for _, class := range []int32{1 - was, was} {
			l := &model.Labels{N: 1, Class: []int32{class}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{int32(i)}}
			if c := p.Labels(l); c.Corrected != 1 {
				t.Fatalf("record %d: %+v", i, c)
			}
			states = append(states, p.Snapshot()[section])
		}
		if bytes.Equal(states[0], states[1]) || !bytes.Equal(states[0], states[2]) {
			t.Errorf("record %d keeps its class in %s, or does not get it back", i, section)
		}
	}
}

func TestRoomExpires(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second); o.ExpireAs = 0 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 1000, 50, func(b *model.Batch) { withhold(b, 1) })
	// One record a second, the last at 999 s: records up to 898 s are older than the window, that of 899 s is not.
	if got := p.Labelled(); got != 899 {
		t.Errorf("%v records expired into a class, want 899", got)
	}
	small := model.NewPartition(newSpec(func(o *model.Options) { o.WaitBytes = 20_000 }), 0)
	feed(small, 0, 5000, 50, func(b *model.Batch) { withhold(b, 1) })
	w := model.WaitsOf(small)
	if w.Bytes > 20_000 || w.Bytes != small.Waiting() || w.Records+int(small.Losses().Evicted) != 5000 || w.Records < 20 {
		t.Errorf("the store holds %+v, %d evicted", w, small.Losses().Evicted)
	}
}

// TestTheBoundMakesNoClass: a record that leaves because the store is full leaves unlearnt, though records without a
// label count as "no" once their window has closed. It is counted, in a restored partition too.
func TestTheBoundMakesNoClass(t *testing.T) {
	for _, c := range []struct {
		name             string
		bytes            int64
		expired, evicted uint64
	}{
		{"room for all", 1 << 20, 899, 0},
		{"too small for the window", 5_000, 0, 950},
	} {
		spec := newSpec(func(o *model.Options) {
			o.WaitWindow, o.ExpireAs, o.WaitBytes = int64(100*time.Second), 0, c.bytes
		})
		p := model.NewPartition(spec, 0)
		feed(p, 0, 500, 50, func(b *model.Batch) { withhold(b, 1) })
		p, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		feed(p, 500, 1000, 50, func(b *model.Batch) { withhold(b, 1) })
		lost, w := p.Losses(), model.WaitsOf(p)
		if lost.Expired != c.expired || p.Labelled() != float64(c.expired) || lost.Evicted < c.evicted ||
			(c.evicted == 0) != (lost.Evicted == 0) || int(lost.Expired+lost.Evicted)+w.Records != 1000 {
			t.Errorf("%s: %+v, %v learnt, %+v wait", c.name, lost, p.Labelled(), w)
		}
		if want := min(100, w.Records-1); time.Duration(w.Oldest) != time.Duration(want)*time.Second {
			t.Errorf("%s: the oldest of %d waits for %v", c.name, w.Records, time.Duration(w.Oldest))
		}
	}
	spec := newSpec(nil)
	sections := model.NewPartition(spec, 0).Snapshot()
	if _, ok := sections["waiting"]; ok {
		t.Error("an empty store has a section")
	}
	for name, b := range map[string]string{"another format": "\x03\x05\x00\x00\x00\x00", "cut": "\x02\x05",
		"left over": "\x02\x05\x00\x00\x00\x00\x05", "records that are not there": "\x02\x05\x00\x00\x01\x00",
		"left over in format 1": "\x01\x05\x00\x00\x00\x00"} {
		sections["waiting"] = []byte(b)
		if _, err := model.RestorePartition(spec, sections); err == nil {
			t.Errorf("%s: a section of losses is accepted", name)
		}
	}
	sections["waiting"] = []byte("\x02\x05\x07\x02\x00\x00")
	p, err := model.RestorePartition(spec, sections)
	if err != nil || p.Losses().Evicted != 5 || p.Losses().Thinned != 7 || model.WaitsOf(p).Kept != 4 {
		t.Errorf("losses %v", err)
	}
	sections["waiting"] = []byte("\x01\x05") // of the builds before
	if p, err = model.RestorePartition(spec, sections); err != nil || p.Losses().Evicted != 5 {
		t.Errorf("losses of format 1: %v", err)
	}
}
