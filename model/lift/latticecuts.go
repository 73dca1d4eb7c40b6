package lift

import (
	"math"
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
	// The squared distances and the bins of the records in bands, and the end of those of each class.
	inBand []float64
	ofBin  []int16
	until  []int
}

// band is the bins from low to high, among which a cut lies.
type band struct{ low, high int16 }

// bands finds, for every cut, the bins in which it lies by a sample of n of all records.
func (t *latticeSet) bands(bins *[latticeGrid]uint32, n, all, cells, classes int) {
	if t.scale == 0 {
		return
	}
	bin, below, kept := 0, 0.0, 0.0
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
			return
		}
		e := band{low: int16(bin)}
		for bin < latticeGrid-1 && below < high {
			below += float64(bins[bin])
			kept += float64(bins[bin])
			bin++
		}
		if bin == latticeGrid-1 {
			return
		}
		e.high = int16(bin - 1)
		t.band = append(t.band, e)
	}
	t.above = make([]uint32, 2*(cells-1)*classes)
	t.until = make([]int, classes)
	room := int(1.05*kept/float64(n)*float64(all)) + 2*latticeChunk
	t.inBand, t.ofBin = make([]float64, 0, room), make([]int16, 0, room)
}

// finish finds the cuts among the records in bands and counts the classes by cell. It releases these records and the
// counters.
func (t *latticeSet) finish(l *lattice, work *latticeWork) {
	inBand, ofBin, above := t.inBand, t.ofBin, t.above
	t.inBand, t.ofBin, t.above = nil, nil, nil
	if above == nil {
		return
	}
	bins := work.count(t, ofBin, l.classes)
	records := func(part []uint32) (n int) {
		for _, c := range part {
			n += int(c)
		}
		return n
	}
	// In each band the bins that hold the two ranks beside the cut.
	type edge struct {
		low, high uint16  // bins
		share     float64 // of the way from the lower to the upper rank
		rank      int     // in the records of these bins
		value     []float64
		class     []uint16
	}
	edges := make([]edge, l.cells-1)
	count := make([]float64, l.cells*l.classes)
	add := func(cell int, part []uint32) {
		for y, c := range part {
			count[cell*l.classes+y] += float64(c)
		}
	}
	// between returns the records of each class from behind band b-1 to before band b.
	stretch := make([]uint32, l.classes)
	between := func(b int) []uint32 {
		for y := range stretch {
			stretch[y] = 0
			if b == 0 {
				stretch[y] = l.size[y]
			} else {
				stretch[y] = above[(2*b-1)*l.classes+y]
			}
			if b < len(edges) {
				stretch[y] -= above[2*b*l.classes+y]
			}
		}
		return stretch
	}
	var near [latticeGrid]bool
	below := 0
	for b := range edges {
		e := &edges[b]
		add(b, between(b))
		below += records(stretch)
		place := float64(l.n-1) * float64(b+1) / float64(l.cells)
		rank := int(place)
		e.share = place - float64(rank)
		state := 0 // 0 below the lower rank, 1 among the ranks, 2 above
		if rank < below {
			return
		}
		for bin := int(t.band[b].low); bin <= int(t.band[b].high); bin++ {
			part := bins[bin*l.classes : (bin+1)*l.classes]
			n := records(part)
			if state == 0 && rank < below+n {
				state, e.low, e.rank = 1, uint16(bin), rank-below
			}
			switch state {
			case 0:
				add(b, part)
			case 1:
				near[bin] = true
				e.high = uint16(bin)
				if rank+1 < below+n {
					state = 2
				}
			default:
				add(b+1, part)
			}
			below += n
		}
		if state != 2 {
			return
		}
	}
	i := 0
	for y, until := range t.until {
		for ; i < until; i++ {
			if b := uint16(ofBin[i]); near[b&(latticeGrid-1)] {
				for q := range edges {
					if e := &edges[q]; b >= e.low && b <= e.high {
						e.value, e.class = append(e.value, inBand[i]), append(e.class, uint16(y))
					}
				}
			}
		}
	}
	cuts := make([]float64, 0, l.cells-1)
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
			return
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
	add(l.cells-1, between(l.cells-1))
	if l.weight != 1 {
		for i := range count {
			count[i] *= l.weight
		}
	}
	t.cuts, t.count = cuts, count
}

// latticeWork is the memory that finish uses again from set to set.
type latticeWork struct{ bins []uint32 }

// count counts the records in bands by bin and class.
func (w *latticeWork) count(t *latticeSet, ofBin []int16, classes int) []uint32 {
	if w.bins == nil {
		w.bins = make([]uint32, latticeGrid*classes)
	}
	clear(w.bins)
	i := 0
	for y, until := range t.until {
		for ; i < until; i++ {
			w.bins[int(ofBin[i])*classes+y]++
		}
	}
	return w.bins
}
