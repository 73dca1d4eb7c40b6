package propensity

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestARecordWithoutATimeIsOfNow: under half-lives in durations a record without a time counts as one of the newest
// time that was learnt.
func TestARecordWithoutATimeIsOfNow(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 600, 4)
	o := Default()
	o.HalfLives = []model.HalfLife{{Duration: 20e9}, {Duration: 300e9}, {}}
	f := New(o, schema)
	part, err := f.Fit(t.Context(), modeltest.Evidence(schema, l, ex[:300]), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	learn := func(time func(newest int64) int64) *Scorecard {
		s := f.New(l).(*Scorecard)
		if err := s.Rebase(&model.Rebase{Part: part, Clock: 300}); err != nil {
			t.Fatal(err)
		}
		for i := 300; i < 600; i++ {
			x := ex[i]
			x.Clock, x.Time = float64(i), int64(i)*1e9
			if i%7 == 0 {
				x.Time = time(int64(i-1) * 1e9)
			}
			s.LearnScored(&x, nil, nil)
		}
		return s
	}
	none := learn(func(int64) int64 { return 0 })
	now := learn(func(newest int64) int64 { return newest })
	old := learn(func(newest int64) int64 { return newest - 100e9 })
	if !bytes.Equal(none.AppendState(nil), now.AppendState(nil)) {
		t.Error("records without a time and of the newest time are learnt differently")
	}
	if bytes.Equal(old.AppendState(nil), now.AppendState(nil)) {
		t.Error("older records are learnt like new ones: the test says nothing")
	}
}

// forgetful is a cluster whose calibration forgets fast, so that its weights have grown beyond their bound after a few
// hundred records.
func forgetful(t *testing.T, l *model.Levels, n int) *cluster {
	schema := schemas()["two"]
	c := newCluster(t, schema, l, n)
	o := Default()
	o.Calibration.HalfLife = 10
	c.f = factory{newPlanOf(o, schema, uncorrected())} // recent residuals are the partition's own
	for p := range c.live {
		c.live[p] = c.f.New(l).(*Scorecard)
	}
	return c
}

// TestGrownWeightsOfTheCalibrationAreExchanged: a partition whose calibration was rescaled since the last model takes
// the next one like a partition that begins with it.
func TestGrownWeightsOfTheCalibrationAreExchanged(t *testing.T) {
	l, ex := modeltest.Generate(schemas()["two"], 1600, 3)
	c := forgetful(t, l, 2)
	at := 0
	feed := func(n int) {
		for range n {
			c.learn(at%2, ex[at])
			at++
		}
	}
	rescaled := false
	for round, n := range []int{300, 100, 500, 500} { // 400 records of a partition are 40 half-lives
		grown := c.live[0].cal.weight
		feed(n)
		rescaled = rescaled || c.live[0].cal.weight < grown
		c.fit()
		for p, s := range c.live {
			begun := c.f.New(l).(*Scorecard)
			if err := begun.Rebase(&model.Rebase{Part: c.part, Self: int32(p), Clock: float64(len(c.seen[p]))}); err != nil {
				t.Fatal(err)
			}
			a, b := make([]float64, 2), make([]float64, 2)
			worst := 0.
			for i := range ex {
				s.Score(ex[i].Row, nil, nil, a)
				begun.Score(ex[i].Row, nil, nil, b)
				worst = max(worst, math.Abs(a[1]-b[1]))
			}
			if worst > 1e-9 {
				t.Errorf("round %d: partition %d is %.3g from one that begins with the model", round, p, worst)
			}
		}
	}
	if !rescaled {
		t.Error("nothing was rescaled: the test says nothing")
	}
}

// TestTheOthersHaveOneSayInTheMixture, however many they are: it is the mean of their log-shares.
func TestTheOthersHaveOneSayInTheMixture(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 1800, 5)
	for n := 2; n <= 4; n++ {
		c := newCluster(t, schema, l, n)
		for i := range ex {
			c.learn(i%n, ex[i])
			if i == 600 {
				c.fit()
			}
		}
		c.fit()
		for p, s := range c.live {
			for e := range s.mix.own {
				want := 0.
				for q, other := range c.live {
					if q != p {
						want += math.Log(other.mix.own[e]) / float64(n-1)
					}
				}
				if math.Abs(s.mix.away[e]-want) > 1e-9 {
					t.Errorf("partition %d of %d: the others' log-share of expert %d is %v, want %v", p, n, e, s.mix.away[e], want)
				}
			}
		}
	}
}

