package lift

import (
	"cmp"
	"math"
	"slices"
)

// maxMassNodes bounds the nodes of the search for windows of one set under a minimum mass, and foldMassNodes where only
// windows that differ are wanted. In the latter a branch is given up when it cannot raise the rank by more than
// foldMassGap of it: it would change a cell or two.
const (
	maxMassNodes  = 1 << 21
	foldMassNodes = 1 << 14
	foldMassGap   = 1e-3
)

// massSearch finds the k best windows of a set whose mass exceeds a limit: a 0-1 fractional programme (METHOD.md 4.2),
// weakly NP-hard. A window has an eta of at least lambda when the values a_x - lambda b_x of its cells sum to 0 or more
// (Dinkelbach); lambda is the eta of the k-th best window so far.
//
// Cells are decided depth first: the cells of positive value by falling value, then the others by their cost per mass.
// A branch ends when even the fractional covering knapsack over the undecided cells stays below 0, or when it can only
// tie and with fewer records. Whenever all k windows were replaced, lambda and the order are made anew.
type massSearch struct {
	set     *Set
	summary *Summary
	cells   []int // occupied, by descending eta
	k       int
	limit   float64 // weight that a window must exceed
	floor   *Window // windows that rank below it are not wanted; nil
	best    []*Window
	nodes   int
	most    int // nodes
	gap     float64
	capped  bool // most was reached: the windows are those found, perhaps not the best

	lambda, slack float64
	order         []int // cells as they are decided
	value, mass   []float64
	positive      int       // the first so many have a value of at least 0
	sumValue      []float64 // prefix sums of value and mass
	sumMass       []float64
	taken         []int
	fresh         int // windows found since the order was made
	restart       bool
}

// run returns the windows, best first.
func (q *massSearch) run() []*Window {
	q.seed()
	for {
		q.prepare()
		q.visit(0, 0, 0)
		if !q.restart || q.capped {
			return q.best
		}
	}
}

// prefix is the window of the first cells, by falling eta.
type prefix struct {
	cells   int
	rank, n float64
}

func comparePrefixes(a, b prefix) int {
	return cmp.Or(compareValues(a.rank, b.rank), compareValues(a.n, b.n))
}

// seed takes the fewest cells of highest eta that together have the mass, then the same with one more cell at a time,
// while the window may be among the best and above the floor: each cell lowers the eta, or leaves it as it is where
// cells tie, as those of one record do. It offers the k best of these windows.
func (q *massSearch) seed() {
	var a, b, n float64
	var best []prefix
	for i, x := range q.cells {
		a, b, n = a+q.summary.gain[x], b+q.summary.B[x], n+q.summary.NX[x]
		if !exceeds(n, q.limit) {
			continue
		}
		rank := q.summary.ratio(a, b)
		if len(best) == q.k && compareValues(rank, best[q.k-1].rank) > 0 ||
			q.floor != nil && compareValues(rank, q.floor.rank) > 0 {
			break
		}
		best = insertTop(best, prefix{i + 1, rank, n}, q.k, comparePrefixes)
	}
	for _, p := range best {
		q.offer(slices.Clone(q.cells[:p.cells]))
	}
}

func (q *massSearch) offer(cells []int) {
	w := newWindow(q.set, q.summary, cells)
	if q.floor != nil && compareWindows(w, q.floor) > 0 {
		return
	}
	if at, same := slices.BinarySearchFunc(q.best, w, compareWindows); same {
		return
	} else if at >= q.k {
		return
	}
	q.best = insertTop(q.best, w, q.k, compareWindows)
	q.fresh++
}

