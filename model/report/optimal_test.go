package report

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"liftstream/model"
)

// TestCellsOfATrendAreOptbinnings: the age of Bank Marketing has the cells and the information value that
// OptimalBinning of optbinning 1.0.0 finds (monotonic_trend="auto_asc_desc", min_bin_size=.05, max_n_prebins=100) with
// the fine cells of model.OptimalCuts as user_splits.
func TestCellsOfATrendAreOptbinnings(t *testing.T) {
	b, err := os.ReadFile("testdata/optbinning.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct{ Values [][3]float64 }
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	s := &model.Schema{Features: []model.Feature{{Name: "age", Least: .05, Trend: model.Auto}},
		Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 1)}
	for _, v := range golden[0].Values {
		for class, n := range v[1:] {
			for range int(n) {
				ev.Columns[0] = append(ev.Columns[0], v[0])
				ev.Class, ev.Weight = append(ev.Class, int32(class)), append(ev.Weight, 1)
			}
		}
	}
	f := Features(ev)[0]
	if len(f.WOE) != 2 || f.WOE[0].Cell != "(-inf, 58]" ||
		math.Abs(float64(f.InformationValueRaw)-0.09292606899202119) > 1e-12 {
		t.Errorf("cells %+v of information value %v", f.WOE, f.InformationValueRaw)
	}
}
