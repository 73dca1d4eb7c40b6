package pairs

import (
	"testing"

	"liftstream/model"
)

// TestAnIDMeansItsNewestRecord, also once an older record of the id has left; and none once the newest has.
func TestAnIDMeansItsNewestRecord(t *testing.T) {
	s := newStore(1 << 20)
	x := name{byID: true, id: "x"}
	for offset := range int64(2) {
		s.admit(&Record{Offset: offset, Class: model.Unlabelled}, "x", 5*offset, false)
	}
	for i, c := range []struct {
		now  int64
		left int64 // offset of the record that leaves, -1 = none
		of   int64 // offset of the record that a label of the id means then, -1 = none
	}{{10, -1, 1}, {11, 0, 1}, {11, -1, 1}, {16, 1, -1}, {16, -1, -1}} {
		left, of := int64(-1), int64(-1)
		if w, late := s.overdue(c.now, 10); w != nil {
			if left = w.Offset; !late || s.find(w.place()) != nil {
				t.Errorf("step %d: record %d leaves, late %t, and is found at its place", i, left, late)
			}
		}
		if w := s.find(x); w != nil {
			of = w.Offset
		}
		if left != c.left || of != c.of {
			t.Errorf("step %d: record %d leaves, and the id means %d; want %d and %d", i, left, of, c.left, c.of)
		}
	}
	if s.bytes != 0 || len(s.byName) != 0 {
		t.Errorf("%d bytes and %d names are left", s.bytes, len(s.byName))
	}
}
