package stream

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"liftstream/model"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func TestDeadWindowCountsTheNewestRows(t *testing.T) {
	near := func(t *testing.T, w *deadWindow, want float64) {
		t.Helper()
		if got := w.share(); math.Abs(got-want) > 1e-12 {
			t.Errorf("share %v, want %v", got, want)
		}
	}
	t.Run("what lacks counts as good", func(t *testing.T) {
		w := &deadWindow{}
		near(t, w, 0)
		w.add(windowed{rows: -1})
		near(t, w, 1./100)
		w.add(windowed{10, 5})
		near(t, w, .01+.99*5/999)
	})
	t.Run("messages that cannot be read stand for average ones", func(t *testing.T) {
		w := &deadWindow{}
		for range 50 {
			w.add(windowed{40, 4})
			w.add(windowed{rows: -1})
		}
		near(t, w, .5+.5*.1)
	})
	t.Run("nothing but them", func(t *testing.T) {
		w := &deadWindow{}
		for range 3000 {
			w.add(windowed{rows: -1})
		}
		near(t, w, 1)
	})
	t.Run("it is a function of the newest messages, and bounded", func(t *testing.T) {
		w := &deadWindow{}
		var all []windowed
		for i := range uint64(20_000) {
			m := windowed{rows: int(model.Hash(i, 1) % 30)}
			if m.rows == 29 {
				m = windowed{rows: -1}
			}
			if m.rows > 0 {
				m.bad = int(model.Hash(i, 2) % uint64(m.rows+1))
			}
			w.add(m)
			all = append(all, m)
			// By the definition: the fewest newest ones that are 100 and hold 1,000 rows.
			n, rows, lost, bad := 0, 0, 0, 0
			for k := len(all) - 1; k >= 0 && (n < 100 || rows+lost < 1000); k-- {
				n++
				if all[k].rows < 0 {
					lost++
				} else {
					rows, bad = rows+max(all[k].rows, 1), bad+all[k].bad
				}
			}
			u := float64(lost) / float64(max(n, 100))
			want := u + (1-u)*float64(bad)/float64(max(rows, 1000-lost))
			if math.Abs(w.share()-want) > 1e-12 || w.n != n {
				t.Fatalf("after %d messages: share %v of %d messages, want %v of %d", i+1, w.share(), w.n, want, n)
			}
		}
	})
	t.Run("messages without rows", func(t *testing.T) {
		w := &deadWindow{}
		for range 5000 {
			w.add(windowed{})
		}
		near(t, w, 0)
		if w.n != windowRows {
			t.Errorf("%d messages, want %d", w.n, windowRows)
		}
	})
}

// garbage sends n messages that are no Arrow stream to every partition of the events topic.
func (f feeder) garbage(n int) {
	f.T.Helper()
	for p := range f.N {
		var out []txn.Record
		for range n {
			out = append(
				out,
				txn.Record{
					Topic:     f.Topics.Events,
					Partition: p,
					Value:     []byte("not Arrow"),
					Time:      time.UnixMilli(1_700_000_000_000),
				},
			)
		}
		if err := f.Client.Produce(context.Background(), out, txn.Lz4); err != nil {
			f.T.Fatal(err)
		}
	}
}

// pauses waits until the only partition is paused, and checks that the status and the metrics say so.
func (w *world) pauses(r *running, o Options, dead int) {
	w.T.Helper()
	r.await(w.T, "it does not pause", func(s Status) bool {
		return len(s.Partitions) == 1 && s.Partitions[0].Phase == Paused
	})
	st := r.stage.Status()
	if text := strings.Join(st.Waiting, " "); st.Ready || !strings.Contains(text, "policy.dead_share") ||
		!strings.Contains(text, w.Topics.Dead) || !strings.Contains(text, "liftstream resume --partition 0") {
		w.T.Errorf("the status does not say why it is paused: %+v", st)
	}
	if g := gauge(o.Metrics.Paused.WithLabelValues("0")); g != 1 {
		w.T.Errorf("the gauge of paused partitions says %v", g)
	}
	if n := len(w.Records(w.Topics.Dead, 0)); n != dead {
		w.T.Errorf("%d dead letters, want %d", n, dead)
	}
}

