package lift

import (
	"context"
	"math"
	"slices"
)

// family visits its sets depth first for one chunk of records after another.
type family struct {
	*lattice
	head []int // positions in features that all of its sets hold
	from int   // position from which features vary
	sets []*latticeSet
	plan []step

	rooms []latticeRoom // of sets that are finished

	// Of the records of a chunk.
	distance [][]float64 // by depth: squared distances; those of depth 0 are 0
	residual [][][]float64
	z        []float64
	depth    int // of the present step
	bins     [latticeChunk]int16
	marks    [latticeChunk]int16 // -1 in a band, else 0
	words    [latticeChunk / latticePad]uint32
}

// latticeRoom is the memory of the records in bands of a set.
type latticeRoom struct {
	inBand []float64
	ofBin  []int16
}

// step adds a feature to the set of the depth above, or to none.
type step struct {
	depth   int // of the set that is made, from 1
	feature int // position
	inverse float64
	later   []int     // positions whose residuals a deeper set needs
	factor  []float64 // for each of later, l_tj
	set     int       // index in sets, -1 for a set that is not wanted
}

// newFamily plans the sets whose features among the first prefix are those of the head; nil when there are none.
func newFamily(l *lattice, head []int, prefix int) *family {
	f := &family{lattice: l, head: head, from: prefix}
	f.visit(nil, nil, 0)
	if len(f.sets) == 0 {
		return nil
	}
	depth := 0
	for _, s := range f.plan {
		depth = max(depth, s.depth)
	}
	f.distance, f.residual = make([][]float64, depth+1), make([][][]float64, depth+1)
	for d := range f.distance {
		f.distance[d] = make([]float64, latticeChunk)
		f.residual[d] = make([][]float64, len(l.features))
	}
	for _, s := range f.plan {
		for _, t := range s.later {
			if f.residual[s.depth][t] == nil {
				f.residual[s.depth][t] = make([]float64, latticeChunk)
			}
		}
	}
	f.z = make([]float64, latticeChunk)
	return f
}

// visit plans the supersets of a set (positions, with its factor); next is the first position that may be added.
func (f *family) visit(set []int, factor []float64, next int) {
	depth := len(set)
	if depth == f.most {
		return
	}
	var add []int
	if depth < len(f.head) {
		add = f.head[depth : depth+1]
	} else {
		for j := max(next, f.from); j < len(f.features); j++ {
			add = append(add, j)
		}
	}
	for _, j := range add {
		own := append(slices.Clone(set), j)
		rows := f.extend(set, factor, j)
		if rows == nil {
			continue // nor has any superset a regular covariance
		}
		s := step{depth: depth + 1, feature: j, inverse: rows[len(rows)-1], set: -1}
		inside := depth+1 >= len(f.head)
		if inside && depth+1 >= 2 {
			t := &latticeSet{factor: rows, inverse: s.inverse}
			for _, p := range own {
				t.features = append(t.features, f.features[p])
			}
			s.set = len(f.sets)
			f.sets = append(f.sets, t)
		}
		if depth+1 < f.most {
			if !inside {
				s.later = append(s.later, f.head[depth+1:]...)
			}
			for t := max(j+1, f.from); t < len(f.features); t++ {
				s.later = append(s.later, t)
			}
		}
		for _, t := range s.later {
			s.factor = append(s.factor, f.entry(own, rows, t))
		}
		at := len(f.plan)
		f.plan = append(f.plan, s)
		f.visit(own, rows, j+1)
		if len(f.plan) == at+1 && s.set < 0 {
			f.plan = f.plan[:at]
		}
	}
}

// extend returns the factor of the set with position j added; nil when that is singular.
func (f *family) extend(set []int, factor []float64, j int) []float64 {
	k := len(set)
	m := len(f.features)
	row := make([]float64, k+1)
	full := f.cov[j*m+j]
	v := full
	for i := range k {
		ri := factor[i*(i+1)/2:]
		x := f.cov[j*m+set[i]]
		for q := 0; q < i; q++ {
			x -= float64(row[q] * ri[q])
		}
		row[i] = x * ri[i]
	}
	for q := range k {
		v -= float64(row[q] * row[q])
	}
	if !(v > degenerate*full) || math.IsInf(v, 1) {
		return nil
	}
	row[k] = 1 / math.Sqrt(v)
	return append(slices.Clone(factor), row...)
}

