package report

import (
	"fmt"
	"math"
	"slices"
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

// table is evidence of one feature.
func table(f model.Feature, classes, positive int, n int, row func(i int) (value float64, class int32, w float64)) (
	ev *model.Evidence,
) {
	s := &model.Schema{Features: []model.Feature{f}, Classes: make([]string, classes), Positive: positive}
	ev = &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 1)}
	for i := range n {
		v, y, w := row(i)
		if f.Kind == model.Nominal && v == v {
			v = float64(ev.Levels.Code(0, fmt.Sprintf("l%02.0f", v)))
		}
		ev.Columns[0] = append(ev.Columns[0], v)
		ev.Class, ev.Weight = append(ev.Class, y), append(ev.Weight, w)
	}
	return ev
}

// TestTheScaleOfWeightsChangesNoFigure: three times the weights are three times the records of a cell, and the figures
// stay. Records of the double weight count twice in shares, rates and quantiles.
func TestTheScaleOfWeightsChangesNoFigure(t *testing.T) {
	row := func(scale float64) func(i int) (float64, int32, float64) {
		return func(i int) (float64, int32, float64) {
			return float64(i * 7 % 40), int32(model.Hash(1, uint64(i)) % 3 % 2), scale * float64(1+i%2)
		}
	}
	for _, kind := range []model.Kind{model.Continuous, model.Nominal} {
		f := model.Feature{Name: "x", Kind: kind}
		one, three := Features(table(f, 2, 1, 400, row(1)))[0], Features(table(f, 2, 1, 400, row(3)))[0]
		near(t, kind.String()+": information value", three.InformationValue, float64(one.InformationValue))
		near(t, kind.String()+": AUC", three.AUC, float64(one.AUC))
		if len(one.WOE) != len(three.WOE) {
			t.Fatalf("%s: %d and %d cells", kind, len(one.WOE), len(three.WOE))
		}
		for k := range one.WOE {
			near(t, one.WOE[k].Cell+": woe", three.WOE[k].WOE, float64(one.WOE[k].WOE))
			near(t, one.WOE[k].Cell+": n", three.WOE[k].N, 3*float64(one.WOE[k].N))
		}
	}
	// Of 5 records with the weights 6, 1, 1, 1, 1 the first holds six tenths of the mass, and so the first six cuts.
	f := Features(table(model.Feature{Name: "x"}, 2, 1, 5, func(i int) (float64, int32, float64) {
		return float64(i), int32(i % 2), []float64{6, 1, 1, 1, 1}[i]
	}))[0]
	var cells []string
	for _, w := range f.WOE {
		cells = append(cells, fmt.Sprint(w.Cell, w.N))
	}
	if want := []string{"(-inf, 0]6", "(0, 1]1", "(1, 2]1", "(2, 3]1", "(3, inf)1"}; !slices.Equal(cells, want) {
		t.Errorf("cells %q, want %q", cells, want)
	}
}

// TestCellsOfLevels: the fifty most frequent levels by weight, the most frequent first and equal ones by their codes,
// ordinal ones in their own order; the rarer ones share a cell before that of missing values.
func TestCellsOfLevels(t *testing.T) {
	for _, x := range []struct {
		name   string
		kind   model.Kind
		levels int
		want   []string // first cells, and the last two
		cells  int
	}{
		{"fifty", model.Nominal, 50, []string{"l49", "l48", "l01", "l00"}, 50},
		{"one more", model.Nominal, 51, []string{"l50", "l49", "l01", "(other)"}, 51},
		{"an order", model.Ordinal, 4, []string{"l00", "l01", "l02", "l03"}, 4},
	} {
		f := model.Feature{Name: "x", Kind: x.kind}
		if x.kind == model.Ordinal {
			for k := range x.levels {
				f.Levels = append(f.Levels, fmt.Sprintf("l%02d", k))
			}
		}
		ev := table(f, 2, 1, x.levels, func(i int) (float64, int32, float64) {
			return float64(i), int32(i % 2), 1 + float64(i)
		})
		woe := Features(ev)[0].WOE
		if len(woe) != x.cells {
			t.Fatalf("%s: %d cells, want %d", x.name, len(woe), x.cells)
		}
		got := []string{woe[0].Cell, woe[1].Cell, woe[len(woe)-2].Cell, woe[len(woe)-1].Cell}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: cells %q, want %q", x.name, got, x.want)
		}
	}
	// Equal levels stand in the order of their codes, and missing values come last.
	ev := table(model.Feature{Name: "x", Kind: model.Nominal}, 2, 1, 130, func(i int) (float64, int32, float64) {
		if i%65 == 64 {
			return math.NaN(), int32(i % 2), 1
		}
		return float64(i % 65), int32(i % 2), 1
	})
	woe := Features(ev)[0].WOE
	if len(woe) != 52 || woe[0].Cell != "l00" || woe[49].Cell != "l49" || woe[50].Cell != "(other)" || woe[50].N != 28 ||
		woe[51].Cell != "(missing)" || woe[51].N != 2 {
		t.Errorf("cells %+v", woe)
	}
}

