package codec

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
)

// TestIntervalColumns: they stand at the end, and are null where nothing is known.
func TestIntervalColumns(t *testing.T) {
	o := contractOptions()
	o.Interval = true
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 2, ID: []string{"a", "b"}, Time: make([]int64, 2), Row: []int32{0, 1}}
	s := &model.Scores{}
	s.Reset(2, 2)
	s.Intervals = []model.Interval{{Low: .25, High: .5}, {Low: math.NaN(), High: math.NaN()}}
	table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"propensity_low":0.25,"propensity_high":0.5}`,
		`"propensity_low":null,"propensity_high":null}`} {
		if line := string(table.AppendJSON(nil, i)); !strings.HasSuffix(line, want) {
			t.Errorf("row %d is %s", i, line)
		}
	}
}
