package propensity

import (
	"context"
	"slices"
	"testing"

	"liftstream/model"
)

// TestCellsOfATrend: a fit cuts the feature at model.OptimalCuts, keeps these cells while their rates go one way, and
// cuts anew when they do not.
func TestCellsOfATrend(t *testing.T) {
	for _, trend := range []model.Direction{model.Up, model.Down, model.Auto} {
		p, values, weights := shaped(model.Feature{Name: "x", Least: .05, Trend: trend})
		class := make([]int32, len(values))
		rate := func(v float64) float64 { return .1 + .0005*v }
		fill := func(rate func(v float64) float64) {
			for i, v := range values {
				if class[i] = 0; float64(model.Hash(10, uint64(i))>>11)/(1<<53) < rate(v) {
					class[i] = 1
				}
			}
		}
		fill(rate)
		ev := &evidence{Evidence: &model.Evidence{Schema: p.schema, Levels: model.NewLevels(p.schema),
			Columns: [][]float64{values}, Class: class, Weight: weights}}
		axes := p.build(context.Background(), ev, nil)
		want := model.OptimalCuts(values, weights, func(i int) bool { return class[i] == 1 }, .05, trend)
		a := &axes[0]
		if !slices.Equal(a.edges, want) || (len(want) < 3) != (trend == model.Down) || a.cells != len(want)+2 {
			t.Errorf("direction %v: edges %v of %d cells, want %v", trend, a.edges, a.cells, want)
		}
		for k := 1; k < len(want); k++ {
			if below, above := a.find(want[k-1]), a.find(want[k]); above != below+1 {
				t.Errorf("direction %v: the cells of %v and %v are %d and %d", trend, want[k-1], want[k], below, above)
			}
		}
		if again := p.build(context.Background(), ev, axes); !again[0].same(a) {
			t.Errorf("direction %v: cells %v are cut anew: %v", trend, a.edges, again[0].edges)
		}
		fill(func(v float64) float64 { return .7 - .0005*v })
		if again := p.build(context.Background(), ev, axes); again[0].same(a) {
			t.Errorf("direction %v: cells %v stay when their rates turn round", trend, a.edges)
		}
	}
}
