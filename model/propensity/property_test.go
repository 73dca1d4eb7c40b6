package propensity

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

func TestLn(t *testing.T) {
	for i := range 20000 {
		x := math.Exp(float64(i)/20 - 500)
		if want := math.Log(x); math.Abs(ln(x)-want) > 2e-15*max(1, math.Abs(want)) {
			t.Fatalf("ln(%v) = %v, want %v", x, ln(x), want)
		}
		x = 1 + float64(i-10000)/1e5
		if want := math.Log(x); math.Abs(ln(x)-want) > 1e-15 {
			t.Fatalf("ln(%v) = %v, want %v", x, ln(x), want)
		}
	}
	if ln(0) != math.Inf(-1) || ln(5e-324) != math.Log(5e-324) || !math.IsNaN(ln(math.NaN())) {
		t.Error("ln of zero, a subnormal or NaN")
	}
}

// trained returns a scorecard of the schema that has learnt n generated records, and the records.
func trained(t testing.TB, s *model.Schema, n int, opt Options) (*Scorecard, []model.Example) {
	t.Helper()
	l, ex := modeltest.Generate(s, n, 7)
	f := New(opt, s)
	part, err := f.Fit(context.Background(), modeltest.Evidence(s, l, ex), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(l).(*Scorecard)
	if err := c.Rebase(&model.Rebase{Part: part, Clock: float64(n)}); err != nil {
		t.Fatal(err)
	}
	return c, ex
}

// check scores a row and fails unless the propensities are sound and explained.
func check(t *testing.T, what string, s *Scorecard, row model.Row, inputs []float64) []float64 {
	t.Helper()
	p, pending := make([]float64, s.classes), make([]float64, s.PendingLen())
	s.Score(row, inputs, pending, p)
	sum := 0.
	for _, v := range p {
		if !(v > 0 && v < 1) {
			t.Fatalf("%s: propensities %v", what, p)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Fatalf("%s: propensities sum to %v", what, sum)
	}
	for y := range p {
		effect := 0.
		reasons := s.Effects(row, pending, int32(y), nil)
		for _, r := range reasons {
			effect += r.Effect
		}
		if want := math.Log(p[y] / (1 - p[y])); !(math.Abs(effect-want) <= 1e-9) {
			t.Fatalf("%s: contributions to class %d sum to %v, the log-odds are %v", what, y, effect, want)
		}
	}
	return p
}

// TestOddRecords scores and learns records that no sane source would send.
func TestOddRecords(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			s, ex := trained(t, schema, 300, Default())
			fill := func(v float64) model.Row {
				r := make(model.Row, len(schema.Features))
				for f := range r {
					r[f] = v
				}
				return r
			}
			rows := map[string]model.Row{
				"missing": fill(math.NaN()), "infinite": fill(math.Inf(1)), "minus infinite": fill(math.Inf(-1)),
				"huge": fill(math.MaxFloat64), "minus huge": fill(-math.MaxFloat64), "tiny": fill(5e-324), "zero": fill(0),
				"unseen": fill(3000), "other": fill(model.MaxLevels), "negative": fill(-1),
			}
			clock := float64(len(ex))
			for _, weight := range []float64{1, 0, 1e-300, 17, 1e300} {
				for _, what := range []string{"missing", "infinite", "minus infinite", "huge", "minus huge", "tiny", "zero",
					"unseen", "other", "negative"} {
					row := rows[what]
					check(t, what, s, row, nil)
					before := s.AppendState(nil)
					e := model.Example{Row: row, Class: int32(len(what) % s.classes), Weight: weight, Clock: clock,
						Time: int64(clock) * 1e9}
					s.LearnScored(&e, nil, nil)
					if weight == 0 {
						if !bytes.Equal(before, s.AppendState(nil)) {
							t.Fatalf("%s: a record of weight 0 changes the state", what)
						}
						continue
					}
					clock++
					check(t, what, s, row, nil)
					check(t, what, s, ex[0].Row, nil)
				}
			}
			d := newScorecard(s.plan)
			if err := d.LoadState(s.AppendState(nil)); err != nil {
				t.Errorf("its own state: %v", err)
			}
		})
	}
}

