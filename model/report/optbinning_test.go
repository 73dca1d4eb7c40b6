package report

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"liftstream/model"
)

// TestRawEvidenceIsOptbinnings: given the same cuts, to 1e-9. testdata/golden.py made the file with
// optbinning 1.0.0.
func TestRawEvidenceIsOptbinnings(t *testing.T) {
	b, err := os.ReadFile("testdata/optbinning.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Column                  string
		Cuts, Event, Count, WoE []float64
		Values                  [][3]float64
		IV                      float64
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	empty := 0
	for _, g := range golden {
		s := &model.Schema{Features: []model.Feature{{Name: g.Column, Cuts: g.Cuts}}, Classes: []string{"no", "yes"},
			Positive: 1}
		ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 1)}
		for _, v := range g.Values {
			for class, n := range v[1:] {
				for range int(n) {
					ev.Columns[0] = append(ev.Columns[0], v[0])
					ev.Class, ev.Weight = append(ev.Class, int32(class)), append(ev.Weight, 1)
				}
			}
		}
		f := Features(ev)[0]
		if len(f.WOE) != len(g.WoE) {
			t.Fatalf("%s: %d cells, want %d", g.Column, len(f.WOE), len(g.WoE))
		}
		for i, w := range f.WOE {
			if float64(w.N) != g.Count[i] {
				t.Errorf("%s: %v records in %s, want %v", g.Column, w.N, w.Cell, g.Count[i])
			}
			if g.Event[i] == 0 || g.Event[i] == g.Count[i] {
				if empty++; !math.IsNaN(float64(w.Raw)) {
					t.Errorf("%s: %s of one side has %v", g.Column, w.Cell, w.Raw)
				}
			} else if math.Abs(float64(w.Raw)+g.WoE[i]) > 1e-9 {
				t.Errorf("%s: %s has %v, want %v", g.Column, w.Cell, w.Raw, -g.WoE[i])
			}
		}
		if math.Abs(float64(f.InformationValueRaw)-g.IV) > 1e-9 {
			t.Errorf("%s: information value %v, want %v", g.Column, f.InformationValueRaw, g.IV)
		}
	}
	if len(golden) < 5 || empty == 0 {
		t.Errorf("%d columns, %d cells of one side: too few to tell", len(golden), empty)
	}
}
