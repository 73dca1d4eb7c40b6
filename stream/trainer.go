package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// trainer runs where partition 0 is owned. It knows the partitions only by their snapshots in the state topic, so it
// does not matter in which process they live.
//
// A model is made of the newest snapshots, then waits until later snapshots hold enough labelled records that neither
// it nor the serving model had learnt, and is compared on those (model.Compare). So the trainer keeps, compressed as
// they lie in the topic, the two newest snapshots of each partition and the one that the waiting model was made of.
type trainer struct {
	s        *Stage
	producer *txn.Producer
	packer   *state.Packer
	logs     []*state.Log
	began    time.Time
	last     time.Time         // of the last fit
	holds    map[int64]bool    // versions that may hold records, see mayHold
	tried    map[int32]float64 // labelled records of the partitions at the last fit or verdict of this trainer
	waiting  *candidate
	cold     coldStart
	work     int64            // model.Options.Work of the next fit
	late     int              // how often the time of the first fit was doubled
	slow     bool             // a fit has passed its time, see afford
	ready    *model.Model     // of the cold start, fitted and not yet published
	failures int              // steps that failed, one after the other
	resting  bool             // it has said that it does not fit
	why      string           // the last fit failed
	alarms   map[int32]told   // of the partitions, in the model topic; nil = not read yet
	looked   map[int32]uint64 // 1 + number of the snapshot that was looked at for alarms
	early    bool             // an alarm has come since the last fit
	erased   uint64           // number of the newest order to forget that it knows, see erasing
}

// candidate is a fitted model that waits for its verdict.
type candidate struct {
	model *model.Model
	from  map[int32]*state.Snapshot // that it was made of
	made  time.Time
	took  time.Duration
	first bool // no model was published before
	alone bool // no partition has a structure to compare with
}

