package lift

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// enter chooses the sets of up to three features, at most MaxEntered, that lower the log-loss of a scorecard of single
// features most. It evaluates a set on each quarter of the time, fitted on the three other quarters, and takes sets
// greedily, each beside the sets before it, as long as the gain is certain (enterGain, enterCertain).
//
// The candidates are single features in finer cells, pairs, and triples that extend a chosen pair. In a later round a
// candidate is evaluated again only while its gain of an earlier round exceeds the best gain of this one.
func enter(ctx context.Context, s *sample) ([]*Entered, error) {
	e := entering{sample: s}
	e.stride = max((s.n+enterRecords-1)/enterRecords, 1)
	for r := s.n - 1; r >= 0; r -= e.stride {
		if s.weight[r] > 0 {
			e.rows = append(e.rows, int32(r))
		}
	}
	if len(e.rows) < enterLeast || len(s.fields) == 0 {
		return nil, nil
	}
	first := s.class[e.rows[0]]
	if !slices.ContainsFunc(e.rows, func(r int32) bool { return s.class[r] != first }) {
		return nil, nil
	}
	slices.Reverse(e.rows)
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	a := newAdditive(s, e.rows)
	if err := e.singles(ctx, a); err != nil {
		return nil, err
	}
	open := e.candidates()
	var out []*Entered
	for len(out) < MaxEntered {
		slices.SortStableFunc(open, func(x, y candidate) int { return cmp.Compare(y.gain, x.gain) })
		best := -1
		for i := range open {
			if best >= 0 && open[i].gain <= open[best].gain {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := &open[i]
			cell, cells := e.cell(c.at)
			c.gain, c.se, c.ridge = a.gain(cell, cells, &e.work)
			if c.gain > max(enterCertain*c.se, enterGain) && (best < 0 || c.gain > open[best].gain) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		chosen := open[best]
		open = slices.Delete(open, best, best+1)
		open = slices.DeleteFunc(open, func(c candidate) bool { return c.gain < c.se })
		if x := e.take(a, chosen); x != nil {
			out = append(out, x)
		}
		open = e.extended(open, chosen)
	}
	return out, nil
}

// How sets are chosen to enter.
const (
	enterRecords  = 1 << 16 // most records that are looked at, evenly thinned
	enterLeast    = 1000    // records below which nothing enters
	enterFolds    = 4       // stretches of time; each evaluates a set fitted on the others
	enterFeatures = 48      // features of highest eta that are combined
	enterFine     = 16      // cells of a continuous feature by itself
	enterCoarse   = 8       // cells of it in a set of several features
	enterAlone    = 64      // cells of it as a set of its own, besides those of frequent values
	enterCells    = 2048    // most cells of a set
	enterPasses   = 6       // of the fit of single features
	enterSingle   = 2.      // ridge of the cell weights of single features, in records of even odds times 4
	enterStep     = 1.      // longest step of a cell of a single feature, in log-odds; see bounded
	enterGain     = 1.      // nats by which a set must lower the log-loss of all records
	enterCertain  = 2.      // standard errors that the gain of a set must exceed
)

// entering chooses the sets that feed the scorecard.
type entering struct {
	*sample
	rows     []int32 // records looked at, oldest first
	stride   int     // every how many-th
	features []int32
	fine     [][]int32 // by position in features: cell of each of rows, missing ones too
	fineK    []int
	coarse   [][]int32 // -1 missing
	coarseK  []int
	cuts     [][]float64
	alone    [][]int32 // cells of a set of its own, nil for features with levels
	aloneCut [][]float64
	joint    []int32
	work     enterWork
}

// candidate is a set that may enter.
type candidate struct {
	at    []int // positions in features, ascending
	gain  float64
	se    float64
	ridge float64
}

// enterRidges are the ridges from which a set chooses, in records of even odds: the larger, the more alike its cells.
var enterRidges = [...]float64{10, 50, 250, 1250}

// candidates returns all single features that may have finer cells, and all pairs.
func (e *entering) candidates() []candidate {
	var open []candidate
	for i := range e.features {
		if e.alone[i] != nil {
			open = append(open, candidate{at: []int{i}, gain: math.Inf(1)})
		}
		for j := i + 1; j < len(e.features); j++ {
			if e.coarseK[i]*e.coarseK[j] <= enterCells {
				open = append(open, candidate{at: []int{i, j}, gain: math.Inf(1)})
			}
		}
	}
	return open
}

// extended adds the triples that hold a chosen pair.
func (e *entering) extended(open []candidate, chosen candidate) []candidate {
	if len(chosen.at) != 2 {
		return open
	}
	cells := e.coarseK[chosen.at[0]] * e.coarseK[chosen.at[1]]
	for j := range e.features {
		if j == chosen.at[0] || j == chosen.at[1] || cells*e.coarseK[j] > enterCells {
			continue
		}
		at := append(slices.Clone(chosen.at), j)
		slices.Sort(at)
		if !slices.ContainsFunc(open, func(o candidate) bool { return slices.Equal(o.at, at) }) {
			open = append(open, candidate{at: at, gain: math.Inf(1)})
		}
	}
	return open
}

// take fits a chosen set beside the sets fitted before it; nil when the bound on cells leaves no room for it.
func (e *entering) take(a *additive, c candidate) *Entered {
	var features []int32
	for _, at := range c.at {
		features = append(features, e.features[at])
	}
	slices.Sort(features)
	parts := partsOf(e.schema, features, Product)
	for i := range parts {
		at := slices.Index(e.features, parts[i].features[0])
		if parts[i].cuts = e.cuts[at]; len(features) == 1 {
			parts[i].cuts = e.aloneCut[at]
		}
	}
	t := newSet(e.schema, features, Product, parts)
	if t == nil {
		return nil
	}
	row := make([]float64, len(e.column))
	cell := make([]int32, len(e.rows))
	cells := 0
	for i, r := range e.rows {
		for _, f := range features {
			row[f] = e.column[f][r]
		}
		cell[i] = int32(t.Cell(row))
		cells = max(cells, int(cell[i])+1)
	}
	value, fit := a.step(cell, cells, c.ridge), a.fit(cell, cells, c.ridge)
	fit.Unit /= float64(e.stride)
	a.add(cell, value)
	return &Entered{t, a.expand(value), fit}
}

// singles fits the cell weights of all features.
func (e *entering) singles(ctx context.Context, a *additive) error {
	for range enterPasses {
		for i, cell := range e.fine {
			if err := ctx.Err(); err != nil {
				return err
			}
			a.add(cell, a.bounded(cell, e.fineK[i], enterSingle))
		}
	}
	return nil
}
