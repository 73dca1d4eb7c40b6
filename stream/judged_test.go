package stream

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/committed"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestATornTransactionIsJudgedByItsOwnTime tears a transaction that has refused messages for their times, in all ways.
// The clock is ten minutes ahead at the takeover: it would take the refused ones now, and refuse others. As far as any
// score or letter or the state tells of a message, it is judged as before; each message has a score or a letter, and
// never both, the state has learnt the scored ones, and a replay agrees.
func TestATornTransactionIsJudgedByItsOwnTime(t *testing.T) {
	const rows = 5
	ages := []time.Duration{ // by the offsets of the messages
		0: 0, 1: 0, 2: 59 * time.Minute, // too old ten minutes later
		3: -6 * time.Minute, // too far ahead now, and not ten minutes later
		4: -4 * time.Minute, 5: 59 * time.Minute, 6: -6*time.Minute - time.Second, 7: 0, 8: -6 * time.Minute,
	}
	refused := map[int64]bool{3: true, 6: true, 8: true}
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for parts := range 16 {
			for _, again := range []bool{false, true} {
				if again && parts != inDead && parts != inScores && parts != inScores|inDead|inGroup {
					continue
				}
				t.Run(fmt.Sprintf("%04b again %v", parts, again), func(t *testing.T) {
					begin := time.Now().Truncate(time.Millisecond) // a minute later the oldest would be too old
					w := newWorld(t, addr, 1)
					o := w.options(w.Client)
					o.Codec.Future, o.Codec.Past = 5*time.Minute, time.Hour
					o.Commit, o.Log = 200*time.Millisecond, streamtest.WithoutErrors(t)
					var shift atomic.Int64
					o.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
					r := w.prepared(o)
					var tears atomic.Int32
					r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
						n := tears.Load()
						// A slow machine may commit the first messages by themselves.
						early := n == 0 && x.Offsets[w.Topics.Events][0] < int64(len(ages))
						if early || n > 1 || n == 1 && !again || !writes(x, w.Topics.Scores) && !writes(x, w.Topics.Dead) {
							return p.Commit(ctx, x)
						}
						if tears.Add(1); n == 0 {
							shift.Store(int64(10 * time.Minute))
							return tear(ctx, p, x, &w.Topics, parts)
						}
						shift.Store(int64(11*time.Minute + 30*time.Second))
						return tear(ctx, p, x, &w.Topics, inDead|inScores)
					}
					var out []txn.Record
					for i, age := range ages {
						out = append(out, txn.Record{Topic: w.Topics.Events, Time: begin.Add(-age),
							Value: w.Message(0, i*rows, rows, true)})
					}
					if err := w.Client.Produce(t.Context(), out, txn.Lz4); err != nil {
						t.Fatal(err)
					}
					r.start()
					w.caught(r)
					if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Events, Time: begin.Add(10 * time.Minute),
						Value: w.Message(0, len(ages)*rows, rows, true)}}, txn.None); err != nil {
						t.Fatal(err)
					}
					streamtest.Eventually(t, time.Minute, "another event is not committed", func() bool {
						return w.Committed(0) > int64(len(ages))
					})
					scored, dead := w.fates(t)
					r.await(t, fmt.Sprint("not the records of ", len(scored), " messages are learnt"), func(s Status) bool {
						return s.Partitions[0].Labelled == float64(rows*len(scored))
					})
					r.end(t)
					if tears.Load() == 0 {
						t.Fatal("no transaction was torn")
					}
					for i := range int64(len(ages)) {
						if scored[i]+dead[i] != 1 {
							t.Errorf("message %d has %d scores and %d letters", i, scored[i], dead[i])
						}
						told := parts&(inState|inScores) != 0 && i < 8 || parts&inState != 0 || parts&inDead != 0 && refused[i]
						if told && dead[i] > 0 != refused[i] {
							t.Errorf("message %d has %d letters though it was judged otherwise", i, dead[i])
						}
					}
					found, err := verified(context.Background(), o)
					if err != nil || len(found[0].Problems) > 0 || found[0].States == 0 {
						t.Errorf("%v %+v", err, found)
					}
				})
			}
		}
	})
}

// fates counts the scores messages and the dead letters of each event.
func (o outputs) fates(t *testing.T) (scored, dead map[int64]int) {
	t.Helper()
	scored, dead = map[int64]int{}, map[int64]int{}
	for _, s := range o.Records(o.Topics.Scores, 0) {
		of, err := scores.EventOf(&s)
		if err != nil {
			t.Fatal(err)
		}
		scored[of]++
	}
	for _, l := range o.Records(o.Topics.Dead, 0) {
		of, err := strconv.ParseInt(header(&l, codec.DeadOffset), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		dead[of]++
	}
	return scored, dead
}

// TestAMovedOffsetJudgesNothingTwice: another program sets the group's offset ahead, and the policy accepts it. The
// events after the snapshot are replayed 50 minutes later: the processed ones were in time, and the clock judges the
// passed-over ones.
func TestAMovedOffsetJudgesNothingTwice(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		begin := time.Now()
		var shift atomic.Int64
		options := func(c *txn.Client) Options {
			o := w.options(c)
			o.Codec.Future, o.Codec.Past, o.OffsetMoved = 5*time.Minute, 20*time.Minute, committed.OffsetSkip
			o.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
			o.Snapshot, o.FitRecords = time.Hour, 1<<40
			return o
		}
		send := func(from, n int, at time.Time) {
			for i := from; i < from+n; i++ {
				if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Events, Time: at,
					Value: w.Message(0, 10*i, 10, true)}}, txn.None); err != nil {
					t.Fatal(err)
				}
			}
		}
		send(0, 2, begin)
		net := &streamtest.Mortal{}
		r := w.run(options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: net.Dial})))
		w.caught(r)
		streamtest.Eventually(t, time.Minute, "there is no first snapshot", func() bool {
			log := state.NewLog()
			if err := log.Follow(context.Background(), w.Client, w.Topics.State, 0); err != nil {
				t.Fatal(err)
			}
			found, _ := log.Manifests()
			return len(found) > 0
		})
		send(2, 3, begin)
		w.caught(r)
		net.Die() // without another snapshot
		r.stop()
		<-r.ended
		w.idle(t)
		shift.Store(int64(50 * time.Minute))
		send(5, 1, begin.Add(10*time.Minute)) // too old by now
		send(6, 3, begin.Add(45*time.Minute)) // of which another program passes the first over
		w.setOffset(w.Topics.Events, 7, "")
		o := options(w.Client)
		r = w.run(o)
		w.caught(r)
		r.await(t, "it learns others", func(s Status) bool { return s.Partitions[0].Labelled == 80 })
		r.end(t)
		scored, dead := w.fates(t)
		if len(scored) != 7 || scored[5]+scored[6] > 0 || len(dead) > 0 {
			t.Errorf("scores %v, letters %v", scored, dead)
		}
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems) != 1 || found[0].Problems[0] != "event 6 has no score" ||
			found[0].States == 0 {
			t.Errorf("%v %+v", err, found)
		}
	})
}
