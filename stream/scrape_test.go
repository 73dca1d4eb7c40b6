package stream

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// scraped is one scrape: the value of each series by its name with its labels, as liftstream_paused{partition="0"}. Of
// a histogram it has the count.
type scraped map[string]float64

// scrape reads a registry, and fails the test where promlint has an objection.
func scrape(t testing.TB, g prometheus.Gatherer) scraped {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	out := scraped{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+`="`+l.GetValue()+`"`)
			}
			slices.Sort(labels)
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			switch {
			case m.GetHistogram() != nil:
				out[name] = float64(m.GetHistogram().GetSampleCount())
			case m.GetCounter() != nil:
				out[name] = m.GetCounter().GetValue()
			default:
				out[name] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// idle reports whether a metric is a counter that has counted nothing.
func idle(m *dto.Metric) bool { return m.GetCounter() != nil && m.GetCounter().GetValue() == 0 }

// watched runs a stage whose metrics lie in a registry with its collector.
func (w *world) watched(o Options) (*running, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	o.Metrics = NewMetrics(reg)
	r := w.prepared(o)
	reg.MustRegister(Collector(r.stage))
	return r, reg
}

// shows waits until a scrape has the values that ok wants.
func shows(t testing.TB, reg prometheus.Gatherer, problem string, ok func(s scraped) bool) {
	t.Helper()
	streamtest.Eventually(t, 2*time.Minute, problem, func() bool { return ok(scrape(t, reg)) },
		func() any { return scrape(t, reg) })
}

// TestMetricsOfAStage: a scrape of a running stage keeps Prometheus' conventions, its ages and lags are right, and its
// number of series depends on the partitions alone.
func TestMetricsOfAStage(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		r, reg := w.watched(w.options(w.Client))
		before := scrape(t, reg)
		for _, name := range []string{`liftstream_dead_letters_total{reason="schema"}`,
			`liftstream_policy_total{action="fail",policy="input_lost"}`, `liftstream_records_total{status="degraded"}`} {
			if v, ok := before[name]; !ok || v != 0 {
				t.Errorf("%s is %v, there %v, before the stage runs: its first count would be no increase", name, v, ok)
			}
		}
		r.start()
		w.garbage(1)
		w.Produce(20, 50, true)
		w.caught(r)
		w.published(r, 1)
		w.labelsAt(0, 10, time.Now())
		records, messages := 0, 0.
		for p := range w.N {
			records += w.Next[p]
			_, end := w.Bounds(w.Topics.Events, p)
			messages += float64(end)
		}
		shows(t, reg, "the figures are wrong", func(s scraped) bool {
			now := float64(time.Now().Unix())
			within := func(x float64) bool { return math.Abs(now-x) < 600 }
			sum := s[`liftstream_labelled_records{partition="0"}`] + s[`liftstream_labelled_records{partition="1"}`]
			return s["liftstream_topic_partitions"] == 2 && s[`liftstream_partition_running{partition="1"}`] == 1 &&
				sum == float64(records) && s["liftstream_event_to_score_seconds"] == messages-2 && // both but the garbage
				s[`liftstream_lag_messages{partition="0"}`] == 0 && s[`liftstream_lag_stable_messages{partition="0"}`] == 0 &&
				s[`liftstream_lag_seconds{partition="1"}`] == 0 && s[`liftstream_labels_lag_messages{partition="0"}`] == 0 &&
				s[`liftstream_state_bytes{partition="0"}`] > 0 &&
				s[`liftstream_restore_remaining_messages{partition="0",topic="events"}`] == 0 &&
				within(s["liftstream_model_timestamp_seconds"]) &&
				within(s[`liftstream_last_label_timestamp_seconds{partition="1"}`])
		})
		of := map[string]int{}
		for name := range scrape(t, reg) {
			if p := strings.Index(name, `partition="`); p >= 0 {
				of[name[p+11:p+12]]++
			} else {
				of[""]++
			}
		}
		// Some come with the first value that they have, such as an alarm or a late label of the partition.
		if min(of["0"], of["1"]) == 0 || max(of["0"], of["1"]) > 40 || of[""] > 150 {
			t.Errorf("series by partition: %v; want at most 40 of each, and 150 of the process", of)
		}
		r.end(t)
	})
}

