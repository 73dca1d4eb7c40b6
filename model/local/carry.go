package local

import (
	"fmt"
	"slices"

	"liftstream/model"
)

var _ model.Carrier = (*Factory)(nil)

// CarryState keeps the structure and the counts of every feature that stays: axis, curve or table of levels, relevance,
// correlations, relevance alone and beside others, values of the prototypes, class histogram. Each number stays as it
// was, so that a record is answered as before by its old features. Threshold, distance and base rates stay as the fit
// chose them.
//
// Nothing is known of a new feature until the next fit, but its levels are counted from the start. A new level has
// relevance 0; its mean is the neutral one where a level after it ("(other)") has a table, and elsewhere it has no
// local Gaussian. Levels added to an ordinal feature stretch its unit of length, and the curve with it, which moves its
// look-ups by rounding. A new class has no records.
func (f *Factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	old := &Component{schema: c.From}
	if err := old.LoadState(state); err != nil {
		return nil, nil, err
	}
	n := &Component{schema: f.schema, span: float64(f.options.HalfLife.Duration)}
	if old.structure == nil {
		return n.AppendState(nil), []int{}, nil
	}
	s := old.structure
	m, wide := len(c.From.Features), len(c.To.Features)
	to := *s
	to.features, to.rho = make([]feature, wide), s.rho.carry(c)
	to.base = append(slices.Clone(s.base), make([]float64, len(c.To.Classes)-len(c.From.Classes))...)
	to.prototypes = prototypes{class: s.prototypes.class, clock: s.prototypes.clock,
		beside: make([]float32, len(s.prototypes.class)*wide), columns: make([]column, wide),
		prior: append(slices.Clone(s.prototypes.prior), make([]float64, len(to.base)-len(s.base))...)}
	n.structure, n.own = &to, make([]*histogram, wide)
	for j, o := range c.Feature {
		a := levelAxis(&c.To.Features[j])
		// The schema determines an axis of levels; any other axis is damage.
		if o < 0 || c.From.Features[o].Kind != model.Continuous && s.features[o].axis != levelAxis(&c.From.Features[o]) {
			to.features[j].axis, to.prototypes.columns[j].nominal = a, a.nominal
			n.own[j] = newHistogram(&a, len(to.base))
			continue
		}
		to.features[j] = s.features[o]
		x := &to.features[j]
		switch {
		case x.nominal:
			x.carryLevels(c, j)
		case c.To.Features[j].Kind == model.Ordinal && a != x.axis:
			if err := x.stretch(a); err != nil {
				return nil, nil, fmt.Errorf("feature %q: %w", c.To.Features[j].Name, err)
			}
		}
		to.prototypes.columns[j] = s.prototypes.columns[o].carry(c, j)
		for k := range s.prototypes.class {
			to.prototypes.beside[k*wide+j] = s.prototypes.beside[k*m+o]
		}
		n.own[j] = old.own[o].carry(c, j, &x.axis)
	}
	if s.newest > 0 {
		to.weights = make([]int64, wide)
		for j, o := range c.Feature {
			if o >= 0 && len(to.prototypes.columns[j].at) > 0 {
				to.weights[j] = s.weights[o]
			}
		}
		n.newest = old.newest.carry(c)
	}
	inputs := make([]int, n.InputCount())
	for i := range inputs {
		inputs[i] = i
	}
	return n.AppendState(nil), inputs, nil
}

// carryLevels moves the tables of a nominal feature.
func (f *feature) carryLevels(c *model.Change, j int) {
	was, is := len(c.From.Features[c.Feature[j]].Levels), len(c.To.Features[j].Levels)
	move := func(t []float64, begin float64) []float64 {
		if was == is || len(t) <= was {
			return t
		}
		out := slices.Clone(t[:was])
		for len(out) < is {
			out = append(out, begin)
		}
		return append(out, t[was])
	}
	uncertain := 0.0
	for _, v := range f.variance {
		uncertain = max(uncertain, v)
	}
	f.mean, f.variance, f.relevance = move(f.mean, f.neutral), move(f.variance, uncertain), move(f.relevance, 0)
	f.tells = move(f.tells, 0)
}

// stretch moves an ordinal feature to the axis of more levels.
func (f *feature) stretch(a axis) error {
	by := f.scale / a.scale
	f.axis = a
	if len(f.relevance) > 0 {
		f.relevance = append(slices.Clone(f.relevance), make([]float64, a.bins-len(f.relevance))...)
	}
	if len(f.tells) > 0 {
		f.tells = append(slices.Clone(f.tells), make([]float64, a.bins-len(f.tells))...)
	}
	if f.curve == nil {
		return nil
	}
	c := *f.curve
	for _, v := range []*float64{&c.Params.Length, &c.Low, &c.High, &c.Start, &c.Step} {
		*v *= by
	}
	if !(c.Step > 0) {
		return fmt.Errorf("a curve at steps of %v", f.curve.Step)
	}
	f.curve = &c
	return nil
}

// carry returns the column as one of feature j.
func (c *column) carry(x *model.Change, j int) column {
	n := column{nominal: c.nominal, mean: c.mean, sd: c.sd}
	at := c.values()
	for k, v := range at {
		if c.nominal && v != absent {
			at[k] = n.place(x.Code(j, float64(v/levelStep)))
		}
	}
	n.set(at)
	return n
}

// carry returns the counts as those of feature j on its axis.
func (g *histogram) carry(c *model.Change, j int, a *axis) *histogram {
	from, to := len(c.From.Classes), len(c.To.Classes)
	n := newHistogram(a, to)
	n.base = g.base
	copy(n.missing, g.missing)
	copy(n.total, g.total)
	copy(n.squares, g.squares)
	for i := range len(g.n) / from {
		at := i
		if a.nominal {
			at = int(c.Code(j, float64(i)))
		}
		if need := (at + 1) * to; need > len(n.n) {
			n.n = append(n.n, make([]float64, need-len(n.n))...)
		}
		for y, v := range g.n[i*from : (i+1)*from] {
			n.n[at*to+y] += v
		}
	}
	return n
}

// carry takes over the correlations of the features that stay.
func (c *correlation) carry(change *model.Change) *correlation {
	var features []int32
	for j, o := range change.Feature {
		if o >= 0 && c.place[o] >= 0 {
			features = append(features, int32(j))
		}
	}
	to := newCorrelation(len(change.Feature), features)
	for i, j := range features {
		for k, o := range features[:i] {
			to.set(i, k, c.of(change.Feature[j], change.Feature[o]))
		}
	}
	return to
}
