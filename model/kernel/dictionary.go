package kernel

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Shape is the form of a base kernel.
type Shape uint8

const (
	// Gaussian is exp(-width (x-y)^2) of one feature (equation (5)) or, without a feature, of all numbers:
	// exp(-width |x-y|^2).
	Gaussian Shape = iota
	// Delta is 1 where two levels are equal and 0 elsewhere.
	Delta
	// Triangular is max(0, 1 - width |x-y|).
	Triangular
	// Linear is x.y.
	Linear
	// Polynomial is (x.y + 1)^2 (METHOD.md 4).
	Polynomial
	maxShape = Polynomial
)

func (s Shape) String() string {
	switch s {
	case Gaussian:
		return "gaussian"
	case Delta:
		return "delta"
	case Triangular:
		return "triangular"
	case Linear:
		return "linear"
	case Polynomial:
		return "polynomial"
	}
	return fmt.Sprintf("Shape(%d)", uint8(s))
}

// Base is one kernel of the dictionary, over standardised numbers or level codes. A missing value is a level of its
// own: the similarity of two missing values is 1, and that of a missing value and any other is 0. Linear, Polynomial
// and the full kernels replace a missing number by the mean. To a full kernel a level is a vector of its own, with a
// length of 1 and at right angles to those of other levels. Each Base is positive semidefinite.
type Base struct {
	Shape Shape
	A     int32 // the feature, -1 for all of them
	Width float64
}

// axis standardises a feature: z = (v - mean) / sd with the weighted mean and standard deviation (ddof 0) of the values
// that are not missing; scale keeps squares of huge numbers finite.
type axis struct {
	mean, sd, scale float64
	levels          bool // the value is a level code: not standardised
	ok              bool // the values differ by enough for the nodes of a curve to be numbers
	lo, hi          float64
	end             float64 // see levelsEnd
}

// levelsEnd is the number of levels of an ordinal feature, +Inf of any other feature. Codes from there on stand for
// text beside the levels, which has no place in their order: they are missing, as for the local curves.
func levelsEnd(feature *model.Feature) float64 {
	if feature.Kind == model.Ordinal {
		return float64(len(feature.Levels))
	}
	return math.Inf(1)
}

func newAxis(feature *model.Feature, column, weight []float64, rows []int32) axis {
	a := axis{levels: feature.Kind == model.Nominal, lo: math.Inf(1), hi: math.Inf(-1), end: levelsEnd(feature)}
	each := func(f func(v, w float64)) {
		for _, i := range rows {
			if v := column[i]; v-v == 0 && v < a.end {
				f(v, weight[i])
			}
		}
	}
	var sum, mean, square float64
	each(func(v, w float64) {
		a.scale = max(a.scale, math.Abs(v))
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
		sum += w
	})
	a.ok = a.hi > a.lo && sum > 0
	if a.levels || !a.ok {
		return a
	}
	each(func(v, w float64) { mean += w * (v / a.scale) })
	mean /= sum
	each(func(v, w float64) { square += w * (v/a.scale - mean) * (v/a.scale - mean) })
	a.mean, a.sd = mean, math.Sqrt(square/sum)
	a.ok = a.sd > 0 && maxNodes/a.sd/a.scale <= math.MaxFloat64
	return a
}

// at returns the standardised value, NaN when v is missing.
func (a *axis) at(v float64) float64 {
	if a.levels {
		return v
	}
	if v-v != 0 || v >= a.end {
		return math.NaN()
	}
	return (v/a.scale - a.mean) / a.sd
}

// points are the records between which kernels are computed, feature by feature.
type points struct {
	z      [][]float64 // nil for a feature that is not used
	levels []bool      // of a feature: z are level codes; may be shorter
	n      int
}

func standardise(ev *model.Evidence, axes []axis) *points {
	p := &points{z: make([][]float64, len(axes)), levels: make([]bool, len(axes)), n: ev.Len()}
	for f := range axes {
		p.levels[f] = axes[f].levels
		if !axes[f].ok {
			continue
		}
		p.z[f] = make([]float64, p.n)
		for i, v := range ev.Columns[f] {
			p.z[f][i] = axes[f].at(v)
		}
	}
	return p
}

