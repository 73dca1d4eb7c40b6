package evaluate

import (
	"cmp"
	"context"

	"liftstream/model"
)

// sense refuses a model of method k where the labels since the serving one look inverted, as the trainer of a stage
// does.
func (d *driver) sense(ctx context.Context, k int, states model.Held, v *model.Verdict) error {
	if d.serving[k] == nil {
		return nil
	}
	s, err := model.SenseOf(ctx, d.methods[k].Spec, cmp.Or(d.former[k], d.serving[k]), states)
	if err != nil {
		return err
	}
	first := d.inverted[k]
	if first == 0 {
		first = d.run.Learnt
	}
	if s.Refuse(v, float64(d.run.Learnt-first)) {
		d.inverted[k] = first
	}
	return nil
}

// serves makes m the serving model of method k. The one before it tells the sense of labels from now on, unless models
// were refused while it served: then labels have another sense by now.
func (d *driver) serves(k int, m *model.Model) {
	d.former[k] = d.serving[k]
	if d.inverted[k] > 0 {
		d.former[k] = nil
	}
	d.serving[k], d.inverted[k] = m, 0
}

// refuse takes note of a model of method k that does not serve.
func (d *driver) refuse(k int, v model.Verdict) {
	d.run.Refused++
	d.run.Verdicts = append(d.run.Verdicts, FitVerdict{d.methods[k].Name, d.run.Learnt, v})
}
