package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/codec/file"
)

// TestLabelsGoWhereTheirRecordsAre, and one of a partition that the topic does not have is refused in words.
func TestLabelsGoWhereTheirRecordsAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.csv")
	text := codec.ColumnPartition + ",y\n0,no\n2,yes\n3,no\n4,no\n-1,no\n1000000000000,no\n,no\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := file.OpenTables([]string{path}, file.TableOptions{Missing: []string{""}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
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
