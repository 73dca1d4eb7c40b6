package local

import (
	"math"
	"slices"

	"liftstream/model/local/scan"
)

// ranges returns those of the cells of numbers.
func ranges(grids []grid) []scan.Range {
	out := make([]scan.Range, len(grids))
	for i := range grids {
		g, r := &grids[i], &out[i]
		for c := 1; c < g.cells && !g.nominal; c++ { // cell 0 has no place
			r.Low[c], r.High[c] = float32(math.Inf(-1)), float32(math.Inf(1))
			if c > 1 {
				r.Low[c] = float32(g.edges[c-2])
			}
			if c < g.cells-1 {
				r.High[c] = float32(g.edges[c-1] - 1)
			}
		}
	}
	return out
}

// enlane writes the cells of the places of record k.
func (r *newest) enlane(s *structure, k int, places []int32) {
	for j := range s.grids {
		r.lanes[scan.At(k, j, len(s.grids))] = uint8(s.grids[j].cell(places[j]))
	}
}

// moveLanes copies the cells of record from to record to.
func (r *newest) moveLanes(wide, from, to int) {
	for j := range wide {
		r.lanes[scan.At(to, j, wide)] = r.lanes[scan.At(from, j, wide)]
	}
}

// insertLanes makes room for a record, which r.gap has already, and writes its cells.
func (r *newest) insertLanes(s *structure, at int, places []int32) {
	n, wide := len(r.gap), len(s.grids)
	if more := scan.Size(n, wide) - len(r.lanes); more > 0 {
		r.lanes = slices.Grow(r.lanes, more)[:len(r.lanes)+more]
	}
	for k := n - 1; k > at; k-- {
		r.moveLanes(wide, k-1, k)
	}
	r.enlane(s, at, places)
}

// cutLanes removes the cells of records that r.gap still has.
func (r *newest) cutLanes(s *structure, first, end int) {
	n, wide := len(r.gap), len(s.grids)
	for k := end; k < n; k++ {
		r.moveLanes(wide, k, k-end+first)
	}
	r.lanes = r.lanes[:scan.Size(n-end+first, wide)]
}

// scan is nearest by package scan, for the structure's number of records and of neighbours, into w.newest.
func (r *newest) scan(s *structure, terms []axisTerm, w *scratch) int {
	q := &w.search
	q.begin(len(terms))
	for i := range terms {
		x := &terms[i]
		if x.weight == 0 {
			continue
		}
		t := laneTerm{gap: true, cap: float64(x.cap), weight: float64(x.weight), absent: float64(x.expected)}
		if g := &s.grids[i]; g.nominal {
			t.own = g.cell(int32(x.q))
		} else {
			t.ranges, t.q = &s.ranges[i], float32(x.q)
		}
		q.add(i, uint32(i), t, int32(x.q))
	}
	first := max(r.first, len(r.class)-s.newest)
	q.seek(r.lanes, len(s.grids), r.places, first, len(r.class), -1, len(w.newest))
	n, worst := 0, beyond
	for i := len(q.list) - 1; i >= 0; i-- {
		if d := q.distance[i]; d < worst {
			if n = place(w.newest, n, d, int32(q.base)+q.list[i]); n == len(w.newest) {
				worst = w.newest[n-1].distance
			}
		}
	}
	return n
}
