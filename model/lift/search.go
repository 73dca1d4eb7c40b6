package lift

import (
	"context"
	"math"
	"slices"

	"liftstream/model"
)

// Search says how feature sets of more than one feature are tried.
type Search uint8

const (
	// Auto tries every set of a size while that is affordable, and goes on as Beam from there.
	Auto Search = iota
	// Exhaustive tries every set at any cost; the context is the only limit.
	Exhaustive
	// Beam extends the 32 best sets of each size.
	Beam
)

// Rank is the figure by which feature sets are ranked, extended by the beam and kept, and by which windows are chosen.
type Rank uint8

const (
	// ByEta ranks by eta of the counted records, as the paper does. Where the records are few, a set of many cells leads.
	ByEta Rank = iota
	// ByLeaveOneOut ranks by eta on records left out of the counts; see Summary.EtaLeaveOneOut.
	ByLeaveOneOut
)

const (
	beamWidth = 32
	// affordable bounds, under Auto, the record visits of one size of set, and of the profiles of one fit.
	affordable = 1 << 27
	// maxCandidates bounds the sets of one size that are tried.
	maxCandidates = 1 << 20
	// ctxEvery is the number of sets between two looks at the context.
	ctxEvery = 4
)

// found is an evaluated feature set.
type found struct {
	set       *Set
	eta       float64
	corrected float64
	leftOut   float64 // EtaLeaveOneOut; NaN where it is not known
	rank      float64 // eta or leftOut
	n         float64
	table     *Table // the counts of all records
}

// newFound measures a set; the summary returned has the gains that its windows are ranked by.
func newFound(t *Set, table *Table, classes int, by Rank) (*found, *Summary) {
	m := Summarise(table.n, classes, table.Effective())
	f := &found{set: t, eta: m.Eta(), corrected: m.EtaCorrected(), leftOut: math.NaN(), n: m.N, table: table}
	if by == ByLeaveOneOut {
		m = m.leaveOneOut()
		f.leftOut = m.rank()
	}
	f.rank = m.rank()
	return f, m
}

// compareFound ranks by rank, then more records, then fewer features, then names in configuration order.
func compareFound(a, b *found) int {
	if c := compareValues(a.rank, b.rank); c != 0 {
		return c
	}
	if c := compareValues(a.n, b.n); c != 0 {
		return c
	}
	return compareFeatures(a.set.features, b.set.features)
}

// setSearch is Algorithm 1 and Algorithm 2 over all sets of the wanted sizes (METHOD.md 3, 4).
type setSearch struct {
	*sample
	options  *Options
	previous []*Set
	row      model.Row
	values   []weighted
	cells    []int32
	// distances are the distances of all records by distanceOf, the last part of several features.
	distances  []float64
	distanceOf part
	// The covariance of all continuous features, where no record lacks one of them; nil until it is needed.
	full []float64

	// The part of the last continuous features that were cut on all their complete cases, and its cell by record.
	lastKey  []int32
	lastPart []part
	lastSlot []int32

	ended   func() bool // the context of run; nil before it
	lattice map[string]*latticeSet
	top     []*found
	windows []*Window
	// exhausted is the largest size up to which every set was tried.
	exhausted int
	tried     int
	inexact   int // sets whose search for windows ended early
}

func newSetSearch(s *sample, o *Options, previous []*Set) *setSearch {
	return &setSearch{sample: s, options: o, previous: previous, row: make(model.Row, len(s.column)),
		cells: make([]int32, s.n), lastSlot: make([]int32, s.n)}
}

// run tries the sets of each size in turn.
func (s *setSearch) run(ctx context.Context) error {
	s.ended = func() bool { return ctx.Err() != nil }
	o := &s.options.Sets
	largest := min(o.Max, len(s.fields), maxSetFeatures)
	for size := 1; size <= largest; size++ {
		count := binomial(len(s.fields), size)
		dear := count*float64(max(s.n, leastVisits)) > s.visits
		if size > 1 && (count > maxCandidates || o.Search == Beam || o.Search == Auto && dear) {
			break
		}
		s.exhausted = size
	}
	var err error
	if s.lattice, err = s.latticeOf(ctx, s.exhausted); err != nil {
		return err
	}
	var beam []*found
	for size := 1; size <= largest; size++ {
		var sets [][]int32
		if size <= s.exhausted {
			sets = combinations(s.fields, size)
		} else {
			sets = s.extensions(beam)
		}
		if len(sets) == 0 {
			break
		}
		s.groupByPart(sets)
		beam = nil
		for i, features := range sets {
			if i%ctxEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			f, summary := s.evaluate(features)
			if f == nil {
				continue
			}
			s.tried++
			beam = insertTop(beam, f, beamWidth, compareFound)
			if size < o.Min {
				continue
			}
			s.top = insertTop(s.top, f, min(o.Top, maxMonitored), compareFound)
			s.search(f, summary)
		}
	}
	if s.options.Windows.Fold {
		s.windows = s.foldWindows()
	}
	s.measureWindows()
	return nil
}

