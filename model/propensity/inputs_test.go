package propensity

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// setOptions are options with room for three sets and one input of neighbours.
func setOptions() Options {
	opt := Default()
	opt.Blocks = []Block{{Name: "lift", Inputs: 3, Fitted: true}, {Name: "local", Inputs: 1}}
	return opt
}

// offer returns keys of sets by letter, and the neighbours' input.
func offer(sets string) [][]uint64 {
	keys := [][]uint64{nil, {1}}
	for _, c := range sets {
		keys[0] = append(keys[0], model.FirstKey+uint64(c))
	}
	return keys
}

// TestSetsBeginWithTheirWeight: an entered set counts from the beginning, with weight 1 on the two cards
// of the longest memories; other inputs do not.
func TestSetsBeginWithTheirWeight(t *testing.T) {
	p := newPlan(setOptions(), schemas()["two"])
	first := p.slots - p.extern
	for e := range 4 {
		want := [cards]float64{0, 0, 1, 1}
		if e == 3 {
			want = [cards]float64{}
		}
		if got := p.prior(first + e).w; got != want {
			t.Errorf("external input %d begins with the weights %v, want %v", e, got, want)
		}
	}
}

// sets is a cluster whose scorecards have the inputs of sets.
func setCluster(t *testing.T, name string, partitions int) (*cluster, []model.Example) {
	schema := schemas()[name]
	l, ex := modeltest.Generate(schema, 900, 5)
	c := newCluster(t, schema, l, partitions)
	c.f = New(setOptions(), schema)
	for p := range c.live {
		c.live[p] = c.f.New(l).(*Scorecard)
	}
	return c, ex
}

// pairsOf returns the pairs of the sets by letter.
func pairsOf(s *Scorecard, sets string) (v []pair) {
	first := s.slots - s.extern
	for _, k := range offer(sets)[0] {
		i := slices.Index(s.keys, k)
		if i < 0 {
			v = append(v, pair{})
			continue
		}
		v = append(v, s.cur.in[first+i])
	}
	return v
}

// TestWeightsBelongToTheSet: a set keeps its weights where it changes its place, a new one begins with those of a
// beginning in the place of another, one that comes back finds the rest of it, and a score that was remembered says
// nothing of a set that came later. State and replay know all of it.
func TestWeightsBelongToTheSet(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		c, ex := setCluster(t, name, 1)
		s := c.live[0]
		inputs := make([]float64, 4*s.classes)
		at := 0
		pending := make([]float64, s.PendingLen())
		prob := make([]float64, s.classes)
		learn := func(n int) {
			for range n {
				e := ex[at]
				e.Clock = float64(at)
				c.seen[0] = append(c.seen[0], e)
				for j := range inputs {
					inputs[j] = math.Sin(float64(at*7 + j*3))
				}
				s.Score(e.Row, inputs, pending, prob)
				s.LearnScored(&e, inputs, pending)
				at++
			}
		}
		fit := func(sets string) {
			c.keys = offer(sets)
			c.fit()
			s.SetInputs(c.keys)
			again := newScorecard(s.plan)
			if err := again.LoadState(s.AppendState(nil)); err != nil {
				t.Fatal(err)
			}
			again.SetInputs(c.keys)
			if !slices.Equal(again.keys, s.keys) || !slices.Equal(again.since, s.since) ||
				!slices.Equal(again.ext, s.ext) || again.renamed != s.renamed {
				t.Errorf("%s: after restore the inputs are %v, %v, %v", name, again.keys, again.since, again.ext)
			}
		}
		learn(300)
		fit("abc")
		learn(100)
		was := pairsOf(s, "abc")
		fit("cab")
		if got := pairsOf(s, "abc"); !slices.Equal(got, was) {
			t.Errorf("%s: sets in another order have %v, had %v", name, got, was)
		}
		learn(50)
		was = pairsOf(s, "abc")
		waiting := slices.Clone(pending)
		fit("cb") // a leaves
		fit("bac")
		if got := pairsOf(s, "abc"); !slices.Equal(got, was) {
			t.Errorf("%s: after one was away for a while the sets have %v, had %v", name, got, was)
		}
		fit("cdb")
		prior := s.plan.prior(s.slots - s.extern)
		if got, want := pairsOf(s, "dbc"), []pair{prior, was[1], was[2]}; !slices.Equal(got, want) {
			t.Errorf("%s: a new set and the others have %v, want %v", name, got, want)
		}
		if pairsOf(s, "a")[0] != (pair{}) {
			t.Errorf("%s: a set without a place keeps its key", name)
		}
		e := ex[at-1]
		e.Clock = float64(at)
		s.LearnScored(&e, nil, waiting)
		if got := pairsOf(s, "d")[0]; got != prior {
			t.Errorf("%s: a score of before the set moved its weights to %v", name, got)
		}
		if got := pairsOf(s, "b")[0]; got == was[1] {
			t.Errorf("%s: a score of before the fit taught nothing of a set that stays", name)
		}
		learn(1)
		if got := pairsOf(s, "d")[0]; got == prior {
			t.Errorf("%s: a new set learns nothing", name)
		}
	}
}

