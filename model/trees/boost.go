package trees

import (
	"context"
	"maps"
	"math"
	"slices"
)

const (
	folds    = 5
	foldRuns = 10. // runs of records of one fold, by turns
	patience = 20  // rounds without a better log-loss out of fold after which no more are tried
)

// outcome of boosting out of fold.
type outcome struct {
	rounds       int
	factors      []float64 // of the parts of the additive model, see shrink
	start        []float64 // the same where the trees begin, see even
	before       float64   // log-loss of the shrunken additive model, out of fold
	gain, stderr float64   // by which the trees lower it, and its standard error
	moves        bool      // the gains of records that stand together are alike, see mostAlike
}

// boost fits the ensembles of all folds, round by round, and chooses the number of rounds of the least log-loss on the
// records that each has not seen. The trees begin at the shrunken additive model (METHOD.md 4).
func boost(ctx context.Context, r *records, s shape, rounds int) ([]*ensemble, outcome, error) {
	es, xs := make([]*ensemble, folds), make([]*grower, folds)
	for k := range es {
		es[k] = newEnsemble(r, k)
		if err := es[k].additive(ctx); err != nil {
			return nil, outcome{}, err
		}
		xs[k] = newGrower(es[k], s)
	}
	out := outcome{factors: shrink(es, nil), start: even(es)}
	for _, e := range es {
		e.begin(out.start)
	}
	held := func() (sum float64) {
		for _, e := range es {
			for _, i := range e.held {
				sum += e.weight[i] * loss(e.z[int(i)*e.margins:(int(i)+1)*e.margins], e.class[i])
			}
		}
		return sum
	}
	least := held()
	for round := 1; round <= rounds && round <= out.rounds+patience; round++ {
		any := false
		for _, x := range xs {
			more, err := x.round(ctx)
			if err != nil {
				return nil, out, err
			}
			any = any || more
		}
		if !any {
			break
		}
		if l := held(); l < least {
			least, out.rounds = l, round
		}
	}
	out.measure(es)
	return es, out, nil
}

// round grows a tree a margin. A margin without a split has an empty place, so that rounds can be counted.
func (x *grower) round(ctx context.Context) (any bool, err error) {
	if len(x.rows) == 0 {
		return false, nil
	}
	x.gradients()
	for m := range x.margins {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		t := x.grow(m, x.rows)
		x.trees = append(x.trees, t)
		any = any || t != nil
	}
	return any, nil
}

// mostAlike is the number of times that the standard error of sums of clusters may be that of independent records. Of
// streams that stand still one fit of 1,600 exceeds it by chance, of electricity and covtype it is 2 to 7 (METHOD.md
// 4).
const mostAlike = 1.8

// measure compares the shrunken additive model with it and the trees of the chosen rounds, on the records that neither
// has seen: the mean of the differences d of their log-losses, and its standard error. That is
// the larger one of independent records, sqrt(sum w^2 (d - mean)^2) / sum w, and of the sums of clusters, in which
// records depend on each other (METHOD.md 4).
func (o *outcome) measure(es []*ensemble) {
	var d, w []float64
	var run []uint64
	var total, sum float64
	for _, e := range es {
		z := make([]float64, e.margins)
		for _, i := range e.held {
			e.shrunk(i, o.factors, z)
			before := loss(z, e.class[i])
			e.total(i, o.start, o.rounds, z)
			x := before - loss(z, e.class[i])
			d, w, run = append(d, x), append(w, e.weight[i]), append(run, e.cluster[i])
			total += e.weight[i]
			sum += e.weight[i] * x
			o.before += e.weight[i] * before
		}
	}
	if total == 0 {
		return
	}
	o.before /= total
	o.gain = sum / total
	alone, runs := 0., map[uint64]float64{}
	for i := range d {
		x := w[i] * (d[i] - o.gain)
		alone += x * x
		runs[run[i]] += x
	}
	together := 0.
	for _, k := range slices.Sorted(maps.Keys(runs)) {
		together += runs[k] * runs[k]
	}
	if n := float64(len(runs)); n > 1 {
		together *= n / (n - 1)
	}
	o.stderr = math.Sqrt(max(alone, together)) / total
	o.moves = together > mostAlike*mostAlike*alone
}
