package verify

import (
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// told takes records into a history, at consecutive offsets from one on; a nil record leaves an offset out, as a marker
// does.
func told(h *history, from int64, records ...*txn.Record) {
	for i, r := range records {
		if r != nil {
			r.Offset = from + int64(i)
			h.take(r)
		}
	}
}

func newHistory() *history {
	return &history{journal: map[uint64]state.JournalEntry{}, levels: map[uint64][]byte{}, log: state.NewLog(), ended: -1,
		first: true}
}

func journal(n uint64, events int64) *txn.Record {
	return &txn.Record{Key: []byte(state.JournalKey(n)),
		Value: state.JournalEntry{Number: n, Position: state.Position{Events: events}}.Encode()}
}

func judged(n uint64) *txn.Record {
	return &txn.Record{Key: []byte(state.JudgedKey(n)), Value: state.Judgement{Number: n}.Encode(1)}
}

func done(number uint64, events, labels int64) *txn.Record {
	d := state.Done{Number: number, Events: events, Labels: labels, ScoresFrom: 70}
	return &txn.Record{Key: []byte(state.DoneKey), Value: d.Encode(1)}
}

// TestAFormerStateIsForgotten: by the record that begins the next one, and by the tombstones of its own records of each
// kind. The transaction in which the next one begins tells where.
func TestAFormerStateIsForgotten(t *testing.T) {
	former := []*txn.Record{journal(0, 3), journal(1, 4), judged(1), done(8, 4, 2)}
	begin := &txn.Record{Key: []byte(state.BeginKey), Value: state.EncodeBegin(9)}
	gone := func(key string) *txn.Record { return &txn.Record{Key: []byte(key)} }
	files := &txn.Record{Key: []byte(state.BootstrapKey), Value: state.Bootstrap{Number: 9, Records: 3}.Encode()}
	whole := beginning{anew: true, claimed: state.Position{Events: 40, Labels: 6}, scores: 70}
	unknown := beginning{anew: true, unknown: true}
	for _, c := range []struct {
		name    string
		records []*txn.Record
		want    beginning
		journal int
		judged  int
	}{
		{"nothing more", nil, beginning{}, 2, 1},
		{"a later transaction", []*txn.Record{done(9, 40, 6)}, beginning{}, 2, 1},
		{"it begins anew", []*txn.Record{begin, gone("journal/0"), gone("journal/1"), gone("judged/1"), done(9, 40, 6)},
			whole, 0, 0},
		{"a reader that misses the tombstones", []*txn.Record{begin, done(9, 40, 6)}, whole, 0, 0},
		{"a build that writes no beginning", []*txn.Record{gone("manifest/1"), done(9, 40, 6)}, whole, 0, 0},
		{"judgements alone", []*txn.Record{gone("judged/1"), done(9, 40, 6)}, whole, 0, 0},
		{"a journal record of its first transaction", []*txn.Record{begin, journal(0, 40), judged(0), done(9, 40, 6)}, whole,
			1, 1},
		{"the done record is of a later transaction", []*txn.Record{begin, nil, done(9, 40, 6)}, unknown, 0, 0},
		{"and so is the journal", []*txn.Record{begin, nil, journal(0, 41), done(9, 41, 6)}, unknown, 1, 0},
		{"it begins with files", []*txn.Record{begin, gone("bootstrap"), gone("journal/0"), done(9, 40, 6), files},
			beginning{anew: true, claimed: whole.claimed, scores: 70, files: true}, 0, 0},
		{"a part is deleted", []*txn.Record{gone("part/core/0/0")}, beginning{}, 2, 1},
	} {
		h := newHistory()
		h.levels[9] = []byte("levels")
		h.snapshots = []*snapshot{{}}
		told(h, 100, former...)
		told(h, 200, c.records...)
		if h.beginning != c.want || len(h.journal) != c.journal || len(h.judged) != c.judged {
			t.Errorf("%s: %+v, %d journal records, %d judgements; want %+v, %d, %d", c.name, h.beginning, len(h.journal),
				len(h.judged), c.want, c.journal, c.judged)
		}
		if kept := len(h.snapshots) + len(h.levels); (kept == 2) != (c.want == beginning{}) || kept == 1 {
			t.Errorf("%s: %d snapshots and %d levels are left", c.name, len(h.snapshots), len(h.levels))
		}
	}
}

// TestWhereAStateBegan: with the topics, or behind messages that were learnt again; not where the first of them are
// gone.
func TestWhereAStateBegan(t *testing.T) {
	at := func(events, labels int64) state.Position { return state.Position{Events: events, Labels: labels} }
	for _, c := range []struct {
		name  string
		b     beginning
		first state.Position
		want  state.Position
		ok    bool
	}{
		{"with the topics", beginning{}, at(0, 0), at(0, 0), true},
		{"the first events are gone", beginning{}, at(1, 0), at(0, 0), false},
		{"the first labels are gone", beginning{}, at(0, 1), at(0, 0), false},
		{"anew", beginning{anew: true, claimed: at(40, 6)}, at(0, 0), at(0, 6), true},
		{"anew, all labels before are gone", beginning{anew: true, claimed: at(40, 6)}, at(0, 6), at(0, 6), true},
		{"anew, one label more is gone", beginning{anew: true, claimed: at(40, 6)}, at(0, 7), at(0, 0), false},
		{"anew, at the first event", beginning{anew: true, claimed: at(40, 6)}, at(40, 0), at(40, 6), true},
		{"anew, some events are gone", beginning{anew: true, claimed: at(40, 6)}, at(39, 0), at(0, 0), false},
		{"anew, more events are gone", beginning{anew: true, claimed: at(40, 6)}, at(41, 0), at(0, 0), false},
		{"not known", beginning{anew: true, unknown: true}, at(0, 0), at(0, 0), false},
		{"of files", beginning{anew: true, files: true}, at(0, 0), at(0, 0), false},
	} {
		if got, ok := c.b.position(c.first); ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, ok, c.want)
		}
	}
}

