package model

import (
	"slices"
	"testing"
)

// TestTheEvidenceOfAGoal: the records that know the goal, in their order, and of these the reservoirs' before Recent.
// A record of another goal alone, or of none, is not among them.
func TestTheEvidenceOfAGoal(t *testing.T) {
	of := func(goal int, class int32) Outcomes { return Outcomes(0).With(goal, class) }
	s := &Schema{Features: []Feature{{Name: "x"}}, Classes: []string{"no", "yes"}}
	ev := &Evidence{Schema: s, Columns: [][]float64{{0, 1, 2, 3, 4, 5, 6}}, Recent: 3,
		Class: []int32{0, 1, 0, 1, 0, 1, 0}, Weight: []float64{1, 2, 3, 4, 5, 6, 7}, Clock: []float64{9, 8, 7, 6, 5, 4, 3},
		Time: make([]int64, 7), Partition: []int32{0, 1, 0, 1, 0, 1, 0},
		Outcomes: []Outcomes{of(0, 1), of(1, 1), of(0, 0), of(0, 1), 0, of(0, 0).With(1, 0), of(1, 1)}}
	for goal, want := range map[int]struct {
		rows, weights []float64
		class         []int32
		recent        int
	}{0: {[]float64{0, 2, 3, 5}, []float64{1, 3, 4, 6}, []int32{1, 0, 1, 0}, 2},
		1: {[]float64{1, 5, 6}, []float64{2, 6, 7}, []int32{1, 0, 1}, 1}, 2: {}} {
		got := ev.ofGoal(goal, s)
		if !slices.Equal(got.Columns[0], want.rows) || !slices.Equal(got.Weight, want.weights) ||
			!slices.Equal(got.Class, want.class) || got.Recent != want.recent || got.Len() != len(want.rows) {
			t.Errorf("goal %d: records %v of the classes %v, weights %v, %d of them of the reservoirs; want %+v", goal,
				got.Columns[0], got.Class, got.Weight, got.Recent, want)
		}
	}
	if ev.Recent != 3 || ev.Outcomes == nil || len(ev.Class) != 7 {
		t.Errorf("the evidence of the label has changed: %+v", ev)
	}
}

// TestAForgottenRecordOfAReservoirStandsForNobody: the others stand for as many as they did.
func TestAForgottenRecordOfAReservoirStandsForNobody(t *testing.T) {
	r := newReservoir(1, 100, 1<<40)
	for i := range 1000 {
		r.add(&record{Example: Example{Row: Row{float64(i)}, Weight: 1}, who: uint64(i % 4)}, Hash(7, uint64(i)))
	}
	version, own := r.version, 0
	for i := range r.items {
		if r.items[i].who == 3 {
			own++
		}
	}
	r.forget(func(x *record) bool { return x.who == 9 })
	if r.version != version || r.seen != 1000 || len(r.items) != 100 {
		t.Errorf("of nobody: version %d, %d of %d records", r.version-version, len(r.items), r.seen)
	}
	r.forget(func(x *record) bool { return x.who == 3 })
	if r.version == version || r.seen != uint64(1000-own) || len(r.items) != 100-own || own == 0 {
		t.Errorf("of a quarter, %d: version %d, %d of %d records", own, r.version-version, len(r.items), r.seen)
	}
	for i := range r.items {
		if r.items[i].who == 3 || i > 0 && r.items[i].key > r.items[(i-1)/2].key {
			t.Fatalf("record %d of %d with key %d", r.items[i].who, i, r.items[i].key)
		}
	}
	r.forget(func(*record) bool { return true })
	if r.seen != 0 || len(r.items) != 0 {
		t.Errorf("of all: %d of %d records", len(r.items), r.seen)
	}
}
