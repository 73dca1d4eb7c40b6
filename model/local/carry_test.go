package local

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// grown is the changed schema of the tests: another order, a new feature in between, more levels and one class more.
func grown(s *model.Schema) *model.Schema {
	to := &model.Schema{Classes: append(slices.Clone(s.Classes), "late"), Positive: s.Positive}
	for _, f := range slices.Backward(s.Features) {
		if len(f.Levels) > 0 {
			f.Levels = append(slices.Clone(f.Levels), "more", "most")
		}
		to.Features = append(to.Features, f)
	}
	to.Features = slices.Insert(to.Features, 3, model.Feature{Name: "new", Kind: model.Continuous})
	return to
}

func carried(t *testing.T, c *Component, to *model.Schema) (*Component, *model.Change) {
	t.Helper()
	change, err := model.Relate(c.schema, to)
	if err != nil {
		t.Fatal(err)
	}
	f := New(Options{}, to)
	b, _, err := f.CarryState(change, c.AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	n := f.New(nil).(*Component)
	if err := n.LoadState(b); err != nil {
		t.Fatal(err)
	}
	return n, change
}

// others fits a component on records some of which have a level that is not listed.
func others(t *testing.T, o Options) (*Component, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 900, 7)
	for f := range s.Features {
		for i := range ex {
			if len(s.Features[f].Levels) > 0 && i%5 == f%5 {
				ex[i].Row[f] = float64(len(s.Features[f].Levels))
			}
		}
	}
	c := fit(t, o, s, modeltest.Evidence(s, l, ex[:700]))
	for i := range ex[:700] {
		c.Learn(&ex[i])
	}
	return c, ex
}

// TestCarriedTables: after a change every number of a feature is still there, at the new code of its level.
//
//nolint:gocyclo // each change of the schema has conditions of its own
func TestCarriedTables(t *testing.T) {
	for _, o := range []Options{{Theta: .2}, {Theta: Auto, Prototypes: 200},
		{Theta: .2, HalfLife: model.HalfLife{Records: 2}}} {
		old, ex := others(t, o)
		c, change := carried(t, old, grown(old.schema))
		classes := len(old.schema.Classes)
		for j, was := range change.Feature {
			f := &c.structure.features[j]
			if was < 0 {
				if f.candidate() || len(c.structure.prototypes.columns[j].at) > 0 {
					t.Errorf("something is known of feature %d, which is new", j)
				}
				continue
			}
			g := &old.structure.features[was]
			for _, e := range ex {
				now := change.Row(e.Row, nil)
				m, v, ok := g.gaussian(e.Row[was])
				mm, vv, okay := f.gaussian(now[j])
				if ok != okay || math.Abs(m-mm) > 1e-9 || math.Abs(v-vv) > 1e-9 || f.weight(now[j]) != g.weight(e.Row[was]) {
					t.Fatalf("%s at %v: %v %v %v, was %v %v %v", old.schema.Features[was].Name, e.Row[was], mm, vv, okay, m, v, ok)
				}
			}
			// Counts, by level where there are some.
			for i := range len(old.own[was].n) / classes {
				at := i
				if g.nominal {
					at = int(change.Code(j, float64(i)))
				}
				a, b := old.own[was].n[i*classes:(i+1)*classes], c.own[j].n[at*(classes+1):(at+1)*(classes+1)]
				if !slices.Equal(a, b[:classes]) || b[classes] != 0 {
					t.Fatalf("%s: bin %d counts %v, was %v", old.schema.Features[was].Name, i, b, a)
				}
			}
			if c.own[j].base != old.own[was].base {
				t.Error("the clock of a histogram")
			}
			for k, w := range change.Feature {
				if w >= 0 && c.structure.rho.of(j, k) != old.structure.rho.of(was, w) {
					t.Fatalf("correlation of %d and %d", was, w)
				}
			}
			// New levels have no relevance, though the table goes on beyond them.
			if n := len(old.schema.Features[was].Levels); n > 0 {
				for _, v := range []float64{float64(n), float64(n + 1)} {
					mean, _, ok := f.gaussian(v)
					if f.nominal != ok || ok && mean != float64(float32(f.neutral)) || f.weight(v) != 0 {
						t.Errorf("%s: a new level has %v (%v) and weight %d", old.schema.Features[was].Name, mean, ok, f.weight(v))
					}
				}
			}
		}
		// The records themselves: the same neighbours, the same subspaces.
		a, b := make([]float64, classes), make([]float64, classes+1)
		for i, e := range ex {
			now := change.Row(e.Row, nil)
			old.Inputs(e.Row, a)
			if c.Inputs(now, b); !slices.Equal(a, b[:classes]) || b[classes] != 0 {
				t.Fatalf("%+v: record %d: inputs %v, were %v", o, i, b, a)
			}
			x, _ := old.Select(e.Row, nil, nil)
			y, _ := c.Select(now, nil, nil)
			for k := range y {
				y[k] = int32(change.Feature[y[k]])
			}
			if !slices.Equal(x, y) || old.Reason(e.Row) != c.Reason(now) {
				t.Fatalf("record %d: subspace %v (%s), was %v (%s)", i, y, c.Reason(now), x, old.Reason(e.Row))
			}
		}
	}
}