// TestAJournalIsWholeWithAllItsModels: each record from one on is there, and each model that they change to.
func TestAJournalIsWholeWithAllItsModels(t *testing.T) {
	c := streamtest.NewTopic(t, "m")
	models := state.NewModels(c, "m", sample.Schema)
	for v := range int64(2) {
		m := &model.Model{Version: 2*v + 2, Levels: model.NewLevels(sample.Schema)} // 2 and 4
		records, err := models.Publication(state.NewPacker(), m, nil, time.Unix(1, 0), 1)
		if err == nil {
			err = c.Produce(t.Context(), records, txn.None)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for end := false; !end; {
		var err error
		if end, err = models.Advance(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		name    string
		journal map[uint64]int64 // models by number
		from    uint64
		model   int64
		want    bool
	}{
		{"no journal", nil, 0, 0, true}, {"one model", map[uint64]int64{3: 2, 4: 2}, 3, 0, true},
		{"a record is missing", map[uint64]int64{3: 2, 5: 2}, 3, 0, false},
		{"the first one is", map[uint64]int64{4: 2, 5: 2}, 3, 0, false},
		{"those before are", map[uint64]int64{3: 2, 5: 2}, 5, 2, true},
		{"a model is missing", map[uint64]int64{3: 2, 4: 3}, 3, 0, false},
		{"it serves at first", map[uint64]int64{3: 3, 4: 4}, 3, 3, true},
		{"it comes back", map[uint64]int64{3: 3, 4: 4, 5: 3}, 3, 3, false},
		{"no model any more", map[uint64]int64{3: 2, 4: 0}, 3, 2, false},
	} {
		h := newHistory()
		for n, m := range x.journal {
			h.journal[n] = state.JournalEntry{Number: n, Position: state.Position{Model: m}}
		}
		if got := h.complete(x.from, x.model, models); got != x.want {
			t.Errorf("%s: complete %v", x.name, got)
		}
	}
}

// TestProblemsAreListedUpToABound, and the others counted.
func TestProblemsAreListedUpToABound(t *testing.T) {
	var v Verdict
	for i := range maxProblems + 3 {
		v.problem("problem %d", i)
	}
	if len(v.Problems) != maxProblems || v.More != 3 || v.Problems[0] != "problem 0" {
		t.Errorf("%d problems, %d more", len(v.Problems), v.More)
	}
}
