package propensity

import (
	"slices"
	"testing"

	"liftstream/model"
)

// TestLocatedOnceIsLocatedAnew: the cells that are kept from score to lesson are those that a look-up gives, also where
// a record brings a level that had no cell, takes the cell of another level, or the axes move.
func TestLocatedOnceIsLocatedAnew(t *testing.T) {
	d := noise(2, 2, 600, 9)
	d.schema.Features[0].Levels = nil // learnt from the stream, and further ones
	for i := range d.rows {
		d.rows[i][0] = float64(i % 7)
		if i%3 == 0 {
			d.rows[i][0] = model.Cell(uint32(model.MaxLevels + i%50 + 1))
		}
	}
	s := open(d, Default(), standard, 300)
	pending, p := make([]float64, s.PendingLen()), make([]float64, 2)
	check := func(step int, what string, row model.Row) {
		t.Helper()
		s.locate(row)
		cells, far, sides, parts := slices.Clone(s.cells), slices.Clone(s.far), slices.Clone(s.sides), slices.Clone(s.parts)
		s.row = s.row[:0]
		s.locate(row)
		if !slices.Equal(cells, s.cells) || !slices.Equal(far, s.far) || !slices.Equal(parts, s.parts) {
			t.Fatalf("record %d, %s: cells %v, %v, %v, want %v, %v, %v", step, what, cells, far, parts, s.cells, s.far, s.parts)
		}
		for i, v := range parts {
			if v > 0 && sides[i] != s.sides[i] {
				t.Fatalf("record %d, %s: neighbour %d of feature %d, want %d", step, what, sides[i], i, s.sides[i])
			}
		}
	}
	for i := range d.rows {
		ex := d.example(i)
		s.Score(ex.Row, nil, pending, p)
		check(i, "scored", ex.Row)
		s.Score(ex.Row, nil, pending, p)
		s.LearnScored(&ex, nil, pending)
		check(i, "learnt", ex.Row)
		if i > 0 {
			check(i, "the one before", d.rows[i-1])
		}
	}
}
