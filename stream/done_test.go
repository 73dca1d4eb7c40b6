package stream

import (
	"context"
	"errors"
	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"

	"liftstream/codec"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// tearing commits every few transactions in part, in turn in all the ways that a broker which dies can: what is left
// out was aborted there. The stage is told that the outcome is unknown.
type tearing struct {
	topics topics.Names
	mu     sync.Mutex
	begun  bool
	count  int
	torn   map[int]int // by what was kept: 1 state, 2 scores, 4 dead letters, 8 the group's offsets
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
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		f := &tearing{topics: w.topics, torn: map[int]int{}}
		o := w.options(w.client)
		o.FitRecords, o.Snapshot, o.SnapshotRate = 300, time.Millisecond, 64<<20 // a whole one in nearly every transaction
		o.Log = withoutErrors(t)
		r := w.prepared(o)
		r.stage.commit = f.commit
		r.begin()
		bad := 0
		done := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			p := r.stage.Status().Partitions
			f.begun = f.begun || len(p) == 1 && p[0].Model > 0 // it takes a while to get one when nothing is left in peace
			return len(f.torn) == 16
		}
		for i, deadline := 0, time.Now().Add(5*time.Minute); !done(); i++ {
			w.produce(40, 10, i%3 != 0)
			if i%3 == 0 {
				w.labels(40*i, 40)
			}
			if err := w.client.Produce(ctx, []txn.Record{{Topic: w.topics.Events, Value: []byte("no event")}, {Topic: w.topics.Labels, Value: []byte("no label")}}, txn.None); err != nil {
				t.Fatal(err)
			}
			bad++
			for {
				time.Sleep(20 * time.Millisecond)
				if time.Now().After(deadline) {
					t.Fatalf("only these were torn: %v", f.torn)
				}
				p := r.stage.Status().Partitions // a backlog would only make it slower
				if done() || len(p) == 1 && int64(5*(i+1))-p[0].Offset < 60 {
					break
				}
			}
		}
		f.mu.Lock()
		f.begun = false // what is torn while it stops would be left to the next owner
		f.mu.Unlock()
		w.caught(r)
		for deadline := time.Now().Add(2 * time.Minute); (len(w.records(w.topics.Dead, 0)) < 2*bad || !r.stage.Status().Ready) && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
		r.end(t)
		w.exactlyOnce()
		letters := w.letters()
		for id, n := range letters {
			if n != 1 {
				t.Errorf("%d dead letters of %s", n, id)
			}
		}
		if len(letters) != 2*bad {
			t.Errorf("dead letters of %d messages, want %d", len(letters), 2*bad)
		}
		found, err := verified(ctx, o)
		if err != nil || len(found[0].Problems) > 0 || found[0].Records != w.next[0] || found[0].Swaps == 0 ||
			found[0].States == 0 {
			t.Errorf("%v %+v", err, found)
		}
		t.Logf("%d transactions, torn %v; %+v", f.count, f.torn, found[0])
	})
}

// withoutErrors is a log in which an error fails the test.
func withoutErrors(t *testing.T) *zap.Logger {
	return zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel), zaptest.WrapOptions(zap.Hooks(func(e zapcore.Entry) error {
		if e.Level >= zap.ErrorLevel {
			t.Errorf("logged as an error: %s", e.Message)
		}
		return nil
	})))
}

// letters counts the dead letters of each message.
func (w *world) letters() map[string]int {
	w.t.Helper()
	letters := map[string]int{}
	for _, l := range w.records(w.topics.Dead, 0) {
		h := map[string]string{}
		for _, x := range l.Headers {
			h[x.Key] = string(x.Value)
		}
		letters[h[codec.DeadTopic]+" "+h[codec.DeadOffset]]++
	}
	return letters
}

