package propensity

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// twin is a cluster that scores and learns with short cuts, or without: each record is located anew, the figures of all
// records are computed anew, and there are no lanes.
type twin struct {
	*cluster
	plain   bool
	waiting map[[2]int][]float64 // memories of scores, by partition and record
}

// do makes one step on a record in a partition, and returns all numbers that it tells.
func (w *twin) do(kind, p, i int, ex model.Example) (out []float64) {
	s, n := w.live[p], len(w.seen[p])
	target := int32(i % s.classes)
	switch kind {
	case 0, 1:
		memory := make([]float64, s.PendingLen())
		out = make([]float64, s.classes)
		s.Score(ex.Row, nil, memory, out)
		w.waiting[[2]int{p, i}] = memory
		if kind == 0 {
			break
		}
		for f, x := range s.Effects(ex.Row, memory, target, nil) {
			if out = append(out, x.Effect, x.N); f < len(s.features) {
				out = append(out, s.Lift(memory, target, f))
			}
		}
		out = append(out, s.Variance(target, out[target], slices.Repeat([]float64{.1}, len(s.features))))
	case 2:
		ex.Clock = float64(n)
		w.seen[p] = append(w.seen[p], ex)
		s.LearnScored(&ex, nil, w.waiting[[2]int{p, i}])
	case 3:
		last := &w.seen[p][n-1-i%10]
		s.Retract(last)
		was := last.Class
		last.Class = (was + 1) % int32(s.classes)
		s.Correct(last, was, nil)
		s.Learn(last)
	case 4:
		s.NotAfter(ex.Time - 100)
	case 5:
		if err := s.LoadState(s.AppendState(nil)); err != nil {
			w.t.Fatal(err)
		}
	default:
		w.fit()
	}
	return out
}

// step is do in the way of the twin.
func (w *twin) step(kind, p, i int, ex model.Example) (out []float64) {
	if !w.plain {
		return w.do(kind, p, i, ex)
	}
	for _, s := range w.live {
		s.row, s.every.known = s.row[:0], false
	}
	plainly(func() { out = w.do(kind, p, i, ex) })
	return out
}

// TestTwinWithoutShortCuts: scores, reasons, lifts, variances and states are those of a twin without short cuts, bit
// for bit, in a random order of steps.
func TestTwinWithoutShortCuts(t *testing.T) {
	for _, name := range []string{"two", "many", "special monotone"} {
		for _, follow := range []bool{false, true} {
			schema, opt := schemas()[name], Default()
			opt.Follow = follow
			l, ex := modeltest.Generate(schema, 700, 5)
			var twins []*twin
			for k := range 2 {
				w := &twin{cluster: newCluster(t, schema, l, 2), plain: k > 0, waiting: map[[2]int][]float64{}}
				w.f = New(opt, schema)
				for p := range w.live {
					w.live[p] = w.f.New(l).(*Scorecard)
				}
				twins = append(twins, w)
			}
			r := rand.New(rand.NewPCG(3, 4))
			kinds := []int{0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4}
			p, i := 0, 0
			for step := range 3000 {
				kind := kinds[r.IntN(len(kinds))]
				if step%1000 < 990 && r.IntN(2) == 0 { // else the same record again
					p, i = r.IntN(2), r.IntN(len(ex))
				}
				switch {
				case step < 300:
					kind = 2
				case step == 300 || step%1000 == 995:
					kind = 6
				case step%101 == 0:
					kind = 5
				}
				ex[i].Time = int64(1000 + step)
				got, want := twins[0].step(kind, p, i, ex[i]), twins[1].step(kind, p, i, ex[i])
				if k := sameBits(got, want); k >= 0 {
					t.Fatalf("%s, follow %v, step %d of kind %d: number %d of %v, want %v", name, follow, step, kind, k, got, want)
				}
			}
			for p := range 2 {
				if !bytes.Equal(twins[0].live[p].AppendState(nil), twins[1].live[p].AppendState(nil)) {
					t.Errorf("%s, follow %v: states of partition %d differ", name, follow, p)
				}
			}
		}
	}
}
