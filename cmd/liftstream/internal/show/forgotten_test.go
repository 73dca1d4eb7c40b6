package show

import (
	"strings"
	"testing"
)

// TestModelsWithoutRecords: the answer tells of models only where they can hold a record, since the stage deletes no
// others.
func TestModelsWithoutRecords(t *testing.T) {
	for _, holds := range []bool{true, false} {
		var b strings.Builder
		f := Forgotten{Order: 1, IDs: 1, Partitions: 1, ModelTopic: "models", Models: []int64{3, 4}, Prototypes: holds}
		f.Take(nil)
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "models up to 4"); got != holds {
			t.Errorf("models hold records: %v; said:\n%s", holds, b.String())
		}
	}
}
