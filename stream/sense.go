package stream

import (
	"cmp"
	"context"
	"math"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/state"
)

// newVerdict returns the verdict of the present snapshots on a model, without the figures of the gate.
func newVerdict(t *trainer, clocks map[int32]float64) *state.GateVerdict {
	o, nan := &t.s.o, math.NaN()
	v := &state.GateVerdict{Number: 1, Fingerprint: o.Spec.Options.Fingerprint, Clocks: clocks,
		Verdict: model.Verdict{New: nan, Old: nan, Low: nan, High: nan, Gate: o.Spec.Options.Gate}}
	if before := t.s.models.Verdict(); before != nil {
		v.Number = before.Number + 1
	}
	if serving := t.previous(); serving != nil {
		v.Previous = serving.Version
	}
	return v
}

// lookAtSense makes v a refusal where the labels of the states look inverted or one-sided to the serving model, unless
// a person trusts them or they have looked so for model.InvertedFor labelled records (model/MODEL.md 6). It takes at
// most the time of a fit.
func lookAtSense(ctx context.Context, t *trainer, states model.States, v *state.GateVerdict) error {
	serving := t.previous()
	if serving == nil {
		return nil
	}
	budget, cancel := context.WithTimeout(ctx, t.s.o.FitBudget)
	defer cancel()
	var s model.Sense
	err := state.Contain(func() (err error) {
		s, err = model.SenseOf(budget, t.s.o.Spec, cmp.Or(former(t, serving), serving), states)
		return err
	})
	if err != nil || !s.Inverted() {
		return err
	}
	log := t.s.o.Log.With(zap.Stringer("sense", &s), zap.Int64("serving", serving.Version))
	if t.s.models.Trusted() {
		log.Info("labels look " + s.Look() + ", and are trusted as ordered ('liftstream model trust')")
		return nil
	}
	since := 0.
	for _, before := range t.s.models.Verdicts() {
		if before.Reason == model.Inverted && before.Previous == serving.Version &&
			before.Fingerprint == v.Fingerprint {
			since = before.Since + max(v.Labelled()-before.Labelled(), 0)
		}
	}
	if !s.Refuse(&v.Verdict, since) {
		log.Warn("labels look "+s.Look()+", for so long that they are trusted", zap.Float64("labelled_records", since))
		return nil
	}
	v.Previous, v.Since, v.Note = serving.Version, since, "labels look "+s.Look()+": "+s.String()
	return nil
}

// former is the model that served before the serving one: this one may have been published when an inversion had begun,
// and have learnt some of it, so that inverted labels look right to it and right ones inverted. nil where it is not at
// hand, or where models were refused while it served: then labels have another sense by now.
func former(t *trainer, serving *model.Model) *model.Model {
	for _, v := range t.s.models.Verdicts() {
		if v.Reason == model.Inverted && v.Previous == serving.Info.Previous {
			return nil
		}
	}
	m, err := t.s.models.Get(serving.Info.Previous)
	if err != nil || m.Fingerprint != serving.Fingerprint {
		return nil
	}
	return m
}

// publishRefusal publishes the verdict on a model that is not to serve.
func publishRefusal(ctx context.Context, t *trainer, v *state.GateVerdict) error {
	if err := t.publish(ctx, nil, v); err != nil {
		return err
	}
	t.decided(v)
	if v.Reason == model.Inverted {
		t.tried = nil // the topic has the same clocks, and a person may take them back
	}
	t.s.o.Metrics.Fits.WithLabelValues("refused").Inc()
	t.s.refusals.Add(1)
	return nil
}

// publishFailure publishes that a fit has come to no model, or to none that could be compared. That is for people: the
// next fit is due as if it had not been.
func publishFailure(ctx context.Context, t *trainer, snaps map[int32]*state.Manifest, because string) error {
	v := newVerdict(t, clocks(snaps))
	v.Reason, v.Note = model.Failed, because
	t.s.o.Metrics.Verdicts.WithLabelValues(v.Reason.String()).Inc()
	return t.publish(ctx, nil, v)
}

// counts reports whether the records of a verdict have had their fit: not those of a fit that came to nothing, nor
// those of labels that a person trusts by now.
func counts(t *trainer, v *state.GateVerdict) bool {
	return v != nil && v.Fingerprint == t.s.o.Spec.Options.Fingerprint && v.Reason != model.Failed &&
		!(v.Reason == model.Inverted && t.s.models.Trusted())
}
