package lift

import (
	"context"
	"math"
	"slices"

	"liftstream/model"
)

// Of the profiles of a class foldPool times as many as are wanted are found; those that share more than profileOverlap
// of the searched records in either with a better one are folded into it. ByValidated validates candidatePool times as
// many as are wanted.
const (
	foldPool       = 16
	profileOverlap = 0.5
	candidatePool  = 4
)

// Mine is Algorithm 3 alone, on all of the evidence: the best profiles of each wanted class by falling lift. Nothing is
// held back to validate, and o.Profiles.MaxFeatures holds whatever it takes.
func Mine(ctx context.Context, ev *model.Evidence, o Options) ([]*Profile, error) {
	m := minerOf(ev, &o)
	if err := m.run(ctx, o.Profiles.MaxFeatures); err != nil {
		return nil, err
	}
	var out []*Profile
	for _, best := range m.best {
		for _, x := range best {
			out = append(out, m.profile(x, ev.Levels))
		}
	}
	return out, nil
}

// CountProfiles counts the profiles of up to o.Profiles.MaxFeatures features of more than the minimum support.
func CountProfiles(ctx context.Context, ev *model.Evidence, o Options) (int, error) {
	o.Profiles.Top = 0
	m := minerOf(ev, &o)
	m.counting = true
	if err := m.run(ctx, o.Profiles.MaxFeatures); err != nil {
		return 0, err
	}
	return m.frequent, nil
}

func minerOf(ev *model.Evidence, o *Options) *miner {
	s := newSample(ev)
	search := newSetSearch(s, o, nil)
	return newMiner(s, s.n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, &o.Profiles)
}

const (
	// minValidation is the least number of records that are held back to validate.
	minValidation = 50
	// validationBlocks is the number of stretches of the held-back records that tell whether these are independent.
	validationBlocks = 10
)

// miner finds, for each wanted class, the profiles of highest lift among those of more than a share of their complete
// cases: exactly. Records of equal weight are searched by a bitMiner. Others by depth-first search over the feature
// sets in their order, the covered records of every cell split further feature by feature. A cell is given up when even
// its present cover is no more than the share of the records complete on everything that may be added (METHOD.md 5.1:
// with missing data per set, support relative to the complete cases is not monotone by itself).
type miner struct {
	*sample
	n       int       // records searched, from the oldest
	item    [][]int32 // by position: the test that a record meets; -1 missing, the number of tests for none of them
	items   [][]Item  // by position
	share   float64
	depth   int
	top     int
	keep    bool // refinements of the same records
	by      ProfileRank
	classOf []bool

	known map[string][2]float64 // what completeCases counted

	lastMissing  []int32 // by record, the last position that is missing; -1
	missingAfter []bool  // by position: some record lacks a later one
	levels       []mineLevel
	best         [][]*mined
	frequent     int // profiles of more than the minimum support; of a bitMiner all of them only when counting
	counting     bool
	bits         *bitMiner // nil where lists search
	tests        [][][]uint64
	met          []uint64
	err          error
	ctx          context.Context
	visits       int
}

// mineLevel holds the records of one depth of the search, group after group.
type mineLevel struct {
	position int
	record   []int32
	group    []mineGroup
	complete []int32 // records complete on the features; nil = all
	buffer   []int32 // of complete
	count    []float64
	at       []int32
}

// mineGroup is a cell: records[from:to] of its level, the test by which it was split off, and its group one level up.
type mineGroup struct {
	from, to int32
	item     int32
	parent   int32
}

// mined is a found profile: a test for each of some positions.
type mined struct {
	class    int32
	position []int32
	item     []int32
	lift     float64
	rank     float64 // lift, or its lower end
	nx       float64
	cover    int // records
}

// compareMined ranks by rank, then more records, then fewer features, then names in configuration order, then tests.
func compareMined(a, b *mined) int {
	if c := compareValues(a.rank, b.rank); c != 0 {
		return c
	}
	if c := compareValues(a.nx, b.nx); c != 0 {
		return c
	}
	if c := compareFeatures(a.position, b.position); c != 0 {
		return c
	}
	return slices.Compare(a.item, b.item)
}

