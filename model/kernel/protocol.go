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
	// Rich is Weak with a linear kernel of each number, and with Gaussian and linear kernels along discriminant directions
	// of the features that these gave weight. It adds them where there are ten training points for each of these features
	// and each class.
	Rich
	// FullGaussian, FullPolynomial and FullLinear are single kernels over all numbers (formulation (4)).
	FullGaussian
	FullPolynomial
	FullLinear
)

// Split is one division of the records for the triples protocol. Train and Test are record numbers. A triple (i, j, k)
// of record numbers states that i is more like j than like k.
type Split struct {
	Train, Test               []int32
	TrainTriples, TestTriples [][3]int32
}

// ProtocolOptions set the dictionary, the prices and the triples of the protocol. NaN gammas are chosen on the training
// part.
type ProtocolOptions struct {
	Mode           lp.Mode
	Family         Family
	Widths         []float64
	Gamma1, Gamma2 float64
	// Further adds one-feature kernels of each number: Triangular ones of every width, Linear.
	Further []Shape
	// Quantiles, when not nil, replaces Widths feature by feature: 1 over these quantiles of the nonzero squared
	// differences between the first record of a training triple and the others.
	Quantiles []float64
	// Mirror also asks each training triple from the second point's view, as the measure does.
	Mirror bool
	// Given: the triples are not drawn from the classes. Then the gammas are chosen on training triples, each in the half
	// of its first record. Otherwise triples are drawn anew inside each half of the records.
	Given bool
	Seed  uint64
}

// Trial is the outcome of one split.
type Trial struct {
	Accuracy          // on the test triples
	Train    Accuracy // on the training triples
	// Features is the number of features of the schema with max |alpha| > .01 (the paper's measure); Relative is the
	// number with more than a thousandth of the largest (METHOD.md 5).
	Features, Relative int
	// Used lists the features that Features counts.
	Used           []int32
	Gamma1, Gamma2 float64
	Status         lp.Status
	Upper, Lower   float64
}

// Draw makes a split of record numbers, with triples of its own in each part. It draws them as the paper does: two
// records of one class, the third of another, all records alike. A part without two classes, or of fewer than three
// records, has no triples.
func Draw(ev *model.Evidence, train, test []int32, trainTriples, testTriples int, seed uint64) *Split {
	return &Split{train, test, drawEven(ev.Class, train, trainTriples, seed),
		drawEven(ev.Class, test, testTriples, seed+1)}
}

func (s *Split) check(n int) error {
	if err := inside("training triple", n, s.TrainTriples); err != nil {
		return err
	}
	if err := inside("test triple", n, s.TestTriples); err != nil {
		return err
	}
	for _, i := range append(slices.Clone(s.Train), s.Test...) {
		if i < 0 || int(i) >= n {
			return fmt.Errorf("reading the split: record %d of %d", i, n)
		}
	}
	return nil
}

// EvaluateEuclidean measures the Euclidean distance on a split, for comparison. Numbers are standardised by the
// training part, and levels are 0 or 1 apart. A missing value lies at the mean of a number, and 1 from any level but
// another missing one. Features that are only reported take no part.
func EvaluateEuclidean(ev *model.Evidence, s *Split) (*Trial, error) {
	if err := s.check(ev.Len()); err != nil {
		return nil, err
	}
	axes := make([]axis, len(ev.Schema.Features))
	t := &Trial{Gamma1: math.NaN(), Gamma2: math.NaN(), Upper: math.NaN(), Lower: math.NaN()}
	for f := range axes {
		axes[f] = newAxis(&ev.Schema.Features[f], ev.Columns[f], ev.Weight, s.Train)
		if axes[f].ok = axes[f].ok && ev.Schema.Features[f].Use != model.UseReport; axes[f].ok {
			t.Used = append(t.Used, int32(f))
		}
	}
	t.Features, t.Relative = len(t.Used), len(t.Used)
	p := standardise(ev, axes)
	nearness := func(i, j int32) (s float64) {
		for f, z := range p.z {
			if z == nil {
				continue
			}
			x, y := z[i], z[j]
			switch {
			case axes[f].levels:
				if x != y && !(x != x && y != y) {
					s--
				}
				continue
			case x != x:
				x = 0
			}
			if y != y {
				y = 0
			}
			s -= (x - y) * (x - y)
		}
		return s
	}
	t.Accuracy, t.Train = respected(s.TestTriples, 0, nearness), respected(s.TrainTriples, 0, nearness)
	return t, nil
}

