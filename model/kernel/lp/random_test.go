package lp

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"liftstream/model/modeltest"
)

// instance draws points with ties, and triples of which some repeat or contradict others.
func instance(seed int64, n, features, triples int, mus []float64, gamma1, cost float64, mode Mode) *Problem {
	rng := rand.New(rand.NewSource(seed))
	grid := math.Pow(10, float64(seed%3))
	classes := 2 + int(seed%3)
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, features)
		for f := range x[i] {
			v := rng.NormFloat64()
			if f < 2 {
				v += float64(i % classes)
			}
			x[i][f] = math.Round(v*grid) / grid
		}
		if i > 0 && rng.Intn(10) == 0 {
			copy(x[i], x[rng.Intn(i)]) // duplicate points
		}
	}
	var t [][3]int
	for len(t) < triples {
		i, j, k := rng.Intn(n), rng.Intn(n), rng.Intn(n)
		if i == j || i%classes != j%classes || i%classes == k%classes {
			continue
		}
		switch rng.Intn(20) {
		case 0:
			t = append(t, [3]int{i, k, j})
		case 1:
			if len(t) > 0 {
				t = append(t, t[rng.Intn(len(t))])
			}
		default:
			t = append(t, [3]int{i, j, k})
		}
	}
	return weak(x, t, mus, gamma1, cost, mode)
}

// TestRandom solves programmes of all modes, many of them degenerate, each to a certified gap.
func TestRandom(t *testing.T) {
	count := 1000
	if testing.Short() {
		count = 100
	}
	worst, pivots := 0.0, 0
	for s := range count {
		rng := rand.New(rand.NewSource(int64(1000 + s)))
		mode := []Mode{Nonneg, Ridge, Nonneg, Ridge, Nonneg, Nonneg, Nonneg, Literal}[s%8]
		mus := [][]float64{{.1, 1, 10}, {1}, {.01, .02, .04, 1, 50, 51}}[rng.Intn(3)]
		triples := 5 + rng.Intn(300)
		if s%25 == 0 {
			triples = 1
		}
		p := instance(int64(s), 8+rng.Intn(30), 1+rng.Intn(8), triples, mus, math.Pow(10, float64(rng.Intn(6)-4)),
			math.Pow(10, float64(rng.Intn(6)-5)), mode)
		switch s % 7 {
		case 1: // equal columns
			p.Columns[len(p.Columns)-1] = p.Columns[0]
			pair := p.Pair
			p.Pair = func(i, j int, dst []float64) { pair(i, j, dst); dst[len(dst)-1] = dst[0] }
		case 2: // a column that tells nothing
			p.Columns[0] = make([]float64, p.rows())
		case 3:
			p.Weight = make([]float64, p.rows())
			for i := range p.Weight {
				p.Weight[i] = math.Floor(rng.Float64() * 4)
			}
		case 4: // every triple contradicted
			for k, col := range p.Columns {
				turned := slices.Clone(col)
				for i := range turned {
					turned[i] = -turned[i]
				}
				p.Columns[k] = append(slices.Clone(col), turned...)
			}
		case 5:
			if mode == Nonneg {
				p.Gamma = 0
			}
		case 6:
			if mode == Nonneg {
				clear(p.Cost)
			}
		}
		r := solved(t, p, nil)
		gap := r.Upper - r.Lower
		if gap > 3e-9*r.Upper+1e-13*float64(p.rows()) {
			t.Errorf("instance %d %v, %d triples, %d columns, gamma %g, cost %g: "+
				"F %.12g, bound %.12g, %v after %d pivots in %d rounds", s, mode,
				p.rows(), len(p.Columns), p.Gamma, p.Cost[0], r.Upper, r.Lower, r.Status, r.Iterations, r.Rounds)
		}
		worst = max(worst, gap/max(r.Upper, 1e-12))
		pivots += r.Iterations
	}
	t.Logf("%d instances, worst relative gap %.1e, %d pivots", count, worst, pivots)
}

// TestWarm: a start from the weights of a programme with nine tenths of the same triples gives the optimum in fewer
// pivots.
func TestWarm(t *testing.T) {
	for _, mode := range []Mode{Nonneg, Ridge} {
		p := instance(3, 60, 8, 1000, []float64{.1, 1, 10}, .1, .01, mode)
		q := instance(4, 60, 8, 1000, []float64{.1, 1, 10}, .1, .01, mode)
		old := solved(t, p, nil)
		for k := range p.Columns {
			p.Columns[k] = append(slices.Clone(p.Columns[k][100:]), q.Columns[k][:100]...)
		}
		cold, warm := solved(t, p, nil), solved(t, p, old)
		if math.Abs(cold.Upper-warm.Upper) > 1e-8*cold.Upper {
			t.Errorf("%v: warm %v, cold %v", mode, warm.Upper, cold.Upper)
		}
		if warm.Iterations >= cold.Iterations {
			t.Errorf("%v: warm %d pivots, cold %d", mode, warm.Iterations, cold.Iterations)
		}
		t.Logf("%v: cold %d pivots, warm %d", mode, cold.Iterations, warm.Iterations)
	}
}