func TestMessagesWithoutScoresBeforeATornTransactionAreDone(t *testing.T) {
	for name, snapshot := range map[string]time.Duration{"both snapshots are after them": time.Millisecond, "the snapshot is before them": time.Hour} {
		t.Run(name, func(t *testing.T) {
			brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				ctx := context.Background()
				o := w.options(w.client)
				o.Snapshot, o.SnapshotRate, o.Log = snapshot, 64<<20, withoutErrors(t)
				r := w.prepared(o)
				var tear, torn atomic.Bool
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					scored := slices.ContainsFunc(x.Records, func(r txn.Record) bool { return r.Topic == w.topics.Scores })
					if !scored || !tear.CompareAndSwap(true, false) {
						return p.Commit(ctx, x)
					}
					x.Records = slices.DeleteFunc(
						slices.Clone(x.Records),
						func(r txn.Record) bool { return r.Topic == w.topics.Scores },
					)
					if err := p.Commit(ctx, x); err != nil {
						return err
					}
					torn.Store(true)
					return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
				}
				r.begin()
				manifest := func() int64 {
					log := state.NewLog()
					if err := log.Follow(ctx, w.client, w.topics.State, 0); err != nil {
						t.Fatal(err)
					}
					found, _ := log.Manifests()
					if len(found) == 0 {
						return -1
					}
					return found[0].Events
				}
				await := func(what string, ok func() bool) {
					t.Helper()
					for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatalf("%s: it never came: %+v", what, r.stage.Status())
						}
					}
				}
				w.produce(100, 10, true)
				w.caught(r)
				await("first snapshot", func() bool { return manifest() >= 0 })
				const bad = 4
				for i := range bad { // a transaction each
					if err := w.client.Produce(ctx, []txn.Record{{Topic: w.topics.Events, Value: []byte("no event")}}, txn.None); err != nil {
						t.Fatal(err)
					}
					w.caught(r)
					await("snapshot", func() bool { return snapshot == time.Hour || manifest() == int64(11+i) })
				}
				tear.Store(true)
				w.produce(30, 10, true)
				await("torn transaction", torn.Load)
				w.caught(r)
				r.end(t)
				w.exactlyOnce()
				letters := w.letters()
				for id, n := range letters {
					if n != 1 {
						t.Errorf("%d dead letters of %s", n, id)
					}
				}
				if len(letters) != bad {
					t.Errorf("dead letters of %d messages, want %d", len(letters), bad)
				}
				found, err := verified(ctx, o)
				if err != nil || len(found[0].Problems) > 0 || found[0].Records != w.next[0] {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

// A letter that was written without its transaction must be found by every owner until its message is committed, even
// if letters of other messages are written meanwhile.
func TestLettersAreKnownUntilTheirMessageIsCommitted(t *testing.T) {
	d := deadLetters{known: map[deadletter.ID]bool{
		{Topic: "e", Offset: 94, Row: -1}: true, {Topic: "l", Offset: 3, Row: 2}: true, {Topic: "x", Offset: 1 << 40}: true,
	}}
	for _, c := range []struct {
		to   state.Position
		want int
	}{{state.Position{Events: 94, Labels: 3}, 2}, {state.Position{Events: 94, Labels: 4}, 1},
		{state.Position{Events: 95, Labels: 4}, 0}} {
		d.forget(&topics.Names{Events: "e", Labels: "l"}, c.to)
		if len(d.known) != c.want {
			t.Errorf("at %+v: %v", c.to, d.known)
		}
	}
}

// setOffset commits an offset for the group as an administrator's tool does, or a broker that has forgotten the newest.
func (w *world) setOffset(topic string, offset int64, note string) {
	w.t.Helper()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &note
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 5, w.name, -1
	req.Topics = append(req.Topics, t)
	w.admin(req)
	got, err := w.client.CommittedOffsets(context.Background(), w.name, topic, []int{0})
	if err != nil || got[0] != (txn.GroupOffset{Offset: offset, Note: note}) {
		w.t.Fatalf("the offset is not set: %v, %v", got, err)
	}
}

func TestGroupOffsetsThatOthersSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int64
		note   string
		policy bool // topic_recreated decides
		want   int  // records scored in all
	}{
		{"older one of the stage's own", 20, "liftstream/1", false, 1000},
		{"moved back", 20, "", true, 600 + 800},
		{"moved forward", 70, "", false, 1000 - 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.produce(600, 10, true)
				r := w.run(w.options(w.client))
				w.caught(r)
				r.end(t)
				w.produce(400, 10, true)
				w.setOffset(w.topics.Events, c.offset, c.note)
				if c.policy {
					var p *PolicyError
					if err := w.run(w.options(w.client)).fails(t, 20*time.Second); !errors.As(err, &p) ||
						p.Policy != "topic_recreated" {
						t.Fatalf("got %v", err)
					}
				}
				for range 2 { // what was decided once stays so
					o := w.options(w.client)
					o.TopicRecreated = committed.Rebuild
					r = w.run(o)
					w.caught(r)
					r.end(t)
				}
				if got := len(w.ids(0)); got != c.want {
					t.Errorf("%d records were scored, want %d", got, c.want)
				}
				if l := r.stage.Status().Partitions[0].Labelled; l != 1000 {
					t.Errorf("%v records were learnt, want 1000", l)
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
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		var o Options
		for i := range 5 {
			w.produce(300, 10, i != 1)
			if i == 1 {
				w.labels(300, 300)
			}
			o = w.options(w.client)
			r := w.prepared(o)
			if i%2 == 0 {
				r.stage.commit = withoutDone
			}
			r.begin()
			w.caught(r)
			r.end(t)
			w.exactlyOnce()
		}
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems) > 0 || found[0].Records != 1500 {
			t.Errorf("%v %+v", err, found)
		}
	})
}

