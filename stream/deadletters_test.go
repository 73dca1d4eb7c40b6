package stream

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/embedded"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// A letter that was written without its transaction must be found by every owner until its message is committed, even
// if letters of other messages are written meanwhile.
func TestLettersAreKnownUntilTheirMessageIsCommitted(t *testing.T) {
	at := time.Unix(7, 0)
	d := deadLetters{Known: deadletter.Known{IDs: map[deadletter.ID]bool{
		{Topic: "e", Offset: 94, Row: -1}: true, {Topic: "l", Offset: 3, Row: 2}: true, {Topic: "x", Offset: 1 << 40}: true,
	}, Judged: map[deadletter.ID]time.Time{{Topic: "e", Offset: 94, Row: -1}: at, {Topic: "l", Offset: 3, Row: -1}: at}}}
	for _, c := range []struct {
		to   state.Position
		want int
	}{{state.Position{Events: 94, Labels: 3}, 2}, {state.Position{Events: 94, Labels: 4}, 1},
		{state.Position{Events: 95, Labels: 4}, 0}} {
		d.forget(&topics.Names{Events: "e", Labels: "l"}, c.to)
		if len(d.IDs) != c.want || len(d.Judged) != c.want {
			t.Errorf("at %+v: %v, %v", c.to, d.IDs, d.Judged)
		}
		if got := d.clock("e", 94, time.Unix(9, 0)); got.Equal(at) != (c.to.Events <= 94) {
			t.Errorf("at %+v: judged by %v", c.to, got)
		}
	}
}

// A letter that was written without its transaction does not stand for another one that is missing.
func TestLettersOfTransactionsTornOneAfterAnother(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		bad := func() {
			if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Value: []byte("no event")}},
				txn.None); err != nil {
				t.Error(err)
			}
		}
		w.Produce(100, 10, true)
		bad()
		o := w.options(w.Client)
		o.Commit, o.Log = 300*time.Millisecond, streamtest.WithoutErrors(t)
		r := w.prepared(o)
		var tears atomic.Int32
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if tears.Load() == 2 || !writes(x, w.Topics.Dead) {
				return p.Commit(ctx, x)
			}
			if tears.Add(1) == 1 {
				bad() // part of the next one
				return tear(ctx, p, x, &w.Topics, inDead)
			}
			return tear(ctx, p, x, &w.Topics, inState|inScores|inGroup)
		}
		r.start()
		r.await(t, "it does not go on", func(s Status) bool { return len(s.Partitions) > 0 && s.Partitions[0].Offset >= 12 })
		r.end(t)
		w.ExactlyOnce()
		if l := w.DeadLetters(); len(l) != 2 || l[w.Topics.Events+" 10"] != 1 || l[w.Topics.Events+" 11"] != 1 {
			t.Errorf("dead letters: %v", l)
		}
		if tears.Load() != 2 {
			t.Errorf("%d transactions were torn", tears.Load())
		}
	})
}

// TestLettersOfSeveralPartitionsInOne: the dead-letter topic may have fewer partitions than the events. Each letter is
// there once, in the partition of its message modulo their number, though each partition finds its letters written and
// the rest of their transaction not. Letters before the last committed one are not looked for again.
func TestLettersOfSeveralPartitionsInOne(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorldOfTwo(t, addr)
		bad := func() {
			for p := range w.N {
				if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Events, Partition: p,
					Value: []byte("no event")}}, txn.None); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Produce(100, 10, true)
		bad()
		r := w.prepared(w.options(w.Client))
		var mu sync.Mutex
		torn := map[int]bool{}
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			mu.Lock()
			first := false
			for partition := range x.Offsets[w.Topics.Events] {
				first = first || writes(x, w.Topics.Dead) && !torn[partition]
				torn[partition] = torn[partition] || first
			}
			mu.Unlock()
			if first {
				return tear(ctx, p, x, &w.Topics, inDead)
			}
			return p.Commit(ctx, x)
		}
		r.start()
		w.caught(r)
		bad()
		w.caught(r)
		w.Produce(10, 10, true)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		got, last := map[string]int{}, map[int]int64{}
		for dead := range 2 {
			for _, l := range w.Records(w.Topics.Dead, dead) {
				x, _ := deadletter.ReadReport(&l)
				got[fmt.Sprintf("%d/%d in %d", x.Partition, x.Offset, dead)]++
				last[x.Partition] = l.Offset
			}
		}
		if want := map[string]int{"0/10 in 0": 1, "1/10 in 1": 1, "2/10 in 0": 1, "0/11 in 0": 1, "1/11 in 1": 1,
			"2/11 in 0": 1}; !maps.Equal(got, want) {
			t.Errorf("letters %v, want %v", got, want)
		}
		for p := range w.N {
			log := state.NewLog()
			if err := log.Follow(t.Context(), w.Client, w.Topics.State, p); err != nil {
				t.Fatal(err)
			}
			if d, err := log.Done(); err != nil || d.DeadFrom < last[p] {
				t.Errorf("partition %d looks for letters from %d on, and the last one is at %d: %v", p, d.DeadFrom, last[p], err)
			}
		}
		if !torn[0] || !torn[1] || !torn[2] {
			t.Errorf("torn: %v", torn)
		}
	})
}

