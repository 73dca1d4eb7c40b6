package stream

import (
	"testing"
	"time"

	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// deduping are the options of a stage that leaves duplicates of an hour out.
func (w *world) deduping(c *txn.Client) Options {
	o := w.options(c)
	o.Spec = sample.Spec()
	o.Spec.Options.DedupWindow, o.Spec.Options.DedupBytes = int64(time.Hour), 1<<20
	return o
}

// again sends the last n records of every partition a second time.
func (f feeder) again(n, rows int) {
	f.T.Helper()
	for p := range f.N {
		f.Next[p] -= n
	}
	f.Produce(n, rows, true)
}

// An event that is sent again has one score and is learnt once: in the same run, after a restart, after a death, and
// after a takeover by another member. A replay finds the same.
func TestDuplicatesHaveOneScoreAndAreLearntOnce(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(500, 20, true)
		w.again(300, 30) // in other messages
		o := w.deduping(w.Client)
		r := w.run(o)
		w.caught(r)
		w.again(100, 20) // whole messages
		w.caught(r)
		r.end(t)
		if n := counted(o.Metrics.Duplicates.WithLabelValues("left_out")); n != 2*400 {
			t.Errorf("%v duplicates counted, want 800", n)
		}
		w.ExactlyOnce()

		w.again(200, 20)
		o = w.deduping(w.Client)
		r = w.run(o)
		w.caught(r)
		if n := counted(o.Metrics.Duplicates.WithLabelValues("left_out")); n != 2*200 {
			t.Errorf("after a restart: %v duplicates counted, want 400", n)
		}
		r.end(t)
		w.ExactlyOnce()

		// One that dies at its work, then another one beside the second.
		m := &streamtest.Mortal{}
		mortal := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second, Dial: m.Dial})
		defer mortal.Close()
		o = w.deduping(mortal)
		o.OnScores = slowly
		dying := w.run(o)
		w.Produce(2000, 20, true)
		dying.until(t, 700)
		m.Die()
		w.again(1500, 20)
		one := w.run(w.deduping(w.Client))
		two := w.run(w.deduping(w.Client))
		share(t, 1, one, two)
		w.again(500, 20)
		w.Produce(200, 20, true)
		w.caught(one, two)
		one.end(t)
		w.again(300, 20)
		w.caught(two)
		two.await(t, "it has not learnt each record once", func(s Status) bool {
			return len(s.Partitions) == 2 && s.Partitions[0].Labelled == 2700 && s.Partitions[1].Labelled == 2700
		})
		two.end(t)
		w.ExactlyOnce()
		clean(t, w.deduping(w.Client))
	})
}
