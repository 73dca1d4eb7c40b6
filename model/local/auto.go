package local

import (
	"context"
	"fmt"
	"math"

	"liftstream/model"
)

// Trial is the leave-one-out quality of a measure: how well it finds the class of a prototype that is left out. The
// least log-loss of many trials is lower than the log-loss of the same measure on other records.
type Trial struct {
	Measure
	Records int
	// Errors is the share of records whose class is not that of most neighbours. LogLoss is the mean of -ln of the
	// smoothed share of the own class.
	Errors, LogLoss float64
}

// thetas and caps are the grid of auto.
var (
	thetas = []float64{.1, .15, .2, .25, .3, .4, .55}
	caps   = []float64{.1, .2, .4, .8, 1.6, 3.2}
)

// trialTerms bounds the terms of distances in one choice: some seconds on one core.
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

// choose sets the measure, and the threshold of paper A's subspace.
func (x *fitter) choose(ctx context.Context, s *structure) error {
	if x.options.Plain {
		return nil
	}
	s.theta = x.options.Theta
	s.measure = Measure{Theta: max(0, x.options.Theta), Close: true}
	n := len(x.rows)
	if n < 2 {
		s.theta = max(0, s.theta)
		return nil
	}
	all := []Measure{{Theta: s.measure.Theta}}
	if x.options.Theta < 0 {
		all = measures()
	}
	queries := n
	if work := float64(n) * float64(len(s.features)) * float64(len(all)); work*float64(queries) > trialTerms {
		queries = max(1, int(trialTerms/work))
	}
	trials := make([]Trial, 2*len(all))
	weights := x.leftOut(s, queries)
	try := func(ctx context.Context) func(i int) error {
		return func(i int) error {
			trials[2*i], trials[2*i+1] = x.trial(ctx, s, all[i], queries, weights)
			return ctx.Err()
		}
	}
	if err := x.ev.Share(ctx, len(all), try); err != nil {
		return fmt.Errorf("choosing the distance: %w", err)
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
	if s.useless = x.uselessness(s, queries); x.options.Theta < 0 {
		// A feature that tells no more than an uninformative one does not matter for a record (METHOD.md 3.2: that is .29 of
		// the largest on WDBC, and .8 where the rarer class is rare). The neighbours are found by the measure.
		s.theta = max(s.theta, s.useless)
	}
	return nil
}

// better compares the sums of log-loss and share of errors: log-loss distinguishes more finely, and eval counts errors.
func (t *Trial) better(o *Trial) bool { return t.LogLoss+t.Errors < o.LogLoss+o.Errors-1e-12 }

// trial leaves out one prototype after the other, evenly spread; weights are the features' relevance without the
// left-out prototype. It returns the figures of neighbours that vote alike, and of neighbours that vote by closeness;
// when ctx ends, none that mean anything.
func (x *fitter) trial(
	ctx context.Context, s *structure, m Measure, queries int, weights []int64,
) (alike, close Trial) {
	l := s.prototypes.limits(m)
	w := newScratch(s)
	alike, close = Trial{Measure: m, Records: queries}, Trial{Measure: m, Records: queries}
	close.Close = true
	row := make(model.Row, len(s.features))
	n := len(x.rows)
	for k := range queries {
		if k%16 == 0 && ctx.Err() != nil {
			return alike, close
		}
		i := k * n / queries
		x.ev.Row(x.rows[i], row)
		w.weights = weights[k*len(row) : (k+1)*len(row)]
		found := s.neighbourhood(row, m, &l, i, w)
		own := s.prototypes.class[i]
		for _, t := range []*Trial{&alike, &close} {
			vote(w.near[:found], w.ties, s.prototypes.class, t.Close, w.votes, w.far)
			if found == 0 || w.best() != int(own) {
				t.Errors += 1 / float64(queries)
			}
			smoothed := w.votes[own] + s.prototypes.smooth(&t.Measure, int(own))
			t.LogLoss -= math.Log(smoothed/(total(w.votes)+pseudo)) / float64(queries)
		}
	}
	return alike, close
}

// leftOut returns the weights of every feature at each of the tried prototypes, as they would be without the prototype.
// It takes off a record of the mean weight of its class, since the histograms do not hold single weights.
func (x *fitter) leftOut(s *structure, queries int) []int64 {
	out := make([]int64, 0, queries*len(s.features))
	n := len(x.rows)
	m := make([]float64, x.classes)
	for k := range queries {
		i := x.rows[k*n/queries]
		own := x.ev.Class[i]
		for j := range s.features {
			f, near := &s.features[j], &x.around[j]
			v := x.ev.Columns[j][i]
			at := func(bin int, kernel float64) float64 {
				copy(m, near.mass[bin*x.classes:])
				kernel *= near.weights[own]
				m[own] = max(0, m[own]-kernel)
				return relevanceOf(m, near.counts, near.squares[bin]-kernel*kernel)
			}
			r := 0.0
			if f.nominal {
				if v == v && int(v) < len(near.squares) {
					r = at(int(v), 1)
				}
			} else if p, ok := f.value(v); ok && len(near.squares) > 0 {
				bin, above := f.split(p)
				kernel := func(bin int) float64 {
					d := (p - f.at(bin)) / f.scale / x.options.Width
					return math.Exp(-.5 * d * d)
				}
				r = at(bin, kernel(bin))
				if above > 0 {
					r += above * (at(bin+1, kernel(bin+1)) - r)
				}
			}
			out = append(out, quantise(r))
		}
	}
	return out
}

// uselessness is the mean, over prototypes, of the relevance of a feature with the neutral score and the reference's
// variance. theta must exceed it to keep such features out (METHOD.md 3.2).
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