// TestAUCIsTheChanceOfAPair compares with the sum over all pairs of records, of two and of three classes, where it is
// the mean over the classes.
func TestAUCIsTheChanceOfAPair(t *testing.T) {
	for _, x := range []struct {
		classes, positive int
	}{{2, 0}, {2, 1}, {2, -1}, {3, -1}, {3, 2}} {
		ev := table(model.Feature{Name: "x", Kind: model.Nominal}, x.classes, x.positive, 120,
			func(i int) (float64, int32, float64) {
				return float64(model.Hash(2, uint64(i)) % 7), int32(model.Hash(3, uint64(i)) % uint64(x.classes)), float64(1 + i%3)
			})
		rate := func(v float64, class int32) float64 {
			var of, all float64
			for i, u := range ev.Columns[0] {
				if u == v {
					all += ev.Weight[i]
					if ev.Class[i] == class {
						of += ev.Weight[i]
					}
				}
			}
			return of / all
		}
		auc := func(class int32) float64 {
			var sum, pairs float64
			for i := range ev.Class {
				for j := range ev.Class {
					if ev.Class[i] != class || ev.Class[j] == class {
						continue
					}
					a, b := rate(ev.Columns[0][i], class), rate(ev.Columns[0][j], class)
					w := ev.Weight[i] * ev.Weight[j]
					pairs += w
					if a > b {
						sum += w
					} else if a == b {
						sum += w / 2
					}
				}
			}
			return sum / pairs
		}
		var want float64
		switch {
		case x.positive >= 0:
			want = auc(int32(x.positive))
		case x.classes == 2:
			want = auc(1)
		default:
			want = (auc(0) + auc(1) + auc(2)) / 3
		}
		near(t, fmt.Sprintf("AUC of %d classes, positive %d", x.classes, x.positive), Features(ev)[0].AUC, want)
	}
}

// TestBlocksOfTheWarning: a feature that only tells the time is no leak though it ranks all records, one that tells the
// class inside the full blocks is, and a last block that is not full has no say.
func TestBlocksOfTheWarning(t *testing.T) {
	half := func(i int) int32 { return int32(model.Hash(4, uint64(i)) % 2) }
	for _, x := range []struct {
		name string
		n    int
		row  func(i int) (float64, int32)
		want string // part of the warning; "" = none
	}{
		{"the time", 2000, func(i int) (float64, int32) {
			if i < 1000 {
				return 0, int32(i % 100 / 99)
			}
			return 1, 1 - int32(i%100/99)
		}, ""},
		{"the class", 2000, func(i int) (float64, int32) { return float64(half(i)), half(i) },
			"AUC of 1.00 inside blocks of 1000"},
		{"the class of few", 300, func(i int) (float64, int32) { return float64(half(i)), half(i) }, "AUC of 1.00"},
		{"the class of the second block", 2000, func(i int) (float64, int32) {
			if i < 1000 {
				return 5, 0 // one class: it is left out
			}
			return float64(half(i)), half(i)
		}, "AUC of 1.00"},
		{"noise, then the class of a part", 1900, func(i int) (float64, int32) {
			if i < 1000 {
				return float64(half(i + 9999)), half(i)
			}
			return float64(half(i)), half(i)
		}, ""},
	} {
		ev := table(model.Feature{Name: "x"}, 2, 1, x.n, func(i int) (float64, int32, float64) {
			v, y := x.row(i)
			return v, y, 1
		})
		got := Features(ev)[0].Warnings
		if (x.want == "") != (len(got) == 0) || x.want != "" && !strings.Contains(got[0], x.want) {
			t.Errorf("%s: warnings %q, want %q", x.name, got, x.want)
		}
	}
}

