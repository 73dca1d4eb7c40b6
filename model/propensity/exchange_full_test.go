package propensity

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// grown is a cluster every part of whose states holds something: cells of levels met late, inputs of other components
// with keys, labels that come late, a batch that was adopted, and two exchanges with the other partitions.
func grown(t *testing.T, schema *model.Schema, partitions int) (*cluster, []model.Example) {
	t.Helper()
	l, ex := modeltest.Generate(schema, 1500, 23)
	c := newCluster(t, schema, l, partitions)
	c.f = New(setOptions(), schema)
	for p := range c.live {
		c.live[p] = c.f.New(l).(*Scorecard)
	}
	waiting := make([][]float64, len(ex))
	inputs := make([]float64, 4*len(schema.Classes))
	prob := make([]float64, len(schema.Classes))
	const delay = 20
	for i := range ex {
		for j := range inputs {
			inputs[j] = math.Sin(float64(i*7 + j*3))
		}
		p := i * i % partitions
		waiting[i] = make([]float64, c.live[p].PendingLen())
		c.live[p].Score(ex[i].Row, inputs, waiting[i], prob)
		if j := i - delay; j >= 0 {
			e := ex[j]
			p := j * j % partitions
			e.Clock = float64(len(c.seen[p]))
			c.seen[p] = append(c.seen[p], e)
			c.live[p].LearnScored(&e, nil, waiting[j])
		}
		if i == 500 || i == 900 || i == 1300 {
			c.keys = offer(map[int]string{500: "abc", 900: "cda", 1300: "ed"}[i])
			c.fit()
			for _, s := range c.live {
				s.SetInputs(c.keys)
			}
		}
	}
	s := c.live[0]
	if s.away == nil || s.mix.away == nil || s.adopted == 0 || !(s.lag > 0) || !(s.others.square > 0) ||
		slices.Contains(s.keys, 0) || slices.Max(s.since) == 0 {
		t.Fatalf("a part of the state holds nothing: adopted %v, lag %v, others %v, keys %v since %v",
			s.adopted, s.lag, s.others, s.keys, s.since)
	}
	return c, ex
}

// kept are all numbers of a scorecard that are not derived from others. Nothing reads the weights of away.
func kept(s *Scorecard) map[string]any {
	away := [][]float64{s.away.class, s.away.knot, s.away.mom}
	for f := range s.away.feat {
		away = append(away, s.away.feat[f].count)
	}
	return map[string]any{"axes": s.axes, "clock": s.clock, "prior": s.prior, "mass": s.mass, "others": s.others,
		"counts and weights": s.cur, "away": away, "calibration": s.cal.weight, "mixture": s.mix, "learnt": s.learnt,
		"adopted": s.adopted, "lag": s.lag, "keys": s.keys, "since": s.since, "unit": s.unit, "renamed": s.renamed}
}

func sameState(t *testing.T, what string, got, want *Scorecard) {
	t.Helper()
	b := kept(want)
	for name, a := range kept(got) {
		if !reflect.DeepEqual(a, b[name]) {
			t.Errorf("%s: %s: %.200v, want %.200v", what, name, fmt.Sprint(a), fmt.Sprint(b[name]))
		}
	}
}

// TestNothingOfAStateIsLost: each number of a state is there after it was stored and read, carried over to the same
// schema or to another and back, and read under other components and back.
func TestNothingOfAStateIsLost(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		c, _ := grown(t, schema, 3)
		for p, s := range c.live {
			b := s.AppendState(nil)
			again := newScorecard(s.plan)
			if err := again.LoadState(b); err != nil {
				t.Fatal(err)
			}
			sameState(t, name+": stored and read", again, s)
			wide := *schema
			wide.Features = slices.Clone(schema.Features)
			slices.Reverse(wide.Features)
			wide.Features = append([]model.Feature{{Name: "new"}, {Name: "newer", Kind: model.Nominal}}, wide.Features...)
			for what, to := range map[string]*model.Schema{"the same schema": schema, "another schema and back": &wide} {
				carried := b
				from := schema
				for _, to := range []*model.Schema{to, schema} {
					change, err := model.Relate(from, to)
					if err != nil {
						t.Fatal(err)
					}
					if carried, _, err = New(setOptions(), to).(factory).CarryState(change, carried); err != nil {
						t.Fatal(err)
					}
					from = to
				}
				if err := again.LoadState(carried); err != nil {
					t.Fatal(err)
				}
				sameState(t, name+": carried over to "+what, again, s)
			}
			// Components that come, in front and behind, and go again.
			founding := setOptions()
			founding.Founding = founding.Blocks
			other := founding
			other.Blocks = slices.Concat([]Block{{Name: "front", Inputs: 2}}, founding.Blocks[1:], founding.Blocks[:1],
				[]Block{{Name: "behind", Inputs: 1}})
			more, same := newScorecard(newPlan(other, schema)), newScorecard(newPlan(founding, schema))
			if err := more.LoadState(b); err != nil {
				t.Fatal(err)
			}
			if err := same.LoadState(more.AppendState(nil)); err != nil {
				t.Fatal(err)
			}
			sameState(t, name+": read under other components and back", same, s)
			if p > 0 {
				continue
			}
			// The same of the part.
			m, err := same.readPart(c.part)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(same.appendPart(nil, m), c.part) {
				t.Errorf("%s: a part that is read and stored has other bytes", name)
			}
			n, err := more.readPart(c.part)
			if err != nil {
				t.Fatal(err)
			}
			back, err := same.readPart(more.appendPart(nil, n))
			if err != nil {
				t.Fatal(err)
			}
			if len(n.keys) != 4 || len(n.keys[2]) != len(m.keys[0]) {
				t.Errorf("%s: under other components the keys are %v, were %v", name, n.keys, m.keys)
			}
			if !reflect.DeepEqual(m, back) {
				t.Errorf("%s: a part that is read under other components and back is another one", name)
			}
		}
	}
}

