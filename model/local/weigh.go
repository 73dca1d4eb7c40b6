package local

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/wire"
)

// newestBytes bounds the newest records in a state.
const newestBytes = 1 << 20

// Weights of features, and the search for them (METHOD.md 4.3).
const (
	neutralWeight = 16
	mostWeight    = 256
	weighRounds   = 3
	weighTrials   = 7    // of a feature, in all rounds
	weighQueries  = 512  // at most
	weighSpan     = 4096 // records at the end of the evidence from which queries are drawn
	weighWindow   = 2048 // most records to which a query is compared
	weighLeast    = 64   // records below which weights stay equal
	weighGain     = .003 // nats by which a change must lower the log-loss
	sayErrors     = 2    // standard errors by which neighbours must beat the base rates
	lateShare     = 16   // part of the newest records by which labels may be late
	weighTerms    = 2e9  // bounds the terms of all trials
)

// changes are the factors, in quarters, by which a round multiplies the weight of a feature.
func changes(round int) []int64 {
	if round == 0 {
		return []int64{16, 1, 0}
	}
	return []int64{8, 2}
}

// room is the number of newest records that fit into newestBytes of a state.
func (x *fitter) room() int { return min(x.options.Newest, newestBytes/(8*len(x.schema.Features)+16)) }

// weighSteps estimates the work of weigh.
func (x *fitter) weighSteps(features, records float64) float64 {
	window := min(records, float64(x.room()), weighWindow)
	return 2 * min(weighTrials*features*min(records, weighQueries)*window, weighTerms)
}

// weighing is the search for weights. Queries are records of the evidence, each with distances to the window of records
// that were known when it was scored.
type weighing struct {
	s       *structure
	order   []int     // the compared features, by name
	places  [][]int32 // by feature, of the records from the first that a query is compared with
	class   []int32   // of the same
	base    []float64
	queries []int // their numbers among these
	gap     int   // records before a query whose labels were not known
	window  int
	sum     [][]int64 // by query, under the current weights
	near    []neighbour
	lifts   []float64
	losses  []float64 // by query
	best    []float64 // under the current weights
}

// weigh chooses the weight of every feature in the distance to the newest records: the one with which records of the
// evidence are told best from those known before each (METHOD.md 4.3). It starts from equal weights, and leaves them
// equal where there are few records. All weights are 0, and newest records have no say, where they tell no more than
// the base rates, and where labels come so late that they are not new.
func (x *fitter) weigh(ctx context.Context, s *structure) error {
	s.newest = x.room()
	if s.newest == 0 {
		return nil
	}
	s.weights = make([]int64, len(s.features))
	if x.ev.Lag*lateShare > float64(s.newest) {
		return nil
	}
	z := &weighing{s: s, base: x.base}
	for j := range s.weights {
		if len(s.prototypes.columns[j].at) > 0 {
			s.weights[j] = neutralWeight
			z.order = append(z.order, j)
		}
	}
	if x.ev.Len() < weighLeast || x.options.Plain || len(z.order) == 0 {
		return nil
	}
	slices.SortFunc(z.order, func(a, b int) int {
		return strings.Compare(x.schema.Features[a].Name, x.schema.Features[b].Name)
	})
	s.plain = s.prototypes.limits(Measure{})
	z.near, z.lifts = make([]neighbour, s.neighbours), make([]float64, x.classes)
	x.lay(z)
	z.try(z.order[0], 0)
	z.best, z.losses = z.losses, make([]float64, len(z.losses))
	for round := range weighRounds {
		changed := false
		for _, j := range z.order {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("weighing the features: %w", err)
			}
			was := s.weights[j]
			for _, by := range changes(round) {
				w := min(was*by/4, mostWeight)
				if w == s.weights[j] || w == 0 && by > 0 {
					continue
				}
				if z.try(j, w-s.weights[j]); better(z.losses, z.best, weighGain, 0) {
					z.move(j, w-s.weights[j])
					s.weights[j], changed = w, true
					z.best, z.losses = z.losses, z.best
				}
			}
		}
		if !changed {
			break
		}
	}
	for k, i := range z.queries {
		z.losses[k] = 0
		if b := z.base[z.class[i]]; b > 0 {
			z.losses[k] = -math.Log(b)
		}
	}
	if !better(z.best, z.losses, 0, sayErrors) {
		clear(s.weights)
	}
	return nil
}

// better reports whether the mean of the first losses is lower than that of the second by more than gain, and by that
// many standard errors of the mean difference.
func better(a, b []float64, gain, errors float64) bool {
	n, sum, squares := float64(len(a)), 0.0, 0.0
	for k := range a {
		d := b[k] - a[k]
		sum += d
		squares += float64(d * d)
	}
	return sum > gain*n && float64(sum*sum)*(n-1) > errors*errors*(float64(n*squares)-float64(sum*sum))
}

