package skip_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/embedded"
	"liftstream/stream/scores"
	"liftstream/stream/skip"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestMessagesThatMayBeSkipped: the ones behind the committed offset of their own topic, and behind the last scores,
// which may be ahead of the state. Processed ones only where the operator says so.
func TestMessagesThatMayBeSkipped(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := streamtest.NewWorld(t, b.Addr(), 2)
	for i := range 8 {
		for _, topic := range []string{w.Topics.Events, w.Topics.Labels} {
			w.Send(topic, fmt.Sprint("message ", i))
		}
	}
	done := state.Done{Number: 3, Events: 4, Labels: 2, EventsFrom: 4, LabelsFrom: 2, Answered: 4}
	put := func(r txn.Record) {
		t.Helper()
		if err := w.Client.Produce(t.Context(), []txn.Record{r}, txn.None); err != nil {
			t.Fatal(err)
		}
	}
	put(txn.Record{Topic: w.Topics.State, Key: []byte(state.DoneKey), Value: done.Encode(1)})
	for _, c := range []struct {
		name      string
		stage     string
		partition int
		offset    int64
		processed bool
		answered  int64 // event that has scores, beside the state; 0 = none
		refused   string
	}{
		{"the last processed event", codec.StageEvents, 0, 3, false, 0, "offset 3 already: all below 4 are committed"},
		{"which the operator names as such", codec.StageEvents, 0, 3, true, 0, ""},
		{"the next event", codec.StageEvents, 0, 4, false, 0, ""},
		{"the last processed label", codec.StageLabels, 0, 1, false, 0, "all below 2 are committed"},
		{"the next label", codec.StageLabels, 0, 2, false, 0, ""},
		{"the last message", codec.StageEvents, 0, 7, false, 0, ""},
		{"one behind it", codec.StageEvents, 0, 8, false, 0, "holds the offsets 0 to 7, and no 8"},
		{"one of an empty partition", codec.StageEvents, 1, 0, false, 0, "partition 1, holds no message"},
		{"the last partition is 1", codec.StageEvents, 2, 0, false, 0, "the partitions 0 to 1, and no 2"},
		{"an event that has scores", codec.StageEvents, 0, 5, false, 5, "offset 5 already: all below 6 are committed"},
		{"the next one", codec.StageEvents, 0, 6, false, 5, ""},
		{"labels have none", codec.StageLabels, 0, 2, false, 5, ""},
	} {
		if c.answered > 0 {
			put(txn.Record{Topic: w.Topics.Scores, Value: []byte("x"),
				Headers: scores.Headers(&txn.Record{Offset: c.answered}, w.Name, 1, 0)})
		}
		s, err := skip.Run(t.Context(), skip.Options{Client: w.Client, Name: w.Name, Topics: w.Topics, Limit: 1 << 20,
			Stage: c.stage, Partition: c.partition, Offset: c.offset, Why: "why", Processed: c.processed, Now: time.Unix(1, 0)})
		var refused *skip.RefusedError
		if c.refused != "" {
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		log := state.NewLog()
		if err := log.Follow(t.Context(), w.Client, w.Topics.State, 0); err != nil {
			t.Fatal(err)
		}
		there := false
		for _, x := range log.Skips() {
			there = there || x == *s
		}
		value := fmt.Sprint("message ", c.offset)
		if !there || s.Stage != c.stage || s.Offset != c.offset || s.Why != "why" || s.Length != int64(len(value)) {
			t.Errorf("%s: %+v, in the topic %v", c.name, s, there)
		}
	}
}

// TestASkipReadsNoMoreOfAStateThanItsStage: values of another writer hide no done record behind the limit, and the
// reason of the operator is cut at a character.
func TestASkipReadsNoMoreOfAStateThanItsStage(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := streamtest.NewWorld(t, b.Addr(), 1)
	w.Send(w.Topics.Events, "0", "1")
	done := state.Done{Number: 3, Events: 1, EventsFrom: 1, Answered: 1}
	var records []txn.Record
	for i := range 3 {
		records = append(records, txn.Record{Topic: w.Topics.State, Key: fmt.Appendf(nil, "part/core/0/%d", i),
			Value: make([]byte, 900)})
	}
	records = append(records, txn.Record{Topic: w.Topics.State, Key: []byte(state.DoneKey), Value: done.Encode(1)})
	if err := w.Client.Produce(t.Context(), records, txn.None); err != nil {
		t.Fatal(err)
	}
	for limit, refused := range map[int64]bool{1000: true, 900: false} { // beyond 900 bytes nothing is held
		s, err := skip.Run(t.Context(), skip.Options{Client: w.Client, Name: w.Name, Topics: w.Topics, Limit: limit,
			Stage: codec.StageEvents, Why: strings.Repeat("é", state.WhyBytes), Now: time.Unix(1, 0)})
		if (err != nil) != refused || err == nil && s.Why != strings.Repeat("é", state.WhyBytes/2) {
			t.Errorf("limit %d: %v, %+v", limit, err, s)
		}
	}
}
