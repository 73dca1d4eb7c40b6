package kernel

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/modeltest"
)

//nolint:gocyclo // each change of the schema has conditions of its own
func TestCarriedCurves(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 700, 7)
	for f := range s.Features {
		for i := range ex {
			if len(s.Features[f].Levels) > 0 && i%5 == f%5 {
				ex[i].Row[f], ex[i].Class = float64(len(s.Features[f].Levels)), 2 // a level that is not listed
			}
		}
	}
	o := curvesOnly()
	o.Triples, o.Gamma1, o.Gamma2 = 300, .1, .1
	ev := modeltest.Evidence(s, l, ex)
	part, err := New(o, s).Fit(context.Background(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := DecodePart(s, part)
	if err != nil || len(old.curves) < 4 {
		t.Fatalf("%d curves: half of the test would say nothing: %v", len(old.curves), err)
	}
	to := &model.Schema{Classes: append(slices.Clone(s.Classes), "late"), Positive: s.Positive}
	for _, f := range slices.Backward(s.Features) {
		if len(f.Levels) > 0 {
			f.Levels = append(slices.Clone(f.Levels), "more", "most")
		}
		if f.Name != "d" {
			to.Features = append(to.Features, f)
		}
	}
	to.Features = slices.Insert(to.Features, 3, model.Feature{Name: "new", Kind: model.Continuous})
	change, err := model.Relate(s, to)
	if err != nil {
		t.Fatal(err)
	}
	f := New(o, to)
	b, inputs, err := f.CarryState(change, part)
	if err != nil || len(inputs) != 1 {
		t.Fatal(err, inputs)
	}
	p, err := DecodePart(to, b)
	if err != nil {
		t.Fatal(err)
	}
	gone, named := 0, 0
	for i := range old.curves {
		k := &old.curves[i]
		j := change.Index(int(k.feature))
		at := slices.IndexFunc(p.curves, func(c curve) bool { return int(c.feature) == j })
		if j < 0 {
			gone++
			continue
		}
		c := &p.curves[at]
		for _, e := range ex {
			x, y := make([]float64, 3), make([]float64, 4)
			k.add(e.Row[k.feature], x)
			if c.add(change.Row(e.Row, nil)[j], y); !slices.Equal(x, y[:3]) || y[3] != 0 {
				t.Fatalf("%s at %v: %v, was %v", s.Features[k.feature].Name, e.Row[k.feature], y, x)
			}
		}
		if n := len(s.Features[k.feature].Levels); k.levels && n > 0 {
			named++
			y := make([]float64, 4)
			c.add(float64(n), y)
			c.add(float64(n+1), y)
			if !slices.Equal(y, make([]float64, 4)) {
				t.Errorf("%s: new levels say %v", s.Features[k.feature].Name, y)
			}
		}
	}
	if gone != 1 || named == 0 || len(p.curves) != len(old.curves)-gone {
		t.Errorf("%d curves of %d; %d are gone, %d of levels", len(p.curves), len(old.curves), gone, named)
	}
	var weights []Weight
	for _, w := range old.Weights {
		if s.Features[w.Base.A].Name != "d" {
			w.Base.A = int32(change.Index(int(w.Base.A)))
			weights = append(weights, w)
		}
	}
	if !slices.Equal(p.Weights, weights) || p.Beta != old.Beta {
		t.Errorf("weights %v, want %v", p.Weights, weights)
	}

	// The first fit after the change starts from them, and has them to keep.
	for i := range ex {
		ex[i].Row = change.Row(ex[i].Row, nil)
	}
	levels := model.NewLevels(to)
	for j, o := range change.Feature {
		for v := 0; o >= 0 && v < l.Count(o); v++ {
			levels.Code(j, l.Names(o)[v])
		}
	}
	ev = modeltest.Evidence(to, levels, ex)
	ev.States = model.HeldStates(map[int32][]byte{3: b})
	ev.Recodes, ev.Models = map[int32]model.Recode{3: nil}, map[int32]int64{3: 2}
	f.verify = func(*lp.Problem, *lp.Result) error { return lp.ErrCertificate }
	if b, err = f.Fit(t.Context(), ev, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := DecodePart(to, b)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Status != Kept || len(kept.Weights) != len(weights) {
		t.Errorf("%v, %d weights of %d", kept.Status, len(kept.Weights), len(weights))
	}

	// Nothing is left where all features are gone, and nothing comes of nothing.
	to = &model.Schema{Features: []model.Feature{{Name: "new", Kind: model.Continuous}}, Classes: s.Classes,
		Positive: s.Positive}
	if change, err = model.Relate(s, to); err != nil {
		t.Fatal(err)
	}
	for _, state := range [][]byte{part, nil} {
		c := New(o, to).New(nil)
		b, inputs, err := New(o, to).CarryState(change, state)
		if err != nil || len(inputs) > 0 || c.LoadState(b) != nil || c.InputCount() != 0 {
			t.Errorf("%d inputs of nothing: %v", c.InputCount(), err)
		}
	}
}

func TestACurveAppearsOnce(t *testing.T) {
	s := modeltest.Schema()
	p := &Part{curves: []curve{{feature: 2, levels: true, per: 1, end: math.Inf(1), missing: make([]float64, 3),
		nodes: make([]float64, 3)}}}
	if _, err := DecodePart(s, p.appendBinary(nil)); err != nil {
		t.Fatal(err)
	}
	p.curves = append(p.curves, p.curves[0])
	if _, err := DecodePart(s, p.appendBinary(nil)); err == nil {
		t.Error("two curves of one feature are read")
	}
}
