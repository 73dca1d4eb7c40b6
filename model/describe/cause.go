package describe

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model/evaluate"
)

// A column that is filled in after the outcome is an effect of it; features that bring the outcome about are causes.
// With an effect x of the class y alone, and any other feature z,
//
//	I(x; z | y) <= I(x; z),
//
// since x says nothing of z once the class is known. Causes are tied together by the class: of a loan that was granted
// to a small salary one expects that it is small (J. Pearl, Causality, 2000, section 1.2.3). So a feature with which
// another one has
//
//	I(x; z | y) - I(x; z) = I(x; y | z) - I(x; y) > tieShare H(y)
//
// is no leak, however well it does alone. Nor is a number whose cells rank the classes where its value does not: one
// class lies in the middle, as where a rule has a lower and an upper bound. An effect moves one way with the class.
// Codes of a few values may have any order and are not let off.
const (
	tieGroups = 6 // of the values of a feature, of equal weight, where two are compared
	// tieShare is a share of the entropy of the class. Planted leaks reach .002, and .009 in 1,500 records; the duration
	// of bank's calls .029 with the month, since both move with time; the deciding features of Agrawal's functions 3, 6
	// and 8 .09 to .16, of 7 .02: there the salary is still taken for a leak, as is the price of elec2's first half, .03.
	tieShare = 0.05
	// tieErrors is the least tie in standard errors of that of independent features.
	tieErrors = 4
	// tieValues is the least number of cells of a number that may go up and down.
	tieValues = 20
)

// groups returns the group of the feature's value in each held record: 0 is missing.
func (s *sample) groups(f *measured, classes int) []uint8 {
	cells := len(f.score.n) / classes
	order, mass, total := make([]int, 0, cells), make([]float64, cells), 0.
	for c := range cells {
		for _, v := range f.score.n[c*classes : (c+1)*classes] {
			mass[c] += v
		}
		if c > 0 {
			order = append(order, c)
			total += mass[c]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if f.score.number {
			return cmp.Compare(f.score.place(a), f.score.place(b))
		}
		return cmp.Compare(mass[b], mass[a])
	})
	group, sum := make([]uint8, cells), 0.
	for _, c := range order {
		// of a cell its middle, so that one that holds most of the records stands alone
		group[c] = uint8(1 + min(int((sum+mass[c]/2)*tieGroups/max(total, 1)), tieGroups-1))
		sum += mass[c]
	}
	out := make([]uint8, len(s.class))
	for r, c := range s.cells[f.at] {
		out[r] = group[c]
	}
	return out
}

// place orders the cells of a number, atoms among them, by value.
func (s *alone) place(cell int) float64 {
	if k := cell - 1; k < len(s.atoms) {
		at, _ := slices.BinarySearch(s.cuts, s.atoms[k])
		return float64(at) - .5 + float64(k)/float64(2*len(s.atoms))
	}
	return float64(cell - 1 - len(s.atoms))
}

// information is the mutual information of two groupings in nats, less its bias (cells - 1)(cells - 1)/2n; of the
// records of each class by itself where there are classes, weighted by their numbers.
func information(a, b []uint8, class []int32, classes int) float64 {
	const g = tieGroups + 1
	n := make([]float64, max(classes, 1)*g*g)
	for r := range a {
		y := 0
		if classes > 0 {
			y = int(class[r])
		}
		n[(y*g+int(a[r]))*g+int(b[r])]++
	}
	sum := 0.
	for at := 0; at < len(n); at += g * g {
		var left, right [g]float64
		var all, information float64
		for i, v := range n[at : at+g*g] {
			left[i/g] += v
			right[i%g] += v
			all += v
		}
		for i, v := range n[at : at+g*g] {
			if v > 0 {
				information += v * math.Log(v*all/(left[i/g]*right[i%g]))
			}
		}
		occupied := func(side []float64) (k float64) {
			for _, v := range side {
				if v > 0 {
					k++
				}
			}
			return k
		}
		if all > 0 {
			sum += information - (occupied(left[:])-1)*(occupied(right[:])-1)/2
		}
	}
	return sum / float64(max(len(a), 1))
}

// tied returns the feature that the class ties most to f; "" where none passes tieShare and tieErrors. The tie of
// independent features has the variance of (classes + 1) chi-squares of (groups - 1)^2 degrees of freedom over 2n.
func (s *sample) tied(f *measured, features []measured, h []float64) (with string) {
	entropy, n := 0., float64(max(len(s.class), 1))
	for _, v := range h {
		entropy -= v * math.Log(v)
	}
	deviation := math.Sqrt(2*float64(len(h)+1)) * (tieGroups - 1) / (2 * n)
	most := max(tieShare*entropy, tieErrors*deviation)
	own := s.groups(f, len(h))
	for i := range features {
		z := &features[i]
		if z.at == f.at {
			continue
		}
		other := s.groups(z, len(h))
		if t := information(own, other, s.class, len(h)) - information(own, other, nil, 0); t > most {
			with, most = z.col.Name, t
		}
	}
	return with
}

// between reports whether one of two classes lies between records of the other: the value of a number, in either
// direction, ranks the classes worse than LeakAUC, and leaves twice the error of its cells, whose AUC over all records
// is pooled. Where the base rate moves both are low.
func (s *alone) between(classes int, pooled float64) bool {
	cells := len(s.n) / max(classes, 1)
	if !s.number || classes != 2 || cells <= tieValues {
		return false
	}
	r := &evaluate.Ranking{}
	r.Reset(2*(cells-1), func(i int) (score float64, positive bool, weight float64) {
		cell := 1 + i/2
		return s.place(cell), i%2 == 1, s.n[2*cell+i%2]
	})
	a := r.AUC()
	a = max(a, 1-a)
	return a <= LeakAUC && 1-a > 2*(1-pooled)
}