// TestLagInSeconds: events of which the commit hangs are late by their own timestamps, also behind a younger one, and
// no longer once it is through.
func TestLagInSeconds(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		r, reg := w.watched(w.options(w.Client))
		hold, commit := make(chan struct{}), r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			for _, record := range x.Records {
				if record.Topic == w.Topics.Scores {
					<-hold
				}
			}
			return commit(ctx, p, x)
		}
		r.start()
		shows(t, reg, "an empty topic is behind", func(s scraped) bool {
			lag, ok := s[`liftstream_lag_seconds{partition="0"}`]
			return ok && lag == 0
		})
		w.eventsAt(0, 10, time.Now().Add(-time.Hour))
		w.eventsAt(10, 10, time.Now())
		shows(t, reg, "the event that waits is not behind", func(s scraped) bool {
			lag := s[`liftstream_lag_seconds{partition="0"}`]
			return lag >= 3600 && lag < 2*3600 && s[`liftstream_lag_stable_seconds{partition="0"}`] >= 3600 &&
				s["liftstream_event_to_score_seconds"] == 0
		})
		close(hold)
		shows(t, reg, "nothing waits any more", func(s scraped) bool {
			return s[`liftstream_lag_seconds{partition="0"}`] == 0 && s["liftstream_event_to_score_seconds"] == 2
		})
		r.end(t)
	})
}

// TestAnOpenTransactionIsAMetric: it is behind the high watermark and not behind the last stable offset, for events and
// for labels.
func TestAnOpenTransactionIsAMetric(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		r, reg := w.watched(weekly(w))
		w.eventsAt(0, 10, time.Now())
		r.start()
		w.caught(r)
		commit := w.upstream(w.event(10, 10))
		shows(t, reg, "the open transaction does not show", func(s scraped) bool {
			return s[`liftstream_lag_messages{partition="0"}`] == 1 && s[`liftstream_lag_stable_messages{partition="0"}`] == 0 &&
				s[`liftstream_lag_seconds{partition="0"}`] > 0 && s[`liftstream_lag_stable_seconds{partition="0"}`] == 0 &&
				s[`liftstream_held_messages{partition="0"}`] == 1
		})
		commit()
		w.caught(r)
		shows(t, reg, "the transaction has ended", func(s scraped) bool {
			return s[`liftstream_lag_messages{partition="0"}`] == 0 && s[`liftstream_lag_seconds{partition="0"}`] == 0
		})
		w.labelsAt(0, 5, time.Now())
		shows(t, reg, "a label is not learnt", func(s scraped) bool {
			return s[`liftstream_labels_lag_messages{partition="0"}`] == 0 &&
				s[`liftstream_labelled_records{partition="0"}`] == 5
		})
		commit = w.upstreamOf(w.Topics.Labels, txn.Record{Topic: w.Topics.Labels, Value: []byte("?"), Time: time.Now()})
		shows(t, reg, "the open transaction of labels does not show", func(s scraped) bool {
			return s[`liftstream_labels_held_seconds{partition="0"}`] > 0 &&
				s[`liftstream_labels_lag_messages{partition="0"}`] == 1
		})
		r.await(t, "it is not named", func(s Status) bool {
			return s.Ready && len(s.Held) == 1 && strings.Contains(s.Held[0], "held back the labels from offset")
		})
		commit()
		shows(t, reg, "the transaction of labels has ended", func(s scraped) bool {
			return s[`liftstream_labels_held_seconds{partition="0"}`] == 0 &&
				s[`liftstream_labels_lag_messages{partition="0"}`] == 0
		})
		r.end(t)
	})
}

// TestTheSizeOfAStateIsThatOfItsNewestSnapshot, however often it was told, and of no snapshot none.
func TestTheSizeOfAStateIsThatOfItsNewestSnapshot(t *testing.T) {
	x := idleTask(t, nil)
	of := func(packed ...int) *state.Manifest {
		m := &state.Manifest{}
		for _, n := range packed {
			m.Sections = append(m.Sections, state.Stored{Blob: state.Blob{Packed: n}})
		}
		return m
	}
	for i, c := range []struct {
		last *state.Manifest
		want int64
	}{{nil, 0}, {of(30, 12), 42}, {of(30, 12), 42}, {of(5), 5}, {of(), 0}} {
		x.snap.Last = c.last
		if x.board.ageing(x, 0); x.board.ages.state != c.want {
			t.Errorf("report %d: %d bytes, want %d", i, x.board.ages.state, c.want)
		}
	}
}