// Letters may lie behind a transaction of somebody else that is open for a while: they are there all the same.
func TestLettersBehindAnOpenTransactionAreFound(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		m := &streamtest.Mortal{}
		broken := txn.NewClient(
			txn.Config{
				Brokers: w.Brokers,
				Timeout: 2 * time.Second,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := m.Dial(ctx, network, address)
					return streamtest.Endless(c), err
				},
			},
		)
		defer broken.Close()
		w.Produce(100, 10, true)
		w.Send(w.Topics.Events, "no event")
		r := w.prepared(w.options(w.Client))
		var torn atomic.Bool
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if !writes(x, w.Topics.Dead) || !torn.CompareAndSwap(false, true) {
				return p.Commit(ctx, x)
			}
			foreign, err := broken.NewProducer(ctx, w.Name+"-foreign", time.Minute)
			if err != nil {
				return err
			}
			if foreign.Commit(
				ctx,
				txn.Transaction{Records: []txn.Record{{Topic: w.Topics.Dead, Value: []byte("somebody else's")}}},
			) == nil {
				t.Error("a transaction without an end was committed")
			}
			go func() {
				time.Sleep(8 * time.Second)
				// which aborts it
				if _, err := w.Client.NewProducer(context.Background(), w.Name+"-foreign", time.Minute); err != nil {
					t.Error(err)
				}
			}()
			return tear(ctx, p, x, &w.Topics, inDead)
		}
		r.start()
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		if l := w.DeadLetters(); len(l) != 1 || l[w.Topics.Events+" 10"] != 1 {
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
		for _, topic := range []string{w.Topics.Events, w.Topics.Labels} {
			if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: topic, Value: nulls(n)}},
				txn.None); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Produce(100, 10, true)
	r := w.run(w.options(w.Client))
	w.caught(r)
	want := map[string]int{
		w.Topics.Events + " 0": 1000,
		w.Topics.Labels + " 0": 1000,
		w.Topics.Events + " 1": 1,
		w.Topics.Labels + " 1": 1,
	}
	streamtest.Eventually(t, 20*time.Second, "dead letters are missing",
		func() bool { return len(w.DeadLetters()) >= len(want) })
	r.end(t)
	w.ExactlyOnce()
	if got := w.DeadLetters(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLargestMessageFitsAmongTheDeadLetters(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		noise := make([]byte, 4<<20-200)
		if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil { // which does not compress
			t.Fatal(err)
		}
		if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Value: noise}},
			txn.None); err != nil {
			t.Fatal(err)
		}
		w.Produce(100, 10, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		if l := w.DeadLetters(); len(l) != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}

func TestBadMessagesGoToDeadLettersAndTheStageGoesOn(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 50, true)
		good := w.Message(0, 0, 10, true)
		bad := []txn.Record{
			{Topic: w.Topics.Events, Key: []byte("k"), Value: []byte("not arrow at all")},
			{Topic: w.Topics.Events, Value: good[:len(good)/2]},
			{Topic: w.Topics.Events, Value: []byte{}},
		}
		if err := w.Client.Produce(context.Background(), bad, txn.None); err != nil {
			t.Fatal(err)
		}
		w.Produce(100, 50, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.ExactlyOnce()
		dead := w.Records(w.Topics.Dead, 0)
		if len(dead) != len(bad) {
			t.Fatalf("%d dead letters of %d bad messages", len(dead), len(bad))
		}
		for i, d := range dead {
			h := map[string]string{}
			for _, x := range d.Headers {
				h[x.Key] = string(x.Value)
			}
			if string(d.Value) != string(bad[i].Value) || h[codec.DeadReason] == "" || h[codec.DeadTopic] != w.Topics.Events ||
				h[codec.DeadOffset] != fmt.Sprint(2+i) ||
				h[codec.DeadPartition] != "0" ||
				h[codec.DeadError] == "" ||
				h[codec.DeadFirstSeen] == "" ||
				h[codec.DeadStage] != "events" {
				t.Errorf("dead letter %d: %v", i, h)
			}
		}
		r.end(t)
	})
}
