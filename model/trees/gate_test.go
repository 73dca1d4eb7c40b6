package trees

import (
	"math"
	"slices"
	"testing"

	"liftstream/model/modeltest"
)

// additives are the additive models of the folds.
func additives(t *testing.T, r *records) []*ensemble {
	t.Helper()
	var es []*ensemble
	for k := range folds {
		e := newEnsemble(r, k)
		if err := e.additive(t.Context()); err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// heldLoss is the log-loss of the records that no ensemble has seen, at these factors.
func heldLoss(es []*ensemble, factors []float64) (sum float64) {
	z := make([]float64, es[0].margins)
	for _, e := range es {
		for _, i := range e.held {
			e.shrunk(i, factors, z)
			sum += e.weight[i] * loss(z, e.class[i])
		}
	}
	return sum
}

// TestShrink: no factor inside 0 and 1 lowers the log-loss of unseen records any further, for one margin and several;
// the part of a feature that tells the class stays, and those of noise go.
func TestShrink(t *testing.T) {
	rows, class := table(600, 5, 3, func(x []float64) float64 { return .05 + .9*x[0] })
	l, ex := modeltest.Generate(modeltest.Schema(), 600, 3)
	for name, r := range map[string]*records{
		"one margin": coded(numbered(rows, class)), "three": coded(modeltest.Evidence(modeltest.Schema(), l, ex)),
	} {
		es := additives(t, r)
		factors := shrink(es, nil)
		least := heldLoss(es, factors)
		for k := range factors {
			for _, d := range []float64{-.02, .02} {
				was := factors[k]
				if factors[k] += d; factors[k] >= 0 && factors[k] <= 1 {
					if v := heldLoss(es, factors); v < least-1e-3 {
						t.Errorf("%s: log-loss %v, with factor %d at %v %v", name, least, k, factors[k], v)
					}
				}
				factors[k] = was
			}
		}
		if name == "one margin" && (factors[1] < .6 || math.Max(math.Max(factors[2], factors[3]), factors[4]) > .4) {
			t.Errorf("factors %v of one feature that tells and noise", factors)
		}
	}
}

// TestStart: with all factors 1 the trees begin at the additive model of Newton steps.
func TestStart(t *testing.T) {
	rows, class := table(400, 3, 4, xor)
	e := newEnsemble(coded(numbered(rows, class)), 1)
	if err := e.additive(t.Context()); err != nil {
		t.Fatal(err)
	}
	z := make([]float64, 1)
	for i := range e.len() {
		if e.shrunk(int32(i), []float64{1, 1, 1, 1}, z); math.Abs(z[0]-e.z[i]) > 1e-9 {
			t.Fatalf("record %d begins at %v, the additive model is %v", i, z[0], e.z[i])
		}
	}
}

// TestAhead: where two thresholds turn round in the newest fifth, trees of the older records raise its log-loss.
func TestAhead(t *testing.T) {
	for _, turned := range []bool{false, true} {
		at := 0
		rows, class := table(3000, 4, 8, func(x []float64) float64 {
			at++
			same := above(x[0]) == above(x[1])
			if same != (turned && at > 2400) {
				return .9
			}
			return .1
		})
		r := coded(numbered(rows, class))
		o := Default()
		s := shape{leaves: o.Leaves, least: least, curvature: curvature, ridge: ridge, rate: o.Rate}
		gain, err := ahead(t.Context(), r, s, outcome{rounds: 20, start: make([]float64, 5)})
		if err != nil || turned && !(gain < -.1) || !turned && !(gain > .2) {
			t.Errorf("turned round %v: gain %v, error %v", turned, gain, err)
		}
	}
}

// TestAheadTakesTheSharesOfTheNewest: trees gain what they tell of the newest records, where the classes have other
// shares there than before and the log-odds of each record have moved alike.
func TestAheadTakesTheSharesOfTheNewest(t *testing.T) {
	gain := func(moved float64) float64 {
		at := 0
		rows, class := table(6000, 4, 8, func(x []float64) float64 {
			at++
			z := -2.2
			if above(x[0]) == above(x[1]) {
				z = 2.2
			}
			if at > 4800 {
				z += moved
			}
			return sigmoid(z)
		})
		o := Default()
		s := shape{leaves: o.Leaves, least: least, curvature: curvature, ridge: ridge, rate: o.Rate}
		gain, err := ahead(t.Context(), coded(numbered(rows, class)), s, outcome{rounds: 20, start: make([]float64, 5)})
		if err != nil {
			t.Fatal(err)
		}
		return gain
	}
	for _, moved := range []float64{-2, 2} { // at the shares of the older records it is .08 and .12
		if got := gain(moved); !(got > .13) {
			t.Errorf("log-odds moved by %v: gain %v", moved, got)
		}
	}
}

// TestAheadWeighsRecords: where half of the newest records go the other way, their weights say what the trees gain.
func TestAheadWeighsRecords(t *testing.T) {
	for _, c := range []struct {
		turned float64 // weight of the records that go the other way; the others have the rest of 2
		gains  bool
	}{{.1, true}, {1.9, false}} {
		at := 0
		rows, class := table(3000, 4, 8, func(x []float64) float64 {
			at++
			same := above(x[0]) == above(x[1])
			if same != (at > 2400 && at%2 == 0) {
				return .9
			}
			return .1
		})
		ev := numbered(rows, class)
		for i := 2400; i < len(rows); i++ {
			if ev.Weight[i] = 2 - c.turned; i%2 == 1 { // record i was drawn at i + 1
				ev.Weight[i] = c.turned
			}
		}
		o := Default()
		s := shape{leaves: o.Leaves, least: least, curvature: curvature, ridge: ridge, rate: o.Rate}
		gain, err := ahead(t.Context(), coded(ev), s, outcome{rounds: 20, start: make([]float64, 5)})
		if err != nil || c.gains && !(gain > .1) || !c.gains && !(gain < -.1) {
			t.Errorf("turned records weigh %v: gain %v, error %v", c.turned, gain, err)
		}
	}
}

// TestFewMovingRecords: a few records of a stream that moves have no trees.
func TestFewMovingRecords(t *testing.T) {
	for _, c := range []struct {
		n     int
		moves bool
		want  bool
	}{{leastMoving - 1, true, false}, {leastMoving, true, true}, {leastMoving - 1, false, true}} {
		rows, class := table(c.n, 3, 8, xor)
		f := New(Default(), numbered(rows, class).Schema)
		s := shape{leaves: 8, least: least, curvature: curvature, ridge: ridge, rate: .15}
		o := outcome{rounds: 20, start: make([]float64, 4), gain: 1, stderr: .1, moves: c.moves}
		if got, err := f.keeps(t.Context(), coded(numbered(rows, class)), s, o); err != nil || got != c.want {
			t.Errorf("%d records, moving %v: kept %v, error %v", c.n, c.moves, got, err)
		}
	}
}

// TestMoves: gains that are alike within runs are found.
func TestMoves(t *testing.T) {
	for _, moving := range []bool{false, true} {
		at := 0
		rows, class := table(3000, 4, 8, func(x []float64) float64 {
			at++
			if moving && (at/300)%4 == 1 {
				return .5 // in some runs nothing tells
			}
			return xor(append(x[:2:2], 0))
		})
		r := coded(numbered(rows, class))
		o := Default()
		s := shape{leaves: o.Leaves, least: least, curvature: curvature, ridge: ridge, rate: o.Rate}
		_, out, err := boost(t.Context(), r, s, 30)
		if err != nil || out.moves != moving {
			t.Errorf("moving %v: %+v, error %v", moving, out, err)
		}
	}
}

// TestTotalIsThatOfWholeRounds: with some of the rounds a record has the log-odds that it had after them, of one margin
// and of several, which have a tree each in a round.
func TestTotalIsThatOfWholeRounds(t *testing.T) {
	rows, class := table(600, 3, 4, xor)
	l, ex := modeltest.Generate(modeltest.Schema(), 600, 3)
	for name, r := range map[string]*records{
		"one margin": coded(numbered(rows, class)), "three": coded(modeltest.Evidence(modeltest.Schema(), l, ex)),
	} {
		e := newEnsemble(r, 1)
		if err := e.additive(t.Context()); err != nil {
			t.Fatal(err)
		}
		factors := make([]float64, len(e.parts))
		for k := range factors {
			factors[k] = .5
		}
		e.begin(factors)
		x := newGrower(e, shape{leaves: 4, least: least, curvature: curvature, ridge: ridge, rate: .3})
		after := [][]float64{slices.Clone(e.z)}
		for range 4 {
			if more, err := x.round(t.Context()); err != nil || !more {
				t.Fatalf("%s: a round grew a tree: %v, %v", name, more, err)
			}
			after = append(after, slices.Clone(e.z))
		}
		z := make([]float64, e.margins)
		for rounds, want := range after {
			for _, i := range e.held {
				e.total(i, factors, rounds, z)
				for m, v := range z {
					if w := want[int(i)*e.margins+m]; !(math.Abs(v-w) <= 1e-9) {
						t.Fatalf("%s, record %d, margin %d: %v with %d rounds, want %v", name, i, m, v, rounds, w)
					}
				}
			}
		}
	}
}

// TestAStillStreamDoesNotLookLikeOneThatMoves: of 120 streams of a few hundred records that stand still none does, so
// that chance does not take away trees that serve. With a bound of 1.5 two did.
func TestAStillStreamDoesNotLookLikeOneThatMoves(t *testing.T) {
	s := shape{leaves: 4, least: least, curvature: curvature, ridge: ridge, rate: .3}
	for seed := range 120 {
		rows, class := table(400, 3, uint64(seed), xor)
		_, o, err := boost(t.Context(), coded(numbered(rows, class)), s, 20)
		if err != nil || o.moves {
			t.Errorf("stream %d: moves %v, %v", seed, o.moves, err)
		}
	}
}
