package recency

import (
	"bytes"
	"testing"
)

// TestAChunkThatChangesGetsAnotherVersion, by each way in which it changes: else a snapshot would keep the old bytes.
func TestAChunkThatChangesGetsAnotherVersion(t *testing.T) {
	type seen struct {
		version uint64
		bytes   []byte
	}
	var last [Chunks]seen
	s := New(Options{Bytes: 40 * (KeyBytes + SpanBytes), Window: hour, Groups: []string{"", "x"}})
	look := func(s *Store, step string) (changed int) {
		t.Helper()
		for c := range last {
			_, version := s.Chunk(c)
			b := s.AppendChunk(nil, c)
			if !bytes.Equal(b, last[c].bytes) {
				if changed++; version == last[c].version {
					t.Errorf("%s: chunk %d has other bytes and the same version", step, c)
				}
			}
			last[c] = seen{version, b}
		}
		return changed
	}
	for i := range 30 {
		if s.Add(idOf(i), i%2, int64(i)+1, int64(i)+1); look(s, "an id") != 1 {
			t.Fatalf("id %d leaves its chunk as it was", i)
		}
	}
	if s.Add(idOf(4), 0, 3, 40); look(s, "a late record of an id that is known") != 1 {
		t.Fatal("a late record changes nothing")
	}
	if n := s.Forget([]ID{idOf(3), idOf(8), idOf(1000)}); n != 2 || look(s, "an order to forget") == 0 {
		t.Fatalf("%d ids are forgotten", n)
	}
	for i := 30; s.Evicted() == 0; i++ {
		s.Add(idOf(i), 0, 100, 100)
		look(s, "eviction")
	}
	next := New(Options{Bytes: 1 << 20, Window: hour, Groups: []string{"x"}})
	last = [Chunks]seen{}
	if next.Carry(s); look(next, "a carry-over") == 0 {
		t.Fatal("nothing is carried over")
	}
	if next.Evicted() != s.Evicted() {
		t.Errorf("%d evicted ids are carried over of %d", next.Evicted(), s.Evicted())
	}
}