// TestOneClass: thousands of records of one class only, constants only, then the other class.
func TestOneClass(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			s, ex := trained(t, schema, 200, Default())
			n := 6000
			if s.bound {
				n = 1500
			}
			for i := range n {
				e := ex[0]
				e.Clock = float64(200 + i)
				if i == n-1 {
					e.Class = int32(s.classes - 1)
				} else {
					e.Class = 0
				}
				s.LearnScored(&e, nil, nil)
				if i%500 == 0 || i > n-10 {
					check(t, fmt.Sprint(i), s, e.Row, nil)
				}
			}
			p := check(t, "after", s, ex[0].Row, nil)
			if p[0] < .9 {
				t.Errorf("propensity %v after %d records of one class", p[0], n-1)
			}
		})
	}
}

// TestUntrained: without a structure scores are the base rates.
func TestUntrained(t *testing.T) {
	s := newScorecard(newPlan(Default(), modeltest.Schema()))
	_, ex := modeltest.Generate(modeltest.Schema(), 50, 1)
	p := check(t, "empty", s, ex[0].Row, nil)
	if p[0] != 1./3 {
		t.Errorf("base rate %v of nothing", p[0])
	}
	var n, total, square float64
	for i := range ex {
		s.LearnScored(&ex[i], nil, nil)
		if ex[i].Class == 0 {
			n += ex[i].Weight
		}
		total += ex[i].Weight
		square += ex[i].Weight * ex[i].Weight
	}
	n, total = n+square/total, total+3*square/total // a pseudo-record of each class
	if got := check(t, "counted", s, ex[0].Row, nil)[0]; math.Abs(got-n/total) > 1e-12 {
		t.Errorf("base rate %v, want %v", got, n/total)
	}
}

// TestDurations: half-lives in time decay by record time, and gaps of years do no harm.
func TestDurations(t *testing.T) {
	opt := Default()
	opt.HalfLives = []model.HalfLife{{Duration: 60e9}, {Records: 50}, {Duration: 3600e9}}
	schema := modeltest.Schema()
	s, ex := trained(t, schema, 400, opt)
	if s.forever != 3 || s.horizons != 3 {
		t.Fatalf("%d horizons, never forgetting is number %d", s.horizons, s.forever)
	}
	for i, gap := range []int64{1e9, 3600e9, 1e9, 20 * 365 * 86400e9, 1e9, -86400e9, 1e9} {
		e := ex[i]
		e.Clock, e.Time = s.clock.records, s.clock.time+gap
		s.LearnScored(&e, nil, nil)
		check(t, fmt.Sprint(gap), s, ex[10].Row, nil)
	}
	// One minute of silence halves the weight of the records before.
	a, b := s.clock.now[1], 0.
	for h := range s.half {
		if s.half[h].Duration == 60e9 {
			a = s.clock.weight(h, s.half[h], 0, s.clock.time)
			b = s.clock.weight(h, s.half[h], 0, s.clock.time-60e9)
		}
	}
	if math.Abs(a/b-2) > 1e-12 {
		t.Errorf("a minute makes a factor of %v", a/b)
	}
}

// TestRetract: counts, and with them log-lifts, come back; weights do not move.
func TestRetract(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			s, ex := trained(t, schema, 600, Default())
			before := s.cur.clone()
			rate := s.BaseRate(0)
			for i := range 50 {
				e := ex[i]
				e.Clock = float64(600 + i)
				s.Learn(&e)
			}
			if s.BaseRate(0) == rate {
				t.Fatal("Learn changes nothing")
			}
			for i := range 50 {
				e := ex[i]
				e.Clock = float64(600 + i)
				s.Retract(&e)
			}
			near := func(what string, got, want []float64) {
				t.Helper()
				for i := range want {
					// Rescaling may have moved both by one factor; the test is the never-forgetting horizon and
					// ratios, which the next lines take from class counts.
					if math.Abs(got[i]-want[i]) > 1e-12*max(1, math.Abs(want[i]))*1e3 {
						t.Fatalf("%s: %v at %d, want %v", what, got[i], i, want[i])
					}
				}
			}
			n := s.forever * s.classes
			near("classes", s.cur.class[n:n+s.classes], before.class[n:n+s.classes])
			for f := range before.feat {
				C := len(s.half) * s.classes
				for c := 0; c < len(before.feat[f].count)/C; c++ {
					near("cells", s.cur.feat[f].count[c*C+n:c*C+n+s.classes], before.feat[f].count[c*C+n:c*C+n+s.classes])
				}
				if !slices.Equal(before.feat[f].pair, s.cur.feat[f].pair[:len(before.feat[f].pair)]) {
					t.Fatal("weights moved")
				}
			}
			near("moments", s.cur.mom, before.mom)
		})
	}
}