// newMiner prepares the search on the n oldest records; sets holds the single-feature cells of the continuous features.
func newMiner(s *sample, n int, levels *model.Levels, single func(f int32) *Set, o *ProfileOptions) *miner {
	m := &miner{sample: s, n: n, share: o.MinSupport, top: o.Top, keep: o.KeepRedundant, by: o.Rank, classOf: make([]bool, s.classes)}
	for y := range m.classOf {
		m.classOf[y] = len(o.Of) == 0 || slices.Contains(o.Of, int32(y))
	}
	for _, f := range s.fields {
		var items []Item
		item := make([]int32, s.n)
		if s.code[f] != nil {
			known := int32(levels.Count(int(f)))
			for c := int32(0); c < known; c++ {
				items = append(items, Item{Feature: f, Level: c})
			}
			for i, c := range s.code[f] {
				item[i] = min(c, known)
			}
		} else {
			t := single(f)
			p := &t.parts[0]
			for c := 0; c <= len(p.cuts); c++ {
				it := Item{Feature: f, Level: -1, Low: math.Inf(-1), High: math.Inf(1)}
				if c > 0 {
					it.Low = p.cuts[c-1]
				}
				if c < len(p.cuts) {
					it.High = p.cuts[c]
				}
				items = append(items, it)
			}
			for i, v := range s.column[f] {
				if item[i] = -1; v == v {
					item[i] = cellOf(p.cuts, v)
				}
			}
		}
		m.items, m.item = append(m.items, items), append(m.item, item)
	}
	m.best = make([][]*mined, s.classes)
	return m
}

// run searches profiles of up to depth features.
func (m *miner) run(ctx context.Context, depth int) error {
	m.ctx, m.depth = ctx, min(depth, len(m.item), maxSetFeatures)
	if m.depth < 1 || m.n == 0 {
		return nil
	}
	if b := newBitMiner(m); b != nil {
		m.bits = b
		return b.run()
	}
	return m.runLists()
}

// runLists searches with a list of the covered records of every cell.
func (m *miner) runLists() error {
	n := m.n
	m.lastMissing = make([]int32, n)
	for i := range m.lastMissing {
		m.lastMissing[i] = -1
		for p := range m.item {
			if m.item[p][i] < 0 {
				m.lastMissing[i] = int32(p)
			}
		}
	}
	m.missingAfter = make([]bool, len(m.item))
	some := false
	for p := len(m.item) - 1; p >= 0; p-- {
		m.missingAfter[p] = some
		some = some || m.missing[m.fields[p]]
	}
	m.levels = make([]mineLevel, m.depth+1)
	root := &m.levels[0]
	root.record = make([]int32, m.n)
	total := make([]float64, m.classes)
	for i := range root.record {
		root.record[i] = int32(i)
		total[m.class[i]] += m.weight[i]
	}
	root.group = []mineGroup{{0, int32(m.n), 0, -1}}
	root.position = -1
	m.extend(1, total)
	return m.err
}

