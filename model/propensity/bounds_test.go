package propensity

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestOptionsOutOfRange: each option that is zero or out of range gets its default, and each that is in range stays.
func TestOptionsOutOfRange(t *testing.T) {
	d := Default()
	bad := map[string]Options{"zero": {Linear: true}, "negative": {Cells: -1, Prior: -1, Step: -1, Linear: true,
		Calibration: Calibration{Knots: 1, HalfLife: -1, Prior: -1}}, "no number": {Prior: math.NaN(), Step: math.NaN(),
		Linear: true, Calibration: Calibration{HalfLife: math.NaN(), Prior: math.NaN()}}}
	for name, o := range bad {
		if got := o.withDefaults(); !reflect.DeepEqual(got, d) {
			t.Errorf("%s: %v, want %v", name, got, d)
		}
	}
	least := Options{Cells: 1, HalfLives: []model.HalfLife{{Records: 1}}, Prior: 1e-9, Step: 1e-9, Follow: true,
		Calibration: Calibration{Knots: 2, HalfLife: 1e-9, Prior: 1e-9}}
	if got := least.withDefaults(); !reflect.DeepEqual(got, least) {
		t.Errorf("the least options become %v", got)
	}
}

// TestHorizonsStandInOrder: half-lives of records before those of time, each by length, for ever at the end, where it
// is added when it is not among them; a card of few horizons has the longest.
func TestHorizonsStandInOrder(t *testing.T) {
	never := model.HalfLife{}
	day, hour, few, lots := model.HalfLife{Duration: 24 * 3600e9}, model.HalfLife{Duration: 3600e9},
		model.HalfLife{Records: 7}, model.HalfLife{Records: 1e9}
	brief := model.HalfLife{Duration: 2}
	for _, c := range []struct {
		given, half []model.HalfLife
		horizons    int
		using       []int
	}{
		{[]model.HalfLife{never, day, few}, []model.HalfLife{few, day, never}, 3, []int{2, 3, 4}},
		{[]model.HalfLife{day, lots, brief, hour, few}, []model.HalfLife{few, lots, brief, hour, day, never}, 5,
			[]int{2, 2, 2, 3, 4}},
		{[]model.HalfLife{few}, []model.HalfLife{few, never}, 1, []int{4}},
		{[]model.HalfLife{never}, []model.HalfLife{never}, 1, []int{4}},
	} {
		o := Default()
		o.HalfLives = slices.Clone(c.given)
		p := newPlan(o, schemas()["two"])
		if !slices.Equal(p.half, c.half) || p.horizons != c.horizons || !slices.Equal(p.using, c.using) ||
			p.half[p.forever] != never {
			t.Errorf("half-lives %v: %v, %d of them horizons, used by %v cards, want %v, %d, %v", c.given, p.half, p.horizons,
				p.using, c.half, c.horizons, c.using)
		}
		if !slices.Equal(o.HalfLives, c.given) {
			t.Errorf("half-lives %v of the options were sorted", c.given)
		}
		for k := range cards {
			sum := 0.
			for h := range p.horizons {
				sum += p.start[h][k]
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("half-lives %v: the horizons of card %d have shares of %v together", c.given, k, sum)
			}
		}
	}
}