// TestMomentsAreThoseOfTheNewUnits: converted sums are those of the values as the new axis has them.
func TestMomentsAreThoseOfTheNewUnits(t *testing.T) {
	values, weights := []float64{-3, 0, 1.5, 40, 7}, []float64{1, 2, .5, 3, 1}
	sums := func(a *axis) (m [3]float64) {
		for i, v := range values {
			z := (v - a.center) / a.scale
			m[0], m[1], m[2] = m[0]+weights[i], m[1]+weights[i]*z, m[2]+weights[i]*z*z
		}
		return m
	}
	from := axis{center: 5, scale: 2}
	for _, to := range []axis{from, {center: 5, scale: 8}, {center: -20, scale: 2}, {center: 12.5, scale: .25}} {
		got, want := sums(&from), sums(&to)
		convert(got[:], &from, &to)
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-9*(1+math.Abs(want[k])) {
				t.Errorf("from center %v and scale %v to %v and %v: sums %v, want %v",
					from.center, from.scale, to.center, to.scale, got, want)
				break
			}
		}
	}
}

// TestTheOthersTellOfLevelsWithACellAlone: of more levels than there are cells, the contribution of the other
// partitions has those that have a cell here, after the first model and after a later one.
func TestTheOthersTellOfLevelsWithACellAlone(t *testing.T) {
	s, ex := crowd(4000, 26, true, beyondCode)
	c := newCluster(t, s, model.NewLevels(s), 2)
	for n, x := range ex {
		c.learn(n%2, x)
		if n != 2999 && n != len(ex)-1 {
			continue
		}
		c.fit()
		for p, live := range c.live {
			here, others, without := live.cur.feat[1].further, live.away.feat[1].further, 0
			for _, x := range c.seen[1-p] {
				if level := live.features[1].beyond(live.levels, x.Row[1]); level != 0 && here.find(level) < 0 {
					without++
					if others.find(level) >= 0 {
						t.Fatalf("%d records, partition %d: level %d has no cell but counts among the others", n+1, p, level)
					}
				}
			}
			if without == 0 {
				t.Fatalf("%d records, partition %d: all levels have a cell: the test says nothing", n+1, p)
			}
		}
	}
}

// TestOthersAddToALevelOnceItHasACell: a level of the others that finds no cell here is no part of their contribution.
// When it has one later, they add to it, and take nothing out first. A level that they have no more leaves its cell.
func TestOthersAddToALevelOnceItHasACell(t *testing.T) {
	p := newPlan(Default(), manyLevels(1, 2))
	sets, one := uint32(p.further/furtherWays), ones(len(p.half))
	of := func(v float64) []float64 { return slices.Repeat([]float64{v}, len(p.half)*p.classes) }
	var own cellTable
	for i := range uint32(furtherWays) {
		own.addLevel(&p.layout, 5+i*sets, of(float64(10+i)), one)
	}
	weak := 5 + 100*sets
	others := func() *cellTable {
		var x cellTable
		x.addLevel(&p.layout, weak, of(3), one)
		x.addLevel(&p.layout, 5, of(2), one)
		return &x
	}
	add := others()
	add.addLevel(&p.layout, 7, of(4), one) // the others have it now, and not later
	own.exchangeFurther(&p.layout, add, nil)
	if got := own.further.counts(7); !slices.Equal(got, of(4)) {
		t.Errorf("a level of the others alone counts %v", got)
	}
	if own.further.find(weak) >= 0 || add.further.find(weak) >= 0 || add.further.find(5) < 0 {
		t.Errorf("a level without a cell is in cell %d here and %d of the others", own.further.find(weak),
			add.further.find(weak))
	}
	cell, lost := own.take(&p.layout, weak)
	addFloats(own.further.at(cell), of(1), 1)
	if lost != 5+sets {
		t.Errorf("level %d loses its cell, not the weakest one", lost)
	}
	own.exchangeFurther(&p.layout, others(), add.further)
	if own.further.find(7) >= 0 {
		t.Error("a level that nobody has any more keeps its cell")
	}
	for level, want := range map[uint32]float64{weak: 1 + 3, 5: 10 + 2, 5 + 2*sets: 12} {
		if got := own.further.counts(level); !slices.Equal(got, of(want)) {
			t.Errorf("level %d counts %v, want %v of each", level, got, want)
		}
	}
}