// lay draws the queries, evenly from the newest records, and sums the distances of equal weights.
func (x *fitter) lay(z *weighing) {
	n := x.ev.Len()
	z.gap = int(min(x.ev.Lag*float64(len(x.ev.Parties())), float64(n/2)))
	z.window = min(z.s.newest, weighWindow, (n-z.gap)/2)
	many := weighQueries
	if work := weighTrials * float64(len(z.order)) * float64(z.window); work*float64(many) > weighTerms {
		many = max(1, int(weighTerms/work))
	}
	from := max(z.window+z.gap, n-weighSpan)
	many = min(many, n-from)
	first := from - z.window - z.gap
	for k := range many {
		z.queries = append(z.queries, from-first+(2*k+1)*(n-from)/(2*many))
		z.sum = append(z.sum, make([]int64, z.window))
	}
	z.losses = make([]float64, many)
	z.places, z.class = make([][]int32, len(z.s.features)), x.ev.Class[first:]
	row := make(model.Row, len(z.s.features))
	for _, j := range z.order {
		c, at := &z.s.prototypes.columns[j], make([]int32, len(z.class))
		for i := range at {
			row[j] = x.ev.Columns[j][first+i]
			at[i] = c.place(z.s.features[j].clean(row, int32(j)))
		}
		z.places[j] = at
		z.move(j, neutralWeight)
	}
}

// known are the numbers of the records that were known when that query was scored: from first to end.
func (z *weighing) known(i int) (first, end int) { return i - z.gap - z.window, i - z.gap }

// term is the distance in one feature.
func (z *weighing) term(j int, q, v int32) int64 {
	if q == absent {
		return 0
	}
	if v == absent {
		return z.s.plain.expected[j]
	}
	d := int64(v) - int64(q)
	return min(d*d, z.s.plain.cap[j])
}

// widest is at least the distance of any two records in one feature.
func (z *weighing) widest(j int) int64 {
	low, high := int64(math.MaxInt32), int64(math.MinInt32)
	for _, v := range z.places[j] {
		if v != absent {
			low, high = min(low, int64(v)), max(high, int64(v))
		}
	}
	if low > high {
		return z.s.plain.expected[j]
	}
	return max(min((high-low)*(high-low), z.s.plain.cap[j]), z.s.plain.expected[j])
}

// move adds to the weight of a feature in all sums.
func (z *weighing) move(j int, by int64) {
	for k, i := range z.queries {
		first, end := z.known(i)
		q := z.places[j][i]
		for o, v := range z.places[j][first:end] {
			z.sum[k][o] += by * z.term(j, q, v)
		}
	}
}

// try fills losses with the log-loss of each query with that much added to the weight of feature j. Records that the
// feature cannot bring among the neighbours are left out by their present sums alone.
func (z *weighing) try(j int, by int64) {
	least := min(by, 0) * z.widest(j) // of the change of a sum
	for k, i := range z.queries {
		n, bound := 0, beyond
		first, end := z.known(i)
		at, q := z.places[j][first:end], z.places[j][i]
		sum := z.sum[k][:len(at)]
		for o := len(sum) - 1; o >= 0; o-- {
			d := sum[o]
			if d >= bound {
				continue
			}
			if d += by * z.term(j, q, at[o]); n < len(z.near) || d < z.near[n-1].distance {
				if n = place(z.near, n, d, int32(o)); n == len(z.near) {
					bound = z.near[n-1].distance - least
				}
			}
		}
		opinion(z.near[:n], z.class[first:end], z.base, z.lifts)
		z.losses[k] = 0
		if y := z.class[i]; z.base[y] > 0 {
			z.losses[k] = -z.lifts[y] - math.Log(z.base[y])
		}
	}
}

// prepareNewest computes the tables of the distance to the newest records.
func (s *structure) prepareNewest() {
	s.plain = s.prototypes.limits(Measure{})
	s.heaviest = s.heaviest[:0]
	for j, w := range s.weights {
		if w > 0 {
			s.heaviest = append(s.heaviest, int32(j))
		}
	}
	slices.SortStableFunc(s.heaviest, func(a, b int32) int { return int(s.weights[b] - s.weights[a]) })
	s.stride = padded(len(s.heaviest))
	s.prepareCoarse()
	if s.ranges = nil; s.prototypes.scanned {
		s.ranges = ranges(s.grids)
	}
}

func (s *structure) appendWeights(b []byte) []byte {
	return wire.AppendInts(wire.AppendUvarint(b, uint64(s.newest)), s.weights)
}

func (s *structure) decodeWeights(r *wire.Reader) {
	s.newest, s.weights = r.Int(maxPrototypes), wire.Ints[int64](r)
	if r.Err() == nil && (s.newest == 0 || len(s.weights) != len(s.features)) {
		r.Fail(fmt.Errorf("%d weights for %d newest records", len(s.weights), s.newest))
	}
	for j, w := range s.weights {
		if r.Err() == nil && (w < 0 || w > mostWeight || w > 0 && len(s.prototypes.columns[j].at) == 0) {
			r.Fail(fmt.Errorf("feature %d of weight %d", j, w))
		}
	}
}
