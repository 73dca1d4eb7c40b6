package stream

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/txn"
)

// TestLateLabelsAreRipe when the events that were there are processed, or these are held back for too long, or else by
// the times of both topics.
func TestLateLabelsAreRipe(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name   string
		events int64         // where the events ended when the labels were read
		next   int64         // event to be processed next
		label  time.Duration // its timestamp, after that of the newest events; below -24h = it has none
		window time.Duration
		full   bool
		held   time.Duration // how long the events behind the next one have been held back
		want   bool
	}{
		{"all events are processed", 10, 10, time.Hour, time.Hour, false, 0, true},
		{"one is not, and the label is newer", 10, 9, time.Second, time.Hour, false, 0, false},
		{"newer, and held back for long", 10, 9, time.Second, time.Hour, false, 15 * time.Minute, true},
		{"newer, and held back for a while", 10, 9, time.Second, time.Hour, false, 15*time.Minute - 1, false},
		{"older than an eighth of the window", 10, 9, -8 * time.Minute, 64 * time.Minute, false, 0, true},
		{"not quite", 10, 9, -8*time.Minute + 1, 64 * time.Minute, false, 0, false},
		{"a day old, without a window", 10, 9, -24 * time.Hour, 0, false, 0, true},
		{"not quite a day old", 10, 9, -24*time.Hour + 1, 0, false, 0, false},
		{"older, and the pending store is half full", 10, 9, -time.Second, time.Hour, true, 0, true},
		{"newer, and the pending store is half full", 10, 9, time.Second, time.Hour, true, 0, false},
	} {
		x := taskWithWaiting(t, c.window, c.full)
		x.m.At.Events = c.next
		now := x.s.o.Now()
		x.horizon.forget(c.next)
		if c.held > 0 {
			x.horizon.see(c.next+5, c.next, now.Add(-c.held))
		}
		for range neighbours {
			x.eventTimes.add(begin)
			x.labelTimes.add(begin.Add(c.label))
		}
		p := &pipeline{t: x, late: lateLabels{{events: c.events, Fetched: txn.Fetched{Records: []txn.Record{
			{Value: labelOf(t, "another record"), Time: begin.Add(c.label)}}}}}}
		if got := p.ripe(&transaction{}); got != c.want {
			t.Errorf("%s: ripe %v", c.name, got)
		}
		// Where its record waits, an old one is ripe at once.
		p.late[0].Records[0].Value = labelOf(t, "record 0")
		if got := p.ripe(&transaction{}); got != (c.want || c.label <= 0) {
			t.Errorf("%s, and its record waits: ripe %v", c.name, got)
		}
	}
}

// taskWithWaiting is a task whose state has a record that waits for its label, or so many that the pending store is
// half full.
func taskWithWaiting(t *testing.T, window time.Duration, full bool) *task {
	t.Helper()
	x := idleTask(t, func(o *Options) {
		spec := *o.Spec
		spec.Options.WaitWindow, spec.Options.WaitBytes = int64(window), 100_000
		o.Spec, o.Held = &spec, 15*time.Minute
		o.Codec.Schema, o.Codec.ID, o.Codec.Label = sample.Schema, "id", "y"
	})
	var err error
	if x.m, err = replay.New(replay.Options{Spec: x.s.o.Spec, Codec: x.s.o.Codec}); err != nil {
		t.Fatal(err)
	}
	x.m.Part = model.NewPartition(x.s.o.Spec, 0)
	b := sample.Records(0, 1)
	if full {
		b = sample.Records(0, 1000)
	}
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
		b.ID = append(b.ID, fmt.Sprint("record ", i))
	}
	var s model.Scores
	x.m.Part.Events(b, &s)
	return x
}

// TestALateLabelAmongOthers: the next label waits by its own time where that is later than the median of its
// neighbours, and by the median where it is earlier. The times of one or two messages say nothing.
func TestALateLabelAmongOthers(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name           string
		own            time.Duration // timestamp of the next label, after that of the newest events
		before         time.Duration // of the labels that were learnt
		labels, events int           // with a timestamp: learnt, processed
		full           bool
		want           bool
	}{
		{"older than an eighth of the window", -8 * time.Minute, -time.Hour, 5, 5, false, true},
		{"not quite, and its neighbours are", -8*time.Minute + 1, -time.Hour, 5, 5, false, false},
		{"as old as the newest events, and its neighbours are older", 0, -time.Hour, 5, 5, false, false},
		{"newer than the events, and its neighbours are older", 1, -time.Hour, 5, 5, false, false},
		{"newer, and the pending store is half full", 1, -time.Hour, 5, 5, true, false},
		{"older, and its neighbours are not", -time.Hour, -8*time.Minute + 1, 5, 5, false, false},
		{"older, and its neighbours are as well", -time.Hour, -8 * time.Minute, 5, 5, false, true},
		{"the second label", -time.Hour, -time.Hour, 1, 5, false, false},
		{"the third label", -time.Hour, -time.Hour, 2, 5, false, true},
		{"after two events", -time.Hour, -time.Hour, 5, 2, false, false},
		{"after three events", -time.Hour, -time.Hour, 5, 3, false, true},
	} {
		x := taskWithWaiting(t, 64*time.Minute, c.full)
		x.m.At.Events = 9
		x.horizon.forget(9)
		for range c.labels {
			x.labelTimes.add(begin.Add(c.before))
		}
		for range c.events {
			x.eventTimes.add(begin)
		}
		p := &pipeline{t: x, late: lateLabels{{events: 10, Fetched: txn.Fetched{Records: []txn.Record{
			{Value: labelOf(t, "another record"), Time: begin.Add(c.own)}}}}}}
		if got := p.ripe(&transaction{}); got != c.want {
			t.Errorf("%s: ripe %v", c.name, got)
		}
	}
}

// labelOf is a message with the label of one record.
func labelOf(t *testing.T, id string) []byte {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}}, nil))
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(id)
	b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[0])
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
