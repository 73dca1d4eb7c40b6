package lp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"liftstream/model/modeltest"
)

// points are records with z-scored features and the class of each.
type points struct {
	x [][]float64
	y []int
}

// readPoints reads a data file whose last column is the class; n = 0 takes every record.
func readPoints(t testing.TB, set string, n int) *points {
	t.Helper()
	path := "data/" + set + ".csv"
	if set == "isolet" {
		path += ".gz"
	}
	p := &points{}
	class := map[string]int{}
	for i, cells := range modeltest.CSV(t, modeltest.Shared(t, path))[1:] {
		if n > 0 && i == n {
			break
		}
		last := len(cells) - 1
		row := make([]float64, last)
		for k := range row {
			var err error
			if row[k], err = strconv.ParseFloat(cells[k], 64); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := class[cells[last]]; !ok {
			class[cells[last]] = len(class)
		}
		p.x, p.y = append(p.x, row), append(p.y, class[cells[last]])
	}
	for f := range p.x[0] {
		var mean, square float64
		for _, row := range p.x {
			mean += row[f]
		}
		mean /= float64(len(p.x))
		for _, row := range p.x {
			square += (row[f] - mean) * (row[f] - mean)
		}
		sd := math.Sqrt(square / float64(len(p.x)))
		for _, row := range p.x {
			if row[f] -= mean; sd > 0 {
				row[f] /= sd
			}
		}
	}
	return p
}

// oracle is one instance of testdata/golden.json.
type oracle struct {
	Set          string
	N, T, P, F   int
	Seed         uint64
	Mus          []float64
	Gamma1       float64
	Gamma2       float64
	Cost         float64 `json:"cost_per_unit_alpha"`
	Mode         string
	Fnv          string   `json:"triples_fnv1a"`
	First        [][3]int `json:"first_triples"`
	Sum          float64  `json:"sumA"`
	Upper, Lower *float64
	Rho          float64
}

func oracles(t testing.TB) []oracle {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Instances []oracle }
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g.Instances
}

// triples draws the instance's triples, as golden.json tells.
func (o *oracle) triples(t testing.TB, y []int) [][3]int {
	t.Helper()
	s := o.Seed
	next := func() int {
		s += 0x9E3779B97F4A7C15
		z := s
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return int((z ^ z>>31) % uint64(o.N))
	}
	var out [][3]int
	for len(out) < o.T {
		a, b, c := next(), next(), next()
		if a == b || b == c || a == c {
			continue
		}
		for _, x := range [][3]int{{a, b, c}, {a, c, b}, {b, c, a}} {
			if y[x[0]] == y[x[1]] && y[x[0]] != y[x[2]] {
				out = append(out, x)
				break
			}
		}
	}
	h := uint64(14695981039346656037)
	for _, x := range out {
		for _, i := range x {
			for _, b := range []int{i & 255, i >> 8 & 255} {
				h = (h ^ uint64(b)) * 1099511628211
			}
		}
	}
	if got := fmt.Sprintf("%016x", h); got != o.Fnv {
		t.Fatalf("%s %d: the triples hash to %s, not %s", o.Set, o.T, got, o.Fnv)
	}
	return out
}

// weak builds the programme of one-feature Gaussian kernels over triples of z-scored points.
func weak(x [][]float64, triples [][3]int, mus []float64, gamma1, cost float64, mode Mode) *Problem {
	nf := len(x[0])
	p := &Problem{Mode: mode, Gamma: gamma1, Groups: nf, RidgeCost: cost, Points: len(x)}
	kernel := func(k, i, j int) float64 {
		d := x[i][k/len(mus)] - x[j][k/len(mus)]
		return math.Exp(-mus[k%len(mus)] * d * d)
	}
	one := make([]float64, nf*len(mus))
	for k := range one {
		one[k] = 1
		col := make([]float64, len(triples))
		for t, c := range triples {
			col[t] = kernel(k, c[0], c[1]) - kernel(k, c[0], c[2])
		}
		p.Columns = append(p.Columns, col)
		p.Group = append(p.Group, int32(k/len(mus)))
		p.Cost = append(p.Cost, cost)
	}
	for range x {
		p.Diagonal = append(p.Diagonal, one)
	}
	p.Pair = func(i, j int, dst []float64) {
		for k := range dst {
			dst[k] = kernel(k, i, j)
		}
	}
	return p
}

func (o *oracle) problem(t testing.TB) *Problem {
	t.Helper()
	n := o.N
	mode := map[string]Mode{"nonneg": Nonneg, "ridge": Ridge, "literal": Literal}[o.Mode]
	pt := readPoints(t, o.Set, n)
	p := weak(pt.x, o.triples(t, pt.y), o.Mus, o.Gamma1, o.Cost, mode)
	sum := 0.0
	for _, col := range p.Columns {
		for _, v := range col {
			sum += v
		}
	}
	if math.Abs(sum-o.Sum) > 1e-9*math.Abs(o.Sum) {
		t.Fatalf("%s %d: the differences sum to %v, not %v", o.Set, o.T, sum, o.Sum)
	}
	return p
}

// solved solves a programme and checks the rules of every answer.
func solved(t testing.TB, p *Problem, warm *Result) *Result {
	t.Helper()
	r, err := Solve(context.Background(), p, warm)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGolden compares with bounds that an independent programme proved for the same triples.
func TestGolden(t *testing.T) {
	for _, o := range oracles(t) {
		t.Run(fmt.Sprintf("%s_%d_%s", o.Set, o.T, o.Mode), func(t *testing.T) {
			if testing.Short() && o.T*o.P > 1e6 {
				t.Skip("SKIPPED under -short: large instance")
			}
			r := solved(t, o.problem(t), nil)
			t.Logf("F %.12g bound %.12g gap %.1e %v, %d pivots, %d rounds, %d rows", r.Upper, r.Lower, r.Gap(), r.Status,
				r.Iterations, r.Rounds, r.Rows)
			lower, upper := float64(o.T), float64(o.T) // literal: alpha = 0 is forced
			if o.Upper != nil {
				lower, upper = *o.Lower, *o.Upper
			}
			if !(lower*(1-1e-9) <= r.Upper && r.Upper <= upper*(1+1e-9)) {
				t.Errorf("F(alpha) = %.12g is not in [%.12g, %.12g]", r.Upper, lower, upper)
			}
			if r.Status != Optimal || r.Gap() > 1e-8 {
				t.Errorf("status %v, gap %v", r.Status, r.Gap())
			}
		})
	}
}
