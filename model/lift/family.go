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

	distance [][]float64 // by depth: squared distances
	residual [][][]float64
	z        []float64
	row      []uint16 // classes of the chunk
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
	sample := func(most int) (columns [][]float64, n int) {
		stride := max((f.n+most-1)/most, 1)
		n = (f.n + stride - 1) / stride
		columns = make([][]float64, len(f.features))
		for i, p := range f.features {
			if i < f.from && !slices.Contains(f.head, i) {
				continue // none of the sets holds it
			}
			columns[i] = make([]float64, n)
			for r := range n {
				columns[i][r] = f.columns[p][r*stride]
			}
		}
		return columns, n
	}
	// The grid covers the values around the outer cuts; values beyond fall into its first and last bins.
	first, n := sample(latticeFirst)
	values := make([][]float64, len(f.sets))
	for i := range values {
		values[i] = make([]float64, 0, n)
	}
	f.walk(first, 0, n, func(set int, d []float64) { values[set] = append(values[set], d...) })
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
	second, n := sample(latticeSample)
	bins := make([][latticeGrid]uint32, len(f.sets))
	f.walk(second, 0, n, func(set int, d []float64) {
		t, h := f.sets[set], &bins[set]
		for _, v := range d {
			h[t.bin(v)]++
		}
	})
	for i, t := range f.sets {
		t.bands(&bins[i], n, f.n, f.cells, f.classes)
	}
	// All records.
	for lo := 0; lo < f.n; lo += latticeChunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+latticeChunk, f.n)
		f.row = f.class[lo:hi]
		f.walk(nil, lo, hi, f.take)
	}
	var work latticeWork
	for _, t := range f.sets {
		t.finish(f.lattice, &work)
	}
	return nil
}

// walk computes the squared distances of records lo to hi for every set, in the order of the plan, and hands them to
// use. The columns are those of the lattice, or those given, by position.
func (f *family) walk(columns [][]float64, lo, hi int, use func(set int, d []float64)) {
	for ; lo < hi; lo += latticeChunk {
		n := min(latticeChunk, hi-lo)
		for i := range f.plan {
			s := &f.plan[i]
			var r []float64
			switch {
			case s.depth > 1:
				r = f.residual[s.depth-1][s.feature][:n]
			case columns != nil:
				r = columns[s.feature][lo : lo+n]
			default:
				r = f.columns[f.features[s.feature]][lo : lo+n]
			}
			z, d := f.z[:n], f.distance[s.depth][:n]
			if s.depth == 1 {
				for k, v := range r {
					v *= s.inverse
					z[k] = v
					d[k] = float64(v * v)
				}
			} else {
				up := f.distance[s.depth-1][:n]
				for k, v := range r {
					v *= s.inverse
					z[k] = v
					d[k] = up[k] + float64(v*v)
				}
			}
			for q, t := range s.later {
				var from []float64
				switch {
				case s.depth > 1:
					from = f.residual[s.depth-1][t][:n]
				case columns != nil:
					from = columns[t][lo : lo+n]
				default:
					from = f.columns[f.features[t]][lo : lo+n]
				}
				to, l := f.residual[s.depth][t][:n], s.factor[q]
				for k, v := range z {
					to[k] = from[k] - float64(l*v)
				}
			}
			if s.set >= 0 {
				use(s.set, d)
			}
		}
	}
}

// take counts a chunk of records by stretch and class, and keeps those in bands.
func (f *family) take(set int, d []float64) {
	t := f.sets[set]
	if t.counter == nil {
		return
	}
	at := len(t.inBand)
	t.inBand = slices.Grow(t.inBand, len(d))
	t.ofBand = slices.Grow(t.ofBand, len(d))
	keep, class := t.inBand[at:at+len(d)], t.ofBand[at:at+len(d)]
	counter, scale, shift := t.counter, t.scale, t.shift
	k := 0
	row := f.row[:len(d)]
	for i, v := range d {
		x := v*scale + shift
		if x > latticeGrid {
			x = latticeGrid
		}
		b := int(x)
		if b < 0 {
			b = 0
		}
		if b > latticeGrid-1 {
			b = latticeGrid - 1
		}
		e := t.table[b&(latticeGrid-1)]
		y := row[i]
		counter[int(e>>1)+int(y)]++
		keep[k] = v
		class[k] = y
		k += int(e & 1)
	}
	t.inBand, t.ofBand = t.inBand[:at+k], t.ofBand[:at+k]
}
