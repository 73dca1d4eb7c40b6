package resend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/embedded"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// letters writes n dead letters of messages of a topic to a partition of the dead-letter topic.
func letters(t *testing.T, w *streamtest.World, topic string, partition, n int) {
	t.Helper()
	d, err := codec.NewDecoder(w.Codec())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		deadletter.Make(d, &txn.Record{Value: fmt.Appendf(nil, "letter %d", i), Offset: int64(i), Time: time.Unix(1, 0)},
			deadletter.Origin{Name: w.Name, Topic: topic, Stage: codec.StageEvents, Partition: partition}, nil,
			errors.New("by the test"), time.Unix(2, 0), func(l deadletter.Letter) {
				l.Record.Topic, l.Record.Partition = w.Topics.Dead, partition
				if err := w.Client.Produce(t.Context(), []txn.Record{l.Record}, txn.None); err != nil {
					t.Fatal(err)
				}
			})
	}
}

// sending returns a world, and a sender of its partition 0 that counts the letters of which it tells.
func sending(t *testing.T, partitions int) (*streamtest.World, *sender, map[string]int) {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w, told := streamtest.NewWorld(t, b.Addr(), partitions), map[string]int{}
	s := &sender{group: Group(w.Name), end: -1, large: map[int64]bool{}, timeout: timeout, o: Options{Client: w.Client,
		Name: w.Name, Dead: w.Topics.Dead, Targets: map[string]int{w.Topics.Events: partitions}, Patience: time.Minute,
		Now: time.Now, Each: func(l *Letter, o Outcome) { told[fmt.Sprint(o, " ", l.At.Partition, "/", l.At.Offset)]++ }}}
	if s.producer, err = w.Client.NewProducer(t.Context(), s.group, s.timeout); err != nil {
		t.Fatal(err)
	}
	return w, s, told
}

// TestATransactionWithoutAnAnswerIsToldOnce, though the receipts cannot be read at once: that it was committed shows in
// the next attempt that reads them.
func TestATransactionWithoutAnAnswerIsToldOnce(t *testing.T) {
	w, s, told := sending(t, 1)
	letters(t, w, w.Topics.Events, 0, 3)
	var batch []Letter
	each := s.o.Each
	s.o.Each = func(l *Letter, o Outcome) { batch = append(batch, *l) }
	if err := s.whole(t.Context(), 0); err != nil || len(batch) != 3 {
		t.Fatalf("%v, %d letters", err, len(batch))
	}
	s.o.Each, s.batch, s.at, s.end = each, batch, &loaded{}, -1
	s.o.Dead = "gone"
	for range 2 {
		if err := s.attempt(t.Context()); err == nil {
			t.Fatal("a topic that is not there is read")
		}
	}
	s.o.Dead = w.Topics.Dead
	for range 2 {
		if err := s.attempt(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]int{"sent 0/0": 1, "sent 0/1": 1, "sent 0/2": 1}; !maps.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	if n := len(w.Records(w.Topics.Events, 0)); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// TestLettersThatStayAreToldOnce: in each partition, however many attempts come by them.
func TestLettersThatStayAreToldOnce(t *testing.T) {
	w, s, told := sending(t, 2)
	letters(t, w, "somebody-elses", 0, 3)
	letters(t, w, "somebody-elses", 1, 2)
	for p := range 2 {
		if err := s.whole(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.attempt(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]int{}
	for _, at := range []string{"0/0", "0/1", "0/2", "1/0", "1/1"} {
		want["of another topic "+at] = 1
	}
	if !maps.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}

// TestATornTransactionIsComparedThoughTheFirstAttemptFails.
func TestATornTransactionIsComparedThoughTheFirstAttemptFails(t *testing.T) {
	w, s, told := sending(t, 1)
	letters(t, w, w.Topics.Events, 0, 2)
	receipt := fmt.Appendf(nil, `{"number": 1, "low": 2, "sent": [], "letters": [[0, 2]], "ends": {%q: [0]}}`,
		w.Topics.Events)
	if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Dead, Key: []byte(s.group), Value: receipt,
		Headers: []txn.Header{{Key: headerReceipt, Value: []byte("dead replay")}}}}, txn.None); err != nil {
		t.Fatal(err)
	}
	targets := s.o.Targets
	s.torn, s.o.Targets = true, map[string]int{"gone": 1}
	if err := s.attempt(t.Context()); err == nil {
		t.Fatal("a topic that is not there is compared")
	}
	s.o.Targets = targets
	if err := s.attempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"sent 0/0": 1, "sent 0/1": 1}; !maps.Equal(told, want) {
		t.Errorf("told of %v, want %v: no message of the receipt is there", told, want)
	}
}

