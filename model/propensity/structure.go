package propensity

import (
	"math"
	"slices"

	"liftstream/model"
)

// structure holds the axes of the features, the tables of counts and weights of their cells, and the cells in which the
// record in hand lies.
type structure struct {
	*plan
	axes  []axis    // nil before the first Rebase
	order [][]int32 // cells along each feature whose margin must rise or fall, nil for the others
	bound bool      // some feature has an order
	// Scores are made of cur. away holds the contributions of other partitions to its counts at the last Rebase, on the
	// scale of cur (its pairs are not used); nil when they contributed nothing.
	cur, away *tables

	linearOf []int             // feature of each linear input
	near     [][]neighbourhood // of each feature's stretches, nil where the axis is not smooth

	// The record in hand: its cells, those of its further levels (-1 = none), the neighbouring cells and their parts (0 =
	// none).
	cells []int
	far   []int
	sides []int
	parts []float64
	row   model.Row // in which all this is so; empty where it is not known
}

// deriveStructure computes everything that follows from the axes.
func (s *structure) deriveStructure() {
	n := len(s.features)
	s.row = s.row[:0]
	s.cells, s.sides, s.parts = make([]int, n), make([]int, n), make([]float64, n)
	s.far = slices.Repeat([]int{-1}, n)
	s.near = make([][]neighbourhood, n)
	s.order, s.bound = make([][]int32, n), false
	for f := range s.axes {
		s.near[f] = s.axes[f].neighbourhoods()
		if s.axes[f].rise != 0 {
			s.order[f], s.bound = s.axes[f].order(&s.features[f], nil), true
		}
	}
	s.linearOf = s.linearOf[:0]
	for i := range s.features {
		if s.features[i].linear >= 0 {
			s.linearOf = append(s.linearOf, i)
		}
	}
}

// locate writes the cells of a row into s.cells, the neighbours that have a part in it into s.sides and s.parts. A
// record that is scored, explained and learnt is located once.
func (s *structure) locate(row model.Row) {
	if s.located(row) {
		return
	}
	s.row = append(s.row[:0], row...)
	for i := range s.features {
		f := &s.features[i]
		v := row[f.index]
		s.parts[i] = 0
		if f.kind != model.Continuous {
			c := s.level(f, v)
			if c >= s.cellCount(&s.cur.feat[i]) {
				c = noCell
			}
			s.cells[i], s.far[i] = c, s.cur.feat[i].further.find(f.beyond(s.levels, v))
			continue
		}
		c, at := s.axes[i].place(v)
		s.cells[i] = c
		if near := s.near[i]; near != nil && at >= 0 {
			s.sides[i], s.parts[i] = near[at].beside(v)
		}
	}
}

// located reports whether the record in hand has the values of the row. Cells change between two records, where a table
// grows or another level takes a cell, and with the axes.
func (s *structure) located(row model.Row) bool {
	if len(s.row) != len(row) || len(row) == 0 {
		return false
	}
	for i, v := range row {
		if math.Float64bits(v) != math.Float64bits(s.row[i]) {
			return false
		}
	}
	return true
}

// grow gives a cell to each level of the row for which s.cells or s.far has none.
func (s *structure) grow(row model.Row) {
	for i := range s.features {
		f := &s.features[i]
		if f.kind == model.Continuous {
			continue
		}
		if s.cells[i] == noCell {
			s.cells[i] = s.level(f, row[f.index])
			s.resize(&s.cur.feat[i], s.cells[i]+1, fresh)
		}
		if level := f.beyond(s.levels, row[f.index]); level != 0 && s.far[i] < 0 {
			var lost uint32
			if s.far[i], lost = s.cur.feat[i].take(&s.layout, level); s.away != nil {
				s.away.feat[i].further.drop(lost)
			}
		}
	}
}

// recode moves the cells of levels to the places of their new codes, and reports whether any code is new.
func (s *structure) recode(rc model.Recode) bool {
	if rc.Identity() {
		return false
	}
	s.row = s.row[:0]
	all := []*tables{s.cur}
	if s.away != nil {
		all = append(all, s.away)
	}
	for i := range s.features {
		f := &s.features[i]
		if f.kind == model.Continuous || f.index >= len(rc) || rc[f.index] == nil {
			continue
		}
		for n, t := range all {
			with := fresh
			if n > 0 {
				with = pair{}
			}
			t.feat[i] = s.recodeCells(f, &t.feat[i], rc, with)
		}
	}
	return true
}

func (p *layout) recodeCells(f *feature, t *cellTable, rc model.Recode, with pair) cellTable {
	var n cellTable
	K, C := p.margins, len(p.half)*p.classes
	old := p.cellCount(t)
	p.resize(&n, min(old, cellLevels), with)
	for c := range old {
		to := c
		if c >= cellLevels {
			if c-cellLevels >= len(rc[f.index]) {
				break // room for levels that the old table never had
			}
			to = p.level(f, rc.Value(f.index, float64(c-cellLevels)))
		}
		p.resize(&n, to+1, with)
		if c >= cellLevels && to == cellOther { // no cell of its own any more
			if level := f.beyond(p.levels, rc.Value(f.index, float64(c-cellLevels))); level != 0 {
				n.addLevel(p, level, t.count[c*C:c*C+C], ones(len(p.half)))
			}
			addFloats(n.count[to*C:to*C+C], t.count[c*C:c*C+C], 1)
			continue
		}
		copy(n.count[to*C:to*C+C], t.count[c*C:c*C+C])
		copy(n.pair[to*K:to*K+K], t.pair[c*K:c*K+K])
	}
	p.resize(&n, old, with)
	for i, level := range t.further.levels() {
		if level != 0 {
			n.settle(p, f, rc.Value(f.index, valueOf(level)), t.further.at(i), with)
		}
	}
	return n
}

// startCells gives every feature the cells that its axis has from the start.
func (p *layout) startCells(t *tables, axes []axis) {
	for i := range p.features {
		n := axes[i].cells
		if p.features[i].kind != model.Continuous {
			n = cellLevels + min(p.features[i].fixed, p.levels)
		}
		p.resize(&t.feat[i], n, fresh)
	}
}
