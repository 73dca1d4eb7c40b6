package propensity

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// part is a scorecard's part of a Model: the structure, and the share of each partition under it.
type part struct {
	axes   []axis
	batch  *batch         // weights by the evidence, nil when there was too little
	keys   [][]uint64     // of the inputs of each block, in the order of the shares' pairs; nil when unknown
	shares []contribution // by ascending partition
}

// contribution is one partition's: its own counts as a record learnt next would find them (its weight is 1), and its
// weights as pairs (G w, G).
type contribution struct {
	partition int32
	records   float64
	time      int64
	lag       float64   // of labels behind scores, in records
	prior     []float64 // faded pseudo-record beside each class
	mass      mass
	t         *tables
	mix       [experts]float64
}

func (p *plan) appendPart(b []byte, m *part) []byte {
	further := slices.ContainsFunc(m.shares, func(c contribution) bool { return c.t.hasFurther() })
	if further {
		b = p.appendFormat(b, furtherPart, namedFurtherPart)
	} else {
		b = p.appendFormat(b, partFormat, namedFormat)
	}
	b = p.appendAxes(b, m.axes)
	b = p.appendBatch(b, m.batch)
	b = p.appendKeys(b, m.keys)
	b = wire.AppendUvarint(b, uint64(len(m.shares)))
	for i := range m.shares {
		c := &m.shares[i]
		b = wire.AppendVarint(b, int64(c.partition))
		b = wire.AppendFloat(b, c.records)
		b = wire.AppendVarint(b, c.time)
		b = wire.AppendFloat(b, c.lag)
		b = wire.AppendFloats(b, c.prior)
		b = appendMass(b, c.mass)
		b = p.appendTables(b, c.t, true, further)
		b = wire.AppendFloats(b, c.mix[:])
	}
	return b
}

func (p *plan) appendKeys(b []byte, keys [][]uint64) []byte {
	b = wire.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = wire.AppendUvarint(b, uint64(len(k)))
		for _, v := range k {
			b = wire.AppendUvarint(b, v)
		}
	}
	return b
}

func (p *plan) readKeys(r *wire.Reader) [][]uint64 {
	var keys [][]uint64
	for n := r.Int(len(p.opt.Blocks)); n > 0 && r.Err() == nil; n-- {
		k := make([]uint64, r.Int(p.opt.Blocks[len(keys)].Inputs))
		for j := range k {
			k[j] = r.Uvarint()
		}
		keys = append(keys, k)
	}
	return keys
}

func (p *plan) readPart(b []byte) (*part, error) {
	r := wire.NewReader(b)
	format, from, err := p.readFormat(r, namedFurtherPart)
	if err != nil {
		return nil, err
	}
	if from != p {
		m, err := from.readPart(b)
		if err != nil {
			return nil, err
		}
		return betweenBlocks(from, p).part(m), nil
	}
	m := &part{axes: p.readAxes(r)}
	m.batch = p.readBatch(r, m.axes)
	if format > beforeKeys {
		m.keys = p.readKeys(r)
	}
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		c := contribution{partition: int32(r.Varint()), records: r.Float(), time: r.Varint(), lag: r.Float(),
			prior: make([]float64, len(p.half))}
		p.readPrior(r, c.prior)
		if format > beforeKeys {
			c.mass = readMass(r)
		}
		c.t = p.readTables(r, m.axes, true, format >= furtherPart)
		if format == beforeKeys {
			c.mass = p.massOf(c.t)
		}
		readShares(r, &c.mix)
		if k := len(m.shares); k > 0 && m.shares[k-1].partition >= c.partition {
			r.Fail(fmt.Errorf("partitions out of order"))
		}
		if !(math.Abs(c.records) < 1<<53) || !(c.lag >= 0 && c.lag < 1<<53) {
			r.Fail(errNumber)
		}
		for f := range m.axes {
			if n := m.axes[f].cells; r.Err() == nil && n > 0 && p.cellCount(&c.t.feat[f]) != n {
				r.Fail(fmt.Errorf("feature %d: cells do not fit", f))
			}
		}
		m.shares = append(m.shares, c)
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("decoding scorecard: %w", err)
	}
	return m, nil
}

