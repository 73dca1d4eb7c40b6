package propensity

import (
	"slices"

	"liftstream/model"
)

var _ model.Carrier = factory{}

// CarryState keeps the cells, counts and weights of every feature that stays, the class counts, base rates, calibration
// and mixture. A new feature says nothing until it has learnt: one cell, no counts, the weights of a beginning. A
// record that lacks it scores as before, to rounding. New levels and classes begin at 0. From two classes to more, the
// one margin is that of class 1, against a class 0 of weight 0: the same odds, but for the say of the shared weights in
// a class that was never seen, less than .13 of a propensity in the tests, until it is seen. Inputs of other components
// keep their weights by c.Inputs. With more features than the recipes hold for, steps and the first weights of new
// features are shorter.
func (f factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	to := f.plan
	from := newPlanOf(to.opt, c.From, to.tuning)
	old := newScorecard(from)
	if err := old.LoadState(state); err != nil {
		return nil, nil, err
	}
	m := &move{from: from, to: to, feature: make([]int, len(to.features)), slot: make([]int, to.slots)}
	for i := range to.features {
		o := c.Feature[to.features[i].index]
		m.feature[i] = slices.IndexFunc(from.features, func(x feature) bool { return o >= 0 && x.index == o })
	}
	m.slots(c.Inputs, old.keys)
	return m.scorecard(old).AppendState(nil), nil, nil
}

// scorecard returns a scorecard of from as one of to.
func (m *move) scorecard(old *Scorecard) *Scorecard {
	from, to := m.from, m.to
	n := newScorecard(to)
	for e := range n.keys {
		if o := m.slot[to.slots-to.extern+e] - (from.slots - from.extern); o >= 0 {
			if n.keys[e], n.since[e] = old.keys[o], old.since[o]; n.keys[e] != 0 && n.keys[e] < model.FirstKey {
				n.keys[e] = to.number(e)
			}
		}
	}
	n.clock, n.prior, n.cal.weight, n.mix, n.learnt = old.clock, old.prior, old.cal.weight, old.mix, old.learnt
	n.adopted, n.lag, n.mass, n.others = old.adopted, old.lag, old.mass, old.others
	n.res = m.residuals(old.res)
	if old.axes != nil {
		n.axes = m.axes(old.axes)
	}
	n.cur = m.tables(old.cur, old.axes, n.axes, true)
	if old.away != nil {
		n.away = m.tables(old.away, old.axes, n.axes, false)
	}
	n.derive()
	return n
}

// residuals moves the last layer. The residuals of two classes are opposites.
func (m *move) residuals(old residuals) residuals {
	r := m.to.newResiduals()
	r.w, r.g, r.share, r.lag = old.w, old.g, old.share, old.lag
	from, to := m.from.margins, m.to.margins
	for j := range m.to.residuals {
		for k := range from {
			r.mean[j*to+m.margin(k)] = old.mean[j*from+k]
		}
		if from == 1 && to > 1 {
			r.mean[j*to] = -old.mean[j]
		}
	}
	return r
}

// move takes the tables of one schema to those of another.
type move struct {
	from, to *plan
	feature  []int // of each feature of to: its number in from, -1 = new
	slot     []int // of each shared input of to: its number in from, -1 = new

	sameSchema bool // the plans differ in their blocks alone
}

// slots fills m.slot: features x horizons, horizons, inputs of other components, by c.Inputs or, where they have keys
// that outlast their numbers, as they are.
func (m *move) slots(inputs [][]int, keys []uint64) {
	H := m.to.horizons
	for i := range m.slot {
		m.slot[i] = -1
	}
	for i, o := range m.feature {
		for h := range H {
			if o >= 0 {
				m.slot[i*H+h] = o*H + h
			}
		}
	}
	at, was := len(m.to.features)*H, len(m.from.features)*H
	for h := range H {
		m.slot[at+h] = was + h
	}
	at, was = at+H, was+H
	for b, block := range m.to.opt.Blocks {
		first, n := m.from.find(block.Name)
		keyed := slices.ContainsFunc(keys[first:first+n], func(k uint64) bool { return k >= model.FirstKey })
		for j := range min(block.Inputs, n) {
			if keyed || b >= len(inputs) || inputs[b] == nil {
				m.slot[at+j] = was + first + j
			} else if j < len(inputs[b]) && inputs[b][j] < n {
				m.slot[at+j] = was + first + inputs[b][j]
			}
		}
		at += block.Inputs
	}
}

