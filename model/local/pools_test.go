package local

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/gp"
	"liftstream/model/modeltest"
)

// evidenceOf lays records out as a fit of several partitions sees them, record i in partition of(i).
func evidenceOf(s *model.Schema, l *model.Levels, ex []model.Example, of func(i int) int32) *model.Evidence {
	ev := modeltest.Evidence(s, l, ex)
	for i := range ev.Partition {
		ev.Partition[i] = of(i)
	}
	return ev
}

// fitPart fits, and decodes the part.
func fitPart(t *testing.T, o Options, s *model.Schema, ev *model.Evidence, previous []byte) (*Part, []byte) {
	t.Helper()
	b, err := New(o, s).Fit(t.Context(), ev, previous)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(s, b)
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

// TestPoolsObserveEachRecordOnce: a second fit appends the scores of the records since the first, of any number of
// partitions, and keeps those of the first bit by bit. A partition whose clock began anew is observed from its start.
func TestPoolsObserveEachRecordOnce(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 900, 7)
	o := Options{Theta: .2, Prototypes: 100, Pool: Pool{Bytes: 1 << 20}}
	one := func(int) int32 { return 0 }
	first, b := fitPart(t, o, s, evidenceOf(s, l, ex[:500], one), nil)
	second, _ := fitPart(t, o, s, evidenceOf(s, l, ex, one), b)
	if first.pools.clock != 500 || second.pools.clock != 900 || second.pools.marks[0] != 900 {
		t.Fatalf("clocks %v and %v, marks %v", first.pools.clock, second.pools.clock, second.pools.marks)
	}
	// The same records alone, in a pool that begins with them, and in three partitions.
	alone, _ := fitPart(t, o, s, evidenceOf(s, l, ex[500:], one), nil)
	apart, _ := fitPart(t, o, s, evidenceOf(s, l, ex[500:], func(i int) int32 { return int32(i % 3) }), nil)
	lost := slices.Clone(ex[500:])
	for i := range lost {
		lost[i].Clock = float64(i)
	}
	anew, _ := fitPart(t, o, s, evidenceOf(s, l, lost, one), b)
	none, _ := fitPart(t, o, s, evidenceOf(s, l, ex[:500], one), b)
	scores := func(p *Part, j int, clock float64) (out []gp.Dated) {
		for _, d := range p.pools.of[j].Observations() {
			if clock == 0 || d.Clock == clock {
				d.Clock = 0
				out = append(out, d)
			}
		}
		return out
	}
	compared := 0
	for j := range first.pools.of {
		if first.pools.of[j] == nil || !first.structure.features[j].same(&second.structure.features[j].axis) {
			continue
		}
		old, all := first.pools.of[j].Observations(), second.pools.of[j].Observations()
		if !slices.Equal(all[len(all)-len(old):], old) {
			t.Errorf("feature %d: the observations of the first fit have changed", j)
		}
		if got := scores(none, j, 0); !slices.Equal(got, scores(first, j, 0)) {
			t.Errorf("feature %d: without a new record there are %d observations of %d", j, len(got), len(old))
		}
		for name, p := range map[string]*Part{"alone": alone, "in three partitions": apart} {
			if !p.structure.features[j].same(&second.structure.features[j].axis) {
				continue
			}
			compared++
			if got, want := scores(second, j, 900), scores(p, j, 0); !slices.Equal(got, want) {
				t.Errorf("feature %d: %d new observations, of these records %s %d", j, len(got), name, len(want))
			}
		}
		if got, want := scores(anew, j, 900), scores(second, j, 900); !slices.Equal(got, want) {
			t.Errorf("feature %d: a partition that began anew has %d new observations, want %d", j, len(got), len(want))
		}
	}
	if compared == 0 {
		t.Fatal("no feature kept its axis: nothing is compared")
	}
}

