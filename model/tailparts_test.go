package model

import "testing"

// TestFullPartsOfATailStay: a record that comes copies the rows of no full part, and the rows take the memory of the
// capacity at most; each record is found in its place, behind the end of the ring too.
func TestFullPartsOfATailStay(t *testing.T) {
	const features = 3
	l := newTail(features, 3*tailChunk*(8*features+44))
	if l.capacity != 3*tailChunk {
		t.Fatalf("capacity %d", l.capacity)
	}
	var out record
	first := map[int]*float64{}
	for n := range 4*tailChunk + 7 {
		r := record{Example: Example{Row: Row{float64(n), float64(-n), 1}, Weight: 1, Clock: float64(n)}}
		if evicted := l.push(&r, &out); evicted != (n >= 3*tailChunk) || evicted && out.Row[0] != float64(n-3*tailChunk) {
			t.Fatalf("record %d: evicted %v, %v", n, evicted, out.Row)
		}
		for c := range min(n+1, 3*tailChunk) / tailChunk {
			if first[c] == nil {
				first[c] = &l.rows[c][0]
			}
			if first[c] != &l.rows[c][0] {
				t.Fatalf("record %d has moved part %d", n, c)
			}
		}
	}
	room := 0
	for _, part := range l.rows {
		room += cap(part)
	}
	if room != 3*tailChunk*features {
		t.Errorf("room for %d values", room)
	}
	for n := l.first; n < l.next; n++ {
		l.at(n, &out)
		if out.Row[0] != float64(n) || out.Row[1] != -float64(n) || out.Clock != float64(n) {
			t.Fatalf("record %d: %v, clock %v", n, out.Row, out.Clock)
		}
	}
	c := l.copied(float64(l.next - 5000))
	k := l.next - 5000
	c.since(0, nil, func(ex *Example) bool {
		if ex.Clock != float64(k) || ex.Row[0] != float64(k) {
			t.Fatalf("copy of record %d: %v", k, ex)
		}
		k++
		return true
	})
	if k != l.next {
		t.Errorf("the copies end at record %d of %d", k, l.next)
	}
}
