package gp

import (
	"math"
	"slices"
	"testing"
)

// TestAnAppendedObservationCounts: after any question a pool that grows answers like one made at once.
func TestAnAppendedObservationCounts(t *testing.T) {
	p := Params{.3, 1.5, .1}
	obs := sample(3, 12, true)
	r, err := New(p, .2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range obs {
		if err := r.Append(o); err != nil {
			t.Fatal(err)
		}
		whole, err := New(p, .2, obs[:i+1])
		if err != nil {
			t.Fatal(err)
		}
		m, v := r.At(.37)
		wm, wv := whole.At(.37)
		if m != wm || v != wv || r.LogLikelihood() != whole.LogLikelihood() || r.Norm() != whole.Norm() ||
			!slices.Equal(r.Alpha(), whole.Alpha()) {
			t.Fatalf("after %d observations: %v, %v, alpha %v, made at once %v, %v, %v", i+1, m, v, r.Alpha(), wm, wv,
				whole.Alpha())
		}
	}
}

// posterior is the objective of Fit by hand.
func posterior(t *testing.T, p Params, mean float64, obs []Observation, prior *Prior) float64 {
	t.Helper()
	v, _, _, err := Likelihood(p, mean, obs)
	if err != nil {
		t.Fatal(err)
	}
	if prior == nil {
		return v
	}
	for _, x := range [][3]float64{{p.Length, prior.Center.Length, prior.Width.Length},
		{p.Signal, prior.Center.Signal, prior.Width.Signal}, {p.Noise, prior.Center.Noise, prior.Width.Noise}} {
		if x[2] > 0 {
			d := math.Log(x[0]/x[1]) / x[2]
			v -= d * d / 2
		}
	}
	return v
}

// TestPriorsAreNormalInTheLogarithm: value and slope of a prior are those of the density by hand.
func TestPriorsAreNormalInTheLogarithm(t *testing.T) {
	q := &Prior{Center: Params{.1, .2, .03}, Width: Params{1, .5, 0}}
	at := Params{.4, .1, 1}.logs()
	slope := [3]float64{1, 2, 3}
	value := q.add(at, &slope)
	l, s := math.Log(4), math.Log(.5)
	if want := -.5*l*l - .5*s*s/.25; math.Abs(value-want) > 1e-12 {
		t.Errorf("value %v, want %v", value, want)
	}
	for i, want := range [3]float64{1 - l, 2 - s/.25, 3} {
		if math.Abs(slope[i]-want) > 1e-12 {
			t.Errorf("slope %d is %v, want %v", i, slope[i], want)
		}
	}
}

// TestFitIsNoWorseThanAGrid: with and without variances of the observations, priors of some or all hyperparameters, and
// starts beyond the bounds, the answer lies within the bounds, no point of a grid over them is better, and the value
// that is returned is that of the answer.
func TestFitIsNoWorseThanAGrid(t *testing.T) {
	wide := Bounds{Params{.02, .05, .005}, Params{2, 3, 1}}
	for name, c := range map[string]struct {
		tau    float64 // times the variances of the sample
		bounds Bounds
		prior  *Prior
		start  Params
	}{
		"free":                      {0, wide, nil, Params{.5, .2, .05}},
		"large variances":           {40, wide, nil, Params{.5, .2, .05}},
		"variances":                 {1, wide, nil, Params{.5, .2, .05}},
		"prior of the length":       {0, wide, &Prior{Params{.05, 1, 1}, Params{Length: .2}}, Params{.5, .2, .05}},
		"prior of all":              {1, wide, &Prior{Params{.3, .5, .02}, Params{.3, .3, .3}}, Params{.5, .2, .05}},
		"the optimum is beyond":     {0, Bounds{Params{.6, .05, .3}, Params{2, .4, 1}}, nil, Params{1.5, .3, .5}},
		"a start below the bounds":  {1, wide, nil, Params{1e-6, 1e-6, 1e-6}},
		"a start beyond the bounds": {0, wide, nil, Params{1e6, 1e6, 1e6}},
	} {
		obs := sample(11, 25, true)
		for i := range obs {
			obs[i].Tau2 *= c.tau
		}
		p, value, err := Fit(obs, .1, FitOptions{Bounds: c.bounds, Prior: c.prior, Starts: []Params{c.start, {.2, .5, .1}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lo, hi, at := c.bounds.Low.logs(), c.bounds.High.logs(), p.logs()
		for i := range at {
			if at[i] < lo[i]-1e-12 || at[i] > hi[i]+1e-12 {
				t.Errorf("%s: %v is outside of the bounds", name, p)
			}
		}
		if want := posterior(t, p, .1, obs, nil); math.Abs(value-want) > 1e-9 {
			t.Errorf("%s: a likelihood of %v is returned, that of the answer is %v", name, value, want)
		}
		got, best, where := posterior(t, p, .1, obs, c.prior), math.Inf(-1), Params{}
		const steps = 9
		for i := range steps * steps * steps {
			var v [3]float64
			for k, n := range [3]int{i % steps, i / steps % steps, i / steps / steps} {
				v[k] = lo[k] + (hi[k]-lo[k])*float64(n)/(steps-1)
			}
			if x := posterior(t, fromLogs(v), .1, obs, c.prior); x > best {
				best, where = x, fromLogs(v)
			}
		}
		if !(got >= best-1e-6) {
			t.Errorf("%s: %v at %v, a grid has %v at %v", name, got, p, best, where)
		}
	}
}

// TestBoundsOfTheLowRankHold, also where a few observations are much more certain than the others, wherever they stand.
func TestBoundsOfTheLowRankHold(t *testing.T) {
	p := Params{.05, 1, .01}
	for _, first := range []bool{true, false} {
		obs := sample(5, 120, false)
		for i := range obs {
			if certain := i < 10; certain != first {
				obs[i].Tau2 = 4
			}
		}
		value, below, above, err := Likelihood(p, 0, obs)
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(p, 0, obs)
		if err != nil {
			t.Fatal(err)
		}
		exact := r.LogLikelihood()
		if exact < value-below-1e-7 || exact > value+above+1e-7 || below > residualShare {
			t.Errorf("the certain ones first: %v: %v in [%v - %v, %v + %v]", first, exact, value, below, value, above)
		}
	}
}

// holdout returns the errors of growing pools by refits, every choice the first of the largest variances.
func holdout(t *testing.T, p Params, mean float64, obs []Observation, held func(int) bool,
	most int) (chosen []int, mse []float64) {
	t.Helper()
	var pool []Observation
	for range most {
		r, err := New(p, mean, pool)
		if err != nil {
			t.Fatal(err)
		}
		at, top := -1, 0.
		for i, o := range obs {
			if _, v := r.At(o.X); !held(i) && !slices.Contains(chosen, i) && v > top+2*DefaultTie*p.Signal*p.Signal {
				at, top = i, v
			}
		}
		if at < 0 {
			break
		}
		chosen, pool = append(chosen, at), append(pool, obs[at])
		if r, err = New(p, mean, pool); err != nil {
			t.Fatal(err)
		}
		sum, n := 0., 0.
		for i, o := range obs {
			if held(i) {
				m, _ := r.At(o.X)
				sum, n = sum+(m-o.Y)*(m-o.Y), n+1
			}
		}
		mse = append(mse, sum/n)
	}
	return chosen, mse
}

// TestChooseStopsByItsRule: the pool is the prefix of the best error on the hold-out, where a new best is better by the
// share Improve at least, and the search goes on for Patience observations after the best, and to AtLeast ones.
func TestChooseStopsByItsRule(t *testing.T) {
	obs := sample(9, 60, true)
	slices.SortFunc(obs, func(a, b Observation) int {
		if a.X < b.X {
			return -1
		}
		return 1
	})
	held := func(i int) bool { return i%4 == 1 }
	p, mean := Params{.12, 1, .2}, .3
	x := make([]float64, len(obs))
	for i, o := range obs {
		x[i] = o.X
	}
	order, mse := holdout(t, p, mean, obs, held, 40)
	lengths := map[int]bool{}
	for _, improve := range []float64{0, .005, .2, .6} {
		for _, patience := range []int{1, 3, 10} {
			for _, least := range []int{1, 5, 30} {
				for _, most := range []int{4, 25, 40} {
					best, want := mse[0], 1
					for n := 2; n <= most; n++ {
						if mse[n-1] < best*(1-improve) {
							best, want = mse[n-1], n
						} else if n >= least && n-want >= patience {
							break
						}
					}
					opt := &Options{Observations: most, Improve: improve, Patience: patience, AtLeast: least, Holdout: held}
					chosen, err := choose(p, mean, x, obs, opt)
					if !slices.Equal(chosen, order[:want]) || math.Abs(err-best) > 1e-9*best {
						t.Errorf("improve %v, patience %d, at least %d, at most %d: chosen %v of error %v, want %v of %v", improve,
							patience, least, most, chosen, err, order[:want], best)
					}
					lengths[want] = true
				}
			}
		}
	}
	if len(lengths) < 3 {
		t.Errorf("the rules choose pools of %v only", lengths)
	}
}

// TestLearnKeepsTheFit: the hyperparameters of the answer are those fitted to its pool, and Settled says that they did
// not move in the last round.
func TestLearnKeepsTheFit(t *testing.T) {
	obs := sample(9, 50, true)
	opt := Options{Fit: FitOptions{Bounds: Bounds{Params{.02, .05, .005}, Params{2, 3, 1}},
		Starts: []Params{{.5, .5, .1}}},
		Observations: 20, Start: Params{.1, .5, .3}}
	l, err := Learn(t.Context(), obs, .1, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Chosen) != 20 || !l.Settled || l.Rounds < 2 {
		t.Fatalf("%d chosen, settled %v after %d rounds", len(l.Chosen), l.Settled, l.Rounds)
	}
	var pool []Observation
	for _, i := range l.Chosen {
		pool = append(pool, obs[i])
	}
	if got, want := l.Likelihood, posterior(t, l.params, .1, pool, nil); math.Abs(got-want) > 1e-9 {
		t.Errorf("likelihood %v, that of the pool is %v", got, want)
	}
	again, value, err := Fit(pool, .1, FitOptions{Bounds: opt.Fit.Bounds, Starts: []Params{l.params}})
	if err != nil || value > l.Likelihood+.05 {
		t.Errorf("%v of likelihood %v can be fitted better: %v of %v, %v", l.params, l.Likelihood, again, value, err)
	}
	// One round from the answer, and one from a third of a log away.
	for _, c := range []struct {
		by   float64
		want bool
	}{{1, true}, {1.4, false}, {.7, false}} {
		opt.Start = Params{l.params.Length * c.by, l.params.Signal, l.params.Noise}
		opt.Rounds, opt.Fit.Starts = 1, nil
		if one, err := Learn(t.Context(), pool, .1, opt); err != nil || one.Settled != c.want || one.Rounds != 1 {
			t.Errorf("from a length %v times that of the fit: settled %v after %d rounds, %v", c.by, one.Settled,
				one.Rounds, err)
		}
	}
}

// TestTiesGoToTheFirst: of equal variances the first wins, with a tie of 0 as well; ties are relative to the signal.
func TestTiesGoToTheFirst(t *testing.T) {
	for _, signal := range []float64{1e-3, 1, 50} {
		p := Params{1, signal, .1 * signal}
		v := NewPivots(p, 0, 0, []float64{0, 100, 200})
		if at, top := v.Next(); at != 0 || top != signal*signal {
			t.Errorf("signal %v, no tie: %d of variance %v", signal, at, top)
		}
		// The second of two places near an observation is more uncertain by a ten-thousandth of the signal's variance.
		x := []float64{0, 1, 1.0002}
		for tie, want := range map[float64]int{1e-3: 1, 1e-6: 2} {
			v := NewPivots(p, 0, tie, x)
			v.Observe(0, 0, 0)
			if at, _ := v.Next(); at != want {
				_, a := v.At(1)
				_, b := v.At(2)
				t.Errorf("signal %v, a tie of %v: %d of variances %v and %v", signal, tie, at, a, b)
			}
		}
	}
}

// TestEndsOfATable: the first and the last point belong to the table, their neighbours outside do not; the ends of the
// asked range are inside.
func TestEndsOfATable(t *testing.T) {
	r, err := New(Params{.2, 1.5, .1}, .4, sample(3, 9, false))
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Tabulate(0, 1, 1e-3, 100)
	if err != nil {
		t.Fatal(err)
	}
	c.Start, c.Step = -1, .25 // places that have no rounding
	last := len(c.Mean) - 1
	c.Mean[0], c.Mean[last] = 7, 8
	c.Variance[0], c.Variance[last] = 70, 80
	end := -1 + .25*float64(last)
	for x, want := range map[float64][2]float64{-1: {7, 70}, end: {8, 80},
		math.Nextafter(-1, -2): {.4, 2.25}, math.Nextafter(end, 1e9): {.4, 2.25}, math.Inf(1): {.4, 2.25},
		end - .125: {(c.Mean[last-1] + 8) / 2, (c.Variance[last-1] + 80) / 2}} {
		if m, v := c.At(x); math.Abs(m-want[0]) > 1e-9 || math.Abs(v-want[1]) > 1e-9 {
			t.Errorf("at %v: %v and %v, want %v", x, m, v, want)
		}
	}
	for x, want := range map[float64]bool{0: true, 1: true, .5: true, -1e-9: false, 1 + 1e-9: false, math.NaN(): false} {
		if c.Inside(x) != want {
			t.Errorf("%v is inside: %v", x, !want)
		}
	}
}

// TestTablesHaveTheStepTheyNeed: the bound holds at any scale of the output, with no more points than it takes.
func TestTablesHaveTheStepTheyNeed(t *testing.T) {
	for _, scale := range []float64{.01, 1, 30} {
		obs := sample(3, 9, false)
		for i := range obs {
			obs[i].Y *= scale
		}
		r, err := New(Params{.2, 1.5 * scale, .1 * scale}, 0, obs)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-3 * scale
		c, err := r.Tabulate(0, 1, tolerance, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(len(c.Mean))
		if looser := c.MeanBound * (n - 1) * (n - 1) / (n - 2) / (n - 2); !(c.MeanBound <= tolerance && looser > tolerance) {
			t.Errorf("output times %v: %v points for a bound of %v, with one less it were %v", scale, n, c.MeanBound, looser)
		}
		q := c.Step / .2
		if want := math.Sqrt(3) / 8 * q * q * 1.5 * scale * r.Norm(); math.Abs(c.MeanBound-want) > 1e-12*want {
			t.Errorf("output times %v: a bound of %v, want %v", scale, c.MeanBound, want)
		}
		if want := (1 + math.Sqrt(3)) / 4 * 2.25 * scale * scale * q * q; math.Abs(c.VarianceBound-want) > 1e-12*want {
			t.Errorf("output times %v: a bound of the variance of %v, want %v", scale, c.VarianceBound, want)
		}
	}
}
