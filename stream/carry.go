package stream

import (
	"context"
	"errors"
	"fmt"
	"liftstream/stream/state"
	"slices"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// carryOver makes the task's state of a snapshot of another schema: it brings it to the committed offsets as the
// configuration of then would have, old journal, models and events included, and takes what the change does not touch
// over to this configuration. So the change lies between two transactions, and nothing is learnt under the new schema
// before a snapshot of it is in the topic (loop): a restart before that does the same again, one after it knows one
// schema only.
func (t *task) carryOver(ctx context.Context, log *state.Log, m *state.Manifest, target state.Position) (err error) {
	o := &t.s.o
	defer func() {
		if t.spec = o.Spec; err != nil {
			t.part, t.at, t.journal, t.redo.begun = nil, state.Position{}, 0, false
			t.redo.x.records = slices.DeleteFunc(t.redo.x.records, func(r txn.Record) bool { return r.Topic == o.Topics.Scores })
		}
	}()
	spec, columns, err := t.origin(log, m)
	if err != nil {
		return err
	}
	t.spec = spec
	err = t.as(&columns, func() error {
		part, entries, err := t.open(log, m, target)
		if err != nil {
			return err
		}
		t.part, t.at, t.journal = part, m.Position, m.Journal
		if err := t.replay(ctx, entries); err != nil {
			return err
		}
		if o.Topics.Labels != "" && target.Labels >= 0 && target.Labels != t.at.Labels {
			return fmt.Errorf("replaying the journal: labels end at offset %d, committed is %d", t.at.Labels, target.Labels)
		}
		return t.replayEvents(ctx, target.Events)
	})
	if err != nil {
		return err
	}
	var change *model.Change
	err = state.Contain(func() (err error) {
		t.part, change, err = t.part.Carry(o.Spec)
		return err
	})
	if err != nil {
		return err
	}
	t.log.Info("the state is carried over to another schema", zap.Int64("offset", t.at.Events), zap.Stringer("change", change))
	return nil
}

// origin returns under which specification and columns a snapshot was made, if this configuration can carry it over.
func (t *task) origin(log *state.Log, m *state.Manifest) (*model.Spec, codec.Options, error) {
	o := &t.s.o
	s, ok := m.Find(model.SectionSchema)
	if !ok {
		return nil, codec.Options{}, errors.New("it does not say under which schema it was made")
	}
	raw, err := log.Section(m, s)
	if err != nil {
		return nil, codec.Options{}, err
	}
	schema, frame, err := model.Origin(raw)
	if err != nil {
		return nil, codec.Options{}, err
	}
	if frame != o.Spec.Options.Frame {
		return nil, codec.Options{}, errors.New("more has changed than features, levels and classes")
	}
	if _, err := model.Relate(schema, o.Spec.Schema); err != nil {
		return nil, codec.Options{}, err
	}
	return o.Under(schema, m.Fingerprint)
}

// columns are those under which the newest transaction read its messages, nil where they are this configuration's own
// or not known.
func (t *task) columns(log *state.Log, found []*state.Manifest) *codec.Options {
	o := &t.s.o
	if len(found) > 0 && found[0].Fingerprint != o.Spec.Options.Fingerprint && o.Under != nil {
		if _, columns, err := t.origin(log, found[0]); err == nil {
			return &columns
		}
	}
	return nil
}

// as runs f while messages are read and scores are written under other columns, if they are not nil.
func (t *task) as(columns *codec.Options, f func() error) (err error) {
	if columns == nil {
		return f()
	}
	decoder, encoder := t.decoder, t.encoder
	defer func() { t.decoder, t.encoder = decoder, encoder }()
	if t.decoder, err = codec.NewDecoder(*columns); err != nil {
		return err
	}
	if t.encoder, err = codec.NewScoreEncoder(*columns); err != nil {
		return err
	}
	return f()
}

// settleCarried writes the first snapshot of a state that was carried over, before anything more is learnt.
func (t *task) settleCarried(ctx context.Context, commit func() error) error {
	for t.carried && ctx.Err() == nil {
		t.phase("writing the state first")
		if err := commit(); err != nil {
			return err
		}
	}
	return nil
}

// sick reports whether an error is the environment's, so that doing the same again may help.
func sick(err error) bool {
	return txn.KindOf(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
