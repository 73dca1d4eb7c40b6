package report

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
)

// evidence has a number, a level and a constant; the level "a" holds 30 of 40 positives, "b" 10 of 60 others.
func evidence(positive int) *model.Evidence {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}, {Name: "l", Kind: model.Nominal},
		{Name: "one", Kind: model.Nominal}, {Name: "gone"}},
		Classes: []string{"no", "yes"}, Positive: positive}
	l := model.NewLevels(s)
	ev := &model.Evidence{Schema: s, Levels: l, Columns: make([][]float64, 4)}
	add := func(n int, level string, class int32) {
		for range n {
			x := float64(ev.Len())
			if ev.Len()%5 == 0 {
				x = math.NaN()
			}
			ev.Columns[0] = append(ev.Columns[0], x)
			ev.Columns[1] = append(ev.Columns[1], float64(l.Code(1, level)))
			ev.Columns[2] = append(ev.Columns[2], float64(l.Code(2, "c")))
			ev.Columns[3] = append(ev.Columns[3], math.NaN())
			ev.Class, ev.Weight = append(ev.Class, class), append(ev.Weight, 1)
		}
	}
	add(30, "a", 1)
	add(50, "a", 0)
	add(10, "b", 1)
	add(10, "b", 0)
	return ev
}

func near(t *testing.T, what string, got Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) < 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestEvidenceOfALevel(t *testing.T) {
	f := Features(evidence(1))[1]
	a, b := math.Log((30.5/41)/(50.5/61)), math.Log((10.5/41)/(10.5/61))
	if len(f.WOE) != 2 || f.WOE[0].Cell != "a" || f.WOE[0].N != 80 || f.WOE[1].Cell != "b" || f.WOE[1].N != 20 {
		t.Fatalf("cells %+v", f.WOE)
	}
	near(t, "woe of a", f.WOE[0].WOE, a)
	near(t, "woe of b", f.WOE[1].WOE, b)
	near(t, "information value", f.InformationValue, (30./40-50./60)*a+(10./40-10./60)*b)
	// A positive lies in b (rate 1/2) and another in a (3/8) with chance 1/4 x 5/6; ties 3/4 x 5/6 + 1/4 x 1/6 by half.
	near(t, "AUC", f.AUC, 1./4*5/6+(3./4*5/6+1./4*1/6)/2)
}

func TestCellsOfANumber(t *testing.T) {
	f := Features(evidence(1))[0]
	if len(f.WOE) != 11 || f.WOE[0].Cell != "(-inf, 9]" || f.WOE[9].Cell != "(89, inf)" || f.WOE[10].Cell != "(missing)" ||
		f.WOE[10].N != 20 {
		t.Errorf("cells %+v", f.WOE)
	}
	for _, w := range f.WOE[:10] {
		if w.N != 8 {
			t.Errorf("cell %s has %v records, want a tenth of 80", w.Cell, w.N)
		}
	}
}

func TestWarnings(t *testing.T) {
	f := Features(evidence(1))
	for i, want := range map[int]string{0: "is it known before the outcome?", 2: "has one value", 3: "always missing"} {
		if len(f[i].Warnings) != 1 || !strings.Contains(f[i].Warnings[0], want) {
			t.Errorf("%s: warnings %q, want %q", f[i].Name, f[i].Warnings, want)
		}
	}
	if len(f[1].Warnings) != 0 {
		t.Errorf("l: warnings %q", f[1].Warnings)
	}
}

func TestTwoClassesWithoutAPositiveTakeTheSecond(t *testing.T) {
	a, b := Features(evidence(1)), Features(evidence(-1))
	if a[1].InformationValue != b[1].InformationValue || a[1].AUC != b[1].AUC {
		t.Errorf("%+v and %+v", a[1], b[1])
	}
}

func TestSeveralClassesHaveNoEvidence(t *testing.T) {
	ev := evidence(-1)
	ev.Schema.Classes = []string{"no", "yes", "perhaps"}
	f := Features(ev)[1]
	if len(f.WOE) != 0 || !math.IsNaN(float64(f.InformationValue)) {
		t.Errorf("%+v", f)
	}
	// The class that is never seen has no sides; the two others mirror each other.
	near(t, "AUC", f.AUC, 1./4*5/6+(3./4*5/6+1./4*1/6)/2)
}
