package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
	"liftstream/stream/verify"
)

// world is a broker with the topics of one stage, and with clients that work on them beside it.
type world struct {
	*streamtest.World
	feeder
	outputs
	administrator
}

// feeder sends records, as the programs before a stage do.
type feeder struct{ *streamtest.World }

// outputs reads the topics that a stage writes.
type outputs struct{ *streamtest.World }

// administrator does with topics and groups as the tools of a broker do.
type administrator struct{ *streamtest.World }

func worldOf(w *streamtest.World) *world { return &world{w, feeder{w}, outputs{w}, administrator{w}} }

func newWorld(t testing.TB, addr string, partitions int) *world {
	t.Helper()
	return worldOf(streamtest.NewWorld(t, addr, partitions))
}

// newWorldOfTwo has three partitions of events, and dead letters in two.
func newWorldOfTwo(t testing.TB, addr string) *world {
	t.Helper()
	w := newWorld(t, addr, 3)
	w.Topics.Dead += "-two"
	topic := txn.TopicSpec{Name: w.Topics.Dead, Partitions: 2, Replication: 1}
	if _, err := w.Client.CreateTopics(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	return w
}

func newWorldAt(t testing.TB, cfg txn.Config, partitions int) *world {
	t.Helper()
	return worldOf(streamtest.NewWorldAt(t, cfg, partitions))
}

func (w *world) options(c *txn.Client) Options {
	return Options{
		Name: w.Name, Spec: sample.Spec(), Codec: w.Codec(), Client: c, Topics: w.Topics, Commit: 20 * time.Millisecond,
		Snapshot: 300 * time.Millisecond, SnapshotRate: 8 << 20, InFlight: 8 << 20, Grace: 10 * time.Second,
		Session:  6 * time.Second,
		FitEvery: 200 * time.Millisecond, FitRecords: 1000, FitBudget: 10 * time.Second,
		Policies: committed.Policies{SchemaChanged: committed.Rebuild},
		Log: zaptest.NewLogger(
			w.T,
			zaptest.Level(zap.WarnLevel),
		), Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now,
	}
}

// running is a stage in the background.
type running struct {
	stage *Stage
	start func()
	stop  context.CancelFunc
	ended chan error
}

func (w *world) run(o Options) *running {
	r := w.prepared(o)
	r.start()
	return r
}

// prepared is a stage that does not run yet.
func (w *world) prepared(o Options) *running {
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	r := &running{stage: New(o), stop: cancel, ended: make(chan error, 1)}
	r.start = func() { go func() { r.ended <- r.stage.Run(ctx) }() }
	return r
}

// caught waits until the stages together have committed everything that was produced.
func (w *world) caught(rs ...*running) {
	w.T.Helper()
	done := func(p int) bool {
		_, end := w.Bounds(w.Topics.Events, p)
		for _, r := range rs {
			for _, s := range r.stage.Status().Partitions {
				if int(s.Partition) == p && s.Offset >= end {
					return true
				}
			}
		}
		return false
	}
	var shown []func() any
	for _, r := range rs {
		shown = append(shown, func() any { return r.stage.Status() })
	}
	streamtest.Eventually(w.T, 4*time.Minute, "not everything is committed", func() bool {
		all := true
		for p := range w.N {
			all = all && done(p)
		}
		if all {
			return true
		}
		for _, r := range rs {
			select {
			case err := <-r.ended:
				w.T.Fatalf("stage ended: %v", err)
			default:
			}
		}
		return false
	}, shown...)
}

// await waits until the stage has the status that ok wants. The problem fails the test after two minutes, or when the
// stage ends before.
func (r *running) await(t testing.TB, problem string, ok func(s Status) bool) {
	t.Helper()
	streamtest.Eventually(t, 2*time.Minute, problem, func() bool {
		select {
		case err := <-r.ended:
			t.Fatalf("%s: the stage has ended: %v", problem, err)
		default:
		}
		return ok(r.stage.Status())
	}, func() any { return r.stage.Status() })
}

// published sends records until the stage knows a model of at least that version: a fitted model that is not the first
// waits for records that it has not learnt, however long.
func (w *world) published(r *running, version int64) {
	w.T.Helper()
	r.await(w.T, fmt.Sprintf("no model %d is published", version), func(s Status) bool {
		if s.Model >= version {
			return true
		}
		w.Produce(40, 20, true)
		w.caught(r)
		return false
	})
}

// share waits until two stages are ready, each with so many partitions.
func share(t testing.TB, each int, one, two *running) {
	t.Helper()
	has := func(s Status) bool { return s.Ready && len(s.Partitions) == each }
	streamtest.Eventually(t, 40*time.Second, fmt.Sprintf("they do not have %d partitions each", each), func() bool {
		return has(one.stage.Status()) && has(two.stage.Status())
	}, func() any { return one.stage.Status() }, func() any { return two.stage.Status() })
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Fatalf("stopping: %v", err)
		}
	case <-time.After(streamtest.Patience):
		t.Fatal("did not stop")
	}
}

// until waits until the stage has scored so many records, or all of the topic. It goes by the metrics: on a busy
// machine a partition may be taken over again, and its status begins at 0 then. A commit without an answer counts
// nothing.
func (r *running) until(t *testing.T, records float64) {
	t.Helper()
	r.await(t, fmt.Sprint("it does not score ", records, " records"), func(s Status) bool {
		n, behind := 0., len(s.Partitions) == 0
		for _, scored := range labels(r.stage.o.Metrics.Records) {
			n += scored
		}
		for _, p := range s.Partitions {
			behind = behind || p.End == 0 || p.Offset < p.End
		}
		return n >= records || !behind
	})
}

// slowly keeps a stage busy until it is disturbed.
func slowly(int32, *model.Batch, *model.Scores, *model.Levels) { time.Sleep(2 * time.Millisecond) }

// verified replays the topics of a stage and compares.
func verified(ctx context.Context, o Options) ([]verify.Verdict, error) {
	return verify.Verify(
		ctx,
		verify.Options{Name: o.Name, Spec: o.Spec, Codec: o.Codec, Client: o.Client, Topics: o.Topics},
	)
}

// journalOf returns every journal record that was ever written, compacted or not.
func journalOf(t *testing.T, w *world) (out []state.JournalEntry) {
	t.Helper()
	for _, r := range w.Records(w.Topics.State, 0) {
		if len(r.Key) > 8 && string(r.Key[:8]) == "journal/" {
			e, err := state.DecodeJournal(r.Value, state.Format)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

// fails waits for the end of a stage and returns its error.
func (r *running) fails(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(max(within, streamtest.Patience)):
		t.Fatalf("the stage goes on: %+v", r.stage.Status())
		return nil
	}
}

// refuses waits for the end of a stage by a policy, whose key its error must name.
func (r *running) refuses(t *testing.T, policy string) {
	t.Helper()
	var p *PolicyError
	if err := r.fails(t, 30*time.Second); !errors.As(err, &p) || p.Policy != policy ||
		!strings.Contains(err.Error(), "policy."+policy) {
		t.Fatalf("got %v, want policy.%s", err, policy)
	}
}

func counted(c prometheus.Counter) float64 {
	var m dto.Metric
	if c.Write(&m) != nil {
		return -1
	}
	return m.GetCounter().GetValue()
}

// learnt waits until the only partition has learnt n records.
func learnt(t *testing.T, r *running, n float64) {
	t.Helper()
	r.await(t, fmt.Sprintf("it has not learnt %v records", n), func(s Status) bool {
		return len(s.Partitions) == 1 && s.Partitions[0].Labelled == n
	})
}
