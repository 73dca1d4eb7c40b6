package cluster

import (
	"slices"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/stream/streamtest"
)

// TestLabelsGoWhereTheirRecordsAre, and one of a partition that the topic does not have is refused in words.
func TestLabelsGoWhereTheirRecordsAre(t *testing.T) {
	table := tableOf(t, codec.ColumnPartition+",y\n0,no\n2,yes\n3,no\n4,no\n-1,no\n1000000000000,no\n,no\n")
	home, key, err := NewSender(nil, Sending{Topic: "labels", Labels: true, Partitions: 3}).home(table)
	if err != nil || key != -1 {
		t.Fatalf("key %d, %v", key, err)
	}
	for row, want := range []int{0, 2, -1, -1, -1, -1, -1} {
		p, err := home(row)
		if want < 0 && (err == nil || !strings.Contains(err.Error(), "the topic has the partitions 0 to 2")) {
			t.Errorf("row %d: partition %d, %v, want an error", row, p, err)
		}
		if want >= 0 && (err != nil || p != want) {
			t.Errorf("row %d: partition %d, %v, want %d", row, p, err, want)
		}
	}
}

// TestMessagesAreSentTogether up to a number of bytes, each time anew; paced ones at once.
func TestMessagesAreSentTogether(t *testing.T) {
	c := streamtest.NewTopic(t, "events")
	table := tableOf(t, "y\nno\n")
	value := make([]byte, sendBytes/2)
	for rate, want := range map[float64][]int64{0: {2, 2, 1}, 1e6: {1, 1, 1, 1, 1}} {
		var told []int64
		s := NewSender(c, Sending{Topic: "events", Partitions: 1, Batch: 1, Rate: rate,
			Encoding: Encoding{Append: func(dst []byte, _ *codec.Table, _ []int) ([]byte, error) {
				return append(dst, value...), nil
			}},
			Progress: func(records int64) { told = append(told, records) }})
		for range 5 {
			if err := s.Message(t.Context(), table, -1, 0, []int{0}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(told, want) || s.Records != 5 || s.Messages != 5 {
			t.Errorf("at rate %v: %v are sent, want %v; %d records, %d messages", rate, told, want, s.Records, s.Messages)
		}
	}
}