// TestTheNewestReceiptHolds, by its number; where retention has taken it, the offset of the group, if a run has set it.
func TestTheNewestReceiptHolds(t *testing.T) {
	for _, c := range []struct {
		name     string
		receipts []string
		offset   int64
		note     string
		number   uint64
		sent     []bool // of the first letters
	}{
		{"nothing was sent", nil, -1, "", 0, []bool{false, false, false, false}},
		{"in their order", []string{`{"number": 4, "low": 1}`, `{"number": 5, "low": 1, "sent": [[2, 3]]}`}, 1, note(5, 0), 5,
			[]bool{true, false, true, false}},
		{"a late one", []string{`{"number": 5, "low": 1, "sent": [[2, 3]]}`, `{"number": 4, "low": 1}`}, 1, note(5, 0), 5,
			[]bool{true, false, true, false}},
		{"spoilt ones", []string{`{"number": 5, "low": 2}`, `{"number": 6, "low": -1}`, `{"number": 7, "low": 1, "sent": [[1,
			2]]}`, `{"number": 0, "low": 3}`, `{`}, 2, note(5, 0), 5, []bool{true, true, false, false}},
		{"retention has taken it", nil, 3, note(5, 4), 0, []bool{true, true, true, false}},
		{"an operator has set the offset", []string{`{"number": 5, "low": 3}`}, 1, "", 5, []bool{true, false, false, false}},
	} {
		w, s, _ := sending(t, 1)
		letters(t, w, w.Topics.Events, 0, 4)
		for _, value := range c.receipts {
			if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Dead, Key: []byte(s.group),
				Value: []byte(value), Headers: []txn.Header{{Key: headerReceipt, Value: []byte("dead replay")}}}},
				txn.None); err != nil {
				t.Fatal(err)
			}
		}
		if c.offset >= 0 {
			if err := s.producer.Commit(t.Context(), txn.Transaction{Group: s.group, Generation: -1, Note: c.note,
				Offsets: map[string]map[int]int64{w.Topics.Dead: {0: c.offset}}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := load(t.Context(), w.Client, s.group, w.Topics.Dead, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i, want := range c.sent {
			if got.Sent(int64(i)) != want {
				t.Errorf("%s: letter %d sent %v, want %v", c.name, i, !want, want)
			}
		}
		if got.number != c.number {
			t.Errorf("%s: receipt %d, want %d", c.name, got.number, c.number)
		}
	}
}

// TestARunGivesUpAfterItsPatience, counted by its clock from the first failure on.
func TestARunGivesUpAfterItsPatience(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	away := txn.NewClient(txn.Config{Brokers: []string{"127.0.0.1:1"}, Timeout: 100 * time.Millisecond})
	defer away.Close()
	now, looks := time.Unix(0, 0), 0
	s := &sender{group: "g", o: Options{Client: away, Dead: "d", Patience: 2 * time.Minute, Now: func() time.Time {
		looks++
		now = now.Add(time.Minute)
		return now
	}}}
	if err := s.whole(ctx, 0); err == nil || ctx.Err() != nil || looks < 3 || looks > 5 {
		t.Errorf("%v after %d looks at the clock", err, looks)
	}
}

// TestATransactionThatTookAllOfItsTimeGetsMore, up to eight minutes; any other the same.
func TestATransactionThatTookAllOfItsTimeGetsMore(t *testing.T) {
	_, s, _ := sending(t, 1)
	for _, c := range []struct {
		had, want time.Duration
		outlived  bool
	}{{30 * time.Second, 30 * time.Second, false}, {30 * time.Second, time.Minute, true},
		{5 * time.Minute, 8 * time.Minute, true}, {8 * time.Minute, 8 * time.Minute, true}} {
		before := s.producer
		s.timeout, s.outlived = c.had, c.outlived
		if err := s.recover(t.Context()); err != nil || s.timeout != c.want || (s.producer != before) != (c.had != c.want) {
			t.Errorf("%v, outlived %v: %v, another producer %v; %v", c.had, c.outlived, s.timeout, s.producer != before, err)
		}
		if c.had != c.want && s.outlived {
			t.Error("the next transaction is taken for one that has outlived its time")
		}
	}
}

// TestAFailedTransactionThatTookAllOfItsTime, nine tenths of it or more, has outlived it: the next one gets more.
func TestAFailedTransactionThatTookAllOfItsTime(t *testing.T) {
	w, s, _ := sending(t, 1)
	if _, err := w.Client.NewProducer(t.Context(), s.group, time.Minute); err != nil { // it fences that of s
		t.Fatal(err)
	}
	s.at, s.timeout = &loaded{}, 30*time.Second
	for took, want := range map[time.Duration]bool{0: false, 27*time.Second - 1: false, 27 * time.Second: true,
		time.Minute: true} {
		now := time.Unix(1_700_000_000, 0)
		s.o.Now = func() time.Time {
			now = now.Add(took)
			return now
		}
		if err := s.note(t.Context(), nil, Ledger{}, nil, nil); err == nil {
			t.Fatal("a fenced producer has committed")
		}
		if s.outlived != want {
			t.Errorf("after %v of %v: outlived %v, want %v", took, s.timeout, s.outlived, want)
		}
	}
}