// value is the kernel between points i and j.
func (b *Base) value(p *points, i, j int) float64 {
	if b.A < 0 {
		return b.full(p, i, j)
	}
	return b.between(p.z[b.A][i], p.z[b.A][j])
}

// between is the kernel between two values.
func (b *Base) between(x, y float64) float64 {
	if x != x || y != y {
		if b.Shape != Linear && x != x && y != y {
			return 1
		}
		return 0
	}
	switch d := x - y; b.Shape {
	case Gaussian:
		return math.Exp(-b.Width * d * d)
	case Delta:
		if d == 0 {
			return 1
		}
		return 0
	case Triangular:
		return max(0, 1-b.Width*math.Abs(d))
	case Polynomial:
		return (x*y + 1) * (x*y + 1)
	default:
		return x * y
	}
}

func (b *Base) full(p *points, i, j int) float64 {
	var square, product float64
	for f, z := range p.z {
		if z == nil {
			continue
		}
		x, y := z[i], z[j]
		if f < len(p.levels) && p.levels[f] {
			if x == y || x != x && y != y {
				product++
			} else {
				square += 2
			}
			continue
		}
		if x != x {
			x = 0
		}
		if y != y {
			y = 0
		}
		square += (x - y) * (x - y)
		product += x * y
	}
	switch b.Shape {
	case Linear:
		return product
	case Polynomial:
		return (product + 1) * (product + 1)
	default:
		return math.Exp(-b.Width * square)
	}
}

// columns computes a_tp = K_p(i,j) - K_p(i,k) of every base and triple.
func columns(dictionary []Base, p *points, triples [][3]int32) [][]float64 {
	out := make([][]float64, len(dictionary))
	flat := make([]float64, len(dictionary)*len(triples))
	for k := range dictionary {
		b := &dictionary[k]
		out[k] = flat[k*len(triples) : (k+1)*len(triples)]
		for t, c := range triples {
			i := int(c[0])
			out[k][t] = b.value(p, i, int(c[1])) - b.value(p, i, int(c[2]))
		}
	}
	return out
}

// weak is the dictionary of one-feature kernels: for a number a Gaussian of every width, for a nominal feature Delta.
// Its groups are the features. They are ordered by name, so that the order of the configuration has no effect. A
// feature with a direction has no kernel, since the curve of a kernel may turn.
func weak(s *model.Schema, axes []axis, widths []float64) []Base {
	var out []Base
	for _, f := range byName(s) {
		switch {
		case !axes[f].ok || s.Features[f].Use == model.UseReport || s.Directed(int(f)):
		case axes[f].levels:
			out = append(out, Base{Shape: Delta, A: f})
		default:
			for _, w := range widths {
				out = append(out, Base{Shape: Gaussian, A: f, Width: w})
			}
		}
	}
	return out
}

// full is the dictionary of kernels over all features at once, each a group of its own.
func full(shape Shape, widths []float64) []Base {
	if shape != Gaussian {
		return []Base{{Shape: shape, A: -1}}
	}
	var out []Base
	for _, w := range widths {
		out = append(out, Base{Shape: Gaussian, A: -1, Width: w})
	}
	return out
}

// shaped gives the kernels of numbers the shape.
func shaped(dictionary []Base, shape Shape) []Base {
	for k := range dictionary {
		if dictionary[k].Shape == Gaussian {
			dictionary[k].Shape = shape
		}
	}
	return dictionary
}

func byName(s *model.Schema) []int32 {
	order := make([]int32, len(s.Features))
	for f := range order {
		order[f] = int32(f)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch x, y := s.Features[a].Name, s.Features[b].Name; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return order
}

// groups numbers the features of the dictionary, and every full kernel by itself.
func groups(dictionary []Base) (group []int32, n int) {
	seen := map[int32]int32{}
	for _, b := range dictionary {
		g, ok := seen[b.A]
		if !ok || b.A < 0 {
			g = int32(n)
			n++
			seen[b.A] = g
		}
		group = append(group, g)
	}
	return group, n
}
