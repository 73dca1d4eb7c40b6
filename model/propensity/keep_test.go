package propensity

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// parted returns the part of a fit to the records and its structure.
func parted(t *testing.T, f model.ScorecardFactory, ev *model.Evidence, previous []byte) ([]byte, *part) {
	t.Helper()
	b, err := f.Fit(t.Context(), ev, nil, previous)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.(factory).readPart(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, m
}

// TestCellsAreKeptWhereTheyAreAdequate: cells stay under evidence of the same kind, with any weight in an atom. They
// are cut anew where one is overfull, and where the evidence allows a quarter more of them, unless the evidence says
// Keep.
func TestCellsAreKeptWhereTheyAreAdequate(t *testing.T) {
	schema := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	f := New(Default(), schema)
	evidence := func(n int, seed, shift, atom float64) *model.Evidence {
		ev := &model.Evidence{Schema: schema, Levels: model.NewLevels(schema), Columns: make([][]float64, 1)}
		for i := range n {
			v := math.Mod(float64(i)*math.Phi+seed, 1) + shift
			if float64(i%100) < 100*atom {
				v = .5
			}
			ev.Columns[0] = append(ev.Columns[0], v)
			ev.Class, ev.Weight = append(ev.Class, int32(i%2)), append(ev.Weight, 1)
			ev.Clock, ev.Time = append(ev.Clock, float64(i)), append(ev.Time, 0)
			ev.Partition = append(ev.Partition, 0)
		}
		return ev
	}
	for name, c := range map[string]struct {
		first, then *model.Evidence
		kept        bool
	}{
		"the same kind":             {evidence(1000, 0, 0, 0), evidence(1000, .3, 0, 0), true},
		"the same kind, more":       {evidence(1000, 0, 0, 0), evidence(3000, .3, 0, 0), true},
		"an atom of most":           {evidence(1000, 0, 0, .7), evidence(1000, .3, 0, .8), true},
		"moved away":                {evidence(1000, 0, 0, 0), evidence(1000, .3, .8, 0), false},
		"a quarter more cells":      {evidence(40, 0, 0, 0), evidence(1000, .3, 0, 0), false},
		"fewer than before":         {evidence(1000, 0, 0, 0), evidence(40, .3, 0, 0), true},
		"fewer, and moved away":     {evidence(1000, 0, 0, 0), evidence(40, .3, 2, 0), false},
		"twice what cells may hold": {evidence(1000, 0, 0, 0), evidence(1000, .3, 0, .1), true},
	} {
		before, m := parted(t, f, c.first, nil)
		_, n := parted(t, f, c.then, before)
		if kept := n.axes[0].same(&m.axes[0]); kept != c.kept {
			t.Errorf("%s: cells %v after %v", name, n.axes[0].edges, m.axes[0].edges)
		}
		if n.axes[0].center != m.axes[0].center || n.axes[0].scale != m.axes[0].scale {
			t.Errorf("%s: centre and scale moved", name)
		}
		c.then.Keep = true
		if _, n := parted(t, f, c.then, before); !reflect.DeepEqual(n.axes, m.axes) {
			t.Errorf("%s: told to keep its cells, a fit has %v after %v", name, n.axes[0].edges, m.axes[0].edges)
		}
	}
}

// TestKeepLeavesTheBatch: a fit that is told to keep the structure keeps the fitted weights of the model before, and
// brings the shares up to date.
func TestKeepLeavesTheBatch(t *testing.T) {
	c, _ := grown(t, schemas()["two"], 2)
	before, err := c.live[0].readPart(c.part)
	if err != nil || before.batch == nil {
		t.Fatalf("no batch: %v", err)
	}
	var all []model.Example
	ev := modeltest.Evidence(c.schema, c.levels, nil)
	for p := range c.seen {
		all = append(all, c.seen[p]...)
		ev.Partition = append(ev.Partition, slices.Repeat([]int32{int32(p)}, len(c.seen[p]))...)
	}
	e := modeltest.Evidence(c.schema, c.levels, all)
	e.Partition = ev.Partition
	states := map[int32][]byte{}
	for p, s := range c.live {
		states[int32(p)] = s.AppendState(nil)
	}
	e.States, e.Recodes, e.Models = model.HeldStates(states), map[int32]model.Recode{}, map[int32]int64{}
	for _, keep := range []bool{true, false} {
		e.Keep = keep
		b, err := c.f.Fit(t.Context(), e, &model.Offer{Keys: c.keys}, c.part)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.live[0].readPart(b)
		if err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(m.batch, before.batch); same != keep {
			t.Errorf("keep %v: the batch stays: %v", keep, same)
		}
		for p, s := range c.live {
			want := s.share(int32(p))
			if m.shares[p].records != want.records || !slices.Equal(m.shares[p].t.class, want.t.class) {
				t.Errorf("keep %v: the share of partition %d is of %v records, want %v", keep, p, m.shares[p].records, want.records)
			}
		}
	}
}

// TestDirections: up is up for the positive class, be it the first or another; auto follows the evidence, and keeps the
// direction of before where that says nothing.
func TestDirections(t *testing.T) {
	for name, c := range map[string]struct {
		classes  []string
		positive int
		margin   int // 1 where the margin is that of the positive class
	}{"second of two": {[]string{"a", "b"}, 1, 1}, "first of two": {[]string{"a", "b"}, 0, -1},
		"one of three": {[]string{"a", "b", "c"}, 1, 1}} {
		for _, want := range []model.Direction{model.Up, model.Down, model.Auto} {
			for slope := -1; slope <= 1; slope++ {
				schema := &model.Schema{Features: []model.Feature{{Name: "x", Monotone: want}}, Classes: c.classes,
					Positive: c.positive}
				p := newPlan(Default(), schema)
				ev := &model.Evidence{Schema: schema}
				var values []float64
				for i := range 200 {
					x := float64(i % 20)
					hit := i/20%2 == 0
					if slope != 0 {
						hit = float64(slope)*(x-9.5) > 0
					}
					class := (c.positive + 1) % len(c.classes)
					if hit {
						class = c.positive
					}
					values = append(values, x)
					ev.Class, ev.Weight = append(ev.Class, int32(class)), append(ev.Weight, 1)
				}
				a := fitter{p}.cut(values, ev.Weight, true)
				for _, was := range []int{0, 1, -1} {
					rise := map[model.Direction]int{model.Up: 1, model.Down: -1, model.Auto: slope}[want] * c.margin
					if rise == 0 {
						if rise = was; was == 0 {
							rise = c.margin
						}
					}
					if got := (fitter{p}).direction(&p.features[0], &a, values, joined(ev, nil), was); got != rise {
						t.Errorf("%s, %v, the evidence rises by %d, before %d: direction %d, want %d", name, want, slope, was, got, rise)
					}
				}
			}
		}
	}
}

// TestWhichScoresKnowAnInput: a score of before an input came says nothing of it, and the next one does.
func TestWhichScoresKnowAnInput(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		c, ex := setCluster(t, name, 1)
		s := c.live[0]
		for i := range 100 {
			c.learn(0, ex[i])
		}
		c.keys = offer("abc")
		c.fit()
		s.SetInputs(c.keys)
		inputs, prob := make([]float64, 4*s.classes), make([]float64, s.classes)
		for i := range inputs {
			inputs[i] = float64(1 + i%3)
		}
		remember := func() []float64 {
			pending := make([]float64, s.PendingLen())
			s.Score(ex[100].Row, inputs, pending, prob)
			return pending
		}
		before := remember()
		s.SetInputs(offer("dbc"))
		after := remember()
		if len(pairsOf(s, "d")) != 1 || pairsOf(s, "d")[0] != s.plan.prior(s.slots-s.extern) {
			t.Fatalf("%s: the new set has %v", name, pairsOf(s, "d"))
		}
		for i, pending := range [][]float64{before, after} {
			was, stays := pairsOf(s, "d")[0], pairsOf(s, "b")[0]
			e := ex[100+i]
			e.Clock = float64(100 + i)
			s.LearnScored(&e, inputs, pending)
			if moved := pairsOf(s, "d")[0] != was; moved != (i == 1) {
				t.Errorf("%s: score %d: the new set moved: %v", name, i, moved)
			}
			if pairsOf(s, "b")[0] == stays {
				t.Errorf("%s: score %d taught nothing of a set that stays", name, i)
			}
		}
	}
}

