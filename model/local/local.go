package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Name is the factory's name: the key of its part in models and of its section in snapshots.
const Name = "local"

// Factory makes the local component of a schema.
type Factory struct {
	options Options
	schema  *model.Schema
}

// New returns the factory for the schema.
func New(o Options, s *model.Schema) *Factory {
	return &Factory{options: o.withDefaults(), schema: s}
}

var _ model.Factory = (*Factory)(nil)

// Name is "local".
func (f *Factory) Name() string { return Name }

// Contribution describes the neighbours: one input under the term "(local)".
func (f *Factory) Contribution() model.Contribution {
	n := 1
	if f.options.Newest > 0 {
		n = 2
	}
	return model.Contribution{Term: "(local)", Inputs: n}
}

// New returns an empty component, which counts nothing until its first Rebase.
func (f *Factory) New(*model.Levels) model.Component {
	return &Component{schema: f.schema, span: float64(f.options.HalfLife.Duration)}
}

// Fit learns the curves from the class histograms of all partitions, draws the prototypes from the evidence, and
// chooses threshold and distance on them. The histograms are those of the partitions' states where the axis is the
// same, else they are counted from the partitions' records in the evidence. Axes, and the start of the search for a
// curve, are those of the previous part, or else of a state that a model serves. Evidence without a record gives a part
// without curves and prototypes.
func (f *Factory) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &fitter{options: f.options, schema: f.schema, ev: ev, classes: len(f.schema.Classes)}
	ofPart := func(b []byte) ([]feature, error) {
		p, err := DecodePart(f.schema, b)
		if err != nil {
			return nil, err
		}
		x.pools = p.pools
		return p.structure.features, nil
	}
	var err error
	if x.before, err = model.Before(ev, previous, ofPart, f.axesOfState); err != nil {
		return nil, err
	}
	x.base = make([]float64, x.classes)
	for i, w := range ev.Weight {
		x.base[ev.Class[i]] += w
	}
	if n := total(x.base); n > 0 {
		for y := range x.base {
			x.base[y] /= n
		}
	}
	axes := x.axes(ctx)
	if err := x.narrow(ctx, axes); err != nil {
		return nil, err
	}
	shares, err := x.shares(axes)
	if err != nil {
		return nil, err
	}
	all := x.merged(axes, shares)
	if x.pools, err = x.renew(x.pools, axes); err != nil {
		return nil, err
	}
	s, err := x.build(ctx, axes, all)
	if err != nil {
		return nil, err
	}
	p := &Part{structure: s, shares: shares, pools: x.pools}
	return p.appendBinary(nil), nil
}

// axesOfState returns the features of a state; nil for a state without a structure.
func (f *Factory) axesOfState(b []byte) ([]feature, error) {
	c := &Component{schema: f.schema}
	if err := c.LoadToRebase(b); err != nil || c.structure == nil {
		return nil, err
	}
	return c.structure.features, nil
}

// share is the class histograms of one partition at the Model's mark, by feature.
type share struct {
	partition int32
	counts    []*histogram
}

// merged adds the shares up by feature. Where counts forget by records, those of each partition are taken as of its own
// newest record: one of few records has forgotten no more of them than another one.
func (x *fitter) merged(axes []axis, shares []share) []*histogram {
	half := newMemory(x.options.HalfLife)
	last := map[int32]float64{}
	for i, n := range x.ev.Partition {
		last[n] = max(last[n], x.ev.Clock[i])
	}
	all := make([]*histogram, len(axes))
	for j := range axes {
		all[j] = newHistogram(&axes[j], x.classes)
		for i := range shares {
			g := shares[i].counts[j]
			if half.half > 0 && !half.timed && !x.ev.Exchangeable {
				g = g.asOf(last[shares[i].partition] / half.half)
			}
			all[j].merge(g)
		}
	}
	return all
}

