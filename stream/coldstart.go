package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// coldStart tells when the trainer makes models of the first records: at the end of the warm-up and whenever their
// number has grown enough (model.AfterCold), until there are enough for a model that is compared. Each of them is made
// anew and serves at once: it replaces model 0 of the partitions, or a model of fewer records. The first model of a
// configuration serves at once, of however many records.
type coldStart struct {
	warmup, limit float64
	tried         float64 // labelled records at the last attempt
}

func newColdStart(o *Options) coldStart {
	limit := float64(max(o.FitRecords-model.Compared(o.FitRecords), 1))
	return coldStart{warmup: min(float64(max(o.Spec.Options.Warmup, 1)), limit), limit: limit}
}

// early reports whether previous is a model of the cold start. That of files, which has seen no partition, is none.
func (c *coldStart) early(previous *model.Model) bool {
	seen := seenBy(previous)
	return seen > 0 && seen < c.limit
}

// running reports whether the next model may be one of the cold start.
func (c *coldStart) running(previous *model.Model) bool { return previous == nil || c.early(previous) }

// due reports whether a model of the cold start is to be made of the snapshots.
func (c *coldStart) due(snaps map[int32]*state.Manifest, previous *model.Model) bool {
	var total float64
	for _, m := range snaps {
		total += m.Labelled
		if previous == nil && m.Model > 0 {
			return false // it serves a model of another configuration, carried over: there is something to compare with
		}
	}
	switch {
	case total < max(c.warmup, model.AfterCold(c.tried)):
		return false
	case previous == nil:
		return true
	}
	return c.early(previous) && total >= model.AfterCold(seenBy(previous)) && total < c.limit
}

// seenBy is the number of labelled records of the partitions that a model has seen.
func seenBy(m *model.Model) (n float64) {
	if m == nil {
		return 0
	}
	for _, x := range m.Marks {
		n += x.Clock
	}
	return n
}

// begin makes and publishes a model of the cold start.
func (t *trainer) begin(ctx context.Context, snaps map[int32]*state.Manifest, previous *model.Model) error {
	o := &t.s.o
	t.cold.tried = 0
	for _, m := range snaps {
		t.cold.tried += m.Labelled
	}
	states := state.NewSnapshots(t.held(snaps))
	began, first := o.Now(), previous == nil
	t.lacks(first, fmt.Sprintf("a fit of %.0f labelled records runs", t.cold.tried))
	m, err := t.bounded(ctx, first, func(budget context.Context, spec *model.Spec) (*model.Model, error) {
		return model.FitAnew(budget, spec, states, previous)
	})
	switch {
	case errors.Is(err, model.ErrOneClass):
		t.lacks(first, "all labelled records are of one class")
		return cmp.Or(publishFailure(ctx, t, snaps, "all labelled records are of one class"), errNotYet)
	case errors.Is(err, errLessWork):
		t.lacks(first, fmt.Sprintf("a fit took longer than fit.budget (%v); the next one has %v, and a budget of %d steps",
			o.FitBudget, t.firstLimit(), t.work))
		t.cold.tried = 0
		return cmp.Or(publishFailure(ctx, t, snaps, t.why), errNotYet)
	case err != nil:
		return err
	case m == nil:
		t.lacks(first, fmt.Sprintf("the last fit failed, see the log; the next one comes at %.0f labelled records",
			model.AfterCold(t.cold.tried)))
		return cmp.Or(publishFailure(ctx, t, snaps, t.why), errNotYet)
	}
	v := newVerdict(t, clocks(snaps))
	if err := lookAtSense(ctx, t, states, v); err != nil {
		return err
	} else if !v.Accepted() {
		o.Log.Warn("model of the first records refused; the serving model stays", zap.String("note", v.Note))
		return cmp.Or(publishRefusal(ctx, t, v), errNotYet)
	}
	t.ready = m
	t.lacks(first, "one is fitted, and not yet published")
	t.remarks(m, o.Log.With(zap.Int("records", m.Info.Records))).Info("model of the first records fitted",
		zap.Duration("took", o.Now().Sub(began)), zap.Strings("left_out", m.Narrowed))
	return t.serve(ctx)
}

