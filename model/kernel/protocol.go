package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/kernel/lp"
)

// Family is the dictionary of the triples protocol.
type Family uint8

const (
	// Weak is that of the live component: one-feature kernels of the configured widths.
	Weak Family = iota
	// Rich is Weak, Triangular kernels, and for at most maxPaired features the sums and differences of pairs.
	Rich
	// FullGaussian, FullPolynomial and FullLinear are single kernels over all numbers (formulation (4)).
	FullGaussian
	FullPolynomial
	FullLinear
)

// Split is one division of the records for the triples protocol: Train and Test are record numbers, triples (i, j, k)
// of record numbers say that i is more like j than like k.
type Split struct {
	Train, Test               []int32
	TrainTriples, TestTriples [][3]int32
}

// ProtocolOptions choose what is fitted in the triples protocol. NaN gammas are chosen on the training part.
type ProtocolOptions struct {
	Mode           lp.Mode
	Family         Family
	Widths         []float64
	Gamma1, Gamma2 float64
	// Mirror also asks each training triple from the second point's view, as the measure does.
	Mirror bool
	Seed   uint64
}

// Trial is the outcome of one split.
type Trial struct {
	Accuracy          // on the test triples
	Train    Accuracy // on the training triples
	// Features is the number of features of the schema with max |alpha| > .01 (the paper's measure), Relative that with
	// more than a thousandth of the largest (SPEC G.41).
	Features, Relative int
	Gamma1, Gamma2     float64
	Status             lp.Status
	Upper, Lower       float64
}

// EvaluateTriples fits on a split's training part (points standardised by it) and measures on its test triples
// (SPEC C.1). It is a function of its arguments alone unless ctx ends.
func EvaluateTriples(ctx context.Context, ev *model.Evidence, s *Split, o ProtocolOptions) (*Trial, error) {
	n := int32(ev.Len())
	for _, list := range [][][3]int32{s.TrainTriples, s.TestTriples} {
		for t, c := range list {
			for _, i := range c {
				if i < 0 || i >= n {
					return nil, fmt.Errorf("reading triple %d: record %d of %d", t, i, n)
				}
			}
		}
	}
	for _, i := range append(slices.Clone(s.Train), s.Test...) {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("reading the split: record %d of %d", i, n)
		}
	}
	if len(s.TrainTriples) == 0 {
		return nil, fmt.Errorf("reading the split: no training triple")
	}
	axes := make([]axis, len(ev.Schema.Features))
	for f := range axes {
		axes[f] = newAxis(&ev.Schema.Features[f], ev.Columns[f], ev.Weight, s.Train)
	}
	p := standardise(ev, axes)
	dictionary := family(ev.Schema, axes, &o)
	if len(dictionary) == 0 {
		return nil, fmt.Errorf("building the dictionary: no feature has two values")
	}
	view := func(t [][3]int32) [][3]int32 {
		if o.Mirror {
			return mirrored(t)
		}
		return t
	}
	var parts [2][]int32
	for _, i := range s.Train {
		h := model.Hash(o.Seed, uint64(i), 77) & 1
		parts[h] = append(parts[h], i)
	}
	var halves [2]*design
	for h := range halves {
		rows := slices.Clone(parts[h])
		slices.Sort(rows)
		halves[h] = newDesign(o.Mode, dictionary, p, view(drawEven(ev.Class, rows, len(s.TrainTriples)/2, o.Seed+uint64(h))))
	}
	g, err := choose(ctx, halves, o.Gamma1, o.Gamma2)
	if err != nil {
		return nil, fmt.Errorf("choosing the gammas: %w", err)
	}
	d := newDesign(o.Mode, dictionary, p, view(s.TrainTriples))
	r, err := d.solve(ctx, g.gamma1, g.gamma2, nil)
	if err != nil {
		return nil, err
	}
	t := &Trial{Accuracy: accuracy(dictionary, r.Alpha, p, s.TestTriples), Train: accuracy(dictionary, r.Alpha, p, s.TrainTriples),
		Gamma1: g.gamma1, Gamma2: g.gamma2, Status: r.Status, Upper: r.Upper, Lower: r.Lower}
	largest := 0.0
	for _, a := range r.Alpha {
		largest = max(largest, math.Abs(a))
	}
	t.Features = countFeatures(dictionary, r.Alpha, .01, axes)
	t.Relative = countFeatures(dictionary, r.Alpha, largest/1000, axes)
	return t, nil
}

// drawEven draws triples as the paper does: two points of one class, the third of another, all points alike.
func drawEven(class []int32, rows []int32, count int, seed uint64) [][3]int32 {
	var out [][3]int32
	if len(rows) < 3 {
		return nil
	}
	for t := 0; len(out) < count && t < 50*count; t++ {
		var c [3]int32
		for x := range c {
			c[x] = rows[int(unit(seed, t, x)*float64(len(rows)))]
		}
		if c[0] == c[1] || c[1] == c[2] || c[0] == c[2] {
			continue
		}
		for _, o := range [][3]int32{{c[0], c[1], c[2]}, {c[0], c[2], c[1]}, {c[1], c[2], c[0]}} {
			if class[o[0]] == class[o[1]] && class[o[0]] != class[o[2]] {
				out = append(out, o)
				break
			}
		}
	}
	return out
}

func countFeatures(dictionary []Base, alpha []float64, above float64, axes []axis) int {
	used := make([]bool, len(axes))
	for k, b := range dictionary {
		if math.Abs(alpha[k]) <= above {
			continue
		}
		for f := range used {
			if axes[f].ok && (b.A < 0 || int32(f) == b.A || int32(f) == b.B) {
				used[f] = true
			}
		}
	}
	n := 0
	for _, u := range used {
		if u {
			n++
		}
	}
	return n
}

// maxPaired bounds the features of which Rich pairs all.
const maxPaired = 14

// family builds the dictionary.
func family(s *model.Schema, axes []axis, o *ProtocolOptions) []Base {
	switch o.Family {
	case FullGaussian:
		var out []Base
		for _, w := range o.Widths {
			out = append(out, Base{Shape: Gaussian, A: -1, B: -1, Width: w})
		}
		return out
	case FullPolynomial:
		return []Base{{Shape: Polynomial, A: -1, B: -1}}
	case FullLinear:
		return []Base{{Shape: Linear, A: -1, B: -1}}
	}
	out := weak(s, axes, o.Widths)
	if o.Family == Weak {
		return out
	}
	var numbers []int32
	for _, f := range byName(s) {
		if axes[f].ok && !axes[f].levels {
			numbers = append(numbers, f)
			out = append(out, Base{Shape: Triangular, A: f, B: -1, Width: .5})
		}
	}
	if len(numbers) > maxPaired {
		return out
	}
	for x, a := range numbers {
		for _, b := range numbers[x+1:] {
			for _, sign := range []int8{1, -1} {
				for _, w := range o.Widths {
					out = append(out, Base{Shape: Gaussian, A: a, B: b, Sign: sign, Width: w})
				}
			}
		}
	}
	return out
}
