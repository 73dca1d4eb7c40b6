package stream

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func TestGroupOffsetsThatOthersSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int64
		note   string
		policy committed.OffsetReaction // fail = it is not asked
		want   int                      // records scored in all
	}{
		{"older one of the stage's own", 20, "liftstream/1", committed.OffsetFail, 1000},
		{"set back, rescore", 20, "", committed.OffsetRescore, 600 + 800},
		{"set back, skip", 20, "", committed.OffsetSkip, 1000},
		{"set ahead, rescore", 70, "", committed.OffsetRescore, 1000},
		{"set ahead, skip", 70, "", committed.OffsetSkip, 1000 - 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.Produce(600, 10, true)
				r := w.run(w.options(w.Client))
				w.caught(r)
				r.end(t)
				w.Produce(400, 10, true)
				w.setOffset(w.Topics.Events, c.offset, c.note)
				if c.policy != committed.OffsetFail {
					o := w.options(w.Client)
					o.InputLost, o.TopicRecreated, o.SchemaChanged = committed.Rebuild, committed.Rebuild, committed.Rebuild
					w.run(o).refuses(t, "offset_moved")
				}
				for i := range 2 { // the decision stays
					o := w.options(w.Client)
					if i == 0 {
						o.OffsetMoved = c.policy
					}
					r = w.run(o)
					w.caught(r)
					r.end(t)
					n := counted(o.Metrics.Policies.WithLabelValues("offset_moved", c.policy.String()))
					if want := i == 0 && c.policy != committed.OffsetFail; (n == 1) != want {
						t.Errorf("run %d: the policy was counted %v times", i, n)
					}
				}
				if got := len(w.IDs(0)); got != c.want {
					t.Errorf("%d records were scored, want %d", got, c.want)
				}
				if l := r.stage.Status().Partitions[0].Labelled; l != 1000 {
					t.Errorf("%v records were learnt, want 1000", l)
				}
			})
		})
	}
}

// Brokers forget the offsets of a group that is empty for long. The state knows them.
func TestOffsetsThatExpired(t *testing.T) {
	for _, snapshot := range []bool{true, false} {
		t.Run(fmt.Sprintf("last snapshot %v", snapshot), func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.Produce(600, 10, false)
				w.SendLabels(0, 300)
				m := &streamtest.Mortal{}
				o := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second}))
				o.Grace, o.Patience = time.Second, 2*time.Second
				if !snapshot {
					o.Snapshot = time.Hour
				}
				r := w.run(o)
				w.caught(r)
				learnt(t, r, 300)
				w.Produce(20, 10, false)
				w.caught(r)
				if snapshot {
					r.end(t)
				} else {
					m.Die()
					r.stop()
					<-r.ended
				}
				w.forget()
				w.Produce(100, 10, false)
				r = w.run(w.options(w.Client))
				w.caught(r)
				r.end(t)
				w.ExactlyOnce()
				if found, err := verified(context.Background(), w.options(w.Client)); err != nil || len(found[0].Problems) > 0 {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

// A broker forgets the offsets of a deleted topic as well. A topic that was made anew and has grown beyond them is not
// the one that the state has read.
func TestTopicsMadeAnewThatGrewBeyondTheOffset(t *testing.T) {
	for _, labels := range []bool{false, true} {
		t.Run(fmt.Sprintf("labels %v", labels), func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.Produce(200, 10, false)
				w.SendLabels(0, 100)
				r := w.run(w.options(w.Client))
				w.caught(r)
				learnt(t, r, 100)
				r.end(t)
				before := len(w.IDs(0))
				want := 0
				if labels {
					w.recreate(w.Topics.Labels)
					for i := range 3 {
						w.SendLabels(20*i, 20)
					}
				} else {
					w.recreateEvents()
					w.Next[0] = 5000 // other messages than before
					w.Produce(500, 10, false)
					want = 500
				}
				w.run(w.options(w.Client)).refuses(t, "topic_recreated")
				o := w.options(w.Client)
				o.TopicRecreated = committed.Rebuild
				r = w.run(o)
				w.caught(r)
				r.end(t)
				if got := len(w.IDs(0)) - before; got != want {
					t.Errorf("%d records were scored after the change, want %d", got, want)
				}
			})
		})
	}
}

// withoutDone commits as the versions before the done record did.
func withoutDone(ctx context.Context, p *txn.Producer, t txn.Transaction) error {
	t.Records = slices.DeleteFunc(
		slices.Clone(t.Records),
		func(r txn.Record) bool { return string(r.Key) == state.DoneKey },
	)
	t.Note = ""
	return p.Commit(ctx, t)
}

func TestVersionsWithoutDoneRecordTakeTurns(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		var o Options
		for i := range 5 {
			w.Produce(300, 10, i != 1)
			if i == 1 {
				w.SendLabels(300, 300)
			}
			o = w.options(w.Client)
			r := w.prepared(o)
			if i%2 == 0 {
				r.stage.commit = withoutDone
			}
			r.start()
			w.caught(r)
			r.end(t)
			w.ExactlyOnce()
		}
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems) > 0 || found[0].Records != 1500 {
			t.Errorf("%v %+v", err, found)
		}
	})
}

// An offset without number that is where the state is must not be taken for one that somebody has moved back, once the
// broker has forgotten a transaction after it.
func TestOffsetsWithoutNumberAreClaimedWhereverTheyAre(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 10, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		w.setOffset(w.Topics.Events, 10, "")
		w.Produce(100, 10, true)
		r = w.prepared(w.options(w.Client))
		var torn atomic.Bool
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if !writes(x, w.Topics.Scores) || !torn.CompareAndSwap(false, true) {
				return p.Commit(ctx, x)
			}
			return tear(ctx, p, x, &w.Topics, inState|inScores|inDead)
		}
		r.start()
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
	})
}

// Labels may be passed over as events may be, and the topic of labels may come later than the stage.
func TestLabelsThatBeginElsewhere(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  bool // there was no topic of labels before
		learn float64
	}{{"offset moved forward", false, 400}, {"topic named later, its first labels deleted", true, 200}} {
		t.Run(c.name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				o := w.options(w.Client)
				w.Produce(400, 10, false)
				w.SendLabels(0, 100)
				if c.late {
					o.Topics.Labels = ""
				}
				r := w.run(o)
				w.caught(r)
				if !c.late {
					learnt(t, r, 100)
				}
				r.end(t)
				for i := range 3 {
					w.SendLabels(100*(i+1), 100)
				}
				if c.late {
					w.deleteRecords(w.Topics.Labels, 0, 2)
				} else {
					w.setOffset(w.Topics.Labels, 3, "")
				}
				m := &streamtest.Mortal{}
				o = w.options(
					txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: w.Name}),
				)
				o.Grace, o.Snapshot, o.Patience = time.Second, time.Hour, 2*time.Second
				o.OffsetMoved = committed.OffsetSkip
				r = w.run(o)
				learnt(t, r, c.learn)
				m.Die()
				r.stop()
				<-r.ended
				o = w.options(w.Client)
				o.Instance = w.Name
				r = w.run(o)
				w.caught(r)
				learnt(t, r, c.learn)
				r.end(t)
				w.ExactlyOnce()
				if found, err := verified(context.Background(), w.options(w.Client)); err != nil || len(found[0].Problems) > 0 {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}