// prepare takes lambda from the windows found so far and orders the cells for it.
func (q *massSearch) prepare() {
	q.lambda, q.fresh, q.restart = 0, 0, false
	if len(q.best) == q.k {
		q.lambda = q.best[q.k-1].rank
	}
	if q.floor != nil {
		q.lambda = max(q.lambda, q.floor.rank)
	}
	n := len(q.cells)
	total := 0.0
	v := make([]float64, len(q.summary.NX))
	for _, x := range q.cells {
		v[x] = q.summary.gain[x] - q.lambda*q.summary.B[x]
		total += q.summary.B[x]
	}
	q.slack = 16 * tieTolerance * total
	if q.gap > 0 && len(q.best) == q.k {
		of := 0.0
		for _, x := range q.best[q.k-1].Cells {
			of += q.summary.B[x]
		}
		q.slack = -q.gap * q.lambda * of
	}
	q.order = slices.Clone(q.cells)
	slices.SortFunc(q.order, func(a, b int) int {
		va, vb := v[a], v[b]
		switch {
		case va >= 0 && vb >= 0:
			return cmp.Or(cmp.Compare(vb, va), cmp.Compare(a, b))
		case va >= 0:
			return -1
		case vb >= 0:
			return 1
		}
		return cmp.Or(cmp.Compare(vb/q.summary.NX[b], va/q.summary.NX[a]), cmp.Compare(a, b))
	})
	q.value, q.mass = make([]float64, n), make([]float64, n)
	q.sumValue, q.sumMass = make([]float64, n+1), make([]float64, n+1)
	q.positive = 0
	for i, x := range q.order {
		q.value[i], q.mass[i] = v[x], q.summary.NX[x]
		if v[x] >= 0 {
			q.positive = i + 1
		}
		q.sumValue[i+1], q.sumMass[i+1] = q.sumValue[i]+q.value[i], q.sumMass[i]+q.mass[i]
	}
	q.taken = q.taken[:0]
}

// bound returns the largest value that deciding the cells from i on can give to a window of value v and mass n so far,
// -Inf when the mass cannot be had.
func (q *massSearch) bound(i int, v, n float64) float64 {
	from := max(i, q.positive)
	v += q.sumValue[from] - q.sumValue[i]
	n += q.sumMass[from] - q.sumMass[i]
	if exceeds(n, q.limit) {
		return v
	}
	last := len(q.order)
	if !exceeds(n+q.sumMass[last]-q.sumMass[from], q.limit) {
		return math.Inf(-1)
	}
	// Cells in the order of cost per mass until the limit is reached, the last one in part.
	j, _ := slices.BinarySearchFunc(q.sumMass[from:], q.limit-n+q.sumMass[from], cmp.Compare[float64])
	j = min(from+max(j-1, 0), last-1)
	v += q.sumValue[j] - q.sumValue[from]
	n += q.sumMass[j] - q.sumMass[from]
	if short := q.limit - n; short > 0 {
		v += q.value[j] * min(short/q.mass[j], 1)
	}
	return v
}

func (q *massSearch) visit(i int, v, n float64) {
	if q.nodes++; q.nodes > q.most {
		q.capped = true
		return
	}
	b := q.bound(i, v, n)
	if b < -q.slack {
		return
	}
	if len(q.best) == q.k && b <= q.slack && q.mostRecords(i, n, b) < q.best[q.k-1].N*(1-tieTolerance) &&
		q.best[q.k-1].rank >= q.lambda {
		return
	}
	if i == len(q.order) {
		if len(q.taken) > 0 {
			cells := make([]int, len(q.taken))
			for j, at := range q.taken {
				cells[j] = q.order[at]
			}
			q.offer(cells)
			q.restart = q.restart || len(q.best) == q.k && q.fresh >= q.k && q.best[q.k-1].rank > q.lambda*(1+16*tieTolerance)
		}
		return
	}
	take := func() {
		q.taken = append(q.taken, i)
		q.visit(i+1, v+q.value[i], n+q.mass[i])
		q.taken = q.taken[:len(q.taken)-1]
	}
	first := i < q.positive || !exceeds(n, q.limit)
	if first {
		take()
	}
	if q.restart || q.capped {
		return
	}
	q.visit(i+1, v, n)
	if !first && !q.restart && !q.capped {
		take()
	}
}

// mostRecords bounds the mass of windows that tie: they can hold no cell that costs more than there is.
func (q *massSearch) mostRecords(i int, n, b float64) float64 {
	from := max(i, q.positive)
	n += q.sumMass[from] - q.sumMass[i]
	if !exceeds(n, q.limit) {
		return math.Inf(1)
	}
	for j := from; j < len(q.order); j++ {
		if -q.value[j] <= b+2*q.slack {
			n += q.mass[j]
		}
	}
	return n
}
