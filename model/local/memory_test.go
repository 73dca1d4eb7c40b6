package local

import (
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestHalfLifeOfTime compares histograms that forget by time with sums over all records of 2^((t - now) / half-life),
// taken anew: at steps of seconds and of years, from before 1970 on, with late records, retractions, and a merge of two
// partitions. Tolerance 1e-12 of the total weight.
func TestHalfLifeOfTime(t *testing.T) {
	a := axis{high: 1, bins: 4, scale: 1}
	for _, c := range []struct {
		name              string
		from, step        float64
		half              time.Duration
		partitions, later int
	}{
		{"seconds", 1.7e18, 1e9, 100 * time.Second, 1, 0},
		{"late records", 1.7e18, 1e9, 100 * time.Second, 2, 250},
		{"before 1970", -2e18, 3e15, 24 * time.Hour, 1, 0},
		{"through 1970", -2e17, 1e15, 50 * time.Hour, 2, 3},
		{"a gap of many half-lives", 1.7e18, 1e15, time.Second, 2, 0},
	} {
		forget := newMemory(model.HalfLife{Duration: c.half})
		parts := make([]*histogram, c.partitions)
		for i := range parts {
			parts[i] = newHistogram(&a, 2)
		}
		const n = 400
		when := func(i int) int64 { return int64(c.from + c.step*float64(i-c.later*(i%2))) }
		now := math.Inf(-1)
		for i := range n {
			v, y, g := float64(i%7)/6, int32(i%2), parts[i%c.partitions]
			g.add(&a, 2, v, y, 1+float64(i%3), forget.clock(0, when(i)), forget.half)
			if i%5 == 0 {
				g.add(&a, 2, v, y, -1-float64(i%3), forget.clock(0, when(i)), forget.half)
			}
			now = max(now, float64(when(i)))
		}
		all := newHistogram(&a, 2)
		for _, g := range parts {
			all.merge(g)
			all.merge(newHistogram(&a, 2)) // of a partition without a record
		}
		var want, squares [2]float64
		cells := make([]float64, len(all.n))
		for i := range n {
			if i%5 == 0 {
				continue
			}
			w := (1 + float64(i%3)) * math.Exp2((float64(when(i))-now)/float64(c.half))
			want[i%2] += w
			squares[i%2] += w * w
			bin, above := a.split(float64(i%7) / 6)
			cells[2*bin+i%2] += w * (1 - above)
			cells[2*bin+2+i%2] += w * above
		}
		scale := math.Exp2(now/float64(c.half) - all.base)
		limit := 1e-12 * (want[0] + want[1])
		// A time of 1.7e18 ns is known to 256 ns, so its half-lives to 256 ns / half-life.
		limit += (want[0] + want[1]) * 512 / float64(c.half)
		for y := range 2 {
			if got := all.total[y] / scale; !(math.Abs(got-want[y]) <= limit) {
				t.Errorf("%s: class %d weighs %v, want %v", c.name, y, got, want[y])
			}
			if got := all.squares[y] / scale / scale; !(math.Abs(got-squares[y]) <= 9*limit) {
				t.Errorf("%s: class %d has squares %v, want %v", c.name, y, got, squares[y])
			}
		}
		for i, w := range cells {
			if !(math.Abs(all.n[i]/scale-w) <= limit) {
				t.Errorf("%s: cell %d is %v, want %v", c.name, i, all.n[i]/scale, w)
			}
		}
	}
}

// TestMergeOfPartitionsInAnyOrder: counts of whole weights add to the same bytes in any order of the partitions, with
// half-lives by records and by time as well where the records of a partition are of one clock.
func TestMergeOfPartitionsInAnyOrder(t *testing.T) {
	a := axis{high: 1, bins: 16, scale: 1}
	for _, h := range []model.HalfLife{{}, {Records: 10}, {Duration: time.Hour}} {
		forget := newMemory(h)
		parts := make([]*histogram, 5)
		for p := range parts {
			parts[p] = newHistogram(&a, 3)
			for i := range 50 {
				clock := forget.clock(float64(10000+20*p), int64(time.Hour)*int64(1000+2*p))
				parts[p].add(&a, 3, float64(i%11)/10, int32(i%3), 1, clock, forget.half)
			}
		}
		var first []byte
		for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}} {
			all := newHistogram(&a, 3)
			for _, p := range order {
				all.merge(parts[p])
			}
			if b := all.appendBinary(nil, 3); first == nil {
				first = b
			} else if !slices.Equal(b, first) {
				t.Errorf("%+v: in the order %v the sum has other bytes", h, order)
			}
		}
	}
}

