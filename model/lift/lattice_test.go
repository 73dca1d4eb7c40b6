package lift

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// numbersEvidence generates n records of equal weight with features of several shapes: correlated, rounded so that ties
// are many, skewed, and shifted far from zero.
func numbersEvidence(n, features, classes int, weight float64) *model.Evidence {
	s := &model.Schema{Positive: -1}
	for range classes {
		s.Classes = append(s.Classes, string(rune('a'+len(s.Classes))))
	}
	for f := range features {
		s.Features = append(s.Features, model.Feature{Name: string(rune('A' + f))})
	}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, features)}
	h := uint64(1)
	uniform := func() float64 {
		h = h*6364136223846793005 + 1442695040888963407
		return float64(h>>11) / (1 << 53)
	}
	for i := range n {
		base := uniform() + uniform() + uniform()
		for f := range features {
			v := base*float64(f%3) + uniform()*2
			switch f % 5 {
			case 1:
				v = math.Round(v * 4)
			case 2:
				v = math.Exp(2*v) - 3
			case 3:
				v += 100
			}
			ev.Columns[f] = append(ev.Columns[f], v)
		}
		ev.Class = append(ev.Class, int32(min(int(base/3*float64(classes)), classes-1)))
		ev.Weight = append(ev.Weight, weight)
		ev.Clock = append(ev.Clock, float64(i))
		ev.Time = append(ev.Time, int64(i))
		ev.Partition = append(ev.Partition, 0)
	}
	return ev
}

// TestLatticeIsEachSetByItself: factor, cuts and counts are the same bits as of the set evaluated alone.
func TestLatticeIsEachSetByItself(t *testing.T) {
	for _, c := range []struct {
		n, features, classes, most, quantiles int
		weight                                float64
	}{
		{2500, 8, 3, 8, 5, 1}, {70001, 7, 2, 3, 5, 1}, {5000, 9, 7, 9, 3, .25},
		{4096, 3, 30, 2, 16, 1}, {140000, 3, 2, 2, 5, 1},
	} {
		ev := numbersEvidence(c.n, c.features, c.classes, c.weight)
		if c.features > 7 {
			ev.Columns[6] = slices.Clone(ev.Columns[0]) // equal features are singular together
			for i := range ev.Columns[7] {
				ev.Columns[7][i] = 5 // a constant one is so alone
			}
		}
		o := Options{Quantiles: c.quantiles}
		s := newSetSearch(newSample(ev), &o, nil)
		lattice, err := s.latticeOf(context.Background(), c.most)
		if err != nil {
			t.Fatal(err)
		}
		regular := 0.0
		if m := c.features; m > 7 {
			m-- // the constant feature spoils its sets, the equal pair every set with both
			for size := 2; size <= c.most; size++ {
				regular += binomial(m, size) - binomial(m-2, size-2)
			}
		} else {
			for size := 2; size <= c.most; size++ {
				regular += binomial(m, size)
			}
		}
		if got := float64(len(lattice)); got < .8*regular || got > regular {
			t.Errorf("%+v: %v sets, of %v regular ones", c, got, regular)
		}
		for _, l := range lattice {
			want, m := s.evaluate(l.features)
			got, gm := l.found(s)
			if !got.set.equal(want.set) {
				p := &want.set.parts[0]
				t.Fatalf("%+v: set %v: cuts %v factor %v, want %v and %v", c, l.features, l.cuts, l.factor, p.cuts, p.factor)
			}
			if !slices.Equal(gm.Count, m.Count) {
				t.Fatalf("%+v: set %v: counts %v, want %v", c, l.features, gm.Count, m.Count)
			}
			near(t, "effective", got.table.Effective(), want.table.Effective(), 1e-9)
		}
	}
}

// TestLatticeObeysContext: a cancelled search ends.
func TestLatticeObeysContext(t *testing.T) {
	ev := numbersEvidence(5000, 6, 2, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := Options{Quantiles: 5}
	if _, err := newSetSearch(newSample(ev), &o, nil).latticeOf(ctx, 6); err == nil {
		t.Error("no error")
	}
}

// BenchmarkCovertype is Fit over all 1,023 sets of ten features and 581,012 records, without profiles, with the paper's
// rankings and with those of the defaults.
func BenchmarkCovertype(b *testing.B) {
	ev := covtype(b)
	o := Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 10, Search: Exhaustive, Top: 1023},
		Windows: WindowOptions{Top: 10}}
	for name, o := range map[string]Options{"paper": o, "defaults": defaults(o)} {
		f := New(o, ev.Schema)
		b.Run(name, func(b *testing.B) {
			reportCPU(b, func() {
				if _, err := f.Fit(context.Background(), ev, nil); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
