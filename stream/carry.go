package stream

import (
	"context"

	"go.uber.org/zap"
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
			o.rerun.forget()
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
