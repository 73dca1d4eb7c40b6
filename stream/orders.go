package stream

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// takeModel swaps in the version that is to serve, unless it serves already or was refused before: the newest one, or
// the one of a person's order (state.Order), which may be older. A version that serves already returns too, where the
// order came before this partition took a later one, for the order means to undo the labels since. takeModel reports
// whether it did, and the return that was obeyed.
func (t *task) takeModel() (swapped bool, orders state.Obeyed) {
	s := t.s.models.Serves()
	serving := t.m.Part.ModelVersion()
	switch {
	case s.Version == serving && s.By <= model.Returned(t.m.Part), s.Version < serving && s.Order == 0,
		s == t.refused, t.snapshotFirst:
		t.ahead.drop()
		return false, orders
	}
	var err error
	if !s.Return {
		if swapped, err = swapAhead(t, s); !swapped {
			return false, orders
		}
	}
	if s.Return || s.Order > 0 && errors.Is(err, model.ErrModelTooOld) {
		orders = state.Obeyed{Returned: true, By: s.By}
		err = t.m.Return(s.Version, s.By)
	}
	if err != nil {
		t.refused = s
		t.s.o.Metrics.Restores.WithLabelValues("model_refused").Inc()
		t.log.Warn("model not taken over", zap.Int64("model", s.Version), zap.Error(err))
		return false, state.Obeyed{}
	}
	if s.Order > 0 {
		o := t.s.models.Order()
		t.log.Info("another model serves, as ordered", zap.Int64("model", s.Version), zap.Int64("before", serving),
			zap.Bool("as_published", orders.Returned), zap.String("order", o.Verb), zap.Time("given", o.Time),
			zap.String("client", o.Client), zap.String("why", o.Why))
	}
	return true, orders
}

// switchLearning has the state learn or not, as the configuration and the newest order say. It returns the change.
func (t *task) switchLearning() state.Switch {
	o := t.s.models.Order()
	on := !t.s.o.LearningOff && !o.Still
	if on == model.Learning(t.m.Part) || t.snapshotFirst {
		return state.Unchanged
	}
	model.SetLearning(t.m.Part, on)
	log := t.log.With(zap.Int64("offset", t.m.At.Events), zap.Bool("configured_off", t.s.o.LearningOff))
	if o.Number > 0 {
		log = log.With(zap.String("order", o.Verb), zap.Time("given", o.Time), zap.String("client", o.Client),
			zap.String("why", o.Why))
	}
	if !on {
		log.Info("learning is off: records are scored and not learnt")
		return state.Off
	}
	log.Info("learning is on")
	return state.On
}

// unobeyed reports whether a state that has just been taken over differs from the orders, which then come before its
// next record.
func (t *task) unobeyed() bool {
	o := t.s.models.Order()
	return t.s.models.Serves().Order > 0 || unobeyedErasure(t) ||
		model.Learning(t.m.Part) == (t.s.o.LearningOff || o.Still)
}

// frozen reports whether the configuration or the newest order forbids fits.
func (t *trainer) frozen() bool {
	o := t.s.models.Order()
	return o.Frozen || o.Still || t.s.o.LearningOff
}

// rest drops the fitted models that are not published. first says that there is no model yet.
func rest(t *trainer, first bool) error {
	t.lacks(first, "fits are frozen ('liftstream model unfreeze', learning: on)")
	if t.resting {
		return errNotYet
	}
	t.resting = true
	o := t.s.models.Order()
	t.s.o.Log.Info("no model is fitted", zap.Bool("configured_off", t.s.o.LearningOff), zap.String("order", o.Verb),
		zap.Time("given", o.Time), zap.String("client", o.Client), zap.String("why", o.Why))
	if t.waiting != nil || t.ready != nil {
		t.waiting, t.ready, t.tried = nil, nil, nil
		t.cold.tried = 0
		t.s.o.Metrics.Candidate.Reset()
		t.s.o.Metrics.Fits.WithLabelValues("dropped").Inc()
	}
	return errNotYet
}

// publishOffer publishes the model that a person has offered, or drops one that cannot serve. Neither the gate nor a
// freeze holds it up; it serves at once, unless another version is pinned.
func publishOffer(ctx context.Context, t *trainer) error {
	s := t.s
	if err := needStates(ctx, t); err != nil {
		return err
	}
	m, err := s.models.Offer()
	if err != nil {
		s.o.Log.Warn("an offered model is not published", zap.Error(err))
		if err := t.producer.Commit(ctx, txn.Transaction{Records: state.Taken(s.models, 0, s.o.Now())}); err != nil {
			t.producer = nil
			return err
		}
		return s.models.Reach(ctx)
	}
	offered := *m
	if offered.Version, err = t.nextVersion(); err != nil {
		return err
	}
	if err := t.publish(ctx, &offered, nil, state.Taken(s.models, offered.Version, s.o.Now())...); err != nil {
		return err
	}
	o := s.models.Order()
	s.o.Log.Info("model published, as ordered", zap.Int64("model", offered.Version), zap.String("order", o.Verb),
		zap.Time("given", o.Time), zap.String("client", o.Client), zap.String("why", o.Why))
	return s.models.Reach(ctx)
}

// needStates reads the partitions of the state topic on, which say which versions a restart needs.
func needStates(ctx context.Context, t *trainer) error {
	for p, l := range t.logs {
		if err := t.follow(ctx, p, l); err != nil {
			return err
		}
	}
	return nil
}
