package lift

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxMassCells bounds the occupied cells of a set whose windows are searched under a minimum mass, where every subset
// is looked at.
const maxMassCells = 12

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

// bestWindows returns the k windows of highest eta whose mass exceeds minMass (a share of the set's records, strict),
// best first; windows that rank below worst, if given, may be left out. It is exact.
//
// Without a minimum mass the search space is partitioned as Lawler and Murty do: the best window among those that hold
// the cells F and none of O adds to F every free cell whose eta is at least that of the window so far, because eta(W) is
// the b-weighted mean of the eta of its cells (SPEC B.3 i); the best of all is the cells of the highest eta. With a
// minimum mass all subsets are looked at; sets of more than 12 occupied cells then give none.
func bestWindows(t *Set, s *Summary, k int, minMass float64, worst *Window) []*Window {
	if s.Seen < 2 || k < 1 {
		return nil
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
		return nil
	}
	if minMass > 0 {
		return massWindows(t, s, cells, k, minMass)
	}
	// Only the best k problems can ever be taken up, so no more are kept.
	var open []windowProblem
	push := func(in, out []bool, room int) {
		w := solveWindow(t, s, cells, in, out)
		if w == nil || len(open) == room && compareWindows(w, open[room-1].best) >= 0 {
			return
		}
		open = insertTop(open, windowProblem{w, slices.Clone(in), slices.Clone(out)}, room, compareProblems)
	}
	push(make([]bool, len(cells)), make([]bool, len(cells)), 1)
	var best []*Window
	for len(open) > 0 && len(best) < k {
		p := open[0]
		open = slices.Delete(open, 0, 1)
		if worst != nil && compareWindows(p.best, worst) > 0 {
			break
		}
		best = append(best, p.best)
		room := k - len(best)
		if room == 0 {
			break
		}
		in, out := p.in, p.out
		for i, x := range cells {
			if in[i] || out[i] {
				continue
			}
			if _, has := slices.BinarySearch(p.best.Cells, x); has {
				out[i] = true
				push(in, out, room)
				in[i], out[i] = true, false
			} else {
				in[i] = true
				push(in, out, room)
				in[i], out[i] = false, true
			}
		}
	}
	return best
}

// solveWindow returns the best window that holds the cells in and none of out, nil when there is none. cells descend by eta.
func solveWindow(t *Set, s *Summary, cells []int, in, out []bool) *Window {
	var w []int
	var a, b float64
	for i, x := range cells {
		if in[i] {
			w = append(w, x)
			a += s.A[x]
			b += s.B[x]
		}
	}
	for i, x := range cells {
		if in[i] || out[i] {
			continue
		}
		if len(w) > 0 && compareValues(s.CellEta(x), a/b) > 0 {
			break
		}
		w = append(w, x)
		a += s.A[x]
		b += s.B[x]
	}
	return newWindow(t, s, w)
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

func massWindows(t *Set, s *Summary, cells []int, k int, minMass float64) []*Window {
	if len(cells) > maxMassCells {
		return nil
	}
	var best []*Window
	for m := uint(1); m < 1<<len(cells); m++ {
		mass := 0.0
		for v := m; v != 0; v &= v - 1 {
			mass += s.NX[cells[bits.TrailingZeros(v)]]
		}
		if !exceeds(mass, minMass*s.N) {
			continue
		}
		var w []int
		for v := m; v != 0; v &= v - 1 {
			w = append(w, cells[bits.TrailingZeros(v)])
		}
		best = insertTop(best, newWindow(t, s, w), k, compareWindows)
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

// windowProblem is the search for the best window that holds the cells in and none of out.
type windowProblem struct {
	best    *Window
	in, out []bool
}

func compareProblems(a, b windowProblem) int { return compareWindows(a.best, b.best) }
