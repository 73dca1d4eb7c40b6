package model

import (
	"fmt"
	"slices"
	"testing"
)

// TestSiblingsOutliveGaps: records come and go in the middle of the queue, which closes its gaps now and then. Those of
// an id stay together, the last first, as a restored store has them.
func TestSiblingsOutliveGaps(t *testing.T) {
	s := (&Options{WaitBytes: 1 << 24, Match: MatchAll}).newStore()
	left := map[string][]int64{} // offsets by id, the last first
	compacted := false
	for i := range int64(5 * pendingChunk) {
		id := fmt.Sprint("c", i%97)
		waits(s, i, id)
		left[id] = slices.Insert(left[id], 0, i)
		if j := i - 200; i%16 != 0 && j >= 0 && j%11 != 0 {
			first := s.first
			s.remove(s.find("", place{j, 0}, false))
			id := fmt.Sprint("c", j%97)
			left[id] = slices.DeleteFunc(left[id], func(o int64) bool { return o == j })
			compacted = compacted || s.first != first
		}
		if len(left[id]) > maxSiblings {
			left[id] = left[id][:maxSiblings]
		}
	}
	if !compacted {
		t.Fatal("no gap was closed: the test would say nothing")
	}
	again := restored(t, s)
	if again.held() != s.held() {
		t.Errorf("the restored store holds %d bytes, want %d", again.held(), s.held())
	}
	for name, s := range map[string]*pendingStore{"live": s, "restored": again} {
		links := 0
		for id, want := range left {
			var got []int64
			for _, n := range meant(s, id) {
				got = append(got, s.at(n).offset)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: records %d bear %s, want %d", name, got, id, want)
			}
			links += max(len(want)-1, 0)
		}
		if len(s.older) != links {
			t.Errorf("%s: %d links, want %d", name, len(s.older), links)
		}
	}
}

// TestALearntRecordWithoutAClassIsRefused where a store is read.
func TestALearntRecordWithoutAClassIsRefused(t *testing.T) {
	s := newPendingStore(1<<20, 0)
	waits(s, 1, "x")
	s.at(0).learnt = true
	read := func(_ string, use func([]byte) error) error { return use(s.parts[0].append(nil, &s.packer, s.coded)) }
	n := newPendingStore(1<<20, 0)
	names := []string{pendingName(0)}
	if err := n.load(StateFormat, s.first, s.next, oneNumber, noPending, names, read); err == nil {
		t.Error("a correction of it would have no class to take back")
	}
}
