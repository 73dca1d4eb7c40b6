package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// swallowing is a network that can lose everything that is sent.
type swallowing struct{ lost atomic.Bool }

func (s *swallowing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return swallowed{c, s}, err
}

type swallowed struct {
	net.Conn
	s *swallowing
}

func (c swallowed) Write(b []byte) (int, error) {
	if c.s.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestStopWithoutBrokersSaysWhatWasNotFlushed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(20_000, 20, true)
		s := &swallowing{}
		o := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: s.dial}))
		o.OnScores, o.Grace = slowly, 4*time.Second
		r := w.run(o)
		r.until(t, 500)
		s.lost.Store(true)
		r.stop()
		began := time.Now()
		err := r.fails(t, 20*time.Second)
		if took := time.Since(began); took > o.Grace+10*time.Second { // no measure of speed: the promise is the grace period
			t.Errorf("it took %v to stop, the grace period is %v", took, o.Grace)
		}
		// A partition that stops between two transactions has nothing to flush, and its snapshot to write.
		for _, p := range []string{"partition 0", "partition 1"} {
			if err == nil || !strings.Contains(err.Error(), p+" was not flushed beyond offset") &&
				!strings.Contains(err.Error(), p+" was not written to a last snapshot") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestSickBrokersAreWaitedForAndThenGivenUp(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(1000, 20, true)
		s := &swallowing{}
		o := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: s.dial, Timeout: 500 * time.Millisecond}))
		o.Patience, o.Grace = 4*time.Second, 2*time.Second
		r := w.run(o)
		w.caught(r)
		s.lost.Store(true)
		waited := false
		streamtest.Eventually(t, 30*time.Second, "it waits for ever", func() bool {
			if st := r.stage.Status(); !st.Ready && strings.Contains(strings.Join(st.Waiting, " "), "i/o timeout") ||
				strings.Contains(strings.Join(st.Waiting, " "), "without an answer") {
				waited = true
			}
			select {
			case err := <-r.ended:
				if err == nil || !strings.Contains(err.Error(), "giving up after 4s") {
					t.Errorf("got %v", err)
				}
				if !waited {
					t.Error("it never said what it waits for")
				}
				return true
			default:
			}
			return false
		}, func() any { return r.stage.Status() })
	})
}

// deaf is a network that can refuse to carry fetches.
type deaf struct{ on atomic.Bool }

func (d *deaf) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return deafened{c, d}, err
}

type deafened struct {
	net.Conn
	d *deaf
}

func (c deafened) Write(b []byte) (int, error) {
	if c.d.on.Load() && len(b) > 6 && b[4] == 0 && b[5] == 1 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// Troubles far apart are not one that lasts, though nothing is there to be committed in between.
func TestPatienceBeginsAnewForAnIdlePartition(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 20, true)
		d := &deaf{}
		c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: d.dial})
		defer c.Close()
		o := w.options(c)
		o.Patience = 3 * time.Second
		r := w.run(o)
		w.caught(r)
		await := func(ready bool) {
			t.Helper()
			r.await(t, fmt.Sprint("it is never ready: ", ready), func(s Status) bool { return s.Ready == ready })
		}
		for range 2 {
			d.on.Store(true)
			await(false)
			d.on.Store(false)
			await(true)
			time.Sleep(o.Patience + time.Second)
		}
		r.end(t)
	})
}

func TestStopTellsItsCauseBesideWhatWasNotFlushed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(20_000, 20, true)
		o := w.options(w.Client)
		o.OnScores = slowly
		r := w.prepared(o)
		inside := make(chan struct{}) // partition 1 is in a transaction that will fail once the stage stops
		var once sync.Once
		send := r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			scored := slices.IndexFunc(x.Records, func(r txn.Record) bool { return r.Topic == w.Topics.Scores })
			switch {
			case scored < 0:
			case x.Records[scored].Partition == 0:
				<-inside
				return &txn.Error{Op: "Produce", Kind: txn.Denied, Err: errors.New("the cause")}
			default:
				once.Do(func() { close(inside) })
				for deadline := time.Now().Add(20 * time.Second); !r.stage.stopping() && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("by the test")}
			}
			return send(ctx, p, x)
		}
		r.start()
		err := r.fails(t, 30*time.Second)
		if txn.KindOf(err) != txn.Denied || !strings.Contains(err.Error(), "the cause") ||
			!strings.Contains(err.Error(), "partition 1 was not flushed beyond offset") {
			t.Errorf("got %v", err)
		}
	})
}

// without is a network that can refuse to carry fetches of a topic.
type without struct {
	topic string
	on    atomic.Bool
}

func (w *without) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return lacking{c, w}, err
}

type lacking struct {
	net.Conn
	w *without
}

func (c lacking) Write(b []byte) (int, error) {
	if c.w.on.Load() && len(b) > 6 && b[4] == 0 && b[5] == 1 && bytes.Contains(b, []byte(c.w.topic)) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// A partition that waits for models which cannot be read says so, and does not wait for ever.
func TestModelsThatCannotBeReadAreWaitedForAndThenGivenUp(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 20, true)
		d := &without{topic: w.Topics.Model}
		c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: d.dial})
		defer c.Close()
		o := w.options(c)
		o.Patience, o.FitEvery = 3*time.Second, time.Hour
		r := w.prepared(o)
		var fail atomic.Bool
		send := r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if fail.CompareAndSwap(true, false) {
				return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("by the test")}
			}
			return send(ctx, p, x)
		}
		r.start()
		w.caught(r)
		d.on.Store(true)
		time.Sleep(1200 * time.Millisecond) // the requests under way are answered
		if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Model, Key: []byte("no model"),
			Value: []byte("x")}}, txn.None); err != nil {
			t.Fatal(err)
		}
		fail.Store(true)
		w.Produce(100, 20, true)
		if err := r.fails(t, 30*time.Second); err == nil || !strings.Contains(err.Error(), "giving up after 3s") ||
			!strings.Contains(err.Error(), "model topic") {
			t.Errorf("got %v", err)
		}
	})
}
