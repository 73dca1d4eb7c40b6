package local

// prototypes are labelled records, column by column.
type prototypes struct {
	class   []int32
	columns []column
	// prior is the share of each class among the prototypes.
	prior []float64
	// clock is Example.Clock of each; empty in a part of the first format.
	clock []float64
	// beside holds, prototype by prototype, the relevance of each feature there beside the others, in nats.
	beside []float32

	places []int32 // of each prototype in all columns
	stride int     // of the prototypes in places
	// The cells of the columns are packed, or in lanes where package scan seeks the neighbours.
	scanned bool
	lanes   lanes
	packs   []pack
	exact   []bool // whether the cells of a column hold one place each
}

// neighbour is a prototype at a distance.
type neighbour struct {
	distance int64
	index    int32
}

// beyond is farther than any prototype: terms are below 2^52, as 2^38 times a weight of 2^14, and features below 2^10.
const beyond = int64(1) << 62

// place puts a prototype at distance d into the n nearest so far, at the end of those at the same distance.
func place(near []neighbour, n int, d int64, index int32) int {
	at := n
	if n < len(near) {
		n++
	} else {
		at--
	}
	for at > 0 && near[at-1].distance > d {
		near[at] = near[at-1]
		at--
	}
	near[at] = neighbour{d, index}
	return n
}

// nearest fills near, from its start, with the closest prototypes, nearest first, ties by the lower index. It leaves
// out prototypes at beyond or farther, and returns the number found.
func nearest(sum []int64, near []neighbour) int {
	n, worst := 0, beyond
	for k, d := range sum {
		if d < worst {
			if n = place(near, n, d, int32(k)); n == len(near) {
				worst = near[n-1].distance
			}
		}
	}
	return n
}

// block is the number of prototypes that their closest one represents at first.
const block = 8

// blocks fills low with the least of every block of sum, whose length is a multiple of block.
func blocks(sum, low []int64) {
	for b := range low {
		s := sum[b*block : b*block+block : b*block+block]
		low[b] = min(min(s[0], s[1], s[2], s[3]), min(s[4], s[5], s[6], s[7]))
	}
}

// find fills w.near with the prototypes closest by w.terms, nearest first, ties by the lower index, leaving out skip
// (negative = none), and w.ties with the others at the distance of the last one. It returns the number in w.near. The
// sums of w.tables are at most those of the terms; exact states that they are equal.
func (w *scratch) find(exact bool, skip int) int {
	w.ties = w.ties[:0]
	sum := w.sum[:w.prototypes]
	lookUp(w.tables, w.codes, sum)
	if skip >= 0 {
		sum[skip] = beyond
	}
	blocks(w.sum, w.low)
	// The K-th of the nearest is no farther than the farthest of K others.
	bound := beyond - 1
	if n := nearest(w.low, w.near); n == len(w.near) {
		bound = 0
		for _, x := range w.near {
			if exact {
				bound = x.distance
				continue
			}
			k := x.index * block
			for w.sum[k] != x.distance {
				k++
			}
			bound = max(bound, w.to(k, beyond))
		}
	}
	left := w.left[:0]
	for b, low := range w.low {
		if low > bound {
			continue
		}
		for k := b * block; k < b*block+block; k++ {
			if w.sum[k] <= bound {
				left = append(left, int32(k))
			}
		}
	}
	if !exact && len(left) > len(sum)/4 {
		distances(w.terms, sum)
		correct(w.terms, sum)
		if skip >= 0 {
			sum[skip] = beyond
		}
		n := nearest(sum, w.near)
		if n == len(w.near) {
			last := w.near[n-1]
			for k := int(last.index) + 1; k < len(sum); k++ {
				if sum[k] == last.distance {
					w.ties = append(w.ties, int32(k))
				}
			}
		}
		return n
	}
	n, worst := 0, beyond
	for _, k := range left {
		d := w.sum[k]
		if d > worst {
			continue
		}
		if !exact {
			if d = w.to(k, worst+1); d > worst {
				continue
			}
		}
		n, worst = w.take(n, worst, k, d)
	}
	return n
}

// take puts a prototype at distance d, which is at most worst, among the n of w.near and w.ties. It returns n anew, and
// the largest distance that is still taken. The prototypes come by index.
func (w *scratch) take(n int, worst int64, k int32, d int64) (int, int64) {
	if d == worst {
		w.ties = append(w.ties, k)
		return n, worst
	}
	last := w.near[len(w.near)-1]
	full := n == len(w.near)
	if n = place(w.near, n, d, k); n < len(w.near) {
		return n, worst
	}
	worst = w.near[n-1].distance
	switch {
	case !full:
	case worst == last.distance:
		w.ties = append(w.ties, last.index)
	default:
		w.ties = w.ties[:0]
	}
	return n, worst
}

// settle fills w.near and w.ties from prototypes, by index, and their distances.
func (w *scratch) settle(list []int32, distance []int64) int {
	n, worst := 0, beyond
	for i, k := range list {
		if d := distance[i]; d <= worst {
			n, worst = w.take(n, worst, k, d)
		}
	}
	return n
}

// to is the distance of prototype k. It stops once the distance reaches limit.
func (w *scratch) to(k int32, limit int64) (d int64) {
	places := w.places[int(k)*w.stride:][:len(w.all)]
	for i := range w.terms {
		t := &w.terms[i]
		if v := places[t.feature]; v != absent {
			x := float64(v) - t.q
			d += min(int64(x*x), t.cap) * t.weight
		} else {
			d += t.expected * t.weight
		}
		if d >= limit {
			break
		}
	}
	return d
}
