package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/report"
	"liftstream/model/report/text"
	"liftstream/model/wire"
)

// partFormat is the version of the binary form, which FORMAT.md describes.
//
// productFormat is that of a part with a product; a part without one is written as before there were products.
// wholeFormat is that of a part with kernels over all features.
const (
	partFormat    = 2
	productFormat = 3
	wholeFormat   = 4
)

// maxWeights bounds the weights of a part.
const maxWeights = 1 << 16

// Status is how the weights of a part came about.
type Status uint8

const (
	Optimal = Status(lp.Optimal) // proved to 1e-9
	Stopped = Status(lp.Stopped) // the time ran out: the best so far
	Inexact = Status(lp.Inexact) // the numbers allowed no better proof
	// Forced: alpha = 0 is the optimum; Objective and Bound prove it.
	Forced Status = 3
	// Kept: the answer did not verify. Weights, Objective and Bound are those of the part before; without one there are no
	// weights.
	Kept Status = 4
	// Empty: no two classes, or no feature, to compare.
	Empty Status = 5
)

func (s Status) String() string {
	switch s {
	case Forced:
		return "forced to zero"
	case Kept:
		return "kept"
	case Empty:
		return "empty"
	}
	return lp.Status(s).String()
}

// Weight is the weight of one base kernel.
type Weight struct {
	Base  Base
	Alpha float64
}

// Part is the kernel component's part of a Model.
type Part struct {
	Mode             lp.Mode
	Status           Status
	Gamma1, Gamma2   float64 // for 1,500 triples
	Triples          int
	Objective, Bound float64
	Rho              float64
	Train            Accuracy // on the triples that it was fitted to
	Beta             float64  // nats a unit of mean similarity
	Weights          []Weight // feature by feature, without zeros
	// Total is the weight of each class's records under the curves; empty in a part of format 1.
	Total   []float64
	curves  []curve
	product *product // nil: the input is that of the curves
}

// weights lays the weights out for a dictionary; nil when nothing is known.
func (p *Part) weights(dictionary []Base) *lp.Result {
	if p == nil || len(p.Weights) == 0 {
		return nil
	}
	by := make(map[Base]float64, len(p.Weights))
	for _, w := range p.Weights {
		by[w.Base] = w.Alpha
	}
	r := &lp.Result{Alpha: make([]float64, len(dictionary)), Rho: p.Rho}
	for k, b := range dictionary {
		r.Alpha[k] = by[b]
	}
	return r
}

func (p *Part) appendBinary(b []byte) []byte {
	format := uint64(partFormat)
	switch {
	case p.product != nil && p.product.whole():
		format = wholeFormat
	case p.product != nil:
		format = productFormat
	}
	b = wire.AppendUvarint(b, format)
	b = append(b, byte(p.Mode), byte(p.Status))
	for _, v := range []float64{p.Gamma1, p.Gamma2, p.Objective, p.Bound, p.Rho, p.Train.Both, p.Train.Single, p.Beta} {
		b = wire.AppendFloat(b, v)
	}
	b = wire.AppendUvarint(b, uint64(p.Triples))
	b = wire.AppendUvarint(b, uint64(len(p.Weights)))
	for _, w := range p.Weights {
		b = append(b, byte(w.Base.Shape))
		b = wire.AppendUvarint(b, uint64(max(w.Base.A, 0)))
		b = wire.AppendFloat(b, w.Base.Width)
		b = wire.AppendFloat(b, w.Alpha)
	}
	b = wire.AppendUvarint(b, uint64(len(p.curves)))
	for i := range p.curves {
		c := &p.curves[i]
		b = wire.AppendUvarint(b, uint64(c.feature))
		b = wire.AppendFloat(b, c.lo)
		b = wire.AppendFloat(b, c.per)
		b = wire.AppendFloats(b, c.missing)
		b = wire.AppendFloats(b, c.nodes)
	}
	b = wire.AppendFloats(b, p.Total)
	if p.product != nil {
		b = p.product.appendBinary(b)
	}
	return b
}