// TestCountsForgetByTime: with half-lives by time, the live counts of a component are those of half-lives by records
// where a record comes each second, and its share of a model too. Records of no known order do not fade.
func TestCountsForgetByTime(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 900, 7)
	for i := range ex {
		ex[i].Time += 1.7e18
	}
	of := func(h model.HalfLife, mixed bool) *Component {
		f := New(Options{Theta: .2, HalfLife: h}, s)
		ev := modeltest.Evidence(s, l, ex[:600])
		if ev.Exchangeable = mixed; mixed {
			clear(ev.Time)
		}
		part, err := f.Fit(t.Context(), ev, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := f.New(l).(*Component)
		if err := c.Rebase(&model.Rebase{Part: part}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	weight := func(c *Component, j int) float64 { return total(c.own[j].total) / math.Exp2(-c.own[j].base) }
	by, records := model.HalfLife{Duration: 50 * time.Second}, model.HalfLife{Records: 50}
	timed, counted := of(by, false), of(records, false)
	check := func(what string) {
		for j := range timed.own {
			for i, v := range timed.own[j].n {
				a, b := v/total(timed.own[j].total), counted.own[j].n[i]/total(counted.own[j].total)
				if math.Abs(a-b) > 1e-6 {
					t.Fatalf("%s: feature %d, cell %d holds %v of the weight, by records %v", what, j, i, a, b)
				}
			}
		}
	}
	check("the share of a fit")
	for i := range ex[600:] {
		timed.Learn(&ex[600+i])
		counted.Learn(&ex[600+i])
	}
	check("live")
	for _, h := range []model.HalfLife{by, records} {
		want := 0.0
		for i := range ex[:600] {
			want += ex[i].Weight
		}
		if got := weight(of(h, true), 0); got != want {
			t.Errorf("half-life %+v: records of no order weigh %v, want %v", h, got, want)
		}
	}
}

// TestPartitionsForgetByTheirOwnRecords: a partition of few records counts beside one of many as much as the records
// that it remembers, whose number does not depend on how many it has forgotten.
func TestPartitionsForgetByTheirOwnRecords(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "f", Kind: model.Nominal, Levels: []string{"a", "b"}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	var ex []model.Example
	var of []int32
	for p, n := range []int{400, 6000} {
		for i := range n {
			// In the small partition yes goes with "b", in the large one with "a".
			y := int32(i % 2)
			ex = append(ex, model.Example{Row: model.Row{float64((i + p) % 2)}, Class: y, Weight: 1, Clock: float64(i)})
			of = append(of, int32(p))
		}
	}
	f := New(Options{Theta: .2, Prototypes: 20, HalfLife: model.HalfLife{Records: 50}}, s)
	ev := evidenceOf(s, model.NewLevels(s), ex, func(i int) int32 { return of[i] })
	x := &fitter{options: f.options, schema: s, ev: ev, classes: 2}
	axes := x.axes(t.Context())
	shares, err := x.shares(axes)
	if err != nil {
		t.Fatal(err)
	}
	g := x.merged(axes, shares)[0]
	remembered := 1 / (1 - math.Exp2(-1./50)) // sum of 2^(-i/50)
	if got := total(g.total); math.Abs(got-2*remembered) > .5 {
		t.Errorf("the two partitions remember %v records, want %v", got, 2*remembered)
	}
	squares := 1 / (1 - math.Exp2(-2./50)) // of the weights
	if got := total(g.squares); math.Abs(got-2*squares) > .5 {
		t.Errorf("the squared weights sum to %v, want %v", got, 2*squares)
	}
	if share := g.n[1] / (g.n[0] + g.n[1]); math.Abs(share-.5) > .02 {
		t.Errorf("%v of the records with a are yes, want a half", share)
	}
}

// TestNoWildTimeMovesTheCounts: counts that a record of a wild time has moved are taken back when stream time begins,
// and the next records count.
func TestNoWildTimeMovesTheCounts(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 300, 7)
	f := New(Options{Theta: .2, HalfLife: model.HalfLife{Duration: time.Minute}}, s)
	part, err := f.Fit(t.Context(), modeltest.Evidence(s, l, ex[:200]), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(l).(*Component)
	if err := c.Rebase(&model.Rebase{Part: part, Self: 7}); err != nil {
		t.Fatal(err)
	}
	const now = int64(1.7e18)
	ex[200].Time = 4e18
	c.Learn(&ex[200])
	c.NotAfter(now)
	before := total(c.own[0].total)
	ex[201].Time = now
	c.Learn(&ex[201])
	if w := total(c.own[0].total) - before; !(w >= ex[201].Weight && w < 2*ex[201].Weight) {
		t.Errorf("a record of the time %d counts as %v", now, w)
	}
}
