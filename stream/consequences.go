package stream

import (
	"fmt"

	"go.uber.org/zap"

	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/topics"
)

// stop returns the error with which the plan ends the stage, nil where it does not.
func (f *findings) stop() error {
	t, p := f.t, &f.plan
	if p.Newer != nil {
		return newerState(t.id, p.Newer)
	}
	if p.Foreign != "" {
		return &topics.MismatchError{Problem: fmt.Sprintf("partition %d: %s", t.id, p.Foreign)}
	}
	if p.Stop == nil {
		return nil
	}
	t.s.o.Metrics.Policies.WithLabelValues(p.Stop.Cause.String(), "fail").Inc()
	return &PolicyError{Policy: p.Stop.Cause.String(), Partition: t.id, Problem: p.Stop.Text,
		Remedy: remedies[p.Stop.Cause]}
}

// remedies are the ways out that are no mere rebuild.
var remedies = map[committed.Cause]string{
	committed.SchemaChanged: "policy.schema_changed is fail: set it to rebuild to keep the parts that mention no " +
		"changed feature, and to begin the rest anew",
	committed.OffsetMoved: "policy.offset_moved is fail: skip takes the later of the two offsets, so that nothing is " +
		"scored twice and events between them are learnt without a score; rescore takes the earlier one, so that events " +
		"behind it are scored again, by a state that is learnt anew",
	committed.TopicShared: "policy.topic_shared is fail: give each stage a topic of its own (topics.scores), or, where " +
		"the other one has ended or both are to share it, set the policy to accept: each message names its stage",
	committed.ModelLost: "policy.model_lost is fail: give the model topic its records back, or set the policy to " +
		"rebuild to go on with an empty state from what is there; no event is scored twice",
}

// count counts and logs the policies that the plan applies.
func (f *findings) count() {
	policies, p := f.t.s.o.Metrics.Policies, &f.plan
	for _, c := range p.Lost {
		policies.WithLabelValues(c.String(), "rebuild").Inc()
	}
	if p.Moved.Any() {
		policy := f.t.s.o.OffsetMoved.String()
		policies.WithLabelValues(committed.OffsetMoved.String(), policy).Inc()
		f.t.log.Warn("offsets were moved", zap.Stringer("offsets", &p.Moved), zap.String("policy", policy))
	}
	for _, x := range p.Problems {
		f.t.log.Warn("rebuilding the state", zap.Stringer("policy", x.Cause), zap.String("problem", x.Text))
	}
	switch {
	case p.Origin == committed.CarryOver:
		policies.WithLabelValues(committed.SchemaChanged.String(), "carried").Inc()
	case p.Origin == committed.Nothing && p.Cause != committed.None && p.Cause != committed.OffsetMoved:
		policies.WithLabelValues(p.Cause.String(), "rebuild").Inc()
	}
}

// giveUp takes the records that tell of the former state out of the state topic, with the transaction that claims the
// partition: the next owner could take it for this one before there is a snapshot. A reader that is so slow that it
// misses the tombstones sees the record before them.
func giveUp(t *task, x *transaction, former []string) {
	if len(former) == 0 {
		return
	}
	t.writeState(x, state.Change{Key: state.BeginKey, Value: state.EncodeBegin(t.last.Number + 1)})
	for _, key := range former {
		t.writeState(x, state.Change{Key: key})
	}
}

// modelLost notes that a model of the journal cannot be had, and reports whether that is the error.
func (o *takeover) modelLost(err error) bool {
	lost := o.lost(err)
	if lost {
		o.rerun.forget()
	}
	return lost
}
