package stream

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// holdingEnd is a connection on which the end of a transaction waits for release.
type holdingEnd struct {
	net.Conn
	release <-chan struct{}
}

func (c holdingEnd) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 26 {
		<-c.release
	}
	return c.Conn.Write(b)
}

// upstream sends records in a transaction of another program, which commit ends.
func (f feeder) upstream(records ...txn.Record) (commit func()) {
	f.T.Helper()
	return f.upstreamOf(f.Topics.Events, records...)
}

// upstreamOf is upstream of another topic.
func (f feeder) upstreamOf(topic string, records ...txn.Record) (commit func()) {
	f.T.Helper()
	release, ended := make(chan struct{}), make(chan error, 1)
	c := txn.NewClient(txn.Config{Brokers: f.Brokers, Dial: func(ctx context.Context, network, addr string) (net.Conn,
		error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return holdingEnd{c, release}, err
	}})
	f.T.Cleanup(c.Close)
	p, err := c.NewProducer(context.Background(), topic+"-upstream", time.Minute)
	if err != nil {
		f.T.Fatal(err)
	}
	high := func() int64 {
		h, err := f.Client.ListOffsets(context.Background(), topic, []int{0}, txn.HighWatermark)
		if err != nil {
			f.T.Fatal(err)
		}
		return h[0]
	}
	want := high() + int64(len(records))
	go func() { ended <- p.Commit(context.Background(), txn.Transaction{Records: records}) }()
	streamtest.Eventually(f.T, time.Minute, "the records of the transaction are not there",
		func() bool { return high() >= want })
	released := false
	commit = func() {
		if released {
			return
		}
		released = true
		close(release)
		if err := <-ended; err != nil {
			f.T.Error(err)
		}
	}
	f.T.Cleanup(commit)
	return commit
}

func (f feeder) event(from, n int) txn.Record {
	f.Next[0] = max(f.Next[0], from+n)
	return txn.Record{Topic: f.Topics.Events, Value: f.Message(0, from, n, false), Time: time.Now()}
}

// TestLabelsWaitForEventsOfAnOpenTransaction: labels that come before a producer of exactly once has committed their
// records are learnt once it has.
func TestLabelsWaitForEventsOfAnOpenTransaction(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := weekly(w)
		w.eventsAt(0, 100, time.Now())
		r := w.run(o)
		w.caught(r)
		w.labelsAt(0, 100, time.Now())
		learnt(t, r, 100)
		var records []txn.Record
		for i := range 10 {
			records = append(records, w.event(100+10*i, 10))
		}
		commit := w.upstream(records...)
		w.labelsAt(100, 100, time.Now())
		streamtest.Eventually(t, time.Minute, "the labels that wait are no metric", func() bool {
			return written(t, o.Metrics.LateWaiting.WithLabelValues("0")).GetGauge().GetValue() > 0
		})
		r.await(t, "the transaction is not named", func(s Status) bool { return len(s.Held) == 1 })
		time.Sleep(300 * time.Millisecond) // the labels could be learnt by now
		commit()
		learnt(t, r, 200)
		r.await(t, "the transaction is named still", func(s Status) bool { return len(s.Held) == 0 })
		r.end(t)
		if n := counted(o.Metrics.Labels.WithLabelValues("unmatched")); n != 0 {
			t.Errorf("%v labels found no record", n)
		}
		w.ExactlyOnce()
	})
}

// TestAHangingTransactionIsNamed in status and metrics, and holds late labels back for so long as it may: those whose
// records can be read are learnt then.
func TestAHangingTransactionIsNamed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := weekly(w)
		o.Held = 2 * time.Second
		w.eventsAt(0, 100, time.Now())
		r := w.run(o)
		w.caught(r)
		commit := w.upstream(w.event(100, 10))
		w.eventsAt(110, 100, time.Now()) // behind it
		w.labelsAt(0, 100, time.Now())
		gauge := func(g prometheus.Metric) float64 { return written(t, g).GetGauge().GetValue() }
		r.await(t, "the transaction is not named", func(s Status) bool {
			return s.Ready && len(s.Held) == 1 && strings.Contains(s.Held[0], "offset 1 to 2") &&
				s.Partitions[0].End == 3 && s.Partitions[0].Held.LastStable == 1 && s.Partitions[0].Held.HighWatermark == 3
		})
		streamtest.Eventually(t, time.Minute, "it is no metric", func() bool {
			m := o.Metrics
			return gauge(m.Lag.WithLabelValues("0")) == 2 && gauge(m.HeldMessages.WithLabelValues("0")) == 2 &&
				gauge(m.HeldSeconds.WithLabelValues("0")) > 0.5
		})
		r.await(t, "the stage is ready after the time has passed", func(s Status) bool {
			return !s.Ready && len(s.Waiting) == 1 && strings.Contains(s.Waiting[0], "open transaction")
		})
		learnt(t, r, 100)
		commit()
		w.caught(r)
		r.await(t, "the stage is not ready", func(s Status) bool {
			return s.Ready && len(s.Held) == 0 && gauge(o.Metrics.HeldSeconds.WithLabelValues("0")) == 0
		})
		w.labelsAt(100, 110, time.Now())
		learnt(t, r, 210)
		r.end(t)
	})
}

