package lift

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"liftstream/model"
)

// counts returns a table of cells x 2 counts whose class rates the seed decides, with shares of noise, and the same for
// the cells of a set that says nothing when far is 0.
func counts(seed uint64, cells, most int, far float64) []float64 {
	out := make([]float64, 2*cells)
	for x := range cells {
		rate := .3 + far*(float64(model.Hash(seed, uint64(x))%1000)/1000-.5)
		for i := range 1 + int(model.Hash(seed, uint64(x), 1)%uint64(most)) {
			if float64(model.Hash(seed, uint64(x), 2, uint64(i))>>11)/(1<<53) < rate {
				out[2*x+1]++
			} else {
				out[2*x]++
			}
		}
	}
	return out
}

// TestEtaLeaveOneOut compares with taking every record out of the counts in turn, and holds its bounds.
func TestEtaLeaveOneOut(t *testing.T) {
	for seed := range uint64(40) {
		c := counts(seed, 3+int(seed%30), 2+int(seed*7%50), float64(seed%4)/4)
		s := Summarise(c, 2, 0)
		best := 0.0
		for _, m := range leftOutPriors {
			gain := 0.0
			for i, v := range c {
				for range int(v) {
					own := slices.Clone(c)
					own[i]--
					x, y := i/2, i%2
					h := s.NY[y] / s.N
					gain += math.Log((own[i] + m*h) / (own[2*x] + own[2*x+1] + m) / h)
				}
			}
			best = max(best, gain)
		}
		var b float64
		for _, v := range s.B {
			b += v
		}
		near(t, fmt.Sprint("seed ", seed), s.EtaLeaveOneOut(), best/b, 1e-12)
		if got := s.EtaLeaveOneOut(); got < 0 || got > s.Eta() {
			t.Errorf("seed %d: %v, eta %v", seed, got, s.Eta())
		}
		// Weights of 100 instead of 1 with the same effective number change nothing.
		heavy := slices.Clone(c)
		for i := range heavy {
			heavy[i] *= 100
		}
		near(t, "heavy", Summarise(heavy, 2, s.N).EtaLeaveOneOut(), s.EtaLeaveOneOut(), 1e-12)
	}
	for name, c := range map[string][]float64{"no record": {0, 0, 0, 0}, "one class": {3, 0, 5, 0}} {
		if v := Summarise(c, 2, 0).EtaLeaveOneOut(); v == v {
			t.Errorf("%s: %v", name, v)
		}
	}
	near(t, "alone in their cells", Summarise([]float64{1, 0, 0, 1, 1, 0, 0, 1}, 2, 0).EtaLeaveOneOut(), 0, 0)
}

// zip is evidence of one true binary feature beside four of 200 levels that say nothing.
func zip(n int, seed uint64) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, name := range []string{"s", "zip0", "zip1", "zip2", "zip3"} {
		s.Features = append(s.Features, model.Feature{Name: name, Kind: model.Nominal})
	}
	rows := make([][]string, n)
	for i := range rows {
		is, rate := model.Hash(seed, uint64(i))%2, .15
		rows[i] = []string{fmt.Sprint(is)}
		for k := range uint64(4) {
			rows[i] = append(rows[i], fmt.Sprint(model.Hash(seed, uint64(i), 1, k)%200))
		}
		if is == 1 {
			rate = .4
		}
		y := "no"
		if float64(model.Hash(seed, uint64(i), 2)>>11)/(1<<53) < rate {
			y = "yes"
		}
		rows[i] = append(rows[i], y)
	}
	return evidenceOf(s, rows)
}

// TestManyLevelsDoNotLead: the true feature leads sets of many levels that say nothing, exhaustively and in the beam,
// and windows are of it; by eta the latter lead.
func TestManyLevelsDoNotLead(t *testing.T) {
	for seed := range uint64(8) {
		ev := zip(5000, seed+1)
		for _, search := range []Search{Exhaustive, Beam} {
			o := Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Search: search, Rank: ByLeaveOneOut, Top: 10},
				Windows: WindowOptions{Top: 3, MinMass: .15, Fold: true}}
			p, _ := fitPart(t, o, ev, nil)
			if f := p.Sets[0].Set.Features(); !slices.Equal(f, []int32{0}) {
				t.Errorf("seed %d, search %d: %v leads", seed, search, f)
			}
			if len(p.Windows) == 0 || p.Windows[0].Set.features[0] != 0 {
				t.Errorf("seed %d, search %d: the first of %d windows is not of the true feature", seed, search, len(p.Windows))
			}
			o.Sets.Rank = ByEta
			if p, _ := fitPart(t, o, ev, nil); slices.Contains(p.Sets[0].Set.Features(), 0) {
				t.Errorf("seed %d: the test needs noise that leads by eta", seed)
			}
		}
	}
}

