// Package propensity joins the live log-lifts of all features, and the inputs of other components, into calibrated
// propensities (METHOD.md): a few scorecards over the same inputs, each before and after online calibration, mixed in
// log-odds. All of it learns record by record, and every score is a sum of contributions.
package propensity

import (
	"slices"

	"liftstream/model"
)

// Scorecard is the live state of one partition. It is used from one goroutine.
type Scorecard struct {
	*plan
	axes  []axis    // nil before the first Rebase
	order [][]int32 // cells along each feature whose margin must rise or fall, nil for the others
	bound bool      // some feature has an order
	// cur is what scores are made of. away is what other partitions contributed to its counts at the last Rebase, on the
	// scale of cur (its pairs are not used); nil when they contributed nothing.
	cur, away *tables
	clock     clock
	// prior is the pseudo-record that stands beside the count of each class, in units of evidence, faded like everything
	// else.
	prior   []float64
	mass    mass // of what this partition has learnt
	others  mass // of what is in away
	cal     calibration
	mix     mixture
	learnt  float64 // number of records learnt: tells whether remembered margins are still exact
	adopted uint64  // stamp of the last batch that weights moved to
	lag     float64 // records that are learnt between the score and the label of a record, a fading mean
	// keys holds the key of the input (see model.Keyed) whose weights are in each external slot, 0 where there was none,
	// and since what learnt was when it came there. An input that is not offered any more keeps its slot until another
	// one needs it.
	keys  []uint64
	since []float64

	// What follows is derived from the above.
	unit     float64     // weight of one record's worth of evidence, model.Unit
	rates    []rate      // of each horizon, two classes
	shares   []classRate // of each horizon and class, more classes
	ext      []int       // shared slot of each external input, -1 where there is none
	renamed  float64     // the largest of since
	linearOf []int       // feature of each linear input
	near     [][]hood    // of each feature's stretches, nil where the axis is not smooth

	// The record in hand: its cells, the neighbouring cells and their parts (0 = none), and room to work.
	cells   []int
	sides   []int
	parts   []float64
	tmp     memory    // of a record that was not remembered
	wt      []float64 // half-lives
	blended []float64 // half-lives x classes
	xs      []float64 // cards x margins
	probs   []float64 // classes, as the next three
	prob    []float64
	dirs    []float64
	logits  []float64
	iso     isotonic
	ref     []float64 // margins: where a feature's lifts point
	weights []float64 // half-lives that make inputs: how much each counts in ref
	moved   []float64 // cards x margins: what a feature adds
	samples []sample  // half-lives that make inputs: what they know of a feature's cell
	pull    []float64 // features x cards x margins: gradients; only where effects follow lifts
	bend    steps2
}

// mass is the sum of the weights of records and of their squares.
type mass struct{ weight, square float64 }

// add adds a record of weight w or, by sign -1, takes it out; where rounding is all that is left, nothing is.
func (m *mass) add(w, sign float64) {
	m.weight += sign * w
	m.square += sign * w * w
	if sign < 0 && !(m.weight > 1e-9*w && m.square > 1e-9*w*w) {
		*m = mass{}
	}
}

// rate is what the log-lifts of one horizon need of the class counts, two classes.
type rate struct {
	a, b  float64 // pseudo-records of class 1 and of class 0
	odds  float64 // inverse base odds
	logit float64 // base log-odds
}

// classRate is the base rate of a class over one horizon, and its logarithm.
type classRate struct{ p, log float64 }

var _ model.Scorecard = (*Scorecard)(nil)

