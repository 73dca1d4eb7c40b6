package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/txn"
)

// trainer runs where partition 0 is owned. It knows the partitions only by their snapshots in the state topic, so it
// does not matter in which process they live.
type trainer struct {
	s        *Stage
	producer *txn.Producer
	packer   *packer
	logs     []*stateLog
	began    time.Time
	last     time.Time // of the last fit
	tried    float64   // labelled records at the last fit, published or not
}

// train fits and publishes until ctx ends. Errors of the environment are waited for.
func (s *Stage) train(ctx context.Context) error {
	t := &trainer{s: s, packer: newPacker(), began: s.o.Now()}
	for range s.partitions {
		l := newStateLog()
		l.newest, l.forgets = s.newest, true
		l.limit = stateBound(s.o.Spec)
		t.logs = append(t.logs, l)
	}
	wait := 100 * time.Millisecond
	for ctx.Err() == nil {
		err := t.step(ctx)
		switch {
		case err == nil:
			wait = 100 * time.Millisecond
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errNotYet):
			// Looking costs requests for every partition.
			wait = min(max(s.o.FitEvery/20, 100*time.Millisecond), 2*time.Second)
		case txn.KindOf(err) == txn.Fenced:
			return nil
		default:
			t.producer = nil
			s.o.Log.Warn("trainer", zap.Error(err))
			wait = min(2*wait, 5*time.Second)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

func (t *trainer) step(ctx context.Context) error {
	o := &t.s.o
	if t.producer == nil {
		id := o.Name + "-trainer"
		p, err := o.Client.NewProducer(ctx, id, transactionTimeout)
		if err != nil {
			return fmt.Errorf("taking over the transactional id %s: %w", id, err)
		}
		// A broker that died may have left its last publication open, see txn.Producer.Discard.
		if open, err := t.s.undecided(ctx, map[string][]int{o.Topics.Model: {0}}); err != nil {
			return err
		} else if err := p.Discard(ctx, open); err != nil {
			return fmt.Errorf("ending what a broker has left open: %w", err)
		}
		// What a former trainer published is decided now and nobody else can publish: only after all of it is read is the
		// next version a new one.
		if err := t.s.models.reach(ctx); err != nil {
			return err
		}
		t.producer = p
	}
	if newest, _ := t.s.models.head(); newest == 0 && o.Initial != nil {
		m := *o.Initial
		m.Version = 1
		return t.publish(ctx, &m)
	}
	due := t.last.IsZero() || o.Now().Sub(t.last) >= o.FitEvery
	if !due {
		return errNotYet
	}
	var labelled float64
	snaps, others := map[int32]*manifest{}, 0
	for p, l := range t.logs {
		if err := l.follow(ctx, o.Client, o.Topics.State, p); err != nil {
			return err
		}
		found, _ := l.manifests()
		if len(found) > 0 && found[0].fingerprint != o.Spec.Options.Fingerprint {
			others++
		}
		for _, m := range found {
			if m.fingerprint == o.Spec.Options.Fingerprint {
				snaps[int32(p)] = m
				labelled += m.labelled
				break
			}
		}
	}
	if others > 0 && o.Now().Sub(t.began) < o.Patience {
		return errNotYet // partitions that are about to be carried over to this configuration belong into its first model
	}
	previous := t.previous()
	seen := t.tried
	if previous != nil {
		var n float64
		for _, m := range previous.Marks {
			n += m.Clock
		}
		seen = max(seen, n)
	}
	if labelled == 0 || labelled-seen < float64(o.FitRecords) {
		return errNotYet
	}
	return t.fit(ctx, snaps, previous, labelled)
}

// previous is the newest readable model, nil when there is none of this configuration.
func (t *trainer) previous() *model.Model {
	m := t.s.models.readable()
	if m == nil || m.Fingerprint != t.s.o.Spec.Options.Fingerprint {
		return nil
	}
	return m
}

// errNotYet is returned by a step that finds too little to fit.
var errNotYet = errors.New("not yet")

func (t *trainer) fit(ctx context.Context, snaps map[int32]*manifest, previous *model.Model, labelled float64) error {
	o := &t.s.o
	states := map[int32]map[string][]byte{}
	for p, m := range snaps {
		sections, err := t.logs[p].sections(m)
		if err != nil {
			o.Log.Warn("fitting without a partition whose snapshot cannot be read", zap.Int32("partition", p), zap.Error(err))
			continue
		}
		states[p] = sections
	}
	began := o.Now()
	t.last, t.tried = began, labelled
	budget, cancel := context.WithTimeout(ctx, o.FitBudget)
	defer cancel()
	var m *model.Model
	var accepted bool
	err := contained(func() (err error) {
		m, accepted, err = model.Fit(budget, o.Spec, states, previous)
		return err
	})
	if err != nil && ctx.Err() != nil {
		// Stopped, not failed: whoever owns partition 0 next fits anew.
		o.Log.Info("fit cancelled: the stage stops, or partition 0 has another owner", zap.Duration("after", o.Now().Sub(began)))
		return err
	}
	o.Metrics.FitTime.Observe(o.Now().Sub(began).Seconds())
	if err != nil {
		o.Metrics.Fits.WithLabelValues("failed").Inc()
		o.Log.Warn("fit failed; the serving model stays", zap.Error(err))
		return nil
	}
	newest, _ := t.s.models.head()
	if m.Version = newest + 1; m.Version >= maxNumber {
		return fmt.Errorf("the model topic holds version/%d, which no stage has written: delete it by a tombstone", newest)
	}
	log := o.Log.With(zap.Int64("model", m.Version), zap.Int("records", m.Info.Records), zap.Float64("log_loss", m.Info.GateNew), zap.Float64("serving_log_loss", m.Info.GateOld))
	log = t.remarks(m, log)
	if !accepted {
		o.Metrics.Fits.WithLabelValues("refused").Inc()
		t.s.refusals.Add(1)
		log.Warn("fit refused by the gate; the serving model stays")
		return nil
	}
	if err := t.publish(ctx, m); err != nil {
		return err
	}
	o.Metrics.Fits.WithLabelValues("published").Inc()
	t.s.fits.Add(1)
	log.Info("model published", zap.Duration("took", o.Now().Sub(began)))
	return nil
}

// remarks counts what the factories have to say of the model's parts, warns of trouble, and returns the log with the rest
// as fields.
func (t *trainer) remarks(m *model.Model, log *zap.Logger) *zap.Logger {
	o := &t.s.o
	for _, f := range o.Spec.Components {
		says, ok := f.(model.Remarker)
		if !ok {
			continue
		}
		r, err := says.Remark(m.Parts[f.Name()])
		if err != nil {
			log.Warn("a part of the new model cannot be read", zap.String("component", f.Name()), zap.Error(err))
			continue
		}
		o.Metrics.Parts.WithLabelValues(f.Name(), r.Outcome).Inc()
		if r.Trouble {
			log.Warn("a part of the new model is not what it should be", zap.String("component", f.Name()), zap.String("because", r.Text))
			continue
		}
		log = log.With(zap.String(f.Name(), r.Text))
	}
	return log
}

func (t *trainer) publish(ctx context.Context, m *model.Model) error {
	o := &t.s.o
	needed := map[int64]bool{}
	for _, l := range t.logs {
		found, _ := l.manifests()
		for _, m := range found {
			needed[m.model] = true
			if entries, err := l.journal(m.journal); err == nil {
				for _, e := range entries {
					needed[e.model] = true
				}
			}
		}
	}
	err := t.producer.Commit(ctx, txn.Transaction{Records: t.s.models.publication(t.packer, m, needed, o.Now(), t.s.format())})
	if err != nil {
		t.producer = nil // whether it took effect shows in the topic
		return fmt.Errorf("publishing model %d: %w", m.Version, err)
	}
	// The task that follows the topic must see it before the next decision.
	_, changed := t.s.models.head()
	if v, _ := t.s.models.head(); v >= m.Version {
		return nil
	}
	select {
	case <-changed:
	case <-time.After(time.Second):
		t.producer = nil // it may have been left open, and the next one must not be committed together with it
	case <-ctx.Done():
	}
	return nil
}