// TestBlocksAreMeasuredEachByItself: the mean over the full blocks of two classes.
func TestBlocksAreMeasuredEachByItself(t *testing.T) {
	class := func(i int) int32 {
		if i >= 2000 && i < 3000 {
			return 1 // a block of one class
		}
		return int32(model.Hash(6, uint64(i)) % 2)
	}
	ev := table(model.Feature{Name: "x", Kind: model.Nominal}, 2, 1, 4500, func(i int) (float64, int32, float64) {
		return float64((model.Hash(7, uint64(i))%5 + uint64(class(i))*uint64(i/1000)) % 6), class(i), float64(1 + i%2)
	})
	cells := make([]int32, ev.Len())
	labels, _, _ := cut(ev, 0, cells)
	whole := newTally(len(labels), 2)
	for i, c := range cells {
		whole.add(int(c), int(ev.Class[i]), ev.Weight[i])
	}
	sum := 0.
	for _, b := range []int{0, 1, 3} {
		part := newTally(len(labels), 2)
		for i := 1000 * b; i < 1000*(b+1); i++ {
			part.add(int(cells[i]), int(ev.Class[i]), ev.Weight[i])
		}
		sum += whole.auc(1, part)
	}
	near(t, "AUC inside blocks", Number(whole.blocks(ev, cells, 1)), sum/3)
}

// TestBoundsArePrintedShort: all of a number of nine characters, seven digits of a longer one.
func TestBoundsArePrintedShort(t *testing.T) {
	for v, want := range map[float64]string{1234567.5: "1234567.5", 12345678.5: "1.234568e+07", -.25: "-0.25",
		1. / 3: "0.3333333", 123456789: "123456789", 1234567890: "1.234568e+09"} {
		if got := short(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// TestWarningsOfMissingValues has the boundaries, by weight.
func TestWarningsOfMissingValues(t *testing.T) {
	for _, x := range []struct {
		missing, weight float64 // records of 100, and the weight of each
		want            string
	}{
		{49, 1, ""}, {50, 1, "missing in 50 % of the records"}, {99, 1, "missing in 99 % of the records"},
		{20, 4, "missing in 50 % of the records"}, {19, 4, ""}, {60, .5, ""}, {100, 1, "always missing"},
	} {
		ev := table(model.Feature{Name: "x", Kind: model.Nominal}, 2, 1, 100, func(i int) (float64, int32, float64) {
			if float64(i) < x.missing {
				return math.NaN(), int32(i % 2), x.weight
			}
			return float64(i / 2 % 2), int32(i % 2), 1
		})
		if got := strings.Join(Features(ev)[0].Warnings, "; "); got != x.want {
			t.Errorf("%v records of weight %v missing: %q, want %q", x.missing, x.weight, got, x.want)
		}
	}
}

// TestFeaturesOfNothing: no record and one class have no figures, which is no error.
func TestFeaturesOfNothing(t *testing.T) {
	for _, n := range []int{0, 5} {
		f := Features(table(model.Feature{Name: "x"}, 2, 1, n, func(i int) (float64, int32, float64) {
			return float64(i), 0, 1
		}))[0]
		if f.Name != "x" || len(f.WOE) != 0 || f.WOE == nil || f.Warnings == nil || len(f.Warnings) != 0 ||
			!math.IsNaN(float64(f.InformationValue)) || !math.IsNaN(float64(f.AUC)) {
			t.Errorf("%d records: %+v", n, f)
		}
	}
}
