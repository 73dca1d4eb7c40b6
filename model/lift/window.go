package lift

import (
	"cmp"
	"slices"
)

// Window is a set of cells of one feature set in which the cell says much about the class (Algorithm 2).
type Window struct {
	Set   *Set
	Cells []int // ascending
	Eta   float64
	N     float64 // weight of its records
	Mass  float64 // its share of the set's complete cases
}

// compareWindows ranks by eta, then more records, then fewer features, then names in configuration order, then cells.
func compareWindows(a, b *Window) int {
	if c := compareValues(a.Eta, b.Eta); c != 0 {
		return c
	}
	if c := compareValues(a.N, b.N); c != 0 {
		return c
	}
	if c := compareFeatures(a.Set.features, b.Set.features); c != 0 {
		return c
	}
	return slices.Compare(a.Cells, b.Cells)
}

// compareFeatures ranks fewer features first, then names in configuration order.
func compareFeatures(a, b []int32) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return slices.Compare(a, b)
}

// findWindows returns the k windows of highest eta whose mass exceeds minMass (a share of the set's records, strict),
// best first; windows that rank below worst, if given, may be left out. exact is false when a bound on the work ended the
// search early.
//
// Without a minimum mass the search space is partitioned as Lawler and Murty do: the best window among those that hold
// the cells F and none of O adds to F every free cell whose eta is at least that of the window so far, because eta(W) is
// the b-weighted mean of the eta of its cells (SPEC B.3 i); the best of all is the cells of the highest eta. With a
// minimum mass see massSearch, which is exact up to 2 million nodes.
func findWindows(t *Set, s *Summary, k int, minMass float64, worst *Window) (best []*Window, exact bool) {
	if s.Seen < 2 || k < 1 {
		return nil, true
	}
	var cells []int
	for x := range s.NX {
		if s.NX[x] > 0 && s.B[x] > 0 {
			cells = append(cells, x)
		}
	}
	slices.SortFunc(cells, func(a, b int) int {
		if c := cmp.Compare(s.CellEta(b), s.CellEta(a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	if len(cells) == 0 || worst != nil && compareValues(s.CellEta(cells[0]), worst.Eta) > 0 {
		return nil, true
	}
	if minMass > 0 {
		q := massSearch{set: t, summary: s, cells: cells, k: k, limit: minMass * s.N, floor: worst}
		best = q.run()
		return best, !q.capped
	}
	q := windowSearch{set: t, summary: s, cells: cells}
	// Only the best k problems can ever be taken up, so no more are kept.
	open := q.branch(nil, &windowProblem{fixed: make([]int8, len(cells)), flip: -1}, k)
	for len(open) > 0 {
		p := open[0]
		open = open[1:]
		w := q.window(p)
		if worst != nil && compareWindows(w, worst) > 0 {
			break
		}
		if best = append(best, w); len(best) == k {
			break
		}
		open = q.branch(open, p, k-len(best))
	}
	return best, true
}

// windowSearch is the search for windows of one table.
type windowSearch struct {
	set     *Set
	summary *Summary
	cells   []int // occupied, by descending eta
}

// windowProblem asks for the best window that holds some cells and none of some others. The free cells of its parent
// that come before the flipped one stay as they were in the parent's answer, the flipped one changes sides, and those
// after it are free.
type windowProblem struct {
	fixed  []int8 // of the parent, by index in cells: 1 in, -1 out, 0 free
	free   []int  // indices that are free in the parent
	taken  int    // the parent's answer holds free[:taken]
	flip   int    // index in free; -1 for the root
	to     int    // the answer holds free[flip+1:to] as well
	eta, n float64
	built  *Window
}

// branch adds the problems that divide what p asks for, less its answer, to the best ones, at most room of them. For the
// root it is p itself.
func (q *windowSearch) branch(open []*windowProblem, p *windowProblem, room int) []*windowProblem {
	fixed := slices.Clone(p.fixed)
	root := p.flip < 0 && p.free == nil
	for i, x := range p.free {
		switch {
		case i > p.flip:
		case (i < p.taken) != (i == p.flip):
			fixed[x] = 1
		default:
			fixed[x] = -1
		}
	}
	child := windowProblem{fixed: fixed, free: make([]int, 0, len(fixed)), flip: -1}
	var a, b, n float64
	add := func(i int) {
		x := q.cells[i]
		a += q.summary.A[x]
		b += q.summary.B[x]
		n += q.summary.NX[x]
	}
	for i, v := range fixed {
		switch v {
		case 0:
			child.free = append(child.free, i)
		case 1:
			add(i)
		}
	}
	free := child.free
	solve := func(from int, some bool) (to int, ok bool) {
		for to = from; to < len(free); to++ {
			if some && compareValues(q.summary.CellEta(q.cells[free[to]]), a/b) > 0 {
				break
			}
			add(free[to])
			some = true
		}
		return to, some
	}
	offer := func(flip, taken, to int) {
		c := child
		c.flip, c.taken, c.to, c.eta, c.n = flip, taken, to, q.summary.ratio(a, b), n
		if len(open) < room || q.compare(&c, open[room-1]) < 0 {
			open = insertTop(open, &c, room, q.compare)
		}
	}
	some := b > 0
	if root {
		if to, ok := solve(0, false); ok {
			offer(-1, 0, to)
		}
		return open
	}
	taken := 0 // free cells are in the order of cells, so that the answer took the first ones
	for taken < len(free) {
		if _, has := slices.BinarySearch(q.window(p).Cells, q.cells[free[taken]]); !has {
			break
		}
		taken++
	}
	fa, fb, fn := a, b, n
	for i := range free {
		a, b, n = fa, fb, fn
		held := some
		if i >= taken {
			add(free[i])
			held = true
		}
		if to, ok := solve(i+1, held); ok {
			offer(i, taken, to)
		}
		if i < taken {
			a, b, n = fa, fb, fn
			add(free[i])
			fa, fb, fn, some = a, b, n, true
		}
	}
	return open
}

// compare ranks as compareWindows, building windows only where their cells decide.
func (q *windowSearch) compare(a, b *windowProblem) int {
	if c := cmp.Or(compareValues(a.eta, b.eta), compareValues(a.n, b.n)); c != 0 {
		return c
	}
	return slices.Compare(q.window(a).Cells, q.window(b).Cells)
}

// window returns the problem's answer.
func (q *windowSearch) window(p *windowProblem) *Window {
	if p.built != nil {
		return p.built
	}
	var cells []int
	for i, v := range p.fixed {
		if v > 0 {
			cells = append(cells, q.cells[i])
		}
	}
	for i, x := range p.free[:p.to] {
		if i > p.flip || (i < p.taken) != (i == p.flip) {
			cells = append(cells, q.cells[x])
		}
	}
	p.built = newWindow(q.set, q.summary, cells)
	return p.built
}

func newWindow(t *Set, s *Summary, cells []int) *Window {
	if len(cells) == 0 {
		return nil
	}
	slices.Sort(cells)
	w := &Window{Set: t, Cells: cells, Eta: s.WindowEta(cells)}
	for _, x := range cells {
		w.N += s.NX[x]
	}
	w.Mass = w.N / s.N
	return w
}

// contiguousWindows returns the k windows of highest eta among the runs of neighbouring cells, empty ones skipped, whose
// mass exceeds minMass: all N(N+1)/2 of them by prefix sums.
func contiguousWindows(t *Set, s *Summary, k int, minMass float64) (best []*Window) {
	if s.Seen < 2 || k < 1 {
		return nil
	}
	var cells []int
	for x := range s.NX {
		if s.NX[x] > 0 {
			cells = append(cells, x)
		}
	}
	for i := range cells {
		var a, b, n float64
		for j := i; j < len(cells); j++ {
			x := cells[j]
			a, b, n = a+s.A[x], b+s.B[x], n+s.NX[x]
			if minMass > 0 && !exceeds(n, minMass*s.N) || len(best) == k && compareValues(s.ratio(a, b), best[k-1].Eta) > 0 {
				continue
			}
			if w := newWindow(t, s, slices.Clone(cells[i:j+1])); w.Eta == w.Eta {
				best = insertTop(best, w, k, compareWindows)
			}
		}
	}
	return best
}

// exceeds is the strict comparison of a mass with a limit, equal within rounding counting as not greater (SPEC G.22).
func exceeds(mass, limit float64) bool { return mass > limit*(1+tieTolerance) }

// insertTop keeps the k best of a ranking, best first.
func insertTop[T any](top []T, v T, k int, compare func(a, b T) int) []T {
	if k < 1 || len(top) == k && compare(v, top[k-1]) >= 0 {
		return top
	}
	i, _ := slices.BinarySearchFunc(top, v, compare)
	if top = slices.Insert(top, i, v); len(top) > k {
		top = top[:k]
	}
	return top
}
