package skip_test

import (
	"errors"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/skip"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestASkipInsideABatchThatCannotBeRead passes the batch by, which is one message to a stage.
func TestASkipInsideABatchThatCannotBeRead(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		var batch []txn.Record
		for range 3 {
			batch = append(batch, txn.Record{Topic: w.Topics.Events, Value: make([]byte, 200<<10), Time: time.UnixMilli(5)})
		}
		if err := w.Client.Produce(t.Context(), batch, txn.Zstd); err != nil {
			t.Fatal(err)
		}
		small := txn.NewClient(txn.Config{Brokers: w.Brokers, ExpandBytes: 400 << 10})
		t.Cleanup(func() { small.Close() })
		s, err := skip.Run(t.Context(), skip.Options{Client: small, Name: w.Name, Topics: w.Topics, Limit: 1 << 20,
			Stage: codec.StageEvents, Offset: 1, Why: "it cannot be read", Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		f, err := small.Fetch(t.Context(), w.Topics.Events, 0, 0, 1<<20, time.Second)
		if err != nil || len(f.Records) != 1 || f.Records[0].Next() != 3 {
			t.Fatalf("%d messages, %v", len(f.Records), err)
		}
		m, err := replay.New(replay.Options{Spec: sample.Spec(), Codec: w.Codec(), Skips: []state.Skip{*s}})
		if err != nil {
			t.Fatal(err)
		}
		var refused *codec.MessageError
		if _, err := m.ReadEvents(&f.Records[0]); !errors.As(err, &refused) || refused.Reason != codec.ReasonSkipped {
			t.Errorf("the skip is at %d, and the batch at %d: %v", s.Offset, f.Records[0].Offset, err)
		}
	})
}
