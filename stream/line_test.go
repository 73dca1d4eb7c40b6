package stream

import (
	"context"
	"errors"
	"liftstream/stream/committed"
	"strings"
	"testing"
	"time"

	"liftstream/stream/txn"
)

// TestANewBeginningForgetsTheOldStateAtOnce lets a stage that has begun anew die before its first snapshot is complete,
// further in the new topic than the state before was in the old one: nothing may tell the next owner of that state.
func TestANewBeginningForgetsTheOldStateAtOnce(t *testing.T) {
	for name, late := range map[string]bool{"without journal": false, "with journal": true} {
		t.Run(name, func(t *testing.T) {
			brokers(t, func(t *testing.T, addr string) {
				ctx := context.Background()
				w := newWorld(t, addr, 1)
				o := w.options(w.client)
				o.FitRecords, o.TopicRecreated = 1<<40, committed.Rebuild
				w.produce(100, 20, !late)
				if late {
					w.labels(0, 100)
				}
				r := w.run(o)
				w.caught(r)
				learnt(t, r, 100)
				r.end(t)
				before := len(w.records(w.topics.Scores, 0))
				w.recreateEvents()
				w.produce(500, 10, true)

				// Its first snapshot goes piece by piece and never gets its manifest.
				o.SnapshotRate, o.Grace = 1, time.Second
				refused := make(chan struct{}, 1000)
				o.OnScores = slowly
				r = w.prepared(o)
				send := r.stage.commit
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					for _, rec := range x.Records {
						if strings.HasPrefix(string(rec.Key), "manifest/") && rec.Value != nil {
							refused <- struct{}{}
							return &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("dead")}
						}
					}
					return send(ctx, p, x)
				}
				r.begin()
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
					if p := r.stage.Status().Partitions; len(p) == 1 && p[0].Offset > 5 {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("it gets nowhere: %+v", r.stage.Status())
					}
				}
				r.stop()
				<-r.done
				if len(refused) == 0 {
					t.Fatal("no snapshot came to its end")
				}
				if at, err := w.client.CommittedOffset(ctx, w.name, w.topics.Events, 0); err != nil || at <= 5 {
					t.Fatalf("it died at event %d: %v", at, err)
				}

				o = w.options(w.client)
				o.FitRecords = 1 << 40
				r = w.run(o)
				w.caught(r)
				learnt(t, r, 500)
				r.end(t)
				if n := counted(o.Metrics.Policies.WithLabelValues("topic_recreated", "fail")); n != 0 {
					t.Errorf("the state that is gone stopped it %v times", n)
				}
				if n := len(w.records(w.topics.Scores, 0)) - before; n != 50 {
					t.Errorf("%d messages were scored, want 50", n)
				}
				found, err := verified(ctx, o)
				if err != nil || len(found[0].Problems) > 0 || found[0].Messages != 50 || found[0].States == 0 ||
					!strings.Contains(found[0].Start, "beginning") {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

// learnt waits until the only partition has learnt n records.
func learnt(t *testing.T, r *running, n float64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p := r.stage.Status().Partitions
		if len(p) == 1 && p[0].Labelled == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has learnt not %v records: %+v", n, p)
		}
	}
}
