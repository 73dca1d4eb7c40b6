package unusual

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestCarriedLevels: levels that a list gains push its "(other)" up. The usual cells of before are usual under the
// new list, the further level is not, and a feature that is new says nothing.
func TestCarriedLevels(t *testing.T) {
	of := func(levels ...string) model.Feature {
		return model.Feature{Name: "plan", Kind: model.Nominal, Levels: levels}
	}
	from := &model.Schema{Features: []model.Feature{of("a", "b")}, Classes: []string{"no", "yes"}}
	to := &model.Schema{Features: []model.Feature{{Name: "new"}, of("a", "b", "c")}, Classes: []string{"no", "yes"}}
	change, err := model.Relate(from, to)
	if err != nil {
		t.Fatal(err)
	}
	old := &Part{share: .1, records: 100, usual: []usual{{says: true, low: math.Inf(1), high: math.Inf(-1),
		cells: []float64{0, 2}}}}
	b, _, err := New(.1, to).CarryState(change, old.append(nil))
	if err != nil {
		t.Fatal(err)
	}
	c := &Component{schema: to}
	if err := c.LoadState(b); err != nil {
		t.Fatal(err)
	}
	if got := c.part.usual[1].cells; !slices.Equal(got, []float64{0, 3}) || c.part.usual[0].says {
		t.Errorf("usual cells %v, want 0 and 3; of the new feature it says %v", got, c.part.usual[0].says)
	}
	for code, unusual := range map[float64]int32{0: -1, 1: 1, 2: 1, 3: -1} {
		if f := c.Unusual(model.Row{1e9, code}); f != unusual {
			t.Errorf("level %v: feature %d is unusual, want %d", code, f, unusual)
		}
	}
	if !slices.Equal(old.usual[0].cells, []float64{0, 2}) {
		t.Errorf("the old part has changed: %v", old.usual[0].cells)
	}
}
