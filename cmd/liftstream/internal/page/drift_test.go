package page

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"liftstream/model/drift"
	"liftstream/stream"
)

// TestDriftOnThePage: the figures of the watched partitions are joined by their records, the alarms are told, and
// nothing is shown where nothing is watched.
func TestDriftOnThePage(t *testing.T) {
	nan := math.NaN()
	st := stream.Status{Partitions: []stream.PartitionStatus{
		{Partition: 0, Watch: &drift.Figures{Records: 9000, Estimated: .3, EstimatedAUC: nan, Labels: 1500, LogLoss: .4,
			Promised: .32, AUC: .75, Expected: nan, Alarms: 5},
			Alarms: []drift.Found{{Number: 4, Column: "gone"}, {Number: 1, Column: "<b>", Records: 2750, Value: .5},
				{Number: 2, Kind: drift.Gaps, Column: "age", Records: 3000, Value: .25},
				{Number: 3, Kind: drift.OverPromise, Column: drift.LossColumn, Records: 3250, Value: .5, Threshold: .25}}},
		{Partition: 1},
		{Partition: 2, Watch: &drift.Figures{Records: 500, Estimated: .5, EstimatedAUC: .8, Labels: 500, LogLoss: .8,
			Promised: .72, AUC: .55, Expected: .45, Alarms: 1}},
	}}
	d := driftOf(st.Partitions)
	for what, x := range map[string][2]float64{
		"estimated": {float64(d.Estimated), .34}, "estimated AUC": {float64(d.EstimatedAUC), .8},
		"log-loss": {float64(d.LogLoss), .5}, "promised": {float64(d.Promised), .42}, "AUC": {float64(d.AUC), .7},
		"expected": {float64(d.Expected), .45}, "labels": {float64(d.Labels), 2000}, "alarms": {float64(d.Total), 6},
	} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, x[0], x[1])
		}
	}
	if len(d.Newest) != shownAlarms || d.Newest[0].Number != 3 {
		t.Errorf("alarms %+v", d.Newest)
	}
	s := &Source{Name: "x", Board: NewBoard(schema(1, "no", "yes"), 0), Status: func() stream.Status { return st },
		Profiles: func() Profiles { return Profiles{} }}
	mux := http.NewServeMux()
	Register(mux, s)
	get := func(path string) string {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	page := get("/")
	for _, want := range []string{"<b>70.0 %</b>", "<b>0.5000</b>", "of the newest 2,000 late labels"} {
		if !strings.Contains(page, want) {
			t.Errorf("no label came with its event, and the page lacks %q", want)
		}
	}
	for _, want := range []string{"0.3400", "0.5000", "0.4200", "&lt;b&gt; has other values (index 0.50)",
		"age is missing more or less often", "contradicts the promised 0.2500", "6 alarms"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var live struct {
		Drift *struct {
			AUC    *float64 `json:"auc"`
			Alarms []struct {
				Partition int    `json:"partition"`
				Kind      string `json:"kind"`
			} `json:"newest_alarms"`
		} `json:"drift"`
	}
	if err := json.Unmarshal([]byte(get("/api/live")), &live); err != nil || live.Drift == nil ||
		math.Abs(*live.Drift.AUC-.7) > 1e-12 || live.Drift.Alarms[0].Kind != "over_promise" {
		t.Errorf("%v, %+v", err, live.Drift)
	}
	st.Partitions = st.Partitions[1:2]
	if page := get("/"); driftOf(st.Partitions) != nil || strings.Contains(page, `id="drift"`) {
		t.Error("a stage that watches nothing shows figures")
	}
}