// shares collects the histograms of every partition, ascending.
func (x *fitter) shares(axes []axis) ([]share, error) {
	partitions := x.ev.Parties()
	out := make([]share, len(partitions))
	counted := make([][]bool, len(partitions))
	for i, n := range partitions {
		out[i] = share{n, make([]*histogram, len(axes))}
		counted[i] = make([]bool, len(axes))
	}
	empty := func() *Component { return &Component{schema: x.schema} }
	err := model.Visit(x.ev, empty, func(n int32, c *Component) error {
		i, _ := slices.BinarySearch(partitions, n)
		for j := range axes {
			if c.structure != nil && c.structure.features[j].same(&axes[j]) {
				out[i].counts[j], counted[i][j] = c.own[j].clone(), true
				out[i].counts[j].recode(x.ev.Recodes[n], j, x.classes)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		for j := range axes {
			if !counted[i][j] {
				out[i].counts[j] = newHistogram(&axes[j], x.classes)
			}
		}
	}
	forget := newMemory(x.options.HalfLife)
	if x.ev.Exchangeable {
		forget = memory{}
	}
	for j := range axes {
		if axes[j].bins == 0 && !axes[j].nominal {
			continue
		}
		for k, v := range x.ev.Columns[j] {
			i, _ := slices.BinarySearch(partitions, x.ev.Partition[k])
			if !counted[i][j] && x.ev.Weight[k] > 0 {
				out[i].counts[j].add(&axes[j], x.classes, v, x.ev.Class[k], x.ev.Weight[k],
					forget.clock(x.ev.Clock[k], x.ev.Time[k]), forget.half)
			}
		}
	}
	return out, nil
}

// Component serves one structure. It counts the classes of one partition along the values of every feature, for the
// next fit. It is a model.Component and a model.Selector. Its one input is the log-lifts of the class shares among the
// nearest prototypes.
type Component struct {
	schema    *model.Schema
	span      float64    // half-life of the counts in nanoseconds of stream time; 0 = by the structure
	structure *structure // nil before the first Rebase
	own       []*histogram
	work      *scratch
	newest    newest
}

var (
	_ model.Component = (*Component)(nil)
	_ model.Selector  = (*Component)(nil)
	_ model.Reasoner  = (*Component)(nil)
	_ model.Timed     = (*Component)(nil)
)

// Learn adds the example to the class histogram of every feature that it has, in O(1) each.
func (c *Component) Learn(ex *model.Example) {
	c.count(ex, 1, nil)
	c.remember(ex)
}

// remember takes the example into the newest records.
func (c *Component) remember(ex *model.Example) {
	if c.structure != nil && c.structure.newest > 0 && ex.Weight > 0 && uint32(ex.Class) < uint32(len(c.schema.Classes)) {
		c.newest.learn(c.structure, ex)
	}
}

// Retract undoes Learn of the example.
func (c *Component) Retract(ex *model.Example) {
	c.count(ex, -1, nil)
	if ex.Weight > 0 {
		c.newest.retract(c.structure, ex)
	}
}

// count adds the example to the histograms of all features or, where only is given, of the features that it marks.
func (c *Component) count(ex *model.Example, sign float64, only []bool) {
	if c.structure == nil || !(ex.Weight > 0) || uint32(ex.Class) >= uint32(len(c.schema.Classes)) {
		return
	}
	forget := memory{c.structure.halfLife, false}
	if c.span > 0 {
		forget = memory{c.span, true}
	}
	clock := forget.clock(ex.Clock, ex.Time)
	for j := range c.structure.features {
		if only == nil || only[j] {
			c.own[j].add(&c.structure.features[j].axis, len(c.schema.Classes), ex.Row[j], ex.Class, sign*ex.Weight, clock,
				forget.half)
		}
	}
}

// NotAfter takes back counts whose clock a record of a wild time has moved ahead of t.
func (c *Component) NotAfter(t int64) {
	for _, g := range c.own {
		if c.span > 0 {
			g.notAfter(float64(t), c.span)
		}
	}
}

// InputCount is 1 once there is a structure with prototypes.
func (c *Component) InputCount() int {
	if c.structure == nil || len(c.structure.prototypes.class) == 0 {
		return 0
	}
	if c.structure.newest > 0 {
		return 2
	}
	return 1
}

// Inputs writes the log-lift of every class: that of its smoothed share among the nearest prototypes. It writes 0 where
// the row has no value to compare.
func (c *Component) Inputs(row model.Row, dst []float64) {
	if c.InputCount() == 0 {
		return
	}
	s, w, classes := c.structure, c.work, len(c.schema.Classes)
	s.shares(s.nearby(row, w), w, dst[:classes])
	if s.newest > 0 {
		c.latest(row, dst[classes:])
	}
}

// latest writes the log-lifts of the classes among the nearest of the newest records.
func (c *Component) latest(row model.Row, dst []float64) {
	s, w, n := c.structure, c.work, 0
	s.placed(row, w.at)
	if terms, ok := s.axisTerms(w.at, w.axes[:0]); ok && s.prototypes.scanned {
		n = c.newest.scan(s, terms, w)
	} else if ok {
		s.bound(terms, &w.bounds)
		n = c.newest.nearest(s.newest, terms, &w.bounds, w.newest)
	}
	opinion(w.newest[:n], c.newest.class, s.base, dst)
}

// InputsWithout writes the Inputs of a record on which the structure was fitted, without its own vote: the prototype of
// the same values, class and clock is left out. The relevance that weighs features keeps the record.
func (c *Component) InputsWithout(ex *model.Example, dst []float64) {
	if c.InputCount() == 0 {
		return
	}
	s := c.structure
	n := s.neighbourhood(ex.Row, s.measure, &s.limits, s.itself(ex, c.work), c.work)
	classes := len(c.schema.Classes)
	s.shares(n, c.work, dst[:classes])
	clear(dst[classes:])
}

// Select appends the features of the row's subspace, the most relevant first, and their relevance in nats. In the
// subspace are the features whose values tell about the class there beyond chance, alone or beside the others. Select
// appends nothing where no feature does, and does not allocate while the slices have the capacity.
func (c *Component) Select(row model.Row, features []int32, relevance []float32) ([]int32, []float32) {
	if c.structure == nil {
		return features, relevance
	}
	return c.structure.published(row, c.own, c.structure.nearby(row, c.work), c.work, features, relevance)
}

// Reasons why a record has no local answer: the closed set of Reason. The score is then degraded: it rests on the other
// components alone.
const (
	ReasonNoCurves     = "local_no_curves"     // no feature tells the classes apart
	ReasonOutside      = "local_outside_range" // no value where the feature was observed
	ReasonNoPrototypes = "local_no_prototypes" // nothing to compare with
)

// Reason returns the reason why the component has no answer for the row; "" when it has one.
func (c *Component) Reason(row model.Row) string {
	s := c.structure
	if s == nil || len(s.prototypes.class) == 0 {
		return ReasonNoPrototypes
	}
	curves := false
	for j := range s.features {
		curves = curves || s.features[j].candidate()
		if _, _, ok := s.features[j].gaussian(row[j]); ok {
			return ""
		}
	}
	if !curves {
		return ReasonNoCurves
	}
	return ReasonOutside
}

// Predict writes the class shares of the row, which sum to 1, into p. They are the base rates where there is nothing to
// compare.
func (c *Component) Predict(row model.Row, p []float64) {
	if c.InputCount() == 0 {
		for y := range p {
			p[y] = 1 / float64(len(p))
		}
		if c.structure != nil && total(c.structure.base) > 0 {
			copy(p, c.structure.base)
		}
		return
	}
	c.structure.shares(c.structure.nearby(row, c.work), c.work, p)
	for y := range p {
		p[y] = c.structure.base[y] * math.Exp(p[y])
	}
	n := total(p)
	for y := range p {
		p[y] /= n
	}
}

// Rebase serves the structure of the part. A feature whose axis is the same keeps its own counts; any other starts from
// the part's share for Self and learns Since.
func (c *Component) Rebase(rb *model.Rebase) error {
	p, err := DecodePart(c.schema, rb.Part)
	if err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	classes := len(c.schema.Classes)
	own := make([]*histogram, len(p.structure.features))
	fresh := make([]bool, len(own))
	any := false
	for j := range own {
		a := &p.structure.features[j].axis
		if c.structure != nil && c.structure.features[j].same(a) {
			own[j] = c.own[j]
			own[j].recode(rb.Recode, j, classes)
			continue
		}
		fresh[j], any = true, true
		own[j] = newHistogram(a, classes)
		for i := range p.shares {
			if p.shares[i].partition == rb.Self {
				own[j] = p.shares[i].counts[j]
				if p.structure.halfLife > 0 {
					own[j].base += math.Floor(rb.Ahead / p.structure.halfLife)
				}
			}
		}
	}
	begin := c.structure == nil || c.structure.newest == 0
	c.install(p.structure, own)
	c.newest.rebase(c.structure, rb.Recode)
	begin = begin && c.structure.newest > 0
	if (any || begin) && rb.Since != nil {
		rb.Since(func(ex *model.Example) bool {
			c.count(ex, 1, fresh)
			if begin {
				c.remember(ex)
			}
			return true
		})
	}
	return nil
}

func (c *Component) install(s *structure, own []*histogram) {
	c.structure, c.own, c.work = s, own, newScratch(s)
}

// Explanation is the component's view of one feature of a record.
type Explanation struct {
	Feature int32
	Value   float64 // cell of the Row
	// Mean and Deviation are those of the local Gaussian; NaN where there is none: a missing value, a value outside the
	// observed range, or a feature without a curve.
	Mean, Deviation float64
	// Alone and Beside are the relevance of the value in nats, alone and beside the other features; 0 where it is not
	// beyond chance.
	Alone, Beside float64
	// Relevance is the larger of the two. Rank is the place in the subspace, from 1; 0 outside of it.
	Relevance float64
	Rank      int
}

// Explain appends one Explanation a feature, in schema order, without the unused features.
func (c *Component) Explain(row model.Row, dst []Explanation) []Explanation {
	s := c.structure
	if s == nil {
		return dst
	}
	features, relevance := c.Select(row, nil, nil)
	for j := range s.features {
		f := &s.features[j]
		if f.bins == 0 && !f.nominal {
			continue
		}
		e := Explanation{Feature: int32(j), Value: row[j], Mean: math.NaN(), Deviation: math.NaN(),
			Alone:  s.alone(row, j, c.own),
			Beside: s.beside(row, j, c.work.found, c.work)}
		if mean, v, ok := f.gaussian(row[j]); ok {
			e.Mean, e.Deviation = mean, math.Sqrt(v)
		}
		if k := slices.Index(features, int32(j)); k >= 0 {
			e.Rank, e.Relevance = k+1, float64(relevance[k])
		}
		dst = append(dst, e)
	}
	return dst
}
