package propensity

import (
	"fmt"

	"liftstream/model"
	"liftstream/model/wire"
)

// stateFormat and partFormat are the versions of the binary forms; FORMAT.md describes them.
const (
	stateFormat = 5
	partFormat  = 3
	// Those of forms with counts of further levels, in which the blocks are named or not.
	furtherState, namedFurtherState = 7, 8
	furtherPart, namedFurtherPart   = 5, 6
	// beforeErrors is the last format of a state without the last layer.
	beforeErrors = 4
	// beforeKeys is the last format of both that does not say which inputs the weights belong to, which the numbers of the
	// inputs at the time do, nor the sums of weights and their squares: all records are taken to weigh 1. The class counts
	// of its states contain the pseudo-records.
	beforeKeys = 2
)

// AppendState appends the state in the form that FORMAT.md describes.
func (s *Scorecard) AppendState(b []byte) []byte {
	further := s.cur.hasFurther()
	if further {
		b = s.appendFormat(b, furtherState, namedFurtherState)
	} else {
		b = s.appendFormat(b, stateFormat, namedStateFormat)
	}
	b = wire.AppendBool(b, s.axes != nil)
	if s.axes != nil {
		b = s.appendAxes(b, s.axes)
	}
	b = s.clock.append(b)
	b = wire.AppendFloats(b, s.prior)
	b = appendMass(b, s.mass)
	b = appendMass(b, s.others)
	b = s.appendTables(b, s.cur, true, further)
	b = wire.AppendBool(b, s.away != nil)
	if s.away != nil {
		b = s.appendTables(b, s.away, false, further)
	}
	b = s.cal.append(b)
	b = s.mix.append(b)
	b = wire.AppendFloat(b, s.learnt)
	b = wire.AppendUvarint(b, s.adopted)
	b = wire.AppendFloat(b, s.lag)
	for e, k := range s.keys {
		b = wire.AppendUvarint(b, k)
		b = wire.AppendFloat(b, s.since[e])
	}
	return s.res.append(b)
}

// LoadState replaces the state by the form that AppendState wrote under the same schema and options.
func (s *Scorecard) LoadState(b []byte) error {
	r := wire.NewReader(b)
	format, from, err := s.plan.readFormat(r, namedFurtherState)
	if err != nil {
		return err
	}
	if from != s.plan {
		old := newScorecard(from)
		if err := old.LoadState(b); err != nil {
			return err
		}
		*s = *betweenBlocks(from, s.plan).scorecard(old)
		return nil
	}
	n := emptyScorecard(s.plan)
	n.ext = s.ext
	if r.Bool() {
		n.axes = s.readAxes(r)
	}
	axes := n.axes
	if axes == nil {
		axes = make([]axis, len(s.features))
	}
	n.clock = readClock(r, len(s.half))
	n.prior = make([]float64, len(s.half))
	s.readPrior(r, n.prior)
	if format > beforeKeys {
		n.mass, n.others = readMass(r), readMass(r)
	}
	further := format >= furtherState
	if r.Err() == nil {
		n.cur = s.readTables(r, axes, true, further)
	}
	if r.Bool() && r.Err() == nil {
		n.away = s.readTables(r, axes, false, further)
	}
	if format == beforeKeys && r.Err() == nil {
		for k := range n.cur.class {
			n.cur.class[k] = max(n.cur.class[k]-n.prior[k/s.classes], 0)
		}
		n.mass = s.massOf(n.cur)
	}
	n.cal = readCalibration(r)
	n.mix = readMixture(r)
	n.learnt = r.Float()
	n.adopted, n.lag = r.Uvarint(), r.Float()
	if !finite(n.learnt) || !(n.lag >= 0 && n.lag < 1<<53) {
		r.Fail(errNumber)
	}
	if format > beforeKeys {
		for e := range n.keys {
			n.keys[e], n.since[e] = r.Uvarint(), r.Float()
			if !(n.since[e] >= 0 && n.since[e] <= n.learnt) {
				r.Fail(errNumber)
			}
		}
	}
	if n.res = s.newResiduals(); format > beforeErrors {
		n.res = s.readResiduals(r)
	}
	if r.Err() == nil {
		s.checkLive(r, n)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("decoding scorecard: %w", err)
	}
	n.derive()
	*s = *n
	return nil
}

// readPrior reads the pseudo-records of the classes; the one that never fades must be there.
func (p *layout) readPrior(r *wire.Reader, prior []float64) {
	readCounts(r, prior)
	if !(prior[p.forever] > 0) {
		r.Fail(errNumber)
	}
}

func appendMass(b []byte, m mass) []byte {
	return wire.AppendFloat(wire.AppendFloat(b, m.weight), m.square)
}

func readMass(r *wire.Reader) (m mass) {
	m = mass{r.Float(), r.Float()}
	if !(m.weight >= 0 && m.weight < 1e60) || !(m.square >= 0 && m.square < 1e60) {
		r.Fail(errNumber)
	}
	return m
}

// massOf is the mass of records of weight 1 that have been counted.
func (p *layout) massOf(t *tables) (m mass) {
	for _, v := range t.class[p.forever*p.classes : (p.forever+1)*p.classes] {
		m.weight += v
	}
	m.square = m.weight
	return m
}

// checkLive refuses live tables with which a record could not be scored.
func (p *layout) checkLive(r *wire.Reader, n *Scorecard) {
	all := [][]pair{n.cur.in, n.cur.own}
	for f := range n.cur.feat {
		all = append(all, n.cur.feat[f].pair)
		have := p.cellCount(&n.cur.feat[f])
		switch {
		case n.axes == nil && have > 0:
			r.Fail(fmt.Errorf("cells without a structure"))
		case n.axes != nil && n.axes[f].cells > 0 && have != n.axes[f].cells,
			n.axes != nil && n.axes[f].cells == 0 && have < cellLevels+min(p.features[f].fixed, p.levels):
			r.Fail(fmt.Errorf("feature %d has %d cells", p.features[f].index, have))
		}
		if n.away != nil && p.cellCount(&n.away.feat[f]) > have {
			r.Fail(fmt.Errorf("feature %d has cells of others only", p.features[f].index))
		}
	}
	for _, t := range all {
		for i := range t {
			for k := range cards {
				if !(t[i].g[k] > 0) {
					r.Fail(errNumber)
				}
			}
		}
	}
}

// appendShape appends the sizes that both sides must agree on.
func (p *plan) appendShape(b []byte) []byte {
	for _, v := range p.shape() {
		b = wire.AppendUvarint(b, uint64(v))
	}
	return b
}

func (p *plan) shape() []int {
	return []int{cards, p.classes, len(p.features), len(p.half), p.horizons, p.linear, p.extern, p.knots, p.levels}
}

func (p *layout) appendAxes(b []byte, axes []axis) []byte {
	for i := range axes {
		b = axes[i].append(b)
	}
	return b
}

func (p *layout) readAxes(r *wire.Reader) []axis {
	axes := make([]axis, len(p.features))
	for i := range axes {
		f := &p.features[i]
		axes[i] = readAxis(r, f)
		if axes[i].rise != 0 && f.want == model.Free {
			r.Fail(fmt.Errorf("feature %d has a direction", f.index))
		}
	}
	return axes
}