// TestWarmRandom: a warm start ends at the optimum, as certified, from near and from far.
func TestWarmRandom(t *testing.T) {
	worst := 0.0
	for s := range 60 {
		mode := []Mode{Nonneg, Nonneg, Nonneg, Ridge}[s%4]
		triples, columns := 400+s*s*2, 1+s%9
		if mode == Ridge {
			triples = 300 + 5*s
		}
		gamma := math.Pow(10, float64(s%5-3))
		p := instance(int64(s), 40, columns, triples, []float64{.1, 1, 10}, gamma, gamma/10, mode)
		q := instance(int64(s), 40, columns, triples, []float64{.1, 1, 10}, gamma*[]float64{1, 3, .1}[s%3], gamma/10, mode)
		r := solved(t, q, solved(t, p, nil))
		if s%5 == 0 {
			far := &Result{Alpha: make([]float64, len(q.Columns))}
			for k := range far.Alpha {
				far.Alpha[k] = float64(k % 7)
			}
			r = solved(t, q, far)
		}
		if r.Gap() > 1e-8 {
			t.Errorf("instance %d %v, %d triples, gamma %g: F %.12g, gap %.1e, %v after %d pivots in %d rounds", s, mode,
				triples, q.Gamma, r.Upper, r.Gap(), r.Status, r.Iterations, r.Rounds)
		}
		worst = max(worst, r.Gap())
	}
	t.Logf("worst relative gap %.1e", worst)
}

// TestDeterminism: the same programme gives the same bits.
func TestDeterminism(t *testing.T) {
	for _, mode := range []Mode{Nonneg, Ridge, Literal} {
		p := instance(11, 30, 5, 400, []float64{.1, 1}, .1, .01, mode)
		a, b := solved(t, p, nil), solved(t, p, nil)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v: two solves differ", mode)
		}
	}
}

var sink *Result

// BenchmarkWarm compares a cold solve with one from the weights of a programme with nine tenths of the same triples.
func BenchmarkWarm(b *testing.B) {
	for _, o := range oracles(b) {
		if o.Set != "wdbc" && o.Set != "isolet" || o.Mode == "literal" || o.T > 50000 {
			continue
		}
		p := o.problem(b)
		old := solved(b, p, nil)
		rng := rand.New(rand.NewSource(1))
		pt := readPoints(b, o.Set, o.N)
		q := *p
		q.Columns = nil
		for _, col := range p.Columns {
			q.Columns = append(q.Columns, slices.Clone(col))
		}
		for t := 0; t < o.T; t += 10 {
			i, j, k := rng.Intn(o.N), rng.Intn(o.N), rng.Intn(o.N)
			if i == j || pt.y[i] != pt.y[j] || pt.y[i] == pt.y[k] {
				t -= 10
				continue
			}
			x, z := make([]float64, len(p.Columns)), make([]float64, len(p.Columns))
			p.Pair(i, j, x)
			p.Pair(i, k, z)
			for c := range q.Columns {
				q.Columns[c][t] = x[c] - z[c]
			}
		}
		for name, from := range map[string]*Result{"cold": nil, "warm": old} {
			b.Run(fmt.Sprintf("%s_%d_%s/%s", o.Set, o.T, o.Mode, name), func(b *testing.B) {
				start := modeltest.Processor()
				for b.Loop() {
					sink, _ = Solve(context.Background(), &q, from)
				}
				b.ReportMetric((modeltest.Processor()-start).Seconds()/float64(b.N), "cpu-s/op")
				b.ReportMetric(float64(sink.Iterations), "pivots")
				b.ReportMetric(float64(sink.Rounds), "rounds")
			})
		}
	}
}

// BenchmarkGolden times the instances of testdata/golden.json, without making the kernels.
func BenchmarkGolden(b *testing.B) {
	for _, o := range oracles(b) {
		b.Run(fmt.Sprintf("%s_%d_%s", o.Set, o.T, o.Mode), func(b *testing.B) {
			p := o.problem(b)
			from := modeltest.Processor()
			for b.Loop() {
				sink, _ = Solve(context.Background(), p, nil)
			}
			b.ReportMetric((modeltest.Processor()-from).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// BenchmarkLarge solves 20,000 triples over 600 kernels.
func BenchmarkLarge(b *testing.B) {
	p := instance(1, 1000, 200, 20000, []float64{.1, 1, 10}, .1, 10, Nonneg)
	start := modeltest.Processor()
	for b.Loop() {
		sink, _ = Solve(context.Background(), p, nil)
	}
	b.ReportMetric((modeltest.Processor()-start).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(sink.Iterations), "pivots")
	b.ReportMetric(sink.Gap(), "gap")
}
