package lift

import (
	"context"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/report"
)

// miner finds, for each wanted class, the profiles of highest lift whose support exceeds a share of their complete
// cases, exactly (METHOD.md 5).
//
// A bitMiner searches records of equal weight. Other records are searched depth first over the feature sets in their
// order, and the covered records of every cell are split further feature by feature. A cell is given up when even its
// present cover is no more than the share of the records complete on every feature that may be added (METHOD.md 5.1):
// with missing data, support relative to the complete cases is not monotone by itself.
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

	known map[string][2]float64 // results of completeCases

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

// mined is a found profile: some positions, ascending, and the test at each.
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

// newMiner prepares the search on the n oldest records; single returns the set of one continuous feature.
func newMiner(s *sample, n int, levels *model.Levels, single func(f int32) *Set, o *ProfileOptions) *miner {
	m := &miner{sample: s, n: n, share: o.MinSupport, top: o.Top, keep: o.KeepRedundant, by: o.Rank,
		classOf: make([]bool, s.classes)}
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

// rankOf returns the figure that ranks a profile of that lift, with the rate of the class under it and the number of
// records it covers: the lift or, ByLower, its lower end. It is at most the lift.
func (m *miner) rankOf(lift, rate float64, cover int) float64 {
	if m.by != ByLower || !(rate > 0) {
		return lift
	}
	low, _ := report.Wilson(rate, float64(cover))
	return lift * low / rate
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

// redundant reports whether the tests without one of them cover the same records. If not, no smaller subset of the
// tests does.
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

// test returns the searched records that meet a test. They are looked up at its first use.
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

// leastVisits is how many record visits a set of features counts as at least: its profiles cost more than its records
// where these are few.
const leastVisits = 2048

// affordableDepth is the largest number of features, at most wanted, of which all sets may be tried on n records with
// at most that many visits.
func affordableDepth(features, n, wanted int, most float64) int {
	visits := 0.0
	for d := 1; d <= min(wanted, features); d++ {
		if visits += binomial(features, d) * float64(max(n, leastVisits)); visits > most && d > 1 {
			return d - 1
		}
	}
	return wanted
}

// Mine is Algorithm 3 alone, on all of the evidence: the best profiles of each wanted class in the order of their rank.
// It holds nothing back to validate and tries sets of up to o.Profiles.MaxFeatures features at any cost.
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