// TestPoolsKeepWithinTheirBytes: the newest observations are kept, and a part is not larger than its bound allows.
func TestPoolsKeepWithinTheirBytes(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 600, 7)
	o := Options{Theta: .2, Prototypes: 50, Pool: Pool{Bytes: 6000}}
	var b []byte
	var p *Part
	for n := 200; n <= 600; n += 100 {
		p, b = fitPart(t, o, s, modeltest.Evidence(s, l, ex[:n]), b)
		kept := 0
		for j := range p.pools.of {
			if p.pools.of[j] == nil {
				continue
			}
			obs := p.pools.of[j].Observations()
			kept += len(obs)
			if len(obs) > 0 && obs[0].Clock != float64(n) {
				t.Errorf("after %d records the newest observation is of %v", n, obs[0].Clock)
			}
		}
		if kept*observationBytes > 6000 || kept == 0 {
			t.Errorf("after %d records %d observations are kept", n, kept)
		}
	}
}

// TestCorrectedScores: the hit form is the unbiased (sum P^2 - 1/n) / (1 - 1/n), 1e-12. Of drawn records of either form
// the mean is that of the score of the rates, and the mean of the stated variances is not below that of the scores, and
// not far above; the score without the correction is too high. 20,000 draws of 12 records: the standard errors are
// below .002 and 3 %.
func TestCorrectedScores(t *testing.T) {
	mass, counts := []float64{6, 3, 3}, []float64{60, 30, 30}
	two := .5*.5 + 2*.25*.25
	if got, want := Hit.corrected(mass, counts, 12), (two-1./12)/(1-1./12); math.Abs(got-want) > 1e-12 {
		t.Errorf("corrected %v, want %v", got, want)
	}
	for _, form := range []Score{Hit, Balanced} {
		for _, rates := range [][]float64{{.5, .5}, {.3, .7}, {.2, .3, .5}} {
			all := make([]float64, len(rates))
			for c := range rates {
				all[c] = 1000 / float64(len(rates))
			}
			truth := form.Location(rates, all)
			const draws, n = 20000, 12
			var sum, plain, square, variance float64
			for k := range draws {
				m := make([]float64, len(rates))
				for i := range n {
					u := float64(model.Hash(5, uint64(k), uint64(i))>>11) / (1 << 53)
					c := 0
					for u >= rates[c] && c < len(rates)-1 {
						u -= rates[c]
						c++
					}
					m[c]++
				}
				s := form.corrected(m, all, n)
				sum += s / draws
				square += s * s / draws
				plain += form.Location(m, all) / draws
				variance += (locationVariance(m, all, n) + secondOrder(m, all, n)) / draws
			}
			// The clamp to [0, 1] and the smoothing of the variance, which makes it larger, are felt at 12 records.
			if math.Abs(sum-truth) > .012 || plain-truth < .02 {
				t.Errorf("%v of %v: mean %v, want %v; uncorrected %v", form, rates, sum, truth, plain)
			}
			if v := square - sum*sum; !(variance > .8*v && variance < 2.2*v) {
				t.Errorf("%v of %v: stated variance %v, variance %v", form, rates, variance, v)
			}
		}
	}
}

// stream returns records of two continuous features, the first of which tells the class while tells(i) says so.
func stream(s *model.Schema, n int, tells func(i int) bool) (*model.Levels, []model.Example) {
	out := make([]model.Example, n)
	for i := range out {
		u := func(what uint64) float64 { return float64(model.Hash(3, uint64(i), what)>>11) / (1 << 53) }
		ex := &out[i]
		ex.Row, ex.Weight, ex.Clock, ex.Time = model.Row{u(1), u(2)}, 1, float64(i), int64(i+1)*int64(time.Second)
		p := .5
		if tells(i) && ex.Row[0] > .5 {
			p = .95
		} else if tells(i) {
			p = .05
		}
		if u(3) < p {
			ex.Class = 1
		}
	}
	return model.NewLevels(s), out
}

