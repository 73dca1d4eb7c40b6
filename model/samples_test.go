package model

import (
	"math"
	"slices"
	"testing"
)

// TestARelabelledRecordMayBeTheLastOfTheReservoir: that of the largest key is kept like the others.
func TestARelabelledRecordMayBeTheLastOfTheReservoir(t *testing.T) {
	r := newReservoir(1, 3, 1<<20)
	for key := range uint64(5) {
		r.add(&record{Example: Example{Row: Row{1}, Weight: 1}}, key)
	}
	version := r.version
	for key := range uint64(5) {
		r.relabel(key, 1, 0)
	}
	for _, x := range r.items {
		if x.Class != 1 {
			t.Errorf("the record of key %d has class %d", x.key, x.Class)
		}
	}
	if len(r.items) != 3 || r.version != version+3 {
		t.Errorf("%d records, %d changes", len(r.items), r.version-version)
	}
}

// TestARecodedTailIsWrittenAgain: its stored parts are others, unless the codes stay.
func TestARecodedTailIsWrittenAgain(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal}}, Classes: []string{"no", "yes"}}
	for _, swapped := range []bool{false, true} {
		own, next := NewLevels(s), NewLevels(s)
		for i, text := range []string{"a", "b"} {
			own.Code(0, text)
			next.Code(0, []string{"a", "b", "a"}[i:][map[bool]int{true: 1}[swapped]])
		}
		tail := newTail(1, 1<<20)
		var out record
		tail.push(&record{Example: Example{Row: Row{0}, Weight: 1}}, &out)
		version, bytes := tail.version[0], string(tail.appendChunk(nil, 0))
		tail.recode(next.Merge(own))
		if changed := string(tail.appendChunk(nil, 0)) != bytes; changed != swapped {
			t.Fatalf("swapped %v: the bytes changed %v", swapped, changed)
		}
		if written := tail.version[0] != version; written != swapped {
			t.Errorf("swapped %v: written again %v", swapped, written)
		}
	}
}

// TestACorrectionReachesARecordWhereverItIs: its class and the outcomes of its goals, in the tail and in the reservoir.
func TestACorrectionReachesARecordWhereverItIs(t *testing.T) {
	s := newSample(&Spec{Schema: &Schema{Features: make([]Feature, 1), Classes: []string{"no", "yes"}},
		Options: Options{Seed: 1, TailBytes: 1 << 20, ReservoirRecords: 100, ReservoirBytes: 1 << 20}}, 0)
	s.narrow(8)
	was, is := Outcomes(0).With(0, 1).With(1, 0), Outcomes(0).With(0, 0).With(1, 1)
	var records []record
	for i := range 8 {
		r := record{Example: Example{Row: Row{1}, Weight: 1, Clock: float64(i), Outcomes: was}, offset: int64(i)}
		records = append(records, r)
		s.push(&r)
	}
	if s.tail.len() != 4 || s.reservoir.Len() != 4 {
		t.Fatalf("%d records in the tail and %d in the reservoir", s.tail.len(), s.reservoir.Len())
	}
	for i := range records {
		s.relabel(&records[i], 1, is)
	}
	for k := s.tail.first; k < s.tail.next; k++ {
		var r record
		if s.tail.at(k, &r); r.Class != 1 || r.Outcomes != is {
			t.Errorf("record %d of the tail has class %d and outcomes %v", k, r.Class, r.Outcomes)
		}
	}
	for _, x := range s.reservoir.items {
		if x.Class != 1 || x.Outcomes != is {
			t.Errorf("the record at %d of the reservoir has class %d and outcomes %v", x.offset, x.Class, x.Outcomes)
		}
	}
}

// TestOfAnEmptiedRecordItsClockIsLeft, and nothing else: neither values nor outcomes, place, times or id.
func TestOfAnEmptiedRecordItsClockIsLeft(t *testing.T) {
	of := func(r record) *tail {
		tail := newTail(1, 1<<20)
		var out record
		tail.push(&r, &out)
		return tail
	}
	emptied := of(record{Example: Example{Row: Row{3}, Class: 1, Outcomes: Outcomes(0).With(2, 1), Weight: 2, Clock: 9,
		Time: 8}, offset: 7, row: 6, lag: 5, who: 4})
	emptied.empty(0)
	want := of(record{Example: Example{Row: Row{math.NaN()}, Clock: 9}})
	if string(emptied.appendChunk(nil, 0)) != string(want.appendChunk(nil, 0)) || emptied.who[0] != 0 {
		var r record
		emptied.at(0, &r)
		t.Errorf("left is %+v", r)
	}
}

// TestScoresOfOthersHaveOneOrder: a state that takes over the scores of several partitions has the same bytes each
// time, and so has one read from them: the steps of a bucket ascend, over all partitions.
func TestScoresOfOthersHaveOneOrder(t *testing.T) {
	var parts []*Partition
	for n := range 5 {
		p := &Partition{self: int32(n), percent: newPercentile(), seen: 60}
		for i := range 60 {
			p.percent.rank(int32(i%2), .3+1e-5*float64((i*37+n*11)%60))
		}
		parts = append(parts, p)
	}
	m := modelOf(members(parts...))
	var first string
	for k := range 20 {
		part, fine, err := readPercentileParts(m, 2)
		if err != nil {
			t.Fatal(err)
		}
		q := newPercentile()
		q.rebase(part, fine, 0)
		b := string(q.appendFine(q.appendState(nil)))
		if k == 0 {
			first = b
		}
		if b != first {
			t.Fatalf("time %d: other bytes", k)
		}
		for class, list := range q.others {
			steps := q.steps[class]
			for _, x := range list {
				if !slices.IsSorted(steps[:x.n]) {
					t.Fatalf("class %d, bucket %d: the steps are %v", class, x.bucket, steps[:x.n])
				}
				steps = steps[x.n:]
			}
		}
	}
}