// TestWindowIntervals: of lists of windows in noise, with few and with many levels, at most one in twenty holds an
// interval above 0; the intervals of windows searched in planted rates hold their true eta.
func TestWindowIntervals(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	runs := 40
	if os.Getenv("LIFTSTREAM_LONG") != "" {
		runs = 300
	}
	for _, by := range []Rank{ByEta, ByLeaveOneOut} {
		o := Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Rank: by, Top: 1},
			Windows: WindowOptions{Top: 10, MinMass: .15, Fold: true}}
		above, lists, missed := 0, 0, 0
		for seed := range runs {
			s := setup(t, o, zip(1000, uint64(seed)), true)
			some := false
			for _, w := range s.windows {
				some = some || w.Low > 0 && w.Set.features[0] != 0
			}
			if some {
				above++
			}
			ev, truth := plantedCells(3000, uint64(seed))
			s = setup(t, o, ev, false)
			lists++
			some = false
			for _, w := range s.windows {
				if v := truth(w); v < w.Low-1e-9 || v > w.High+1e-9 {
					some = true
				}
				if !(w.Low <= w.Eta && w.Eta <= w.High && w.Corrected <= w.Eta) {
					t.Errorf("window %v of %d: eta %v, corrected %v in [%v, %v]", w.Cells, seed, w.Eta, w.Corrected, w.Low, w.High)
				}
			}
			if some {
				missed++
			}
		}
		t.Logf("rank %d: in noise %d of %d lists with an interval above 0; of planted rates %d of %d with a miss",
			by, above, runs, missed, lists)
		if !withinAFew(float64(above)/float64(runs), runs, .05) || !withinAFew(float64(missed)/float64(lists), lists, .05) {
			t.Errorf("rank %d: in noise %d of %d lists with an interval above 0; of planted rates %d of %d with a miss",
				by, above, runs, missed, lists)
		}
	}
}

// setup searches the sets of the evidence, with permuted labels where it says so.
func setup(t *testing.T, o Options, ev *model.Evidence, permuted bool) *setSearch {
	t.Helper()
	if permuted {
		x := *ev
		x.Class = nil
		for _, r := range shuffled(ev.Len(), 7) {
			x.Class = append(x.Class, ev.Class[r])
		}
		ev = &x
	}
	s := newSetSearch(newSample(ev), &o, nil)
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// plantedCells returns records of three features of 3, 6 and 40 levels; the class depends on the first two. truth is
// eta of a window by the rates that the records were drawn from.
func plantedCells(n int, seed uint64) (*model.Evidence, func(w *Window) float64) {
	levels := []uint64{3, 6, 40}
	rate := func(a, b uint64) float64 { return []float64{.05, .2, .45}[a] * []float64{.2, .6, 1, 1.2, 1.5, 1.5}[b] }
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for i := range levels {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("v", i), Kind: model.Nominal})
	}
	rows := make([][]string, n)
	for i := range rows {
		var v [3]uint64
		for f, k := range levels {
			v[f] = model.Hash(seed, uint64(i), uint64(f)) % k
			rows[i] = append(rows[i], fmt.Sprint(v[f]))
		}
		y := "no"
		if float64(model.Hash(seed, uint64(i), 9)>>11)/(1<<53) < rate(v[0], v[1]) {
			y = "yes"
		}
		rows[i] = append(rows[i], y)
	}
	ev := evidenceOf(s, rows)
	h := 0.0
	for a := range levels[0] {
		for b := range levels[1] {
			h += rate(a, b) / 18
		}
	}
	return ev, func(w *Window) float64 {
		// The rate of a cell: the mean over the levels that it leaves open.
		var num, den float64
		at := make([]int32, len(w.Set.levels))
		for _, x := range w.Cells {
			w.Set.split(x, nil, at)
			mass, p := 0.0, 0.0
			for a := range levels[0] {
				for b := range levels[1] {
					in, share := true, 1/18.
					for i, l := range w.Set.levels {
						text := ev.Levels.Text(int(l.feature), float64(at[i]))
						switch l.feature {
						case 0:
							in = in && text == fmt.Sprint(a)
						case 1:
							in = in && text == fmt.Sprint(b)
						default:
							share /= 40
						}
					}
					if in {
						mass, p = mass+share, p+share*rate(a, b)
					}
				}
			}
			p /= mass
			num += mass * (p*math.Log(p/h) + (1-p)*math.Log((1-p)/(1-h)))
			den -= mass * (p*math.Log(h) + (1-p)*math.Log(1-h))
		}
		return num / den
	}
}

