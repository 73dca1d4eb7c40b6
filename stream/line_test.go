package stream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"liftstream/stream/committed"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestANewBeginningForgetsTheOldStateAtOnce lets a stage that has begun anew die before its first snapshot is complete,
// further in the new topic than the state before was in the old one: nothing may tell the next owner of that state.
func TestANewBeginningForgetsTheOldStateAtOnce(t *testing.T) {
	for name, late := range map[string]bool{"without journal": false, "with journal": true} {
		t.Run(name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				ctx := context.Background()
				w := newWorld(t, addr, 1)
				o := w.options(w.Client)
				o.FitRecords, o.TopicRecreated = 1<<40, committed.Rebuild
				w.Produce(100, 20, !late)
				if late {
					w.SendLabels(0, 100)
				}
				r := w.run(o)
				w.caught(r)
				learnt(t, r, 100)
				r.end(t)
				before := len(w.Records(w.Topics.Scores, 0))
				w.recreateEvents()
				w.Produce(500, 10, true)

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
				r.start()
				streamtest.Eventually(t, time.Minute, "it gets nowhere", func() bool {
					p := r.stage.Status().Partitions
					return len(p) == 1 && p[0].Offset > 5
				})
				r.stop()
				<-r.ended
				if len(refused) == 0 {
					t.Fatal("no snapshot came to its end")
				}
				if at := w.Committed(0); at <= 5 {
					t.Fatalf("it died at event %d", at)
				}

				o = w.options(w.Client)
				o.FitRecords = 1 << 40
				r = w.run(o)
				w.caught(r)
				learnt(t, r, 500)
				r.end(t)
				if n := counted(o.Metrics.Policies.WithLabelValues("topic_recreated", "fail")); n != 0 {
					t.Errorf("the state that is gone stopped it %v times", n)
				}
				if n := len(w.Records(w.Topics.Scores, 0)) - before; n != 50 {
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
