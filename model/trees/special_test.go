package trees

import (
	"math"
	"testing"

	"liftstream/model"
)

// codesTogether returns records whose class is told by two codes of feature a together with whether b is above 1/2,
// and by nothing else.
func codesTogether(n int) *model.Evidence {
	rows, class := table(n, 3, 5, func(x []float64) float64 {
		switch code := x[0] < .3; {
		case x[0] > .6:
			return .3
		case code == (x[1] > .5):
			return .6
		}
		return .1
	})
	ev := numbered(rows, class)
	ev.Schema.Features[0].Special = []float64{-999, -888}
	for i, v := range ev.Columns[0] {
		switch {
		case v < .3:
			ev.Columns[0][i] = model.SpecialCell(0)
		case v <= .6:
			ev.Columns[0][i] = model.SpecialCell(1)
		}
	}
	return ev
}

// TestSpecialCodesAreSplitOn: trees tell codes from each other, from missing values and from numbers; of a build that
// does not, both codes would be missing and have one score.
func TestSpecialCodesAreSplitOn(t *testing.T) {
	ev := codesTogether(6000)
	o := Default()
	p, b := fitted(t, o, ev)
	if len(p.trees) == 0 {
		t.Fatal("no trees")
	}
	c := New(o, ev.Schema).New(ev.Levels)
	if err := c.Rebase(&model.Rebase{Part: b}); err != nil {
		t.Fatal(err)
	}
	ask := func(a, b float64) float64 {
		dst := make([]float64, 2*c.InputCount())
		c.Inputs(model.Row{a, b, .5}, dst)
		return dst[1] - dst[0]
	}
	first, second := ask(model.SpecialCell(0), .8), ask(model.SpecialCell(1), .8)
	if first-second < 1 || ask(model.SpecialCell(1), .2)-ask(model.SpecialCell(0), .2) < 1 {
		t.Errorf("code 0 %v and code 1 %v, above", first, second)
	}
	missing, number := ask(math.NaN(), .8), ask(.9, .8)
	if math.Abs(number) > .5 || missing == first && missing == second {
		t.Errorf("missing %v, a number %v", missing, number)
	}
	split := 0
	for i := range p.trees {
		for _, n := range p.trees[i].nodes {
			if n.special {
				split++
			}
		}
	}
	if split == 0 {
		t.Error("no split on a code")
	}
}

// TestTheLastCodeIsSplitOn: of as many codes as a feature may have, each is told apart from missing values.
func TestTheLastCodeIsSplitOn(t *testing.T) {
	ev := codesTogether(6000)
	f := &ev.Schema.Features[0]
	f.Special = nil
	for k := range model.MaxSpecial {
		f.Special = append(f.Special, float64(k-1000))
	}
	for i, v := range ev.Columns[0] {
		switch model.SpecialOf(v) {
		case 0:
			ev.Columns[0][i] = model.SpecialCell(model.MaxSpecial - 1)
		case 1:
			ev.Columns[0][i] = math.NaN()
		}
	}
	o := Default()
	p, b := fitted(t, o, ev)
	if len(p.trees) == 0 {
		t.Fatal("no trees")
	}
	c := New(o, ev.Schema).New(ev.Levels)
	if err := c.Rebase(&model.Rebase{Part: b}); err != nil {
		t.Fatal(err)
	}
	ask := func(a, b float64) float64 {
		dst := make([]float64, 2*c.InputCount())
		c.Inputs(model.Row{a, b, .5}, dst)
		return dst[1] - dst[0]
	}
	last := model.SpecialCell(model.MaxSpecial - 1)
	if code, missing := ask(last, .8), ask(math.NaN(), .8); code-missing < 1 {
		t.Errorf("the last code %v, missing %v", code, missing)
	}
}
