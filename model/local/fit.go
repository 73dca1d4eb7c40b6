package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/gp"
)

// Bounds of the work of a fit.
const (
	maxBins        = 256
	minBins        = 32
	maxCells       = 1 << 20 // bins x classes x features
	wide           = 64      // features above which curves are learnt with less patience
	maxCorrelated  = 4096    // records
	curvePoints    = 512
	curveTolerance = 1e-3
	minHoldout     = 16 // distinct places below which none is held out (METHOD.md 2.2)
)

// bounds and prior of the hyperparameters, lengths in units of the range (METHOD.md 2.1).
var (
	bounds = gp.Bounds{
		Low:  gp.Params{Length: .02, Signal: .02, Noise: .002},
		High: gp.Params{Length: 2, Signal: 1, Noise: .3},
	}
	prior = gp.Prior{
		Center: gp.Params{Length: .1, Signal: .2, Noise: .03},
		Width:  gp.Params{Length: 1, Signal: 1, Noise: 1.5},
	}
	start = gp.Params{Length: .1, Signal: .2, Noise: .05}
)

// fitter builds a structure from evidence.
type fitter struct {
	options Options
	schema  *model.Schema
	ev      *model.Evidence
	classes int
	base    []float64
	rows    []int // of the prototypes, in the evidence
	around  []around
	before  []feature // of the previous structure

	pools *pools // nil where no observations are kept
}

// around is the kernel mass at every bin of a feature, its class counts, and the mean weight of a record of each class.
type around struct{ mass, squares, counts, weights []float64 }

// axes sets the axes of the histograms. It keeps an axis of the previous structure where its range still fits, so that
// live counts carry over.
// It ends early with ctx.
func (x *fitter) axes(ctx context.Context) []axis {
	used := 0
	for f := range x.schema.Features {
		if x.schema.Features[f].Use == model.UseScore {
			used++
		}
	}
	bins := min(maxBins, max(minBins, maxCells/max(1, used*x.classes)))
	out := make([]axis, len(x.schema.Features))
	for f := range out {
		if f%64 == 0 && ctx.Err() != nil {
			break
		}
		s := &x.schema.Features[f]
		if out[f] = levelAxis(s); s.Use == model.UseScore && s.Kind == model.Continuous {
			out[f] = continuousAxis(x.ev.Columns[f], bins)
			if f < len(x.before) && x.before[f].bins == out[f].bins && out[f].scale > 0 {
				old, a := &x.before[f].axis, &out[f]
				if math.Abs(old.zero-a.zero) < .1*a.scale && math.Abs(old.zero+old.scale-a.zero-a.scale) < .1*a.scale {
					out[f] = *old
				}
			}
		}
	}
	return out
}

// levelAxis is the axis of a feature with levels, which follows from the schema. For any other feature it is empty.
func levelAxis(s *model.Feature) axis {
	switch n := len(s.Levels); {
	case s.Use != model.UseScore || s.Kind == model.Continuous:
		return axis{}
	case s.Kind == model.Nominal:
		return axis{nominal: true}
	default:
		return axis{levels: n, high: float64(n - 1), bins: n, scale: max(1, float64(n-1))}
	}
}

// continuousAxis spans the robust range, quantiles .01 to .99, and a quarter of it on either side, as far as there are
// values. A feature of one value has no bins, nor has one whose range is no finite number.
func continuousAxis(column []float64, bins int) axis {
	v := make([]float64, 0, len(column))
	for _, x := range column {
		if x == x && !math.IsInf(x, 0) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return axis{}
	}
	slices.Sort(v)
	last := len(v) - 1
	low, high := v[last/100], v[last-last/100]
	if low == high {
		low, high = v[0], v[last]
	}
	scale := high - low
	a := axis{low: max(v[0], low-scale/4), high: min(v[last], high+scale/4), bins: bins, zero: low, scale: scale}
	if !(scale > 0) || !((a.high-a.low)*float64(bins) <= math.MaxFloat64) {
		return axis{}
	}
	return a
}

