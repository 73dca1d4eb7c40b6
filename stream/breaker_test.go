package stream

import (
	"context"
	"errors"
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
func (w *world) garbage(n int) {
	w.T.Helper()
	for p := range w.N {
		var out []txn.Record
		for range n {
			out = append(
				out,
				txn.Record{
					Topic:     w.Topics.Events,
					Partition: p,
					Value:     []byte("not Arrow"),
					Time:      time.UnixMilli(1_700_000_000_000),
				},
			)
		}
		if err := w.Client.Produce(context.Background(), out, txn.Lz4); err != nil {
			w.T.Fatal(err)
		}
	}
}

func TestTooManyDeadLettersStopTheStage(t *testing.T) {
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
		stopped := func(share float64, dead int, o Options, r *running) {
			t.Helper()
			var p *PolicyError
			err := r.fails(t, 20*time.Second)
			if !errors.As(err, &p) || p.Policy != "dead_share" ||
				!strings.Contains(err.Error(), "more than policy.dead_share") ||
				!strings.Contains(err.Error(), w.Topics.Dead) {
				t.Fatalf("got %v", err)
			}
			if st := r.stage.Status(); st.Ready || !strings.Contains(strings.Join(st.Waiting, " "), "policy.dead_share") {
				t.Errorf("the status does not say why it stops: %+v", st)
			}
			if n := counted(o.Metrics.Policies.WithLabelValues("dead_share", "fail")); n != 1 {
				t.Errorf("counted %v times", n)
			}
			if g := gauge(o.Metrics.DeadShare.WithLabelValues("0", "events")); g <= share {
				t.Errorf("the gauge says %v", g)
			}
			if n := len(w.Records(w.Topics.Dead, 0)); n != dead {
				t.Errorf("%d dead letters, want %d", n, dead)
			}
		}
		r, o := run(.05)
		stopped(.05, 6, o, r) // the second bad one of the burst is the sixth of 100 messages
		// Nothing is given up by starting it again as it was.
		r, o = run(.05)
		stopped(.05, 6, o, r)
		r, o = run(.1)
		stopped(.1, 11, o, r)
		r, _ = run(1)
		w.caught(r)
		w.ExactlyOnce()
		if n := len(w.Records(w.Topics.Dead, 0)); n != 34 {
			t.Errorf("%d dead letters, want 34", n)
		}
		r.end(t)
		w.Produce(2000, 20, true)
		r, _ = run(1)
		w.caught(r)
		r.end(t)
		r, _ = run(.05) // all bad ones are behind
		w.Produce(200, 20, true)
		w.caught(r)
		w.ExactlyOnce()
		r.end(t)
	})
}

func TestTooManyBadLabelsStopTheStage(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(500, 20, false)
		w.SendLabels(0, 500)
		o := w.options(w.Client)
		o.DeadShare = .3
		r := w.run(o)
		w.caught(r)
		var out []txn.Record
		for range 40 {
			out = append(out, txn.Record{Topic: w.Topics.Labels, Partition: 0, Value: []byte("not Arrow")})
		}
		if err := w.Client.Produce(context.Background(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		if err := r.fails(t, 20*time.Second); err == nil || !strings.Contains(err.Error(), w.Topics.Labels) {
			t.Fatalf("got %v", err)
		}
		o = w.options(w.Client)
		o.DeadShare = .3
		if err := w.run(o).fails(t, 20*time.Second); err == nil || !strings.Contains(err.Error(), w.Topics.Labels) {
			t.Fatalf("after a restart: %v", err)
		}
	})
}

func gauge(g prometheus.Gauge) float64 {
	var m dto.Metric
	if g.Write(&m) != nil {
		return -1
	}
	return m.GetGauge().GetValue()
}
