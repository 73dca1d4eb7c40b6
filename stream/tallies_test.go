package stream

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/txn"
)

// TestWhatIsReadAgainIsCountedOnce: with commits that fail, after which all messages of the transaction are read again,
// the counters are those of a stage whose commits succeed.
func TestWhatIsReadAgainIsCountedOnce(t *testing.T) {
	run := func(failures int64) map[string]map[string]float64 {
		w := alone(t, 1)
		o := weekly(w)
		o.FitEvery = time.Hour
		var left atomic.Int64
		r := w.prepared(o)
		commit := r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if left.Add(-1) >= 0 {
				return &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("no answer")}
			}
			return commit(ctx, p, x)
		}
		r.start()
		r.await(t, "it is not ready", func(s Status) bool { return s.Ready })
		bad := func(topic string) {
			records := []txn.Record{{Topic: topic, Key: []byte("k"), Time: time.Now()},
				{Topic: topic, Value: []byte("no table"), Time: time.Now()}}
			if err := w.Client.Produce(t.Context(), records, txn.None); err != nil {
				t.Fatal(err)
			}
		}
		left.Store(failures)
		w.Produce(200, 20, false)
		bad(w.Topics.Events)
		w.Produce(200, 20, true)
		w.caught(r)
		m := o.Metrics
		left.Store(failures)
		w.SendLabels(0, 100)
		w.SendLabels(1000, 10) // of no record
		bad(w.Topics.Labels)
		r.await(t, "not all labels are read", func(Status) bool {
			return left.Load() < 0 && labels(m.Labels)["unmatched"] >= 10 && len(labels(m.Tombstones)) == 2
		})
		r.end(t)
		out := map[string]map[string]float64{"labels": labels(m.Labels), "dead": labels(m.Dead),
			"tombstones": labels(m.Tombstones), "changed": labels(m.Changed), "records": {}}
		for _, n := range labels(m.Records) {
			out["records"]["all"] += n
		}
		return out
	}
	want, got := run(0), run(3)
	for name := range want {
		if !maps.Equal(got[name], want[name]) {
			t.Errorf("%s: %v, with failed commits %v", name, want[name], got[name])
		}
	}
	if want["records"]["all"] != 400 || want["labels"]["learnt"] != 100 || want["dead"]["not_arrow"] != 2 ||
		want["tombstones"]["events"] != 1 {
		t.Errorf("counted %v", want)
	}
}

// TestATransactionCountsAllOfItsMessages: each figure of a transaction is the sum over its messages.
func TestATransactionCountsAllOfItsMessages(t *testing.T) {
	var sum tally
	for _, one := range []tally{{7, [3]int{4, 2, 1}, 9, 5}, {3, [3]int{0, 1, 2}, 6, 0}, {10, [3]int{3, 3, 4}, 20, 2}} {
		sum.join(&one)
	}
	if want := (tally{20, [3]int{7, 6, 7}, 35, 7}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}