// TestPartitionsShareBySet: partitions that hold the same sets in different places exchange their knowledge of each by
// set, also one that starts from the model.
func TestPartitionsShareBySet(t *testing.T) {
	c, ex := setCluster(t, "two", 2)
	for i := range 200 {
		c.learn(i%2, ex[i])
	}
	c.fit()
	c.live[0].SetInputs(offer("ab"))
	c.live[1].SetInputs(offer("xb"))
	for p, s := range c.live {
		first := s.slots - s.extern
		for j, k := range s.keys[:2] {
			v := &s.cur.in[first+j]
			for card := range cards {
				v.w[card], v.g[card] = float64(k-model.FirstKey)+float64(p), 2 // b: 98 and 99
			}
		}
	}
	for i := range 200 {
		c.learn(i%2, ex[200+i])
	}
	c.keys = offer("bxy")
	c.fit()
	for p, s := range c.live {
		s.SetInputs(c.keys)
		got := pairsOf(s, "bxy")
		for card := range cards {
			prior := s.plan.prior(s.slots - s.extern).w[card]
			if b, x, y := got[0].w[card], got[1].w[card], got[2].w[card]; b != 98.5 || x != 121 || y != prior {
				t.Errorf("partition %d, card %d: weights %v, %v, %v, want 98.5, 121 and %v", p, card, b, x, y, prior)
			}
		}
	}
	third := c.f.New(c.levels).(*Scorecard)
	if err := third.Rebase(&model.Rebase{Part: c.part, Self: 1}); err != nil {
		t.Fatal(err)
	}
	if got := pairsOf(third, "bx"); got[0].w[3] != 98.5 || got[1].w[3] != 121 {
		t.Errorf("a partition that starts from the model has %v", got)
	}
}

// TestKeysAreCarriedOver: a change of the schema leaves the sets their weights under any new numbers.
func TestKeysAreCarriedOver(t *testing.T) {
	c, ex := setCluster(t, "two", 1)
	s := c.live[0]
	c.keys = offer("abc")
	for i := range 300 {
		c.learn(0, ex[i])
	}
	c.fit()
	first := s.slots - s.extern
	for j := range 4 {
		s.cur.in[first+j].w[3], s.cur.in[first+j].g[3] = float64(10+j), 2
	}
	s.SetInputs(offer("abc"))
	to := *c.schema
	to.Features = slices.Concat([]model.Feature{{Name: "new", Kind: model.Continuous}}, c.schema.Features[1:])
	change, err := model.Relate(c.schema, &to)
	if err != nil {
		t.Fatal(err)
	}
	change.Inputs = [][]int{{1, 2}, nil} // a is gone
	f := New(setOptions(), &to)
	state, _, err := f.(model.Carrier).CarryState(change, s.AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	n := f.New(c.levels).(*Scorecard)
	if err := n.LoadState(state); err != nil {
		t.Fatal(err)
	}
	n.SetInputs(offer("bc"))
	first = n.slots - n.extern
	if b, c := pairsOf(n, "bc")[0].w[3], pairsOf(n, "bc")[1].w[3]; b != 11 || c != 12 || n.cur.in[first+3].w[3] != 13 {
		t.Errorf("weights %v and %v, neighbours %v", b, c, n.cur.in[first+3].w[3])
	}
}

// TestFormat2: states and models of before inputs had keys are read; the weights are those of the inputs' numbers.
func TestFormat2(t *testing.T) {
	schema := schemas()["two"]
	levels, part, old := modeltest.ReadGolden(t, schema, "testdata/format-2.gz")
	f := New(specified(), schema)
	s := f.New(levels).(*Scorecard)
	if err := s.LoadState(old); err != nil {
		t.Fatal(err)
	}
	if err := s.Rebase(&model.Rebase{Part: part}); err != nil {
		t.Fatal(err)
	}
	_, ex := modeltest.Generate(schema, 600, 1)
	check(t, "format 2", s, ex[0].Row, nil)
	ev := modeltest.Evidence(schema, levels, ex)
	ev.States = model.HeldStates(map[int32][]byte{0: old})
	if _, err := f.Fit(context.Background(), ev, nil, part); err != nil {
		t.Error(err)
	}

	s = newScorecard(newPlan(setOptions(), schema))
	first := s.slots - s.extern
	s.cur.in[first+1].w[3] = 7
	s.SetInputs(offer("ab"))
	if got := pairsOf(s, "b")[0].w[3]; got != 7 {
		t.Errorf("the first set in a place without a key has weight %v, want 7", got)
	}
}
