package model_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/local"
)

// odd is the value of a feature that the records to forget have, and no other record.
const odd = 33.123456789012345

// heldOdd counts the rows of a state that hold the odd value, decoded, and its bytes in the sections. A cut of cells is
// the value of a record, and no row: those of lift and scorecard are left out.
func heldOdd(p *model.Partition) (n int) {
	for _, row := range model.HeldRows(p) {
		for _, v := range row {
			if v == odd {
				n++
			}
		}
	}
	value := binary.LittleEndian.AppendUint64(nil, math.Float64bits(odd))
	for name, b := range p.Snapshot() {
		if name != "model/"+lift.Name && name != "model/propensity" {
			n += bytes.Count(b, value)
		}
	}
	return n
}

// TestARecordThatLostItsIDIsForgotten: where labels mean the newest record of an id, or the first, the others wait on
// without it. An order to forget finds them all the same: in open and sealed parts, after a restart, after parts were
// packed anew, and in the tail after a label by their place. Nobody else is forgotten.
func TestARecordThatLostItsIDIsForgotten(t *testing.T) {
	for _, match := range []model.Match{model.MatchNewest, model.MatchFirst} {
		for _, restored := range []bool{false, true} {
			t.Run(fmt.Sprintf("match %d, restored %v", match, restored), func(t *testing.T) {
				spec := newSpec(func(o *model.Options) { o.Match = match })
				p := model.NewPartition(spec, 0)
				n := 0
				mark := func(b *model.Batch) {
					for i := range b.ID {
						if b.Row[i]%20 == 3 {
							b.ID[i], b.Columns[0].Float[i], b.Label[i] = "gone", odd, model.Unlabelled
							n++
						}
					}
				}
				feed(p, 0, 1100, 100, mark)
				for row := int32(0); row < 1000; row++ { // the first part is packed anew
					if row%20 != 3 && row%3 > 0 {
						p.Labels(&model.Labels{N: 1, Class: []int32{1}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{row}})
					}
				}
				feed(p, 1100, 2500, 100, mark)
				restart := func() {
					if !restored {
						return
					}
					var err error
					if p, err = model.RestorePartition(spec, p.Snapshot()); err != nil {
						t.Fatal(err)
					}
				}
				restart()
				said := p.Labels(&model.Labels{N: 2, Class: []int32{1, 1}, Partition: []int32{0, 0}, Offset: []int64{0, 0},
					Row: []int32{403, 2403}})
				if said.Learnt != 2 {
					t.Fatalf("labels by place: %+v", said)
				}
				restart()
				if c := p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"gone"}}); c.Learnt+c.Repeated != 1 {
					t.Fatalf("a label by the id: %+v", c)
				}
				before := len(model.HeldRows(p))
				if heldOdd(p) < n {
					t.Fatal("the state holds too few of the rows: the test would say nothing")
				}
				found, _ := model.Forget(p, erasure(1, "gone"))
				if found.Waiting != n || found.Tail < 2 || found.Counts != found.Tail {
					t.Errorf("found %+v of %d records", found, n)
				}
				restart()
				if left := heldOdd(p); left > 0 {
					t.Errorf("%d rows are left", left)
				}
				if bytes.Contains(state(p), []byte("gone")) {
					t.Error("the id is left")
				}
				if after := len(model.HeldRows(p)); before-after != n {
					t.Errorf("%d rows left the state, want %d", before-after, n)
				}
			})
		}
	}
}