// build finds the structure. counts are the class histograms of all partitions together, by feature.
func (x *fitter) build(ctx context.Context, axes []axis, counts []*histogram) (*structure, error) {
	o := &x.options
	s := &structure{
		features: make([]feature, len(axes)), base: x.base, neighbours: o.Neighbours, width: o.Width,
		halfLife:   o.HalfLife.Records,
		redundancy: o.Redundancy, divergence: o.Divergence, reference: reference{0, o.ReferenceSD},
	}
	x.around = make([]around, len(axes))
	for f := range axes {
		s.features[f].axis = axes[f]
	}
	if s.critical = critical(x.classes, s.told()); o.Plain {
		s.critical = math.Inf(1)
	}
	learn := func(ctx context.Context) func(f int) error {
		return func(f int) error {
			var old *feature
			if f < len(x.before) {
				old = &x.before[f]
			}
			if err := x.feature(ctx, f, &s.features[f], s.critical, old, &x.around[f], x.ev.Columns[f], counts[f]); err != nil {
				return fmt.Errorf("feature %q: %w", x.schema.Features[f].Name, err)
			}
			return nil
		}
	}
	if !o.Plain {
		if err := x.ev.Share(ctx, len(axes), learn); err != nil {
			return nil, err
		}
	}
	s.rho = x.correlate(s)
	x.sample(s)
	if err := x.choose(ctx, s); err != nil {
		return nil, err
	}
	if err := x.weigh(ctx, s); err != nil {
		return nil, err
	}
	s.prepare()
	if err := x.beside(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// feature learns the curve or the level table of the feature with index at; old is the feature of the previous
// structure, or nil. A hash of (seed, name of the feature, rank of the value) chooses the held-out values.
func (x *fitter) feature(ctx context.Context, at int, f *feature, critical float64, old *feature, near *around,
	column []float64, g *histogram) error {
	if f.bins == 0 && !f.nominal {
		return nil
	}
	g = g.tidy()
	counts := g.counts(x.classes)
	if total(counts) == 0 {
		return nil
	}
	o := &x.options
	f.neutral = o.Score.Neutral(counts)
	mass, squares := g.around(&f.axis, x.classes, o.Width)
	*near = around{mass, squares, counts, g.weights()}
	x.alone(f, near, g, critical)
	bins := len(squares)
	f.relevance = make([]float64, bins)
	var obs []gp.Observation
	for i := range bins {
		m := mass[i*x.classes : (i+1)*x.classes]
		f.relevance[i] = relevanceOf(m, counts, squares[i])
		here := g.n[i*x.classes : (i+1)*x.classes]
		if total(here) == 0 {
			continue
		}
		ob := gp.Observation{X: (f.at(i) - f.zero) / max(f.scale, math.SmallestNonzeroFloat64)}
		if o.Observation == PerRecord {
			ob.Y = x.recordScore(m, here, counts, near.weights)
			ob.Tau2 = recordVariance(ob.Y, f.neutral, total(m), squares[i])
		} else {
			ob.Y = o.Score.Location(m, counts)
			ob.Tau2 = locationVariance(m, counts, squares[i])
		}
		if f.nominal {
			ob.X = float64(i)
		}
		obs = append(obs, ob)
	}
	single(f.relevance)
	if f.nominal {
		x.levels(f, obs, bins)
		single(f.mean)
		single(f.variance)
		return nil
	}
	if x.pools != nil && x.pools.of[at] != nil {
		var err error
		if obs, err = x.pooled(at, &f.axis); err != nil {
			return err
		}
	}
	f.minimum, f.maximum = math.Inf(1), math.Inf(-1)
	for _, v := range column {
		if _, ok := f.value(v); ok {
			f.minimum, f.maximum = min(f.minimum, v), max(f.maximum, v)
		}
	}
	if len(obs) < 2 || !(f.maximum > f.minimum) {
		return nil
	}
	opt := gp.Options{Fit: gp.FitOptions{Bounds: bounds, Prior: &prior,
		Starts: []gp.Params{{Length: .5, Signal: .2, Noise: .05}}, Tolerance: 1e-3, Iterations: 40},
		Start: start, Observations: o.Observations, Rounds: 6}
	if len(x.schema.Features) > wide {
		opt.Observations, opt.Rounds, opt.Fit.Starts, opt.Fit.Iterations = min(opt.Observations, 32), 2, nil, 20
	}
	if old != nil && old.curve != nil && old.same(&f.axis) { // warm
		opt.Start, opt.Fit.Starts = old.curve.Params, nil
	}
	if len(obs) >= minHoldout {
		seed := x.ev.Seed
		for _, b := range []byte(x.schema.Features[at].Name) {
			seed = model.Hash(seed, uint64(b))
		}
		opt.Holdout = func(i int) bool { return model.Hash(seed, uint64(i))%4 == 0 }
	}
	l, err := gp.Learn(ctx, obs, f.neutral, opt)
	if err != nil {
		return err
	}
	f.likelihood, f.observations = l.Likelihood, len(l.Chosen)
	low, high := (f.low-f.zero)/f.scale, (f.high-f.zero)/f.scale
	if f.curve, err = l.Tabulate(low, high, curveTolerance, curvePoints); err != nil {
		return err
	}
	single(f.curve.Mean)
	single(f.curve.Variance)
	return nil
}

// recordScore is the mean of the scores of the records in a bin, each computed without the record itself, which weighs
// weights[c] in class c.
func (x *fitter) recordScore(mass, here, counts, weights []float64) float64 {
	sum, n := 0.0, total(here)
	m := make([]float64, len(mass))
	for c, h := range here {
		if h == 0 {
			continue
		}
		copy(m, mass)
		m[c] = max(0, m[c]-weights[c])
		sum += h / n * x.options.Score.record(m, counts, int32(c), weights[c])
	}
	return sum
}

// levels computes the exact posterior of independent levels: prior N(neutral, s^2), s^2 the variance of the scores
// between levels.
func (x *fitter) levels(f *feature, obs []gp.Observation, bins int) {
	if len(obs) < 2 {
		return
	}
	between := 0.0
	for _, o := range obs {
		between += (o.Y - f.neutral) * (o.Y - f.neutral)
	}
	between = min(max(between/float64(len(obs)), .02*.02), 1)
	f.mean, f.variance = make([]float64, bins), make([]float64, bins)
	for i := range bins {
		f.mean[i], f.variance[i] = f.neutral, between
	}
	for _, o := range obs {
		i := int(o.X)
		k := between / (between + o.Tau2)
		f.mean[i], f.variance[i] = f.neutral+k*(o.Y-f.neutral), k*o.Tau2
	}
	f.observations = len(obs)
}

// correlate computes |rho| over at most maxCorrelated records, evenly spread. Nominal features have none (METHOD.md
// 3.5).
func (x *fitter) correlate(s *structure) *correlation {
	n := x.ev.Len()
	step := max(1, (n+maxCorrelated-1)/maxCorrelated)
	columns := make([][]float64, len(s.features))
	for f := range columns {
		if s.features[f].curve == nil {
			continue
		}
		columns[f] = make([]float64, 0, n/step+1)
		for i := 0; i < n; i += step {
			v := x.ev.Columns[f][i]
			if _, ok := s.features[f].value(v); !ok {
				v = math.NaN()
			}
			columns[f] = append(columns[f], v)
		}
	}
	return correlations(columns)
}

// sample draws the prototypes: as many of every class where there are enough, by a hash of the position that favours
// weight (the smallest -ln(u) / w). It standardises the columns by all of the evidence.
func (x *fitter) sample(s *structure) {
	type drawn struct {
		key float64
		row int
	}
	pools := make([][]drawn, x.classes)
	for i, w := range x.ev.Weight {
		if w > 0 {
			u := (float64(model.Hash(x.ev.Seed, uint64(i), 1)>>12) + .5) / (1 << 52)
			pools[x.ev.Class[i]] = append(pools[x.ev.Class[i]], drawn{-math.Log(u) / w, i})
		}
	}
	left, open := x.options.Prototypes, 0
	order := make([]int, 0, x.classes)
	for y := range pools {
		if len(pools[y]) > 0 {
			open++
			order = append(order, y)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(pools[a]) - len(pools[b]) })
	x.rows = x.rows[:0]
	for _, y := range order {
		n := min(len(pools[y]), left/open)
		left, open = left-n, open-1
		slices.SortFunc(pools[y], func(a, b drawn) int {
			if a.key != b.key {
				if a.key < b.key {
					return -1
				}
				return 1
			}
			return a.row - b.row
		})
		for _, d := range pools[y][:n] {
			x.rows = append(x.rows, d.row)
		}
	}
	slices.Sort(x.rows)
	p := &s.prototypes
	p.prior = make([]float64, x.classes)
	for _, i := range x.rows {
		p.class, p.clock = append(p.class, x.ev.Class[i]), append(p.clock, x.ev.Clock[i])
		p.prior[x.ev.Class[i]] += 1 / float64(len(x.rows))
	}
	p.columns = make([]column, len(s.features))
	for f := range p.columns {
		c, a := &p.columns[f], &s.features[f].axis
		// The neighbours' shares need not rise with the feature: one with a direction takes no part.
		if a.bins == 0 && !a.nominal || x.schema.Directed(f) {
			continue
		}
		c.nominal = a.nominal
		x.standardise(c, a, x.ev.Columns[f])
		if !c.nominal && !(c.sd > 0) {
			continue
		}
		var at []int32
		for _, i := range x.rows {
			v := x.ev.Columns[f][i]
			if _, ok := a.value(v); !ok && !a.nominal {
				v = math.NaN()
			}
			at = append(at, c.place(v))
		}
		c.set(at)
	}
	p.prepare(s.scans())
}

func (x *fitter) standardise(c *column, a *axis, values []float64) {
	if a.nominal {
		return
	}
	var n, mean float64
	for i, v := range values {
		if _, ok := a.value(v); ok {
			n += x.ev.Weight[i]
			mean += x.ev.Weight[i] * v
		}
	}
	if !(n > 0) {
		return
	}
	mean /= n
	s := 0.0
	for i, v := range values {
		if _, ok := a.value(v); ok {
			s += x.ev.Weight[i] * (v - mean) * (v - mean)
		}
	}
	if sd := math.Sqrt(s / n); sd > 0 && !math.IsInf(sd, 0) && !math.IsNaN(mean) {
		c.mean, c.sd = mean, sd
	}
}