func TestScoresOfEventsThatDoNotExistAreNotBelieved(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 10, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		r.end(t)
		forged := w.records(w.topics.Scores, 0)[0]
		for i := range forged.Headers {
			if forged.Headers[i].Key == scores.HeaderOffset {
				forged.Headers[i].Value = []byte("1000000")
			}
		}
		if err := w.client.Produce(context.Background(), []txn.Record{forged}, txn.None); err != nil {
			t.Fatal(err)
		}
		w.produce(100, 10, true)
		r = w.run(w.options(w.client))
		w.caught(r)
		r.end(t)
		if n := len(w.ids(0)); n != 200+10 {
			t.Errorf("%d records were scored, the forged ones included", n)
		}
	})
}

// A letter that was written without its transaction does not stand for another one that is missing.
func TestLettersOfTransactionsTornOneAfterAnother(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		bad := func() {
			if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Events, Value: []byte("no event")}}, txn.None); err != nil {
				t.Error(err)
			}
		}
		w.produce(100, 10, true)
		bad()
		o := w.options(w.client)
		o.Commit, o.Log = 300*time.Millisecond, withoutErrors(t)
		r := w.prepared(o)
		var tears atomic.Int32
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			dead := func(r txn.Record) bool { return r.Topic == w.topics.Dead }
			if tears.Load() == 2 || !slices.ContainsFunc(x.Records, dead) {
				return p.Commit(ctx, x)
			}
			x.Records = slices.Clone(x.Records)
			if tears.Add(1) == 1 { // nothing but the letters
				x.Records = slices.DeleteFunc(x.Records, func(r txn.Record) bool { return !dead(r) })
				x.Offsets = nil
				bad() // part of the next one
			} else { // all but the letters
				x.Records = slices.DeleteFunc(x.Records, dead)
			}
			if err := p.Commit(ctx, x); err != nil {
				return err
			}
			return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
		}
		r.begin()
		for deadline := time.Now().Add(time.Minute); len(r.stage.Status().Partitions) == 0 || r.stage.Status().Partitions[0].Offset < 12; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", r.stage.Status())
			}
		}
		r.end(t)
		w.exactlyOnce()
		if l := w.letters(); len(l) != 2 || l[w.topics.Events+" 10"] != 1 || l[w.topics.Events+" 11"] != 1 {
			t.Errorf("dead letters: %v", l)
		}
		if tears.Load() != 2 {
			t.Errorf("%d transactions were torn", tears.Load())
		}
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
			brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				learnt := func(r *running, want float64) {
					t.Helper()
					for deadline := time.Now().Add(20 * time.Second); len(r.stage.Status().Partitions) == 0 || r.stage.Status().Partitions[0].Labelled != want; time.Sleep(10 * time.Millisecond) {
						select {
						case err := <-r.done:
							t.Fatal(err)
						default:
						}
						if time.Now().After(deadline) {
							t.Fatalf("want %v labels: %+v", want, r.stage.Status())
						}
					}
				}
				o := w.options(w.client)
				w.produce(400, 10, false)
				w.labels(0, 100)
				if c.late {
					o.Topics.Labels = ""
				}
				r := w.run(o)
				w.caught(r)
				if !c.late {
					learnt(r, 100)
				}
				r.end(t)
				for i := range 3 {
					w.labels(100*(i+1), 100)
				}
				if c.late {
					w.deleteRecords(w.topics.Labels, 0, 2)
				} else {
					w.setOffset(w.topics.Labels, 3, "")
				}
				m := &mortal{}
				o = w.options(
					txn.NewClient(txn.Config{Brokers: w.brokers, Dial: m.dial, Timeout: 2 * time.Second, ClientID: w.name}),
				)
				o.Grace, o.Snapshot, o.Patience = time.Second, time.Hour, 2*time.Second
				r = w.run(o)
				learnt(r, c.learn)
				m.die()
				r.stop()
				<-r.done
				o = w.options(w.client)
				o.Instance = w.name
				r = w.run(o)
				w.caught(r)
				learnt(r, c.learn)
				r.end(t)
				w.exactlyOnce()
				if found, err := verified(context.Background(), w.options(w.client)); err != nil || len(found[0].Problems) > 0 {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

// An offset without number that is where the state is must not be taken for one that somebody has moved back, once the
// broker has forgotten a transaction after it.
func TestOffsetsWithoutNumberAreClaimedWhereverTheyAre(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 10, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		r.end(t)
		w.setOffset(w.topics.Events, 10, "")
		w.produce(100, 10, true)
		r = w.prepared(w.options(w.client))
		var torn atomic.Bool
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			scored := slices.ContainsFunc(x.Records, func(r txn.Record) bool { return r.Topic == w.topics.Scores })
			if !scored || !torn.CompareAndSwap(false, true) {
				return p.Commit(ctx, x)
			}
			x.Offsets = nil
			if err := p.Commit(ctx, x); err != nil {
				return err
			}
			return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
		}
		r.begin()
		w.caught(r)
		r.end(t)
		w.exactlyOnce()
	})
}