// serve publishes the model of the cold start that is ready. Where that fails, it stays ready.
func (t *trainer) serve(ctx context.Context) (err error) {
	o := &t.s.o
	if t.frozen() || erasing(t) { // since the fit began
		return errNotYet
	}
	if t.ready.Version, err = t.nextVersion(); err != nil {
		return err
	}
	if err := t.publish(ctx, t.ready, nil); err != nil {
		return err
	}
	o.Metrics.Fits.WithLabelValues("published").Inc()
	t.s.fits.Add(1)
	o.Log.Info("model published", zap.Int64("model", t.ready.Version))
	t.lacking(leftOut(t.ready))
	t.ready = nil
	return nil
}

// lacks says why there is no model yet, where that is so.
func (t *trainer) lacks(first bool, because string) {
	if first {
		t.lacking([]string{"no model yet: " + because})
	}
}

// leftOut returns the notes of a model about features and records that it leaves out.
func leftOut(m *model.Model) (texts []string) {
	for _, text := range m.Narrowed {
		texts = append(texts, fmt.Sprintf("model %d: %s", m.Version, text))
	}
	return texts
}

// lacking sets Status.Lacking.
func (t *trainer) lacking(texts []string) {
	t.s.mu.Lock()
	t.s.lacks = texts
	t.s.mu.Unlock()
}

// patientSteps is the number of failed steps, one after the other, from which on the stage is not ready for an error
// that may pass.
const patientSteps = 3

// tell shows on the metrics and in the status whether the trainer works. An error that waiting does not mend, such as a
// missing right, shows at once.
func (t *trainer) tell(ctx context.Context, err error) {
	s := t.s
	if ctx.Err() != nil || err == nil || errors.Is(err, errNotYet) || txn.KindOf(err) == txn.Fenced {
		t.failures = 0
		s.trouble("")
		return
	}
	t.failures++
	s.o.Metrics.TrainerErrors.Inc()
	if kind := txn.KindOf(err); t.failures >= patientSteps || kind != txn.Environment && kind != txn.Unknown {
		s.trouble("the trainer fails, no new model is published: " + err.Error())
	}
}

// trouble notes why no model is published, "" = the trainer works or runs elsewhere.
func (s *Stage) trouble(text string) {
	s.mu.Lock()
	s.untrained = text
	s.mu.Unlock()
	failing := 0.
	if text != "" {
		failing = 1
	}
	s.o.Metrics.TrainerFailing.Set(failing)
}

// errLessWork is returned by bounded when the time of a fit has passed and the next one gets less work or more time.
var errLessWork = errors.New("the fit took longer than its time")

// mostDoublings bounds how often the time of the first fit is doubled: with any model there is something to serve.
const mostDoublings = 6

// leastWork is the smallest budget of work that a fit gets, in steps.
const leastWork = 1 << 26

