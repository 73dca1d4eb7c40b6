package lp

import (
	"errors"
	"math"
	"math/rand"
	"slices"
	"testing"

	"liftstream/model"
)

// slowBound is Problem.Bound by its words: multipliers are clamped and shrunk, and the whole dual point is drawn to
// one that is feasible, by bisection.
func slowBound(p *Problem, lambda []float64, cuts []Cut) float64 {
	l, value := make([]float64, len(lambda)), 0.
	for t, v := range lambda {
		w := 1.
		if p.Weight != nil {
			w = p.Weight[t]
		}
		l[t] = min(max(v, 0), w)
		value += l[t]
	}
	sum := 0.
	for _, c := range cuts {
		sum += max(c.Multiplier, 0)
	}
	by := 1.
	if p.Mode == Ridge && sum > p.RidgeCost {
		by = p.RidgeCost / sum
	}
	v := make([]float64, len(p.Columns))
	pair := make([]float64, len(p.Columns))
	for k, col := range p.Columns {
		for t, a := range col {
			v[k] += l[t] * a
		}
		for _, c := range cuts {
			if p.Mode != Nonneg {
				v[k] += max(c.Multiplier, 0) * by * p.Diagonal[c.Point][k]
			}
		}
	}
	for _, c := range cuts {
		for j, s := range c.Sign {
			if j == c.Point || p.Mode == Nonneg {
				continue
			}
			p.Pair(c.Point, j, pair)
			for k := range v {
				v[k] -= max(c.Multiplier, 0) * by * float64(s) * pair[k]
			}
		}
	}
	feasible := func(theta float64) bool {
		group := make([]float64, p.Groups)
		for k, g := range p.Group {
			if p.Mode == Nonneg {
				group[g] += max(0, theta*v[k]-p.Cost[k])
			} else {
				group[g] += theta * math.Abs(v[k]-p.Cost[k])
			}
		}
		return slices.Max(group) <= p.Gamma
	}
	lo, hi := 0., 1.
	if feasible(1) {
		return value
	}
	for range 200 {
		if mid := (lo + hi) / 2; feasible(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo * value
}

// TestBoundIsThatOfTheShrunkPoint, for any multipliers, those out of range too.
func TestBoundIsThatOfTheShrunkPoint(t *testing.T) {
	for s := range 120 {
		rng := rand.New(rand.NewSource(int64(s)))
		mode := []Mode{Nonneg, Ridge, Literal}[s%3]
		p := instance(int64(s), 8+rng.Intn(6), 1+rng.Intn(3), 5+rng.Intn(30), []float64{1, .1},
			math.Pow(10, float64(rng.Intn(4)-2)), math.Pow(10, float64(rng.Intn(4)-3)), mode)
		if s%2 == 0 {
			p.Weight = make([]float64, p.rows())
			for i := range p.Weight {
				p.Weight[i] = rng.Float64() * 3
			}
		}
		lambda := make([]float64, p.rows())
		for i := range lambda {
			lambda[i] = 2*rng.Float64() - .5
		}
		var cuts []Cut
		for range 4 {
			c := Cut{Point: rng.Intn(max(p.Points, 1)), Sign: make([]int8, p.Points),
				Multiplier: p.RidgeCost * (rng.Float64() - .2)}
			for j := range c.Sign {
				c.Sign[j] = int8(rng.Intn(3) - 1)
			}
			cuts = append(cuts, c)
		}
		for _, by := range []float64{.1, 1, 1.6, 10} {
			scaled := slices.Clone(cuts)
			for i := range scaled {
				scaled[i].Multiplier *= by
			}
			if mode == Nonneg {
				scaled = nil
			}
			got, want := p.Bound(lambda, scaled), slowBound(p, lambda, scaled)
			if math.Abs(got-want) > 1e-9*(1e-3+want) {
				t.Errorf("instance %d, %v, cuts times %v: bound %v, want %v", s, mode, by, got, want)
			}
		}
	}
}

// TestObjectiveByHand: F of a point by its words, with groups of several columns and negative weights.
func TestObjectiveByHand(t *testing.T) {
	p := &Problem{Columns: [][]float64{{1, 0, -1}, {0, 2, 0}, {1, 1, 1}}, Weight: []float64{1, 2, 4},
		Group: []int32{0, 0, 1}, Groups: 2, Gamma: 10, Cost: []float64{.1, .2, .3}, RidgeCost: 100}
	alpha := []float64{.5, -.75, .25}
	// a.alpha: .75, -1.25, -.25; hinges .25, 2.25, 1.25; groups .75 and .25.
	hinges, groups, cost := .25+2*2.25+4*1.25, 10*(.75+.25), .1*.5-.2*.75+.3*.25
	for mode, rho := range map[Mode]float64{Ridge: .125, Literal: 0} {
		p.Mode = mode
		if got, want := p.Objective(alpha, rho), hinges+groups+cost+100*rho; math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", mode, got, want)
		}
	}
}

// TestATurnedKernelHasTheOppositeWeight: in the modes that leave weights free a kernel and its negative are the same
// choice, so that the optimum stays.
func TestATurnedKernelHasTheOppositeWeight(t *testing.T) {
	for s := range 12 {
		mode := []Mode{Ridge, Literal}[s%2]
		p := instance(int64(s), 10, 3, 40, []float64{1}, .05, .01, mode)
		r := solved(t, p, nil)
		q := *p
		q.Columns, q.Cost = slices.Clone(p.Columns), slices.Clone(p.Cost)
		turn := func(v []float64) []float64 {
			v = slices.Clone(v)
			for i := range v {
				v[i] = -v[i]
			}
			return v
		}
		const k = 1
		q.Columns[k], q.Cost[k] = turn(p.Columns[k]), -p.Cost[k]
		q.Diagonal = slices.Clone(p.Diagonal)
		for i := range q.Diagonal {
			q.Diagonal[i] = slices.Clone(p.Diagonal[i])
			q.Diagonal[i][k] *= -1
		}
		q.Pair = func(i, j int, dst []float64) { p.Pair(i, j, dst); dst[k] = -dst[k] }
		turned := solved(t, &q, nil)
		if math.Abs(turned.Upper-r.Upper) > 1e-8*r.Upper {
			t.Errorf("instance %d, %v: optimum %v, with a kernel turned round %v", s, mode, r.Upper, turned.Upper)
		}
		back := slices.Clone(turned.Alpha)
		back[k] *= -1
		if f := p.Objective(back, turned.Rho); math.Abs(f-r.Upper) > 1e-8*r.Upper {
			t.Errorf("instance %d, %v: the weights turned back have %v, the optimum is %v", s, mode, f, r.Upper)
		}
	}
}

// TestAnswersOfAnyBudget: at any budget an answer is proved, no worse than no kernel or the warm weights, and in
// the end the optimum. A row of weight 2 is two rows, and the unit of all prices does not matter.
func TestAnswersOfAnyBudget(t *testing.T) {
	for s := range 9 {
		mode := []Mode{Nonneg, Ridge, Literal}[s%3]
		p := instance(int64(s), 14, 4, 120, []float64{.1, 1, 10}, .3, .02, mode)
		optimum := solved(t, p, nil)
		zero := p.Objective(make([]float64, len(p.Columns)), 0)
		dearer := *p
		dearer.Gamma *= 1.5
		near := solved(t, &dearer, nil)
		var last *Result
		stopped := 0
		for work := int64(2000); ; work = work * 5 / 4 {
			q := *p
			q.Work = model.NewWork(work)
			r, err := Solve(t.Context(), &q, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Verify(r); err != nil {
				t.Fatalf("instance %d, %v, %d steps: %v", s, mode, work, err)
			}
			if r.Upper > zero*(1+1e-12) || r.Upper < optimum.Upper*(1-1e-8) || r.Lower > optimum.Upper*(1+1e-8) {
				t.Errorf("instance %d, %v, %d steps: between %v and %v, the optimum is %v, without a kernel %v", s, mode, work,
					r.Lower, r.Upper, optimum.Upper, zero)
			}
			if mode == Nonneg {
				if r, err = Solve(t.Context(), &q, near); err != nil {
					t.Fatal(err)
				}
				if start := p.Objective(near.Alpha, 0); r.Upper > start*(1+1e-12) {
					t.Errorf("instance %d, %d steps: from weights of %v the answer has %v", s, work, start, r.Upper)
				}
			}
			if r.Status != Stopped {
				last = r
				break
			}
			stopped++
		}
		if stopped < 5 || math.Abs(last.Upper-optimum.Upper) > 1e-8*optimum.Upper {
			t.Errorf("instance %d, %v: %d answers stopped, the last one is %v, the optimum %v", s, mode, stopped, last.Upper,
				optimum.Upper)
		}
		double := *p
		double.Weight = slices.Repeat([]float64{2}, p.rows())
		double.Gamma, double.RidgeCost, double.Cost = 2*p.Gamma, 2*p.RidgeCost, slices.Clone(p.Cost)
		for k := range double.Cost {
			double.Cost[k] *= 2
		}
		if r := solved(t, &double, nil); math.Abs(r.Upper-2*optimum.Upper) > 1e-8*r.Upper {
			t.Errorf("instance %d, %v: twice everything is %v, once %v", s, mode, r.Upper, optimum.Upper)
		}
		twice := *p
		twice.Columns = slices.Clone(p.Columns)
		for k, col := range twice.Columns {
			twice.Columns[k] = slices.Concat(col, col)
		}
		twice.Gamma, twice.RidgeCost, twice.Cost = double.Gamma, double.RidgeCost, double.Cost
		if r := solved(t, &twice, nil); math.Abs(r.Upper-2*optimum.Upper) > 1e-8*r.Upper {
			t.Errorf("instance %d, %v: every row twice is %v, once %v", s, mode, r.Upper, optimum.Upper)
		}
	}
}

// TestVerifyAsksForSoundNumbers, and Solve for warm weights of the programme.
func TestVerifyAsksForSoundNumbers(t *testing.T) {
	for _, mode := range []Mode{Nonneg, Ridge} {
		p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, mode)
		for name, spoil := range map[string]func(r *Result){
			"negative rho":        func(r *Result) { r.Rho = -1e-3; r.Upper = p.Objective(r.Alpha, r.Rho) },
			"rho of NaN":          func(r *Result) { r.Rho = math.NaN() },
			"infinite weight":     func(r *Result) { r.Alpha[0] = math.Inf(1) },
			"value of NaN":        func(r *Result) { r.Upper = math.NaN() },
			"bound of NaN":        func(r *Result) { r.Lower = math.NaN() },
			"no multipliers":      func(r *Result) { r.Lambda = nil },
			"a little dominance":  func(r *Result) { r.Rho = 0; r.Alpha[0] += 1e-6; r.Upper = p.Objective(r.Alpha, 0) },
			"a bound of no proof": func(r *Result) { clear(r.Lambda) },
		} {
			r := solved(t, p, nil)
			if name == "a little dominance" && (mode == Nonneg || r.Rho == 0) {
				continue
			}
			spoil(r)
			if err := p.Verify(r); !errors.Is(err, ErrCertificate) {
				t.Errorf("%v: %s passes: %v", mode, name, err)
			}
		}
		r := solved(t, p, nil)
		if mode == Nonneg {
			r.Alpha[0] = -1e-3
			r.Upper = p.Objective(r.Alpha, 0)
			if err := p.Verify(r); !errors.Is(err, ErrCertificate) {
				t.Errorf("a negative weight passes: %v", err)
			}
		}
		n := len(p.Columns)
		for name, alpha := range map[string][]float64{"too few": make([]float64, n-1), "too many": make([]float64, n+1),
			"NaN": append(make([]float64, n-1), math.NaN()), "infinite": append(make([]float64, n-1), math.Inf(-1))} {
			if _, err := Solve(t.Context(), p, &Result{Alpha: alpha}); !errors.Is(err, ErrProblem) {
				t.Errorf("%v: warm weights, %s, are accepted: %v", mode, name, err)
			}
		}
	}
}
