package local

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"liftstream/model"
)

// Trial is how well a measure finds the class of a prototype that is left out.
type Trial struct {
	Measure
	Records int
	// Errors is the share of records whose class is not that of most neighbours, LogLoss the mean of -ln of the smoothed
	// share of the own class.
	Errors, LogLoss float64
}

// thetas and caps are what auto chooses among.
var (
	thetas = []float64{.1, .15, .2, .25, .3, .4, .55}
	caps   = []float64{.1, .2, .4, .8, 1.6, 3.2}
)

// trialTerms bounds the terms of distances that a choice may compute: about five seconds on one core.
const trialTerms = 4e9

func measures() []Measure {
	out := []Measure{{}}
	for _, c := range caps {
		out = append(out, Measure{Cap: c})
	}
	for _, c := range caps {
		out = append(out, Measure{Cap: c, Weighted: true})
	}
	out = append(out, Measure{Weighted: true})
	for _, t := range thetas {
		out = append(out, Measure{Theta: t})
	}
	return out
}

// choose sets the measure and the threshold of the published subspace.
func (x *fitter) choose(ctx context.Context, s *structure) error {
	s.theta = x.options.Theta
	s.measure = Measure{Theta: max(0, x.options.Theta)}
	n := len(x.rows)
	if n < 2 {
		s.theta = max(0, s.theta)
		return nil
	}
	all := []Measure{s.measure}
	if x.options.Theta < 0 {
		all = measures()
	}
	queries := n
	if work := float64(n) * float64(len(s.features)) * float64(len(all)); work*float64(queries) > trialTerms {
		queries = max(1, int(trialTerms/work))
	}
	trials := make([]Trial, len(all))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, m := range all {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return fmt.Errorf("choosing the distance: %w", err)
			}
			trials[i] = x.trial(s, m, queries)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.trials = trials
	if x.options.Theta < 0 {
		best, shown := 0, -1
		for i, t := range trials {
			if t.better(&trials[best]) {
				best = i
			}
			if t.Theta > 0 && (shown < 0 || t.better(&trials[shown])) {
				shown = i
			}
		}
		s.measure, s.theta = trials[best].Measure, trials[shown].Theta
	}
	s.useless = x.uselessness(s, queries)
	return nil
}

func (t *Trial) better(o *Trial) bool { return t.LogLoss < o.LogLoss-1e-12 }

// trial leaves out one prototype after the other, evenly spread.
func (x *fitter) trial(s *structure, m Measure, queries int) Trial {
	caps, expected := s.limits(m)
	w := newScratch(s)
	t := Trial{Measure: m, Records: queries}
	row := make(model.Row, len(s.features))
	n := len(x.rows)
	for k := range queries {
		i := k * n / queries
		x.ev.Row(x.rows[i], row)
		found := s.neighbourhood(row, m, caps, expected, i, w)
		own := s.prototypes.class[i]
		votes := total(w.votes)
		if found == 0 || w.best() != int(own) {
			t.Errors++
		}
		t.LogLoss -= math.Log((w.votes[own] + pseudo*s.prototypes.prior[own]) / (votes + pseudo))
	}
	t.Errors /= float64(queries)
	t.LogLoss /= float64(queries)
	return t
}

// uselessness is the mean, over prototypes, of the relevance that a feature with the neutral score and the reference's
// variance would have: what theta must exceed to keep such features out (SPEC G.2).
func (x *fitter) uselessness(s *structure, queries int) float64 {
	w := newScratch(s)
	row := make(model.Row, len(s.features))
	neutral := x.options.Score.Neutral(s.base)
	d := s.divergence.of(neutral, s.reference.sd*s.reference.sd, s.reference)
	sum, n := 0.0, 0
	for k := range queries {
		x.ev.Row(x.rows[k*len(x.rows)/queries], row)
		s.diverge(row, w)
		top := 0.0
		for _, v := range w.divergence {
			if v > top {
				top = v
			}
		}
		if top > 0 {
			sum += d / max(top, d)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
