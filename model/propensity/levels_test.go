package propensity

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// manyLevels is a schema of nominal features.
func manyLevels(features, classes int) *model.Schema {
	s := &model.Schema{Positive: -1}
	for f := range features {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("x", f), Kind: model.Nominal})
	}
	for y := range classes {
		s.Classes = append(s.Classes, fmt.Sprint("c", y))
	}
	return s
}

// TestTablesKeepToTheirBound: the levels that get cells of their own are fewer where there are many nominal features
// and classes; up to a bound nothing changes.
func TestTablesKeepToTheirBound(t *testing.T) {
	for _, c := range []struct{ features, classes, levels int }{
		{1, 2, 4096}, {128, 2, 4096}, {129, 2, 4064}, {10000, 2, 52}, {20, 30, 1092}, {32, 30, 1092}, {200, 30, 174},
		{1, 1000, 64}, {1000, 1000, fewestLevels},
	} {
		p := newPlan(Default(), manyLevels(c.features, c.classes))
		if p.levels != c.levels {
			t.Errorf("%d features, %d classes: %d levels, want %d", c.features, c.classes, p.levels, c.levels)
		}
	}
	s := manyLevels(1000, 30)
	for f := 1; f < 1000; f++ {
		s.Features[f].Levels = []string{"a", "b", "c"}
	}
	if p := newPlan(Default(), s); p.levels != 1092 {
		t.Errorf("one learnt list among short ones: %d levels", p.levels)
	}
}

// TestFormsOfMoreLevels: a state and a part that were written before there was a bound of all levels are read, and the
// counts of levels that have no cell any more are those of the others.
func TestFormsOfMoreLevels(t *testing.T) {
	const features, classes, levels = 200, 30, 200
	s := manyLevels(features, classes)
	table := model.NewLevels(s)
	ex := make([]model.Example, 2*levels)
	for i := range ex {
		row := make(model.Row, features)
		for f := range row {
			row[f] = float64(table.Code(f, fmt.Sprint(i/2)))
		}
		ex[i] = model.Example{Row: row, Class: int32(i % classes), Weight: 1, Clock: float64(i), Time: int64(i)}
	}
	now := newPlan(Default(), s)
	before := newPlan(Default(), s)
	if before.levels = mostLevels(classes); now.levels >= levels || before.levels < levels {
		t.Fatal("the case has no levels beyond the bound")
	}
	part, err := factory{before}.Fit(context.Background(), modeltest.Evidence(s, table, ex), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := newScorecard(before)
	if err := old.Rebase(&model.Rebase{Part: part, Self: 0}); err != nil {
		t.Fatal(err)
	}
	state := old.AppendState(nil)
	loaded, rebased := newScorecard(now), newScorecard(now)
	if err := loaded.LoadState(state); err != nil {
		t.Fatal(err)
	}
	if err := rebased.Rebase(&model.Rebase{Part: part, Self: 0}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*Scorecard{"state": loaded, "part": rebased} {
		again := newScorecard(now)
		state := c.AppendState(nil)
		if err := again.LoadState(state); err != nil || !bytes.Equal(again.AppendState(nil), state) {
			t.Fatalf("%s: %v", what, err)
		}
		for f := range c.cur.feat {
			var was, is float64
			for _, n := range old.cur.feat[f].count {
				was += n
			}
			for _, n := range c.cur.feat[f].count {
				is += n
			}
			if got := c.cellCount(&c.cur.feat[f]); got > cellLevels+now.levels || is < was*(1-1e-9) || is > was*(1+1e-9) {
				t.Fatalf("%s, feature %d: %d cells, counts %v, want %v", what, f, got, is, was)
			}
		}
		c.Learn(&ex[0])
	}
	// A fit goes on from them, and writes a part that can be read.
	ev := modeltest.Evidence(s, table, ex)
	ev.States, ev.Recodes, ev.Models = model.HeldStates(map[int32][]byte{0: state}), map[int32]model.Recode{0: nil},
		map[int32]int64{0: 1}
	for _, keep := range []bool{false, true} {
		ev.Keep = keep
		next, err := factory{now}.Fit(context.Background(), ev, nil, part)
		if err != nil {
			t.Fatal(err)
		}
		if err := newScorecard(now).Rebase(&model.Rebase{Part: next, Self: 0}); err != nil {
			t.Fatal(err)
		}
	}
}