// share returns the share of this partition: the records that it has learnt by itself.
func (s *Scorecard) share(partition int32) contribution {
	c := contribution{partition: partition, records: s.clock.records, time: s.clock.time, lag: s.lag,
		prior: slices.Clone(s.prior), mass: s.mass, t: s.cur.clone(), mix: s.mix.own}
	t, p := c.t, s.plan
	away := s.away
	if away == nil {
		away = p.newTables()
	}
	counts := func(own, of []float64) {
		n := len(p.half) * p.classes
		for i := range own {
			if i < len(of) {
				own[i] -= of[i]
			}
			own[i] = max(own[i], 0) / s.clock.now[i%n/p.classes]
		}
	}
	counts(t.class, away.class)
	for h := range c.prior {
		c.prior[h] /= s.clock.now[h]
	}
	for f := range t.feat {
		counts(t.feat[f].count, away.feat[f].count)
		if x := t.feat[f].further; x != nil {
			for i, level := range x.level {
				counts(x.at(i), away.feat[f].further.counts(level))
			}
		}
		pack(t.feat[f].pair)
	}
	pack(t.in)
	pack(t.own)
	for i := range t.knot {
		t.knot[i] = max(t.knot[i]-away.knot[i], 0) / s.cal.weight
	}
	for i := range t.mom {
		t.mom[i] -= away.mom[i]
	}
	return c
}

// convert moves the sums of a linear input from the units of one axis to those of another.
func convert(m []float64, from, to *axis) {
	if from.center == to.center && from.scale == to.scale {
		return
	}
	a := from.scale / to.scale
	b := (from.center - to.center) / to.scale
	m[2] = a*a*m[2] + 2*a*b*m[1] + b*b*m[0]
	m[1] = a*m[1] + b*m[0]
	for i := range m {
		if !finite(m[i]) {
			clear(m)
		}
	}
}

// inherit fills the pairs of the cells of axis to with those of the cells of axis from that hold the same values.
func (p *layout) inherit(dst, src []pair, from, to *axis) {
	K := p.margins
	done := make([]bool, to.cells)
	take := func(c int32, v float64) {
		if !done[c] {
			done[c] = true
			old := from.find(v)
			copy(dst[int(c)*K:(int(c)+1)*K], src[old*K:(old+1)*K])
		}
	}
	copy(dst[:K], src[:K]) // missing
	if to.special == from.special {
		at, was := (to.cells-to.special)*K, (from.cells-from.special)*K
		copy(dst[at:at+to.special*K], src[was:])
	}
	for i, e := range to.edges {
		if to.at[i] != to.gap[i] {
			take(to.at[i], e)
		}
	}
	for i, c := range to.gap {
		var v float64
		switch {
		case len(to.edges) == 0:
			v = to.center
		case i == 0:
			v = to.edges[0]
			if to.at[0] != c {
				v = math.Nextafter(v, math.Inf(-1))
			}
		case i == len(to.edges):
			v = math.Nextafter(to.edges[i-1], math.Inf(1))
		default:
			v = to.edges[i-1]/2 + to.edges[i]/2
		}
		if finite(v) {
			take(c, v)
		}
	}
}

// Rebase moves the scorecard to the structure of a Model. Features whose cells did not change keep their counts and
// weights; the rest starts from the Model's share of this partition and learns on. Counts of other partitions since the
// last Rebase are added, and weights move to the mean over all partitions. With one partition and the same structure
// nothing changes, bit for bit. After an error the scorecard must be dropped.
func (s *Scorecard) Rebase(rb *model.Rebase) error {
	m, err := s.readPart(rb.Part)
	if err != nil {
		return fmt.Errorf("rebasing: %w", err)
	}
	if s.recode(rb.Recode) {
		s.learnt++
	}
	if m.keys != nil {
		s.SetInputs(m.keys)
	}
	var self *contribution
	var others *tables
	var mix []float64
	var away mass
	n := 0.
	for i := range m.shares {
		c := &m.shares[i]
		if m.keys != nil {
			c.t.in = s.arrange(c.t.in, m.keys)
		}
		if c.partition == rb.Self {
			self = c
			continue
		}
		if others == nil {
			others, mix = s.newTables(), make([]float64, experts)
		}
		s.add(others, c.t, ones(len(s.half)), 1)
		away.weight, away.square = away.weight+c.mass.weight, away.square+c.mass.square
		for e, v := range c.mix {
			mix[e] += ln(v)
		}
		n++
	}
	for e := range mix {
		mix[e] /= n
	}
	begins, had := s.axes == nil, s.away != nil
	var changed []int
	if begins {
		s.takeOver(m, self, others, n, rb)
	} else {
		changed = s.move(m, self, others, n)
	}
	s.mix.away, s.others = mix, away
	s.adopt(m.batch)
	if begins || len(changed) > 0 || others != nil || had {
		s.learnt++
	}
	s.derive()
	if s.bound {
		s.restoreOrder()
	}
	if rb.Since != nil {
		for ex := range rb.Since {
			if begins {
				s.LearnScored(ex, nil, nil)
			} else {
				s.relearn(changed, ex)
			}
		}
	}
	if rb.Clock > s.clock.records {
		s.clock.advance(s.half, rb.Clock, 0, s.rescale)
	}
	s.refresh()
	return nil
}

