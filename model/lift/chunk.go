package lift

// The steps of a family on a chunk of records. Each has a plain form, which holds on every machine, and on amd64 with
// AVX2 one that gives the same bits: products are rounded before they are added. Lengths are multiples of latticePad.

// standardisePlain computes z = r inverse and d = up + z^2.
func standardisePlain(z, d, up, r []float64, inverse float64) {
	d, up, r = d[:len(z)], up[:len(z)], r[:len(z)]
	for k, v := range r {
		v *= inverse
		z[k] = v
		d[k] = up[k] + float64(v*v)
	}
}

// projectPlain computes to = from - l z.
func projectPlain(to, from, z []float64, l float64) {
	to, from = to[:len(z)], from[:len(z)]
	for k, v := range z {
		to[k] = from[k] - float64(l*v)
	}
}

// binsOfPlain computes the bins floor(d scale + shift), those outside the grid put into its first or last bin, NaN into
// the first. They do not fall as d grows.
func binsOfPlain(bins []int16, d []float64, scale, shift float64) {
	for i, v := range d[:len(bins)] {
		bins[i] = 0
		if x := float64(v*scale) + shift; x >= 0 {
			bins[i] = int16(min(x, latticeGrid-1))
		}
	}
}

// countBandPlain returns the number of bins from the band on, and the number of those beyond it, and marks the bins in
// the band by -1. There are at most latticeChunk of them, from -1 to latticeGrid-1.
func countBandPlain(marks, bins []int16, e band) (from, beyond uint32) {
	for i, b := range bins {
		if b >= e.low {
			from++
			if b > e.high {
				beyond++
			} else {
				marks[i] = -1
			}
		}
	}
	return from, beyond
}

// markWordsPlain packs the signs of marks, latticePad to a word, the first one lowest.
func markWordsPlain(words []uint32, marks []int16) {
	for i := range words {
		w := uint32(0)
		for k, m := range marks[i*latticePad : (i+1)*latticePad] {
			w |= uint32(uint16(m)>>15) << k
		}
		words[i] = w
	}
}