// TestABacklogWithWildClocks: events of a backlog and their labels, of which one message has a wild timestamp, or all
// of one topic have none, or another clock. All labels find their records, and none waits for the end of the events.
func TestABacklogWithWildClocks(t *testing.T) {
	ahead, none := 1000*time.Hour, time.Duration(-1)
	for i, c := range []struct {
		name           string
		event, label   time.Duration // of the first message; 0 = right
		events, labels time.Duration // of all messages
		inTurn         bool          // labels are learnt before the events have ended
	}{
		{name: "right", inTurn: true},
		{name: "an event ahead", event: ahead, inTurn: true},
		{name: "a label ahead", label: ahead, inTurn: true},
		{name: "an event behind", event: -ahead, inTurn: true},
		{name: "a label behind", label: -ahead, inTurn: true},
		{name: "an event without a time", event: none, inTurn: true},
		{name: "a label without a time", label: none, inTurn: true},
		{name: "labels of a slow clock", labels: -time.Hour, inTurn: true},
		{name: "labels of a fast clock", labels: time.Hour},
		{name: "events without times", events: none, inTurn: true},
		{name: "labels without times", labels: none, inTurn: true},
		{name: "no times at all", events: none, labels: none, inTurn: true},
	} {
		if testing.Short() && i%3 != 1 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				const n, rows, late = 3000, 50, 500
				begin := time.Now().Add(-24 * time.Hour)
				at := func(i int, first, all time.Duration) time.Time {
					if all == none || i == 0 && first == none {
						return time.Time{}
					}
					stamp := begin.Add(time.Duration(i)*time.Second + all)
					if i == 0 {
						stamp = stamp.Add(first)
					}
					return stamp
				}
				for i := 0; i < n; i += rows {
					e := w.event(i, rows)
					if e.Time = at(i, c.event, c.events); i == 0 && e.Time.After(time.Now()) {
						e.Time = time.Now() // ahead of its neighbours, and taken by every broker
					}
					padding := 20 << 10
					if i < 5*rows {
						padding = 150 << 10 // each of them is an answer of its own, and labels are taken between two answers
					}
					e.Headers = []txn.Header{{Key: "padding", Value: make([]byte, padding)}}
					w.taken(e)
				}
				for i := 0; i < n; i += rows {
					stamp := at(i, c.label, c.labels)
					if i == 0 && stamp.After(time.Now()) {
						stamp = time.Now()
					} else if !stamp.IsZero() {
						stamp = stamp.Add(late * time.Second)
					}
					w.labelsAt(i, rows, stamp)
				}
				o := weekly(w)
				o.InFlight = 1 << 20
				var r *running
				inTurn, first := false, 5
				o.OnScores = func(int32, *model.Batch, *model.Scores, *model.Levels) {
					if time.Sleep(2 * time.Millisecond); first > 0 {
						time.Sleep(2 * o.Commit) // and a transaction of its own
						first--
					}
					if s := r.stage.Status(); len(s.Partitions) == 1 && s.Partitions[0].Scored < n-2*rows {
						inTurn = inTurn || s.Partitions[0].Labelled > 0
					}
				}
				r = w.prepared(o)
				r.start()
				w.caught(r)
				learnt(t, r, n)
				r.end(t)
				for _, outcome := range []string{"unmatched", "repeated", "unknown"} {
					if lost := counted(o.Metrics.Labels.WithLabelValues(outcome)); lost != 0 {
						t.Errorf("%v labels are %s", lost, outcome)
					}
				}
				if inTurn != c.inTurn {
					t.Errorf("labels are learnt among the events: %v", inTurn)
				}
				verdicts, err := verified(context.Background(), o)
				if err != nil || len(verdicts) != 1 || len(verdicts[0].Problems) > 0 {
					t.Errorf("the replay differs: %+v, %v", verdicts, err)
				}
			})
		})
	}
}

// TestTombstonesAreCounted and are not bad, among events and labels.
func TestTombstonesAreCounted(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := weekly(w)
		o.DeadShare = 0.01
		w.eventsAt(0, 100, time.Now())
		for range 3 {
			w.taken(txn.Record{Topic: w.Topics.Events, Key: []byte("gone"), Time: time.Now()})
			w.taken(txn.Record{Topic: w.Topics.Labels, Key: []byte("gone"), Time: time.Now()})
		}
		w.eventsAt(100, 100, time.Now())
		w.labelsAt(0, 200, time.Now())
		r := w.run(o)
		w.caught(r)
		learnt(t, r, 200)
		r.end(t)
		for _, stage := range []string{codec.StageEvents, codec.StageLabels} {
			if n := counted(o.Metrics.Tombstones.WithLabelValues(stage)); n != 3 {
				t.Errorf("%v tombstones of %s are counted, want 3", n, stage)
			}
		}
		if letters := w.DeadLetters(); len(letters) > 0 {
			t.Errorf("dead letters %v", letters)
		}
		w.ExactlyOnce()
	})
}
