package propensity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

// noise returns records of four kinds of features, copies of each, that tell nothing of the class.
func noise(classes, copies, n int, seed uint64) *table {
	d := &table{schema: &model.Schema{Classes: []string{"a", "b", "c"}[:classes], Positive: 1}}
	for i := range copies {
		d.schema.Features = append(d.schema.Features,
			model.Feature{Name: fmt.Sprint("level", i), Kind: model.Nominal, Levels: []string{"u", "v", "w"}},
			model.Feature{Name: fmt.Sprint("month", i), Kind: model.Nominal, Levels: []string{"u", "v", "w", "x", "y", "z"}},
			model.Feature{Name: fmt.Sprint("number", i)},
			model.Feature{Name: fmt.Sprint("grade", i), Kind: model.Ordinal, Levels: []string{"u", "v", "w", "x"}})
	}
	d.levels = model.NewLevels(d.schema)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		var row model.Row
		for f := range copies {
			// The months come one after the other, so their records come all at once.
			row = append(row, float64(r.IntN(10)%3), float64(i/(150+10*f)%6), r.Float64(), float64(r.IntN(4)))
		}
		d.rows = append(d.rows, row)
		d.class = append(d.class, int32(min(r.IntN(10)/4, classes-1)))
	}
	return d
}

// TestLiftsOfNoise: the change of log-odds of a value that tells nothing has the standard deviation that spread says,
// whether records come evenly or all at once, of one cell or between two, for two classes and more, at once and late;
// or somewhat less. So one in twenty is beyond 1.96 of them, and with the test for all features some lift in at most
// one record of twenty.
func TestLiftsOfNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, c := range []struct{ classes, delay int }{{2, 0}, {3, 0}, {2, 300}} {
		const seeds, n = 40, 2600
		var square [4]float64
		lifts, shown, scores, some := 0, 0, 0, 0
		for seed := range uint64(seeds) {
			d := noise(c.classes, 5, n, 7+seed)
			s := open(d, Default(), standard, 300)
			prequential(s, d, c.delay)
			pending, p := make([]float64, s.PendingLen()), make([]float64, c.classes)
			row := d.rows[n-1]
			s.Score(row, nil, pending, p)
			m := s.memoryOf(pending)
			dir := s.direct(m, 1)
			for i := range s.features {
				weight := s.towards(i, m.shared)
				_, change, base := s.usedLift(1, weight, dir)
				z := change * math.Sqrt(base*(1-base)/s.spread(i, weight))
				square[i%4] += z * z / (seeds * 5)
				if lifts++; math.Abs(z) > 1.96 {
					shown++
				}
			}
			scores++
			if showsLift(explain(s, row, pending, 1, nil)) {
				some++
			}
		}
		t.Logf("%+v: mean z^2 %.2f, %d of %d beyond 1.96, some in %d of %d", c, square, shown, lifts, some, scores)
		if share := float64(shown) / float64(lifts); share < .02 || share > .07 {
			t.Errorf("%+v: %d of %d lifts beyond 1.96 standard deviations", c, shown, lifts)
		}
		for k, v := range square {
			least := .7
			if k == 1 {
				least = .25 // in the newest month the records of the shorter horizons are all of one cell
			}
			if !(v >= least && v <= 1.4) {
				t.Errorf("%+v: features of kind %d have a mean square of %v, want 1", c, k, v)
			}
		}
		if some > 6 { // more than that by chance in one case of a hundred, at .05
			t.Errorf("%+v: %d of %d scores of noise show a lift", c, some, scores)
		}
	}
}

// TestUsedLift: over one horizon the lift is the rate of the class in the cell over the base rate, for two classes and
// more, under any other features of the record. Late labels draw its log-lift towards 0, and not the base rate.
func TestUsedLift(t *testing.T) {
	for _, classes := range []int{2, 3} {
		for _, lag := range []float64{0, 500} {
			d := noise(classes, 2, 1500, 3)
			for i := range d.class {
				if d.rows[i][0] == 2 && i%3 > 0 {
					d.class[i] = 1
				}
			}
			opt := Default()
			opt.HalfLives = []model.HalfLife{{Records: 400}}
			s := open(d, opt, standard, 300)
			prequential(s, d, 0)
			s.lag = lag
			row := slices.Clone(d.rows[0])
			row[0] = 2
			pending, p := make([]float64, s.PendingLen()), make([]float64, classes)
			s.Score(row, nil, pending, p)
			there, base := make([]float64, classes), make([]float64, classes)
			count := s.cur.feat[0].count[(cellLevels+2)*len(s.half)*classes:]
			var n, all, sum float64
			for c := range classes {
				n += count[c]
				base[c] = s.cur.class[c] + s.pseudo(0)
				all += base[c]
			}
			m := s.opt.Prior * s.unit * s.clock.now[0]
			for c := range classes {
				base[c] /= all
				there[c] = (count[c] + m*base[c]) / (n + m)
				there[c] = base[c] * math.Pow(there[c]/base[c], s.recent(0))
				sum += there[c]
			}
			want := there[1] / sum / base[1]
			for _, r := range explain(s, row, pending, 1, nil) {
				if r.Feature != 0 {
					continue
				}
				if !(math.Abs(r.Lift-want) <= 1e-9) || want < 1.1 {
					t.Errorf("%d classes, labels %v late: lift %v, want %v", classes, lag, r.Lift, want)
				}
			}
		}
	}
}

