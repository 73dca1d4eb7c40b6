package lift

import (
	"context"
	"math"
	"slices"

	"liftstream/model"
)

// lattice evaluates all sets of 2 to most of some continuous features that no record lacks, on records of equal weight:
// Algorithm 1 with the recursion of METHOD.md 2.4.
//
// Sets are visited depth first, each from the set without its last feature. The residuals of all later features on the
// set are kept, so a set of any size costs one multiplication, one addition and one square a record:
//
//	z_j = r_j/l_jj,  d^2 <- d^2 + z_j^2,  r_t <- r_t - l_tj z_j for later t
//
// in the order of part.distance, so that both give the same bits.
//
// The cuts are exact. A sample says in which bands of a fine grid they lie. All records are counted by the ends of the
// bands, and the records inside a band are kept: their ranks among these give their ranks among all. Where a cut is not
// inside its band after all, or the covariance is singular, the set is left to be evaluated by itself.
//
// The records stand in the order of their classes, so that those of a chunk have one class and are counted without
// regard to it.
//
// A family is all sets with the same features among the first ones (its head). Families are independent of each other:
// they run in parallel, and only a running one keeps records.
type lattice struct {
	columns  [][]float64 // by position in features, padded
	features []int32
	cov      []float64
	spans    []span
	size     []uint32    // records by class
	first    [][]float64 // the records of the first sample and of the second one, as columns
	second   [][]float64
	n        int
	classes  int
	cells    int
	most     int
	weight   float64
}

// span is records lo to hi, all of one class and at most latticeChunk.
type span struct{ lo, hi, class int }

// Sizes of the lattice search.
const (
	latticeChunk  = 1024    // records that go through a family together, so that their residuals stay in the cache
	latticePad    = 32      // the records of a chunk are computed in blocks of that many
	latticeFirst  = 2048    // records that say where the grid lies
	latticeSample = 1 << 14 // least number of records that say in which bands of the grid the cuts lie
	latticeGrid   = 1024    // bins of the grid
	latticeFamily = 6       // features that vary inside a family
	latticeSets   = 1 << 16 // most sets that are evaluated this way
	// latticeDeviations is the half-width of a band in standard deviations of a sample quantile.
	latticeDeviations = 4
)

// latticeOf evaluates the sets of 2 to most features on which a lattice saves work; nil when there are none.
func (s *setSearch) latticeOf(ctx context.Context, most int) (map[string]*latticeSet, error) {
	k := min(s.options.Quantiles, maxCells)
	if s.options.Joint != Mahalanobis || most < 2 || s.n < 2*latticeChunk ||
		k < 2 || (2*k-1)*s.classes*2 > math.MaxUint16 {
		return nil, nil
	}
	for _, w := range s.weight {
		if w != s.weight[0] || !(w > 0) {
			return nil, nil
		}
	}
	var features []int32
	infinite := func(v float64) bool { return !finite(v) }
	for _, f := range s.fields {
		if s.code[f] == nil && !s.missing[f] && !slices.ContainsFunc(s.column[f], infinite) {
			features = append(features, f)
		}
	}
	sets := 0.0
	for size := 2; size <= min(most, len(features)); size++ {
		sets += binomial(len(features), size)
	}
	if sets < 2 || sets > latticeSets {
		return nil, nil
	}
	l := &lattice{features: features, cov: s.covariance(features, features), n: s.n, classes: s.classes, cells: k,
		most: most, weight: s.weight[0]}
	l.order(s)
	return l.run(ctx, s.ev)
}

// order lays the records out by class, those of a class in their order, and takes the samples.
func (l *lattice) order(s *setSearch) {
	from := make([]int, l.classes+1)
	for _, y := range s.class {
		from[y+1]++
	}
	l.size = make([]uint32, l.classes)
	for y := range l.classes {
		l.size[y] = uint32(from[y+1])
		for lo, hi := from[y], from[y]+from[y+1]; lo < hi; lo += latticeChunk {
			l.spans = append(l.spans, span{lo, min(lo+latticeChunk, hi), y})
		}
		from[y+1] += from[y]
	}
	place := make([]int32, l.n)
	for i, y := range s.class {
		place[i] = int32(from[y])
		from[y]++
	}
	l.columns = make([][]float64, len(l.features))
	for p, f := range l.features {
		c := make([]float64, l.n+latticePad)
		for i, v := range s.column[f] {
			c[place[i]] = v
		}
		l.columns[p] = c
	}
	// The larger sample makes the bands narrower, in which a record costs about four times as much as elsewhere: the
	// least work is at a number of records that grows as n^(2/3).
	n := float64(l.n)
	l.first, l.second = l.sample(latticeFirst), l.sample(max(latticeSample, int(6.6*math.Cbrt(n*n))))
}

// sample returns every so many-th record, about most of them, as columns; all columns where there are no more.
func (l *lattice) sample(most int) [][]float64 {
	stride := (l.n + most - 1) / most
	if stride <= 1 {
		return l.columns
	}
	out := make([][]float64, len(l.columns))
	for p, c := range l.columns {
		out[p] = make([]float64, (l.n+stride-1)/stride+latticePad)
		for i := 0; i*stride < l.n; i++ {
			out[p][i] = c[i*stride]
		}
	}
	return out
}

func (l *lattice) run(ctx context.Context, ev *model.Evidence) (map[string]*latticeSet, error) {
	prefix := max(len(l.features)-latticeFamily, 0)
	heads := l.heads(prefix)
	families := make([][]*latticeSet, len(heads))
	search := func(ctx context.Context) func(i int) error {
		var rooms []latticeRoom // from family to family
		return func(i int) error {
			f := newFamily(l, heads[i], prefix)
			if f == nil {
				return nil
			}
			f.rooms = rooms
			defer func() { rooms = f.rooms }()
			if err := f.run(ctx); err != nil {
				return err
			}
			families[i] = f.sets
			return nil
		}
	}
	if err := ev.Share(ctx, len(families), search); err != nil {
		return nil, err
	}
	out := map[string]*latticeSet{}
	for _, sets := range families {
		for _, t := range sets {
			if t != nil && t.cuts != nil {
				out[keyOf(t.features)] = t
			}
		}
	}
	return out, nil
}

// heads returns every set of at most most of the first prefix positions, the empty one first: the heads of the
// families. There are few more of them than sets.
func (l *lattice) heads(prefix int) [][]int {
	out := [][]int{nil}
	for i := 0; i < len(out); i++ {
		h := out[i]
		if len(h) == l.most {
			continue
		}
		next := 0
		if len(h) > 0 {
			next = h[len(h)-1] + 1
		}
		for j := next; j < prefix; j++ {
			out = append(out, append(slices.Clone(h), j))
		}
	}
	return out
}

// keyOf is the features of a set as a key of a map.
func keyOf(features []int32) string {
	b := make([]byte, 0, 4*len(features))
	for _, f := range features {
		b = append(b, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
	}
	return string(b)
}

// found measures the set of a lattice, as setSearch.evaluate measures any set.
func (t *latticeSet) found(s *setSearch) (*found, *Summary) {
	set := newSet(s.schema, t.features, s.options.Joint, []part{{features: t.features, factor: t.factor, cuts: t.cuts}})
	table := NewTable(s.classes)
	table.n = t.count
	table.square = float64(s.n) * s.weight[0] * s.weight[0]
	return newFound(set, table, s.classes, s.options.Sets.Rank)
}
