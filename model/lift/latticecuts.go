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

	inverse float64 // of the last diagonal entry of the Cholesky factor
	// The grid: bin floor(d^2 scale + shift), and for each bin the counter of its stretch, times 2, plus 1 in a band.
	scale, shift float64
	table        [latticeGrid]uint16
	counter      []uint32 // stretches x classes
	// The squared distances and the classes of the records in bands.
	inBand []float64
	ofBand []uint16
}

// bin returns the bin of a squared distance.
func (t *latticeSet) bin(v float64) int {
	x := v*t.scale + t.shift
	if x > latticeGrid {
		x = latticeGrid
	}
	i := int(x)
	if i < 0 {
		i = 0
	}
	if i > latticeGrid-1 {
		i = latticeGrid - 1
	}
	return i
}

// bands marks, for every cut, the bins in which it lies by a sample of n of all records, and numbers the stretches
// between and inside them. A grid that does not tell the cuts apart leaves no counters.
func (t *latticeSet) bands(bins *[latticeGrid]uint32, n, all, cells, classes int) {
	if t.scale == 0 {
		return
	}
	stretch, bin, below := 0, 0, 0.0
	for c := 1; c < cells; c++ {
		p := float64(c) / float64(cells)
		sd := math.Sqrt(float64(n)*p*(1-p)) * latticeDeviations
		if n == all {
			sd = 1
		}
		low, high := p*float64(n)-sd-1, p*float64(n)+sd+1
		for bin < latticeGrid && below+float64(bins[bin]) < low {
			t.table[bin] = uint16(stretch * classes * 2)
			below += float64(bins[bin])
			bin++
		}
		// The first and the last bin are open, and two cuts in one band would not be told apart.
		if bin == 0 || stretch > 0 && t.table[bin-1]&1 == 1 {
			t.scale = 0
			return
		}
		stretch++
		for bin < latticeGrid-1 && below < high {
			t.table[bin] = uint16(stretch*classes*2 + 1)
			below += float64(bins[bin])
			bin++
		}
		if bin == latticeGrid-1 {
			t.scale = 0
			return
		}
		stretch++
	}
	for ; bin < latticeGrid; bin++ {
		t.table[bin] = uint16(stretch * classes * 2)
	}
	t.counter = make([]uint32, (2*cells-1)*classes)
	kept := 0
	for b, c := range bins {
		if t.table[b]&1 == 1 {
			kept += int(c)
		}
	}
	room := int(1.05*float64(kept)/float64(n)*float64(all)) + 2*latticeChunk
	t.inBand, t.ofBand = make([]float64, 0, room), make([]uint16, 0, room)
}

// finish finds the cuts among the records in bands and counts the classes by cell. It releases these records and the
// counters.
func (t *latticeSet) finish(l *lattice, work *latticeWork) {
	inBand, ofBand, counter := t.inBand, t.ofBand, t.counter
	t.inBand, t.ofBand, t.counter = nil, nil, nil
	if counter == nil {
		return
	}
	bins, at := work.binned(t, inBand, ofBand, l.classes)
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
	var near [latticeGrid]bool
	below, bin := 0, 0
	for b := range edges {
		e := &edges[b]
		stretch := counter[2*b*l.classes : (2*b+1)*l.classes]
		add(b, stretch)
		below += records(stretch)
		place := float64(l.n-1) * float64(b+1) / float64(l.cells)
		rank := int(place)
		e.share = place - float64(rank)
		mark := uint16((2*b+1)*l.classes*2 + 1)
		for bin < latticeGrid && t.table[bin] != mark {
			bin++
		}
		state := 0 // 0 below the lower rank, 1 among the ranks, 2 above
		if rank < below {
			return
		}
		for ; bin < latticeGrid && t.table[bin] == mark; bin++ {
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
	for i, b := range at {
		if near[b] {
			for q := range edges {
				if e := &edges[q]; b >= e.low && b <= e.high {
					e.value, e.class = append(e.value, inBand[i]), append(e.class, ofBand[i])
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
	add(l.cells-1, counter[(2*l.cells-2)*l.classes:])
	if l.weight != 1 {
		for i := range count {
			count[i] *= l.weight
		}
	}
	t.cuts, t.count = cuts, count
}

// latticeWork is the memory that finish uses again from set to set.
type latticeWork struct {
	bins []uint32
	at   []uint16
}

// binned counts the records in bands by bin and class, and returns the bin of each, too.
func (w *latticeWork) binned(t *latticeSet, value []float64, class []uint16, classes int) (bins []uint32, at []uint16) {
	if need := latticeGrid * classes; cap(w.bins) < need {
		w.bins = make([]uint32, need)
	}
	bins = w.bins[:latticeGrid*classes]
	clear(bins)
	if cap(w.at) < len(value) {
		w.at = make([]uint16, len(value)+len(value)/4)
	}
	at = w.at[:len(value)]
	for i, v := range value {
		b := t.bin(v)
		at[i] = uint16(b)
		bins[b*classes+int(class[i])]++
	}
	return bins, at
}
