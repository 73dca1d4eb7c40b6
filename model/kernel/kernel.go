// Package kernel designs a similarity by linear programming (METHOD.md; Fung, Rosales and Rao, IJCAI 2007): a sparse
// mixture of one-feature kernels under which records of a class are more alike than records of different classes. The
// mixture gives a short list of features. The mean similarity of a record to each class is one more input of the
// scorecard; that mean is a sum of one tabulated curve a feature. Where features act together, a product of the kernels
// takes its place.
//
// Begin with Factory: Fit makes the Part of a model, and Component serves it. A fit draws triples of records
// (triples.go), lists the base kernels (dictionary.go), solves for their weights (design.go and package lp) and
// tabulates the curves (curve.go) or fits a product (productfit.go). EvaluateTriples measures the method by the
// protocol of the paper.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/kernel/lp"
)

// Name is the factory's name: the key of its part in models and of its section in snapshots.
const Name = "kernel"

// Options choose the programme.
type Options struct {
	Mode lp.Mode
	// Widths are the width parameters of a number's Gaussian kernels on standardised values: exp(-width (x-y)^2).
	Widths []float64
	// Gamma1 is the price of a feature and Gamma2 the price of one unit of weight. Both are meant for 1,500 triples, and
	// the fit scales them to its own number. With NaN each fit chooses by cross-validation on two halves of the evidence.
	Gamma1, Gamma2 float64
	// Triples is the number of comparisons drawn.
	Triples int
	// Shape is the form of the kernels of numbers: Gaussian or Triangular; with Full Gaussian, Polynomial or Linear.
	Shape Shape
	// Full puts kernels over all features at once in the place of those of one feature each: formulation (4). Input must
	// be Auto or Either then.
	Full bool
	// Single makes each kernel a group of its own: formulation (4), and with Gamma2 = 0 formulation (3). Else the groups
	// are the features: formulation (7).
	Single bool
	// Input is the kind of input that a fit makes.
	Input Input
}

// Input is the kind of input that a fit makes.
type Input uint8

const (
	// Auto is Product where it is better than a sum beyond its standard error on records left out of the fit. Else it is
	// Sum for exchangeable records, and none in a stream (METHOD.md 6.3).
	Auto Input = iota
	// Either is Product where Auto is, else Sum: for a kernel without a scorecard of cells beside it.
	Either
	// Sum is the mean similarity to each class, a sum of one curve a feature.
	Sum
	// Product is a least-squares fit with exp(K), a product of one-feature kernels (METHOD.md 6).
	Product
)

// Default returns the options of the default configuration.
func Default() Options {
	return Options{Mode: lp.Nonneg, Widths: []float64{.1, 1, 10}, Gamma1: math.NaN(), Gamma2: math.NaN(), Triples: 1500}
}

// Factory makes the kernel component of a schema.
type Factory struct {
	options Options
	schema  *model.Schema
	verify  func(*lp.Problem, *lp.Result) error // nil: lp's own
}

// New returns the factory for the schema.
func New(o Options, s *model.Schema) *Factory { return &Factory{options: o, schema: s} }

var (
	_ model.Factory  = (*Factory)(nil)
	_ model.Remarker = (*Factory)(nil)
)

// Name is "kernel".
func (f *Factory) Name() string { return Name }

// Contribution describes the similarity: one input under the term "(kernel)".
func (f *Factory) Contribution() model.Contribution {
	return model.Contribution{Term: "(kernel)", Inputs: 1}
}

// New returns an empty component, which offers nothing until its first Rebase.
func (f *Factory) New(*model.Levels) model.Component { return &Component{schema: f.schema} }

// cvTriples bounds the triples of each half at the choice of the gammas.
const cvTriples = 1000

// Fit draws triples from the evidence, chooses the gammas where they are not given, solves for the weights, verifies
// them, and tabulates the curves on all of the evidence. The solve starts from the weights of the previous part, or
// else of the part that serves a state.
//
// When the deadline of ctx passes on the way, Fit takes the best weights so far, with their gap. When ctx is cancelled,
// or has ended before the start, Fit returns its error. An answer that does not verify leaves the previous weights in
// place, or none where there were none: status Kept. Evidence in which no two classes can be compared gives a part
// without weights: status Empty.
func (f *Factory) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	return f.FitGiven(ctx, ev, previous, nil)
}