// TestInputs: inputs of other components carry weight once they tell something, and are explained under their term.
func TestInputs(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			opt := Default()
			opt.Blocks = []Block{{Name: "lift", Inputs: 3, Fitted: true}, {Name: "local", Inputs: 1}}
			s, ex := trained(t, schema, 600, opt)
			s.SetBlocks([]int{2, 1})
			plain, _ := trained(t, schema, 600, Default())
			inputs := make([]float64, 3*s.classes)
			at := func(e *model.Example) {
				clear(inputs)
				inputs[2*s.classes+int(e.Class)] = 1 // the local input knows the class
			}
			at(&ex[0])
			if a, b := check(t, "silent", s, ex[0].Row, inputs), check(t, "plain", plain, ex[0].Row, nil); !slices.Equal(a, b) {
				t.Errorf("inputs change scores before they have proved anything: %v, %v", a, b)
			}
			for i := range ex {
				e := ex[i]
				e.Clock = float64(600 + i)
				at(&e)
				inputs[0] = math.NaN()
				inputs[s.classes] = math.Inf(1)
				s.LearnScored(&e, inputs, nil)
			}
			at(&ex[0])
			pending, p := make([]float64, s.PendingLen()), make([]float64, s.classes)
			s.Score(ex[0].Row, inputs, pending, p)
			check(t, "informed", s, ex[0].Row, inputs)
			effect := map[int32]float64{}
			for _, r := range s.Effects(ex[0].Row, pending, ex[0].Class, nil) {
				if _, twice := effect[r.Feature]; twice {
					t.Errorf("feature or term %d twice", r.Feature)
				}
				effect[r.Feature] = r.Effect
			}
			if effect[model.TermOf(1)] < .5 {
				t.Errorf("an input that knows the class has an effect of %v", effect[model.TermOf(1)])
			}
			if _, ok := effect[model.TermOf(0)]; !ok {
				t.Error("no term for the sets")
			}
		})
	}
}

// TestReasons: with one horizon the lift of a reason is that of the record's cell over it, and n the number that its
// records are worth.
func TestReasons(t *testing.T) {
	schema := schemas()["two"]
	opt := Default()
	opt.HalfLives = []model.HalfLife{{}}
	s, ex := trained(t, schema, 500, opt)
	s.told = 0  // lifts are shown, however little is known of them
	const f = 5 // nominal with fixed levels
	row := ex[slices.IndexFunc(ex, func(e model.Example) bool { return e.Row[f] == 1 })].Row
	var n, y, cell, both, square float64
	for i := range ex {
		n += ex[i].Weight
		square += ex[i].Weight * ex[i].Weight
		same := ex[i].Row[f] == row[f]
		if same {
			cell += ex[i].Weight
		}
		if ex[i].Class == 1 {
			y += ex[i].Weight
			if same {
				both += ex[i].Weight
			}
		}
	}
	pending, p := make([]float64, s.PendingLen()), make([]float64, 2)
	s.Score(row, nil, pending, p)
	reasons := explain(s, row, pending, 1, nil)
	k := slices.IndexFunc(reasons, func(r model.Reason) bool { return r.Feature == f })
	// The base rate has a pseudo-record of each class and the floor, the cell the prior's of the base rate.
	u := square / n
	base := (y + (1+s.rateFloor)*u) / (n + 2*(1+s.rateFloor)*u)
	rate := (both + s.opt.Prior*u*base) / (cell + s.opt.Prior*u)
	if got, want := reasons[k].Lift, rate/base; !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("lift %v, want %v", got, want)
	}
	if other := explain(s, row, pending, 0, nil); !(math.Abs(other[k].Lift-(1-rate)/(1-base)) <= 1e-9) {
		t.Errorf("lift %v of the other class, want %v", other[k].Lift, (1-rate)/(1-base))
	}
	if want := cell * n / square; !(math.Abs(reasons[k].N-want) <= 1e-9) {
		t.Errorf("%v records, want %v", reasons[k].N, want)
	}
	if reasons[k].Value != row[f] {
		t.Errorf("value %v, want %v", reasons[k].Value, row[f])
	}
	if slices.ContainsFunc(reasons, func(r model.Reason) bool { return r.Feature == 8 }) {
		t.Error("a feature that is for reports only has a reason")
	}
}

