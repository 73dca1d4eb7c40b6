package scores_test

import (
	"fmt"
	"testing"

	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestTheNewestScoresAreLookedForNearTheEnd: behind the markers of a transaction and a few messages of others, and not
// through a whole topic.
func TestTheNewestScoresAreLookedForNearTheEnd(t *testing.T) {
	for behind, want := range map[int]string{0: "s", 1: "s", 5: "s", 40: "s", 1000: ""} {
		c := streamtest.NewTopic(t, "s")
		var out []txn.Record
		for i, name := range []string{"former", "s"} {
			out = append(out, txn.Record{Topic: "s", Value: []byte("x"),
				Headers: scores.Headers(&txn.Record{Offset: int64(i)}, name, 1, 1)})
		}
		for range behind {
			out = append(out, txn.Record{Topic: "s", Value: []byte("x")})
		}
		if err := c.Produce(t.Context(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		if got, err := scores.LastName(t.Context(), c, "s", 0); err != nil || got != want {
			t.Errorf("behind %d messages of others: %q, %v; want %q", behind, got, err, want)
		}
	}
	if got, err := scores.LastName(t.Context(), streamtest.NewTopic(t, "s"), "s", 0); err != nil || got != "" {
		t.Errorf("in an empty topic: %q, %v", got, err)
	}
}

// TestPartsAreCountedFromOne, each with the limit that it was made for.
func TestPartsAreCountedFromOne(t *testing.T) {
	for i := range 3 {
		h := scores.PartHeaders(scores.Headers(&txn.Record{Offset: 7}, "s", 2, 9), i, 3, 600)
		if got := lastOf(h, scores.HeaderPart); got != fmt.Sprint(i+1, "/3") || lastOf(h, scores.HeaderLimit) != "600" {
			t.Errorf("part %d is named %s, limit %s", i, got, lastOf(h, scores.HeaderLimit))
		}
	}
}

// lastOf returns the last header of that name.
func lastOf(h []txn.Header, name string) (value string) {
	for _, x := range h {
		if x.Key == name {
			value = string(x.Value)
		}
	}
	return value
}
