package resend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// post writes n letters of whole messages of partition 0 to the dead-letter topic, as a stage does.
func post(t *testing.T, w *streamtest.World, from, n int, reason codec.Reason, headers ...txn.Header) {
	t.Helper()
	var messages []txn.Record
	for i := from; i < from+n; i++ {
		messages = append(messages, txn.Record{Key: []byte("k"), Value: fmt.Appendf(nil, "letter %d", i), Offset: int64(i),
			Time: time.UnixMilli(5000), Headers: append([]txn.Header{{Key: "trace", Value: []byte("7")}}, headers...)})
	}
	w.WriteLetters(&codec.MessageError{Reason: reason, Err: errors.New("by the test")}, time.Unix(int64(from), 0), nil,
		messages...)
}

func options(w *streamtest.World, c *txn.Client, told map[resend.Outcome]int) resend.Options {
	return resend.Options{Client: c, Name: w.Name, Dead: w.Topics.Dead, Targets: map[string]int{w.Topics.Events: w.N},
		Patience: 20 * time.Second, Now: time.Now, Each: func(_ *resend.Letter, o resend.Outcome) { told[o]++ }}
}

// arrived returns the values of the events topic.
func arrived(w *streamtest.World) (out []string) {
	for _, r := range w.Records(w.Topics.Events, 0) {
		out = append(out, string(r.Value))
	}
	return out
}

func run(t *testing.T, o resend.Options) {
	t.Helper()
	if err := resend.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestEachLetterIsSentOnce(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		post(t, w, 0, 3, codec.ReasonSchema)
		post(t, w, 3, 1200, codec.ReasonDamaged)
		told := map[resend.Outcome]int{}
		o := options(w, w.Client, told)
		dry := o
		dry.DryRun = true
		run(t, dry)
		if got := arrived(w); len(got) != 0 || told[resend.Sent] != 1203 {
			t.Fatalf("a dry run sent %d messages and told of %v", len(got), told)
		}
		clear(told)
		some := o
		some.Filter.Reasons = []codec.Reason{codec.ReasonDamaged}
		run(t, some)
		run(t, some)
		if got := arrived(w); len(got) != 1200 || got[0] != "letter 3" || told[resend.Sent] != 1200 {
			t.Fatalf("%d messages, told of %v", len(got), told)
		}
		run(t, o) // the rest
		run(t, o)
		got := arrived(w)
		if len(got) != 1203 || !slices.Equal(got[1200:], []string{"letter 0", "letter 1", "letter 2"}) {
			t.Fatalf("%d messages, the last ones %q", len(got), got[max(0, len(got)-3):])
		}
		post(t, w, 2000, 1, codec.ReasonDamaged)
		run(t, o)
		if got := arrived(w); len(got) != 1204 {
			t.Errorf("%d messages after another letter", len(got))
		}
		h := map[string]string{}
		for _, x := range w.Records(w.Topics.Events, 0)[0].Headers {
			h[x.Key] = string(x.Value)
		}
		if len(h) != 4 || h["trace"] != "7" || h[deadletter.HeaderReplays] != "1" ||
			h[deadletter.HeaderLetter] != w.Topics.Dead+"/0/3" || h[codec.HeaderTime] != "5000" {
			t.Errorf("headers %v", h)
		}
		ledgers, err := resend.Read(t.Context(), w.Client, w.Name, w.Topics.Dead)
		if err != nil || !ledgers[0].Sent(0) || !ledgers[0].Sent(1202) || ledgers[0].Sent(1<<40) {
			t.Errorf("ledger %+v, %v", ledgers, err)
		}
		set, err := w.Client.ConsumerGroup(resend.Group(w.Name)).Offsets(t.Context(), w.Topics.Dead, []int{0})
		if err != nil || set[0].Offset < 1204 {
			t.Errorf("the group stands at %+v, %v", set, err)
		}
	})
}

// A run that dies between the messages and the end of their transaction, or right after it, is gone on with.
func TestKilledRunIsGoneOnWith(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("after the end %v", after), func(t *testing.T) {
				w := streamtest.NewWorld(t, addr, 1)
				post(t, w, 0, 1300, codec.ReasonDamaged)
				ends := 0
				m := &streamtest.Mortal{}
				mortal := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second,
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						c, err := m.Dial(ctx, network, address)
						return &dying{Conn: c, die: m.Die, ends: &ends, after: after}, err
					}})
				defer mortal.Close()
				o := options(w, mortal, map[resend.Outcome]int{})
				o.Patience = time.Second
				if resend.Run(t.Context(), o) == nil {
					t.Fatal("the run did not die")
				}
				told := map[resend.Outcome]int{}
				run(t, options(w, w.Client, told))
				want := 800
				if after {
					want = 300
				}
				got := arrived(w)
				slices.Sort(got)
				if n := len(slices.Compact(slices.Clone(got))); n != 1300 || len(got) != 1300 || told[resend.Sent] != want {
					t.Errorf("%d messages, %d different ones; the second run sent %v", len(got), n, told)
				}
			})
		}
	})
}

// dying dies at the second end of a transaction: before the request is sent, or before its answer comes.
type dying struct {
	net.Conn
	die   func()
	ends  *int
	after bool
}