// DecodePart reads a part of a Model of the schema. Hostile bytes give an error.
func DecodePart(s *model.Schema, b []byte) (*Part, error) {
	r := wire.NewReader(b)
	format := r.Uvarint()
	if r.Err() == nil && (format < 1 || format > wholeFormat) {
		return nil, fmt.Errorf("decoding kernel: format %d, this build reads 1 to %d", format, wholeFormat)
	}
	finite := func() float64 {
		v := r.Float()
		if v-v != 0 {
			r.Fail(fmt.Errorf("number %v", v))
		}
		return v
	}
	p := &Part{Mode: lp.Mode(r.Int(int(lp.Literal))), Status: Status(r.Int(int(Empty)))}
	p.Gamma1, p.Gamma2, p.Objective, p.Bound, p.Rho = finite(), finite(), finite(), finite(), finite()
	p.Train.Both, p.Train.Single, p.Beta = finite(), finite(), finite()
	p.Triples = r.Int(math.MaxInt32)
	for n := r.Int(maxWeights); n > 0 && r.Err() == nil; n-- {
		w := Weight{Base: Base{Shape: Shape(r.Int(int(maxShape))), A: int32(r.Int(len(s.Features) - 1))}}
		w.Base.Width, w.Alpha = finite(), finite()
		if format == wholeFormat {
			w.Base.A = -1
		}
		p.Weights = append(p.Weights, w)
	}
	classes := len(s.Classes)
	seen := make([]bool, len(s.Features))
	for n := r.Int(len(s.Features)); n > 0 && r.Err() == nil; n-- {
		c := curve{feature: int32(r.Int(len(s.Features) - 1)), lo: finite(), per: finite(), missing: r.Floats(),
			nodes: r.Floats()}
		if r.Err() != nil {
			break
		}
		if seen[c.feature] {
			return nil, r.Fail(fmt.Errorf("decoding kernel: two curves of feature %d", c.feature))
		}
		seen[c.feature] = true
		c.levels, c.end = s.Features[c.feature].Kind == model.Nominal, levelsEnd(&s.Features[c.feature])
		if len(c.missing) != classes || len(c.nodes)%classes != 0 || len(c.nodes) < classes ||
			!c.levels && len(c.nodes) < 2*classes || !c.levels && !(c.per > 0) {
			return nil, r.Fail(fmt.Errorf("decoding kernel: a curve of %d numbers for %d classes", len(c.nodes), classes))
		}
		for _, v := range append(c.missing, c.nodes...) {
			if !(math.Abs(v) <= maxInput) {
				return nil, r.Fail(fmt.Errorf("decoding kernel: a node of %v", v))
			}
		}
		p.curves = append(p.curves, c)
	}
	if format > 1 {
		p.Total = r.Floats()
		if len(p.Total) != 0 && len(p.Total) != classes {
			return nil, r.Fail(fmt.Errorf("decoding kernel: weights of %d classes, there are %d", len(p.Total), classes))
		}
		for _, v := range p.Total {
			if !(v >= 0 && v <= math.MaxFloat64) {
				return nil, r.Fail(fmt.Errorf("decoding kernel: a class of weight %v", v))
			}
		}
	}
	if format >= productFormat {
		var err error
		if p.product, err = readProduct(s, r, format == wholeFormat); err != nil {
			return nil, err
		}
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("decoding kernel: %w", err)
	}
	return p, nil
}

// maxInput bounds a node of a curve: log-odds of more than this come from damaged bytes.
const maxInput = 1e9

var (
	_ report.Reporter   = (*Factory)(nil)
	_ report.Summariser = (*Factory)(nil)
	_ report.Lister     = (*Factory)(nil)
)

// Report writes the part's section of the fit's report.
func (f *Factory) Report(part []byte, _ *model.Levels, r *report.Report) error {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return err
	}
	r.Kernel = p.Report(f.schema)
	return nil
}