// TestPooledCurves: over twenty fits of 200 records each, the curve of a feature that tells is high where it does, and
// the curve of noise stays at the score of chance. Where the feature stops telling, observations that age forget it, by
// records and by time; observations that do not age remember it.
func TestPooledCurves(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "tells"}, {Name: "noise"}}, Classes: []string{"no", "yes"},
		Positive: 1}
	const n, each = 4000, 200
	for _, c := range []struct {
		name   string
		pool   Pool
		until  int     // the record up to which the feature tells
		at     float64 // score of the feature, and its tolerance
		within float64
	}{
		{"no pool", Pool{}, n, .9, .04},
		{"pool", Pool{Bytes: 1 << 20}, n, .9, .04},
		{"half-life of 600", Pool{Bytes: 1 << 20, HalfLife: model.HalfLife{Records: 600}}, n, .9, .05},
		{"half-life of 600, change", Pool{Bytes: 1 << 20, HalfLife: model.HalfLife{Records: 600}}, n / 2, .515, .04},
		{"ten minutes, change", Pool{Bytes: 1 << 20, HalfLife: model.HalfLife{Duration: 10 * time.Minute}}, n / 2, .515, .04},
		{"no age, change", Pool{Bytes: 1 << 20}, n / 2, .7, .06},
	} {
		l, ex := stream(s, n, func(i int) bool { return i < c.until })
		o := Options{Theta: .2, Prototypes: 20, Width: .05, Score: Hit, Pool: c.pool, Observations: 20}
		var b []byte
		var p *Part
		for k := each; k <= n; k += each {
			p, b = fitPart(t, o, s, modeltest.Evidence(s, l, ex[:k]), b)
		}
		told, noise := 0.0, 0.0
		for _, v := range []float64{.1, .2, .3, .7, .8, .9} {
			m, _, ok := p.structure.features[0].gaussian(v)
			e, _, there := p.structure.features[1].gaussian(v)
			if !ok || !there {
				t.Fatalf("%s: no curve at %v", c.name, v)
			}
			told += m / 6
			noise += e / 6
			if math.Abs(e-.5) > .03 {
				t.Errorf("%s: the curve of noise is %v at %v", c.name, e, v)
			}
		}
		t.Logf("%s: %.4f, noise %.4f", c.name, told, noise)
		if math.Abs(told-c.at) > c.within || math.Abs(noise-.5) > .01 {
			t.Errorf("%s: the feature scores %v, want %v; noise %v", c.name, told, c.at, noise)
		}
	}
}

// TestGoldenPools: a part with pools of an earlier build is read, and written as it was but for the number of its
// second format.
func TestGoldenPools(t *testing.T) {
	s := modeltest.Schema()
	_, part, _ := modeltest.ReadGolden(t, s, "testdata/format-64.gz")
	p, err := DecodePart(s, part)
	if err != nil {
		t.Fatal(err)
	}
	if p.pools == nil || p.pools.clock != 400 || p.pools.marks[0] != 400 || len(p.pools.of[0].Observations()) < 20 {
		t.Fatalf("pools %+v", p.pools)
	}
	if b := p.pools.appendBinary(nil); !bytes.HasPrefix(part, b) {
		t.Error("the pools are written otherwise: that is another format")
	}
}

// TestHostilePools: a part of pools cut short or changed gives an error or another part, never a panic; numbers that no
// observation has are refused.
func TestHostilePools(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 300, 7)
	o := Options{Theta: .2, Prototypes: 20, Pool: Pool{Bytes: 4000}}
	p, b := fitPart(t, o, s, modeltest.Evidence(s, l, ex), nil)
	if !bytes.Equal(p.appendBinary(nil), b) {
		t.Error("a part with pools reads back as other bytes")
	}
	for i := range min(len(b), 5000) {
		if _, err := DecodePart(s, b[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes are a part", i, len(b))
		}
		c := slices.Clone(b)
		c[i] ^= byte(1 + model.Hash(1, uint64(i))%255)
		if q, err := DecodePart(s, c); err == nil {
			if _, err := New(o, s).Fit(t.Context(), modeltest.Evidence(s, l, ex[:50]), q.appendBinary(nil)); err != nil {
				t.Logf("byte %d: %v", i, err)
			}
		}
		if i > 400 {
			break
		}
	}
	for name, change := range map[string]func(x *pools){
		"a clock that is no number":   func(x *pools) { x.clock = math.NaN() },
		"a mark without an end":       func(x *pools) { x.marks[0] = math.Inf(1) },
		"a pool of a nominal feature": func(x *pools) { x.of[2] = gp.NewPool(0, 1) },
		"a pool of a report":          func(x *pools) { x.of[8] = gp.NewPool(0, 1) },
	} {
		q := *p
		x := *p.pools
		x.marks, x.of = map[int32]float64{0: 1}, slices.Clone(x.of)
		change(&x)
		q.pools = &x
		if _, err := DecodePart(s, q.appendBinary(nil)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
