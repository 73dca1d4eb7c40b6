package scores_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func header(k, v string) txn.Header { return txn.Header{Key: k, Value: []byte(v)} }

func TestHeadersRepeatThoseOfTheEvent(t *testing.T) {
	event := &txn.Record{Offset: 77, Headers: []txn.Header{
		header("trace", "7"), header(codec.HeaderRows, "3"), header(codec.HeaderCRC32C, "x"),
		header(scores.HeaderOffset, "1"), // of a client that answers its own answers
		header(scores.HeaderName, "other"),
	}}
	got := map[string]string{}
	for _, h := range scores.Headers(event, "s", 2, 9) {
		got[h.Key] = string(h.Value) // the last one counts
	}
	want := map[string]string{"trace": "7", scores.HeaderName: "s", scores.HeaderRows: "2",
		scores.HeaderModel: "9", scores.HeaderOffset: "77"}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	answer := &txn.Record{Headers: scores.Headers(event, "s", 2, 9)}
	if got := scores.NameOf(answer); got != "s" || scores.Other(answer, "s") != "" || scores.Other(answer, "t") != "s" {
		t.Errorf("it is by the stage %q", got)
	}
	if scores.Other(&txn.Record{}, "s") != "" {
		t.Error("a message that does not say its stage is another one's")
	}
	former := scores.Headers(answer, "", 2, 9) // a stage of a build of before answers a score
	former = slices.Delete(former, len(former)-4, len(former)-3)
	if got := scores.NameOf(&txn.Record{Headers: former}); got != "" {
		t.Errorf("the score of a score is by the stage %q, which does not say", got)
	}
	parts := &txn.Record{Headers: scores.JudgedHeader(scores.PartHeaders(scores.Headers(answer, "u", 2, 9), 0, 2, 99), 5)}
	if got := scores.NameOf(parts); got != "u" {
		t.Errorf("a part is by the stage %q", got)
	}
	published := []txn.Header{header(scores.HeaderName, "s")}
	if scores.OtherPublisher(published, "s") != "" || scores.OtherPublisher(published, "t") != "s" ||
		scores.OtherPublisher(nil, "t") != "" {
		t.Error("the model of a stage is another one's")
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %q, want %q", k, got[k], v)
		}
	}
	of, err := scores.EventOf(&txn.Record{Headers: scores.Headers(event, "s", 2, 9)})
	if err != nil || of != 77 {
		t.Errorf("event %d, %v", of, err)
	}
}

// TestLargestHeaders: no message that answers an event has larger headers than the limit of its values leaves room for.
func TestLargestHeaders(t *testing.T) {
	event := &txn.Record{Offset: math.MaxInt64, Key: []byte("k"), Headers: []txn.Header{header("trace", "7")}}
	most := scores.PartHeaders(scores.Headers(event, "s", math.MaxInt32, math.MaxInt64), 1<<30, 1<<30, 1<<30)
	most = scores.JudgedHeader(most, time.Unix(-1<<33, 0).UnixNano())
	most = append(most, header(codec.HeaderTime, txn.FormatMillis(time.UnixMilli(math.MinInt64))))
	all := txn.Record{Key: event.Key, Headers: most}
	room := txn.Record{Key: event.Key, Headers: scores.LargestHeaders(event, "s")}
	if n, left := txn.RecordBytes(&all), txn.RecordBytes(&room); n > left || left > n+8 {
		t.Errorf("headers of %d bytes where there is room for %d", n, left)
	}
}

func TestForeignMessagesAnswerNoEvent(t *testing.T) {
	for _, headers := range [][]txn.Header{nil, {header("x", "1")}, {header(scores.HeaderOffset, "seven")}} {
		if of, err := scores.EventOf(&txn.Record{Headers: headers}); err == nil {
			t.Errorf("%v answers event %d", headers, of)
		}
	}
}

// An event may be a scores message of another stage: the stage's own headers count.
func TestHeadersOfTheEventAreNotTheStages(t *testing.T) {
	event := &txn.Record{Offset: 77, Time: time.UnixMilli(9000), Headers: []txn.Header{header(scores.HeaderOffset, "1"),
		header(scores.HeaderPart, "1/2"), header(scores.HeaderLimit, "500"), header(codec.HeaderTime, "1234")}}
	r := &txn.Record{Time: event.Time, Headers: scores.Headers(event, "s", 2, 9)}
	if at, limit := scores.TimeOf(r), scores.LimitOf(r); !at.Equal(event.Time) || limit != 0 {
		t.Errorf("time %v, limit %d", at, limit)
	}
	r.Headers = append(scores.PartHeaders(r.Headers, 0, 2, 600), header(codec.HeaderTime, "5678"))
	if at, limit := scores.TimeOf(r), scores.LimitOf(r); !at.Equal(time.UnixMilli(5678)) || limit != 600 {
		t.Errorf("time %v, limit %d", at, limit)
	}
}

