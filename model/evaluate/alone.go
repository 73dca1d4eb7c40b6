package evaluate

import (
	"context"
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/wire"
)

// Alone is the factory of a scorecard that adds the components' log-lifts to the base rates and learns nothing but
// these: p_c proportional to b_c exp(sum of inputs_c), b_c = (n_c + w) / (n + C w), w being model.Unit, so that the
// scale of weights changes nothing. With one component it says how good the component is by itself.
func Alone(s *model.Schema) model.ScorecardFactory { return alone{s} }

type alone struct{ schema *model.Schema }

func (a alone) Name() string { return "alone" }

func (a alone) New(*model.Levels) model.Scorecard {
	return &rates{counts: make([]float64, len(a.schema.Classes)), schema: a.schema}
}

// Fit counts the classes of the evidence.
func (a alone) Fit(ctx context.Context, ev *model.Evidence, _ *model.Offer, _ []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := rates{counts: make([]float64, len(a.schema.Classes))}
	for i, w := range ev.Weight {
		r.add(ev.Class[i], w)
	}
	return r.AppendState(nil), nil
}

// rates is that scorecard: class counts of the model and of the records this partition has learnt since.
type rates struct {
	schema  *model.Schema
	counts  []float64
	squares float64 // sum of the squared weights
}

var _ model.Scorecard = (*rates)(nil)

func (r *rates) Learn(ex *model.Example) {
	if ex.Weight > 0 {
		r.add(ex.Class, ex.Weight)
	}
}

func (r *rates) Retract(ex *model.Example) {
	if ex.Weight > 0 {
		r.add(ex.Class, -ex.Weight)
	}
}

// add counts a record, one of a negative weight as taken back.
func (r *rates) add(class int32, weight float64) {
	r.counts[class] += weight
	r.squares += weight * math.Abs(weight)
}

func (r *rates) InputCount() int { return 0 }

func (r *rates) Inputs(model.Row, []float64) {}

func (r *rates) AppendState(b []byte) []byte {
	return wire.AppendFloat(wire.AppendFloats(b, r.counts), r.squares)
}

func (r *rates) LoadState(b []byte) error {
	in := wire.NewReader(b)
	in.FloatsInto(r.counts)
	r.squares = in.Float()
	for _, v := range append(r.counts[:len(r.counts):len(r.counts)], r.squares) {
		if !(v >= 0) || math.IsInf(v, 1) {
			in.Fail(fmt.Errorf("a class of weight %v", v))
		}
	}
	return in.Done()
}

func (r *rates) Rebase(rb *model.Rebase) error {
	if err := r.LoadState(rb.Part); err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	rb.Since(func(ex *model.Example) bool {
		r.Learn(ex)
		return true
	})
	return nil
}

// SetInputs changes nothing: all inputs count alike.
func (r *rates) SetInputs([][]uint64) {}

// PendingLen is the classes' propensities.
func (r *rates) PendingLen() int { return len(r.counts) }

func (r *rates) Score(_ model.Row, inputs, pending, p []float64) {
	k := len(p)
	top := math.Inf(-1)
	for c := range p {
		p[c] = math.Log(r.BaseRate(int32(c)))
		for i := c; i < len(inputs); i += k {
			p[c] += inputs[i]
		}
		top = max(top, p[c])
	}
	for c := range p {
		p[c] = max(math.Exp(p[c]-top), 1e-12)
	}
	n := sum(p)
	for c := range p {
		p[c] /= n
	}
	copy(pending, p)
}

// Remembers is true: inputs are not learnt from.
func (r *rates) Remembers([]float64) bool { return true }

func (r *rates) LearnScored(ex *model.Example, _, _ []float64) { r.Learn(ex) }

// Effects writes no lifts: rates have none of a single feature.
func (r *rates) Effects(row model.Row, pending []float64, target int32, dst []model.Reason) []model.Reason {
	for f := range r.schema.Features {
		if r.schema.Features[f].Use == model.UseScore {
			dst = append(dst, model.Reason{Feature: int32(f), Value: row[f], Lift: math.NaN()})
		}
	}
	b, p := r.BaseRate(target), pending[target]
	intercept := math.Log(b / (1 - b))
	dst = append(dst, model.Reason{Feature: model.TermIntercept, Value: math.NaN(), Effect: intercept, Lift: math.NaN()})
	return append(dst,
		model.Reason{Feature: model.TermOf(0), Value: math.NaN(), Effect: math.Log(p/(1-p)) - intercept, Lift: math.NaN()})
}

func (r *rates) Lift([]float64, int32, int) float64 { return math.NaN() }

func (r *rates) BaseRate(class int32) float64 {
	n := sum(r.counts)
	w := model.Unit(n, r.squares)
	return (r.counts[class] + w) / (n + w*float64(len(r.counts)))
}

func sum(v []float64) (n float64) {
	for _, x := range v {
		n += x
	}
	return n
}