// bounded runs a fit within its time; first says that there is no model yet. A fit that takes longer is given up, and
// bounded returns errLessWork where the next one gets less work or more time (relieve). It returns nil where the fit
// has failed, which it says in the log, and an error where the stage stops.
func (t *trainer) bounded(
	ctx context.Context, first bool, fit func(ctx context.Context, spec *model.Spec) (*model.Model, error),
) (m *model.Model, err error) {
	o := &t.s.o
	began, limit := o.Now(), o.FitBudget
	if first {
		limit = t.firstLimit()
	}
	budget, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	spec := besideRecords(o)
	spec.Options.Work = t.work
	err = state.Contain(func() (err error) {
		m, err = fit(budget, spec)
		return err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// Stopped, not failed: the next owner of partition 0 fits anew.
		o.Log.Info("fit cancelled: the stage stops, or partition 0 has another owner",
			zap.Duration("after", o.Now().Sub(began)))
		return nil, err
	case errors.Is(err, model.ErrOneClass):
		return nil, err
	}
	took := o.Now().Sub(began)
	o.Metrics.FitTime.Observe(took.Seconds())
	t.why = ""
	if err == nil {
		t.afford(m, spec.Options.FitWork(first), took)
		return m, nil
	}
	o.Metrics.Fits.WithLabelValues("failed").Inc()
	t.why = "the fit failed: " + err.Error()
	if errors.Is(err, context.DeadlineExceeded) && budget.Err() != nil {
		if next, ok := t.relieve(first, spec.Options.FitWork(first)); ok {
			o.Log.Warn("a fit took longer than fit.budget; the next one leaves out features or records that it cannot afford",
				zap.Duration("time", limit), zap.Duration("next_time", next), zap.Int64("next_steps", t.work))
			t.why = fmt.Sprintf("the fit took longer than %v (fit.budget)", limit)
			return nil, errLessWork
		}
		t.why = fmt.Sprintf("the fit took longer than %v (fit.budget) and can do no less work: raise fit.budget", limit)
		err = fmt.Errorf("%s: %w", t.why, err)
	}
	log := o.Log.With(zap.Error(err))
	if first {
		log.Warn("fit failed; there is no model yet")
	} else {
		log.Warn("fit failed; the serving model stays")
	}
	return nil, nil
}

// besideRecords is the Spec of a stage for a fit or a comparison that leaves a processor to the records. Where fits
// take all of them, each step of a transaction waits until a fit has had its 10 ms.
func besideRecords(o *Options) *model.Spec {
	spec := *o.Spec
	spec.Options.Workers = max(runtime.GOMAXPROCS(0)-1, 1)
	return &spec
}

// firstLimit is the time of the first fit: that of fit.budget, doubled each time that one has passed it.
func (t *trainer) firstLimit() time.Duration { return t.s.o.FitBudget << t.late }

// relieve gives the next fits less work than that of one that has passed its time, and a first one more time, too. It
// returns the time of the next one; ok is false where it gets neither, for both have come to their bounds.
func (t *trainer) relieve(first bool, work int64) (next time.Duration, ok bool) {
	t.work, t.slow, next = max(work/8, leastWork), true, t.s.o.FitBudget
	ok = t.work < work
	if first && t.late < mostDoublings {
		t.late++
		ok = true
	}
	if first {
		next = t.firstLimit()
	}
	return next, ok
}

// afford gives the next fit eight times the work of one that has left out something and ended in time: the first fit
// with all of the work would be given up where there are many features. Once a fit has passed its time, only one that
// leaves room for that work does so, as when the machine was busy or asleep.
func (t *trainer) afford(m *model.Model, work int64, took time.Duration) {
	switch {
	case t.slow && took > t.s.o.FitBudget/16:
	case len(m.Narrowed) == 0 && !t.slow || work >= model.StageWork/8:
		t.work = 0
	default:
		t.work = 8 * work
	}
}

// held holds the snapshots that can be read.
func (t *trainer) held(snaps map[int32]*state.Manifest) map[int32]*state.Snapshot {
	held := map[int32]*state.Snapshot{}
	for p, m := range snaps {
		if err := t.logs[p].Check(m); err != nil {
			t.s.o.Log.Warn("fitting without a partition whose snapshot cannot be read", zap.Int32("partition", p),
				zap.Error(err))
			continue
		}
		held[p] = t.logs[p].Hold(m)
	}
	return held
}

// coldSnapshotDue reports whether a partition has learnt so many records since the last mark that the trainer may make
// a model of the cold start: it sees them only in a snapshot. The partitions do not know of each other, so each takes
// its share of the warm-up as its first mark.
func (p *pipeline) coldSnapshotDue() bool {
	t, o := p.t, &p.t.s.o
	n := t.m.Part.Labelled()
	if o.FitEvery <= 0 || n >= float64(o.FitRecords) {
		return false
	}
	if p.mark == 0 {
		p.mark = math.Ceil(float64(max(o.Spec.Options.Warmup, 1)) / float64(max(t.s.partitions, 1)))
		if last := t.snap.Last; last != nil {
			p.mark = passMark(p.mark, last.Labelled)
		}
	}
	return n >= p.mark
}

// passMark returns the mark after a snapshot of n labelled records. Where the snapshot has reached the mark, the next
// one is counted from the snapshot, as the trainer counts from the records of its model: from a mark that a snapshot
// has passed by some records, the next snapshot would be as many too small.
func passMark(mark, n float64) float64 {
	if mark > 0 && mark <= n {
		return model.AfterCold(n)
	}
	return mark
}

// sum is the number of labelled records of the snapshots.
func sum(snaps map[int32]*state.Manifest) (n float64) {
	for _, m := range snaps {
		n += m.Labelled
	}
	return n
}

func clocks(snaps map[int32]*state.Manifest) map[int32]float64 {
	out := map[int32]float64{}
	for p, m := range snaps {
		out[p] = m.Labelled
	}
	return out
}