// TestDifferentWindows: windows that are shown share at most half of their records, the best one comes first, and those
// left out are counted.
func TestDifferentWindows(t *testing.T) {
	ev, _ := plantedCells(3000, 5)
	for _, contiguous := range []bool{false, true} {
		o := Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 3, Rank: ByLeaveOneOut, Top: 1},
			Windows: WindowOptions{Top: 4, MinMass: .1, Contiguous: contiguous, Fold: true}}
		s := setup(t, o, ev, false)
		if len(s.windows) < 2 {
			t.Fatalf("%d windows", len(s.windows))
		}
		folded := 0
		for i, w := range s.windows {
			folded += w.Folded
			if !exceeds(w.Mass, .1) || i > 0 && w.rank > s.windows[i-1].rank {
				t.Errorf("window %d has the mass %v and the rank %v", i, w.Mass, w.rank)
			}
			for _, v := range s.windows[:i] {
				if o := overlap(s.maskOf(w), s.maskOf(v)); o > windowOverlap {
					t.Errorf("windows share %v of their records", o)
				}
			}
		}
		if folded == 0 {
			t.Error("none folded")
		}
		all := o
		all.Windows.Fold = false
		if a := setup(t, all, ev, false); a.windows[0].rank > s.windows[0].rank*(1+2*foldMassGap) {
			t.Errorf("the best window has rank %v, folded %v", a.windows[0].rank, s.windows[0].rank)
		}
	}
}

// TestJointLiftInterval: the exact part agrees with an independent program, and intervals are wider for more profiles.
func TestJointLiftInterval(t *testing.T) {
	// scipy.stats.contingency.odds_ratio([[8, 2], [1, 5]]).confidence_interval(): 1.0088492, 1059.6394950866
	odds := func(lift, g, h float64) float64 {
		p := lift * h
		r := (h - g*p) / (1 - g)
		return p / (1 - p) * (1 - r) / r
	}
	low, high := exactLiftInterval(8, 10, 9, 16, 1, .05)
	near(t, "low", odds(low, 10./16, 9./16), 1.0088492079476723, 1e-7)
	near(t, "high", odds(high, 10./16, 9./16), 1059.6394950862782, 1e-5)
	for _, c := range [][4]float64{
		{3, 4, 96, 800}, {0, 4, 96, 800}, {4, 4, 96, 800}, {978, 1511, 5289, 45211}, {0, 0, 5, 10}, {5, 10, 5, 10},
	} {
		l, h := liftInterval(c[0], c[1], c[2], c[3], 1)
		for _, among := range []int{1, 20, 1000} {
			ll, hh := jointLiftInterval(c[0], c[1], c[2], c[3], 1, among)
			if !(ll <= l+1e-9 && hh >= h-1e-9) {
				t.Errorf("%v among %d: [%v, %v] inside [%v, %v]", c, among, ll, hh, l, h)
			}
			l, h = ll, hh
		}
	}
	if low, _ := jointLiftInterval(3, 4, 96, 800, 1, 20); low > 1 {
		t.Errorf("three of four records make the lift %v for sure", low)
	}
	if low, high := jointLiftInterval(0, 3, 0, 10, 1, 1); low == low || high == high {
		t.Errorf("without the class [%v, %v]", low, high)
	}
}

// TestClustering: where the class comes in long runs, the profile too, and both do so independently, next to no list
// confirms anything; taken as independent records most do.
func TestClustering(t *testing.T) {
	confirmed, naive := 0, 0
	const runs = 40
	for seed := range uint64(runs) {
		s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
		for i := range 6 {
			s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("r", i), Kind: model.Nominal})
		}
		rows := make([][]string, 4000)
		for i := range rows {
			for f := range uint64(6) { // levels that come in stretches of 100 to 150 records, with some of the others among them
				k := model.Hash(seed, f, uint64(i)/(100+10*f)) % 4
				if model.Hash(seed, f, uint64(i), 1)%4 == 0 {
					k = model.Hash(seed, f, uint64(i), 2) % 4
				}
				rows[i] = append(rows[i], fmt.Sprint(k))
			}
			y := "no"
			if model.Hash(seed, 77, uint64(i))%100 < 5+30*(model.Hash(seed, 78, uint64(i)/120)%2) {
				y = "yes"
			}
			rows[i] = append(rows[i], y)
		}
		o := honestOptions
		o.Profiles.Of = []int32{1}
		some, plain := false, false
		for _, p := range profilesOf(t, evidenceOf(s, rows), o) {
			some = some || p.Confirmed()
			v := p.Validation
			v.Effective = v.NX
			plain = plain || v.fisher()*float64(p.Among) <= MaxQ
		}
		if some {
			confirmed++
		}
		if plain {
			naive++
		}
	}
	t.Logf("%d of %d lists confirm something, %d when records count as independent", confirmed, runs, naive)
	if naive < runs/5 {
		t.Error("the test needs runs that mislead")
	}
	if !withinAFew(float64(confirmed)/runs, runs, .05) {
		t.Errorf("%d of %d lists confirm something", confirmed, runs)
	}
}
