package lift

import (
	"math"
	"math/bits"
	"slices"
)

// latticeSet holds the figures of one set of continuous features: the factor of its covariance, the cuts of its
// distance, and the counts of the classes by cell. A set without cuts must be evaluated by itself.
type latticeSet struct {
	features []int32
	factor   []float64
	cuts     []float64
	count    []float64 // cells x classes

	inverse      float64 // of the last diagonal entry of the Cholesky factor
	scale, shift float64 // of the grid: bin floor(d^2 scale + shift)
	band         []band  // by cut
	// The records from each band on, and those beyond it, by class; nil where the grid does not tell the cuts apart.
	above []uint32
	// The squared distances and the bins of the records in bands, and the end of those of each class, 0 for none.
	inBand []float64
	ofBin  []int16
	until  []int
}

// band is the bins from low to high, among which a cut lies.
type band struct{ low, high int16 }

// bands finds, for every cut, the bins in which it lies by a sample of n of all records; false where the grid does not
// tell the cuts apart.
func (t *latticeSet) bands(bins *[latticeGrid]uint32, n, all, cells, classes int) bool {
	if t.scale == 0 {
		return false
	}
	bin, below := 0, 0.0
	for c := 1; c < cells; c++ {
		p := float64(c) / float64(cells)
		sd := math.Sqrt(float64(n)*p*(1-p)) * latticeDeviations
		if n == all {
			sd = 1
		}
		low, high := p*float64(n)-sd-1, p*float64(n)+sd+1
		for bin < latticeGrid && below+float64(bins[bin]) < low {
			below += float64(bins[bin])
			bin++
		}
		// The first and the last bin are open, and two cuts in one band would not be told apart.
		if bin == 0 || c > 1 && bin-1 == int(t.band[c-2].high) {
			return false
		}
		e := band{low: int16(bin)}
		for bin < latticeGrid-1 && below < high {
			below += float64(bins[bin])
			bin++
		}
		if bin == latticeGrid-1 {
			return false
		}
		e.high = int16(bin - 1)
		t.band = append(t.band, e)
	}
	t.above = make([]uint32, 2*(cells-1)*classes)
	t.until = make([]int, classes)
	return true
}

// keep adds the records of a chunk whose marks are set, with their squared distances and bins.
func (t *latticeSet) keep(words []uint32, d []float64, bins []int16) {
	at := len(t.inBand)
	t.inBand, t.ofBin = slices.Grow(t.inBand, len(bins)), slices.Grow(t.ofBin, len(bins))
	value, bin := t.inBand[at:at+len(bins)], t.ofBin[at:at+len(bins)]
	d = d[:len(bins)]
	k := 0
	for i, m := range words {
		for ; m != 0; m &= m - 1 {
			r := i*latticePad + bits.TrailingZeros32(m)
			value[k], bin[k] = d[r], bins[r]
			k++
		}
	}
	t.inBand, t.ofBin = t.inBand[:at+k], t.ofBin[:at+k]
}

// close ends the records in bands of a class. The rest of their last block has no bin.
func (t *latticeSet) close(class int) {
	for len(t.ofBin)%latticePad != 0 {
		t.inBand, t.ofBin = append(t.inBand, 0), append(t.ofBin, -1)
	}
	t.until[class] = len(t.ofBin)
}

// edge is the bins that hold the two ranks beside a cut, which lies between them.
type edge struct {
	band
	rank  int     // of the lower one in the records of these bins
	share float64 // of the way from the lower to the upper one
	value []float64
	class []uint16
}

