package trees

import (
	"cmp"
	"slices"
)

// shape bounds a tree: leaves, least number of records and curvature of a leaf, ridge and factor of its value.
type shape struct {
	leaves    int
	least     int
	curvature float64
	ridge     float64
	rate      float64
}

// grown is a tree over bins: as it is fitted. left is 0 of a leaf.
type grown struct {
	margin int
	nodes  []split
}

// split is a node of a grown tree.
type split struct {
	column      int32
	bin         uint8  // numbers of bins up to this one go left
	mask        uint64 // levels of these bins, less 1, go left
	missingLeft bool
	left, right int32
	value       float64
	weight      float64 // of its records
	class       float64 // weight of those of the margin's class
}

// cell holds the sums of one bin.
type cell struct {
	g, h int64
	n    int32
}

// leaf is a node that may still be split.
type leaf struct {
	node       int32
	rows       []int32
	cells      []cell // of all columns
	g, h       int64
	best       split
	gain       float64
	splittable bool
}

// grower grows the trees of an ensemble; it holds the working memory.
type grower struct {
	*ensemble
	shape
	at    []int // of each column in cells
	cells int
	spare [][]cell
	order []int32 // bins of levels, sorted
}

func newGrower(e *ensemble, s shape) *grower {
	x := &grower{ensemble: e, shape: s}
	for k := range e.columns {
		x.at = append(x.at, x.cells)
		x.cells += e.columns[k].bins
	}
	return x
}

// grow adds a tree for a margin at the present gradients, leaf by leaf, that of the largest gain first (METHOD.md 3),
// and moves z. It returns nil where nothing can be split.
func (x *grower) grow(margin int, rows []int32) *grown {
	n := x.len()
	g, h := x.g[margin*n:(margin+1)*n], x.h[margin*n:(margin+1)*n]
	t := &grown{margin: margin, nodes: make([]split, 1, 2*x.leaves)}
	root := &leaf{rows: rows, cells: x.memory()}
	x.count(root, g, h)
	for _, i := range rows {
		root.g += g[i]
		root.h += h[i]
	}
	x.search(root)
	leaves := []*leaf{root}
	for len(leaves) < x.leaves {
		best := -1
		for k, l := range leaves {
			if l.splittable && (best < 0 || l.gain > leaves[best].gain) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		left, right := x.split(t, leaves[best], g, h)
		leaves[best] = left
		leaves = append(leaves, right)
	}
	for _, l := range leaves {
		x.value(t, l)
		x.free(l)
	}
	if len(t.nodes) == 1 {
		return nil
	}
	t.means()
	for _, l := range leaves {
		for _, i := range l.rows {
			x.z[int(i)*x.margins+margin] += t.nodes[l.node].value
		}
	}
	for _, i := range x.held {
		x.z[int(i)*x.margins+margin] += t.at(x.ensemble.records, i)
	}
	return t
}

func (x *grower) memory() []cell {
	if n := len(x.spare); n > 0 {
		c := x.spare[n-1]
		x.spare = x.spare[:n-1]
		clear(c)
		return c
	}
	return make([]cell, x.cells)
}

func (x *grower) free(l *leaf) {
	if l.cells != nil {
		x.spare = append(x.spare, l.cells)
		l.cells = nil
	}
}

func (x *grower) count(l *leaf, g, h []int64) {
	for k := range x.columns {
		bin, cells := x.columns[k].bin, l.cells[x.at[k]:]
		for _, i := range l.rows {
			c := &cells[bin[i]]
			c.g += g[i]
			c.h += h[i]
			c.n++
		}
	}
}

// score is the part of twice the loss that a leaf of these sums takes off, G^2 / (H + ridge).
func (x *grower) score(g, h int64) float64 {
	a := float64(g) / unit
	return a * a / (float64(h)/unit + x.ridge)
}

// search finds the best split of a leaf: of equal gains the first, by the names of the features. Any gain will do:
// where features tell the class together only, the first split of a tree gains next to nothing.
func (x *grower) search(l *leaf) {
	l.gain, l.splittable = 0, false
	if len(l.rows) < 2*x.least {
		return
	}
	whole := x.score(l.g, l.h)
	for k := range x.columns {
		c := &x.columns[k]
		cells := l.cells[x.at[k] : x.at[k]+c.bins]
		if c.nominal {
			x.searchLevels(l, int32(k), cells, whole)
		} else {
			x.searchNumbers(l, int32(k), cells, whole)
		}
	}
}

// consider takes a split whose left side has these sums if it is better than the best so far.
func (x *grower) consider(l *leaf, left cell, whole float64, s split) {
	n := int32(len(l.rows)) - left.n
	if int(min(left.n, n)) < x.least {
		return
	}
	g, h := l.g-left.g, l.h-left.h
	if float64(min(left.h, h))/unit < x.curvature {
		return
	}
	if gain := x.score(left.g, left.h) + x.score(g, h) - whole; gain > l.gain {
		l.best, l.gain, l.splittable = s, gain, true
	}
}

func (c *cell) add(o *cell) {
	c.g += o.g
	c.h += o.h
	c.n += o.n
}

// searchNumbers tries every cut between bins, with the missing values on either side. A side without any gets later
// ones where it has more records.
func (x *grower) searchNumbers(l *leaf, k int32, cells []cell, whole float64) {
	var left cell
	for b := 1; b < len(cells)-1; b++ {
		left.add(&cells[b])
		if cells[b].n == 0 {
			continue
		}
		s := split{column: k, bin: uint8(b), missingLeft: cells[0].n == 0 && int(left.n)*2 > len(l.rows)}
		x.consider(l, left, whole, s)
		if cells[0].n > 0 {
			s.missingLeft = true
			with := left
			with.add(&cells[0])
			x.consider(l, with, whole, s)
		}
	}
	if cells[0].n > 0 { // the missing against all others
		x.consider(l, cells[0], whole, split{column: k, missingLeft: true})
	}
}

// levelRidge draws the means of levels with few records to 0, where they are put in order.
const levelRidge = 10

// searchLevels tries the cuts of the levels in the order of their gradient over curvature, among which the best split
// of the levels is (Fisher 1958). Missing values are a level.
func (x *grower) searchLevels(l *leaf, k int32, cells []cell, whole float64) {
	x.order = x.order[:0]
	for b := range cells {
		if cells[b].n > 0 {
			x.order = append(x.order, int32(b))
		}
	}
	mean := func(b int32) float64 { return float64(cells[b].g) / (float64(cells[b].h) + levelRidge*unit) }
	slices.SortFunc(x.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(mean(a), mean(b)), cmp.Compare(a, b))
	})
	var left cell
	s := split{column: k}
	for _, b := range x.order[:max(len(x.order)-1, 0)] {
		left.add(&cells[b])
		if b == 0 {
			s.missingLeft = true
		} else {
			s.mask |= 1 << (b - 1)
		}
		x.consider(l, left, whole, s)
	}
}