// Summary names the short list of features, heaviest first.
func (f *Factory) Summary(r *report.Report) []string {
	if r.Kernel == nil {
		return nil
	}
	list := "none"
	if len(r.Kernel.Features) > 0 {
		list = text.Some(r.Kernel.Features, listed)
	}
	return []string{fmt.Sprintf("Kernel (%s): records of a class are most alike in %s", r.Kernel.Status, list)}
}

// listed is the number of features that Summary names.
const listed = 10

// ShortList returns the short list of a part.
func (f *Factory) ShortList(part []byte) ([]int32, error) {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return nil, err
	}
	return p.ShortList(), nil
}

// Report is the report's section about the kernel: the features are the short list, those with a weight above a
// thousandth of the largest, heaviest first.
func (p *Part) Report(s *model.Schema) *report.Kernel {
	k := &report.Kernel{Mode: p.Mode.String(), Status: p.Status.String(), Objective: report.Number(p.Objective),
		Bound: report.Number(p.Bound), Features: []string{}, Weights: []report.KernelWeight{}}
	for _, f := range p.ShortList() {
		k.Features = append(k.Features, s.Features[f].Name)
	}
	for _, w := range p.Weights {
		name := allFeatures
		if w.Base.A >= 0 {
			name = s.Features[w.Base.A].Name
		}
		k.Weights = append(k.Weights, report.KernelWeight{Feature: name, Width: report.Number(w.Base.Width),
			Alpha: report.Number(w.Alpha)})
	}
	return k
}

// allFeatures stands in a report where the name of a feature would, for a kernel over all of them.
const allFeatures = "(all)"

// shownFeatures bounds the features that a remark names.
const shownFeatures = 8

// Remark tells the outcome of the fit, whether the input is a product, and the short list of features. It reports
// trouble when the weights did not verify or the time was too short.
func (f *Factory) Remark(part []byte) (model.Remark, error) {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return model.Remark{}, err
	}
	r := model.Remark{Outcome: strings.ReplaceAll(p.Status.String(), " ", "_"),
		Trouble: p.Status == Kept || p.Status == Stopped}
	switch p.Status {
	case Kept:
		if r.Text = "the new weights do not verify and those of the model before are kept"; len(p.Weights) == 0 {
			r.Text = "the weights do not verify and there is no kernel before them to keep"
		}
	case Stopped:
		r.Text = fmt.Sprintf("the time of the fit ended first; the weights are the best so far, "+
			"between %.6g and the bound %.6g", p.Objective, p.Bound)
	case Empty:
		r.Text = "there are no two classes, or no features, to compare"
	case Forced:
		r.Text = "no similarity is worth its price"
	default:
		r.Text = p.Status.String()
	}
	if p.product != nil {
		r.Text += fmt.Sprintf("; the input is %s over %d prototypes", p.product.kind(), len(p.product.key))
	}
	list := p.ShortList()
	for i, x := range list {
		switch i {
		case shownFeatures:
			return r, nil
		case 0:
			r.Text += fmt.Sprintf("; %d of %d features: ", len(list), len(f.schema.Features))
		default:
			r.Text += ", "
		}
		r.Text += f.schema.Features[x].Name
	}
	return r, nil
}

// ShortList returns the features with a weight above a thousandth of the largest (METHOD.md 5), heaviest first.
func (p *Part) ShortList() []int32 {
	top := map[int32]float64{}
	largest := 0.0
	var order []int32
	for _, w := range p.Weights {
		if w.Base.A < 0 {
			continue // a kernel over all features selects none
		}
		if _, ok := top[w.Base.A]; !ok {
			order = append(order, w.Base.A)
		}
		top[w.Base.A] = max(top[w.Base.A], math.Abs(w.Alpha))
		largest = max(largest, math.Abs(w.Alpha))
	}
	out := order[:0]
	for _, f := range order {
		if top[f] > largest/1000 {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(top[b], top[a]) })
	return out
}