// TestAnExchangeLeavesTheOwnShare: taking a model changes nothing of a partition's own share; its
// counts are then its own and the shares of the others, each as of now.
func TestAnExchangeLeavesTheOwnShare(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		c, ex := grown(t, schemas()[name], 3)
		for i := range 300 { // by turns of different length, so that the clocks differ
			p := 0
			if i%10 >= 5 {
				p = 1 + i%2
			}
			c.learn(p, ex[i])
		}
		// Corrections leave counts that are no sums of fresh ones.
		for p, s := range c.live {
			for i := range 7 {
				s.Retract(&c.seen[p][10*i])
				c.seen[p][10*i].Class = 0
				s.Learn(&c.seen[p][10*i])
			}
		}
		var before []contribution
		for p, s := range c.live {
			before = append(before, s.share(int32(p)))
		}
		c.fit()
		for p, s := range c.live {
			after := s.share(int32(p))
			b := &before[p]
			begun := c.f.New(c.levels).(*Scorecard)
			rb := &model.Rebase{Part: c.part, Self: int32(p), Clock: s.clock.records, Time: s.clock.time}
			if err := begun.Rebase(rb); err != nil {
				t.Fatal(err)
			}
			if is := begun.share(int32(p)); is.lag != b.lag || is.mix != b.mix || is.mass != b.mass || is.time != b.time {
				t.Errorf("%s: partition %d begins with a lag of %v, mixture %v, mass %v, time %v, its share has %v, %v, %v, %v",
					name, p, is.lag, is.mix, is.mass, is.time, b.lag, b.mix, b.mass, b.time)
			}
			if after.mass != b.mass || after.lag != b.lag || after.records != b.records || after.time != b.time ||
				after.mix != b.mix || !slices.Equal(after.prior, b.prior) {
				t.Errorf("%s: partition %d: %v, %v, %v, %v of its own, before the exchange %v, %v, %v, %v", name, p,
					after.mass, after.lag, after.records, after.mix, b.mass, b.lag, b.records, b.mix)
			}
			want := mass{}
			for q := range before {
				if q != p {
					want.weight, want.square = want.weight+before[q].mass.weight, want.square+before[q].mass.square
				}
			}
			if s.others != want {
				t.Errorf("%s: partition %d: records of the others weigh %v, want %v", name, p, s.others, want)
			}
			sumUp := func(what string, get func(*tables) []float64, now func(i int) float64) {
				t.Helper()
				own, was, all := get(after.t), get(b.t), get(s.cur)
				for i := range all {
					sum, size := 0., 0.
					for q := range before {
						if v := get(before[q].t); i < len(v) {
							sum, size = sum+v[i], size+math.Abs(v[i])
						}
					}
					kept := 0.
					if i < len(was) {
						kept = was[i]
					}
					if math.Abs(own[i]-kept) > 1e-9*(1+size) || math.Abs(all[i]/now(i)-sum) > 1e-9*(1+size) {
						t.Fatalf("%s: partition %d: %s %d: %v of its own, before the exchange %v; %v in all, want %v",
							name, p, what, i, own[i], kept, all[i]/now(i), sum)
					}
				}
			}
			n := len(s.half) * s.classes
			count := func(i int) float64 { return s.clock.now[i%n/s.classes] }
			sumUp("class count", func(t *tables) []float64 { return t.class }, count)
			for f := range s.features {
				sumUp("count of a feature", func(t *tables) []float64 { return t.feat[f].count }, count)
			}
			sumUp("calibration", func(t *tables) []float64 { return t.knot }, func(int) float64 { return s.cal.weight })
			sumUp("moment", func(t *tables) []float64 { return t.mom }, func(int) float64 { return 1 })
		}
	}
}
