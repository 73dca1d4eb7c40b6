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

// tearing commits every few transactions in part, in turn in all the ways that a broker which dies can: it leaves out
// the records that were aborted. The stage is told that the outcome is unknown.
type tearing struct {
	topics topics.Names
	mu     sync.Mutex
	begun  bool
	count  int
	torn   map[int]int // by the kept topics: 1 state, 2 scores, 4 dead letters, 8 the group's offsets
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
	bit := map[string]int{f.topics.State: 1, f.topics.Scores: 2, f.topics.Dead: 4}
	all := t.Records
	t.Records = nil
	for _, r := range all {
		if kept&bit[r.Topic] != 0 {
			t.Records = append(t.Records, r)
		}
	}
	if kept&8 == 0 {
		t.Offsets = nil
	}
	if err := p.Commit(ctx, t); err != nil {
		return err
	}
	return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
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
				var tear, torn atomic.Bool
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					scored := slices.ContainsFunc(x.Records, func(r txn.Record) bool { return r.Topic == w.Topics.Scores })
					if !scored || !tear.CompareAndSwap(true, false) {
						return p.Commit(ctx, x)
					}
					x.Records = slices.DeleteFunc(
						slices.Clone(x.Records),
						func(r txn.Record) bool { return r.Topic == w.Topics.Scores },
					)
					if err := p.Commit(ctx, x); err != nil {
						return err
					}
					torn.Store(true)
					return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
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
				tear.Store(true)
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