// axesOf returns the axes of all features over the given rows.
func axesOf(ev *model.Evidence, rows []int32) []axis {
	axes := make([]axis, len(ev.Schema.Features))
	for f := range axes {
		axes[f] = newAxis(&ev.Schema.Features[f], ev.Columns[f], ev.Weight, rows)
	}
	return axes
}

// view returns the triples, mirrored where the options ask for it.
func (o *ProtocolOptions) view(t [][3]int32) [][3]int32 {
	if o.Mirror {
		return mirrored(t)
	}
	return t
}

// EvaluateTriples fits on a split's training part (points standardised by it) and measures on its test triples
// (METHOD.md 1). The result depends on its arguments alone unless ctx ends.
func EvaluateTriples(ctx context.Context, ev *model.Evidence, s *Split, o ProtocolOptions) (*Trial, error) {
	if err := s.check(ev.Len()); err != nil {
		return nil, err
	}
	if len(s.TrainTriples) == 0 {
		return nil, fmt.Errorf("reading the split: no training triple")
	}
	axes := axesOf(ev, s.Train)
	p := standardise(ev, axes)
	dictionary := family(ev.Schema, axes, p, s.TrainTriples, &o)
	if len(dictionary) == 0 {
		return nil, fmt.Errorf("building the dictionary: no feature has two values")
	}
	view := o.view
	split := halve(s.Train, o.Seed)
	var halves [2]*design
	for h := range halves {
		rows := slices.Clone(split[h])
		slices.Sort(rows)
		var t [][3]int32
		if o.Given {
			t = anchored(s.TrainTriples, o.Seed, uint64(h))
		} else {
			t = drawEven(ev.Class, rows, len(s.TrainTriples)/2, o.Seed+uint64(h))
		}
		halves[h] = &design{}
		if len(t) > 0 {
			halves[h] = newDesign(o.Mode, dictionary, p, view(t))
			halves[h].given = o.Given
		}
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
	parts := make([][]int32, len(axes)) // the features of each number of the points
	for f := range parts {
		parts[f] = []int32{int32(f)}
	}
	var short []int32
	for f, use := range used(dictionary, r.Alpha, .01, parts) {
		if use && !axes[f].levels {
			short = append(short, int32(f))
		}
	}
	// A direction estimates a weight a feature and the mean of each class: it needs ten points for each of these.
	if o.Family == Rich && len(s.Train) >= 10*(len(short)+len(ev.Schema.Classes)) {
		// Each half finds directions of its own, so that the other half measures their worth.
		for h, half := range halves {
			if len(half.triples) == 0 {
				continue
			}
			q, more, _ := extend(p, short, half.triples, split[h], dictionary, &o)
			halves[h] = newDesign(o.Mode, more, q, half.triples)
			halves[h].given = o.Given
		}
		if g, err = choose(ctx, halves, o.Gamma1, o.Gamma2); err != nil {
			return nil, fmt.Errorf("choosing the gammas: %w", err)
		}
		var added int
		p, dictionary, added = extend(p, short, s.TrainTriples, s.Train, dictionary, &o)
		for range added {
			parts = append(parts, short)
		}
		d = newDesign(o.Mode, dictionary, p, view(s.TrainTriples))
		if r, err = d.solve(ctx, g.gamma1, g.gamma2, nil); err != nil {
			return nil, err
		}
	}
	t := &Trial{
		Accuracy: accuracy(dictionary, r.Alpha, p, s.TestTriples),
		Train:    accuracy(dictionary, r.Alpha, p, s.TrainTriples),
		Gamma1:   g.gamma1, Gamma2: g.gamma2, Status: r.Status, Upper: r.Upper, Lower: r.Lower,
	}
	largest := 0.0
	for _, a := range r.Alpha {
		largest = max(largest, math.Abs(a))
	}
	for f, use := range used(dictionary, r.Alpha, .01, parts) {
		if use && f < len(axes) && axes[f].ok {
			t.Features++
			t.Used = append(t.Used, int32(f))
		}
	}
	for f, use := range used(dictionary, r.Alpha, largest/1000, parts) {
		if use && f < len(axes) && axes[f].ok {
			t.Relative++
		}
	}
	return t, nil
}

// extend returns the points and the dictionary with Gaussian and linear kernels along directions of the features added,
// and the number of directions.
func extend(p *points, features []int32, triples [][3]int32, rows []int32, dictionary []Base,
	o *ProtocolOptions) (*points, []Base, int) {
	q := &points{z: slices.Clone(p.z), n: p.n}
	out := slices.Clone(dictionary)
	for _, u := range directions(p, features, triples) {
		if x := q.project(&u, rows); x >= 0 {
			for _, w := range o.Widths {
				out = append(out, Base{Shape: Gaussian, A: x, Width: w})
			}
			out = append(out, Base{Shape: Linear, A: x})
		}
	}
	return q, out, len(q.z) - len(p.z)
}

// used reports by feature whether a kernel of it has more weight than above; parts lists the features of each number.
func used(dictionary []Base, alpha []float64, above float64, parts [][]int32) []bool {
	out := make([]bool, len(parts))
	for k, b := range dictionary {
		if math.Abs(alpha[k]) <= above {
			continue
		}
		if b.A < 0 {
			for f := range out {
				out[f] = true
			}
			break
		}
		for _, f := range parts[b.A] {
			out[f] = true
		}
	}
	return out
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

// family builds the dictionary.
func family(s *model.Schema, axes []axis, p *points, triples [][3]int32, o *ProtocolOptions) []Base {
	switch o.Family {
	case FullGaussian:
		return full(Gaussian, o.Widths)
	case FullPolynomial:
		return full(Polynomial, nil)
	case FullLinear:
		return full(Linear, nil)
	}
	var out []Base
	for _, b := range weak(s, axes, []float64{math.NaN()}) {
		if b.Shape != Gaussian {
			out = append(out, b)
			continue
		}
		widths := o.Widths
		if o.Quantiles != nil {
			widths = widthsOf(p.z[b.A], triples, o.Quantiles)
		}
		for _, w := range widths {
			out = append(out, Base{Shape: Gaussian, A: b.A, Width: w})
		}
		further := o.Further
		if o.Family == Rich && !slices.Contains(further, Linear) {
			further = append(slices.Clone(further), Linear)
		}
		for _, shape := range further {
			if shape == Linear {
				out = append(out, Base{Shape: Linear, A: b.A})
				continue
			}
			for _, w := range widths {
				out = append(out, Base{Shape: shape, A: b.A, Width: w})
			}
		}
	}
	return out
}

// widthsOf returns 1 over quantiles of the squared differences in the triples, each once.
func widthsOf(z []float64, triples [][3]int32, quantiles []float64) []float64 {
	var squares []float64
	for _, c := range triples {
		for _, j := range c[1:] {
			if d := z[c[0]] - z[j]; d*d > 0 {
				squares = append(squares, d*d)
			}
		}
	}
	if len(squares) == 0 {
		return nil
	}
	slices.Sort(squares)
	var out []float64
	for _, q := range quantiles {
		out = append(out, 1/squares[min(int(q*float64(len(squares))), len(squares)-1)])
	}
	return slices.Compact(out)
}
