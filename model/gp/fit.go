package gp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// Prior is a normal density on the logarithm of each hyperparameter: mode Center, standard deviation Width of the
// logarithm; a Width of 0 means none.
type Prior struct {
	Center, Width Params
}

func (q *Prior) add(logs [3]float64, slope *[3]float64) (value float64) {
	if q == nil {
		return 0
	}
	width := [3]float64{q.Width.Length, q.Width.Signal, q.Width.Noise}
	center := q.Center.logs()
	for i, w := range width {
		if w > 0 {
			d := (logs[i] - center[i]) / w
			value -= .5 * d * d
			slope[i] -= d / w
		}
	}
	return value
}

func (q *Prior) profilable() bool { return q == nil || q.Width.Signal == 0 && q.Width.Noise == 0 }

// FitOptions say how hyperparameters are searched.
type FitOptions struct {
	Bounds Bounds
	Prior  *Prior // nil = maximum likelihood
	// Starts are the points from which the search sets out; the best result is kept. At least one.
	Starts []Params
	// Iterations bounds those of one start; 0 = 100.
	Iterations int
	// Tolerance ends a search when it gains less than that, in nats, in four iterations; 0 = 1e-9.
	Tolerance float64
}

// Fit maximises the log marginal likelihood plus the log prior by conjugate gradients (gonum), and returns the
// hyperparameters and the log marginal likelihood there. Bounds are kept by the substitution ln v = middle + half sin
// z, which reaches them. When no observation has a variance of its own and the prior leaves sf and sn free, the signal
// is profiled out, sf^2 = r'(R + g I)^-1 r / B, and the search is over (l, g = sn^2/sf^2) only; a result outside the
// bounds is taken up by the full search. The result is never worse than any of the starts.
func Fit(obs []Observation, mean float64, opt FitOptions) (Params, float64, error) {
	if err := opt.Bounds.check(); err != nil {
		return Params{}, 0, err
	}
	if len(opt.Starts) == 0 || math.IsNaN(mean) || math.IsInf(mean, 0) {
		return Params{}, 0, fmt.Errorf("%w: %d starts, mean %v", ErrInput, len(opt.Starts), mean)
	}
	free := opt.Prior.profilable() && len(obs) > 1
	for _, o := range obs {
		if err := o.check(); err != nil {
			return Params{}, 0, err
		}
		free = free && o.Tau2 == 0
	}
	s := &search{obs: obs, mean: mean, opt: &opt, best: math.Inf(-1)}
	for _, p := range opt.Starts {
		if err := p.check(); err != nil {
			return Params{}, 0, err
		}
		p = opt.Bounds.clamp(p)
		s.full(p.logs(), nil)
		if free {
			q := s.profiled(p)
			if c := opt.Bounds.clamp(q); near(c, q) {
				s.full(c.logs(), nil)
				continue
			}
			p = opt.Bounds.clamp(q)
		}
		s.whole(p)
	}
	if math.IsInf(s.best, -1) {
		return Params{}, 0, fmt.Errorf("%w: no likelihood is finite", ErrInput)
	}
	p := fromLogs(s.at)
	value, _, _, err := Likelihood(p, mean, obs)
	return p, value, err
}

func near(a, b Params) bool {
	x, y := a.logs(), b.logs()
	return math.Abs(x[0]-y[0])+math.Abs(x[1]-y[1])+math.Abs(x[2]-y[2]) < 1e-12
}

type search struct {
	obs  []Observation
	mean float64
	opt  *FitOptions
	best float64
	at   [3]float64
}

// full is the objective at the logarithms v and, where slope is not nil, its derivatives. It remembers the best point.
func (s *search) full(v [3]float64, slope []float64) float64 {
	t, err := evaluate(fromLogs(v), s.mean, s.obs, slope != nil)
	if err != nil {
		return math.Inf(-1)
	}
	var g [3]float64
	for i := range g {
		g[i] = t.slopeQuad[i] - t.slopeDet[i]
	}
	value := t.value() + s.opt.Prior.add(v, &g)
	copy(slope, g[:])
	if value > s.best {
		s.best, s.at = value, v
	}
	return value
}

// box maps z in R^n onto the logarithms between the bounds.
type box struct{ middle, half []float64 }

