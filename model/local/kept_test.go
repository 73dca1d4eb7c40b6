package local

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// lived returns a component that has learnt on after its fit, with counts that fade, values that are missing and text
// beside the levels.
func lived(t *testing.T) (*Component, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 700, 7)
	for i := range ex {
		if i%6 == 1 {
			ex[i].Row[4] = float64(len(s.Features[4].Levels))
		}
		ex[i].Clock += 12000 // 300 half-lives
		if ex[i].Class == 1 {
			ex[i].Row[0], ex[i].Row[6] = math.NaN(), math.NaN() // that it is missing tells the class
		}
	}
	o := Options{Theta: Auto, HalfLife: model.HalfLife{Records: 40}, Prototypes: 200}
	c := fit(t, o, s, modeltest.Evidence(s, l, ex[:500]))
	for i := range ex[500:] {
		c.Learn(&ex[500+i])
	}
	x := c.structure
	if x.features[0].missing == 0 || c.own[0].base == 0 || total(c.own[0].missing) == 0 || len(x.trials) == 0 ||
		slices.Max(x.prototypes.beside) == 0 || len(x.rho.features) < 3 || x.useless == 0 || x.theta == 0 {
		t.Fatalf("a part of the state holds nothing: missing %v, base %v, trials %d, useless %v, theta %v",
			x.features[0].missing, c.own[0].base, len(x.trials), x.useless, x.theta)
	}
	return c, ex
}

func sameComponent(t *testing.T, what string, got, want *Component) {
	t.Helper()
	for j := range want.own {
		if !reflect.DeepEqual(got.own[j], want.own[j]) {
			t.Errorf("%s: counts of feature %d: %v, want %v", what, j, *got.own[j], *want.own[j])
		}
		if !reflect.DeepEqual(got.structure.features[j], want.structure.features[j]) {
			t.Errorf("%s: feature %d: %+v, want %+v", what, j, got.structure.features[j], want.structure.features[j])
		}
	}
	x, y := got.structure, want.structure
	for name, same := range map[string]bool{"correlations": reflect.DeepEqual(x.rho, y.rho),
		"prototypes": reflect.DeepEqual(x.prototypes, y.prototypes), "trials": slices.Equal(x.trials, y.trials),
		"anything else": reflect.DeepEqual(x, y)} {
		if !same {
			t.Errorf("%s: %s: another structure", what, name)
		}
	}
}

// TestNothingOfAStateIsLost: structure and counts are the same after they were stored and read, and carried over to the
// same schema, or to another one and back.
func TestNothingOfAStateIsLost(t *testing.T) {
	c, _ := lived(t)
	b := c.AppendState(nil)
	again := &Component{schema: c.schema}
	if err := again.LoadState(b); err != nil {
		t.Fatal(err)
	}
	sameComponent(t, "stored and read", again, c)
	if !bytes.Equal(again.AppendState(nil), b) {
		t.Error("read and stored again the bytes are others")
	}
	wide := *c.schema
	wide.Features = slices.Clone(c.schema.Features)
	slices.Reverse(wide.Features)
	wide.Features = append([]model.Feature{{Name: "new"}, {Name: "newer", Kind: model.Nominal}}, wide.Features...)
	for what, to := range map[string]*model.Schema{"the same schema": c.schema, "another schema and back": &wide} {
		moved := c
		for _, s := range []*model.Schema{to, c.schema} {
			moved, _ = carried(t, moved, s)
		}
		sameComponent(t, "carried over to "+what, moved, c)
	}
	// A part likewise.
	part := (&Part{structure: c.structure, shares: []share{{-3, c.own}, {8, c.own}}}).appendBinary(nil)
	p, err := DecodePart(c.schema, part)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.shares) != 2 || p.shares[0].partition != -3 || p.shares[1].partition != 8 ||
		!reflect.DeepEqual(p.shares[1].counts, c.own) || !bytes.Equal(p.appendBinary(nil), part) {
		t.Errorf("%d shares", len(p.shares))
	}
}

// TestACopyOfCountsIsItsOwn: learning into a copy leaves the original as it was.
func TestACopyOfCountsIsItsOwn(t *testing.T) {
	c, ex := lived(t)
	for j := range c.own {
		a := &c.structure.features[j].axis
		g := c.own[j]
		want := histogram{slices.Clone(g.n), slices.Clone(g.missing), slices.Clone(g.total), slices.Clone(g.squares), g.base}
		n := c.own[j].clone()
		for i := range ex {
			n.add(a, 3, ex[i].Row[j], ex[i].Class, 5, ex[i].Clock, 40)
			n.add(a, 3, math.NaN(), ex[i].Class, 5, ex[i].Clock, 40)
		}
		o := newHistogram(a, 3)
		o.merge(c.own[j])
		o.add(a, 3, ex[3].Row[j], 1, 5, 600, 40)
		if !reflect.DeepEqual(*c.own[j], want) {
			t.Errorf("feature %d: %v, was %v", j, *c.own[j], want)
		}
	}
}