// FitGiven is Fit with the caller's triples (i, j, k) of record numbers of the evidence: record i is more like j than
// like k. Without triples (nil) it draws them from the classes, as Fit does. When the gammas are chosen, the triples of
// one half are those whose i lies in that half of the records.
func (f *Factory) FitGiven(ctx context.Context, ev *model.Evidence, previous []byte, given [][3]int32) ([]byte, error) {
	if err := inside("triple", ev.Len(), given); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	decode := func(b []byte) (*Part, error) { return DecodePart(f.schema, b) } // a state is a part
	before, err := model.Before(ev, previous, decode, decode)
	if err != nil {
		return nil, err
	}
	p, err := f.fit(ctx, ev, before, given)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return nil, err
	}
	return p.appendBinary(nil), nil
}

func (f *Factory) fit(ctx context.Context, ev *model.Evidence, before *Part, triples [][3]int32) (*Part, error) {
	o := &f.options
	p := &Part{Mode: o.Mode, Status: Empty}
	classes := len(f.schema.Classes)
	total, share := make([]float64, classes), make([]float64, classes)
	all := 0.0
	rows := make([]int32, ev.Len())
	for i := range rows {
		rows[i] = int32(i)
		total[ev.Class[i]] += ev.Weight[i]
		all += ev.Weight[i]
	}
	for y := range share {
		share[y] = total[y] / all
	}
	axes := make([]axis, len(f.schema.Features))
	for i := range axes {
		axes[i] = newAxis(&f.schema.Features[i], ev.Columns[i], ev.Weight, rows)
	}
	given := triples != nil
	if !given {
		triples = draw(ev.Class, ev.Weight, rows, classes, o.Triples, ev.Seed, growth(ev))
	}
	if err := f.narrow(ctx, ev, axes, len(triples)); err != nil {
		return nil, err
	}
	dictionary := f.dictionary(axes)
	if len(dictionary) == 0 || len(triples) == 0 {
		return p, nil
	}
	pts := standardise(ev, axes)
	d := newDesign(o.Mode, dictionary, pts, triples)
	d.single(o.Single)
	if f.verify != nil {
		d.verify = f.verify
	}
	warm := before.weights(dictionary)
	r, g, err := f.solve(ctx, ev, d, rows, given, warm)
	switch {
	case errors.Is(err, lp.ErrCertificate) && warm != nil:
		r, p.Status = &lp.Result{Alpha: warm.Alpha, Rho: before.Rho, Upper: before.Objective, Lower: before.Bound}, Kept
		g = choice{gamma1: before.Gamma1, gamma2: before.Gamma2}
	case errors.Is(err, lp.ErrCertificate):
		p.Status = Kept
		return p, nil
	case err != nil:
		return nil, err
	default:
		p.Status = Status(r.Status)
	}
	p.Gamma1, p.Gamma2, p.Triples = g.gamma1, g.gamma2, len(triples)
	p.Objective, p.Bound, p.Rho = r.Upper, r.Lower, r.Rho
	p.Train = accuracy(dictionary, r.Alpha, pts, triples)
	if o.Full {
		f.wholly(ctx, ev, axes, p, dictionary, r.Alpha)
		return p, nil
	}
	self := 0.0
	var curves []*curve
	for _, x := range features(dictionary, r.Alpha) {
		var bases []Base
		var alpha []float64
		for k, b := range dictionary {
			if b.A == x && r.Alpha[k] != 0 {
				bases, alpha = append(bases, b), append(alpha, r.Alpha[k])
				self += r.Alpha[k]
				p.Weights = append(p.Weights, Weight{b, r.Alpha[k]})
			}
		}
		c := tabulate(ev, x, &axes[x], bases, alpha, total)
		c.centre(share)
		curves = append(curves, c)
	}
	if o.Input != Sum {
		p.product = f.multiply(ctx, ev, axes, dictionary, r.Alpha, before)
	}
	if len(curves) == 0 {
		p.Status = Forced
		return p, nil
	}
	if o.Input == Auto && p.product == nil && !ev.Exchangeable {
		return p, nil
	}
	p.Beta, p.Total = slope(ev, curves, total, share, self), total
	for _, c := range curves {
		c.scale(p.Beta)
		p.curves = append(p.curves, *c)
	}
	return p, nil
}

