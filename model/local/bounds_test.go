package local

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/gp"
	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// TestBetterTrials: the sum of log-loss and errors decides, and equal trials leave the first.
func TestBetterTrials(t *testing.T) {
	for _, c := range []struct {
		loss, errors, oLoss, oErrors float64
		want                         bool
	}{{.4, .1, .5, .1, true}, {.4, .3, .5, .1, false}, {.5, .1, .4, .3, true}, {.4, .1, .4, .1, false},
		{.4, .1, .4, .2, true}, {.4, .1, .4 + 1e-13, .1, false}} {
		a, b := Trial{LogLoss: c.loss, Errors: c.errors}, Trial{LogLoss: c.oLoss, Errors: c.oErrors}
		if a.better(&b) != c.want {
			t.Errorf("%+v is better than %+v: %v", a, b, !c.want)
		}
	}
}

// TestScoresByHand: of records, from masses that leave them out, at the ends where nothing is near or a class has one
// member.
func TestScoresByHand(t *testing.T) {
	for name, c := range map[string]struct {
		score        Score
		mass, counts []float64
		own          int32
		itself, want float64
	}{
		"hit":                     {Hit, []float64{3, 1}, []float64{10, 10}, 0, 1, .75},
		"hit, nothing near":       {Hit, []float64{0, 0}, []float64{15, 5}, 0, 1, .75},
		"balanced":                {Balanced, []float64{2, 3}, []float64{5, 12}, 0, 1, .5 / (.5 + .25)},
		"balanced, heavy records": {Balanced, []float64{8, 12}, []float64{20, 48}, 0, 4, .5 / (.5 + .25)},
		"one member":              {Balanced, []float64{0, 3}, []float64{1, 12}, 0, 1, .5},
		"two members":             {Balanced, []float64{1, 0}, []float64{2, 12}, 0, 1, 1},
		"balanced, nothing near":  {Balanced, []float64{0, 0}, []float64{5, 12}, 1, 1, .5},
		"one class":               {Balanced, []float64{2, 0}, []float64{5, 0}, 0, 1, 1},
	} {
		if got := c.score.record(c.mass, c.counts, c.own, c.itself); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLevelsAreDrawnToTheNeutralScore: the posterior of each level by hand, the prior of a level that was not observed.
func TestLevelsAreDrawnToTheNeutralScore(t *testing.T) {
	f := &feature{neutral: .5}
	(&fitter{}).levels(f, []gp.Observation{{X: 0, Y: .9, Tau2: .01}, {X: 3, Y: .3, Tau2: .3}}, 4)
	between := (.4*.4 + .2*.2) / 2
	for i, want := range [][2]float64{
		{.5 + between/(between+.01)*.4, between * .01 / (between + .01)}, {.5, between}, {.5, between},
		{.5 - between/(between+.3)*.2, between * .3 / (between + .3)},
	} {
		if math.Abs(f.mean[i]-want[0]) > 1e-12 || math.Abs(f.variance[i]-want[1]) > 1e-12 {
			t.Errorf("level %d: mean %v and variance %v, want %v", i, f.mean[i], f.variance[i], want)
		}
	}
}

// TestGreedyByHand: the largest divergence less the correlation with those chosen, to the threshold and not below it;
// equal ones in their order.
func TestGreedyByHand(t *testing.T) {
	rho := newCorrelation(4, []int32{0, 1, 2, 3})
	rho.set(1, 0, .5)
	rho.set(2, 0, .25)
	rho.set(3, 1, .75)
	for name, c := range map[string]struct {
		divergence []float64
		theta      float64
		how        Redundancy
		features   []int32
		scores     []float32
	}{
		"all":               {[]float64{8, 6, 4, math.NaN()}, 0, Mean, []int32{0, 1, 2}, []float32{1, .25, .375}},
		"at the threshold":  {[]float64{8, 6, 4, math.NaN()}, .25, Mean, []int32{0, 1, 2}, []float32{1, .25, .375}},
		"above it":          {[]float64{8, 6, 4, math.NaN()}, .26, Mean, []int32{0}, []float32{1}},
		"one":               {[]float64{8, 8, 4, 2}, 1, Mean, []int32{0}, []float32{1}},
		"equal":             {[]float64{4, 0, 0, 4}, .5, Mean, []int32{0, 3}, []float32{1, 1}},
		"largest":           {[]float64{8, 6, 4, 2}, .2, Max, []int32{0, 1, 2}, []float32{1, .25, .25}},
		"nothing":           {[]float64{0, math.NaN(), 1e-13, 0}, 0, Mean, nil, nil},
		"twins in the mean": {[]float64{8, 8, 0, 8}, .1, Mean, []int32{0, 3, 1}, []float32{1, 1, .375}},
	} {
		features, scores := greedy(c.divergence, rho, c.theta, c.how, make([]float64, 4), make([]float64, 4), nil, nil)
		if !slices.Equal(features, c.features) || !slices.Equal(scores, c.scores) {
			t.Errorf("%s: %v of %v, want %v of %v", name, features, scores, c.features, c.scores)
		}
	}
}

// TestPredictWithoutPrototypes gives the base rates, or equal shares where these are not known.
func TestPredictWithoutPrototypes(t *testing.T) {
	c := &Component{schema: modeltest.Schema()}
	p := make([]float64, 3)
	if c.Predict(nil, p); p[0] != 1./3 || p[2] != 1./3 {
		t.Errorf("before a fit: %v", p)
	}
	c.structure = &structure{base: []float64{.2, .7, .1}}
	if c.Predict(nil, p); !slices.Equal(p, []float64{.2, .7, .1}) {
		t.Errorf("without prototypes: %v", p)
	}
	p[0] = 9
	if c.structure.base[0] != .2 {
		t.Error("the shares are the structure's own")
	}
}

// TestWeightsOfPrototypes: columns are standardised by weight, classes have equally many prototypes, and a heavy record
// becomes one more often.
func TestWeightsOfPrototypes(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	var ex []model.Example
	var sum, square, n float64
	for i := range 2000 {
		row := model.Row{math.Mod(float64(i)*math.Phi, 1)}
		e := model.Example{Row: row, Class: int32(i % 2), Weight: 1, Clock: float64(i)}
		if i%4 < 2 {
			e.Weight = 9
			e.Row[0] += 3
		}
		ex = append(ex, e)
	}
	c := fit(t, Options{Theta: 0, Prototypes: 200}, s, modeltest.Evidence(s, model.NewLevels(s), ex))
	a := &c.structure.features[0].axis
	for _, e := range ex {
		v, _ := a.value(e.Row[0])
		n, sum, square = n+e.Weight, sum+e.Weight*v, square+e.Weight*v*v
	}
	p := &c.structure.prototypes
	mean, sd := sum/n, math.Sqrt(square/n-sum/n*sum/n)
	if math.Abs(p.columns[0].mean-mean) > 1e-9 || math.Abs(p.columns[0].sd-sd) > 1e-9 {
		t.Errorf("standardised by mean %v and deviation %v, want %v and %v", p.columns[0].mean, p.columns[0].sd, mean, sd)
	}
	heavy, yes := 0, 0
	for k, y := range p.class {
		yes += int(y)
		if int(p.clock[k])%4 < 2 {
			heavy++
		}
	}
	if len(p.class) != 200 || yes != 100 || heavy < 165 || heavy > 195 || math.Abs(p.prior[0]-.5) > 1e-12 {
		t.Errorf("%d prototypes, %d of class 1 and %d heavy, priors %v", len(p.class), yes, heavy, p.prior)
	}
}

func sameTrials(t *testing.T, got []report.Trial, want []Trial) {
	t.Helper()
	for i, x := range got {
		y := want[i]
		if x.Records != y.Records || float64(x.Errors) != y.Errors || float64(x.LogLoss) != y.LogLoss ||
			float64(x.Distance.Theta) != y.Theta || float64(x.Distance.Cap) != y.Cap || x.Distance.Close != y.Close {
			t.Errorf("trial %+v, want %+v", x, y)
		}
	}
}

// TestTheSectionIsThatOfThePart: every number of the report's section has its own place, and the grid runs from the
// least to the largest observed value at equal steps.
func TestTheSectionIsThatOfThePart(t *testing.T) {
	c, _ := lived(t)
	s := c.structure
	l, _ := modeltest.Generate(c.schema, 700, 7)
	r := (&Part{structure: s}).Section(c.schema, l)
	if float64(r.Theta) != s.theta || float64(r.Useless) != s.useless || float64(r.HalfLife) != 40 || r.Neighbours != 8 ||
		r.Prototypes != len(s.prototypes.class) || len(r.Trials) != len(s.trials) {
		t.Errorf("%+v", r)
	}
	sameTrials(t, r.Trials, s.trials)
	at := 0
	for j := range s.features {
		f := &s.features[j]
		if !f.candidate() {
			continue
		}
		x := r.Curves[at]
		at++
		if x.Feature != c.schema.Features[j].Name || x.Observations != f.observations || float64(x.Neutral) != f.neutral {
			t.Errorf("curve %+v is not that of feature %d", x, j)
		}
		if f.nominal {
			if len(x.Levels) != len(f.mean) || len(x.Grid) != len(f.mean) || x.Levels[1] != l.Names(j)[1] {
				t.Errorf("feature %d: levels %v on the grid %v", j, x.Levels, x.Grid)
			}
			continue
		}
		k := f.curve
		if got, want := []report.Number{x.LengthScale, x.SignalSD, x.NoiseSD, x.LogMarginalLikelihood, x.MeanBound,
			x.VarianceBound}, []float64{k.Params.Length, k.Params.Signal, k.Params.Noise, f.likelihood, k.MeanBound,
			k.VarianceBound}; !slices.EqualFunc(got, want, func(a report.Number, b float64) bool { return float64(a) == b }) {
			t.Errorf("feature %d: %v, want %v", j, got, want)
		}
		if len(x.Grid) != 33 || float64(x.Grid[0]) != f.minimum || float64(x.Grid[32]) != f.maximum ||
			math.Abs(float64(x.Grid[8])-f.minimum-(f.maximum-f.minimum)/4) > 1e-9 {
			t.Errorf("feature %d: grid %v of [%v, %v]", j, x.Grid, f.minimum, f.maximum)
		}
		for i, v := range x.Grid {
			on, _ := f.value(float64(v))
			if m, variance := k.At((on - f.zero) / f.scale); math.Abs(float64(x.Mean[i])-m) > 1e-9 ||
				math.Abs(float64(x.SD[i])-math.Sqrt(variance)) > 1e-9 {
				t.Errorf("feature %d at %v: %v and %v, want %v and %v", j, v, x.Mean[i], x.SD[i], m, math.Sqrt(variance))
			}
		}
	}
	if at != len(r.Curves) || at < 5 {
		t.Errorf("%d curves of %d features", len(r.Curves), at)
	}
}

// TestAMissingValueTellsAtOnce: since the fit the missing values of a feature, and a level that it did not know, have
// come to tell the class. The subspace has the feature, though the tables of the fit say nothing; of twins the first
// comes first.
func TestAMissingValueTellsAtOnce(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "c", Kind: model.Nominal}, {Name: "n"}, {Name: "twin"}},
		Classes: []string{"no", "yes"}, Positive: 1}
	l := model.NewLevels(s)
	for _, name := range []string{"old", "new"} {
		l.Code(0, name)
	}
	var ex []model.Example
	for i := range 600 {
		v := math.Mod(float64(i)*math.Phi, 1)
		ex = append(ex, model.Example{Row: model.Row{0, v, v}, Class: int32(model.Hash(3, uint64(i)) % 2), Weight: 1,
			Clock: float64(i)})
	}
	c := fit(t, Options{Theta: .2, Prototypes: 100}, s, modeltest.Evidence(s, l, ex))
	rows := map[string]model.Row{"new level": {1, .5, .5}, "missing": {0, math.NaN(), math.NaN()}}
	for name, row := range rows {
		if f, _ := c.Select(row, nil, nil); len(f) != 0 {
			t.Errorf("%s: before it was learnt the subspace is %v", name, f)
		}
	}
	for i := range 40 {
		for _, row := range rows {
			c.Learn(&model.Example{Row: row, Class: 1, Weight: 1, Clock: float64(600 + i)})
		}
	}
	again := &Component{schema: s}
	if err := again.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int32{"new level": {0}, "missing": {1, 2}} {
		f, r := again.Select(rows[name], nil, nil)
		if !slices.Equal(f, want) || !(r[0] > .1) {
			t.Errorf("%s: the subspace is %v of %v, want %v", name, f, r, want)
		}
	}
}

// TestWidest: a fit keeps 512 features, the telling ones among them.
func TestWidest(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s}
	for f := range Widest + 5 {
		s.Features = append(s.Features, model.Feature{Name: string(rune('a'+f%26)) + string(rune('a'+f/26))})
		column := make([]float64, 200)
		for i := range column {
			if column[i] = float64(model.Hash(1, uint64(i), uint64(f)) % 1000); f%9 == 0 {
				column[i] += 800 * float64(i%2)
			}
		}
		ev.Columns = append(ev.Columns, column)
	}
	for i := range 200 {
		ev.Class, ev.Weight = append(ev.Class, int32(i%2)), append(ev.Weight, 1)
	}
	x := &fitter{options: Options{}.withDefaults(), schema: s, ev: ev, classes: 2}
	axes := x.axes(t.Context())
	if err := x.narrow(t.Context(), axes); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for f := range axes {
		if axes[f].bins > 0 {
			kept++
		} else if f%9 == 0 {
			t.Errorf("feature %d, which tells the class, is left out", f)
		}
	}
	if kept != Widest {
		t.Errorf("%d features are kept, want %d", kept, Widest)
	}
}
