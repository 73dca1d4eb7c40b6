package propensity

import (
	"context"
	"fmt"
	"slices"

	"liftstream/model"
)

// slack is how many times its intended weight a cell may hold before the cells of its feature are cut anew.
const slack = 2.5

// Name is the name of the scorecard's factory.
const Name = "propensity"

type factory struct{ *plan }

// fitter makes the structure of a part and the shares of its partitions from evidence.
type fitter struct{ *plan }

// New returns the factory of scorecards for the schema. Options that are zero or out of range get their defaults.
func New(opt Options, s *model.Schema) model.ScorecardFactory { return factory{newPlan(opt, s)} }

// Name returns Name.
func (f factory) Name() string { return Name }

// New returns a *Scorecard without a structure: it answers with base rates.
func (f factory) New(*model.Levels) model.Scorecard { return newScorecard(f.plan) }

// Steps estimates the work of a Fit.
func (f factory) Steps(records int) float64 {
	return recordSteps * float64(records) * float64(f.margins) * float64(len(f.features)+1)
}

// Fit cuts the cells on the evidence, keeping those of the serving model (or, before the first one, of the first
// partition that has any) where they are still adequate, and writes down the share of each partition under them.
// Evidence without states is run through a new scorecard in order, each record scored and then learnt: that is how
// files train. With states, only the counts of features whose cells changed are learnt again, from the partition's
// records in the evidence; their weights pass to the new cells that hold the same values. The weights of the card of
// the longest memory are fitted on all evidence besides, and live ones move towards them when the model begins to
// serve; see batch.
func (f factory) Fit(ctx context.Context, records *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	p, ev := fitter(f), joined(records, in)
	if err := p.check(ev.Schema); err != nil {
		return nil, fmt.Errorf("fitting scorecard: %w", err)
	}
	most, err := records.Afford(ev.Len(), f.Steps)
	if err != nil {
		return nil, fmt.Errorf("fitting scorecard: %w", err)
	}
	if most < ev.Len() {
		records.LeavesOut(fmt.Sprintf("trains on %d of %d records", most, ev.Len()))
	}
	ev.most = most
	var before []axis
	var fitted *batch
	if previous != nil {
		m, err := p.readPart(previous)
		if err != nil {
			return nil, fmt.Errorf("fitting scorecard: previous model: %w", err)
		}
		before, fitted = m.axes, m.batch
	}
	order := ev.States.Partitions()
	for _, n := range order {
		if before != nil {
			break
		}
		s, err := p.load(ev, n)
		if err != nil {
			return nil, err
		}
		before = s.axes
	}
	m := &part{axes: p.build(ctx, ev, before), keys: p.offered(ev)}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fitting scorecard: %w", err)
	}
	if len(order) == 0 {
		var n int32
		if len(ev.Partition) > 0 {
			n = ev.Partition[0]
		}
		if ev.Exchangeable {
			c, err := p.fitWhole(ctx, m.axes, ev)
			if err != nil {
				return nil, err
			}
			c.partition = n
			m.shares = append(m.shares, c)
			return p.appendPart(nil, m), nil
		}
		c, err := p.train(ctx, m.axes, ev, func(i int) bool { return i >= ev.Len()-most })
		if err != nil {
			return nil, err
		}
		c.partition = n
		m.shares = append(m.shares, c)
		if m.batch, err = p.fitBatch(ctx, m.axes, ev, m.shares); err != nil {
			return nil, err
		}
		return p.appendPart(nil, m), nil
	}
	for _, n := range order {
		c, err := p.shareOf(ctx, ev, m, n, most)
		if err != nil {
			return nil, err
		}
		m.shares = append(m.shares, c)
	}
	if m.batch = fitted; !ev.Keep {
		var err error
		if m.batch, err = p.fitBatch(ctx, m.axes, ev, m.shares); err != nil {
			return nil, err
		}
	}
	return p.appendPart(nil, m), nil
}

// load reads the state of a partition, with the codes of the evidence.
func (p fitter) load(ev *evidence, partition int32) (*Scorecard, error) {
	s := newScorecard(p.plan)
	if err := ev.States.Read(partition, s.LoadState); err != nil {
		return nil, fmt.Errorf("fitting scorecard: partition %d: %w", partition, err)
	}
	if s.recode(ev.Recodes[partition]) {
		s.learnt++
	}
	return s, nil
}