// dictionary lists the base kernels. The axes of features that full kernels must not use are not ok after it.
func (f *Factory) dictionary(axes []axis) []Base {
	if !f.options.Full {
		return shaped(weak(f.schema, axes, f.options.Widths), f.options.Shape)
	}
	used := false
	for i := range axes {
		axes[i].ok = axes[i].ok && f.schema.Features[i].Use != model.UseReport && !f.schema.Directed(i)
		used = used || axes[i].ok
	}
	if !used {
		return nil
	}
	return full(f.options.Shape, f.options.Widths)
}

// Widest bounds the features of a dictionary: a vertex of their programme takes an inverse of the square of their
// kernels and groups. solves and solveSteps estimate the work of a fit for its budget: the programmes of the grid on
// two halves and the last one, and the steps for each row and column of one.
const (
	Widest     = 128
	solves     = 40
	solveSteps = 64
)

// narrow leaves out the features that a fit cannot afford, all but the strongest ones (model.Evidence.Strongest): their
// axes are not ok. A programme in the modes with dominance also grows with the square of its points.
func (f *Factory) narrow(ctx context.Context, ev *model.Evidence, axes []axis, triples int) error {
	var usable []int32
	for i := range axes {
		if axes[i].ok && f.schema.Features[i].Use != model.UseReport && !f.schema.Directed(i) {
			usable = append(usable, int32(i))
		}
	}
	if len(usable) == 0 {
		return nil
	}
	each := float64(max(len(f.options.Widths), 1))
	n, err := ev.Afford(len(usable), func(n int) float64 {
		return solves * solveSteps * float64(triples) * (each*float64(n) + 2)
	})
	if err != nil {
		return err
	}
	kept, err := ev.Strongest(ctx, usable, min(n, Widest))
	if err != nil {
		return err
	}
	for _, i := range usable {
		if _, ok := slices.BinarySearch(kept, i); !ok {
			axes[i].ok = false
		}
	}
	return nil
}

// solve chooses the gammas and solves.
func (f *Factory) solve(ctx context.Context, ev *model.Evidence, d *design, rows []int32, given bool,
	warm *lp.Result) (*lp.Result, choice, error) {
	o := &f.options
	var halves [2]*design
	choosing := model.NewWork(ev.Work / 2)
	d.work = model.NewWork(ev.Work / 2)
	if math.IsNaN(o.Gamma1) || math.IsNaN(o.Gamma2) {
		parts := halve(rows, ev.Seed)
		for h := range halves {
			var t [][3]int32
			if given {
				t = anchored(d.triples, ev.Seed, uint64(h))
			} else {
				t = draw(ev.Class, ev.Weight, parts[h], len(f.schema.Classes), min(o.Triples, cvTriples), ev.Seed+1+uint64(h),
					growth(ev))
			}
			halves[h] = &design{}
			if len(t) > 0 {
				halves[h] = newDesign(d.mode, d.dictionary, d.p, t)
				halves[h].single(o.Single)
				halves[h].given, halves[h].verify, halves[h].work = given, d.verify, choosing
			}
		}
	}
	g, err := choose(ctx, halves, o.Gamma1, o.Gamma2)
	if err != nil {
		return nil, g, fmt.Errorf("choosing the gammas: %w", err)
	}
	if warm == nil {
		warm = g.weights // fitted on half of the evidence: a near start, and an answer if the time ends
	}
	r, err := d.solve(ctx, g.gamma1, g.gamma2, warm)
	return r, g, err
}
