package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/kernel/lp"
)

// scale is the number of triples for which gamma1 and gamma2 are meant. A programme over T triples has T/scale times
// them, so that one configuration regularises alike at any number of triples (METHOD.md 3.1).
const scale = 1500

// design is a programme over one dictionary and one set of points.
type design struct {
	mode       lp.Mode
	given      bool // the caller gave the triples; each holds for the view of its first record only
	dictionary []Base
	group      []int32
	groups     int
	p          *points
	triples    [][3]int32
	columns    [][]float64
	trace      []float64 // mean of K_p(i,i) over the points of the triples
	members    []int32   // points of the triples, ascending
	diagonal   [][]float64
	verify     func(*lp.Problem, *lp.Result) error
	work       *model.Work // of all solves together
}

func newDesign(mode lp.Mode, dictionary []Base, p *points, triples [][3]int32) *design {
	d := &design{mode: mode, dictionary: dictionary, p: p, triples: triples, columns: columns(dictionary, p, triples),
		trace: make([]float64, len(dictionary)), verify: (*lp.Problem).Verify}
	d.group, d.groups = groups(dictionary)
	seen := make([]bool, p.n)
	for _, c := range triples {
		for _, i := range c {
			seen[i] = true
		}
	}
	for i, s := range seen {
		if s {
			d.members = append(d.members, int32(i))
		}
	}
	for k := range dictionary {
		for _, i := range d.members {
			d.trace[k] += dictionary[k].value(p, int(i), int(i))
		}
		d.trace[k] /= float64(len(d.members))
	}
	if mode != lp.Nonneg {
		for _, i := range d.members {
			row := make([]float64, len(dictionary))
			for k := range row {
				row[k] = dictionary[k].value(p, int(i), int(i))
			}
			d.diagonal = append(d.diagonal, row)
		}
	}
	return d
}

// single makes each kernel a group of its own.
func (d *design) single(yes bool) {
	if !yes {
		return
	}
	d.groups = len(d.dictionary)
	d.group = make([]int32, d.groups)
	for k := range d.group {
		d.group[k] = int32(k)
	}
}

// programme is the linear programme at gamma1 and gamma2: formulation (7) for one-feature kernels, whose groups are the
// features, and (4) for full kernels and single ones. gamma2 is the cost of one unit of alpha of a kernel with ones on
// its diagonal, at scale triples (METHOD.md 3.2).
func (d *design) programme(gamma1, gamma2 float64) *lp.Problem {
	factor := float64(len(d.triples)) / scale
	p := &lp.Problem{Mode: d.mode, Columns: d.columns, Group: d.group, Groups: d.groups, Gamma: gamma1 * factor,
		RidgeCost: gamma2 * factor, Work: d.work}
	for _, v := range d.trace {
		p.Cost = append(p.Cost, gamma2*factor*v)
	}
	if d.mode != lp.Nonneg {
		p.Points, p.Diagonal = len(d.members), d.diagonal
		p.Pair = func(i, j int, dst []float64) {
			for k := range dst {
				dst[k] = d.dictionary[k].value(d.p, int(d.members[i]), int(d.members[j]))
			}
		}
	}
	return p
}

// solve solves at the gammas and verifies the answer.
func (d *design) solve(ctx context.Context, gamma1, gamma2 float64, warm *lp.Result) (*lp.Result, error) {
	p := d.programme(gamma1, gamma2)
	r, err := lp.Solve(ctx, p, warm)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("solving: %w", err) // the proof takes as long as a round
	}
	if err := d.verify(p, r); err != nil {
		return nil, fmt.Errorf("verifying the weights: %w", err)
	}
	return r, nil
}

// gammas are the grid of auto, in the order of the walk: each solve starts from the answer of the one before. The
// paper's grid is {1e-4, 1e-2, .1, 1, 10, 100} for both.
var (
	grid1 = []float64{100, 30, 10, 3, 1, .1}
	grid2 = []float64{30, 3, .1}
)

// choice is a pair of gammas.
type choice struct {
	gamma1, gamma2 float64
	weights        *lp.Result // of the first half; nil when the pair was not tried
}

// choose picks the gammas by the paper's cross-validation on two halves: it measures the weights fitted on each half on
// the triples of the other (METHOD.md 3.3), from both views where the triples are drawn from classes. Of equally good
// pairs the last wins, which regularises least: it keeps more features when the triples do not speak against them. A
// gamma of NaN is chosen, a number stays. A pair whose answers do not verify is passed over. When ctx ends or the work
// is spent, the best pair so far is taken.
func choose(ctx context.Context, halves [2]*design, gamma1, gamma2 float64) (choice, error) {
	first, second := grid1, grid2
	if !math.IsNaN(gamma1) {
		first = []float64{gamma1}
	}
	if !math.IsNaN(gamma2) {
		second = []float64{gamma2}
	}
	best, chosen := math.Inf(-1), choice{gamma1: first[len(first)/2], gamma2: second[len(second)/2]}
	if len(first)*len(second) == 1 || len(halves[0].triples) == 0 || len(halves[1].triples) == 0 {
		return chosen, nil
	}
	for _, g2 := range second {
		var warm [2]*lp.Result
		for _, g1 := range first {
			sum, proved := 0.0, true
			for h, d := range halves {
				if ctx.Err() != nil || d.work.Spent() {
					return chosen, nil
				}
				r, err := d.solve(ctx, g1, g2, warm[h])
				if errors.Is(err, lp.ErrCertificate) {
					proved = false
					break
				}
				if err != nil {
					return chosen, err
				}
				warm[h] = r
				a := accuracy(d.dictionary, r.Alpha, d.p, halves[1-h].triples)
				if sum += a.Both; d.given {
					sum += a.Single - a.Both
				}
			}
			if proved && sum >= best {
				best, chosen = sum, choice{g1, g2, warm[0]}
			}
		}
	}
	return chosen, nil
}
