package pairs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/pairs"
	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// two is a world with the scores of a second stage.
type two struct {
	*streamtest.World
	second string
}

func newTwo(t *testing.T, partitions int) *two {
	t.Helper()
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w := &two{World: streamtest.NewWorld(t, b.Addr(), partitions)}
	w.second = w.Name + "-b-scores"
	if _, err := w.Client.CreateTopics(t.Context(), txn.TopicSpec{Name: w.second, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *two) options() pairs.Options {
	c := w.Codec()
	c.MaxMessage = 1 << 20
	return pairs.Options{Client: w.Client, First: pairs.Stage{Name: w.Name, Scores: w.Topics.Scores},
		Second: pairs.Stage{Name: "b", Scores: w.second}, Events: w.Topics.Events, Labels: w.Topics.Labels, Codec: c,
		Expired: model.Unlabelled, WaitBytes: 1 << 20}
}

// propensity is that of "yes" which a stage gives to record i.
func propensity(stage string, i int) float64 {
	if stage == "b" {
		return 1 / float64(i+3)
	}
	return 1 / float64(i+2)
}

// answer sends the scores of rows [from, to) of an events message whose first record is number first: in Arrow, or in
// JSON lines.
func (w *two) answer(stage, topic string, event *txn.Record, first, from, to int, lines bool) {
	w.T.Helper()
	n := to - from
	b := sample.Records(first+from, n)
	b.Partition, b.Offset, b.Label = int32(event.Partition), event.Offset, nil
	s := &model.Scores{}
	s.Reset(n, 2)
	for i := range n {
		b.ID = append(b.ID, streamtest.RecordID(event.Partition, first+from+i))
		b.Row = append(b.Row, int32(from+i))
		p := propensity(stage, first+from+i)
		s.P[2*i], s.P[2*i+1] = 1-p, p
	}
	o := w.Codec()
	if lines {
		o.Format = codec.FormatJSONL
	}
	e, err := codec.NewScoreEncoder(o)
	if err != nil {
		w.T.Fatal(err)
	}
	value, err := e.Encode(nil, b, s, model.NewLevels(sample.Schema), nil)
	if err != nil {
		w.T.Fatal(err)
	}
	w.send(txn.Record{Topic: topic, Partition: event.Partition, Value: bytes.Clone(value), Time: event.Time,
		Headers: scores.Headers(event, stage, n, 1)})
}

func (w *two) send(r txn.Record) {
	w.T.Helper()
	if err := w.Client.Produce(context.Background(), []txn.Record{r}, txn.None); err != nil {
		w.T.Fatal(err)
	}
}

// joined is the outcome of a Join: "partition/offset/row class", in order.
func (w *two) joined(o pairs.Options) (got []string, counts pairs.Counts) {
	w.T.Helper()
	counts, err := pairs.Join(w.T.Context(), o, func(r *pairs.Record) error {
		i := int(math.Round(1/r.First[1])) - 2
		if math.Abs(r.First[0]+r.First[1]-1) > 1e-12 || math.Abs(r.Second[1]-propensity("b", i)) > 1e-12 {
			w.T.Errorf("record %d has %v and %v", i, r.First, r.Second)
		}
		if r.Class >= 0 && r.Class != sample.Records(int(r.Partition)*1_000_000+i, 1).Label[0] {
			w.T.Errorf("record %d has the class %d", i, r.Class)
		}
		known := " "
		if r.Class < 0 {
			known = "?"
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d%s", r.Partition, i, known)))
		return nil
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return got, counts
}

func (w *two) want(o pairs.Options, want string, counts pairs.Counts) {
	w.T.Helper()
	got, c := w.joined(o)
	if text := strings.Join(got, " "); text != want || c != counts {
		w.T.Errorf("joined %s\nwant   %s\n%+v, want\n%+v", text, want, c, counts)
	}
}

// TestJoin goes through a life: scores of one stage and not of the other, in several messages, in JSON lines, twice,
// of strangers; labels before, behind and without their records, and again.
func TestJoin(t *testing.T) {
	w := newTwo(t, 1)
	w.Produce(9, 3, false) // events 0 1 2 of three records
	events := w.Records(w.Topics.Events, 0)
	w.answer(w.Name, w.Topics.Scores, &events[0], 0, 0, 2, false) // in two parts
	w.answer(w.Name, w.Topics.Scores, &events[0], 0, 2, 3, false)
	w.answer(w.Name, w.Topics.Scores, &events[1], 3, 1, 3, false) // row 0 was bad
	w.answer("b", w.second, &events[0], 0, 0, 3, true)
	w.answer("other", w.second, &events[1], 6, 1, 2, true)
	w.send(txn.Record{Topic: w.second, Value: []byte("no scores")})
	w.answer("b", w.second, &events[1], 3, 0, 3, true)
	w.want(w.options(), "0:0? 0:1? 0:2? 0:4? 0:5?", pairs.Counts{Records: 9, SecondOnly: 1, Both: 5, Waiting: 5})

	w.SendLabels(1, 4) // its time is that of event 2; of record 3 one score is missing
	w.SendLabels(1, 1) // again
	w.want(w.options(), "0:1 0:2 0:4 0:0? 0:5?",
		pairs.Counts{Records: 9, SecondOnly: 1, Both: 5, Labelled: 3, Late: 3, Waiting: 2, LabelsUnused: 1, Repeated: 1})

	// The third event is scored, and again from the second one on, as after a moved offset. Its records have labels
	// that were sent before it.
	w.answer(w.Name, w.Topics.Scores, &events[2], 6, 0, 3, false)
	w.answer("b", w.second, &events[2], 6, 0, 3, true)
	w.answer("b", w.second, &events[1], 3, 0, 3, true)
	w.answer("b", w.second, &events[2], 6, 0, 3, true)
	early := w.options()
	w.send(txn.Record{Topic: w.Topics.Labels, Time: time.UnixMilli(1_600_000_000_000),
		Value: w.Records(w.Topics.Labels, 0)[0].Value})
	w.want(early, "0:1 0:2 0:4 0:0? 0:5? 0:6? 0:7? 0:8?",
		pairs.Counts{Records: 9, SecondOnly: 1, Both: 8, Labelled: 3, Late: 3, Waiting: 5, LabelsUnused: 2, Repeated: 4})

	// Times bound the events, and labels alone name no record.
	o := w.options()
	o.From, o.To = events[1].Time, events[1].Time
	w.want(o, "0:4 0:5?", pairs.Counts{Records: 3, SecondOnly: 1, Both: 2, Labelled: 1, Late: 1, Waiting: 1,
		LabelsUnused: 7, Repeated: 1})
	o = w.options()
	o.Labels = ""
	w.want(o, "0:0? 0:1? 0:2? 0:4? 0:5? 0:6? 0:7? 0:8?", pairs.Counts{Records: 9, SecondOnly: 1, Both: 8, Waiting: 8})
}

// TestLabelsBeforeTheirRecords: by the clocks of the producers, labels may be older than their events.
func TestLabelsBeforeTheirRecords(t *testing.T) {
	w := newTwo(t, 1)
	w.SendLabels(0, 2) // its time is that of record 2
	w.Produce(3, 3, false)
	w.Produce(3, 3, false)
	events := w.Records(w.Topics.Events, 0)
	for i := range events {
		w.answer(w.Name, w.Topics.Scores, &events[i], 3*i, 0, 3, false)
		w.answer("b", w.second, &events[i], 3*i, 0, 3, false)
	}
	w.send(txn.Record{Topic: w.Topics.Labels, Time: time.UnixMilli(1_600_000_000_000),
		Value: w.Records(w.Topics.Labels, 0)[0].Value})
	// The label of 2023 waits for the label of 2020 behind it; both find their records.
	w.want(w.options(), "0:0 0:1 0:2? 0:3? 0:4? 0:5?", pairs.Counts{Records: 6, Both: 6, Labelled: 2, Late: 2, Waiting: 4,
		Repeated: 2})
}

// TestWindowsAndRoom: records whose label does not come count under the class of the configuration or not at all, and
// the store is bounded.
func TestWindowsAndRoom(t *testing.T) {
	w := newTwo(t, 1)
	for range 4 {
		w.Produce(1, 1, false)
	}
	events := w.Records(w.Topics.Events, 0)
	for i := range events {
		w.answer(w.Name, w.Topics.Scores, &events[i], i, 0, 1, false)
		w.answer("b", w.second, &events[i], i, 0, 1, false)
	}
	o := w.options()
	o.Window = 2 * time.Millisecond // events are a millisecond apart
	w.want(o, "0:0? 0:1? 0:2? 0:3?", pairs.Counts{Records: 4, Both: 4, Dropped: 1, Waiting: 3})
	o.Expired = sample.Records(0, 1).Label[0]
	w.want(o, "0:0 0:1? 0:2? 0:3?", pairs.Counts{Records: 4, Both: 4, Labelled: 1, Expired: 1, Waiting: 3})
	closes := o
	o = w.options()
	o.WaitBytes = 800 // two records
	w.want(o, "0:0? 0:1? 0:2? 0:3?", pairs.Counts{Records: 4, Both: 4, Dropped: 2, Waiting: 2})

	// Beside a class of the window's end, labels count when the window closes: the records of one time all at once.
	w.SendLabels(0, 2)
	w.want(closes, "0:0 0:1? 0:2? 0:3?", pairs.Counts{Records: 4, Both: 4, Labelled: 1, Late: 1, Waiting: 3})
	closes.Expired = model.Unlabelled
	w.want(closes, "0:0 0:1 0:2? 0:3?", pairs.Counts{Records: 4, Both: 4, Labelled: 2, Late: 2, Waiting: 2})
}

// TestAWildClockEndsNoWindow: an event of a year ahead, which no stage has scored, lets no record out. One that both
// have scored lets the record before it out.
func TestAWildClockEndsNoWindow(t *testing.T) {
	for scored, want := range map[bool]pairs.Counts{false: {Records: 3, Both: 2, Waiting: 2},
		true: {Records: 3, Both: 3, Waiting: 2, Dropped: 1}} {
		w := newTwo(t, 1)
		w.Produce(1, 1, false)
		first := w.Records(w.Topics.Events, 0)[0]
		w.send(txn.Record{Topic: w.Topics.Events, Value: w.Message(0, 1, 1, false), Time: first.Time.AddDate(1, 0, 0)})
		w.send(txn.Record{Topic: w.Topics.Events, Value: w.Message(0, 2, 1, false), Time: first.Time})
		events := w.Records(w.Topics.Events, 0)
		for i := range events {
			if i == 1 && !scored {
				continue
			}
			w.answer(w.Name, w.Topics.Scores, &events[i], i, 0, 1, false)
			w.answer("b", w.second, &events[i], i, 0, 1, false)
		}
		o := w.options()
		o.Window = time.Hour
		if _, got := w.joined(o); got != want {
			t.Errorf("scored %v: %+v, want %+v", scored, got, want)
		}
	}
}

// TestALabelOfARecordThatHasLeft is not that of a later record of the same id; one of a clock a little behind is.
func TestALabelOfARecordThatHasLeft(t *testing.T) {
	src := newTwo(t, 1)
	src.SendLabels(0, 1)
	label := src.Records(src.Topics.Labels, 0)[0].Value
	for _, c := range []struct {
		before time.Duration
		want   string
		counts pairs.Counts
	}{
		{time.Minute, "0:0", pairs.Counts{Records: 1, Both: 1, Labelled: 1, Late: 1}},
		{time.Hour, "0:0?", pairs.Counts{Records: 1, Both: 1, Waiting: 1, LabelsUnused: 1}},
	} {
		w := newTwo(t, 1)
		w.Produce(1, 1, false)
		e := w.Records(w.Topics.Events, 0)[0]
		w.answer(w.Name, w.Topics.Scores, &e, 0, 0, 1, false)
		w.answer("b", w.second, &e, 0, 0, 1, false)
		w.send(txn.Record{Topic: w.Topics.Labels, Time: e.Time.Add(-c.before), Value: label})
		w.want(w.options(), c.want, c.counts)
	}
}

// TestLabelsWithEvents: the class that an event carries counts, in every partition, and a later label is a repeated
// one.
func TestLabelsWithEvents(t *testing.T) {
	w := newTwo(t, 2)
	w.Produce(2, 2, true)
	for p := range 2 {
		e := w.Records(w.Topics.Events, p)[0]
		w.answer(w.Name, w.Topics.Scores, &e, 0, 0, 2, false)
		w.answer("b", w.second, &e, 0, 0, 2, false)
	}
	w.SendLabels(0, 1)
	w.want(w.options(), "0:0 0:1 1:0 1:1", pairs.Counts{Records: 4, Both: 4, Labelled: 4, Repeated: 2})
}

func TestBadTopics(t *testing.T) {
	w := newTwo(t, 1)
	w.Produce(1, 1, true)
	e := w.Records(w.Topics.Events, 0)[0]
	w.answer(w.Name, w.Topics.Scores, &e, 0, 0, 1, false)
	sent := errors.New("enough")
	o := w.options()
	o.Second = o.First
	if _, err := pairs.Join(t.Context(), o, func(*pairs.Record) error { return sent }); !errors.Is(err, sent) {
		t.Errorf("an error of the caller: %v", err)
	}
	o = w.options()
	o.Second.Scores = "absent"
	if _, err := pairs.Join(t.Context(), o, nil); err == nil || txn.KindOf(err) != txn.NoTopic {
		t.Errorf("a missing topic: %v", err)
	}
	if _, err := w.Client.CreateTopics(t.Context(), txn.TopicSpec{Name: "wide", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	o.Second.Scores = "wide"
	if _, err := pairs.Join(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), "wide has 2 partitions") {
		t.Errorf("other partitions: %v", err)
	}
	for _, bad := range []string{"{}", "{\"source_row\": 0}\nnot json", `{"source_row": 0, "propensity_yes": "much"}`,
		"ARROW", "\x00\x00\x00\x00\x07\x02"} { // the last one in the frame of a registry, whose schema nobody knows
		o = w.options()
		topic := fmt.Sprintf("bad-%d", len(bad))
		if _, err := w.Client.CreateTopics(t.Context(), txn.TopicSpec{Name: topic, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		w.send(txn.Record{Topic: topic, Value: []byte(bad), Headers: scores.Headers(&e, "b", 1, 1)})
		o.Second.Scores = topic
		if _, err := pairs.Join(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), topic) {
			t.Errorf("scores %q: %v", bad, err)
		}
	}
	// Figures that are no propensities are no score.
	if _, err := w.Client.CreateTopics(t.Context(), txn.TopicSpec{Name: "odd", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	line, _ := json.Marshal(map[string]any{"source_row": 0, "propensity_yes": .5, "propensity_no": nil})
	w.send(txn.Record{Topic: "odd", Value: line, Headers: scores.Headers(&e, "b", 1, 1)})
	o.Second.Scores = "odd"
	w.want(o, "", pairs.Counts{Records: 1, FirstOnly: 1})
}

// away is a registry that does not answer.
type away struct{ asked chan struct{} }

func (a away) Avro(_ uint32, done <-chan struct{}) (string, error) {
	close(a.asked)
	<-done
	return "", codec.ErrStopped
}

// TestJoinEndsWhileTheRegistryIsAway: a join that waits for a schema gives up with its context.
func TestJoinEndsWhileTheRegistryIsAway(t *testing.T) {
	for _, labels := range []bool{false, true} {
		w := newTwo(t, 1)
		topic := w.Topics.Events
		if labels {
			topic = w.Topics.Labels
		}
		w.send(txn.Record{Topic: topic, Value: []byte{0, 0, 0, 0, 7, 2}, Time: time.Now().Add(-time.Minute)})
		o := w.options()
		asked := make(chan struct{})
		o.Codec.Input, o.Codec.Schemas = codec.InputAvro, away{asked}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if _, err := pairs.Join(ctx, o, func(*pairs.Record) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}
