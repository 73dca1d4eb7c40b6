package stream

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/replay"
	"liftstream/stream/state"
)

// findings are the facts that a takeover has read of its partition, and the plan that follows from them. They grow
// where the plan meets damage, and lead to another plan then.
type findings struct {
	t     *task
	facts *committed.Facts
	log   *state.Log // of the state topic; nil where the state was kept
	plan  committed.Plan
}

// read reads the facts and makes the plan. left is the state of the generation before, nil where there is none; torn
// says that a broker had left a transaction open.
func (f *findings) read(ctx context.Context, left *kept, torn bool) (err error) {
	o := &f.t.s.o
	r := committed.Reader{
		Client: o.Client, Group: o.Name, Partition: f.t.id, Fingerprint: o.Spec.Options.Fingerprint,
		Carries: o.Under != nil, Newest: f.t.s.newest, Limit: state.Bound(o.Spec), Topics: o.Topics,
	}
	var last *state.Done
	if left != nil {
		last = &left.last
	}
	if f.facts, f.log, err = r.Read(ctx, last, torn); err == nil {
		f.plan = committed.Decide(f.facts, o.Policies)
	}
	return err
}

// decideAgain makes another plan, after facts were added.
func (f *findings) decideAgain() { f.plan = committed.Decide(f.facts, f.t.s.o.Policies) }

// refuse notes that a snapshot is damaged, or in a format that this build does not read.
func (f *findings) refuse(m *state.Manifest, err error) {
	if f.facts.Refused == nil {
		f.facts.Refused = map[uint64]bool{}
	}
	f.facts.Refused[m.Number] = true
	if !errors.As(err, &f.facts.Newer) {
		f.t.log.Error("snapshot refused", zap.Uint64("snapshot", m.Number), zap.Error(err))
	}
}

// lost notes that a model of the journal cannot be had, and reports whether that is the error.
func (f *findings) lost(err error) bool {
	var lost *state.ModelError
	if !errors.As(err, &lost) {
		return false
	}
	f.facts.ModelLost = fmt.Sprintf("the state needs a model of %s that cannot be had: %v", f.t.s.o.Topics.Model, err)
	return true
}

// skips returns the messages that an operator has passed by.
func (f *findings) skips() []state.Skip {
	skips := f.log.Skips()
	for i := range skips {
		s := &skips[i]
		f.t.log.Info("an operator has a message passed by", zap.String("stage", s.Stage), zap.Int64("offset", s.Offset),
			zap.String("why", s.Why))
	}
	return skips
}

// pastSkips returns the keys of skips whose messages are no longer in their topic.
func (f *findings) pastSkips() (keys []string) {
	for _, s := range f.log.Skips() {
		first := f.plan.First.Events
		if s.Stage == codec.StageLabels {
			first = f.plan.First.Labels
		}
		if s.Offset < first {
			keys = append(keys, s.Key())
		}
	}
	return keys
}

// complain logs the facts that should not be.
func (f *findings) complain() {
	log := f.t.log
	if f.log.Foreign > 0 {
		log.Error("records that no stage writes lie in the state topic", zap.Int("records", f.log.Foreign))
	}
	if err := f.facts.DoneErr; err != nil {
		log.Error("the done record cannot be read; the group's offsets are taken", zap.Error(err))
	}
	for _, err := range f.facts.Unread {
		log.Error("snapshot refused", zap.Error(err))
	}
	for _, err := range f.facts.Lesser {
		log.Error("a record of the state topic cannot be read; it is written again", zap.Error(err))
	}
	if f.plan.Behind {
		log.Warn("the group's offsets are not those that the last transaction committed; the transaction's are taken",
			zap.Int64("committed", f.facts.Done.Events), zap.Int64("group", f.facts.Group.Events.Offset))
	}
}

// schemaOf returns the schema under which a snapshot was made, if this configuration can carry its state over.
func (f *findings) schemaOf(m *state.Manifest) (*replay.Schema, error) {
	own := &f.t.s.o
	s, ok := m.Find(model.SectionSchema)
	if !ok {
		return nil, errors.New("it does not say under which schema it was made")
	}
	raw, err := f.log.Section(m, s)
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
func (f *findings) newestSchema() *replay.Schema {
	own, found := &f.t.s.o, f.facts.Manifests
	if len(found) > 0 && found[0].Fingerprint != own.Spec.Options.Fingerprint && own.Under != nil {
		if s, err := f.schemaOf(found[0]); err == nil {
			return s
		}
	}
	return nil
}