// TestManyFeaturesStartSoftly: beyond 20 features the first weights of log-lifts fall with their number and the steps
// with its root; base rates and sets begin as ever.
func TestManyFeaturesStartSoftly(t *testing.T) {
	for _, n := range []int{19, 20, 21, 80} {
		s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
		for range n {
			s.Features = append(s.Features, model.Feature{Name: strings.Repeat("x", len(s.Features)+1)})
		}
		o := Default()
		o.Blocks = []Block{{Name: "lift", Inputs: 1, Fitted: true}}
		p := newPlan(o, s)
		by := min(1, 20/float64(n))
		for k, r := range p.recipes {
			want := recipe{standard.recipes[k].start * by, standard.recipes[k].step * math.Sqrt(by),
				standard.recipes[k].cellStep * math.Sqrt(by), standard.recipes[k].horizons, standard.recipes[k].sets}
			if math.Abs(r.start-want.start)+math.Abs(r.step-want.step)+math.Abs(r.cellStep-want.cellStep) > 1e-15 ||
				r.horizons != want.horizons || r.sets != want.sets {
				t.Errorf("%d features: card %d has %v, want %v", n, k, r, want)
			}
			h := p.horizons - 1
			if got := p.prior(h).w[k]; math.Abs(got-want.start*p.start[h][k]) > 1e-15 {
				t.Errorf("%d features: a log-lift begins with %v on card %d", n, got, k)
			}
			if got := p.prior(n*p.horizons + h).w[k]; got != p.start[h][k] {
				t.Errorf("%d features: a base rate begins with %v on card %d", n, got, k)
			}
			if got := p.prior(p.slots - 1).w[k]; got != want.sets {
				t.Errorf("%d features: a set begins with %v on card %d, want %v", n, got, k, want.sets)
			}
		}
	}
}

// TestLevelsHaveCellsUpToTheLimit: the last level within the limits has a cell of its own, the next shares one.
func TestLevelsHaveCellsUpToTheLimit(t *testing.T) {
	p := newPlan(Default(), schemas()["two"])
	p.levels = 10
	for _, c := range []struct {
		fixed, want int
		v           float64
	}{
		{0, cellLevels, 0}, {0, cellLevels + 9, 9}, {0, cellOther, 10}, {0, cellOther, 1e6}, {0, cellMissing, math.NaN()},
		{0, cellMissing, -1}, {3, cellLevels + 2, 2}, {3, cellOther, 3}, {20, cellLevels + 9, 9}, {20, cellOther, 10},
	} {
		if got := p.level(&feature{kind: model.Nominal, fixed: c.fixed}, c.v); got != c.want {
			t.Errorf("level %v of %d fixed ones has cell %d, want %d", c.v, c.fixed, got, c.want)
		}
	}
	for _, c := range []struct {
		kind model.Kind
		v    float64
		want bool
	}{{model.Ordinal, 2, true}, {model.Ordinal, 3, false}, {model.Ordinal, math.NaN(), false}, {model.Continuous, 3, true},
		{model.Continuous, math.Inf(1), false}, {model.Continuous, -5, true}} {
		if got := (&feature{kind: c.kind, fixed: 3}).number(c.v); got != c.want {
			t.Errorf("%v of a %v feature is a linear input: %v", c.v, c.kind, got)
		}
	}
}

// TestAxesAreThoseOfTheWeights: centre and scale are weighted, and a record of weight n is n records to the cut points
// as well.
func TestAxesAreThoseOfTheWeights(t *testing.T) {
	p := fitter{newPlan(Default(), schemas()["two"])}
	var once, repeated, weights, ones []float64
	for i := range 400 {
		v := math.Sin(float64(i)) * float64(1+i%7)
		once, weights = append(once, v), append(weights, float64(1+i%3))
		for range 1 + i%3 {
			repeated, ones = append(repeated, v), append(ones, 1)
		}
	}
	mean, sd := moments(once, weights)
	wantMean, wantSD := moments(repeated, ones)
	if math.Abs(mean-wantMean) > 1e-12 || math.Abs(sd-wantSD) > 1e-12 {
		t.Errorf("mean %v and deviation %v by weights, %v and %v of repeated records", mean, sd, wantMean, wantSD)
	}
	var sum, square float64
	for _, v := range repeated {
		sum, square = sum+v, square+v*v
	}
	n := float64(len(repeated))
	if want := math.Sqrt(square/n - sum/n*sum/n); math.Abs(wantMean-sum/n) > 1e-12 || math.Abs(wantSD-want) > 1e-9 {
		t.Errorf("mean %v and deviation %v, want %v and %v", wantMean, wantSD, sum/n, want)
	}
	a := p.cut(once, weights, false)
	mass := make([]float64, a.cells)
	for i, v := range once {
		mass[a.find(v)] += weights[i]
	}
	for c, w := range mass[1:] {
		if math.Abs(w-n/15) > 6 {
			t.Errorf("cell %d of 15 holds a weight of %v of %v", c+1, w, n)
		}
	}
}