// shareOf makes the share of a partition under the axes and keys of m, of its state or, where that has no structure, of
// its records among the newest most ones.
func (p fitter) shareOf(ctx context.Context, ev *evidence, m *part, partition int32, most int) (contribution, error) {
	s, err := p.load(ev, partition)
	if err != nil {
		return contribution{}, err
	}
	mine := func(i int) bool { return ev.Partition[i] == partition }
	var c contribution
	if s.axes == nil {
		c, err = p.train(ctx, m.axes, ev, func(i int) bool { return mine(i) && i >= ev.Len()-most })
		if err != nil {
			return c, err
		}
		c.partition = partition
	} else {
		c = s.share(partition)
		c.t.in = s.canonical(c.t.in, m.keys)
		p.restructure(&c, s.axes, m.axes, ev, mine)
	}
	if err := ctx.Err(); err != nil {
		return c, fmt.Errorf("fitting scorecard: %w", err)
	}
	return c, nil
}

// offered returns the keys of the inputs of the evidence, no more than the blocks have announced; nil when nothing is
// known of them.
func (p fitter) offered(ev *evidence) [][]uint64 {
	if ev.Keys == nil {
		return nil
	}
	keys := make([][]uint64, min(len(ev.Keys), len(p.opt.Blocks)))
	for b := range keys {
		keys[b] = ev.Keys[b][:min(len(ev.Keys[b]), p.opt.Blocks[b].Inputs)]
	}
	return keys
}

// trainInputs is the number of newest records of the evidence for which the inputs of other components are computed.
const trainInputs = 1 << 16

// recordSteps estimates, for the budget of a fit, the work for a record, a margin and a feature. A budget too small for
// all records is spent on the newest ones where a scorecard is trained, and on as many evenly spread ones where the
// batch is fitted; shares of partitions that have a state know all of theirs.
const recordSteps = 1000

// pause is the number of records between two looks at the context.
func (p fitter) pause() int { return max(1<<16/(p.margins*(len(p.features)+1)), 1) }

// train runs the chosen records through a new scorecard and returns its share.
func (p fitter) train(ctx context.Context, axes []axis, ev *evidence, use func(i int) bool) (contribution, error) {
	s := newScorecard(p.plan)
	s.axes = axes
	p.startCells(s.cur, axes)
	s.derive()
	row := make(model.Row, len(ev.Columns))
	pending, prob := make([]float64, p.memorySize()), make([]float64, p.classes)
	var inputs []float64
	if ev.Without != nil {
		s.SetBlocks(ev.Blocks)
		for _, n := range ev.Blocks {
			inputs = append(inputs, make([]float64, n*p.classes)...)
		}
	}
	for i := range ev.Class {
		if i%p.pause() == 0 && ctx.Err() != nil {
			return contribution{}, fmt.Errorf("fitting scorecard: %w", ctx.Err())
		}
		if !use(i) {
			continue
		}
		ev.Row(i, row)
		ex := model.Example{Row: row, Class: ev.Class[i], Weight: ev.Weight[i], Clock: float64(i)}
		if ev.Clock != nil {
			ex.Clock = ev.Clock[i]
		}
		if ev.Time != nil {
			ex.Time = ev.Time[i]
		}
		if len(inputs) > 0 && i >= ev.Len()-trainInputs {
			ev.Without(&ex, inputs)
		}
		s.Score(row, inputs, pending, prob)
		ev.Foretold(i, prob)
		s.LearnScored(&ex, inputs, pending)
	}
	return s.share(0), nil
}

