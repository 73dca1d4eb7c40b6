package local

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestMissing: a missing value counts as the mean difference, in a prototype and in the record, and changes no other
// term.
func TestMissing(t *testing.T) {
	a := column{sd: 1}
	a.set([]int32{0, unit, 2 * unit, absent})
	e := a.expected(noCap)
	if want := int64(2 * unit * unit); e != want { // (1 + 4 + 1) / 3
		t.Fatalf("expected term %v, want %v", e, want)
	}
	for _, weight := range []int64{1, 3} {
		terms := []queryTerm{{at: a.at, missing: a.missing, q: 0, cap: noCap, weight: weight, expected: e}}
		sum := make([]int64, 4)
		distances(terms, sum)
		correct(terms, sum)
		if !slices.Equal(sum, []int64{0, weight * unit * unit, 4 * weight * unit * unit, weight * e}) {
			t.Errorf("distances %v", sum)
		}
	}
	c, _, ex := fitted(t, Options{Theta: Auto}, 600)
	row := make(model.Row, len(ex[0].Row))
	for j := range row {
		row[j] = math.NaN()
	}
	p := make([]float64, 3)
	c.Predict(row, p)
	for y := range p {
		if math.Abs(p[y]-c.structure.base[y]) > 1e-12 {
			t.Errorf("nothing known: shares %v, base rates %v", p, c.structure.base)
		}
	}
	if c.Reason(row) != ReasonOutside {
		t.Errorf("nothing known: %q", c.Reason(row))
	}
	if f, _ := c.Select(row, nil, nil); len(f) != 0 {
		t.Errorf("nothing known: %v selected", f)
	}
}

// TestLevelsFarApart: the distance of levels with far codes, times a large weight, overflows an int64; the term is its
// cap.
func TestLevelsFarApart(t *testing.T) {
	c := column{nominal: true}
	c.set([]int32{c.place(0), c.place(4000), c.place(4095)})
	p := prototypes{class: make([]int32, 3)}
	limit := (&Measure{}).cap(&c)
	var terms []queryTerm
	for range 4 {
		p.columns = append(p.columns, c)
		terms = append(terms, queryTerm{at: c.at, nominal: true, q: float64(c.place(0)), cap: limit, weight: quantise(6)})
	}
	sum := make([]int64, 3)
	distances(terms, sum)
	if far := 4 * limit * quantise(6); !slices.Equal(sum, []int64{0, far, far}) {
		t.Errorf("distances %v, want 0 and %d", sum, far)
	}
}

// TestDistances compares the fused loops with plain arithmetic.
func TestDistances(t *testing.T) {
	for _, n := range []int{6, 37, 301} {
		for m := range 24 {
			for _, kind := range []string{"", "weighted", "missing"} {
				testDistances(t, n, m, kind)
			}
		}
	}
}

func testDistances(t *testing.T, n, m int, kind string) {
	var terms []queryTerm
	want := make([]int64, n)
	for j := range m {
		q := queryTerm{q: float64(model.Hash(3, uint64(j)) % 5000), cap: 1 << (20 + j/5), weight: 1}
		if j < 5 {
			q.cap = noCap
		}
		if kind == "weighted" {
			q.weight = int64(j % 5)
		}
		if kind == "missing" && j%3 == 0 {
			q.expected = 1 << 21
		}
		for k := range n {
			v := float64(model.Hash(4, uint64(j), uint64(k)) % 5000)
			if m%2 == 0 { // ties
				v = float64(model.Hash(4, uint64(j), uint64(k)) % 3 * 1000)
			}
			q.at = append(q.at, v)
			d := v - q.q
			term := min(int64(d*d), q.cap) * q.weight
			if q.expected > 0 && model.Hash(5, uint64(j), uint64(k))%4 == 0 {
				q.missing, term = append(q.missing, int32(k)), q.expected
			}
			want[k] += term
		}
		terms = append(terms, q)
	}
	sum := make([]int64, n)
	distances(terms, sum)
	correct(terms, sum)
	if !slices.Equal(sum, want) {
		t.Fatalf("%d columns: %v, want %v", m, sum, want)
	}
	order := make([]neighbour, 0, n)
	for i, d := range want {
		if i != 2 {
			order = append(order, neighbour{d, int32(i)})
		}
	}
	slices.SortStableFunc(order, func(a, b neighbour) int {
		return cmp.Compare(a.distance, b.distance)
	})
	sum[2] = beyond
	near := make([]neighbour, 8)
	if k := nearest(sum, near); !slices.Equal(near[:k], order[:min(8, len(order))]) {
		t.Fatalf("%d columns of %d, %s: nearest %v, want %v", m, n, kind, near[:k], order)
	}
}