func newScorecard(p *plan) *Scorecard {
	s := &Scorecard{plan: p, clock: newClock(len(p.half)), prior: ones(len(p.half)), cal: calibration{weight: 1}}
	s.mix.own = evenly()
	s.keys, s.since = make([]uint64, p.extern), make([]float64, p.extern)
	s.cur = p.prior0()
	s.derive()
	return s
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// prior0 returns the tables before any record.
func (p *plan) prior0() *tables {
	t := p.newTables()
	for i := range t.in {
		t.in[i] = p.prior(i)
	}
	for i := range t.own {
		t.own[i] = fresh
	}
	return t
}

// derive recomputes everything that follows from the state.
func (s *Scorecard) derive() {
	p := s.plan
	s.rates = make([]rate, p.horizons)
	s.tmp = p.emptyMemory()
	s.cells, s.sides, s.parts = make([]int, len(p.features)), make([]int, len(p.features)), make([]float64, len(p.features))
	s.near = make([][]hood, len(p.features))
	for f := range s.axes {
		s.near[f] = s.axes[f].hoods()
	}
	s.xs = make([]float64, p.margins*cards)
	s.ref, s.weights, s.moved = make([]float64, p.margins), make([]float64, p.horizons), make([]float64, p.margins*cards)
	s.samples = make([]sample, p.horizons)
	if p.opt.Follow {
		s.pull = make([]float64, len(p.features)*cards*p.margins)
	}
	s.probs, s.prob = make([]float64, p.classes), make([]float64, p.classes)
	s.dirs, s.logits = make([]float64, p.classes), make([]float64, p.classes)
	s.shares = make([]classRate, p.horizons*p.classes)
	s.linearOf = s.linearOf[:0]
	for i := range p.features {
		if p.features[i].linear >= 0 {
			s.linearOf = append(s.linearOf, i)
		}
	}
	s.wt = make([]float64, len(p.half))
	s.blended = make([]float64, len(p.half)*p.classes)
	s.order, s.bound = make([][]int32, len(p.features)), false
	for f := range s.axes {
		if s.axes[f].rise != 0 {
			s.order[f], s.bound = s.axes[f].order(&p.features[f], nil), true
		}
	}
	s.cal.derive(&p.opt.Calibration, s.bound)
	if s.ext == nil {
		counts := make([]int, len(p.opt.Blocks))
		for i, b := range p.opt.Blocks {
			counts[i] = b.Inputs
		}
		s.SetBlocks(counts)
	}
	s.renamed = 0
	for _, v := range s.since {
		s.renamed = max(s.renamed, v)
	}
	s.weigh(0, 1)
	s.mix.derive()
	s.refresh()
}

// weigh notes the weight of a record that is learnt or, by sign -1, taken back.
func (s *Scorecard) weigh(w, sign float64) {
	s.mass.add(w, sign)
	s.unit = model.Unit(s.mass.weight+s.others.weight, s.mass.square+s.others.square)
}

// SetBlocks says how many inputs each of the Options.Blocks offers at present, in their order, input j of a block in
// its slot j: for a scorecard whose inputs never change. More than a block announced are ignored, and blocks without a
// count offer none. Without this call or SetInputs every block offers as many as it announced. It is not part of the
// state.
func (s *Scorecard) SetBlocks(counts []int) {
	s.ext = s.ext[:0]
	at := s.slots - s.extern
	for i, b := range s.opt.Blocks {
		if i == len(counts) {
			break
		}
		for j := range counts[i] {
			if j < b.Inputs {
				s.ext = append(s.ext, at+j)
			} else {
				s.ext = append(s.ext, -1)
			}
		}
		at += b.Inputs
	}
}

// SetInputs says which inputs each of the Options.Blocks offers at present, by their keys; more than a block announced
// are ignored, and blocks without keys offer none. An input has the weights that its key had when it was last offered,
// wherever in its block. A new one takes over the weights of a slot that had no key yet, or begins with those of a
// beginning in the first slot whose key is not offered. What was remembered of scores before then says nothing of it.
func (s *Scorecard) SetInputs(keys [][]uint64) {
	s.ext = s.ext[:0]
	first, begun := s.slots-s.extern, false
	at := 0
	for b := range min(len(keys), len(s.opt.Blocks)) {
		n := s.opt.Blocks[b].Inputs
		held, taken := s.keys[at:at+n], make([]bool, n)
		slot := slices.Repeat([]int{-1}, len(keys[b]))
		for j, k := range keys[b] {
			for i, h := range held {
				if slot[j] < 0 && h == k && !taken[i] {
					slot[j], taken[i] = i, true
				}
			}
		}
		for j, k := range keys[b] {
			if slot[j] >= 0 || !slices.Contains(taken, false) {
				continue
			}
			i := slices.Index(taken, false)
			for e := range held {
				if held[e] == 0 && !taken[e] {
					i = e
					break
				}
			}
			if held[i] != 0 {
				s.cur.in[first+at+i], s.since[at+i] = s.plan.prior(first+at+i), s.learnt+1
				begun = true
			}
			held[i], slot[j], taken[i] = k, i, true
		}
		for _, i := range slot {
			if i >= 0 {
				i += first + at
			}
			s.ext = append(s.ext, i)
		}
		at += n
	}
	if begun {
		s.learnt++
		s.renamed = s.learnt
	}
}

// arrange returns external pairs that stand in the order of the keys of each block in that of their slots: after
// SetInputs(keys) alone.
func (s *Scorecard) arrange(in []pair, keys [][]uint64) []pair {
	out := slices.Clone(in)
	clear(out[s.slots-s.extern:])
	s.eachInput(keys, func(canonical, slot int) { out[slot] = in[canonical] })
	return out
}

// canonical is the way back: it returns pairs that stand in their slots in the order of the keys. Inputs of which the
// scorecard has learnt nothing have the zero pair.
func (s *Scorecard) canonical(in []pair, keys [][]uint64) []pair {
	if keys == nil {
		return in
	}
	out := slices.Clone(in)
	clear(out[s.slots-s.extern:])
	s.SetInputs(keys)
	s.eachInput(keys, func(canonical, slot int) {
		if s.cur.in[slot] != s.plan.prior(slot) { // begun just now, or never learnt
			out[canonical] = in[slot]
		}
	})
	return out
}

// eachInput yields the shared slot that an input would have by its number, and the one that it has.
func (s *Scorecard) eachInput(keys [][]uint64, yield func(canonical, slot int)) {
	at, n := s.slots-s.extern, 0
	for b := range min(len(keys), len(s.opt.Blocks)) {
		for j := range keys[b] {
			if slot := s.ext[n]; slot >= 0 && j < s.opt.Blocks[b].Inputs {
				yield(at+j, slot)
			}
			n++
		}
		at += s.opt.Blocks[b].Inputs
	}
}

// current returns the memory of a record without the inputs whose slots have been given to others since: m itself where
// there are none.
func (s *Scorecard) current(m memory) memory {
	then := m.learnt[0]
	if then >= s.renamed {
		return m
	}
	s.tmp.set(m)
	K, first := s.margins, s.slots-s.extern
	for e, v := range s.since {
		if then < v {
			clear(s.tmp.input(first+e, K))
		}
	}
	return s.tmp
}

// refresh recomputes what scores need of the class counts and the clock.
func (s *Scorecard) refresh() {
	if s.margins != 1 {
		C := s.classes
		for h := range s.rates {
			var sum float64
			t, r := s.cur.class[h*C:h*C+C], s.shares[h*C:h*C+C]
			for c, v := range t {
				r[c].p = v + s.pseudo(h)
				sum += r[c].p
			}
			for c := range r {
				r[c].p /= sum
				r[c].log = ln(r[c].p)
			}
		}
		return
	}
	for h := range s.rates {
		v := s.pseudo(h)
		n0, n1 := s.cur.class[2*h]+v, s.cur.class[2*h+1]+v
		m := s.opt.Prior * s.unit * s.clock.now[h] / (n0 + n1)
		s.rates[h] = rate{a: m * n1, b: m * n0, odds: n0 / n1, logit: ln(n1 / n0)}
	}
}

// pseudo is what stands beside the count of each class over horizon h: what is left of the pseudo-record, and what
// never fades.
func (s *Scorecard) pseudo(h int) float64 { return (s.prior[h] + s.rateFloor*s.clock.now[h]) * s.unit }

// BaseRate is the never-forgetting rate of the class, with one pseudo-record of each class.
func (s *Scorecard) BaseRate(class int32) float64 {
	n := s.cur.class[s.forever*s.classes : (s.forever+1)*s.classes]
	v := s.prior[s.forever] * s.unit
	var sum float64
	for _, x := range n {
		sum += x + v
	}
	return (n[class] + v) / sum
}

// Observe does nothing: the scorecard learns from labelled records only.
func (s *Scorecard) Observe(model.Row) {}

// InputCount is 0: the scorecard consumes inputs, it offers none.
func (s *Scorecard) InputCount() int { return 0 }

// Inputs writes nothing.
func (s *Scorecard) Inputs(model.Row, []float64) {}

// PendingLen is the length of what Score remembers. It does not depend on the structure, and what was remembered stays
// meaningful after a Rebase.
func (s *Scorecard) PendingLen() int { return s.memorySize() }

// Score writes the calibrated propensities; without a structure these are the base rates.
func (s *Scorecard) Score(row model.Row, inputs, pending, p []float64) {
	m := s.tmp
	if len(pending) == s.memorySize() {
		m = s.memoryOf(pending)
	}
	if s.axes == nil {
		m.clear()
		for c := range p {
			p[c] = s.BaseRate(int32(c))
		}
		return
	}
	s.locate(row)
	if s.margins == 1 {
		z := s.score2(row, inputs, m)
		p[1] = sigmoid(z)
		p[0] = 1 - p[1]
		return
	}
	s.scoreN(row, inputs, m, p)
}

// inputsOf writes inputs and margins of the row whose cells are in s.cells into m; p is room for a number a class.
func (s *Scorecard) inputsOf(row model.Row, inputs []float64, m memory, p []float64) {
	if s.margins == 1 {
		s.score2(row, inputs, m)
	} else {
		s.scoreN(row, inputs, m, p)
	}
}

// locate writes the cells of a row into s.cells, the neighbours that have a part in it into s.sides and s.parts.
func (s *Scorecard) locate(row model.Row) {
	for i := range s.features {
		f := &s.features[i]
		v := row[f.index]
		s.parts[i] = 0
		if f.kind != model.Continuous {
			c := s.level(f, v)
			if c >= s.cellCount(&s.cur.feat[i]) {
				c = noCell
			}
			s.cells[i] = c
			continue
		}
		c, at := s.axes[i].place(v)
		s.cells[i] = c
		if near := s.near[i]; near != nil && at >= 0 {
			s.sides[i], s.parts[i] = near[at].beside(v)
		}
	}
}

// LearnScored learns a labelled record: mixture, calibration, weights, then moments and counts. Records of weight 0
// change nothing. Without a structure only the class counts learn.
func (s *Scorecard) LearnScored(ex *model.Example, inputs, pending []float64) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	w := min(ex.Weight, model.MaxWeight)
	if s.axes == nil {
		s.weigh(w, 1)
	}
	if s.axes != nil {
		s.locate(ex.Row)
		m := s.tmp
		if s.Remembers(pending) {
			m = s.memoryOf(pending)
			s.lag += (max(s.learnt-m.learnt[0], 0) - s.lag) / lagMemory
			m = s.current(m)
		} else {
			s.inputsOf(ex.Row, inputs, m, s.prob)
		}
		s.weigh(w, 1)
		s.grow(ex.Row)
		if s.margins == 1 {
			s.learn2(int(ex.Class), w, m)
		} else {
			s.learnN(int(ex.Class), w, m)
		}
		s.learnt++
	}
	s.count(ex)
}