// TestWhichAxesAreSmooth: those of which more than half of the weight lies outside of atoms.
func TestWhichAxesAreSmooth(t *testing.T) {
	p := fitter{newPlan(Default(), schemas()["two"])}
	for _, c := range []struct {
		atom float64
		want bool
	}{{.3, true}, {.49, true}, {.51, false}, {.9, false}} {
		values, weights := make([]float64, 1000), make([]float64, 1000)
		for i := range values {
			values[i], weights[i] = float64(i), 1
			if float64(i) < c.atom*1000 {
				values[i] = 2000
			}
		}
		if a := p.cut(values, weights, false); a.smooth != c.want {
			t.Errorf("%v of the weight in an atom: smooth is %v", c.atom, a.smooth)
		}
		if a := p.cut(values, weights, true); a.smooth {
			t.Errorf("%v of the weight in an atom: smooth and ordered", c.atom)
		}
	}
}

// TestBlend: a weight that has learnt goes to the mean by G and keeps its G; one that never learnt takes the others'
// mean and the mean of their G; one of which the others say nothing stays.
func TestBlend(t *testing.T) {
	four := func(v float64) [cards]float64 { return [cards]float64{v, v, v, v} }
	for name, c := range map[string]struct{ w, g, ow, og, n, wantW, wantG float64 }{
		"learnt":               {w: 1, g: 3, ow: 4 * 6, og: 6, n: 2, wantW: (3*1 + 6*4) / 9., wantG: 3},
		"never learnt":         {w: .3, g: 1, ow: 4 * 6, og: 6, n: 2, wantW: 4, wantG: 3},
		"never learnt, little": {w: .3, g: 1, ow: 4 * 1.5, og: 1.5, n: 3, wantW: 4, wantG: 1},
		"no others":            {w: 1, g: 3, n: 2, wantW: 1, wantG: 3},
	} {
		live := []pair{{four(c.w), four(c.g)}}
		blend(live, []pair{{four(c.ow), four(c.og)}}, c.n)
		for k := range cards {
			if math.Abs(live[0].w[k]-c.wantW) > 1e-12 || live[0].g[k] != c.wantG {
				t.Errorf("%s: card %d: weight %v and G %v, want %v and %v", name, k, live[0].w[k], live[0].g[k], c.wantW, c.wantG)
			}
		}
	}
}

// TestAClockTakenBack: a clock that is ahead of a time is of that time afterwards, also where even its first time is
// ahead; one that is not stays. A record of then weighs one, and one a half-life later two.
func TestAClockTakenBack(t *testing.T) {
	half := []model.HalfLife{{Duration: 100}, {Records: 10}, {}}
	for _, c := range []struct{ back, want int64 }{{1500, 1500}, {1000, 1000}, {400, 400}, {1700, 1600}} {
		k := newClock(len(half))
		k.advance(half, 3, 1000, nil)
		k.advance(half, 8, 1600, nil)
		by := k.now[1]
		k.notAfter(half, c.back)
		if k.time != c.want || k.records != 8 || k.now[1] != by || k.now[2] != 1 {
			t.Errorf("taken back to %d: time %d, %v records that weigh %v", c.back, k.time, k.records, k.now)
		}
		was := k.now[0]
		if want := math.Exp2(max(0, float64(c.want-1000)) / 100); was != want {
			t.Errorf("taken back to %d: a record weighs %v, want %v", c.back, was, want)
		}
		k.advance(half, 8, c.want+100, nil)
		if k.now[0] != 2*was {
			t.Errorf("taken back to %d: a half-life later a record weighs %v, was %v", c.back, k.now[0], was)
		}
	}
}

