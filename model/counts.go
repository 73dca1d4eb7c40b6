package model

// classCounts are the weights of the labelled records of each class, which nothing forgets.
type classCounts struct {
	sum    []float64 // by class
	square float64   // sum of the squared weights
}

func newClassCounts(classes int) classCounts { return classCounts{sum: make([]float64, classes)} }

// add counts a record and reports whether it is the first of its class.
func (c *classCounts) add(class int32, weight float64) (first bool) {
	first = c.sum[class] == 0
	c.sum[class] += weight
	c.square += weight * weight
	return first
}

// seen is the number of classes with records.
func (c *classCounts) seen() (n int) {
	for _, w := range c.sum {
		if w > 0 {
			n++
		}
	}
	return n
}

// rates writes the share of each class into prob, with one pseudo-record of each class (Unit), and returns the class of
// the largest share.
func (c *classCounts) rates(prob []float64) (best int32) {
	var n float64
	for _, w := range c.sum {
		n += w
	}
	unit := Unit(n, c.square)
	for i := range prob {
		prob[i] = (c.sum[i] + unit) / (n + unit*float64(len(prob)))
		if prob[i] > prob[best] {
			best = int32(i)
		}
	}
	return best
}