// Remembers reports whether pending holds inputs to learn from. What was remembered before anything had been learnt
// says nothing: all log-lifts were 0, and the constant would learn the base rate that its own inputs carry from then
// on.
func (s *Scorecard) Remembers(pending []float64) bool {
	if len(pending) != s.memorySize() {
		return false
	}
	m := s.memoryOf(pending)
	return m.structured() && (m.learnt[0] > 0 || s.blindStart)
}

// Learn adds a labelled record to the counts and moments only: the second half of a correction, whose first is
// Retract. Weights are a path of gradient steps that cannot be taken back.
func (s *Scorecard) Learn(ex *model.Example) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	s.weigh(min(ex.Weight, model.MaxWeight), 1)
	if s.axes != nil {
		s.locate(ex.Row)
		s.grow(ex.Row)
		s.learnt++
	}
	s.count(ex)
}

// Retract takes a labelled record out of the counts and moments. The clock does not run back: counts grow with it, so
// that the weight of a record learnt now, in which all else is measured, would fade to nothing beside what rounding
// left of the records taken back.
func (s *Scorecard) Retract(ex *model.Example) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	s.weigh(min(ex.Weight, model.MaxWeight), -1)
	if s.axes != nil {
		s.locate(ex.Row)
		s.learnt++
	}
	s.addCounts(ex, -1)
	s.refresh()
}