// takeOver takes over the structure, this partition's share and the others'. A share of more records than the partition
// has learnt, as that of files, is of now: by a clock that is ahead, new records would weigh nothing.
func (s *Scorecard) takeOver(m *part, self *contribution, others *tables, n float64, rb *model.Rebase) {
	s.axes = m.axes
	s.clock = newClock(len(s.half))
	s.clock.start(rb.Clock, 0)
	s.prior = ones(len(s.half))
	s.mass = mass{}
	s.cur = s.prior0()
	s.startCells(s.cur, s.axes)
	if self == nil || self.records > rb.Clock || rb.Time != 0 && self.time > rb.Time {
		rb.DependsOnNow()
	}
	if self != nil {
		time := self.time
		if rb.Time != 0 {
			time = min(time, rb.Time)
		}
		records := min(self.records, rb.Clock)
		if rb.Ahead > 0 {
			records, time = rb.Clock, max(time, rb.Time)
		}
		s.clock.start(records, time)
		s.prior, s.mass, s.lag = self.prior, self.mass, self.lag
		s.mix.own = self.mix
		s.join(s.cur, self.t, s.clock.now)
		unpack(s.cur.in, self.t.in)
		unpack(s.cur.own, self.t.own)
		for f := range s.cur.feat {
			unpack(s.cur.feat[f].pair, self.t.feat[f].pair)
		}
	}
	s.cal.weight = 1
	s.away = others
	if others != nil {
		s.join(s.cur, others, s.clock.now)
		for f := range others.feat {
			others.feat[f].further.keepOnly(s.cur.feat[f].further)
		}
		s.blend(others, n)
	}
}

// join adds the counts of a share to live tables whose calibration stands at weight 1.
func (p *layout) join(dst, src *tables, now []float64) {
	p.addCounts(dst.class, src.class, now)
	for f := range src.feat {
		p.resize(&dst.feat[f], p.cellCount(&src.feat[f]), fresh)
		p.addCounts(dst.feat[f].count, src.feat[f].count, now)
		dst.feat[f].addFurther(p, src.feat[f].further, now)
	}
	addFloats(dst.knot, src.knot, 1)
	addFloats(dst.mom, src.mom, 1)
}

// move takes over a structure and exchanges the others' former contributions for their present ones. It returns
// the features whose cells changed.
func (s *Scorecard) move(m *part, self *contribution, others *tables, n float64) (changed []int) {
	p := s.plan
	was := s.axes
	s.axes = m.axes
	for i := range s.features {
		if f := &s.features[i]; f.linear >= 0 {
			j := 3 * f.linear
			convert(s.cur.mom[j:j+3], &was[i], &s.axes[i])
			if s.away != nil {
				convert(s.away.mom[j:j+3], &was[i], &s.axes[i])
			}
		}
		if was[i].same(&s.axes[i]) {
			continue
		}
		changed = append(changed, i)
		var t cellTable
		p.resize(&t, s.axes[i].cells, fresh)
		if self != nil {
			then := make([]float64, len(s.half))
			for h := range then {
				then[h] = s.clock.weight(h, s.half[h], min(self.records, s.clock.records), self.time)
			}
			p.addCounts(t.count, self.t.feat[i].count, then)
			unpack(t.pair, self.t.feat[i].pair)
		}
		s.cur.feat[i] = t
		if s.away != nil {
			s.away.feat[i] = cellTable{}
		}
	}
	if others == nil && s.away == nil {
		return changed
	}
	add, old := p.newTables(), s.away
	if others != nil {
		p.add(add, others, s.clock.now, s.cal.weight)
	}
	if old == nil {
		old = p.newTables()
	}
	exchange(s.cur.class, add.class, old.class)
	for i := range s.features {
		c, a, o := &s.cur.feat[i], &add.feat[i], &old.feat[i]
		cells := max(p.cellCount(c), p.cellCount(a), p.cellCount(o))
		p.resize(c, cells, fresh)
		p.resize(a, cells, pair{})
		p.resize(o, cells, pair{})
		exchange(c.count, a.count, o.count)
		c.exchangeFurther(&p.layout, a, o.further)
	}
	exchange(s.cur.knot, add.knot, old.knot)
	for j := range s.cur.mom {
		s.cur.mom[j] += add.mom[j] - old.mom[j]
	}
	for j := 0; j < len(s.cur.mom); j += 3 {
		if s.cur.mom[j] < 0 || s.cur.mom[j+2] < 0 {
			clear(s.cur.mom[j : j+3])
		}
	}
	s.away = nil
	if others != nil {
		s.away = add
		s.blend(others, n)
	}
	return changed
}

func exchange(cur, add, old []float64) {
	for i := range cur {
		cur[i] = max(cur[i]+(add[i]-old[i]), 0)
	}
}
