package propensity

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestFoldsOfAFile: a fold's scorecard has counted the records of the other folds, losses are sums over the fold by
// weight, and of the settings that are tried the one of the least loss is chosen.
func TestFoldsOfAFile(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		l, ex := modeltest.Generate(schema, 700, 33)
		ev := modeltest.Evidence(schema, l, ex)
		ev.Exchangeable = true
		p := fitter{newPlan(Default(), schema)}
		w := &whole{fitter: p, axes: p.build(t.Context(), joined(ev, nil), nil), ev: joined(ev, nil)}
		for i := range ex {
			w.rows = append(w.rows, i)
		}
		var held [wholeFolds]*design
		for fold := -1; fold < wholeFolds; fold++ {
			s, err := w.counted(t.Context(), fold)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, s.classes)
			for i := range ex {
				if i%wholeFolds != fold {
					want[ex[i].Class] += ex[i].Weight
				}
			}
			for h := range s.half {
				for y, v := range want {
					if got := s.cur.class[h*s.classes+y]; got != v {
						t.Errorf("%s, fold %d: half-life %d: class %d weighs %v, want %v", name, fold, h, y, got, v)
					}
				}
			}
			if fold >= 0 {
				held[fold] = w.design(s, fold)
			}
		}
		all, err := w.counted(t.Context(), -1)
		if err != nil {
			t.Fatal(err)
		}
		loss := func(x setting) (sum float64) {
			for fold, d := range held {
				if _, err := w.solve(t.Context(), d, x); err != nil {
					t.Fatal(err)
				}
				want := 0.
				for i := fold; i < len(ex); i += wholeFolds {
					q := sharesOf(d.z[i*p.margins : (i+1)*p.margins])
					if p.margins == 1 {
						q = []float64{1 - logistic(d.z[i]), logistic(d.z[i])}
					}
					want -= ex[i].Weight * math.Log(q[ex[i].Class])
				}
				if got := w.loss(d, fold); math.Abs(got-want) > 1e-9*want {
					t.Errorf("%s, fold %d: loss %v, want %v", name, fold, got, want)
				}
				sum += want
			}
			return sum
		}
		best := setting{starts[0], strengths[0]}
		least := loss(best)
		try := func(x setting) {
			if v := loss(x); v < least-1e-9 {
				best, least = x, v
			}
		}
		for _, v := range strengths[1:] {
			try(setting{starts[0], v})
		}
		for ridge, i := best.ridge, 1; i < len(starts); i++ {
			try(setting{starts[i], ridge})
		}
		got, err := w.choose(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		if got != best {
			t.Errorf("%s: setting %v is chosen, the least loss %v is that of %v", name, got, least, best)
		}
	}
}

// TestMeanOfAWeightedFileIsItsRate, by weight, and its share is of all of its records.
func TestMeanOfAWeightedFileIsItsRate(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		l, ex := modeltest.Generate(schema, 700, 35)
		for i := range ex {
			if ex[i].Class > 0 {
				ex[i].Weight *= 6 // the rate by weight is another than that of the records
			}
		}
		ev := modeltest.Evidence(schema, l, ex)
		ev.Exchangeable = true
		f := New(Default(), schema)
		b, m := parted(t, f, ev, nil)
		if got := m.shares[0].records; got != 700 {
			t.Errorf("%s: a share of %v records", name, got)
		}
		s := f.New(l).(*Scorecard)
		if err := s.Rebase(&model.Rebase{Part: b, Clock: 700}); err != nil {
			t.Fatal(err)
		}
		mean, rate, all := make([]float64, s.classes), make([]float64, s.classes), 0.
		prob := make([]float64, s.classes)
		for i := range ex {
			s.Score(ex[i].Row, nil, nil, prob)
			for y, v := range prob {
				mean[y] += ex[i].Weight * v
			}
			rate[ex[i].Class] += ex[i].Weight
			all += ex[i].Weight
		}
		for y := range mean {
			if math.Abs(mean[y]-rate[y]) > 2e-3*all {
				t.Errorf("%s: class %d: mean propensity %v, rate %v", name, y, mean[y]/all, rate[y]/all)
			}
		}
	}
}
