package local

import "slices"

// Most of the newest records are too far to be measured feature by feature. As with prototypes (packed.go), look-ups
// bound their distances from below: the places of a record in a few features, in cells of several places, form one
// code, and a table made for the record in hand holds the least sum of terms at each code. Newest records come and go,
// so that the codes of one record stand side by side, in one word.

// coarsePacks is the number of codes of a record. Features for which these have no room have no part in the bound.
const coarsePacks = 4

// coarse is the codes of a record, each a byte.
type coarse uint32

// coarseTables holds the least sum of terms at each code.
type coarseTables [coarsePacks]table

// coarseStretch is the number of records that are bounded at a time, before the nearest of them are measured.
const coarseStretch = 64

// below writes the numbers of the records whose bounds are below limit, the last first, and returns their count.
// It takes at most coarseStretch records.
func (t *coarseTables) below(codes []coarse, limit int64, left *[coarseStretch]int32) int {
	n := uint(0)
	for k := len(codes) - 1; k >= 0; k-- {
		c := codes[k]
		d := t[0][uint8(c)] + t[1][uint8(c>>8)] + (t[2][uint8(c>>16)] + t[3][uint8(c>>24)])
		left[n%coarseStretch] = int32(k)
		if d < limit { // an addition and no branch, of which the processor would guess many wrong
			n++
		}
	}
	return int(n)
}

// grid cuts the places of a feature into cells. Cell 0 is that of absent places. Levels take the others in turn, so
// levels can share one. Numbers lie in cell 1 below the first edge, in cell 2 from there to below the second, and so
// forth.
type grid struct {
	nominal bool
	cells   int     // with that of absent places
	edges   []int32 // ascending; none of levels
}

// coarseCells is the number of cells of a feature at most, so that two of them fit into a code.
const coarseCells = 16

// newGrid cuts the places of the prototypes into cells of equally many, equal places together.
func newGrid(c *column) (g grid) {
	places := slices.DeleteFunc(c.values(), func(v int32) bool { return v == absent })
	slices.Sort(places)
	if c.nominal {
		most := int32(0)
		if n := len(places); n > 0 {
			most = max(most, places[n-1]/levelStep) // a state may hold negative levels alone
		}
		return grid{nominal: true, cells: 1 + min(int(most)+1, coarseCells-1)}
	}
	const most = coarseCells - 1
	for k := 1; k < most; k++ {
		if at := k * len(places) / most; at < len(places) && places[at] > places[0] {
			g.edges = append(g.edges, places[at])
		}
	}
	g.edges = slices.Compact(g.edges)
	g.cells = len(g.edges) + 2
	return g
}

// cell returns the cell of a place.
func (g *grid) cell(v int32) int {
	switch {
	case v == absent:
		return 0
	case g.nominal:
		return 1 + int(uint32(v)/levelStep%uint32(g.cells-1)) // a state may hold a negative level
	}
	n := 1
	for _, e := range g.edges {
		if e <= v {
			n++
		}
	}
	return n
}

// least fills dst with the smallest term of a place of each cell.
func (g *grid) least(t *axisTerm, dst []int64) {
	dst[0] = t.expected
	if g.nominal {
		for c := 1; c < g.cells; c++ {
			dst[c] = t.cap * t.weight
		}
		dst[g.cell(int32(t.q))] = 0
		return
	}
	own := g.cell(int32(t.q))
	dst[own] = 0
	for c := own + 1; c < g.cells; c++ { // from the edge below
		d := int64(g.edges[c-2]) - t.q
		dst[c] = min(d*d, t.cap) * t.weight
	}
	for c := own - 1; c > 0; c-- { // to below the edge above
		d := t.q - int64(g.edges[c-1]) + 1
		dst[c] = min(d*d, t.cap) * t.weight
	}
}

// prepareCoarse shares the features out over the codes: the heaviest first, each into the first code that has room.
func (s *structure) prepareCoarse() {
	s.grids, s.packOf = s.grids[:0], s.packOf[:0]
	var size [coarsePacks]int
	for i := range size {
		size[i] = 1
	}
	for _, j := range s.heaviest {
		g := newGrid(&s.prototypes.columns[j])
		at := -1
		for i, n := range size {
			if n*g.cells <= packSize {
				at = i
				break
			}
		}
		if at >= 0 {
			size[at] *= g.cells
		}
		s.grids, s.packOf = append(s.grids, g), append(s.packOf, at)
	}
}

// coarsely returns the codes of places in the columns of heaviest.
func (s *structure) coarsely(places []int32) (c coarse) {
	var size [coarsePacks]int
	for i := range size {
		size[i] = 1
	}
	for i, at := range s.packOf {
		if at >= 0 {
			c += coarse(s.grids[i].cell(places[i])*size[at]) << (8 * at)
			size[at] *= s.grids[i].cells
		}
	}
	return c
}

// bound makes the tables for the terms of a record, in the order of heaviest.
func (s *structure) bound(terms []axisTerm, t *coarseTables) {
	var size [coarsePacks]int
	for i := range size {
		size[i], t[i][0] = 1, 0
	}
	var least [coarseCells]int64
	for i, at := range s.packOf {
		if at < 0 {
			continue
		}
		g, n, all := &s.grids[i], size[at], &t[at]
		g.least(&terms[i], least[:g.cells])
		for c := g.cells - 1; c >= 0; c-- {
			v, to := least[c], all[c*n:c*n+n]
			for a, u := range all[:n] {
				to[a] = u + v
			}
		}
		size[at] *= g.cells
	}
}
