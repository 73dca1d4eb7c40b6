package propensity

// block is a run of cells or knots that an isotonic regression has pooled.
type block struct {
	a, b float64 // weights of the positive class and of the rest; or weight and weighted sum
	n    int
}

// isotonic is an isotonic regression in the making: its blocks from below, by the pool-adjacent-violators algorithm.
type isotonic []block

// add appends a block and merges backwards while above says that the one before lies above the one behind.
func (p *isotonic) add(b block, above func(x, y *block) bool) {
	s := *p
	for len(s) > 0 && above(&s[len(s)-1], &b) {
		last := s[len(s)-1]
		s = s[:len(s)-1]
		b = block{last.a + b.a, last.b + b.b, last.n + b.n}
	}
	*p = append(s, b)
}

// of returns the block in which a cell or knot lies, by its number from below.
func (p isotonic) of(at int) block {
	for _, b := range p {
		if at < b.n {
			return b
		}
		at -= b.n
	}
	return block{a: 1, b: 1}
}

// rateAbove reports whether the rate a/(a+b) of one block lies above that of another.
func rateAbove(x, y *block) bool { return x.a*y.b > y.a*x.b }

// meanAbove reports whether the mean b/a of one block lies above that of another.
func meanAbove(x, y *block) bool { return x.b*y.a > y.b*x.a }