// train fits and publishes until ctx ends. Errors of the environment are waited for.
func (s *Stage) train(ctx context.Context) error {
	defer s.o.Metrics.Candidate.Reset()
	defer s.o.Metrics.Unfitted.Reset()
	defer s.trouble("")
	t := &trainer{s: s, packer: state.NewPacker(), began: s.o.Now(), cold: newColdStart(&s.o),
		looked: map[int32]uint64{}}
	defer t.lacking(nil)
	for range s.partitions {
		l := state.NewLog()
		l.Newest, l.Forgets = s.newest, true
		l.Limit = state.Bound(s.o.Spec)
		t.logs = append(t.logs, l)
	}
	wait := 100 * time.Millisecond
	for ctx.Err() == nil {
		err := t.step(ctx)
		t.tell(ctx, err)
		switch {
		case err == nil:
			wait = 100 * time.Millisecond
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errNotYet):
			// Looking costs requests for every partition.
			if wait = min(max(s.o.FitEvery/20, 100*time.Millisecond), 2*time.Second); t.cold.running(t.previous()) {
				wait = min(wait, 500*time.Millisecond)
			}
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

// mayPublish makes this process the only one that publishes models.
func mayPublish(ctx context.Context, t *trainer) error {
	o := &t.s.o
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
	// The publications of a former trainer are decided now and nobody else can publish: only after all of them are read
	// is the next version a new one.
	if err := t.s.models.Reach(ctx); err != nil {
		return err
	}
	t.producer = p
	return nil
}

func (t *trainer) step(ctx context.Context) error {
	o := &t.s.o
	if t.producer == nil {
		if err := mayPublish(ctx, t); err != nil {
			return err
		}
	}
	if t.s.models.Offered() {
		return publishOffer(ctx, t)
	}
	if newest, _ := t.s.models.Head(); newest == 0 && o.Initial != nil {
		return t.publishInitial(ctx)
	}
	previous := t.previous()
	if t.frozen() {
		return cmp.Or(purgeAtRest(ctx, t), rest(t, previous == nil))
	}
	t.resting = false
	erasing(t)
	due := t.waiting != nil || t.last.IsZero() || o.Now().Sub(t.last) >= o.FitEvery
	if !due && !t.cold.running(previous) {
		return errNotYet
	}
	if t.ready != nil {
		return t.serve(ctx)
	}
	snaps, others, err := newestSnapshots(ctx, t)
	if err != nil {
		return err
	}
	if err := tellAlarms(ctx, t, snaps); err != nil {
		return err
	}
	if err := afterErasures(ctx, t, snaps); err != nil {
		return err
	}
	if t.waiting != nil {
		return t.compare(ctx, snaps)
	}
	if others > 0 && o.Now().Sub(t.began) < o.Patience {
		return errNotYet // partitions that are about to be carried over to this configuration belong into its first model
	}
	if t.cold.due(snaps, previous) {
		return t.begin(ctx, snaps, previous)
	}
	if n := sum(snaps); n < t.cold.warmup {
		t.lacks(previous == nil, fmt.Sprintf("the snapshots hold %.0f of the %.0f labelled records of fit.warmup", n,
			t.cold.warmup))
	}
	fresh := t.fresh(snaps, previous)
	o.Metrics.Unfitted.WithLabelValues().Set(fresh)
	if !due || fresh == 0 || fresh < enough(t) {
		return errNotYet
	}
	return t.fit(ctx, snaps, previous)
}

// follow reads a partition of the state topic on. Of another stage's states no model is made: the takeover of the
// partition, which may come later, ends this stage.
func (t *trainer) follow(ctx context.Context, partition int, l *state.Log) error {
	o := &t.s.o
	if err := l.Follow(ctx, o.Client, o.Topics.State, partition); err != nil {
		return err
	}
	if owner, err := l.Owner(); err == nil && owner.Stage != "" && owner.Stage != o.Name {
		return errNotYet
	}
	return nil
}

// fresh is the number of labelled records since the last verdict, or fit that came to none. All records of a partition
// that began anew are.
func (t *trainer) fresh(snaps map[int32]*state.Manifest, previous *model.Model) (n float64) {
	seen := map[int32]float64{}
	if previous != nil && !t.cold.early(previous) {
		for p, m := range previous.Marks {
			seen[p] = m.Clock
		}
	}
	for _, v := range t.s.models.Verdicts() {
		if counts(t, v) {
			seen = v.Clocks
		}
	}
	if t.tried != nil {
		seen = t.tried
	}
	for p, m := range snaps {
		if n += m.Labelled; m.Labelled >= seen[p] {
			n -= seen[p]
		}
	}
	return n
}

// previous is the model that the partitions serve, or the newest readable one; nil when there is none of this
// configuration.
func (t *trainer) previous() *model.Model {
	m := t.s.models.Readable()
	if s := t.s.models.Serves(); s.Order > 0 {
		if ordered, err := t.s.models.Get(s.Version); err == nil {
			m = ordered
		}
	}
	if m == nil || m.Fingerprint != t.s.o.Spec.Options.Fingerprint {
		return nil
	}
	return m
}

// errNotYet is returned by a step that finds too little to do.
var errNotYet = errors.New("not yet")

// fit makes the next model, which then waits for its verdict.
func (t *trainer) fit(ctx context.Context, snaps map[int32]*state.Manifest, previous *model.Model) error {
	o := &t.s.o
	from := t.held(snaps)
	states := state.NewSnapshots(from)
	began := o.Now()
	t.last, t.tried, t.early = began, clocks(snaps), false
	var served bool
	m, err := t.bounded(ctx, false, func(budget context.Context, spec *model.Spec) (m *model.Model, err error) {
		if m, err = model.Fit(budget, spec, states, previous); err == nil {
			served, err = model.Serving(states)
		}
		return m, err
	})
	switch {
	case errors.Is(err, errLessWork):
		t.last, t.tried = time.Time{}, nil
		return cmp.Or(publishFailure(ctx, t, snaps, t.why), errNotYet)
	case err != nil:
		return err
	case m == nil:
		return publishFailure(ctx, t, snaps, t.why)
	}
	t.waiting = &candidate{model: m, from: from, made: o.Now(), took: o.Now().Sub(began), first: previous == nil,
		alone: !served}
	needed := model.Compared(o.FitRecords)
	o.Metrics.waits(0, needed)
	log := o.Log.With(zap.Int("records", m.Info.Records), zap.Duration("took", t.waiting.took), zap.Int("needed", needed))
	if t.waiting.first {
		log = log.With(zap.Duration("for_at_most", t.patience()))
	}
	log.Info("model fitted; it waits for labelled records that it has not learnt", zap.Strings("left_out", m.Narrowed))
	return nil
}

// patience is how long the first model waits for the records that it is to be compared on. A later one waits as long as
// it takes: the serving one stays, and until these records have come no other fit is due.
func (t *trainer) patience() time.Duration { return 10 * t.s.o.FitEvery }

// compare gives the verdict on the waiting model when enough labelled records have come, and publishes it where it may
// serve.
func (t *trainer) compare(ctx context.Context, snaps map[int32]*state.Manifest) error {
	o := &t.s.o
	c := t.waiting
	limit := model.Compared(o.FitRecords)
	var came float64
	for p := range c.from {
		m := snaps[p]
		if m == nil || m.Labelled < c.from[p].Labelled {
			return t.drop(ctx, snaps, model.ErrAnotherHistory)
		}
		came += m.Labelled - c.from[p].Labelled
	}
	o.Metrics.waits(came, limit)
	late := c.first && o.Now().Sub(c.made) >= t.patience()
	if came < float64(limit) && !c.alone && !late {
		return errNotYet
	}
	later := map[int32]*state.Snapshot{}
	for p, m := range snaps {
		if err := t.logs[p].Check(m); err == nil {
			later[p] = &state.Snapshot{Manifest: m, Log: t.logs[p]}
		} else if c.from[p] != nil {
			return t.drop(ctx, snaps, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	from, to := state.NewSnapshots(c.from), state.NewSnapshots(later)
	began := o.Now()
	budget, cancel := context.WithTimeout(ctx, o.FitBudget)
	defer cancel()
	var m *model.Model
	v := newVerdict(t, clocks(snaps))
	v.Previous = c.model.Info.Previous
	spec := besideRecords(o)
	err := state.Contain(func() (err error) {
		if v.Verdict, err = model.Compare(budget, spec, c.model, from, to, limit); err == nil && v.Accepted() {
			m, err = model.Renew(budget, spec, c.model, to)
		}
		return err
	})
	if err == nil {
		err = lookAtSense(ctx, t, to, v)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the comparison took longer than %v (fit.budget): raise fit.budget: %w", o.FitBudget, err)
	}
	if err != nil {
		return t.drop(ctx, snaps, err)
	}
	if t.frozen() || erasing(t) { // since the comparison began
		return errNotYet
	}
	log := t.remarks(c.model, o.Log.With(zap.Int("records", c.model.Info.Records), zap.Stringer("verdict", v.Reason),
		zap.Int("compared", v.Records), zap.Float64("log_loss", v.New), zap.Float64("serving_log_loss", v.Old),
		zap.Float64("difference", v.Difference()), zap.Float64("low", v.Low), zap.Float64("high", v.High),
		zap.Float64("gate", v.Gate)))
	if !v.Accepted() {
		if err := publishRefusal(ctx, t, v); err != nil {
			return err
		}
		log.Warn("model refused by the gate; the serving model stays", zap.String("note", v.Note))
		return nil
	}
	if m.Version, err = t.nextVersion(); err != nil {
		return err
	}
	v.Version, m.Info.Verdict = m.Version, v.Verdict
	if err := t.publish(ctx, m, v); err != nil {
		return err
	}
	t.decided(v)
	o.Metrics.Fits.WithLabelValues("published").Inc()
	t.s.fits.Add(1)
	t.lacking(leftOut(m))
	log.Info("model published", zap.Int64("model", m.Version), zap.Duration("fit_took", c.took),
		zap.Duration("comparison_took", o.Now().Sub(began)))
	return nil
}

// decided ends the waiting with a verdict that is in the topic.
func (t *trainer) decided(v *state.GateVerdict) {
	t.waiting, t.tried = nil, v.Clocks
	t.s.o.Metrics.verdict(&v.Verdict)
	t.s.o.Metrics.Candidate.Reset()
}

// drop gives the waiting model up without a comparison; the next step fits anew, from the states as they are now.
func (t *trainer) drop(ctx context.Context, snaps map[int32]*state.Manifest, because error) error {
	t.waiting, t.tried = nil, nil
	t.s.o.Metrics.Candidate.Reset()
	t.s.o.Metrics.Fits.WithLabelValues("dropped").Inc()
	t.s.o.Log.Warn("a fitted model cannot be compared; another one is fitted", zap.Error(because))
	if errors.Is(because, model.ErrModelTooOld) {
		t.s.o.Log.Warn("memory.tail must hold the labelled records of a partition that come between two snapshots " +
			"and during a fit")
	}
	return publishFailure(ctx, t, snaps, "the model was fitted, and cannot be compared: "+because.Error())
}

// remarks counts the factories' remarks on the model's parts, warns of trouble, and returns the log with the other
// remarks as fields.
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
			log.Warn("a part of the new model is not what it should be", zap.String("component", f.Name()),
				zap.String("because", r.Text))
			continue
		}
		log = log.With(zap.String(f.Name(), r.Text))
	}
	return log
}

// publish writes a model, a verdict, or both, and other records, in one transaction.
func (t *trainer) publish(ctx context.Context, m *model.Model, v *state.GateVerdict, also ...txn.Record) error {
	o := &t.s.o
	records := also
	if v != nil {
		records = append(records, t.s.models.Pronounce(v, o.Now(), t.s.format()))
	}
	if m != nil {
		t.packer.Limit = o.Client.Limit(o.Topics.Model)
		published, err := t.s.models.Publication(t.packer, m, t.needed(), o.Now(), t.s.format())
		if err != nil {
			return err
		}
		for i := range published {
			published[i].Headers = []txn.Header{{Key: codec.HeaderName, Value: []byte(o.Name)}}
		}
		records = append(records, published...)
	}
	if err := t.producer.Commit(ctx, txn.Transaction{Records: records}); err != nil {
		t.producer = nil // whether it took effect shows in the topic
		return fmt.Errorf("publishing: %w", err)
	}
	// The task that follows the topic must see it before the next decision.
	seen := func() bool {
		newest, _ := t.s.models.Head()
		said := t.s.models.Verdict()
		return (m == nil || newest >= m.Version) && (v == nil || said != nil && said.Number >= v.Number)
	}
	_, changed := t.s.models.Head()
	if seen() {
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

// publishInitial publishes Options.Initial, as version 1 unless states have had other models.
func (t *trainer) publishInitial(ctx context.Context) (err error) {
	if err := needStates(ctx, t); err != nil {
		return err
	}
	m := *t.s.o.Initial
	if m.Version, err = t.nextVersion(); err != nil {
		return err
	}
	return t.publish(ctx, &m, nil)
}

// nextVersion returns the number of the next model. A model topic that was made anew does not know the versions that
// the states and their journals name: a replay would take another model of the same number for theirs.
func (t *trainer) nextVersion() (int64, error) {
	newest, _ := t.s.models.Head()
	for v := range t.needed() {
		newest = max(newest, v)
	}
	if newest+1 >= state.MaxNumber {
		return 0, fmt.Errorf("the model topic holds version/%d, which no stage has written: delete it by a tombstone", newest)
	}
	return newest + 1, nil
}

// needed are the versions that a restart may have to read again, and the ordered one.
func (t *trainer) needed() map[int64]bool {
	needed := map[int64]bool{}
	if v := t.s.models.Order().Serve; v > 0 {
		needed[v] = true
	}
	for _, l := range t.logs {
		found, _ := l.Manifests()
		if len(found) == 0 { // the journal tells all
			found = []*state.Manifest{{}}
		}
		for _, m := range found {
			needed[m.Model] = true
			if entries, err := l.Journal(m.Journal); err == nil {
				for _, e := range entries {
					needed[e.Model] = true
				}
			}
		}
	}
	return needed
}