// entry returns l_tj of position t for j the last of the set.
func (f *family) entry(set []int, factor []float64, t int) float64 {
	k := len(set)
	m := len(f.features)
	row := make([]float64, k)
	for i := range k {
		ri := factor[i*(i+1)/2:]
		x := f.cov[t*m+set[i]]
		for q := 0; q < i; q++ {
			x -= float64(row[q] * ri[q])
		}
		row[i] = x * ri[i]
	}
	return row[k-1]
}

// run evaluates the sets of the family.
func (f *family) run(ctx context.Context) error {
	// The grid covers the values around the outer cuts; values beyond fall into its first and last bins.
	n := len(f.first[0]) - latticePad
	values := make([][]float64, len(f.sets))
	for i := range values {
		values[i] = make([]float64, 0, n)
	}
	f.walk(f.first, 0, n, func(set, n int) { values[set] = append(values[set], f.distance[f.depth][:n]...) })
	edge := max(int(5*math.Sqrt(float64(n)*float64(f.cells-1))/float64(f.cells)), 1)
	for i, t := range f.sets {
		low, high := max(n/f.cells-edge, 0), min(n-n/f.cells+edge, n-1)
		v := values[i]
		ranks := slices.Compact([]int{low, high})
		selectRanks(v, 0, ranks, 2*22)
		if span := v[high] - v[low]; span > 0 && finite(span) {
			t.scale = (latticeGrid - 2) / span
			t.shift = 1 - v[low]*t.scale
		}
	}
	// The bands hold the cuts of a larger sample, with a margin for their sampling error.
	n = len(f.second[0]) - latticePad
	bins := make([][latticeGrid]uint32, len(f.sets))
	f.walk(f.second, 0, n, func(set, n int) {
		h := &bins[set]
		for _, b := range f.binned(f.sets[set], n)[:n] {
			h[b&(latticeGrid-1)]++
		}
	})
	for i, t := range f.sets {
		if t.bands(&bins[i], n, f.n, f.cells, f.classes) && len(f.rooms) > 0 {
			r := f.rooms[len(f.rooms)-1]
			t.inBand, t.ofBin = r.inBand, r.ofBin
			f.rooms = f.rooms[:len(f.rooms)-1]
		}
	}
	// All records.
	for i, s := range f.spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.walk(f.columns, s.lo, s.hi, func(set, n int) { f.take(f.sets[set], n, s.class) })
		if i+1 == len(f.spans) || f.spans[i+1].class != s.class {
			for _, t := range f.sets {
				if t.above != nil {
					t.close(s.class)
				}
			}
		}
	}
	for _, t := range f.sets {
		f.finish(t)
	}
	return nil
}

// walk computes the squared distances of records lo to hi of the columns for every set, in the order of the plan, and
// calls use for each chunk of n records of a set: its distances are those of the present depth.
func (f *family) walk(columns [][]float64, lo, hi int, use func(set, n int)) {
	for ; lo < hi; lo += latticeChunk {
		n := min(latticeChunk, hi-lo)
		padded := (n + latticePad - 1) &^ (latticePad - 1)
		residual := func(depth, feature int) []float64 {
			if depth == 0 {
				return columns[feature][lo : lo+padded]
			}
			return f.residual[depth][feature][:padded]
		}
		for i := range f.plan {
			s := &f.plan[i]
			f.depth = s.depth
			z := f.z[:padded]
			standardise(z, f.distance[s.depth], f.distance[s.depth-1], residual(s.depth-1, s.feature), s.inverse)
			for q, t := range s.later {
				project(f.residual[s.depth][t], residual(s.depth-1, t), z, s.factor[q])
			}
			if s.set >= 0 {
				use(s.set, n)
			}
		}
	}
}

// binned returns the bins of n distances of the present depth, padded.
func (f *family) binned(t *latticeSet, n int) []int16 {
	bins := f.bins[:(n+latticePad-1)&^(latticePad-1)]
	binsOf(bins, f.distance[f.depth], t.scale, t.shift)
	return bins
}

// take counts n records of one class by the ends of the bands, and keeps those in bands.
func (f *family) take(t *latticeSet, n, class int) {
	if t.above == nil {
		return
	}
	bins := f.binned(t, n)
	for i := n; i < len(bins); i++ {
		bins[i] = -1 // in no band and above none
	}
	marks := f.marks[:len(bins)]
	clear(marks)
	for b, e := range t.band {
		from, beyond := countBand(marks, bins, e)
		t.above[2*b*f.classes+class] += from
		t.above[(2*b+1)*f.classes+class] += beyond
	}
	words := f.words[:len(bins)/latticePad]
	markWords(words, marks)
	t.keep(words, f.distance[f.depth], bins)
}