func TestAnswersSince(t *testing.T) {
	c := streamtest.NewTopic(t, "s")
	var out []txn.Record
	for i := range int64(700) {
		h := scores.Headers(&txn.Record{Offset: i, Headers: []txn.Header{header(scores.HeaderJudged, "5")}}, "s", 1, 1)
		if i > 400 {
			h = scores.JudgedHeader(h, 1000+i)
		}
		out = append(out, txn.Record{Topic: "s", Headers: h})
		// Another stage answers events of other numbers, and judges by other times.
		other := scores.Headers(&txn.Record{Offset: (i + 300) % 700}, "other", 1, 1)
		out = append(out, txn.Record{Topic: "s", Headers: scores.JudgedHeader(other, 77)})
	}
	out = append(out, txn.Record{Topic: "s", Value: []byte("somebody else's")})
	if err := c.Produce(t.Context(), out, txn.None); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ from, first, end, want int64 }{{0, 0, 700, 700}, {0, 350, 700, 350}, {0, 699, 700, 1},
		{0, 700, 800, 0}, {1200, 350, 700, 100}, {0, 350, 500, 150}} {
		got, err := scores.Since(t.Context(), c, "s", 0, "s", x.from, x.first, x.end)
		if err != nil || int64(len(got)) != x.want {
			t.Errorf("%+v: %d answers, %v", x, len(got), err)
		}
		for i, a := range got {
			judged := int64(0)
			if a.Event > 400 {
				judged = 1000 + a.Event
			}
			if a.Judged != judged || i > 0 && a.Event != got[i-1].Event+1 {
				t.Errorf("%+v: answer %d is %+v", x, i, a)
			}
		}
	}
}

func TestReadTail(t *testing.T) {
	c := streamtest.NewTopic(t, "s")
	read := func(ctx context.Context, from, end int64) scores.Tail {
		t.Helper()
		tail, err := scores.ReadTail(ctx, c, "s", 0, "stage", from, end)
		if err != nil {
			t.Fatal(err)
		}
		return tail
	}
	if got := read(t.Context(), 0, 1000); got != (scores.Tail{Next: -1, Known: true}) {
		t.Errorf("an empty topic: %+v", got)
	}
	var out []txn.Record
	for i := range 300 {
		of := strconv.Itoa(2 * i)
		if i >= 200 {
			of = "5000" // an event that does not exist
		}
		out = append(out, txn.Record{Topic: "s", Value: []byte("v"), Headers: []txn.Header{header(scores.HeaderOffset, of)}})
	}
	if err := c.Produce(t.Context(), out, txn.None); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		from, end int64
		want      scores.Tail
	}{
		{"messages for events that do not exist are passed over", 0, 1000, scores.Tail{Next: 399, Known: true}},
		{"from behind the last answer on", 200, 1000, scores.Tail{Next: -1, Known: true}},
		{"events end before", 0, 101, scores.Tail{Next: 101, Known: true}},
		{"events end before the last answer", 0, 398, scores.Tail{Next: 397, Known: true}},
		{"the topic ends before", 301, 1000, scores.Tail{Next: -1, Anew: true}},
		{"all exist", 0, 6000, scores.Tail{Next: 5001, Known: true}},
	} {
		if got := read(t.Context(), x.from, x.end); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scores.ReadTail(ended, c, "s", 0, "stage", 0, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled reader: %v", err)
	}
}

// Scores of other stages in the same topic answer nothing of this one's.
func TestScoresOfAnotherStage(t *testing.T) {
	c := streamtest.NewTopic(t, "s")
	last := func(want string) {
		t.Helper()
		if got, err := scores.LastName(t.Context(), c, "s", 0); err != nil || got != want {
			t.Errorf("the last one is by %q, want %q: %v", got, want, err)
		}
	}
	last("")
	write := func(name string, of int64) {
		t.Helper()
		h := scores.Headers(&txn.Record{Offset: of}, name, 1, 0)
		if name == "" {
			h = h[1:] // as builds of before wrote it
		}
		if err := c.Produce(t.Context(), []txn.Record{{Topic: "s", Value: []byte("v"), Headers: h}}, txn.None); err != nil {
			t.Fatal(err)
		}
	}
	write("", 3)
	last("")
	write("a", 5)
	last("a")
	for i := range int64(80) {
		write("b", 7+i)
	}
	last("b")
	for name, want := range map[string]int64{"a": 6, "b": 87, "c": 4} {
		tail, err := scores.ReadTail(t.Context(), c, "s", 0, name, 0, 1000)
		if err != nil || tail != (scores.Tail{Next: want, Known: true}) {
			t.Errorf("stage %s: %+v, want %d: %v", name, tail, want, err)
		}
	}
}