// goesLeft says to which side of a node a record goes.
func (s *split) goesLeft(c *column, i int32) bool {
	b := c.bin[i]
	switch {
	case b == 0:
		return s.missingLeft
	case c.nominal:
		return s.mask>>(b-1)&1 == 1
	}
	return b <= s.bin
}

// split makes two leaves of one. The cells of the smaller one are counted, those of the other are the difference.
func (x *grower) split(t *grown, l *leaf, g, h []int64) (left, right *leaf) {
	c := &x.columns[l.best.column]
	left, right = &leaf{}, &leaf{}
	at := 0 // rows[:at] go left; the others keep their order in a copy
	var rest []int32
	for _, i := range l.rows {
		if l.best.goesLeft(c, i) {
			l.rows[at] = i
			at++
			left.g += g[i]
			left.h += h[i]
		} else {
			rest = append(rest, i)
		}
	}
	copy(l.rows[at:], rest)
	left.rows, right.rows = l.rows[:at], l.rows[at:]
	right.g, right.h = l.g-left.g, l.h-left.h
	s := l.best
	if c.nominal && len(left.rows) > len(right.rows) {
		s.rest(l.cells[x.at[s.column] : x.at[s.column]+c.bins])
	}
	s.left, s.right = int32(len(t.nodes)), int32(len(t.nodes)+1)
	left.node, right.node = s.left, s.right
	t.nodes[l.node] = s
	t.nodes = append(t.nodes, split{}, split{})
	small, large := left, right
	if len(left.rows) > len(right.rows) {
		small, large = right, left
	}
	small.cells = x.memory()
	x.count(small, g, h)
	large.cells, l.cells = l.cells, nil
	for k := range large.cells {
		a, b := &large.cells[k], &small.cells[k]
		a.g, a.h, a.n = a.g-b.g, a.h-b.h, a.n-b.n
	}
	x.search(left)
	x.search(right)
	return left, right
}

// rest sends the levels without a record in the node to the left, and missing values if there are none.
func (s *split) rest(cells []cell) {
	s.missingLeft = s.missingLeft || cells[0].n == 0
	for b := 1; b < len(cells); b++ {
		if cells[b].n == 0 {
			s.mask |= 1 << (b - 1)
		}
	}
}

// value sets the value of a leaf, a Newton step -G / (H + ridge) times the rate, and its records by class.
func (x *grower) value(t *grown, l *leaf) {
	n := &t.nodes[l.node]
	n.value = -x.rate * float64(l.g) / unit / (float64(l.h)/unit + x.ridge)
	for _, i := range l.rows {
		n.weight += x.weight[i]
		if is(x.class[i], t.margin, x.margins) {
			n.class += x.weight[i]
		}
	}
}

// is reports whether a class is the one of which a margin speaks.
func is(class int32, margin, margins int) bool {
	if margins == 1 {
		return class == 1
	}
	return int(class) == margin
}

// means gives inner nodes the mean value of their leaves by weight. Children stand behind their parents.
func (t *grown) means() {
	for i := len(t.nodes) - 1; i >= 0; i-- {
		if n := &t.nodes[i]; n.left > 0 {
			a, b := &t.nodes[n.left], &t.nodes[n.right]
			n.weight, n.class = a.weight+b.weight, a.class+b.class
			n.value = (a.value*a.weight + b.value*b.weight) / n.weight
		}
	}
}

// at is the value of the leaf of a record.
func (t *grown) at(r *records, i int32) float64 {
	n := &t.nodes[0]
	for n.left > 0 {
		if n.goesLeft(&r.columns[n.column], i) {
			n = &t.nodes[n.left]
		} else {
			n = &t.nodes[n.right]
		}
	}
	return n.value
}