// grow gives a cell to each level of the row for which s.cells has none.
func (s *Scorecard) grow(row model.Row) {
	for i := range s.features {
		f := &s.features[i]
		if f.kind == model.Continuous {
			continue
		}
		if s.cells[i] == noCell {
			s.cells[i] = s.level(f, row[f.index])
			s.resize(&s.cur.feat[i], s.cells[i]+1, fresh)
		}
	}
}

// count adds a record to the counts of its cells (s.cells) and moves the clock behind it.
func (s *Scorecard) count(ex *model.Example) {
	if ex.Clock > s.clock.records || ex.Time > s.clock.time {
		s.clock.advance(s.half, ex.Clock, ex.Time, s.rescale)
	}
	s.addCounts(ex, 1)
	s.clock.advance(s.half, ex.Clock+1, ex.Time, s.rescale)
	s.refresh()
}

func (s *Scorecard) rescale(h int, v float64) {
	s.plan.scale(s.cur, h, v)
	s.prior[h] *= v
	if s.away != nil {
		s.plan.scale(s.away, h, v)
	}
}

func (s *Scorecard) addCounts(ex *model.Example, sign float64) {
	w := sign * min(ex.Weight, model.MaxWeight)
	y, n := int(ex.Class), s.classes
	for h := range s.wt {
		s.wt[h] = w * s.clock.weight(h, s.half[h], ex.Clock, ex.Time)
		s.cur.class[h*n+y] += s.wt[h]
	}
	if sign < 0 {
		floor(s.cur.class)
	}
	if s.axes == nil {
		return
	}
	for i := range s.features {
		s.addCell(i, s.cells[i], y, sign < 0)
		f := &s.features[i]
		if v := ex.Row[f.index]; f.linear >= 0 && f.number(v) {
			u := s.axes[i].unit(v)
			m := s.cur.mom[3*f.linear : 3*f.linear+3]
			m[0] += w
			m[1] += w * u
			m[2] += w * u * u
			if m[0] < 0 {
				clear(m)
			}
		}
	}
}

// addCell adds the weights s.wt to a cell.
func (s *Scorecard) addCell(i, cell, y int, clamp bool) {
	if cell == noCell {
		return
	}
	n := len(s.wt) * s.classes
	t := s.cur.feat[i].count[cell*n : (cell+1)*n]
	for h, w := range s.wt {
		t[h*s.classes+y] += w
	}
	if clamp {
		floor(t)
	}
}

func floor(v []float64) {
	for i := range v {
		v[i] = max(v[i], 0)
	}
}

// furnish gives every feature the cells that its axis has from the start.
func (p *plan) furnish(t *tables, axes []axis) {
	for i := range p.features {
		n := axes[i].cells
		if p.features[i].kind != model.Continuous {
			n = cellLevels + min(p.features[i].fixed, p.levels)
		}
		p.resize(&t.feat[i], n, fresh)
	}
}