// search keeps the best windows of a set.
func (s *setSearch) search(f *found, summary *Summary) {
	o := &s.options.Windows
	keep := o.Top
	if o.Fold {
		keep *= windowPool
	}
	if keep < 1 {
		return
	}
	var worst *Window
	if len(s.windows) == keep {
		worst = s.windows[keep-1]
	}
	var best []*Window
	exact := true
	contiguous := o.Contiguous && f.set.ordered(s.schema)
	switch {
	case o.Fold:
		best, exact = differentWindows(f.set, summary, o, contiguous, worst)
	case contiguous:
		best = contiguousWindows(f.set, summary, o.Top, o.MinMass)
	default:
		best, exact = findWindows(f.set, summary, o.Top, o.MinMass, worst, false)
	}
	if !exact {
		s.inexact++
	}
	for _, w := range best {
		if s.options.Sets.Rank == ByEta || w.rank > 0 {
			s.windows = insertTop(s.windows, w, keep, compareWindows)
		}
	}
}

// groupByPart puts sets with the same continuous features next to each other, so that these are cut once.
func (s *setSearch) groupByPart(sets [][]int32) {
	key := func(features []int32) (k []int32) {
		for _, f := range features {
			if s.code[f] == nil {
				k = append(k, f)
			}
		}
		return k
	}
	keys := make(map[*int32][]int32, len(sets))
	for _, t := range sets {
		keys[&t[0]] = key(t)
	}
	slices.SortStableFunc(sets, func(a, b []int32) int { return slices.Compare(keys[&a[0]], keys[&b[0]]) })
}

// extensions returns every set of the beam with one more feature, each once.
func (s *setSearch) extensions(beam []*found) [][]int32 {
	var sets [][]int32
	for _, b := range beam {
		for _, f := range s.fields {
			i, has := slices.BinarySearch(b.set.features, f)
			if !has {
				sets = append(sets, slices.Insert(slices.Clone(b.set.features), i, f))
			}
		}
	}
	slices.SortFunc(sets, slices.Compare[[]int32])
	return slices.CompactFunc(sets, slices.Equal[[]int32])
}

// evaluate counts the classes by the cells of the set; nil when it has too many cells.
func (s *setSearch) evaluate(features []int32) (*found, *Summary) {
	if l := s.lattice[keyOf(features)]; l != nil && s.serving(features) == nil {
		return l.found(s)
	}
	t := s.define(features)
	if t == nil {
		return nil, nil
	}
	return newFound(t, s.tableOf(t), s.classes, s.options.Sets.Rank)
}

// tableOf counts the classes of all records by the cells of the set.
func (s *setSearch) tableOf(t *Set) *Table {
	s.fill(t)
	table := NewTable(s.classes)
	for i, x := range s.cells {
		if x >= 0 {
			table.add(int(x), int(s.class[i]), 1, s.weight[i])
		}
	}
	return table
}

func (s *setSearch) summaryOf(t *Set) *Summary {
	table := s.tableOf(t)
	return Summarise(table.n, s.classes, table.Effective())
}

// binomial is the number of subsets of k of n.
func binomial(n, k int) float64 {
	b := 1.0
	for i := 1; i <= k; i++ {
		b *= float64(n-k+i) / float64(i)
	}
	return math.Round(b)
}

// combinations returns the subsets of k features, in lexicographic order.
func combinations(features []int32, k int) [][]int32 {
	var out [][]int32
	at := make([]int, k)
	for i := range at {
		at[i] = i
	}
	for {
		c := make([]int32, k)
		for i, j := range at {
			c[i] = features[j]
		}
		out = append(out, c)
		i := k - 1
		for i >= 0 && at[i] == len(features)-k+i {
			i--
		}
		if i < 0 {
			return out
		}
		at[i]++
		for j := i + 1; j < k; j++ {
			at[j] = at[j-1] + 1
		}
	}
}
