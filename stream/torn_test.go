package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// The parts of a transaction. A broker that dies can leave any of them committed and the others aborted.
const (
	inState = 1 << iota
	inScores
	inDead
	inGroup // the group's offsets
)

// tear commits these parts of a transaction, and says that the outcome is unknown.
func tear(ctx context.Context, p *txn.Producer, x txn.Transaction, names *topics.Names, parts int) error {
	part := map[string]int{names.State: inState, names.Scores: inScores, names.Dead: inDead}
	x.Records = slices.DeleteFunc(slices.Clone(x.Records), func(r txn.Record) bool { return parts&part[r.Topic] == 0 })
	if parts&inGroup == 0 {
		x.Offsets = nil
	}
	if err := p.Commit(ctx, x); err != nil {
		return err
	}
	return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
}

// writes reports whether a transaction has records for a topic.
func writes(x txn.Transaction, topic string) bool {
	return slices.ContainsFunc(x.Records, func(r txn.Record) bool { return r.Topic == topic })
}

// tearing commits every few transactions in part, in turn in all the ways that a broker which dies can: it leaves out
// the records that were aborted. The stage is told that the outcome is unknown.
type tearing struct {
	topics topics.Names
	mu     sync.Mutex
	begun  bool
	count  int
	torn   map[int]int // by the committed parts
}

func (f *tearing) commit(ctx context.Context, p *txn.Producer, t txn.Transaction) error {
	f.mu.Lock()
	if f.begun {
		f.count++
	}
	kept := f.count / 3 % 16
	whole := !f.begun || f.count%3 != 0
	if !whole {
		f.torn[kept]++
	}
	f.mu.Unlock()
	if whole {
		return p.Commit(ctx, t)
	}
	return tear(ctx, p, t, &f.topics, kept)
}

func TestTransactionsThatAreCommittedInPartAreMadeWhole(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		f := &tearing{topics: w.Topics, torn: map[int]int{}}
		o := w.options(w.Client)
		o.FitRecords, o.Snapshot, o.SnapshotRate = 300, time.Millisecond, 64<<20 // a whole one in nearly every transaction
		o.Log = streamtest.WithoutErrors(t)
		r := w.prepared(o)
		r.stage.commit = f.commit
		r.start()
		bad := 0
		done := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			p := r.stage.Status().Partitions
			f.begun = f.begun || len(p) == 1 && p[0].Model > 0 // it takes a while to get one when nothing is left in peace
			return len(f.torn) == 16
		}
		for i, deadline := 0, time.Now().Add(5*time.Minute); !done(); i++ {
			w.Produce(40, 10, i%3 != 0)
			if i%3 == 0 {
				w.SendLabels(40*i, 40)
			}
			w.Send(w.Topics.Events, "no event")
			w.Send(w.Topics.Labels, "no label")
			bad++
			// A backlog would only make it slower.
			streamtest.Eventually(t, time.Until(deadline), "not every kind was torn", func() bool {
				p := r.stage.Status().Partitions
				return done() || len(p) == 1 && int64(5*(i+1))-p[0].Offset < 60
			}, func() any { return f.torn })
		}
		f.mu.Lock()
		f.begun = false // a transaction torn while it stops would be left to the next owner
		f.mu.Unlock()
		w.caught(r)
		streamtest.Eventually(t, 2*time.Minute, "dead letters are missing", func() bool {
			return len(w.Records(w.Topics.Dead, 0)) >= 2*bad && r.stage.Status().Ready
		}, func() any { return r.stage.Status() })
		r.end(t)
		w.ExactlyOnce()
		letters := w.DeadLetters()
		for id, n := range letters {
			if n != 1 {
				t.Errorf("%d dead letters of %s", n, id)
			}
		}
		if len(letters) != 2*bad {
			t.Errorf("dead letters of %d messages, want %d", len(letters), 2*bad)
		}
		found, err := verified(ctx, o)
		if err != nil || len(found[0].Problems) > 0 || found[0].Records != w.Next[0] || found[0].Swaps == 0 ||
			found[0].States == 0 {
			t.Errorf("%v %+v", err, found)
		}
		t.Logf("%d transactions, torn %v; %+v", f.count, f.torn, found[0])
	})
}

func TestMessagesWithoutScoresBeforeATornTransactionAreDone(t *testing.T) {
	for name, snapshot := range map[string]time.Duration{"both snapshots are after them": time.Millisecond,
		"the snapshot is before them": time.Hour} {
		t.Run(name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				ctx := context.Background()
				o := w.options(w.Client)
				o.Snapshot, o.SnapshotRate, o.Log = snapshot, 64<<20, streamtest.WithoutErrors(t)
				r := w.prepared(o)
				var tears, torn atomic.Bool
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					if !writes(x, w.Topics.Scores) || !tears.CompareAndSwap(true, false) {
						return p.Commit(ctx, x)
					}
					err := tear(ctx, p, x, &w.Topics, inState|inDead|inGroup)
					torn.Store(true)
					return err
				}
				r.start()
				manifest := func() int64 {
					log := state.NewLog()
					if err := log.Follow(ctx, w.Client, w.Topics.State, 0); err != nil {
						t.Fatal(err)
					}
					found, _ := log.Manifests()
					if len(found) == 0 {
						return -1
					}
					return found[0].Events
				}
				await := func(missing string, ok func() bool) {
					t.Helper()
					streamtest.Eventually(t, 2*time.Minute, "there is no "+missing, ok, func() any { return r.stage.Status() })
				}
				w.Produce(100, 10, true)
				w.caught(r)
				await("first snapshot", func() bool { return manifest() >= 0 })
				const bad = 4
				for i := range bad { // a transaction each
					w.Send(w.Topics.Events, "no event")
					w.caught(r)
					await("snapshot", func() bool { return snapshot == time.Hour || manifest() == int64(11+i) })
				}
				tears.Store(true)
				w.Produce(30, 10, true)
				await("torn transaction", torn.Load)
				w.caught(r)
				r.end(t)
				w.ExactlyOnce()
				letters := w.DeadLetters()
				for id, n := range letters {
					if n != 1 {
						t.Errorf("%d dead letters of %s", n, id)
					}
				}
				if len(letters) != bad {
					t.Errorf("dead letters of %d messages, want %d", len(letters), bad)
				}
				found, err := verified(ctx, o)
				if err != nil || len(found[0].Problems) > 0 || found[0].Records != w.Next[0] {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

func TestScoresOfEventsThatDoNotExistAreNotBelieved(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 10, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		forged := w.Records(w.Topics.Scores, 0)[0]
		for i := range forged.Headers {
			if forged.Headers[i].Key == scores.HeaderOffset {
				forged.Headers[i].Value = []byte("1000000")
			}
		}
		if err := w.Client.Produce(context.Background(), []txn.Record{forged}, txn.None); err != nil {
			t.Fatal(err)
		}
		w.Produce(100, 10, true)
		r = w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		if n := len(w.IDs(0)); n != 200+10 {
			t.Errorf("%d records were scored, the forged ones included", n)
		}
	})
}