// number returns the key of the input of external slot e that is known by its number.
func (p *plan) number(e int) uint64 {
	for _, b := range p.opt.Blocks {
		if e < b.Inputs {
			break
		}
		e -= b.Inputs
	}
	return uint64(1 + e)
}

func (m *move) axes(old []axis) []axis {
	if m.sameSchema {
		return old
	}
	out := make([]axis, len(m.to.features))
	for i := range out {
		f := &m.to.features[i]
		switch o := m.feature[i]; {
		case f.kind != model.Continuous:
			out[i] = axis{center: float64(f.fixed) / 2, scale: max(1, float64(f.fixed)/4)}
			if o >= 0 {
				out[i].rise = old[o].rise
			}
		case o >= 0:
			out[i] = old[o]
		default: // missing, and everything else
			out[i] = axis{gap: []int32{cellFirst}, cells: cellFirst + 1 + f.special, special: f.special, scale: 1}
		}
	}
	return out
}

// margin returns the margin of to that margin k of from becomes.
func (m *move) margin(k int) int {
	if m.from.margins == 1 && m.to.margins > 1 {
		return 1
	}
	return k
}

// pairs moves the pairs of one row of margins.
func (m *move) pairs(dst, src []pair) {
	for k, v := range src[:m.from.margins] {
		dst[m.margin(k)] = v
	}
}

func (m *move) tables(old *tables, was, axes []axis, live bool) *tables {
	p := m.to
	t, with := p.newTables(), pair{}
	if live {
		t, with = p.prior0(), fresh
	}
	C, K, n := p.classes, p.margins, m.from.classes
	counts := func(dst, src []float64) { // half-lives x classes
		for h := range p.half {
			copy(dst[h*C:h*C+n], src[h*n:h*n+n])
		}
	}
	counts(t.class, old.class)
	if axes != nil && live {
		p.startCells(t, axes)
	}
	for i, o := range m.feature {
		if o < 0 {
			continue
		}
		cells := m.from.cellCount(&old.feat[o])
		most := cells
		if p.features[i].kind != model.Continuous {
			most = min(cells, cellLevels+p.levels)
		}
		d := &t.feat[i]
		p.resize(d, most, with)
		stride, wide := len(m.from.half)*n, len(p.half)*C
		for c := range cells {
			src := old.feat[o].count[c*stride : (c+1)*stride]
			if c >= most { // no cell of its own any more
				for h := range p.half {
					addFloats(d.count[cellOther*wide+h*C:][:n], src[h*n:h*n+n], 1)
				}
				moved := make([]float64, wide)
				counts(moved, src)
				if level := p.features[i].beyond(p.levels, float64(c-cellLevels)); level != 0 {
					d.addLevel(&p.layout, level, moved, ones(len(p.half)))
				}
				continue
			}
			counts(d.count[c*wide:(c+1)*wide], src)
			m.pairs(d.pair[c*K:(c+1)*K], old.feat[o].pair[c*m.from.margins:])
		}
		for c, level := range old.feat[o].further.levels() {
			if level != 0 {
				moved := make([]float64, wide)
				counts(moved, old.feat[o].further.at(c))
				d.settle(&p.layout, &p.features[i], valueOf(level), moved, with)
			}
		}
	}
	for i, o := range m.slot {
		if o >= 0 {
			t.in[i] = old.in[o]
		}
	}
	m.pairs(t.own[:K], old.own)
	for i, o := range m.feature {
		if o < 0 || p.features[i].linear < 0 {
			continue
		}
		j, k := p.features[i].linear, m.from.features[o].linear
		m.pairs(t.own[(1+j)*K:(2+j)*K], old.own[(1+k)*m.from.margins:])
		copy(t.mom[3*j:3*j+3], old.mom[3*k:3*k+3])
		if axes != nil {
			convert(t.mom[3*j:3*j+3], &was[o], &axes[i])
		}
	}
	m.calibration(t.knot, old.knot)
	return t
}

// calibration moves cards x margins x knots x (rest, class).
func (m *move) calibration(dst, src []float64) {
	n := 2 * m.to.opt.Calibration.Knots
	for card := range cards {
		for k := range m.from.margins {
			from := src[(card*m.from.margins+k)*n:][:n]
			copy(dst[(card*m.to.margins+m.margin(k))*n:][:n], from)
			if m.from.margins == 1 && m.to.margins > 1 { // class 0 is the rest of class 1, at the opposite log-odds
				mirror := dst[card*m.to.margins*n:][:n]
				for i := range n {
					mirror[i] = from[n-1-i]
				}
			}
		}
	}
}
