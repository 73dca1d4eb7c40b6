package codec

import (
	"math"
	"testing"
)

// TestAudienceTable: each column in its place, null where there is nothing.
func TestAudienceTable(t *testing.T) {
	value, lift := "7", 2.5
	rows := []AudienceRow{
		{ID: "007", Partition: 1, Offset: 2, Row: 3, Rank: 1, Segment: "yes", Propensity: .75, BaseRate: .25, Lift: 3,
			Percentile: .5, Why: []AudienceReason{{Feature: "age", Value: &value, Effect: 1.5, Lift: &lift, N: &lift},
				{Feature: "job", Effect: -1}}},
		{ID: "8", Rank: 2, Propensity: math.NaN(), BaseRate: math.NaN(), Lift: math.Inf(1), Percentile: math.NaN()},
	}
	for _, c := range []struct {
		ids  bool
		want [2]string
	}{
		{true, [2]string{`{"id":"007","rank":1,"segment":"yes","target":"yes","propensity":0.75,"base_rate":0.25,"lift":3,` +
			`"percentile":0.5,"why":[{"feature":"age","value":"7","effect":1.5,"lift":2.5,"n":2.5},` +
			`{"feature":"job","value":null,"effect":-1,"lift":null,"n":null}]}`,
			`{"id":"8","rank":2,"segment":null,"target":"yes","propensity":null,"base_rate":null,"lift":null,` +
				`"percentile":null,"why":null}`}},
		{false, [2]string{`{"source_partition":1,"source_offset":2,"source_row":3,"rank":1,"segment":"yes","target":"yes",` +
			`"propensity":0.75,"base_rate":0.25,"lift":3,"percentile":0.5,"why":[{"feature":"age","value":"7","effect":1.5,` +
			`"lift":2.5,"n":2.5},{"feature":"job","value":null,"effect":-1,"lift":null,"n":null}]}`,
			`{"source_partition":0,"source_offset":0,"source_row":0,"rank":2,"segment":null,"target":"yes",` +
				`"propensity":null,"base_rate":null,"lift":null,"percentile":null,"why":null}`}},
	} {
		table := NewAudienceTable(rows, "yes", c.ids)
		for i, want := range c.want {
			if got := string(table.AppendJSON(nil, i)); got != want {
				t.Errorf("ids %v:\n got %s\nwant %s", c.ids, got, want)
			}
		}
		r, err := NewPropensityReader(table, "yes")
		if err == nil {
			t.Errorf("an audience is read as scores: %v", r)
		}
		if n := NewAudienceTable(nil, "yes", c.ids).Rows(); n != 0 {
			t.Errorf("%d rows of nobody", n)
		}
	}
}
