package lift

import "slices"

// caseSet holds the complete cases of one set of positions, all and by class, and the fewest complete cases that an
// extension by later positions can have. All profiles over these positions share it.
type caseSet struct {
	n, least   float64
	ny, leastY []float64
	next       []*caseSet // by position
}

// cases counts the complete cases of a set of positions.
func (b *bitMiner) cases(positions []int32) *caseSet {
	c := &caseSet{}
	some := false
	fill := func(p int) {
		if b.complete[p] == nil {
			return
		}
		if !some {
			copy(b.work, b.complete[p])
			some = true
			return
		}
		for i, v := range b.complete[p] {
			b.work[i] &= v
		}
	}
	count := func() (n float64, ny []float64) {
		ny = make([]float64, b.classes)
		for y := range ny {
			if some {
				ny[y] = float64(ones(b.work[b.from[y]:b.from[y+1]]))
			} else {
				ny[y] = float64(b.members(y))
			}
			n += ny[y]
		}
		return n, ny
	}
	last := -1
	for _, p := range positions {
		fill(int(p))
		last = int(p)
	}
	c.n, c.ny = count()
	c.least, c.leastY = c.n, c.ny
	if slices.ContainsFunc(b.complete[last+1:], func(w []uint64) bool { return w != nil }) {
		for p := last + 1; p < len(b.complete); p++ {
			fill(p)
		}
		c.least, c.leastY = count()
	}
	return c
}

// members counts the searched records of a class.
func (b *bitMiner) members(y int) (n int) {
	if b.sets != nil {
		return int(b.sets.ny[y])
	}
	for r := 0; r < b.n; r++ {
		if int(b.class[r]) == y {
			n++
		}
	}
	return n
}

// of returns the caseSet of the positions.
func (b *bitMiner) of(positions []int32) *caseSet {
	c := b.sets
	for i, p := range positions {
		if c.next == nil {
			c.next = make([]*caseSet, len(b.item))
		}
		if c.next[p] == nil {
			c.next[p] = b.cases(positions[:i+1])
		}
		c = c.next[p]
	}
	return c
}
