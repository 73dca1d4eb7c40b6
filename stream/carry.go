package stream

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// carryOver makes the task's state of a snapshot of another schema. Under that schema it replays to the committed
// offsets, old journal, models and events included; then it moves the parts that the change does not touch to this
// configuration. So the change lies between two transactions, and nothing is learnt under the new schema before a
// snapshot of it is in the topic (task.snapshotFirst): a restart before that does the same again, one after it knows
// one schema only.
func (o *takeover) carryOver(ctx context.Context) (err error) {
	t, m := o.t, o.plan.Snapshot
	defer func() {
		if err != nil {
			o.unscored = false
			o.x.records = slices.DeleteFunc(o.x.records, func(r txn.Record) bool {
				return r.Topic == t.s.o.Topics.Scores
			})
		}
	}()
	schema, err := o.schemaOf(m)
	if err != nil {
		return err
	}
	err = t.m.Under(schema, func() error {
		entries, err := t.m.Restore(o.log, m, o.plan.Target)
		if err != nil {
			return err
		}
		if err := t.m.Follow(ctx, entries...); err != nil {
			return err
		}
		if err := o.checkLabels(); err != nil {
			return err
		}
		return t.m.EventsTo(ctx, o.plan.Target.Events)
	})
	if err != nil {
		return err
	}
	change, err := t.m.CarryOver()
	if err != nil {
		return err
	}
	t.log.Info("the state is carried over to another schema", zap.Int64("offset", t.m.At.Events),
		zap.Stringer("change", change))
	return nil
}

// schemaOf returns the schema under which a snapshot was made, if this configuration can carry its state over.
func (o *takeover) schemaOf(m *state.Manifest) (*replay.Schema, error) {
	own := &o.t.s.o
	s, ok := m.Find(model.SectionSchema)
	if !ok {
		return nil, errors.New("it does not say under which schema it was made")
	}
	raw, err := o.log.Section(m, s)
	if err != nil {
		return nil, err
	}
	schema, frame, err := model.Origin(raw)
	if err != nil {
		return nil, err
	}
	if frame != own.Spec.Options.Frame {
		return nil, errors.New("more has changed than features, levels and classes")
	}
	if _, err := model.Relate(schema, own.Spec.Schema); err != nil {
		return nil, err
	}
	var out replay.Schema
	out.Spec, out.Codec, err = own.Under(schema, m.Fingerprint)
	return &out, err
}

// newestSchema returns the schema of the newest transaction, nil where it is this configuration's own or not known.
func (o *takeover) newestSchema() *replay.Schema {
	own, found := &o.t.s.o, o.facts.Manifests
	if len(found) > 0 && found[0].Fingerprint != own.Spec.Options.Fingerprint && own.Under != nil {
		if s, err := o.schemaOf(found[0]); err == nil {
			return s
		}
	}
	return nil
}