// edges finds the ranks beside each cut among the bins of the records in bands; nil when a cut lies outside its band.
func (t *latticeSet) edges(l *lattice) []edge {
	var in [latticeGrid]int
	for _, b := range t.ofBin {
		in[b&(latticeGrid-1)]++ // records without a bin fall into the last one, which is in no band
	}
	edges := make([]edge, l.cells-1)
	for b := range edges {
		e := &edges[b]
		below := l.n
		for _, c := range t.above[2*b*l.classes : (2*b+1)*l.classes] {
			below -= int(c)
		}
		place := float64(l.n-1) * float64(b+1) / float64(l.cells)
		rank := int(place)
		if rank < below {
			return nil
		}
		e.share = place - float64(rank)
		bin, last := t.band[b].low, t.band[b].high
		for ; bin <= last && below+in[bin] <= rank; bin++ {
			below += in[bin]
		}
		e.low, e.rank = bin, rank-below
		for ; bin <= last && below+in[bin] <= rank+1; bin++ {
			below += in[bin]
		}
		if e.high = bin; bin > last {
			return nil
		}
	}
	return edges
}

// narrow makes the bands those of the edges: it counts the records from each edge on and those beyond it, and gives the
// edges their records.
func (f *family) narrow(t *latticeSet, edges []edge) {
	lo := 0
	for y, hi := range t.until {
		if hi == 0 {
			continue // no record of the class is in a band
		}
		// A record in bands that lies from a bin on lies there or, of the bands from that of the bin on, before it.
		higher := uint32(0)
		for b := len(edges) - 1; b >= 0; b-- {
			from, beyond := &t.above[2*b*f.classes+y], &t.above[(2*b+1)*f.classes+y]
			higher += *from - *beyond
			*beyond = *from - higher
			*from = *beyond
		}
		for ; lo < hi; lo += latticeChunk {
			bins := t.ofBin[lo:min(lo+latticeChunk, hi)]
			marks := f.marks[:len(bins)]
			clear(marks)
			for b := range edges {
				from, beyond := countBand(marks, bins, edges[b].band)
				t.above[2*b*f.classes+y] += from
				t.above[(2*b+1)*f.classes+y] += beyond
			}
			words := f.words[:len(bins)/latticePad]
			markWords(words, marks)
			for i, m := range words {
				for ; m != 0; m &= m - 1 {
					r := i*latticePad + bits.TrailingZeros32(m)
					b := 0
					for bins[r] > edges[b].high {
						b++
					}
					e := &edges[b]
					e.value, e.class = append(e.value, t.inBand[lo+r]), append(e.class, uint16(y))
				}
			}
		}
		lo = hi
	}
}

// finish finds the cuts among the records in bands and counts the classes by cell. It releases these records and the
// counters.
func (f *family) finish(t *latticeSet) {
	if t.above == nil {
		return
	}
	edges := t.edges(f.lattice)
	if edges != nil {
		f.narrow(t, edges)
		t.count, t.cuts = t.cells(f.lattice, edges)
	}
	f.rooms = append(f.rooms, latticeRoom{t.inBand[:0], t.ofBin[:0]})
	t.inBand, t.ofBin, t.above, t.until = nil, nil, nil, nil
}

// cells returns the cuts and the records of each class by cell; no cuts when two of them are equal.
func (t *latticeSet) cells(l *lattice, edges []edge) (count, cuts []float64) {
	count = make([]float64, l.cells*l.classes)
	for b := range l.cells {
		for y := range l.classes {
			n := l.size[y]
			if b > 0 {
				n = t.above[(2*b-1)*l.classes+y]
			}
			if b < len(edges) {
				n -= t.above[2*b*l.classes+y]
			}
			count[b*l.classes+y] = float64(n)
		}
	}
	for b := range edges {
		e := &edges[b]
		v := slices.Clone(e.value)
		selectRanks(v, 0, []int{e.rank, e.rank + 1}, 2*22)
		low, high := math.Sqrt(v[e.rank]), math.Sqrt(v[e.rank+1])
		cut := low
		if e.share > 0 {
			cut += e.share * (high - low)
		}
		if b > 0 && cut <= cuts[b-1] {
			return nil, nil
		}
		cuts = append(cuts, cut)
		for i, v := range e.value {
			cell := b
			if math.Sqrt(v) > cut {
				cell++
			}
			count[cell*l.classes+int(e.class[i])]++
		}
	}
	if l.weight != 1 {
		for i := range count {
			count[i] *= l.weight
		}
	}
	return count, cuts
}