// extend adds one feature to the set of the level above. total holds the class weights of the complete cases there.
func (m *miner) extend(d int, total []float64) {
	up, l := &m.levels[d-1], &m.levels[d]
	if l.record == nil {
		l.record = make([]int32, m.n)
	}
	for p := up.position + 1; p < len(m.item); p++ {
		if m.visits++; m.visits%ctxEvery == 0 && m.ctx.Err() != nil {
			m.err = m.ctx.Err()
		}
		if m.err != nil {
			return
		}
		l.position = p
		ny := total
		l.complete = up.complete
		if m.missing[m.fields[p]] {
			ny = make([]float64, m.classes)
			if l.buffer == nil {
				l.buffer = make([]int32, m.n)
			}
			k := 0
			visit := func(r int32) {
				if m.item[p][r] >= 0 {
					l.buffer[k] = r
					k++
					ny[m.class[r]] += m.weight[r]
				}
			}
			if up.complete == nil {
				for r := range m.lastMissing {
					visit(int32(r))
				}
			} else {
				for _, r := range up.complete {
					visit(r)
				}
			}
			l.complete = l.buffer[:k]
		}
		n := 0.0
		for _, v := range ny {
			n += v
		}
		// The least number of complete cases that any extension can have.
		least := n
		if m.missingAfter[p] {
			least = 0
			add := func(r int32) {
				if m.lastMissing[r] <= int32(p) {
					least += m.weight[r]
				}
			}
			if l.complete == nil {
				for r := range m.lastMissing {
					add(int32(r))
				}
			} else {
				for _, r := range l.complete {
					add(r)
				}
			}
		}
		deeper := d < m.depth && p+1 < len(m.item)
		m.split(d, n, ny, least, deeper)
		if deeper && len(l.group) > 0 {
			m.extend(d+1, ny)
		}
	}
}

// split divides every group of the level above by the tests of the level's feature.
func (m *miner) split(d int, n float64, ny []float64, least float64, deeper bool) {
	up, l := &m.levels[d-1], &m.levels[d]
	item := m.item[l.position]
	k := len(m.items[l.position])
	if cap(l.count) < k*m.classes {
		l.count, l.at = make([]float64, k*m.classes), make([]int32, k)
	}
	count, at := l.count[:k*m.classes], l.at[:k]
	l.group = l.group[:0]
	used := int32(0)
	for g := range up.group {
		from := up.record[up.group[g].from:up.group[g].to]
		clear(count)
		clear(at)
		for _, r := range from {
			if c := item[r]; uint32(c) < uint32(k) {
				count[int(c)*m.classes+int(m.class[r])] += m.weight[r]
				at[c]++
			}
		}
		for c := 0; c < k; c++ {
			records := at[c]
			at[c] = -1
			if records == 0 {
				continue
			}
			xy := count[c*m.classes : (c+1)*m.classes]
			nx := 0.0
			for _, v := range xy {
				nx += v
			}
			if exceeds(nx, m.share*n) {
				m.frequent++
				m.offer(d, g, c, int(records), nx, xy, n, ny)
			}
			if deeper && nx > m.share*least*(1-tieTolerance) {
				at[c] = used
				l.group = append(l.group, mineGroup{used, used + records, int32(c), int32(g)})
				used += records
			}
		}
		if !deeper {
			continue
		}
		for _, r := range from {
			if c := item[r]; uint32(c) < uint32(k) && at[c] >= 0 {
				l.record[at[c]] = r
				at[c]++
			}
		}
	}
}

// offer puts the cell c of group g among the best of each wanted class.
func (m *miner) offer(d, g, c, cover int, nx float64, xy []float64, n float64, ny []float64) {
	for y, wanted := range m.classOf {
		if !wanted || !(ny[y] > 0) {
			continue
		}
		lift := xy[y] / nx * n / ny[y]
		if !m.wants(y, lift) {
			continue
		}
		rank := m.rankOf(lift, xy[y]/nx, cover)
		if !m.wants(y, rank) {
			continue
		}
		x := &mined{class: int32(y), lift: lift, rank: rank, nx: nx, cover: cover, position: make([]int32, d), item: make([]int32, d)}
		x.position[d-1], x.item[d-1] = int32(m.levels[d].position), int32(c)
		for i, group := d-1, g; i > 0; i-- {
			up := m.levels[i].group[group]
			x.position[i-1], x.item[i-1], group = int32(m.levels[i].position), up.item, int(up.parent)
		}
		m.insert(x, m.coverWithout)
	}
}

// rankOf is what a profile is ranked by, whose class has that rate and lift under it; at most the lift.
func (m *miner) rankOf(lift, rate float64, cover int) float64 {
	if m.by != ByLower || !(rate > 0) {
		return lift
	}
	return lift * wilsonLower(rate, float64(cover)) / rate
}