// TestAChangeLeavesNothingOfWhatIsGone: neither subspaces nor distances keep a trace of a removed feature.
func TestAChangeLeavesNothingOfWhatIsGone(t *testing.T) {
	old, ex := others(t, Options{Theta: .1})
	const gone = 3
	to := *old.schema
	to.Features = slices.Delete(slices.Clone(to.Features), gone, gone+1)
	c, change := carried(t, old, &to)
	without := make(model.Row, len(old.schema.Features))
	told := 0
	for i, e := range ex {
		copy(without, e.Row)
		if without[gone] = math.NaN(); old.Reason(without) != "" {
			continue
		}
		// A record without the feature was compared by the same terms.
		now := change.Row(e.Row, nil)
		a, b := make([]float64, 3), make([]float64, 3)
		old.Inputs(without, a)
		if c.Inputs(now, b); !slices.Equal(a, b) {
			t.Fatalf("record %d: inputs %v, without the feature %v", i, b, a)
		}
		if r := c.Reason(now); r != "" {
			t.Fatalf("record %d: %s", i, r)
		}
		told++
	}
	if told < len(ex)/2 {
		t.Errorf("%d of %d records have an answer", told, len(ex))
	}
	// Without any of the features there is no answer, and Reason names why.
	to.Features = []model.Feature{{Name: "new", Kind: model.Continuous}}
	c, _ = carried(t, old, &to)
	x := []float64{9, 9, 9}
	if c.Inputs(model.Row{1}, x); c.Reason(model.Row{1}) != ReasonNoCurves || !slices.Equal(x, []float64{0, 0, 0}) {
		t.Errorf("%s, inputs %v", c.Reason(model.Row{1}), x)
	}
}

// TestTheFirstFitAfterAChangeKeepsCounts: the previous model is not at hand, so the axes come from the carried state.
// With them the fit keeps the counts of records that no partition holds any more.
func TestTheFirstFitAfterAChangeKeepsCounts(t *testing.T) {
	old, ex := others(t, Options{Theta: .2})
	to := grown(old.schema)
	c, change := carried(t, old, to)
	var late []model.Example
	levels := model.NewLevels(to)
	for _, e := range ex[700:] {
		e.Row = change.Row(e.Row, nil)
		c.Learn(&e)
		late = append(late, e)
	}
	ev := modeltest.Evidence(to, levels, late)
	ev.States = model.HeldStates(map[int32][]byte{0: c.AppendState(nil)})
	ev.Recodes, ev.Models = map[int32]model.Recode{0: nil},
		map[int32]int64{0: 4}
	b, err := New(Options{Theta: .2}, to).Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(to, b)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for j, was := range change.Feature {
		f := &p.structure.features[j]
		if was < 0 || f.bins == 0 && !f.nominal {
			continue
		}
		// A few records give other ranges; the axis of levels is always the same.
		if !f.same(&c.structure.features[j].axis) {
			if to.Features[j].Kind != model.Continuous {
				t.Errorf("%s has another axis", to.Features[j].Name)
			}
			continue
		}
		kept++
		if g := p.shares[0].counts[j].n; total(g) < total(c.own[j].n)-1e-9 {
			t.Errorf("%s: %v records counted, %v were", to.Features[j].Name, total(g), total(c.own[j].n))
		}
	}
	if kept < 6 {
		t.Errorf("the axes of %d features are kept", kept)
	}
}
