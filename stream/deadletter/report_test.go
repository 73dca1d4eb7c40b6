package deadletter_test

import (
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

func headers(pairs ...string) (h []txn.Header) {
	for i := 0; i < len(pairs); i += 2 {
		h = append(h, txn.Header{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return h
}

func TestReadReport(t *testing.T) {
	seen := "1970-01-01T00:00:09Z"
	own := []string{codec.DeadReason, "time", codec.DeadStage, "events", codec.DeadError, "e", codec.DeadTopic, "t",
		codec.DeadPartition, "4", codec.DeadOffset, "12", codec.DeadRow, "7", codec.DeadFirstSeen, seen}
	former := []string{"reason", "time", "stage", "events", "error", "e", "topic", "t", "partition", "4", "offset", "12",
		"row", "7", "first_seen", seen}
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	message := []string{"trace", "7", deadletter.HeaderReplays, "2"}
	for _, c := range []struct {
		name    string
		headers []string
		ok      bool
		kept    int // headers of the message
		replays int
	}{
		{"of today", join(message, own), true, 2, 2},
		{"of a stage that it names", join(message, []string{codec.HeaderName, "s"}, own), true, 2, 2},
		{"of former builds", join(message, former), true, 2, 2},
		{"its message has the same names", join(own, former, own), true, 16, 0},
		{"its message ends like one", join([]string{codec.DeadOffset, "99"}, own), true, 1, 0},
		{"a whole message", join(own[:12], own[14:]), true, 0, 0},
		{"of several messages, which it does not hold", join(own[:12], []string{codec.DeadLast, "19", codec.DeadOmitted,
			"all"}, own[12:]), true, 0, 0},
		{"cut to the size of its topic", join(message, own, []string{codec.DeadOmitted, "700"}), true, 2, 2},
		{"nothing", nil, false, 0, 0},
		{"no letter", message, false, 0, 0},
		{"no reason", own[2:], false, 0, 0},
		{"with the names of Kafka Connect", join(message, own[:2], []string{"__connect.errors.topic", "t",
			"__connect.errors.offset", "x"}, own[2:]), true, 2, 2},
		{"its message is such a letter", join([]string{"__streams.errors.topic", "u"}, own), true, 1, 0},
		{"a header in between", join(own[:4], message, own[4:]), false, 0, 0},
		{"a number that is none", join(own[:8], []string{codec.DeadPartition, "x"}, own[10:]), false, 0, 0},
		{"no offset", join(own[:10], own[12:]), false, 0, 0},
	} {
		x, ok := deadletter.ReadReport(&txn.Record{Headers: headers(c.headers...)})
		if ok != c.ok {
			t.Errorf("%s: %v, %+v", c.name, ok, x)
			continue
		}
		if !ok {
			continue
		}
		if of := strings.Contains(c.name, "several"); of != (x.Last == 19) || x.Omitted != (of || c.name[:3] == "cut") {
			t.Errorf("%s: %+v", c.name, x)
		}
		row := 7
		if c.name == "a whole message" {
			row = -1
		}
		if x.ID != (deadletter.ID{Topic: "t", Offset: 12, Row: row}) || x.Partition != 4 || x.Reason != codec.ReasonTime ||
			x.Stage != "events" || x.Error != "e" || !x.FirstSeen.Equal(time.Unix(9, 0)) || len(x.Headers) != c.kept ||
			x.Replays != c.replays {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
}

// The time of a message is that in the header; letters of former builds have none there, and their own counts where
// nobody can have replaced it.
func TestTimeOfTheMessageOfALetter(t *testing.T) {
	own := []string{codec.DeadReason, "time", codec.DeadTopic, "t", codec.DeadPartition, "4", codec.DeadOffset, "12"}
	seen := []string{codec.DeadFirstSeen, "1970-01-01T00:00:09.0005Z"}
	again := []string{deadletter.HeaderReplays, "1", deadletter.HeaderLetter, "d/0/1"}
	at := func(ms string) []string { return []string{codec.HeaderTime, ms} }
	for _, c := range []struct {
		name    string
		time    time.Time
		headers [][]string
		want    time.Time
		known   bool
	}{
		{"in the header", time.UnixMilli(9000), [][]string{own, at("12345"), seen}, time.UnixMilli(12345), true},
		{"none, in the header", time.UnixMilli(9000), [][]string{own, at("-1"), seen}, time.Time{}, true},
		{"no number", time.UnixMilli(9000), [][]string{own, at("x"), seen}, time.UnixMilli(9000), false},
		{"a header of the message", time.UnixMilli(9000), [][]string{at("12345"), own, seen}, time.UnixMilli(9000), false},
		{"before a replay", time.UnixMilli(9000), [][]string{again, at("5"), own, at("12345"), seen},
			time.UnixMilli(5), true},
		{"a header of its own and a replay", time.UnixMilli(9000), [][]string{at("5"), again, own, at("12345"), seen},
			time.UnixMilli(12345), true},
		{"former, before it was seen", time.UnixMilli(8999), [][]string{own, seen}, time.UnixMilli(8999), true},
		{"former, when it was seen", time.UnixMilli(9000), [][]string{own, seen}, time.UnixMilli(9000), false},
		{"former, after it was seen", time.UnixMilli(9100), [][]string{own, seen}, time.UnixMilli(9100), false},
		{"former, without", time.Time{}, [][]string{own, seen}, time.Time{}, true},
	} {
		var all []string
		for _, h := range c.headers {
			all = append(all, h...)
		}
		x, ok := deadletter.ReadReport(&txn.Record{Time: c.time, Headers: headers(all...)})
		if !ok || !x.Time.Equal(c.want) || x.Timed != c.known {
			t.Errorf("%s: %v, %v, known %v", c.name, ok, x.Time, x.Timed)
		}
	}
}

func TestFilter(t *testing.T) {
	x := &deadletter.Report{ID: deadletter.ID{Topic: "t", Offset: 12}, Partition: 4, Reason: codec.ReasonTime,
		Stage: "events", FirstSeen: time.Unix(9, 0)}
	at := deadletter.Place{Partition: 1, Offset: 5}
	for i, c := range []struct {
		f    deadletter.Filter
		want bool
	}{
		{deadletter.Filter{}, true},
		{deadletter.Filter{Reasons: []codec.Reason{"x", codec.ReasonTime}, Partitions: []int{4}, From: 12, To: 13}, true},
		{deadletter.Filter{Reasons: []codec.Reason{"x"}}, false},
		{deadletter.Filter{Stages: []string{"labels"}}, false},
		{deadletter.Filter{Partitions: []int{1}}, false},
		{deadletter.Filter{From: 13}, false},
		{deadletter.Filter{To: 12}, false},
		{deadletter.Filter{Since: time.Unix(9, 0), Until: time.Unix(10, 0)}, true},
		{deadletter.Filter{Since: time.Unix(10, 0)}, false},
		{deadletter.Filter{Until: time.Unix(9, 0)}, false},
		{deadletter.Filter{Letters: []deadletter.Place{at}}, true},
		{deadletter.Filter{Letters: []deadletter.Place{{Partition: 4, Offset: 12}}}, false},
	} {
		if c.f.Match(at, x) != c.want {
			t.Errorf("%d: %+v", i, c.f)
		}
	}
	if f := (deadletter.Filter{Until: time.Unix(9, 0)}); f.Match(at, &deadletter.Report{}) {
		t.Error("a letter without a time lies before one")
	}
}