func (w *world) resume(end bool) {
	w.T.Helper()
	if _, err := Resume(context.Background(), w.Client, w.Name, w.Topics, 0, end); err != nil {
		w.T.Fatal(err)
	}
}

func TestTooManyDeadLettersPauseThePartition(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		run := func(share float64) (*running, Options) {
			o := w.options(w.Client)
			o.DeadShare = share
			return w.run(o), o
		}
		w.Produce(2000, 20, true) // 100 messages
		w.garbage(4)
		w.Produce(200, 20, true)
		r, _ := run(.05)
		w.caught(r) // 4 of 100 are borne
		w.ExactlyOnce()
		r.end(t)

		w.garbage(30)
		w.Produce(1000, 20, true)
		r, o := run(.05)
		w.pauses(r, o, 6) // the second bad one of the burst is the sixth of 100 messages
		if g := gauge(o.Metrics.DeadShare.WithLabelValues("0", "events")); g <= .05 {
			t.Errorf("the gauge says %v", g)
		}
		r.end(t)
		// A restart gives nothing up, and does not resume.
		r, o = run(.05)
		w.pauses(r, o, 6)
		w.resume(false)
		r.await(t, "it does not go on", func(s Status) bool { return s.Partitions[0].Dead >= 6 })
		w.pauses(r, o, 12) // six more that count
		if n := counted(o.Metrics.Policies.WithLabelValues("dead_share", "resumed")); n != 1 {
			t.Errorf("resumed %v times", n)
		}
		r.end(t)
		r, o = run(.05) // which counts the same six, and not those before
		w.pauses(r, o, 12)
		r.end(t)
		w.resume(false) // while nothing runs
		r, o = run(.05)
		w.pauses(r, o, 18)
		w.resume(true)
		w.caught(r)
		w.ExactlyOnce()
		if n := len(w.Records(w.Topics.Dead, 0)); n != 34 {
			t.Errorf("%d dead letters, want 34", n)
		}
		if g := gauge(o.Metrics.Paused.WithLabelValues("0")); g != 0 {
			t.Errorf("the gauge of paused partitions says %v", g)
		}
		r.end(t)
		r, o = run(.05) // the accepted ones do not count
		w.Produce(200, 20, true)
		w.caught(r)
		w.ExactlyOnce()
		w.garbage(6)
		w.pauses(r, o, 40)
		r.end(t)
		r, _ = run(.1) // a higher share goes on, too
		w.caught(r)
		r.end(t)
		clean(t, w.options(w.Client))
	})
}

// clean verifies the topics of a stage.
func clean(t *testing.T, o Options) {
	t.Helper()
	verdicts, err := verified(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if len(v.Problems) > 0 || v.Messages == 0 {
			t.Errorf("verify: %+v", v)
		}
	}
}

func TestTooManyBadLabelsPauseThePartition(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(500, 20, false)
		w.SendLabels(0, 500)
		o := w.options(w.Client)
		o.DeadShare = .3
		r := w.run(o)
		learnt(t, r, 500)
		bad := make([]string, 40)
		for i := range bad {
			bad[i] = "not Arrow"
		}
		w.Send(w.Topics.Labels, bad...)
		w.pauses(r, o, 40)
		if text := strings.Join(r.stage.Status().Waiting, " "); !strings.Contains(text, w.Topics.Labels) {
			t.Errorf("the status does not name the labels: %s", text)
		}
		r.end(t)
		o = w.options(w.Client)
		o.DeadShare = .3
		r = w.run(o)
		w.pauses(r, o, 40)
		w.resume(false)
		w.Produce(100, 20, false)
		w.SendLabels(500, 100)
		learnt(t, r, 600)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
	})
}

func gauge(g prometheus.Gauge) float64 {
	var m dto.Metric
	if g.Write(&m) != nil {
		return -1
	}
	return m.GetGauge().GetValue()
}
