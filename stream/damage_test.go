package stream

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/embedded"
	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestEveryDamageThroughAStage sends one message with each of its bits flipped in turn, and cut at each byte: a running
// stage answers each of them or writes dead letters, goes on, and holds no memory of them in the end.
func TestEveryDamageThroughAStage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it sends some ten thousand messages")
	}
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	ctx := context.Background()
	whole := w.Message(0, 0, 2, true)
	var messages []txn.Record
	add := func(value []byte) {
		messages = append(messages, txn.Record{Topic: w.Topics.Events, Value: bytes.Clone(value), Time: time.Unix(1, 0)})
	}
	for i := range 8 * len(whole) {
		whole[i/8] ^= 1 << (i % 8)
		add(whole)
		whole[i/8] ^= 1 << (i % 8)
	}
	for n := range whole {
		add(whole[:n])
	}
	add(whole)
	for at := 0; at < len(messages); at += 500 {
		if err := w.Client.Produce(ctx, messages[at:min(at+500, len(messages))], txn.Lz4); err != nil {
			t.Fatal(err)
		}
	}
	o := w.options(w.Client)
	o.Codec.MaxMessage, o.Codec.Budget = 1<<20, codec.NewBudget(16<<20)
	r := w.run(o)
	answered := func() map[int64]bool {
		got := map[int64]bool{}
		for _, s := range w.Records(w.Topics.Scores, 0) {
			of, err := scores.EventOf(&s)
			if err != nil {
				t.Fatal(err)
			}
			got[of] = true
		}
		return got
	}
	last := int64(len(messages) - 1)
	streamtest.Eventually(t, 5*time.Minute, "the whole message has no score", func() bool { return answered()[last] })
	r.end(t)
	scored, letters := answered(), w.DeadLetters()
	for i := range messages {
		if !scored[int64(i)] && letters[w.Topics.Events+" "+strconv.Itoa(i)] == 0 {
			t.Errorf("message %d has neither scores nor dead letters", i)
		}
	}
	if n := o.Codec.Budget.InUse(); n != 0 {
		t.Errorf("%d bytes of decoded messages are held", n)
	}
	t.Logf("%d messages: %d have scores, %d dead letters", len(messages), len(scored), len(letters))
}
