package trees

import (
	"context"
	"math"
)

// newest is the share of the records, by clock, on which trees of the older ones must do well.
const newest = 1. / 5

// ahead fits an additive model and trees on the older records and returns how far the trees lower the log-loss of the
// newest ones, in nats a record; 0 without records. The factors of the additive model and the class shares are the best
// ones for the newest records, with and without the trees: the scorecard follows both, and needs the trees for neither
// (METHOD.md 4).
func ahead(ctx context.Context, r *records, s shape, o outcome) (float64, error) {
	later := *r
	later.fold = make([]uint8, r.len())
	for i := r.len() - int(math.Round(newest*float64(r.len()))); i < r.len(); i++ {
		later.fold[i] = 1
	}
	e := newEnsemble(&later, 1)
	if len(e.rows) == 0 || len(e.held) == 0 {
		return 0, nil
	}
	if err := e.additive(ctx); err != nil {
		return 0, err
	}
	e.begin(o.start)
	x := newGrower(e, s)
	for range o.rounds {
		if _, err := x.round(ctx); err != nil {
			return 0, err
		}
	}
	trees := make([]float64, len(e.z))
	z := make([]float64, e.margins)
	for _, i := range e.held {
		e.shrunk(i, o.start, z)
		for m, v := range z {
			trees[int(i)*e.margins+m] = e.z[int(i)*e.margins+m] - v
		}
	}
	e.constant = e.rates(e.held)
	return e.best(nil) - e.best(trees), nil
}

// best is the log-loss of the held records at the factors that suit them best, with numbers beside the additive model,
// records x margins, or nil.
func (e *ensemble) best(beside []float64) float64 {
	add := func(e *ensemble, i int32, z []float64) {
		if beside != nil {
			for m := range z {
				z[m] += beside[int(i)*e.margins+m]
			}
		}
	}
	factors := shrink([]*ensemble{e}, add)
	sum, total, z := 0., 0., make([]float64, e.margins)
	for _, i := range e.held {
		e.shrunk(i, factors, z)
		add(e, i, z)
		sum += e.weight[i] * loss(z, e.class[i])
		total += e.weight[i]
	}
	return sum / total
}
