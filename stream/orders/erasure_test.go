package orders

import (
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// record is the record of an obeyed order as the state topic has it.
func record(e *state.Erased) *txn.Record {
	return &txn.Record{Key: []byte(state.ErasedKey(e.Journal)), Value: e.Encode(state.OldestFormat)}
}

// TestOrdersAreNumberedPastTheStates: a model topic that was made anew knows no order, and the states have obeyed some.
// An order of a number that they know would be passed over, and the command would say that it was obeyed.
func TestOrdersAreNumberedPastTheStates(t *testing.T) {
	f := &Forgetting{answers: []*answers{{obeyed: map[uint64]*state.Erased{}}}}
	if n := f.next(nil); n != 1 {
		t.Errorf("the first order has number %d", n)
	}
	f.answers[0].take(record(&state.Erased{Journal: 9, Erasure: model.Erasure{Number: 5}, Emptied: true}))
	for known, want := range map[uint64]uint64{0: 6, 3: 6, 7: 8} {
		if n := f.next([]*state.Erasure{{Erasure: model.Erasure{Number: known}}}); n != want {
			t.Errorf("after order %d, and 5 of the states: %d, want %d", known, n, want)
		}
	}
}

// TestKeysOutlastTheRecord: where compaction has left the emptied record of an obeyed order alone, its keys are those
// of that record; where the older one is there still, they are those of either.
func TestKeysOutlastTheRecord(t *testing.T) {
	first := &state.Erased{Journal: 9, Erasure: model.Erasure{Number: 5}, Found: model.Forgotten{Prototypes: 2},
		Keys: []uint64{3, 7}}
	open, gone := first.Empty(), first.Empty()
	open.Keys = first.Keys
	for name, records := range map[string][]*state.Erased{"open": {open}, "both": {first, open},
		"all": {first, open, gone}} {
		f := &Forgetting{answers: []*answers{{obeyed: map[uint64]*state.Erased{}}}}
		for _, e := range records {
			f.answers[0].take(record(e))
		}
		if a := f.Answers(5); !slices.Equal(a[0].Keys, first.Keys) || !a[0].Clean {
			t.Errorf("%s: %+v", name, a[0])
		}
	}
}

// TestAStateThatBeginsAnewHasObeyedNothing: a record from before belongs to a state that is gone, though compaction has
// left it in the topic. The answer must not say that the new state forgot the ids.
func TestAStateThatBeginsAnewHasObeyedNothing(t *testing.T) {
	f := &Forgetting{answers: []*answers{{obeyed: map[uint64]*state.Erased{}}}}
	old := &state.Erased{Journal: 9, Erasure: model.Erasure{Number: 5}, Emptied: true}
	f.answers[0].take(record(old))
	if a := f.Answers(5)[0]; !a.Obeyed || !a.Clean {
		t.Fatalf("%+v", a)
	}
	f.answers[0].take(&txn.Record{Key: []byte(state.BeginKey)})
	if a := f.Answers(5)[0]; a.Obeyed || a.Clean {
		t.Errorf("the former state answers for the new one: %+v", a)
	}
	f.answers[0].take(record(&state.Erased{Journal: 2, Erasure: model.Erasure{Number: 6}, Emptied: true}))
	if a := f.Answers(5)[0]; !a.Obeyed || !a.Clean {
		t.Errorf("an order after it is obeyed by a state of records without the ids: %+v", a)
	}
}

// TestAPartitionIsCleanOnceItHasWrittenAnew: until then a snapshot of before may hold the records that an order has
// found. One that found nothing has nothing to write, and a later order that is not cleaned up says nothing against an
// earlier one.
func TestAPartitionIsCleanOnceItHasWrittenAnew(t *testing.T) {
	some := model.Forgotten{Tail: 1}
	obeyed := func(number uint64, found model.Forgotten, emptied bool) *state.Erased {
		return &state.Erased{Journal: 10 * number, Erasure: model.Erasure{Number: number}, Found: found, Emptied: emptied}
	}
	for _, c := range []struct {
		name          string
		records       []*state.Erased
		obeyed, clean bool // of order 5
	}{
		{"none", nil, false, false},
		{"another one", []*state.Erased{obeyed(4, some, true)}, false, false},
		{"obeyed", []*state.Erased{obeyed(5, some, false)}, true, false},
		{"obeyed, nothing found", []*state.Erased{obeyed(5, model.Forgotten{}, false)}, true, true},
		{"written", []*state.Erased{obeyed(5, some, true)}, true, true},
		{"an earlier one is not", []*state.Erased{obeyed(4, some, false), obeyed(5, some, true)}, true, false},
		{"a later one is not", []*state.Erased{obeyed(5, some, true), obeyed(6, some, false)}, true, true},
	} {
		f := &Forgetting{answers: []*answers{{obeyed: map[uint64]*state.Erased{}}}}
		for _, e := range c.records {
			f.answers[0].take(record(e))
		}
		if a := f.Answers(5)[0]; a.Obeyed != c.obeyed || a.Clean != c.clean {
			t.Errorf("%s: obeyed %v, clean %v; want %v, %v", c.name, a.Obeyed, a.Clean, c.obeyed, c.clean)
		}
	}
}
