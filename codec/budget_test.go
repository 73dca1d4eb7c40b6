package codec

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"liftstream/model"
)

// TestBudgetWaits: a message waits where others hold the memory, and goes on when they are released.
func TestBudgetWaits(t *testing.T) {
	b := NewBudget(8 << 20)
	o := bankOptions()
	o.Budget = b
	m := &Message{Value: encodeStream(t, []arrow.Record{bankRecord(8_000)}, ipc.WithZstd())}
	var batches [4]model.Batch
	var decoders [4]*Decoder
	for i := range decoders {
		decoders[i] = mustDecoder(t, o)
	}
	done := make(chan int, len(decoders))
	for i, d := range decoders {
		go func() {
			if _, err := d.Decode(m, &batches[i], nil); err != nil {
				t.Errorf("decoder %d: %v", i, err)
			}
			done <- i
		}()
	}
	for range decoders {
		select {
		case i := <-done:
			if n := b.InUse(); n > 8<<20 {
				t.Errorf("%d bytes are in use", n)
			}
			decoders[i].Release()
		case <-time.After(time.Minute):
			t.Fatal("messages wait for each other")
		}
	}
	if n := b.InUse(); n != 0 {
		t.Errorf("%d bytes are in use after all", n)
	}
}

// TestBudgetVerdict: whether a message is refused does not depend on others, nor on the messages before it.
func TestBudgetVerdict(t *testing.T) {
	o := bankOptions()
	o.Budget = NewBudget(4 << 20)
	large := &Message{Value: encodeStream(t, []arrow.Record{bankRecord(12_000)})}
	small := &Message{Value: encodeStream(t, []arrow.Record{bankRecord(100)})}
	d := mustDecoder(t, o)
	for round := range 3 {
		var b model.Batch
		var m *MessageError
		if _, err := d.Decode(large, &b, nil); !errors.As(err, &m) || m.Reason != ReasonTooLarge {
			t.Errorf("round %d: %v", round, err)
		}
		if o.Budget.InUse() != 0 {
			t.Errorf("round %d: a refused message holds %d bytes", round, o.Budget.InUse())
		}
		if _, err := d.Decode(small, &b, nil); err != nil || b.N != 100 {
			t.Errorf("round %d: %d rows, %v", round, b.N, err)
		}
	}
	spent := d.in.account.spent
	d = mustDecoder(t, o)
	var b model.Batch
	if _, err := d.Decode(small, &b, nil); err != nil || d.in.account.spent != spent {
		t.Errorf("%v; a new decoder counts %d bytes, one that knew the message %d", err, d.in.account.spent, spent)
	}
}

// TestAMessageThatStopsLetsThoseBehindItGoOn: the bytes that they need were free, and they waited for their turn alone.
func TestAMessageThatStopsLetsThoseBehindItGoOn(t *testing.T) {
	b := NewBudget(8 << 20)
	if !b.claim(&account{}, 3<<20) || !b.claim(&account{}, 4<<20) {
		t.Fatal("the memory is not there")
	}
	stop, admitted := make(chan struct{}), [2]chan bool{make(chan bool, 1), make(chan bool, 1)}
	for i, n := range [2]int64{2 << 20, 1 << 20} { // the first is too large for the common bytes that are left
		a := &account{}
		if i == 0 {
			a.done = stop
		}
		go func() { admitted[i] <- b.claim(a, n) }()
		for waiting := 0; waiting <= i && len(admitted[i]) == 0; {
			b.mu.Lock()
			waiting = len(b.waiting)
			b.mu.Unlock()
			runtime.Gosched()
		}
	}
	close(stop)
	for i, want := range [2]bool{false, true} {
		select {
		case got := <-admitted[i]:
			if got != want {
				t.Errorf("message %d got its bytes: %v", i, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("message %d waits for a message that has stopped", i)
		}
	}
}

// TestStopped: a message that is told to stop is no dead letter.
func TestStopped(t *testing.T) {
	done := make(chan struct{})
	m := &Message{Value: encodeStream(t, []arrow.Record{bankRecord(100)}), Done: done}
	d := mustDecoder(t, bankOptions())
	var b model.Batch
	if _, err := d.Decode(m, &b, nil); err != nil {
		t.Fatal(err)
	}
	close(done)
	if _, err := d.Decode(m, &b, nil); !errors.Is(err, ErrStopped) || b.N != 0 {
		t.Errorf("%d rows, %v", b.N, err)
	}
	// Nor does it wait for memory.
	o := bankOptions()
	o.Budget = NewBudget(2 << 20)
	first, second := account{limit: 1 << 20, shared: o.Budget}, account{limit: 1 << 20, shared: o.Budget, done: done}
	if !first.take(1<<20) || !o.Budget.claim(&account{}, 1<<20) {
		t.Fatal("the memory is not there")
	}
	if second.take(1) || !second.stopped {
		t.Error("it did not stop")
	}
}
