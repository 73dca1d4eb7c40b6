package local

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestNeighbourhood compares distances, with missing values, levels, caps and weights, with plain arithmetic.
func TestNeighbourhood(t *testing.T) {
	for _, prototypes := range []int{5, 100, 400} {
		c, _, ex := fitted(t, Options{Theta: .2, Prototypes: prototypes}, 400)
		neighbourhoods(t, c, ex)
	}
}

func neighbourhoods(t *testing.T, c *Component, ex []model.Example) {
	s, w := c.structure, c.work
	for _, m := range []Measure{{}, {Cap: .4}, {Cap: 1.6, Weighted: true}, {Weighted: true}, {Theta: .2}} {
		l := s.prototypes.limits(m)
		for i := range ex[:60] {
			row := ex[i].Row
			skip := i%(len(s.prototypes.class)+1) - 1
			n := s.neighbourhood(row, m, &l, skip, w)
			var order []neighbour
			use := make([]bool, len(row))
			if m.Theta > 0 {
				features, _ := s.subspace(row, m.Theta, newScratch(s), nil, nil)
				for _, j := range features {
					use[j] = true
				}
				if len(features) == 0 {
					continue
				}
			}
			for k := range s.prototypes.class {
				want := int64(0)
				for j := range row {
					p := &s.prototypes.columns[j]
					if row[j] != row[j] || len(p.at) == 0 || m.Theta > 0 && !use[j] {
						continue
					}
					term, q, v := l.expected[j], p.place(row[j]), p.values()[k]
					if v != absent {
						d := int64(v) - int64(q)
						term = d * d
						if p.nominal && d != 0 {
							term = nominalTerm
						}
						if m.Cap > 0 {
							term = min(term, int64(math.Round(m.Cap*unit))*int64(math.Round(m.Cap*unit)))
						}
					}
					if m.Weighted {
						term *= s.features[j].weight(row[j])
					}
					want += term
				}
				if k != skip {
					order = append(order, neighbour{want, int32(k)})
				}
			}
			slices.SortStableFunc(order, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
			var ties []int32
			for k, x := range order {
				if k >= s.neighbours && x.distance == order[s.neighbours-1].distance {
					ties = append(ties, x.index)
				}
			}
			if got := slices.Sorted(slices.Values(w.ties)); !slices.Equal(got, ties) {
				t.Fatalf("%+v: record %d: tied %v, want %v", m, i, got, ties)
			}
			if order = order[:min(len(order), s.neighbours)]; !slices.Equal(w.near[:n], order) {
				t.Fatalf("%+v, %d prototypes: record %d: neighbours %v, want %v", m, len(s.prototypes.class), i, w.near[:n], order)
			}
		}
	}
}

func TestVote(t *testing.T) {
	votes, far := make([]float64, 3), make([]float64, 3)
	near := []neighbour{{1, 0}, {4, 1}, {9, 2}, {16, 3}}
	for _, c := range []struct {
		class []int32
		best  int
	}{
		{[]int32{0, 1, 1, 0}, 0}, // equal votes, equal mean distances: the lower class
		{[]int32{2, 1, 2, 1}, 2}, // equal votes, the nearer
		{[]int32{2, 1, 1, 1}, 1},
	} {
		vote(near, nil, c.class, false, votes, far)
		if w := (&scratch{votes: votes}); w.best() != c.best {
			t.Errorf("classes %v: votes %v", c.class, votes)
		}
	}
	vote(near, nil, []int32{0, 1, 1, 1}, true, votes, far)
	// s = 1/5 + 16/50; 1, s/(3+s), s/(8+s), s/(15+s), scaled to sum to 4.
	s := .52
	all := 1 + s/(3+s) + s/(8+s) + s/(15+s)
	if math.Abs(votes[0]-4/all) > 1e-12 || math.Abs(total(votes)-4) > 1e-12 {
		t.Errorf("votes by closeness: %v", votes)
	}
	vote([]neighbour{{0, 0}, {0, 1}}, nil, []int32{0, 1}, true, votes, far)
	if votes[0] != 1 || votes[1] != 1 {
		t.Errorf("votes of copies: %v", votes)
	}
}

// TestShares: prototypes whose votes equal their class shares leave a stream of other rates at its base rates.
func TestShares(t *testing.T) {
	s := &structure{base: []float64{.9, .1, 0}, measure: Measure{Close: true},
		prototypes: prototypes{prior: []float64{.4, .6, 0}}}
	w := &scratch{votes: []float64{3.2, 4.8, 0}}
	lifts := make([]float64, 3)
	s.shares(8, w, lifts)
	for _, l := range lifts {
		if math.Abs(l) > 1e-12 {
			t.Errorf("lifts %v", lifts)
		}
	}
	w.votes = []float64{0, 8, 0}
	s.shares(8, w, lifts)
	// Shares among the prototypes .4/9 and 8.6/9, over .4 and .6.
	a, b := .4/9/.4, 8.6/9/.6
	n := .9*a + .1*b
	if math.Abs(lifts[0]-math.Log(a/n)) > 1e-12 || math.Abs(lifts[1]-math.Log(b/n)) > 1e-12 || lifts[2] != 0 {
		t.Errorf("lifts %v", lifts)
	}
}

// TestEqualVotes: the nearer of classes of equal votes stays ahead at any class sizes.
func TestEqualVotes(t *testing.T) {
	s := &structure{base: []float64{.9, .1}, prototypes: prototypes{prior: []float64{.9, .1}}}
	near := []neighbour{{1, 0}, {4, 1}, {9, 2}, {16, 3}}
	w := &scratch{votes: make([]float64, 2), far: make([]float64, 2)}
	vote(near, nil, []int32{1, 0, 1, 0}, false, w.votes, w.far)
	lifts := make([]float64, 2)
	s.shares(4, w, lifts)
	if p, q := .9*math.Exp(lifts[0]), .1*math.Exp(lifts[1]); p >= q || q > .502 {
		t.Errorf("shares %v and %v", p, q)
	}
}

// TestInputsWithout: a prototype does not vote for itself, and a record outside of the prototypes keeps all neighbours.
func TestInputsWithout(t *testing.T) {
	c, _, ex := fitted(t, Options{Theta: .2, Prototypes: 100}, 400)
	s := c.structure
	got, want := make([]float64, len(s.base)), make([]float64, len(s.base))
	found := 0
	for i := range ex {
		k := s.itself(&ex[i], c.work)
		n := s.neighbourhood(ex[i].Row, s.measure, &s.limits, k, c.work)
		s.shares(n, c.work, want)
		if k >= 0 {
			found++
			if s.prototypes.class[k] != ex[i].Class {
				t.Fatalf("record %d of class %d is prototype %d of class %d", i, ex[i].Class, k, s.prototypes.class[k])
			}
			for _, x := range c.work.near[:n] {
				if int(x.index) == k {
					t.Fatalf("record %d is its own neighbour", i)
				}
			}
		}
		if c.InputsWithout(&ex[i], got); !slices.Equal(got, want) {
			t.Fatalf("record %d: %v, want %v", i, got, want)
		}
	}
	if found != len(s.prototypes.class) {
		t.Errorf("%d of %d prototypes found again", found, len(s.prototypes.class))
	}
}

// TestMeasureSurvives: a component keeps its distance when its state is loaded.
func TestMeasureSurvives(t *testing.T) {
	c, _, _ := fitted(t, Options{Theta: .2}, 200)
	for _, m := range []Measure{{Close: true}, {Theta: .3}, {Cap: 1.6, Weighted: true}} {
		c.structure.measure = m
		d := &Component{schema: c.schema}
		if err := d.LoadState(c.AppendState(nil)); err != nil {
			t.Fatal(err)
		}
		if d.structure.measure != m {
			t.Errorf("measure %+v becomes %+v", m, d.structure.measure)
		}
	}
}

// TestLeftOut: a prototype is tried by the relevance of the other records.
func TestLeftOut(t *testing.T) {
	s := &model.Schema{Classes: []string{"a", "b"}, Features: []model.Feature{{Name: "x"}}, Positive: -1}
	columns, class := wdbc(t)
	ev := modeltest.Evidence(s, model.NewLevels(s), nil)
	ev.Columns[0] = columns[0]
	for i, y := range class {
		ev.Class, ev.Weight, ev.Clock = append(ev.Class, y), append(ev.Weight, 1), append(ev.Clock, float64(i))
		ev.Time, ev.Partition = append(ev.Time, 0), append(ev.Partition, 0)
	}
	x := &fitter{options: Options{Theta: .2}.withDefaults(), schema: s, ev: ev, classes: 2, base: []float64{.6, .4}}
	axes := x.axes(t.Context())
	shares, err := x.shares(axes)
	if err != nil {
		t.Fatal(err)
	}
	built, err := x.build(t.Context(), axes, shares[0].counts)
	if err != nil {
		t.Fatal(err)
	}
	weights := x.leftOut(built, len(x.rows))
	// At any scale of the weights.
	heavy := *ev
	heavy.Weight = make([]float64, len(ev.Weight))
	for i, w := range ev.Weight {
		heavy.Weight[i] = 100 * w
	}
	y := &fitter{options: x.options, schema: s, ev: &heavy, classes: 2, base: x.base}
	if shares, err = y.shares(axes); err != nil {
		t.Fatal(err)
	}
	also, err := y.build(t.Context(), axes, shares[0].counts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y.leftOut(also, len(y.rows)), weights) {
		t.Error("weights times 100 leave out something else")
	}
	if shares, err = x.shares(axes); err != nil {
		t.Fatal(err)
	}
	a := &axes[0]
	u := make([]float64, len(class))
	for i, v := range columns[0] {
		p, _ := a.value(v)
		u[i] = (p - a.zero) / a.scale
	}
	mass, squares := masses(u, class, 2, x.options.Width, true)
	counts := shares[0].counts[0].counts(2)
	differ, moved := 0.0, 0.0
	for k, i := range x.rows {
		want := relevanceOf(mass[2*i:2*i+2], counts, squares[i])
		differ = max(differ, math.Abs(float64(weights[k])/weightUnit-want))
		moved = max(moved, math.Abs(float64(built.features[0].weight(columns[0][i]))/weightUnit-want))
	}
	if differ > .02 || moved < 2*differ {
		t.Errorf("relevance without the record is off by %v, with it by %v", differ, moved)
	}
}

// TestAutoLeavesOutWhatSaysNothing: with one rare class the relevance of an uninformative feature is near 1, above
// every threshold of the grid. The published subspace must still hold no noise.
func TestAutoLeavesOutWhatSaysNothing(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "tells"}, {Name: "noise"}}, Classes: []string{"no", "yes"},
		Positive: 1}
	l, ex := modeltest.Generate(s, 4000, 3)
	for i := range ex {
		tells, noise := float64(model.Hash(1, uint64(i))%1000)/1000, float64(model.Hash(2, uint64(i))%1000)/1000
		ex[i].Row, ex[i].Class = model.Row{tells, noise}, 0
		if tells > .5 && model.Hash(3, uint64(i))%5 == 0 {
			ex[i].Class = 1
		}
	}
	c := fit(t, Options{Theta: Auto}, s, modeltest.Evidence(s, l, ex))
	if c.structure.theta < c.structure.useless {
		t.Errorf("theta %v is below %v, the relevance of a useless feature", c.structure.theta, c.structure.useless)
	}
	noise := 0
	for i := range ex {
		features, _ := c.Select(ex[i].Row, nil, nil)
		if !slices.Contains(features, 0) && ex[i].Row[0] < .45 {
			t.Fatalf("record %v: %v, without the feature that tells the class there", ex[i].Row, features)
		}
		if slices.Contains(features, 1) && ex[i].Row[0] < .45 {
			noise++
		}
	}
	if noise > 0 {
		t.Errorf("%d subspaces hold noise where the other feature tells", noise)
	}
}