// Letters may lie behind a transaction of somebody else that is open for a while: they are there all the same.
func TestLettersBehindAnOpenTransactionAreFound(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		m := &mortal{}
		broken := txn.NewClient(
			txn.Config{
				Brokers: w.brokers,
				Timeout: 2 * time.Second,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := m.dial(ctx, network, address)
					return endless{c}, err
				},
			},
		)
		defer broken.Close()
		w.produce(100, 10, true)
		if err := w.client.Produce(ctx, []txn.Record{{Topic: w.topics.Events, Value: []byte("no event")}}, txn.None); err != nil {
			t.Fatal(err)
		}
		r := w.prepared(w.options(w.client))
		var torn atomic.Bool
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			dead := slices.DeleteFunc(slices.Clone(x.Records), func(r txn.Record) bool { return r.Topic != w.topics.Dead })
			if len(dead) == 0 || !torn.CompareAndSwap(false, true) {
				return p.Commit(ctx, x)
			}
			foreign, err := broken.NewProducer(ctx, w.name+"-foreign", time.Minute)
			if err != nil {
				return err
			}
			if foreign.Commit(
				ctx,
				txn.Transaction{Records: []txn.Record{{Topic: w.topics.Dead, Value: []byte("somebody else's")}}},
			) == nil {
				t.Error("a transaction without an end was committed")
			}
			go func() {
				time.Sleep(8 * time.Second)
				if _, err := w.client.NewProducer(context.Background(), w.name+"-foreign", time.Minute); err != nil { // which aborts it
					t.Error(err)
				}
			}()
			if err := p.Commit(ctx, txn.Transaction{Records: dead}); err != nil {
				return err
			}
			return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
		}
		r.begin()
		w.caught(r)
		r.end(t)
		w.exactlyOnce()
		if l := w.letters(); len(l) != 1 || l[w.topics.Events+" 10"] != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}

// Millions of bad rows in a few bytes are one dead letter: as many would not fit into memory, at each start again.
func TestMessageOfCountlessBadRowsIsOneDeadLetter(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	nulls := func(n int) []byte {
		var fields []arrow.Field
		var columns []arrow.Array
		for _, name := range []string{"id", "x", "c", "y"} {
			fields, columns = append(
				fields,
				arrow.Field{Name: name, Type: arrow.Null, Nullable: true},
			), append(
				columns,
				array.NewNull(n),
			)
		}
		v, err := codec.NewEventEncoder().Encode(
			nil,
			codec.NewTable(array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(n))),
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, n := range []int{1000, 300_000} {
		for _, topic := range []string{w.topics.Events, w.topics.Labels} {
			if err := w.client.Produce(context.Background(), []txn.Record{{Topic: topic, Value: nulls(n)}}, txn.None); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.produce(100, 10, true)
	r := w.run(w.options(w.client))
	w.caught(r)
	want := map[string]int{
		w.topics.Events + " 0": 1000,
		w.topics.Labels + " 0": 1000,
		w.topics.Events + " 1": 1,
		w.topics.Labels + " 1": 1,
	}
	for deadline := time.Now().Add(20 * time.Second); len(w.letters()) < len(want) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	r.end(t)
	w.exactlyOnce()
	if got := w.letters(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLargestMessageFitsAmongTheDeadLetters(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		noise := make([]byte, 4<<20-200)
		if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil { // which does not compress
			t.Fatal(err)
		}
		if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Events, Value: noise}}, txn.None); err != nil {
			t.Fatal(err)
		}
		w.produce(100, 10, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		r.end(t)
		w.exactlyOnce()
		if l := w.letters(); len(l) != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}
