package local

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestTheScaleOfWeightsChangesNothing: curves, relevance, distances, votes and subspaces are the same at any scale of
// the weights; evidence is counted in records.
func TestTheScaleOfWeightsChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 900, 7)
	for _, o := range []Options{{Theta: Auto}, {Theta: .2, Observation: PerRecord, Score: Balanced},
		{Theta: .3, HalfLife: model.HalfLife{Records: 200}}} {
		for name, weight := range map[string]func(ex *model.Example) float64{
			"1": func(*model.Example) float64 { return 1 },
			// Every fifth of a class is a sample of the others.
			"by class": func(ex *model.Example) float64 { return 1 + 4*float64(ex.Class) },
			"any":      func(ex *model.Example) float64 { return 1 + math.Mod(ex.Clock, 7) },
		} {
			var c [2]*Component
			for k, by := range []float64{1, 100} {
				w := slices.Clone(ex)
				for i := range w {
					w[i].Weight = by * weight(&w[i])
				}
				c[k] = fit(t, o, s, modeltest.Evidence(s, l, w[:700]))
				for i := range w[700:] {
					c[k].Learn(&w[700+i])
				}
			}
			a, b := make([]float64, 3), make([]float64, 3)
			for i := range ex {
				c[0].Inputs(ex[i].Row, a)
				c[1].Inputs(ex[i].Row, b)
				for y := range a {
					if math.Abs(a[y]-b[y]) > 1e-9 {
						t.Fatalf("%+v, weights %s: record %d: inputs %v, with weights times 100 %v", o, name, i, a, b)
					}
				}
				f, r := c[0].Select(ex[i].Row, nil, nil)
				g, q := c[1].Select(ex[i].Row, nil, nil)
				if !slices.Equal(f, g) {
					t.Fatalf("%+v, weights %s: record %d: subspace %v, with weights times 100 %v", o, name, i, f, g)
				}
				for k := range r {
					if math.Abs(float64(r[k]-q[k])) > 1e-6*float64(r[k]) {
						t.Fatalf("%+v, weights %s: record %d: relevance %v, with weights times 100 %v", o, name, i, r, q)
					}
				}
			}
		}
	}
}

// TestEvidenceIsTheNumberOfRecords: a record that stands for 50 others is one record, with the evidence of one alone.
// Half of the records at twice the weight have half of the evidence.
func TestEvidenceIsTheNumberOfRecords(t *testing.T) {
	a := axis{high: 1, bins: 64, scale: 1}
	n := axis{nominal: true}
	for _, axis := range []axis{a, n} {
		one, fifty := newHistogram(&axis, 2), newHistogram(&axis, 2)
		for i := range 400 {
			v := math.Mod(float64(i)*.37, 1)
			if axis.nominal {
				v = float64(i % 5)
			}
			one.add(&axis, 2, v, int32(i%2), 1, 0, 0)
			fifty.add(&axis, 2, v, int32(i%2), float64(50-49*(i%2)), 0, 0) // one class is a sample
		}
		m, q := one.around(&axis, 2, .05)
		mm, qq := fifty.around(&axis, 2, .05)
		for i := range q {
			if q[i] == 0 {
				continue
			}
			// n_eff = Gamma^2 / sum w^2 kappa^2; of one class alone it is that of unit weights.
			if g := m[2*i] * m[2*i]; g > 0 && math.Abs(mm[2*i]/m[2*i]-50) > 1e-9 {
				t.Fatalf("mass %v of %v", mm[2*i], m[2*i])
			}
			eff, weighted := total(m[2*i:2*i+2])*total(m[2*i:2*i+2])/q[i], total(mm[2*i:2*i+2])*total(mm[2*i:2*i+2])/qq[i]
			if weighted > eff+1e-9 || weighted < eff/3 {
				t.Fatalf("bin %d: %v records weigh as %v", i, eff, weighted)
			}
		}
		if w := fifty.weights(); math.Abs(w[0]-50) > 1e-9 || math.Abs(w[1]-1) > 1e-9 {
			t.Errorf("weights %v of a record", w)
		}
	}
}

// TestCountsForget: with a half-life the counts hold the late records' classes, without one those of all records.
func TestCountsForget(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "f", Kind: model.Nominal}}, Classes: []string{"no", "yes"},
		Positive: 1}
	l := model.NewLevels(s)
	l.Code(0, "a")
	l.Code(0, "b")
	var ex []model.Example
	for i := range 4000 {
		e := model.Example{Row: model.Row{float64(i % 2)}, Weight: 1, Clock: float64(i)}
		// "a" is yes at first, and "b" later.
		p := uint64(20)
		if i%2 == 0 == (i < 2000) {
			p = 60
		}
		if model.Hash(1, uint64(i))%100 < p {
			e.Class = 1
		}
		ex = append(ex, e)
	}
	for _, half := range []float64{0, 200} {
		c := fit(t, Options{Theta: .2, HalfLife: model.HalfLife{Records: half}}, s, modeltest.Evidence(s, l, ex[:1000]))
		for i := range ex[1000:] {
			c.Learn(&ex[1000+i])
		}
		if half > 0 {
			if w := total(c.own[0].total) / math.Exp2(3999/half-c.own[0].base); math.Abs(w-half/math.Ln2) > 2 {
				t.Errorf("a half-life of %v holds %v records", half, w)
			}
		}
		p := &Part{structure: c.structure}
		if got := float64(p.Section(s, l).HalfLife); got != half {
			t.Errorf("the report says a half-life of %v, want %v", got, half)
		}
		// The relevance of "b" by the live counts.
		now := c.own[0].live(&c.structure.features[0], 1, c.structure.critical)
		if (now > .05) != (half > 0) {
			t.Errorf("a half-life of %v: %v nats now", half, now)
		}
	}
}
