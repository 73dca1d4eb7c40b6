package lp

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// every lists all ordered triples of which the first two share a class that the third lacks.
func every(y []int) [][3]int {
	var out [][3]int
	for i := range y {
		for j := range y {
			for k := range y {
				if i != j && y[i] == y[j] && y[i] != y[k] {
					out = append(out, [3]int{i, j, k})
				}
			}
		}
	}
	return out
}

// single makes every column a group of its own, as (4) has it.
func single(p *Problem) *Problem {
	p.Groups = len(p.Columns)
	for k := range p.Group {
		p.Group[k] = int32(k)
	}
	return p
}

// TestPaper checks the worked examples of METHOD.md 5, the price of rho in both readings (METHOD.md 4.1).
func TestPaper(t *testing.T) {
	line := [][]float64{{0}, {1}, {10}, {11}}
	double := [][]float64{{0}, {0}, {1}, {5}}
	six := [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}
	two, three := []int{0, 0, 1, 1}, []int{0, 0, 0, 1, 1, 1}
	var cube [][]float64
	var corner []int
	for i := range 8 {
		cube = append(cube, []float64{float64(i & 1), float64(i >> 1 & 1), float64(i >> 2)})
		corner = append(corner, (i&1+i>>1&1+i>>2)%2)
	}
	widths := []float64{1, .1}
	grouped := func(p *Problem, gamma1 float64) *Problem {
		p.RidgeCost += gamma1
		return p
	}
	for _, c := range []struct {
		name string
		p    *Problem
		want float64
	}{
		{"L1 literal", weak(line, every(two), []float64{1}, .1, .04, Literal), .3805594559842663},
		{"L1 ridge", weak(line, every(two), []float64{1}, .1, .04, Ridge), .3805594559842663},
		{"L1 nonneg", weak(line, every(two), []float64{1}, .1, .04, Nonneg), .3805594559842663},
		{"L2 literal", weak(double, every(two), []float64{1}, .1, .04, Literal), 8},
		{"L3 literal", weak(six, every(three), widths, .1, .06, Literal), 36},
		{"L3 ridge", weak(six, every(three), widths, .1, .06, Ridge), .4442587796},
		{"L3 ridge, rho in a group", grouped(weak(six, every(three), widths, .1, .06, Ridge), .1), .6149318115},
		{"L3 ridge, rho in a group, gamma1 5", grouped(weak(six, every(three), widths, 5, .06, Ridge), 5), 14.5825018427},
		{"L3 ridge, every kernel a group", grouped(single(weak(six, every(three), widths, .1, .06, Ridge)), .1), .6351217593},
		{"L3 no dominance", free(weak(six, every(three), widths, .1, .06, Ridge)), .3150017957},
		{"L3 no dominance at gamma1_max", free(weak(six, every(three), widths, 39.97679867722247, .06, Ridge)), 36},
		{"L3 no dominance at .99 gamma1_max", free(weak(six, every(three), widths, .99*39.97679867722247, .06, Ridge)),
			35.71884906},
		{"cube .1", weak(cube, every(corner), []float64{.1}, .1, .01, Literal), float64(len(every(corner)))},
		{"cube 1 10", weak(cube, every(corner), []float64{1, 10}, .1, .01, Literal), float64(len(every(corner)))},
		{"cube 1000", weak(cube, every(corner), []float64{1000}, .1, .01, Literal), float64(len(every(corner)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := solved(t, c.p, nil)
			tolerance := 2e-10 * max(1, c.want) // the values are printed to ten digits
			if math.Abs(r.Upper-c.want) > tolerance || r.Gap() > 1e-8 {
				t.Errorf("F(alpha) = %.12g with gap %.1e (%v), want %.12g", r.Upper, r.Gap(), r.Status, c.want)
			}
		})
	}
}

// free takes dominance out of a programme but for the diagonal, which keeps it bounded.
func free(p *Problem) *Problem {
	sum := make([]float64, len(p.Columns))
	for k := range sum {
		sum[k] = p.Cost[k] / p.Cost[0] * p.Diagonal[0][k]
	}
	p.Points, p.Diagonal = 1, [][]float64{sum}
	return p
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	six := [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}
	for _, mode := range []Mode{Nonneg, Ridge, Literal} {
		p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, mode)
		r, err := Solve(ctx, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(r); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
		if r.Status != Stopped || r.Upper > 36 || r.Lower < 0 || r.Lower > 36 {
			t.Errorf("%v: %v in [%v, %v]", mode, r.Status, r.Lower, r.Upper)
		}
		best := solved(t, p, nil)
		warm, err := Solve(ctx, p, best)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(warm); err != nil || warm.Upper > best.Upper*(1+1e-8) {
			t.Errorf("%v: the warm weights are lost: %v, was %v, %v", mode, warm.Upper, best.Upper, err)
		}
	}
}

// TestDeadline: a programme that takes seconds ends soon after its deadline, with a certificate.
func TestDeadline(t *testing.T) {
	p := instance(7, 60, 6, 4000, []float64{.1, 1, 10}, 1e-3, 1e-4, Ridge)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	r, err := Solve(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(r); err != nil {
		t.Error(err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	six := [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}
	for _, mode := range []Mode{Nonneg, Ridge} {
		p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, mode)
		for name, spoil := range map[string]func(r *Result){
			"value":     func(r *Result) { r.Upper *= .99 },
			"bound":     func(r *Result) { r.Lower *= 1.01 },
			"weights":   func(r *Result) { r.Alpha[0] += .1 },
			"NaN":       func(r *Result) { r.Alpha[0] = math.NaN() },
			"length":    func(r *Result) { r.Alpha = r.Alpha[1:] },
			"dominance": func(r *Result) { r.Alpha[0], r.Rho = -1, 0; r.Upper = p.Objective(r.Alpha, 0) },
		} {
			r := solved(t, p, nil)
			spoil(r)
			if err := p.Verify(r); !errors.Is(err, ErrCertificate) {
				t.Errorf("%v: a result with a spoilt %s passes: %v", mode, name, err)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	six := [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}
	for name, spoil := range map[string]func(p *Problem){
		"no column":       func(p *Problem) { p.Columns = nil },
		"short column":    func(p *Problem) { p.Columns[1] = p.Columns[1][1:] },
		"NaN":             func(p *Problem) { p.Columns[1][0] = math.NaN() },
		"negative cost":   func(p *Problem) { p.Cost[0] = -1 },
		"negative weight": func(p *Problem) { p.Weight = make([]float64, 36); p.Weight[3] = -1 },
		"weights":         func(p *Problem) { p.Weight = make([]float64, 35) },
		"group":           func(p *Problem) { p.Group[0] = 9 },
		"gamma":           func(p *Problem) { p.Gamma = math.Inf(1) },
		"mode":            func(p *Problem) { p.Mode = 7 },
	} {
		p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, Nonneg)
		spoil(p)
		if _, err := Solve(context.Background(), p, nil); !errors.Is(err, ErrProblem) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, Ridge)
	p.Pair = nil
	if _, err := Solve(context.Background(), p, nil); !errors.Is(err, ErrProblem) {
		t.Errorf("no pairs: %v", err)
	}
}