// TestMonotone sweeps each bound feature with the others held and wants the propensity of the positive class to move
// one way, at several moments of a stream.
func TestMonotone(t *testing.T) {
	for _, name := range []string{"two monotone", "turned monotone", "many monotone"} {
		t.Run(name, func(t *testing.T) {
			schema := schemas()[name]
			s, ex := trained(t, schema, 800, Default())
			p := make([]float64, s.classes)
			moved := 0
			sweep := func(f int, rise float64, values []float64) {
				for i := 0; i < len(ex); i += 197 {
					row := slices.Clone(ex[i].Row)
					last := math.Inf(-1)
					first := math.NaN()
					for _, v := range values {
						row[f] = v
						s.Score(row, nil, nil, p)
						q := rise * p[schema.Positive]
						if q < last-1e-12 {
							t.Fatalf("feature %d at %v: propensity %v after %v", f, v, q, last)
						}
						last = q
						if math.IsNaN(first) {
							first = q
						}
					}
					if last > first+1e-6 {
						moved++
					}
				}
			}
			var line []float64
			for v := -6.; v <= 9; v += .07 {
				line = append(line, v)
			}
			line = append(append(line, s.axes[0].edges...), s.axes[1].edges...)
			line = append(line, -1e9, 1e9)
			slices.Sort(line)
			auto := float64(s.axes[1].rise)
			if name == "turned monotone" {
				auto = -auto
			}
			for round := range 4 {
				sweep(0, 1, line)
				sweep(1, auto, line)
				sweep(3, -1, line)
				sweep(4, 1, []float64{0, 1, 2})
				for i := range 150 {
					e := ex[(round*150+i)%len(ex)]
					e.Clock = s.clock.records
					s.LearnScored(&e, nil, nil)
				}
			}
			if moved == 0 {
				t.Error("no propensity moves at all")
			}
		})
	}
}

// TestSmooth: propensities do not jump at the cuts of a smooth axis.
func TestSmooth(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		s, ex := trained(t, schemas()[name], 900, Default())
		smooth := 0
		for i := range s.features {
			f := &s.features[i]
			if s.near[i] == nil {
				continue
			}
			smooth++
			jumps := 0.
			for k, e := range s.axes[i].edges {
				if s.axes[i].at[k] != s.axes[i].gap[k] {
					continue
				}
				row := slices.Clone(ex[k].Row)
				row[f.index] = e
				a := check(t, name, s, row, nil)
				row[f.index] = math.Nextafter(e, math.Inf(1))
				b := check(t, name, s, row, nil)
				row[f.index] = e + .3
				c := check(t, name, s, row, nil)
				if math.Abs(a[0]-b[0]) > 1e-9 {
					t.Errorf("%s: feature %d jumps from %v to %v at %v", name, f.index, a[0], b[0], e)
				}
				jumps += math.Abs(c[0] - a[0])
			}
			if jumps == 0 {
				t.Errorf("%s: feature %d moves nothing", name, f.index)
			}
		}
		if smooth == 0 {
			t.Errorf("%s: no axis is smooth", name)
		}
	}
}
