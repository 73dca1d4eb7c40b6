package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// scored is a world whose messages a stage has scored, as a replay of them does: ten messages of 20 records.
type scored struct {
	*streamtest.World
	o      Options
	scores []txn.Record
}

func newScored(t *testing.T) *scored {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w := &scored{World: streamtest.NewWorld(t, b.Addr(), 1)}
	w.o = Options{Name: w.Name, Spec: sample.Spec(), Codec: w.Codec(), Client: w.Client, Topics: w.Topics}
	w.Produce(200, 20, true)
	m := w.machine(t)
	m.Begin(state.Position{})
	for _, r := range w.Records(w.Topics.Events, 0) {
		var value []byte
		_, err := m.ReadEvents(&r)
		if err == nil {
			m.BeginScores(0)
			err = m.Score(nil, func(b *model.Batch, from int) (err error) {
				value, err = m.AppendScores(value, b, from)
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		m.ScoreParts()
		w.scores = append(w.scores, txn.Record{Key: r.Key, Time: r.Time, Value: value,
			Headers: scores.Headers(&r, w.Name, m.Batch.N, 0)})
		if m.At.Events = r.Next(); m.At.Events == 6 {
			w.snapshot(t, m)
		}
	}
	d := state.Done{Number: 1, Events: 10, Answered: 10}
	w.send(t, txn.Record{Topic: w.Topics.State, Key: []byte(state.DoneKey), Value: d.Encode(1)})
	p, err := w.Client.NewProducer(t.Context(), w.Name+"-0", time.Minute)
	if err == nil {
		err = p.Commit(t.Context(), txn.Transaction{Group: w.Name, Generation: -1, Note: d.Note(),
			Offsets: map[string]map[int]int64{w.Topics.Events: {0: 10}, w.Topics.Labels: {0: 0}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *scored) machine(t *testing.T) *replay.Machine {
	t.Helper()
	m, err := replay.New(replay.Options{Client: w.Client, Events: w.Topics.Events, Labels: w.Topics.Labels,
		Spec: w.o.Spec, Codec: w.o.Codec})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (w *scored) send(t *testing.T, records ...txn.Record) {
	t.Helper()
	if err := w.Client.Produce(t.Context(), records, txn.None); err != nil {
		t.Fatal(err)
	}
}

// snapshot writes a snapshot of the machine's state.
func (w *scored) snapshot(t *testing.T, m *replay.Machine) {
	t.Helper()
	s := state.NewSnapshotter()
	s.Start(m.Part, w.o.Spec.Options.Fingerprint, m.At, m.Journal, 1)
	for whole := false; !whole; {
		var pieces []state.Change
		pieces, whole = s.Take(1 << 20)
		for _, c := range pieces {
			w.send(t, txn.Record{Topic: w.Topics.State, Key: []byte(c.Key), Value: c.Value})
		}
	}
}

// TestScoresAreComparedOneByOne: each fault is found and named, with its message and event, and nothing else is.
func TestScoresAreComparedOneByOne(t *testing.T) {
	w := newScored(t)
	at := func(i int) time.Time { return w.scores[i].Time }
	changed := func(i int, change func(r *txn.Record)) func(all []txn.Record) []txn.Record {
		return func(all []txn.Record) []txn.Record {
			all[i].Value = slices.Clone(all[i].Value)
			change(&all[i])
			return all
		}
	}
	turned := func(r *txn.Record) { r.Value[len(r.Value)/2] ^= 1 }
	twice := func(i int) func(all []txn.Record) []txn.Record {
		return func(all []txn.Record) []txn.Record { return slices.Insert(all, i, all[i]) }
	}
	for i, c := range []struct {
		name     string
		change   func(all []txn.Record) []txn.Record
		from, to time.Time
		messages int
		end      int64
		problems []string
	}{
		{"as they were written", nil, time.Time{}, time.Time{}, 10, 10, nil},
		{"a bit is turned", changed(4, turned), time.Time{}, time.Time{}, 10, 10,
			[]string{"scores message 4, of event 4: not what the replay gives"}},
		{"another key", changed(3, func(r *txn.Record) { r.Key = []byte("k") }), time.Time{}, time.Time{}, 10, 10,
			[]string{"scores message 3, of event 3: another key or time"}},
		{"another time", changed(3, func(r *txn.Record) { r.Time = r.Time.Add(time.Millisecond) }), time.Time{}, time.Time{},
			10, 10, []string{"scores message 3, of event 3: another key or time"}},
		{"one is missing", func(all []txn.Record) []txn.Record { return slices.Delete(all, 4, 5) }, time.Time{}, time.Time{},
			9, 10, []string{"event 4 has no score"}},
		{"the first is missing", func(all []txn.Record) []txn.Record { return all[1:] }, time.Time{}, time.Time{}, 9, 10,
			[]string{"event 0 has no score"}},
		{"the last is missing, as after the death of a broker", func(all []txn.Record) []txn.Record { return all[:9] },
			time.Time{}, time.Time{}, 9, 9, nil},
		{"one comes twice", twice(4), time.Time{}, time.Time{}, 10, 10,
			[]string{"scores message 5 answers event 4 a second time"}},
		{"an earlier one at the end", func(all []txn.Record) []txn.Record { return append(all, all[3]) }, time.Time{},
			time.Time{}, 10, 10, []string{"scores message 10 answers event 3 a second time"}},
		{"another stage's beside them", func(all []txn.Record) []txn.Record {
			r := txn.Record{Value: []byte("theirs"), Headers: scores.Headers(&txn.Record{Offset: 4}, "other", 1, 0)}
			return slices.Insert(slices.Insert(all, 4, r), 0, r)
		}, time.Time{}, time.Time{}, 10, 10, nil},
		{"within a range of time", nil, at(3), at(6), 4, 10, nil},
		{"a fault in the range", changed(3, turned), at(3), at(6), 4, 10, []string{"scores message 3, of event 3"}},
		{"one at its end", changed(6, turned), at(3), at(6), 4, 10, []string{"scores message 6, of event 6"}},
		{"faults beside it", func(all []txn.Record) []txn.Record {
			return changed(2, turned)(changed(7, turned)(all))
		}, at(3), at(6), 4, 10, nil},
		{"from a time on", changed(2, turned), at(3), time.Time{}, 7, 10, nil},
		{"one is missing behind the first of them", func(all []txn.Record) []txn.Record {
			return slices.Delete(all, 5, 6)
		}, at(3), time.Time{}, 6, 10, []string{"event 5 has no score"}},
		{"one comes twice behind the first of them", twice(5), at(3), time.Time{}, 7, 10,
			[]string{"scores message 6 answers event 5 a second time"}},
		{"up to a time", changed(7, turned), time.Time{}, at(6), 7, 10, nil},
	} {
		o := w.o
		o.From, o.To = c.from, c.to
		o.Topics.Scores += "-" + string(rune('a'+i))
		if _, err := w.Client.CreateTopics(t.Context(), txn.TopicSpec{Name: o.Topics.Scores, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		all := slices.Clone(w.scores)
		if c.change != nil {
			all = c.change(all)
		}
		for k := range all {
			all[k].Topic = o.Topics.Scores
		}
		w.send(t, all...)
		got, err := Verify(t.Context(), o)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v", c.name, err)
		}
		v := got[0]
		if v.Messages != c.messages || v.Records != 20*c.messages || v.From != 0 || v.To != c.end || v.States != 1 ||
			v.Unread != 0 || v.Start != "the beginning" || v.Labels != 0 || v.Swaps != 0 || v.More != 0 || v.Because != "" {
			t.Errorf("%s: %+v", c.name, v)
		}
		if !slices.EqualFunc(v.Problems, c.problems, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, v.Problems, c.problems)
		}
	}
}

// TestSnapshotsAreComparedSectionBySection, and counted where they can be no more.
func TestSnapshotsAreComparedSectionBySection(t *testing.T) {
	w := newScored(t)
	h, err := readHistory(t.Context(), w.Client, w.Topics.State, 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	v := &verifier{o: &w.o, history: h, verdict: &Verdict{}, m: w.machine(t)}
	v.m.Begin(state.Position{})
	if err := v.m.EventsTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	x := h.snapshots[0]
	if v.compare(x); v.verdict.States != 1 || v.verdict.Unread != 0 || len(v.verdict.Problems) > 0 {
		t.Errorf("%+v", v.verdict)
	}
	delete(x.digests, model.SectionSchema) // a build of before wrote none
	if v.compare(x); v.verdict.States != 2 || len(v.verdict.Problems) > 0 {
		t.Errorf("%+v", v.verdict)
	}
	delete(x.digests, "core")
	x.digests["other"], x.digests[model.SectionLevels] = [32]byte{}, [32]byte{}
	v.compare(x)
	if p := v.verdict.Problems; len(p) != 1 || !strings.Contains(p[0], "snapshot 1, at event 6") ||
		!strings.Contains(p[0], "[levels other core]") {
		t.Errorf("%q", p)
	}
	if v.compare(&snapshot{Manifest: x.Manifest}); v.verdict.States != 3 || v.verdict.Unread != 1 {
		t.Errorf("%+v", v.verdict)
	}
}

// TestAReplayBeginsWithAUsableSnapshot: the oldest one of this configuration, with its messages and its journal, before
// the committed offset.
func TestAReplayBeginsWithAUsableSnapshot(t *testing.T) {
	w := newScored(t)
	sections := func() map[string][]byte {
		m := w.machine(t)
		m.Begin(state.Position{})
		return m.Part.Snapshot()
	}()
	for _, c := range []struct {
		name   string
		change func(h *history)
		want   string
	}{
		{"the oldest", func(*history) {}, "snapshot 3"},
		{"it is of another configuration", func(h *history) { h.snapshots[0].Fingerprint = 8 }, "snapshot 4"},
		{"its parts are gone", func(h *history) { h.snapshots[0].sections = nil }, "snapshot 4"},
		{"its journal is gone", func(h *history) { delete(h.journal, 2) }, "snapshot 4"},
		{"it lies behind the committed offset", func(h *history) { h.snapshots[0].Events = 11 }, "snapshot 4"},
		{"its parts are damaged", func(h *history) {
			h.snapshots[0].sections = map[string][]byte{"core": []byte("damage")}
		}, "snapshot 4"},
		{"none has its journal", func(h *history) { delete(h.journal, 3) }, ""},
	} {
		h := newHistory()
		h.beginning.unknown = true
		for n := range uint64(2) {
			h.snapshots = append(h.snapshots, &snapshot{sections: sections, Manifest: &state.Manifest{Number: n + 3,
				Fingerprint: 9, Position: state.Position{Events: int64(n) + 5}, Journal: n + 2}})
			h.journal[n+2] = state.JournalEntry{Number: n + 2}
		}
		h.journal[4] = state.JournalEntry{Number: 4}
		c.change(h)
		v := &verifier{o: &w.o, history: h, verdict: &Verdict{}, m: w.machine(t),
			models: state.NewModels(w.Client, w.Topics.Model, sample.Schema)}
		if got := v.begin(t.Context(), 10); got != (c.want != "") || v.verdict.Start != c.want {
			t.Errorf("%s: %v, %q; want %q", c.name, got, v.verdict.Start, c.want)
		}
	}
}

// TestTheOldestAndTheNewestSnapshotsAreKept to begin with, and no bytes of the others; all of them are compared.
func TestTheOldestAndTheNewestSnapshotsAreKept(t *testing.T) {
	h := newHistory()
	m := learntOf(t)
	snap := state.NewSnapshotter()
	offset := int64(0)
	for range 6 {
		snap.Start(m, 9, state.Position{Events: m.NextOffset()}, 0, 1)
		for snap.Busy() {
			pieces, whole := snap.Take(1 << 20)
			for _, c := range pieces {
				told(h, offset, &txn.Record{Key: []byte(c.Key), Value: c.Value})
				offset++
			}
			if whole {
				snap.Complete()
			}
		}
		var s model.Scores
		m.Events(sample.Records(int(m.NextOffset())+1, 10), &s)
	}
	var kept []uint64
	for _, x := range h.snapshots {
		if x.sections != nil {
			kept = append(kept, x.Number)
		}
		if x.digests == nil {
			t.Errorf("snapshot %d cannot be compared", x.Number)
		}
	}
	if !slices.Equal(kept, []uint64{1, 5, 6}) || h.levels[9] == nil {
		t.Errorf("the bytes of the snapshots %v are kept", kept)
	}
}

func learntOf(t *testing.T) *model.Partition {
	t.Helper()
	var s model.Scores
	p := model.NewPartition(sample.Spec(), 0)
	p.Events(sample.Records(0, 100), &s)
	return p
}

// TestAReplayTellsItsLabels: each message of them once, over all journal records.
func TestAReplayTellsItsLabels(t *testing.T) {
	w := newScored(t)
	for i := range 3 {
		w.SendLabels(5*i, 5)
	}
	h := newHistory()
	for n, at := range []state.Position{{Events: 2, Labels: 1}, {Events: 4, Labels: 3}} {
		h.journal[uint64(n)] = state.JournalEntry{Number: uint64(n), Position: at}
	}
	v := &verifier{o: &w.o, history: h, verdict: &Verdict{}, m: w.machine(t)}
	v.m.Begin(state.Position{})
	if err := v.replay(t.Context(), 5); err != nil || v.verdict.Labels != 3 || v.verdict.Swaps != 0 ||
		v.m.At.Events != 5 || v.m.At.Labels != 3 {
		t.Errorf("%v, %+v at %+v", err, v.verdict, v.m.At)
	}
}
