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

// rates writes the share of each class into prob, with pseudo-records of each class, and returns the class of the
// largest share:
//
//	p_c = (n_c + u a_c) / (sum n + u sum a)
//
// where n_c is the weight of the records of the class, a_c its pseudo-records (1 for each class where pseudo is nil), u
// their weight (Unit). Without records they are the rates of pseudo alone.
func (c *classCounts) rates(pseudo, prob []float64) (best int32) {
	n, all := 0., float64(len(prob))
	for _, w := range c.sum {
		n += w
	}
	if pseudo != nil {
		all = 0
		for _, a := range pseudo {
			all += a
		}
	}
	unit := Unit(n, c.square)
	for i := range prob {
		a := 1.
		if pseudo != nil {
			a = pseudo[i]
		}
		prob[i] = (c.sum[i] + unit*a) / (n + unit*all)
		if prob[i] > prob[best] {
			best = int32(i)
		}
	}
	return best
}
