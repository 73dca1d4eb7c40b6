package local

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// distant returns the distance of record k of the newest ones by the terms of the query, term by term.
func distant(r *newest, terms []axisTerm, k int) (d int64) {
	for i, v := range r.places[k*padded(len(terms)):][:len(terms)] {
		t := &terms[i]
		if v == absent {
			d += t.expected
			continue
		}
		x := int64(v) - t.q
		d += min(x*x, t.cap) * t.weight
	}
	return d
}

// strange returns a row with missing values, with numbers beyond all of the fit, and with levels that it did not see.
func strange(row model.Row, s *model.Schema, i int) model.Row {
	row = slices.Clone(row)
	for j := range row {
		nominal := s.Features[j].Kind == model.Nominal
		switch k := (i + 3*j) % 11; {
		case k == 0:
			row[j] = math.NaN()
		case k == 1 && nominal:
			row[j] += 17
		case k == 1:
			row[j] = 1e9
		case k == 2 && !nominal:
			row[j] = -row[j]
		}
	}
	return row
}

// TestBoundsOfNewestRecords: no bound is above its distance, most are above 0, and a search without bounds finds the
// same records.
func TestBoundsOfNewestRecords(t *testing.T) {
	c, ex := serving(t, 500)
	c = served(t, c, byPacks)
	for i := range 600 {
		e := ex[100+i]
		if e.Clock = float64(i); i%3 == 0 {
			e.Row = strange(e.Row, c.schema, i)
		}
		c.Learn(&e)
	}
	s, r, w := c.structure, &c.newest, c.work
	if len(s.grids) < 4 || slices.Max(s.packOf) < 1 {
		t.Fatalf("the features lie in the codes %v", s.packOf)
	}
	var none coarseTables
	told, all := 0, 0
	for i := range 200 {
		row := ex[i].Row
		if i%2 == 0 {
			row = strange(row, c.schema, i+5)
		}
		s.placed(row, w.at)
		terms, ok := s.axisTerms(w.at, nil)
		if !ok {
			continue
		}
		s.bound(terms, &w.bounds)
		for k := range r.class {
			d, low := distant(r, terms, k), int64(0)
			for p := range w.bounds {
				low += w.bounds[p][uint8(r.codes[k]>>(8*p))]
			}
			if low > d {
				t.Fatalf("row %d, record %d: bound %d of the distance %d", i, k, low, d)
			}
			if d > 0 {
				all++
			}
			if low > 0 {
				told++
			}
		}
		got, want := make([]neighbour, 20), make([]neighbour, 20)
		n, m := r.nearest(s.newest, terms, &w.bounds, got), r.nearest(s.newest, terms, &none, want)
		if !slices.Equal(got[:n], want[:m]) {
			t.Fatalf("row %d: %v, without bounds %v", i, got[:n], want[:m])
		}
	}
	if told < all/2 {
		t.Errorf("%d of %d distances above 0 have a bound above 0", told, all)
	}
}

// TestManyNeighboursOfNewestRecords: more neighbours than are bounded at a time, and more than there are records.
func TestManyNeighboursOfNewestRecords(t *testing.T) {
	c, ex := serving(t, 1000)
	c = served(t, c, byPacks)
	for i := range 150 {
		c.Learn(&ex[i])
	}
	s, w := c.structure, c.work
	s.placed(ex[200].Row, w.at)
	terms, _ := s.axisTerms(w.at, nil)
	s.bound(terms, &w.bounds)
	for _, k := range []int{1, coarseStretch - 1, 3 * coarseStretch / 2, 150, 400} {
		near := make([]neighbour, k)
		n := c.newest.nearest(s.newest, terms, &w.bounds, near)
		if n != min(k, 150) {
			t.Errorf("%d of %d neighbours", n, k)
		}
		for i, x := range near[:n] {
			if x.distance != distant(&c.newest, terms, int(x.index)) || i > 0 && x.distance < near[i-1].distance {
				t.Errorf("%d neighbours: number %d at distance %d", k, i, x.distance)
			}
		}
	}
}

// TestBoundsOfStrangePlaces: a state may hold levels below 0 and numbers at both ends.
func TestBoundsOfStrangePlaces(t *testing.T) {
	level := grid{nominal: true, cells: 4}
	number := grid{cells: 4, edges: []int32{-5, 100}}
	for _, v := range []int32{absent + 1, -levelStep, -1, 0, 99, 100, levelStep, math.MaxInt32} {
		for _, g := range []grid{level, number} {
			if c := g.cell(v); c < 1 || c >= g.cells {
				t.Errorf("place %d has cell %d", v, c)
			}
		}
	}
	var least [4]int64
	number.least(&axisTerm{q: 10, cap: 1000, weight: 3, expected: 7}, least[:])
	if want := [4]int64{7, 16 * 16 * 3, 0, 1000 * 3}; least != want {
		t.Errorf("least terms %v, want %v", least, want)
	}
}

// TestNewestRecordsDoNotAllocate: neither scoring nor learning does, once the ring is full.
func TestNewestRecordsDoNotAllocate(t *testing.T) {
	c, ex := serving(t, 100)
	for i := range 600 {
		c.Learn(&ex[i])
	}
	in, clock := make([]float64, 6), 600.
	if n := testing.AllocsPerRun(400, func() {
		c.Inputs(ex[3].Row, in)
		e := ex[4]
		e.Clock = clock
		clock++
		c.Learn(&e)
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// TestNegativeLevels: a state whose prototypes have negative levels alone is read, and its records are compared.
func TestNegativeLevels(t *testing.T) {
	ev := someRecords([]model.Kind{model.Nominal, model.Continuous}, 6, 300, 3)
	x := fit(t, Options{Theta: .2, Prototypes: 100, Newest: 200}, ev.Schema, ev)
	x.structure.weights = []int64{neutralWeight, neutralWeight}
	x.structure.prepare()
	x.install(x.structure, x.own)
	row := make(model.Row, 2)
	for i := range 80 {
		ev.Row(i, row)
		x.Learn(&model.Example{Row: append(model.Row(nil), row...), Class: ev.Class[i], Weight: 1, Clock: float64(i)})
	}
	for _, level := range []float64{-1, -2, -90} {
		c := &x.structure.prototypes.columns[0]
		for k := range c.at {
			c.at[k] = level * levelStep
		}
		for _, w := range []way{byScan, byPacks} {
			y := served(t, x, w)
			y.Inputs(row, make([]float64, 4))
		}
	}
}
