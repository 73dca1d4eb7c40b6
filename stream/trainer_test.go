package stream

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model"
	"liftstream/stream/streamtest"
)

// unending is a factory whose live fits end with their context alone.
type unending struct {
	model.ScorecardFactory
	began func()
}

func (f unending) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	if _, live := ctx.Deadline(); live {
		f.began()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

func TestACancelledFitIsNoFailure(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(3000, 50, true)
		for _, c := range []struct {
			budget            time.Duration
			cancelled, failed int
		}{{time.Hour, 1, 0}, {50 * time.Millisecond, 0, 1}} {
			core, logs := observer.New(zap.InfoLevel)
			began := make(chan struct{})
			o := w.options(w.Client)
			spec := *o.Spec
			spec.Scorecard = unending{spec.Scorecard, sync.OnceFunc(func() { close(began) })}
			o.Spec, o.Log, o.FitBudget, o.FitEvery = &spec, zap.New(core), c.budget, 10*time.Minute
			r := w.run(o)
			w.caught(r)
			select {
			case <-began:
			case <-time.After(streamtest.Patience):
				t.Fatal("no fit began")
			}
			r.await(t, "no fit failed", func(Status) bool {
				return counted(o.Metrics.Fits.WithLabelValues("failed")) >= float64(c.failed)
			})
			r.end(t)
			cancelled := logs.FilterMessageSnippet("fit cancelled").FilterLevelExact(zap.InfoLevel).Len()
			failed := logs.FilterMessageSnippet("took longer than fit.budget").Len()
			n := counted(o.Metrics.Fits.WithLabelValues("failed"))
			// The fit after a failed one may be under way at the end, and is cancelled then.
			if cancelled < c.cancelled || cancelled > 1 || failed < c.failed || n != float64(failed) ||
				c.failed == 0 && failed > 0 {
				t.Errorf("budget %v: %d logged as cancelled, %d as failed, %v counted as failed; want %d or 1, %d or more",
					c.budget, cancelled, failed, n, c.cancelled, c.failed)
			}
		}
	})
}

// TestTheWorkOfTheNextFit follows the budgets of work and the times of fits, one after the other: the first is small,
// the next ones grow where something was left out, one that passes its time has a smaller one after it, and only a
// quick one makes them grow again.
func TestTheWorkOfTheNextFit(t *testing.T) {
	const budget, never = 16 * time.Second, 100 * time.Hour
	type fit struct {
		first, narrowed bool
		took            time.Duration
		work            int64         // that it gets
		limit           time.Duration // the time that it gets
		last            bool          // neither gets smaller after it
	}
	for name, fits := range map[string][]fit{
		"few features": {{true, false, time.Second, 1 << 30, budget, false},
			{false, false, time.Second, 1 << 36, budget, false}, {false, false, 15 * time.Second, 1 << 36, budget, false}},
		"many features": {{true, true, time.Second, 1 << 30, budget, false},
			{false, true, 15 * time.Second, 1 << 33, budget, false}, {false, true, 15 * time.Second, 1 << 36, budget, false},
			{false, true, 15 * time.Second, 1 << 36, budget, false}},
		"too many": {{false, true, never, 1 << 36, budget, false}, {false, true, 2 * time.Second, 1 << 33, budget, false},
			{false, true, 2 * time.Second, 1 << 33, budget, false}, {false, true, never, 1 << 33, budget, false},
			{false, true, never, 1 << 30, budget, false}, {false, true, never, 1 << 27, budget, false},
			{false, true, never, 1 << 26, budget, true}, {false, true, 2 * time.Second, 1 << 26, budget, false}},
		"a busy minute": {{false, true, never, 1 << 36, budget, false}, {false, true, never, 1 << 33, budget, false},
			{false, false, time.Second, 1 << 30, budget, false}, {false, true, time.Second, 1 << 33, budget, false},
			{false, true, 9 * time.Second, 1 << 36, budget, false}, {false, true, 9 * time.Second, 1 << 36, budget, false}},
		"no first one": {{true, true, never, 1 << 30, budget, false}, {true, true, never, 1 << 27, 2 * budget, false},
			{true, true, never, 1 << 26, 4 * budget, false}, {true, true, never, 1 << 26, 8 * budget, false},
			{true, true, never, 1 << 26, 16 * budget, false}, {true, true, never, 1 << 26, 32 * budget, false},
			{true, true, never, 1 << 26, 64 * budget, true}, {true, true, 90 * time.Second, 1 << 26, 64 * budget, false},
			{false, true, time.Second, 1 << 26, budget, false}, {false, true, time.Second, 1 << 29, budget, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.WarnLevel)
			tr := &trainer{s: &Stage{o: Options{Spec: &model.Spec{}, Metrics: NewMetrics(prometheus.NewRegistry()),
				FitBudget: budget, Log: zap.New(core), Now: time.Now}}}
			failed := 0.
			for i, f := range fits {
				if f.took == never {
					failed++
				}
				var work int64
				_, err := tr.bounded(t.Context(), f.first, func(ctx context.Context, spec *model.Spec) (*model.Model, error) {
					work = spec.Options.FitWork(f.first)
					if n := spec.Options.Workers; n != max(runtime.GOMAXPROCS(0)-1, 1) {
						t.Errorf("%s: fit %d takes %d of %d processors", name, i, n, runtime.GOMAXPROCS(0))
					}
					if end, _ := ctx.Deadline(); time.Until(end) != f.limit {
						t.Errorf("%s: fit %d has %v, want %v", name, i, time.Until(end), f.limit)
					}
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(f.took):
					}
					m := &model.Model{}
					if f.narrowed {
						m.Narrowed = []string{"something"}
					}
					return m, nil
				})
				if work != f.work {
					t.Errorf("%s: fit %d has a budget of %d, want %d", name, i, work, f.work)
				}
				said := ""
				for _, line := range logs.TakeAll() {
					said += line.Message
				}
				switch {
				case f.took < never:
					if err != nil || said != "" {
						t.Errorf("%s: fit %d: %v, %q", name, i, err, said)
					}
				case f.last:
					if err != nil || !strings.Contains(said, "fit failed") || !strings.Contains(tr.why, "raise fit.budget") {
						t.Errorf("%s: fit %d: %v, %q", name, i, err, said)
					}
				case !errors.Is(err, errLessWork) || !strings.Contains(said, "took longer"):
					t.Errorf("%s: fit %d: %v, %q", name, i, err, said)
				}
				if n := byLabel(tr.s.o.Metrics.Fits)["failed"]; n != failed {
					t.Errorf("%s: after fit %d %v failed fits are counted, want %v", name, i, n, failed)
				}
			}
		})
	}
}

