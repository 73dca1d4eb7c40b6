package codec

import (
	"strings"
	"testing"

	"liftstream/model"
)

// TestUnusualColumn: it stands at the end, and is null where no feature is unusual, and where none is looked for.
func TestUnusualColumn(t *testing.T) {
	o := contractOptions()
	o.Unusual = true
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 2, ID: []string{"a", "b"}, Time: make([]int64, 2), Row: []int32{0, 1}}
	s := &model.Scores{}
	s.Reset(2, 2)
	for _, c := range []struct {
		of   []int32
		want [2]string
	}{{[]int32{1, -1}, [2]string{`"` + o.Schema.Features[1].Name + `"`, "null"}}, {nil, [2]string{"null", "null"}}} {
		s.Unusual = c.of
		table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if line := string(table.AppendJSON(nil, i)); !strings.HasSuffix(line, `"unusual":`+want+"}") {
				t.Errorf("row %d is %s, want %s", i, line, want)
			}
		}
	}
}