// TestStampsTellEvidenceApart: evidence that differs in its seed, number, weights or clocks has another stamp, so that
// its batch is adopted.
func TestStampsTellEvidenceApart(t *testing.T) {
	l, ex := modeltest.Generate(schemas()["two"], 50, 3)
	stamp := func(change func(ev *model.Evidence)) uint64 {
		ev := modeltest.Evidence(schemas()["two"], l, ex)
		change(ev)
		return stampOf(joined(ev, nil))
	}
	same := stamp(func(*model.Evidence) {})
	if same != stamp(func(*model.Evidence) {}) {
		t.Error("the same evidence has two stamps")
	}
	for name, change := range map[string]func(ev *model.Evidence){
		"seed":   func(ev *model.Evidence) { ev.Seed++ },
		"weight": func(ev *model.Evidence) { ev.Weight[7]++ },
		"clock":  func(ev *model.Evidence) { ev.Clock[7]++ },
		"later": func(ev *model.Evidence) { // the window has moved on, its size is the same
			for i := range ev.Clock {
				ev.Clock[i] += 10
			}
		},
	} {
		if stamp(change) == same {
			t.Errorf("another %s has the same stamp", name)
		}
	}
}

// TestABatchIsThatOfTheSumOfShares: how the partitions divide their knowledge and their lag does not matter.
func TestABatchIsThatOfTheSumOfShares(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		c, _ := grown(t, schemas()[name], 3)
		p := c.live[0].plan
		m, err := p.readPart(c.part)
		if err != nil {
			t.Fatal(err)
		}
		all := contribution{t: p.newTables()}
		for i := range m.shares {
			all.lag += m.shares[i].lag
			p.add(all.t, m.shares[i].t, ones(len(p.half)), 1)
		}
		if !(m.shares[0].lag > 1) {
			t.Fatalf("a lag of %v says nothing", m.shares[0].lag)
		}
		var seen []model.Example
		for p := range c.seen {
			seen = append(seen, c.seen[p]...)
		}
		ev := joined(modeltest.Evidence(c.schema, c.levels, seen), nil)
		apart, err := fitter{p}.fitBatch(t.Context(), m.axes, ev, m.shares)
		if err != nil {
			t.Fatal(err)
		}
		together, err := fitter{p}.fitBatch(t.Context(), m.axes, ev, []contribution{all})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(apart, together) {
			t.Errorf("%s: the batch of three shares is another than that of their sum", name)
		}
		// A budget of 100 records is spent on records of all times, no more of them.
		ev.most = 100
		d, err := fitter{p}.newDesign(t.Context(), m.axes, ev, p.newTables(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.n > 100 || d.n < 50 {
			t.Errorf("%s: %d records of a budget of 100", name, d.n)
		}
		sum, square := 0., 0.
		for _, w := range d.weight {
			sum, square = sum+w, square+w*w
		}
		if math.Abs(sum-square) > 1e-9*sum {
			t.Errorf("%s: the weights of a design sum to %v, their squares to %v, so that they do not count records", name, sum,
				square)
		}
	}
}

// TestEvidenceOfAnotherSchemaIsRefused, and the error says how the two differ.
func TestEvidenceOfAnotherSchemaIsRefused(t *testing.T) {
	p := newPlan(Default(), schemas()["two"])
	narrow := &model.Schema{Classes: []string{"a", "b"}, Features: make([]model.Feature, 1)}
	for want, s := range map[string]*model.Schema{
		"of 9 features and 3 classes, the scorecard has 9 and 2": schemas()["many"],
		"of 1 features and 2 classes, the scorecard has 9 and 2": narrow,
	} {
		if err := p.check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error %q", err, want)
		}
	}
	o := Default()
	o.Cells = 7
	o.Calibration.Knots = 9
	other := newScorecard(newPlan(o, schemas()["two"]))
	err := newScorecard(p).LoadState(other.AppendState(nil))
	if err == nil || !strings.Contains(err.Error(), "9 where 25 should be (number 7)") {
		t.Errorf("%v, want an error that names the knots", err)
	}
}
