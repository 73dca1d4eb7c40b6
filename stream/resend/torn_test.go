package resend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func TestLedgerIsASetOfOffsets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := Ledger{}
	want := map[int64]bool{}
	for range 3000 {
		from := r.Int64N(200)
		if r.IntN(2) == 0 {
			to := from + r.Int64N(6)
			l.mark(from, to)
			for o := from; o < to; o++ {
				want[o] = true
			}
		} else {
			l.wait(from)
			delete(want, from)
		}
		at := l.low
		for i, s := range l.sent {
			if s[0] <= at || s[1] <= s[0] {
				t.Fatalf("span %d of %+v", i, l)
			}
			at = s[1]
		}
		for o := range int64(210) {
			if l.Sent(o) != want[o] {
				t.Fatalf("offset %d: %v, ledger %+v", o, l.Sent(o), l)
			}
		}
	}
}

// A broker that dies alone may leave a transaction committed in one topic and not in another. The next run compares: it
// sends no message again that is there, and sends the missing ones though the receipt names them.
func TestTornTransactionIsCompared(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		d, err := codec.NewDecoder(w.Codec())
		if err != nil {
			t.Fatal(err)
		}
		var out []txn.Record
		for i := range 6 {
			deadletter.Make(d, &txn.Record{Value: fmt.Appendf(nil, "letter %d", i), Offset: int64(i)},
				deadletter.Origin{Topic: w.Topics.Events, Stage: codec.StageEvents}, nil, fmt.Errorf("by the test"),
				time.Unix(1, 0), func(l deadletter.Letter) {
					l.Record.Topic = w.Topics.Dead
					out = append(out, l.Record)
				})
		}
		group := Group(w.Name)
		// The receipt says that 0, 1 and 2 are sent, of which 1 is missing; 4 is sent, and its receipt is missing.
		out = append(out, txn.Record{Topic: w.Topics.Dead, Key: []byte(group),
			Headers: []txn.Header{{Key: headerReceipt, Value: []byte("dead replay")}},
			Value: fmt.Appendf(nil, `{"number": 3, "low": 3, "sent": [], "letters": [[0, 3]], "ends": {%q: [0]}}`,
				w.Topics.Events)})
		for _, i := range []int{0, 2, 4} {
			out = append(out, txn.Record{Topic: w.Topics.Events, Value: fmt.Appendf(nil, "letter %d", i),
				Headers: []txn.Header{{Key: deadletter.HeaderLetter, Value: fmt.Appendf(nil, "%s/0/%d", w.Topics.Dead, i)}}})
		}
		if err := w.Client.Produce(t.Context(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		o := Options{Client: w.Client, Name: w.Name, Dead: w.Topics.Dead, Targets: map[string]int{w.Topics.Events: 1},
			Patience: 10 * time.Second, Now: time.Now}
		for i, want := range []int{3, 0, 0} { // 1, 3 and 5
			n := 0
			o.Each = func(*Letter, Outcome) { n++ }
			s := &sender{o: o, group: group, torn: i < 2}
			if s.producer, err = w.Client.NewProducer(t.Context(), group, timeout); err != nil {
				t.Fatal(err)
			}
			if err := s.whole(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if n != want {
				t.Errorf("run %d sent %d, want %d", i, n, want)
			}
		}
		got := map[string]int{}
		streamtest.Eventually(t, 20*time.Second, "not all letters are there", func() bool {
			clear(got)
			for _, r := range w.Records(w.Topics.Events, 0) {
				got[string(r.Value)]++
			}
			return len(got) == 6
		})
		for i := range 6 {
			if n := got[fmt.Sprint("letter ", i)]; n != 1 {
				t.Errorf("letter %d is there %d times", i, n)
			}
		}
	})
}

// Behind somebody else's open transaction nothing can be compared, so nothing is sent.
func TestOpenTransactionOfSomebodyElseIsNamed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		broken := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return streamtest.Endless(c), nil
			}})
		defer broken.Close()
		foreign, err := broken.NewProducer(t.Context(), w.Name+"-foreign", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x := txn.Transaction{Records: []txn.Record{{Topic: w.Topics.Events, Value: []byte("x")}}}
		if foreign.Commit(t.Context(), x) == nil {
			t.Fatal("a transaction without an end was committed")
		}
		err = Run(t.Context(), Options{Client: w.Client, Name: w.Name, Dead: w.Topics.Dead,
			Targets: map[string]int{w.Topics.Events: 1}, Now: time.Now, longestOpen: 500 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "find-hanging") || txn.KindOf(err) != txn.Environment {
			t.Errorf("got %v", err)
		}
		// A producer that takes the id over ends it.
		if _, err := w.Client.NewProducer(t.Context(), w.Name+"-foreign", time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), Options{Client: w.Client, Name: w.Name, Dead: w.Topics.Dead,
			Targets: map[string]int{w.Topics.Events: 1}, Now: time.Now}); err != nil {
			t.Error(err)
		}
	})
}
