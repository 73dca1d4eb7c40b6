package codec

import (
	"fmt"
	"slices"
	"testing"

	"liftstream/model"
)

// TestLabelsBesideABadOne: the labels before and behind one that is refused keep each of their values.
func TestLabelsBesideABadOne(t *testing.T) {
	const second = 1_000_000_000
	row := func(n int, class string) string {
		return fmt.Sprintf(`{"id": "id %d", "source_partition": %d, "source_offset": %d, "source_row": %d, "time": %d, `+
			`"left": %q, "bought": %q, "treated": %t}`+"\n", n, n, 10+n, 20+n, (1_700_000_000+n)*1000, class,
			[]string{"no", "yes"}[n%2], n%2 == 0)
	}
	lines := row(0, "yes") + row(1, "perhaps") + row(2, "no") + row(3, "yes")
	for _, id := range []string{"id", ""} {
		o := Options{ID: id, Time: "time", Label: "left", Treated: "treated", Input: InputJSONL,
			Schema: &model.Schema{Classes: []string{"no", "yes"}}}
		for _, goals := range []bool{false, true} {
			text := lines
			if goals {
				o.Goals = []Goal{{Column: "bought", Classes: []string{"no", "yes"}}}
				text = row(0, "yes") + `{"id": "id 1"}` + "\n" + row(2, "no") + row(3, "yes")
			}
			var l model.Labels
			bad, err := mustDecoder(t, o).DecodeLabels(&Message{Value: []byte(text)}, &l)
			if err != nil || len(bad) == 0 || l.N != 3 {
				t.Errorf("id %q, goals %v: %d labels, bad %v, %v", id, goals, l.N, bad, err)
				continue
			}
			for i, n := range []int{0, 2, 3} {
				if l.Class[i] != []int32{1, 1, 0, 1}[n] || l.Time[i] != int64(1_700_000_000+n)*second {
					t.Errorf("id %q, goals %v, label %d: class %d at %d", id, goals, n, l.Class[i], l.Time[i])
				}
				if goals && l.Outcomes[i] != model.Outcomes(0).With(0, int32(n%2)) {
					t.Errorf("id %q, label %d: goals %v", id, n, l.Outcomes[i])
				}
				if (l.Treated[i] == l.Treated[0]) != (n%2 == 0) {
					t.Errorf("id %q, goals %v, label %d: treated %v", id, goals, n, l.Treated)
				}
				if id == "" && (l.Partition[i] != int32(n) || l.Offset[i] != int64(10+n) || l.Row[i] != int32(20+n)) {
					t.Errorf("goals %v, label %d: of record %d/%d/%d", goals, n, l.Partition[i], l.Offset[i], l.Row[i])
				}
			}
			if id != "" && !slices.Equal(l.ID, []string{"id 0", "id 2", "id 3"}) {
				t.Errorf("goals %v: ids %q", goals, l.ID)
			}
		}
	}
}