// TestNoComponentHoldsAForgottenRecord: neither prototypes nor newest records of the components, nor the model after
// it, hold its row. No other record leaves.
func TestNoComponentHoldsAForgottenRecord(t *testing.T) {
	spec := carrySpec(wide)
	spec.Components[1] = local.New(local.Options{Theta: .1, Prototypes: 128, Newest: 300}, wide)
	p := model.NewPartition(spec, 0)
	var out model.Scores
	var gone []*model.Example
	for from := 0; from < 1800; from += 100 {
		b := wideRows(wide, from, 100, true)
		for i := range b.ID {
			if b.Row[i]%15 == 3 {
				b.ID[i], b.Columns[0].Float[i] = "gone", odd
			}
		}
		p.Events(b, &out)
	}
	serve := func(version int64) *model.Model {
		t.Helper()
		m, err := model.Fit(t.Context(), spec, model.Held{0: p.Snapshot()}, nil)
		if err == nil {
			m.Version = version
			err = p.Swap(m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	serve(1)
	for _, ex := range model.LearntExamples(p) {
		if ex.Row[0] == odd {
			gone = append(gone, ex)
		}
	}
	known := func() (n int) {
		for _, f := range spec.Components {
			if x, ok := p.Component(f.Name()).(model.Forgetter); ok {
				for _, ex := range gone {
					n += len(x.Keys(ex))
				}
			}
		}
		return n
	}
	if known() == 0 || heldOdd(p) <= len(gone) {
		t.Fatalf("%d prototypes, %d values of %d records: the test would say nothing", known(), heldOdd(p), len(gone))
	}
	if found, _ := model.Forget(p, erasure(1, "gone")); found.Tail != len(gone) || found.Prototypes == 0 {
		t.Errorf("found %+v of %d records", found, len(gone))
	}
	if known() > 0 || heldOdd(p) > 0 {
		t.Errorf("%d prototypes and %d values are left", known(), heldOdd(p))
	}
	m := serve(2)
	if known() > 0 || heldOdd(p) > 0 {
		t.Errorf("with the next model %d prototypes and %d values are left", known(), heldOdd(p))
	}
	for _, f := range spec.Components[1:] {
		if bytes.Contains(m.Parts[f.Name()], binary.LittleEndian.AppendUint64(nil, math.Float64bits(odd))) {
			t.Errorf("%s of the next model holds the value", f.Name())
		}
	}
}

// TestTheFirstValuesOfCellsAreForgotten: the uplift and the misfit hold the values of the first records, of which they
// will cut cells. Those of a forgotten record leave them, be it learnt, waiting for its label or of weight 0.
func TestTheFirstValuesOfCellsAreForgotten(t *testing.T) {
	spec := newSpec(func(o *model.Options) {
		o.Interval, o.Control = .9, model.Control{Share: .5, Uplift: true}
	})
	value := binary.LittleEndian.AppendUint64(nil, math.Float64bits(odd))
	for name, edit := range map[string]func(b *model.Batch, i int){
		"learnt":      func(*model.Batch, int) {},
		"waiting":     func(b *model.Batch, i int) { b.Label[i] = model.Unlabelled },
		"of weight 0": func(b *model.Batch, i int) { b.Weight[i] = 0 },
	} {
		p := model.NewPartition(spec, 0)
		feed(p, 0, 60, 20, func(b *model.Batch) {
			b.Weight = slices.Repeat([]float64{1}, b.N)
			for i := range b.N {
				if b.Row[i] == 30 || b.Row[i] == 50 {
					b.ID[i], b.Columns[0].Float[i] = "gone", odd+float64(b.Row[i]-30)
					edit(b, i)
				}
			}
		})
		for _, forgotten := range []bool{false, true} {
			if forgotten {
				model.Forget(p, erasure(1, "gone"))
			}
			for _, section := range []string{"uplift", "misfit"} {
				if got := bytes.Contains(p.Snapshot()[section], value); got == forgotten {
					t.Errorf("%s, forgotten %v: %s holds the value: %v", name, forgotten, section, got)
				}
			}
		}
	}
}

// TestARecordThatTheSampleLetGoIsTakenBack: a learnt record that waits for a correction leaves the counts also where
// neither the tail nor the reservoir has it any more.
func TestARecordThatTheSampleLetGoIsTakenBack(t *testing.T) {
	spec := newSpec(func(o *model.Options) {
		o.TailBytes, o.ReservoirBytes, o.WaitBytes, o.WaitWindow = 1, 1, 1<<26, 0
	})
	p := model.NewPartition(spec, 0)
	feed(p, 0, 9000, 500, nil)
	before, square := model.ClassCounts(p)
	want := slices.Clone(before)
	want[rows(5, 1).Label[0]]--
	found, _ := model.Forget(p, erasure(1, "c5"))
	if found != (model.Forgotten{Waiting: 1, Counts: 1}) {
		t.Errorf("found %+v", found)
	}
	if sum, now := model.ClassCounts(p); !slices.Equal(sum, want) || now != square-1 {
		t.Errorf("the classes count %v and squares of %v, want %v and %v", sum, now, want, square-1)
	}
}