// restructure brings a share from the structure under which it was learnt to that of the model.
func (p fitter) restructure(c *contribution, from, to []axis, ev *evidence, use func(i int) bool) {
	var changed []int
	for i := range p.features {
		if j := 3 * p.features[i].linear; j >= 0 {
			convert(c.t.mom[j:j+3], &from[i], &to[i])
		}
		if from[i].same(&to[i]) {
			continue
		}
		changed = append(changed, i)
		old := c.t.feat[i]
		var t cellTable
		p.resize(&t, to[i].cells, pair{})
		p.inherit(t.pair, old.pair, &from[i], &to[i])
		c.t.feat[i] = t
	}
	if len(changed) == 0 {
		return
	}
	k := newClock(len(p.half))
	k.start(c.records, c.time)
	for r := range ev.Class {
		if !use(r) || !(ev.Weight[r] > 0) || ev.Class[r] < 0 || int(ev.Class[r]) >= p.classes {
			continue
		}
		var records float64
		var time int64
		if ev.Clock != nil {
			records = ev.Clock[r]
		}
		if ev.Time != nil {
			time = ev.Time[r]
		}
		for h := range p.half {
			w := min(ev.Weight[r], model.MaxWeight) * k.weight(h, p.half[h], records, time)
			for _, i := range changed {
				cell := to[i].find(ev.Columns[p.features[i].index][r])
				c.t.feat[i].count[(cell*len(p.half)+h)*p.classes+int(ev.Class[r])] += w
			}
		}
	}
}

// build returns the cells of every feature for the evidence, keeping those of before where they are still adequate:
// none is overfull, and the evidence does not allow a quarter more. Evidence that says Keep leaves all of them.
// It ends early with ctx.
func (p fitter) build(ctx context.Context, ev *evidence, before []axis) []axis {
	if ev.Keep && before != nil {
		return slices.Clone(before)
	}
	axes := make([]axis, len(p.features))
	for i := range p.features {
		if i%64 == 0 && ctx.Err() != nil {
			break
		}
		f := &p.features[i]
		v := ev.Columns[f.index]
		if f.kind == model.Continuous {
			if f.trend != model.Free {
				axes[i] = p.inTrend(f, ev)
			} else {
				axes[i] = p.shape(f, v, ev.Weight)
			}
			if before != nil {
				old := &before[i]
				if p.kept(f, &axes[i], old, v, ev.Weight) && (f.trend == model.Free || p.trends(f, old, ev)) {
					axes[i] = *old
				}
				axes[i].center, axes[i].scale = old.center, old.scale // moments stay the same
			}
		} else {
			axes[i] = axis{center: float64(f.fixed) / 2, scale: max(1, float64(f.fixed)/4)}
		}
		if f.want != model.Free {
			was := 0
			if before != nil {
				was = before[i].rise
			}
			axes[i].rise = p.direction(f, &axes[i], v, ev, was)
		}
	}
	return axes
}

// adequate reports whether no cell but an atom holds more than slack times the weight intended for it.
func (p fitter) adequate(a *axis, values, weights []float64) bool {
	mass := make([]float64, a.cells)
	var total float64
	for i, v := range values {
		if c := a.find(v); c != cellMissing && c < a.cells-a.special {
			mass[c] += weights[i]
			total += weights[i]
		}
	}
	for i, c := range a.at {
		if c != a.gap[i] {
			mass[c] = 0
		}
	}
	for _, m := range mass {
		if m > slack*total/float64(p.opt.Cells)*(1+tie) {
			return false
		}
	}
	return true
}

// cell returns the cell that a value has or is to get.
func (p fitter) cell(f *feature, a *axis, v float64) int {
	if f.kind == model.Continuous {
		return a.find(v)
	}
	return p.level(f, v)
}

// direction returns the sign with which the margin must move with a monotone feature. Under Auto that of the covariance
// of the cell's rank with the positive class, or the one before when there is none.
func (p fitter) direction(f *feature, a *axis, values []float64, ev *evidence, was int) int {
	sign := 1
	if p.margins == 1 && p.schema.Positive == 0 {
		sign = -1
	}
	switch f.want {
	case model.Up:
		return sign
	case model.Down:
		return -sign
	}
	order := a.order(f, nil)
	rank := map[int]float64{}
	for i, c := range order {
		rank[int(c)] = float64(i)
	}
	var n, sx, sy, sxy float64
	for i, v := range values {
		x, ok := rank[p.cell(f, a, v)]
		if !ok {
			continue
		}
		w := ev.Weight[i]
		n, sx = n+w, sx+w*x
		if int(ev.Class[i]) == p.schema.Positive {
			sy, sxy = sy+w, sxy+w*x
		}
	}
	switch c := sxy*n - sx*sy; {
	case c > 0:
		return sign
	case c < 0:
		return -sign
	case was != 0:
		return was
	}
	return sign
}