// wilsonLower is the lower end of the 95 % interval of a rate that was seen on n records (Wilson, JASA 22, 1927).
func wilsonLower(rate, n float64) float64 {
	const z = z95 * z95
	return (rate + z/(2*n) - z95*math.Sqrt(rate*(1-rate)/n+z/(4*n*n))) / (1 + z/n)
}

// wants reports whether a profile of class y of that rank, or at most that, may be among the best.
func (m *miner) wants(y int, rank float64) bool {
	best := m.best[y]
	return len(best) < m.top || m.top > 0 && compareValues(rank, best[m.top-1].rank) <= 0
}

// insert puts a profile among the best of its class. cover counts the records that meet all of its tests but one.
func (m *miner) insert(x *mined, cover func(x *mined, without int) int) {
	best := m.best[x.class]
	if len(best) == m.top && compareMined(x, best[m.top-1]) >= 0 || !m.keep && redundant(x, cover) {
		return
	}
	m.best[x.class] = insertTop(best, x, m.top, compareMined)
}

// redundant reports whether leaving one test out covers the same records: then, and only then, some profile of fewer of
// these tests does.
func redundant(x *mined, cover func(x *mined, without int) int) bool {
	for without := range x.position {
		if len(x.position) > 1 && cover(x, without) == x.cover {
			return true
		}
	}
	return false
}

// coverWithout counts the records that meet the tests but one.
func (m *miner) coverWithout(x *mined, without int) int { return ones(m.meeting(x, without)) }

// meeting returns the searched records that meet the tests but one, or all for -1; valid until the next call.
func (m *miner) meeting(x *mined, without int) []uint64 {
	if m.tests == nil {
		m.tests, m.met = make([][][]uint64, len(m.item)), make([]uint64, (m.n+63)/64)
	}
	first := true
	for i, p := range x.position {
		if i == without {
			continue
		}
		of := m.test(p, x.item[i])
		if first {
			copy(m.met, of)
			first = false
			continue
		}
		for k, v := range of {
			m.met[k] &= v
		}
	}
	return m.met
}

// test returns the searched records that meet a test, which are looked up at its first use.
func (m *miner) test(position, item int32) []uint64 {
	if m.tests[position] == nil {
		m.tests[position] = make([][]uint64, len(m.items[position]))
	}
	if b := m.tests[position][item]; b != nil {
		return b
	}
	b := make([]uint64, (m.n+63)/64)
	for r, c := range m.item[position][:m.n] {
		if c == item {
			b[r>>6] |= 1 << (r & 63)
		}
	}
	m.tests[position][item] = b
	return b
}

func (m *miner) covers(x *mined, r, without int) bool {
	for i, p := range x.position {
		if i != without && m.item[p][r] != x.item[i] {
			return false
		}
	}
	return true
}

// refinements counts the profiles of up to depth features that add tests to x and cover the same of the searched
// records: every subset of the tests that all of these share. covered are the records that x covers, ascending.
func (m *miner) refinements(x *mined, covered []int32) int {
	end, _ := slices.BinarySearch(covered, int32(m.n))
	covered = covered[:end]
	shared := 0
	for p, item := range m.item {
		if len(covered) == 0 || slices.Contains(x.position, int32(p)) {
			continue
		}
		value := item[covered[0]]
		if value < 0 || int(value) >= len(m.items[p]) {
			continue
		}
		if !slices.ContainsFunc(covered, func(r int32) bool { return item[r] != value }) {
			shared++
		}
	}
	n := 0.0
	for k := 1; k <= m.depth-len(x.position); k++ {
		n += binomial(shared, k)
	}
	return int(min(n, math.MaxInt32))
}

// affordableDepth is the largest number of features, at most wanted, of which all sets may be tried on n records.
func affordableDepth(features, n, wanted int) int {
	visits := 0.0
	for d := 1; d <= min(wanted, features); d++ {
		if visits += binomial(features, d) * float64(n); visits > affordable && d > 1 {
			return d - 1
		}
	}
	return wanted
}
