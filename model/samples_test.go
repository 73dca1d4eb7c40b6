package model

import "testing"

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