// TestANewInputTakesTheFreeSlot: as long as there is a slot without a key nobody loses its weights, and an input that
// was away finds its own again.
func TestANewInputTakesTheFreeSlot(t *testing.T) {
	c, ex := setCluster(t, "two", 1)
	s := c.live[0]
	for i := range 50 {
		c.learn(0, ex[i])
	}
	c.keys = offer("a")
	c.fit()
	inputs, pending, prob := make([]float64, 4*2), make([]float64, s.PendingLen()), make([]float64, 2)
	for i, sets := range []string{"a", "b", "c", "ca", "bac"} {
		away := ""
		for _, x := range "abc" {
			if !strings.ContainsRune(sets, x) {
				away += string(x)
			}
		}
		was := pairsOf(s, away)
		s.SetInputs(offer(sets))
		if got := pairsOf(s, away); !slices.Equal(got, was) {
			t.Errorf("with the sets %q offered, those away have %v, had %v", sets, got, was)
		}
		for j := range inputs {
			inputs[j] = float64(j % 2 * (1 + j))
		}
		e := ex[50+i]
		e.Clock = float64(50 + i)
		s.Score(e.Row, inputs, pending, prob)
		s.LearnScored(&e, inputs, pending)
	}
	prior := s.plan.prior(s.slots - s.extern)
	for k, v := range pairsOf(s, "abc") {
		if v == (pair{}) || v == prior {
			t.Errorf("set %q has the weights %v after it was away", "abc"[k], v)
		}
	}
	was := pairsOf(s, "ac")
	s.SetInputs(offer("acd"))
	if got := pairsOf(s, "acd"); got[0] != was[0] || got[1] != was[1] || got[2] != prior {
		t.Errorf("after a fourth set came in place of one that is gone: %v, were %v", got, was)
	}
}