func newBox(low, high []float64) box {
	b := box{make([]float64, len(low)), make([]float64, len(low))}
	for i := range low {
		b.middle[i], b.half[i] = (low[i]+high[i])/2, (high[i]-low[i])/2
	}
	return b
}

func (b box) out(z []float64) (v [3]float64) {
	for i := range z {
		v[i] = b.middle[i] + b.half[i]*math.Sin(z[i])
	}
	return v
}

// in is a z of v. At a bound, where the derivative is 0 and a search would stay, it is a little inside.
func (b box) in(v []float64) []float64 {
	z := make([]float64, len(v))
	for i := range v {
		z[i] = math.Asin(min(max((v[i]-b.middle[i])/b.half[i], -.98), .98))
	}
	return z
}

// climb runs conjugate gradients up f, which writes derivatives by the logarithms and remembers the best point.
func (s *search) climb(b box, start []float64, f func(v [3]float64, slope []float64) float64) {
	n := len(start)
	slope := make([]float64, 3)
	last := make([]float64, n)
	var value float64
	fresh := false
	eval := func(z []float64) {
		for i := range z {
			fresh = fresh && z[i] == last[i]
		}
		if fresh {
			return
		}
		copy(last, z)
		value, fresh = f(b.out(z), slope), true
	}
	problem := optimize.Problem{
		Func: func(z []float64) float64 {
			eval(z)
			return -value
		},
		Grad: func(g, z []float64) {
			eval(z)
			for i := range g {
				g[i] = -slope[i] * b.half[i] * math.Cos(z[i])
			}
		},
	}
	iterations := s.opt.Iterations
	if iterations == 0 {
		iterations = 100
	}
	tolerance := s.opt.Tolerance
	if tolerance == 0 {
		tolerance = 1e-9
	}
	settings := &optimize.Settings{MajorIterations: iterations, FuncEvaluations: 6 * iterations, GradientThreshold: 1e-6,
		Converger: &optimize.FunctionConverge{Absolute: tolerance, Iterations: 4}}
	// f keeps the best point that it sees, so a line search that fails for rounding near the optimum is no failure.
	_, _ = optimize.Minimize(problem, b.in(start), settings, &optimize.CG{})
}

func (s *search) whole(p Params) {
	low, high, v := s.opt.Bounds.Low.logs(), s.opt.Bounds.High.logs(), p.logs()
	s.climb(newBox(low[:], high[:]), v[:], s.full)
}

// profiled searches (ln l, ln g) and returns the hyperparameters.
func (s *search) profiled(p Params) Params {
	lo, hi := s.opt.Bounds.Low, s.opt.Bounds.High
	n := float64(len(s.obs))
	var best struct {
		value float64
		p     Params
	}
	best.value = math.Inf(-1)
	f := func(v [3]float64, slope []float64) float64 {
		unit := Params{math.Exp(v[0]), 1, math.Exp(v[1] / 2)}
		t, err := evaluate(unit, s.mean, s.obs, true)
		scale := t.quad / n
		if err != nil || !(scale > 0) {
			clear(slope)
			return math.Inf(-1)
		}
		var g [3]float64
		for i := range g {
			g[i] = t.slopeQuad[i]/scale - t.slopeDet[i]
		}
		value := -.5*n - .5*t.det - .5*n*math.Log(2*math.Pi*scale)
		value += s.opt.Prior.add([3]float64{v[0], 0, 0}, &g)
		slope[0], slope[1] = g[0], g[2]/2
		if value > best.value {
			sf := math.Sqrt(scale)
			best.value, best.p = value, Params{unit.Length, sf, unit.Noise * sf}
		}
		return value
	}
	low := []float64{math.Log(lo.Length), 2 * math.Log(lo.Noise/hi.Signal)}
	high := []float64{math.Log(hi.Length), 2 * math.Log(hi.Noise/lo.Signal)}
	// Below 1e-10 the covariance of many observations is singular to rounding.
	low[1] = min(max(low[1], math.Log(1e-10)), high[1]-1e-6)
	s.climb(newBox(low, high), []float64{math.Log(p.Length), 2 * math.Log(p.Noise/p.Signal)}, f)
	if math.IsInf(best.value, -1) {
		return p
	}
	return best.p
}