// TestCountsAreThoseOfTheRecordsAtEveryStep: counts, missing values and squares of fading weights are sums over the
// records, also right after weights were scaled back.
func TestCountsAreThoseOfTheRecordsAtEveryStep(t *testing.T) {
	a := axis{high: 4, bins: 5, scale: 4}
	g := newHistogram(&a, 2)
	const half = 2.
	type record struct {
		v      float64
		y      int32
		weight float64
	}
	var seen []record
	scaled := 0
	for i := range 1300 {
		r := record{float64(i % 5), int32(i / 2 % 2), float64(1 + i%3)}
		if i%4 == 3 {
			r.v = math.NaN()
		}
		base := g.base
		g.add(&a, 2, r.v, r.y, r.weight, float64(i), half)
		seen = append(seen, r)
		if g.base != base {
			scaled++
		}
		n := make([]float64, 10)
		var missing, all, squares [2]float64
		for k := max(0, i-120); k <= i; k++ { // older ones weigh 2^-60
			r := seen[k]
			w := r.weight * math.Exp2(float64(k-i)/half)
			all[r.y] += w
			squares[r.y] += w * w
			if r.v != r.v {
				missing[r.y] += w
			} else {
				n[int(r.v)*2+int(r.y)] += w
			}
		}
		by := math.Exp2(float64(i)/half - g.base)
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-9) {
				t.Fatalf("record %d, base %v: %s %v, want %v", i, g.base, what, got, want)
			}
		}
		for k := range n {
			near("count", g.n[k]/by, n[k])
		}
		for y := range all {
			near("total", g.total[y]/by, all[y])
			near("missing", g.missing[y]/by, missing[y])
			near("squares", g.squares[y]/by/by, squares[y])
		}
	}
	if scaled < 2 {
		t.Errorf("weights were scaled back %d times", scaled)
	}
}

// TestAPartitionBeginsWithItsOwnShare, and not with that of another; one without a share begins with nothing.
func TestAPartitionBeginsWithItsOwnShare(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 400, 7)
	ev := modeltest.Evidence(s, l, ex)
	for i := range ex {
		ev.Partition[i] = int32(i % 3 / 2) // two thirds in partition 0
	}
	o := Options{Theta: .2, HalfLife: model.HalfLife{Records: 100}}
	f := New(o, s)
	part, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	for self := range int32(3) {
		c := f.New(l).(*Component)
		if err := c.Rebase(&model.Rebase{Part: part, Self: self}); err != nil {
			t.Fatal(err)
		}
		for j := range c.own {
			a := &c.structure.features[j].axis
			want := newHistogram(a, 3)
			for i := range ex {
				if ev.Partition[i] == self {
					want.add(a, 3, ex[i].Row[j], ex[i].Class, ex[i].Weight, ex[i].Clock, 100)
				}
			}
			if !reflect.DeepEqual(c.own[j], want) {
				t.Errorf("partition %d, feature %d: %v, want %v", self, j, *c.own[j], *want)
			}
		}
	}
}

// TestRenamedLevelsKeepTheirCounts: counts follow their levels to new codes, at a rebase and in a fit to states.
func TestRenamedLevelsKeepTheirCounts(t *testing.T) {
	c, _ := lived(t)
	const j = 2
	n := len(c.own[j].n) / 3
	rc := make(model.Recode, len(c.schema.Features))
	for k := range n {
		rc[j] = append(rc[j], uint32((k+2)%(n+1)))
	}
	want := make([]float64, 3*(n+1))
	for k := range n {
		copy(want[3*int(rc[j][k]):], c.own[j].n[3*k:3*k+3])
	}
	was := c.own[j].clone()
	part := (&Part{structure: c.structure}).appendBinary(nil)
	if err := c.Rebase(&model.Rebase{Part: part, Recode: rc}); err != nil {
		t.Fatal(err)
	}
	got := c.own[j]
	if !slices.Equal(got.n, want[:len(got.n)]) || total(want[len(got.n):]) != 0 || !slices.Equal(got.total, was.total) ||
		!slices.Equal(got.missing, was.missing) || !slices.Equal(got.squares, was.squares) || got.base != was.base {
		t.Errorf("%+v, was %+v with codes %v", got, was, rc[j])
	}
}

// TestAFitBringsLevelsToItsCodes: the counts of a state stand in the fit's share at the codes of the evidence.
func TestAFitBringsLevelsToItsCodes(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 400, 7)
	f := New(Options{Theta: .2}, s)
	ev := modeltest.Evidence(s, l, ex)
	part, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(l).(*Component)
	if err := c.Rebase(&model.Rebase{Part: part}); err != nil {
		t.Fatal(err)
	}
	const j = 6
	n := len(c.own[j].n) / 3
	rc := make(model.Recode, len(s.Features))
	want := make([]float64, 3*n)
	for k := range n {
		to := (k + 1) % n
		rc[j] = append(rc[j], uint32(to))
		copy(want[3*to:], c.own[j].n[3*k:3*k+3])
	}
	ev.States = model.HeldStates(map[int32][]byte{0: c.AppendState(nil)})
	ev.Recodes, ev.Models = map[int32]model.Recode{0: rc}, map[int32]int64{}
	again, err := f.Fit(t.Context(), ev, part)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(s, again)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.shares[0].counts[j]; !slices.Equal(got.n, want) || !slices.Equal(got.total, c.own[j].total) {
		t.Errorf("%v, want %v", got.n, want)
	}
	if got := p.shares[0].counts[2]; !slices.Equal(got.n, c.own[2].n) {
		t.Errorf("a feature of the same codes: %v, want %v", got.n, c.own[2].n)
	}
}