func (c *dying) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 26 {
		if *c.ends++; *c.ends == 2 {
			if c.after {
				if _, err := c.Conn.Write(b); err != nil {
					return 0, err
				}
				time.Sleep(300 * time.Millisecond) // the broker has it
			}
			c.die()
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(b)
}

// An answer that does not come is no reason to send again.
func TestLostAnswerSendsNothingTwice(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		post(t, w, 0, 1300, codec.ReasonDamaged)
		ends := 0
		m := &streamtest.Mortal{}
		shaky := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := m.Dial(ctx, network, address)
				return &dying{Conn: c, die: m.Cut, ends: &ends, after: true}, err
			}})
		defer shaky.Close()
		told := map[resend.Outcome]int{}
		run(t, options(w, shaky, told))
		if got := arrived(w); len(got) != 1300 || told[resend.Sent] != 1300 || ends < 3 {
			t.Errorf("%d messages, told of %v, %d ends", len(got), told, ends)
		}
	})
}

func TestTheLaterOfTwoRunsGoesOn(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		post(t, w, 0, 1300, codec.ReasonDamaged)
		o := options(w, w.Client, map[resend.Outcome]int{})
		first := true
		o.Each = func(*resend.Letter, resend.Outcome) {
			if first {
				first = false
				run(t, options(w, w.Client, map[resend.Outcome]int{}))
			}
		}
		err := resend.Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "another 'dead replay'") {
			t.Errorf("got %v", err)
		}
		if got := arrived(w); len(got) != 1300 {
			t.Errorf("%d messages", len(got))
		}
	})
}

func TestLettersThatStay(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		post(t, w, 0, 1, codec.ReasonDamaged, txn.Header{Key: deadletter.HeaderReplays, Value: []byte("3")})
		post(t, w, 1, 1, codec.ReasonDamaged, txn.Header{Key: deadletter.HeaderReplays, Value: []byte("2")})
		foreign := *w
		foreign.Topics.Events = "somebody-elses"
		post(t, &foreign, 2, 1, codec.ReasonDamaged)
		other := *w
		other.Name = "another-stage"
		post(t, &other, 3, 1, codec.ReasonDamaged)
		w.Send(w.Topics.Dead, "no letter")
		told := map[resend.Outcome]int{}
		o := options(w, w.Client, told)
		o.Most = 3
		run(t, o)
		if told[resend.Exhausted] != 1 || told[resend.Foreign] != 2 || told[resend.Sent] != 1 {
			t.Errorf("told of %v", told)
		}
		clear(told)
		o.Most = 0
		run(t, o)
		if told[resend.Foreign] != 2 || told[resend.Sent] != 1 {
			t.Errorf("without a bound: told of %v", told)
		}
		if h := w.Records(w.Topics.Events, 0)[1].Headers; string(h[len(h)-3].Value) != "4" {
			t.Errorf("headers %q", h)
		}
	})
}

// A message that its topic does not take keeps none of the others from it.
func TestLetterThatIsTooLargeStays(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1) // events take 4 MiB, dead letters 1 MiB more
		post(t, w, 0, 2, codec.ReasonDamaged)
		c := &chance{rand.NewChaCha8([32]byte{})}
		large := post1(t, w, 2, c.bytes(4<<20+1<<19))
		post(t, w, 3, 2, codec.ReasonDamaged)
		told := map[resend.Outcome]int{}
		o := options(w, w.Client, told)
		run(t, o)
		if got := arrived(w); len(got) != 4 || told[resend.Sent] != 4 || told[resend.TooLarge] != 1 {
			t.Errorf("%d messages, told of %v", len(got), told)
		}
		ledgers, err := resend.Read(t.Context(), w.Client, w.Name, w.Topics.Dead)
		if err != nil || ledgers[0].Sent(large) || !ledgers[0].Sent(large-1) || !ledgers[0].Sent(large+1) {
			t.Errorf("ledger %+v, %v", ledgers, err)
		}
	})
}

type chance struct{ *rand.ChaCha8 }

// bytes returns n bytes that nothing compresses.
func (c *chance) bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = c.Read(b)
	return b
}

// post1 writes the letter of one message and returns its offset.
func post1(t *testing.T, w *streamtest.World, offset int64, value []byte) int64 {
	t.Helper()
	d, err := codec.NewDecoder(w.Codec())
	if err != nil {
		t.Fatal(err)
	}
	_, end := w.Bounds(w.Topics.Dead, 0)
	deadletter.Make(d, &txn.Record{Value: value, Offset: offset}, deadletter.Origin{Topic: w.Topics.Events}, nil,
		&codec.MessageError{Reason: codec.ReasonTooLarge, Err: fmt.Errorf("by the test")}, time.Unix(1, 0),
		func(l deadletter.Letter) {
			l.Record.Topic = w.Topics.Dead
			if err := w.Client.Produce(t.Context(), []txn.Record{l.Record}, txn.None); err != nil {
				t.Fatal(err)
			}
		})
	return end
}

// The offset of the group may be set by hand: letters from there on wait again.
func TestOffsetSetByHand(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		post(t, w, 0, 10, codec.ReasonDamaged)
		o := options(w, w.Client, map[resend.Outcome]int{})
		run(t, o)
		p, err := w.Client.NewProducer(t.Context(), "hand", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(t.Context(), txn.Transaction{Group: resend.Group(w.Name), Generation: -1,
			Offsets: map[string]map[int]int64{w.Topics.Dead: {0: 7}}}); err != nil {
			t.Fatal(err)
		}
		streamtest.Eventually(t, 10*time.Second, "the offset is not there", func() bool {
			got, err := w.Client.ConsumerGroup(resend.Group(w.Name)).Offsets(t.Context(), w.Topics.Dead, []int{0})
			return err == nil && got[0].Offset == 7
		})
		run(t, o)
		run(t, o)
		if got := arrived(w); len(got) != 13 || got[12] != "letter 9" {
			t.Errorf("%q", got)
		}
	})
}
