package lift

import (
	"cmp"
	"slices"
)

// Window is a set of cells of one feature set in which the cell says much about the class (Algorithm 2).
type Window struct {
	Set   *Set
	Cells []int // ascending
	// Eta is that of equation (3), on the records that the window was found among. Corrected is Eta less the gain of its
	// cells by chance; Low and High bound Eta. See Summary.WindowEtaCorrected and WindowInterval.
	Eta, Corrected, Low, High float64
	N                         float64 // weight of its records
	Mass                      float64 // its share of the set's complete cases
	// Folded is the number of windows found that overlap this one and rank between it and the last one shown.
	Folded int

	rank float64 // Summary.windowRank
}

// compareWindows ranks by windowRank, then more records, then fewer features, then names in configuration order, then
// cells.
func compareWindows(a, b *Window) int {
	if c := compareValues(a.rank, b.rank); c != 0 {
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

// findWindows returns the k windows of highest rank (eta, or the figure of Summary.windowRank) whose mass exceeds
// minMass (a share of the set's records, strict), best first. Windows that rank below worst, if given, may be left out.
// exact is false when a bound on the work ended the search early.
//
// Without a minimum mass the search space is partitioned as Lawler and Murty do. The best window with the cells F and
// none of O adds to F every free cell whose eta is at least that of the window so far, because eta(W) is the b-weighted
// mean of the eta of its cells (METHOD.md 4.1); the best of all windows is the cells of the highest eta.
//
// With a minimum mass see massSearch, which is exact up to 2 million nodes, and with fold to a thousandth of the rank
// up to some thousand.
func findWindows(t *Set, s *Summary, k int, minMass float64, worst *Window, fold bool) (best []*Window, exact bool) {
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
		if c := cmp.Compare(s.cellRank(b), s.cellRank(a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	if len(cells) == 0 || worst != nil && compareValues(s.cellRank(cells[0]), worst.rank) > 0 {
		return nil, true
	}
	if minMass > 0 {
		q := massSearch{set: t, summary: s, cells: cells, k: k, limit: minMass * s.N, floor: worst, most: maxMassNodes}
		if fold {
			q.most, q.gap = foldMassNodes, foldMassGap
		}
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

// windowProblem asks for the best window with some cells and without some others. The free cells of its parent before
// the flipped one stay as they were in the parent's answer, the flipped one changes sides, and the later ones are free.
type windowProblem struct {
	fixed  []int8 // of the parent, by index in cells: 1 in, -1 out, 0 free
	free   []int  // indices that are free in the parent
	taken  int    // the parent's answer holds free[:taken]
	flip   int    // index in free; -1 for the root
	to     int    // the answer holds free[flip+1:to] as well
	eta, n float64
	built  *Window
}

// branch divides the windows of p, without its answer, into problems and adds these to the best ones, at most room of
// them. The problem of the root is p itself.
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
		a += q.summary.gain[x]
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
			if some && compareValues(q.summary.cellRank(q.cells[free[to]]), a/b) > 0 {
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

// Windows that share more than windowOverlap of the records in either are the same one to a reader. windowPool times as
// many windows as are wanted are kept until they are told apart.
const (
	windowOverlap = 0.5
	windowPool    = 32
)

// differentWindows returns windows of a set that share no cell or, where they must be contiguous, no more than
// windowOverlap of the records in either: the best one, then the best of the rest, while they rank no lower than worst,
// which may be nil.
func differentWindows(
	t *Set, s *Summary, o *WindowOptions, contiguous bool, worst *Window,
) (out []*Window, exact bool) {
	if contiguous {
		for _, w := range contiguousWindows(t, s, windowPool*o.Top, o.MinMass) {
			if !slices.ContainsFunc(out, func(x *Window) bool { return overlapOfCells(s, x.Cells, w.Cells) > windowOverlap }) {
				out = append(out, w)
			}
		}
		return out, true
	}
	left := *s
	exact = true
	for len(out) < o.Top {
		best, ok := findWindows(t, &left, 1, o.MinMass, worst, true)
		exact = exact && ok
		if len(best) == 0 {
			break
		}
		if out = append(out, best[0]); len(out) == 1 {
			left.NX = slices.Clone(s.NX)
		}
		for _, x := range best[0].Cells {
			left.NX[x] = 0
		}
	}
	return out, exact
}

// overlapOfCells is the weight of the records in both of two windows of a set over that of the records in either.
func overlapOfCells(s *Summary, a, b []int) float64 {
	var both, either float64
	for _, x := range a {
		either += s.NX[x]
		if _, is := slices.BinarySearch(b, x); is {
			both += s.NX[x]
		}
	}
	for _, x := range b {
		either += s.NX[x]
	}
	return both / (either - both)
}

// foldWindows returns the best of the windows found, at most Top of them. Each holds the number of windows folded into
// it: these rank above the last one shown, and overlap this one and no better one.
func (s *setSearch) foldWindows() []*Window {
	var out []*Window
	var masks [][]uint64
	for _, w := range s.windows {
		mask := s.maskOf(w)
		if at := slices.IndexFunc(masks, func(m []uint64) bool { return overlap(m, mask) > windowOverlap }); at >= 0 {
			out[at].Folded++
			continue
		}
		if out, masks = append(out, w), append(masks, mask); len(out) == s.options.Windows.Top {
			break
		}
	}
	return out
}

// maskOf returns the records of a window, one bit each.
func (s *setSearch) maskOf(w *Window) []uint64 {
	in := make([]bool, w.Set.cells)
	for _, x := range w.Cells {
		in[x] = true
	}
	s.fill(w.Set)
	mask := make([]uint64, (s.n+63)/64)
	for r, x := range s.cells {
		if x >= 0 && in[x] {
			mask[r>>6] |= 1 << (r & 63)
		}
	}
	return mask
}

// measureWindows fills the corrected figures and the intervals of the windows found.
func (s *setSearch) measureWindows() {
	for _, w := range s.windows {
		m := s.summaryOf(w.Set)
		w.Corrected = m.WindowEtaCorrected(w.Cells)
		w.Low, w.High = m.WindowInterval(w.Cells, s.tried)
	}
}

func newWindow(t *Set, s *Summary, cells []int) *Window {
	if len(cells) == 0 {
		return nil
	}
	slices.Sort(cells)
	w := &Window{Set: t, Cells: cells, Eta: s.WindowEta(cells), rank: s.windowRank(cells)}
	for _, x := range cells {
		w.N += s.NX[x]
	}
	w.Mass = w.N / s.N
	return w
}

// contiguousWindows returns the k windows of highest eta among the runs of neighbouring cells, empty ones skipped,
// whose mass exceeds minMass: all N(N+1)/2 of them by prefix sums.
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
			a, b, n = a+s.gain[x], b+s.B[x], n+s.NX[x]
			if minMass > 0 && !exceeds(n, minMass*s.N) || len(best) == k && compareValues(s.ratio(a, b), best[k-1].rank) > 0 {
				continue
			}
			if w := newWindow(t, s, slices.Clone(cells[i:j+1])); w.rank == w.rank {
				best = insertTop(best, w, k, compareWindows)
			}
		}
	}
	return best
}

// exceeds is the strict comparison of a mass with a limit, equal within rounding counting as not greater (METHOD.md
// 4.3).
func exceeds(mass, limit float64) bool { return mass > limit*(1+tieTolerance) }
