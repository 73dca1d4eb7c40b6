package cluster

import (
	"strings"
	"testing"

	"liftstream/codec"
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