// TestLiftsOfARareClass: where records of a class are few, a level without any of them is nothing beside chance, and so
// is one without the other class. A lift is shown where it is more than that.
func TestLiftsOfARareClass(t *testing.T) {
	const seeds, n, features, levels = 8, 4000, 10, 20
	for _, rate := range []float64{.01, .04, .99} {
		shown, scores := 0, 0
		for seed := range uint64(seeds) {
			d := &table{schema: &model.Schema{Classes: []string{"a", "b"}, Positive: 1}}
			for f := range features {
				d.schema.Features = append(d.schema.Features, model.Feature{Name: fmt.Sprint("level", f), Kind: model.Nominal,
					Levels: strings.Split("abcdefghijklmnopqrst", "")})
			}
			d.levels = model.NewLevels(d.schema)
			r := rand.New(rand.NewPCG(seed, 2))
			for range n {
				row := make(model.Row, features)
				for f := range row {
					row[f] = float64(r.IntN(levels))
				}
				class := int32(0)
				if p := r.Float64(); p < rate && row[0] != 7 {
					class = 1
				}
				d.rows, d.class = append(d.rows, row), append(d.class, class)
			}
			s := open(d, Default(), standard, 300)
			prequential(s, d, 0)
			for i := range 100 {
				if scores++; showsLift(reasonsOf(s, d.rows[n-1-i])[1:]) {
					shown++
				}
			}
			row := slices.Clone(d.rows[n-1])
			if row[0] = 7; rate > .1 && !showsLift(reasonsOf(s, row)[:1]) {
				t.Errorf("seed %d: no lift of the level that the class never has", seed)
			}
		}
		t.Logf("rate %v: some lift in %d of %d scores", rate, shown, scores)
		if shown > scores/10 { // the scores of one seed are alike
			t.Errorf("rate %v: %d of %d scores of noise show a lift", rate, shown, scores)
		}
	}
}

// TestPlantedLiftsAreShown: a value that makes a class more frequent shows its lift in every stream, but for a few
// percent by which prior and short horizons draw it towards 1. Features of noise beside it show one as seldom as chance
// says.
func TestPlantedLiftsAreShown(t *testing.T) {
	for _, classes := range []int{2, 3} {
		const seeds, n = 10, 2600
		var truth, got float64
		some := 0
		for seed := range uint64(seeds) {
			d := noise(classes, 5, n, 7+seed)
			var in, hit, all float64
			for i := range d.class {
				planted := d.rows[i][0] == 2
				if planted && i%3 > 0 {
					d.class[i] = 1
				}
				if d.class[i] == 1 {
					all++
				}
				if planted {
					in++
				}
				if planted && d.class[i] == 1 {
					hit++
				}
			}
			truth += hit / in / (all / n) / seeds
			s := open(d, Default(), standard, 300)
			prequential(s, d, 0)
			row := slices.Clone(d.rows[n-1])
			row[0] = 2
			reasons := reasonsOf(s, row)
			got += reasons[0].Lift / seeds
			if showsLift(reasons[1:]) {
				some++
			}
		}
		t.Logf("%d classes: lift %.3f of %.3f, features of noise in %d of %d", classes, got, truth, some, seeds)
		if !(got > .95*truth && got < 1.02*truth) {
			t.Errorf("%d classes: mean lift %v, planted %v", classes, got, truth)
		}
		if some > 3 { // more than that by chance in one case of a thousand, at .05
			t.Errorf("%d classes: features of noise show a lift in %d of %d scores", classes, some, seeds)
		}
	}
}

// TestLiftsOfDependentRecords holds the warning of Reason.Lift about records that depend on each other: of noise more
// lifts are shown where every record comes twice, and many where the class and some values come in runs.
func TestLiftsOfDependentRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	const seeds, n = 60, 2600
	for _, c := range []struct {
		times, run  int
		least, most float64
	}{{1, 1, 0, .05}, {2, 1, .05, .2}, {1, 20, .4, .8}} {
		some := 0
		for seed := range uint64(seeds) {
			d := noise(2, 5, n, 7+seed)
			e := &table{schema: d.schema, levels: d.levels}
			for i, row := range d.rows {
				for range c.times {
					e.rows, e.class = append(e.rows, row), append(e.class, d.class[i/c.run*c.run])
				}
			}
			s := open(e, Default(), standard, 300)
			prequential(s, e, 0)
			if showsLift(reasonsOf(s, d.rows[n-1])) {
				some++
			}
		}
		share := float64(some) / seeds
		t.Logf("every record %d times, classes in runs of %d: some lift in %.2f of the scores", c.times, c.run, share)
		if !(share >= c.least && share <= c.most) {
			t.Errorf("every record %d times, classes in runs of %d: some lift in %.2f of the scores, want %v to %v",
				c.times, c.run, share, c.least, c.most)
		}
	}
}

// reasonsOf scores a row and returns its reasons for class 1.
func reasonsOf(s *Scorecard, row model.Row) []model.Reason {
	pending, p := make([]float64, s.PendingLen()), make([]float64, s.classes)
	s.Score(row, nil, pending, p)
	return explain(s, row, pending, 1, nil)
}

// showsLift reports whether some feature shows a lift.
func showsLift(reasons []model.Reason) bool {
	return slices.ContainsFunc(reasons, func(r model.Reason) bool { return r.Feature >= 0 && !math.IsNaN(r.Lift) })
}