// TestTheStatusSaysWhyThereIsNoModel: as long as there is none, and no longer.
func TestTheStatusSaysWhyThereIsNoModel(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		spec := *o.Spec
		spec.Options.Warmup = 400
		slow := &lateness{ScorecardFactory: spec.Scorecard}
		spec.Scorecard, o.Spec, o.FitBudget = slow, &spec, 200*time.Millisecond
		slow.on.Store(true)
		r := w.run(o)
		w.caught(r)
		says := func(text string) {
			t.Helper()
			r.await(t, "the status does not say "+text, func(s Status) bool {
				return len(s.Lacking) == 1 && strings.Contains(s.Lacking[0], text) && s.Ready
			})
		}
		says("no model yet: the snapshots hold 0 of the 400 labelled records of fit.warmup")
		w.Produce(1000, 50, true)
		says("no model yet: a fit took longer than fit.budget (200ms)")
		slow.on.Store(false)
		r.await(t, "no model", func(s Status) bool { return s.Model > 0 && len(s.Lacking) == 0 })
		r.end(t)
	})
}

// lateness is a factory whose live fits end with their context while it is on.
type lateness struct {
	model.ScorecardFactory
	on atomic.Bool
}

func (f *lateness) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	if _, live := ctx.Deadline(); live && f.on.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

// remarking is a factory with something to say.
type remarking struct {
	model.Factory
	name string
	says model.Remark
	err  error
}

func (f remarking) Name() string                        { return f.name }
func (f remarking) Remark([]byte) (model.Remark, error) { return f.says, f.err }

// TestRemarksAreLoggedAndCounted: remarks on the parts of a model stand in the log of its publication, trouble in a
// warning of its own, both in the metric.
func TestRemarksAreLoggedAndCounted(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	metrics := NewMetrics(prometheus.NewRegistry())
	spec := &model.Spec{Components: []model.Factory{
		remarking{name: "fine", says: model.Remark{Outcome: "optimal", Text: "2 features"}},
		remarking{name: "ill", says: model.Remark{Outcome: "kept", Text: "did not verify", Trouble: true}},
		remarking{name: "odd", err: errors.New("damaged")},
		silent{},
	}}
	tr := &trainer{s: &Stage{o: Options{Spec: spec, Metrics: metrics}}}
	tr.remarks(&model.Model{}, zap.New(core)).Info("model published")
	all := logs.All()
	if len(all) != 3 || all[0].ContextMap()["because"] != "did not verify" || all[0].Level != zap.WarnLevel ||
		all[1].ContextMap()["component"] != "odd" || all[2].ContextMap()["fine"] != "2 features" {
		t.Errorf("logged %v", all)
	}
	if a, b := counted(metrics.Parts.WithLabelValues("fine", "optimal")), counted(metrics.Parts.WithLabelValues("ill",
		"kept")); a != 1 || b != 1 {
		t.Errorf("counted %v and %v", a, b)
	}
}

// silent is a factory with nothing to say.
type silent struct{ model.Factory }
