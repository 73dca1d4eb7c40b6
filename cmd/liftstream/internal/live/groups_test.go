package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/model"
	"liftstream/model/groups"
)

// TestGroupMetrics: one gauge a group, and no rate where no label came.
func TestGroupMetrics(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "plan", Kind: model.Nominal, Use: model.UseReport}}}
	in, err := groups.NewComparison(s, "plan", groups.Equal, false, "plus", 0)
	if err != nil {
		t.Fatal(err)
	}
	tally := groups.NewTally(s, []groups.Segment{{Name: "gold", Condition: in}}, 1)
	b := &model.Batch{N: 3, Columns: []model.Column{{Code: []uint32{0, 0, 1}, Levels: []string{"plus", "base"}}},
		Label: []int32{1, 0, model.Unlabelled}}
	out := &model.Scores{}
	out.Reset(3, 2)
	for i, p := range []float64{.75, .25, .5} {
		out.P[2*i], out.P[2*i+1] = 1-p, p
	}
	tally.Add(b, out)
	r := prometheus.NewRegistry()
	r.MustRegister(newGroupMetrics(tally))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.Metric {
			got = append(got, fmt.Sprintf("%s %s %s %v", f.GetName(), m.Label[0].GetValue(), m.Label[1].GetValue(),
				m.Gauge.GetValue()))
		}
	}
	want := []string{
		"liftstream_group_mean_error (segment) gold 0", "liftstream_group_mean_error plan plus 0",
		"liftstream_group_mean_propensity (segment) gold 0.5", "liftstream_group_mean_propensity plan base 0.5",
		"liftstream_group_mean_propensity plan plus 0.5", "liftstream_group_rate (segment) gold 0.5",
		"liftstream_group_rate plan plus 0.5", "liftstream_group_records (segment) gold 2",
		"liftstream_group_records plan base 1", "liftstream_group_records plan plus 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
