package evaluate

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
)

// TestImportanceByHand: means, cells and order are those of the contributions, of the newest records alone.
func TestImportanceByHand(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}, {Name: "job", Kind: model.Nominal},
		{Name: "unused", Use: model.UseReport}}, Classes: []string{"no", "yes"}, Positive: 1}
	m := newImportanceMeter(s)
	if m.result() != nil {
		t.Error("importances of nothing")
	}
	const n = importanceRecords + 500
	for i := range n {
		x, code := float64(i%20), uint32(i%4)
		effect := []float64{x / 10, float64(i%2) - 3, math.NaN()}
		if i < 500 {
			effect = []float64{1e6, 1e6, 0}
		}
		if i%100 == 0 {
			x = math.NaN()
		}
		if code == 3 {
			code = model.MissingCode
		}
		b := &model.Batch{N: 1, Columns: []model.Column{{Float: []float64{x}}, {Code: []uint32{code},
			Levels: []string{"a", "b", "c"}}, {Float: []float64{1}}}}
		m.add(&Record{Batch: b}, &model.Scores{N: 1, Status: []model.Status{model.StatusOK}, Effects: effect})
		m.add(&Record{Batch: b}, &model.Scores{N: 1, Status: []model.Status{model.StatusUntrained}, Effects: effect})
		m.add(&Record{Batch: b}, &model.Scores{N: 1, Status: []model.Status{model.StatusOK}})
	}
	got := m.result()
	if len(got) != 2 || got[0].Feature != "job" || got[1].Feature != "x" ||
		math.Abs(float64(got[0].Effect)-2.5) > 1e-9 || math.Abs(float64(got[1].Effect)-.95) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	job, x := got[0].Curve, got[1].Curve
	if len(job) != 4 || job[0].Cell != "a" || job[0].N != 2500 || math.Abs(float64(job[0].Effect)+3) > 1e-9 ||
		job[3].Cell != "(missing)" || math.Abs(float64(job[3].Effect)+2) > 1e-9 || job[3].SD > 1e-9 {
		t.Errorf("%+v", job)
	}
	// The first tenth of 9,900 ends within value 2: 400 records of 0, 500 of 1, 500 of 2.
	if len(x) != 11 || x[0].Cell != "0 to 2" || x[0].N != 1400 || math.Abs(float64(x[0].Effect)-150./1400) > 1e-9 ||
		math.Abs(float64(x[0].SD)-math.Sqrt(25./1400-150.*150/1400/1400)) > 1e-9 ||
		x[10].Cell != "(missing)" || x[10].N != 100 {
		t.Errorf("%+v", x)
	}
}

// TestImportanceOfCodes: a special code is a cell of its own, not one of the numbers beside it.
func TestImportanceOfCodes(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x", Special: []float64{-999, -888}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	m := newImportanceMeter(s)
	for i := range 300 {
		x, effect := float64(i), 1.
		switch i % 30 {
		case 0:
			x, effect = -999, -2
		case 1:
			x, effect = -888, 3
		case 2:
			x, effect = math.NaN(), 5
		}
		b := &model.Batch{N: 1, Columns: []model.Column{{Float: []float64{x}}}}
		m.add(&Record{Batch: b}, &model.Scores{N: 1, Status: []model.Status{model.StatusOK}, Effects: []float64{effect}})
	}
	curve := m.result()[0].Curve
	for i, want := range []EffectCell{{Cell: "-999 (special)", N: 10, Effect: -2},
		{Cell: "-888 (special)", N: 10, Effect: 3}, {Cell: "(missing)", N: 10, Effect: 5}} {
		got := curve[len(curve)-3+i]
		if got.Cell != want.Cell || got.N != want.N || math.Abs(float64(got.Effect-want.Effect)) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if first := curve[0]; first.Cell != "3 to 29" || math.Abs(float64(first.Effect)-1) > 1e-9 {
		t.Errorf("%+v", first)
	}
}

// TestCellsBesideAFrequentValue: the values beside one that most records have share cells of a tenth, and a special
// code is a cell of its own however rare it is.
func TestCellsBesideAFrequentValue(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x", Special: []float64{-999}}}, Classes: []string{"no", "yes"}}
	m := newImportanceMeter(s)
	for i := range 1010 {
		x := 0. // of 800 records of 1,000
		switch {
		case i >= 1000:
			x = -999
		case i%5 == 0:
			x = float64(1 + i/5)
		}
		m.add(&Record{Batch: &model.Batch{N: 1, Columns: []model.Column{{Float: []float64{x}}}}},
			&model.Scores{N: 1, Status: []model.Status{model.StatusOK}, Effects: []float64{x}})
	}
	want := []EffectCell{{Cell: "0", N: 800}, {Cell: "1 to 100", N: 100}, {Cell: "101 to 200", N: 100},
		{Cell: "-999 (special)", N: 10}}
	got := m.result()[0].Curve
	for i := range got {
		got[i].Effect, got[i].SD = 0, 0
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestImportanceOfNewLevels: levels of records that are no longer among the newest leave no trace, however many they
// were.
func TestImportanceOfNewLevels(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "job", Kind: model.Nominal}}, Classes: []string{"no", "yes"},
		Positive: 1}
	m := newImportanceMeter(s)
	add := func(text string, effect float64) {
		b := &model.Batch{N: 1, Columns: []model.Column{{Code: []uint32{0}, Levels: []string{text}}}}
		if text == "" {
			b.Columns[0].Code[0] = model.MissingCode
		}
		m.add(&Record{Batch: b}, &model.Scores{N: 1, Status: []model.Status{model.StatusOK}, Effects: []float64{effect}})
	}
	for i := range 3 * importanceRecords {
		add(strconv.Itoa(i), 1)
	}
	add("", 5)
	for i := range importanceRecords - 1 {
		add([]string{"a", "b", "b"}[i%3], float64(1+i%3))
	}
	curve := m.result()[0].Curve
	if len(curve) != 3 || curve[0].Cell != "b" || curve[0].N != 6666 || curve[1].Cell != "a" || curve[1].N != 3333 ||
		math.Abs(float64(curve[1].Effect)-1) > 1e-9 || curve[2].Cell != "(missing)" || curve[2].N != 1 {
		t.Errorf("%+v", curve)
	}
	if l := &m.levels[0]; len(l.number) != 2 || len(l.names) > importanceRecords+1 {
		t.Errorf("%d levels and %d names are held", len(l.number), len(l.names))
	}
}
