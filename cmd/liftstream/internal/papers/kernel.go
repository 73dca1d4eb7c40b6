package papers

import (
	"context"
	"fmt"
	"math"

	"liftstream/model/kernel/lp"
)

// programme is an instance of the kernel's linear programme whose optimum is known: one Gaussian kernel a width and
// coordinate of the points, all triples (i, j, k) of which i and j share a class that k lacks.
type programme struct {
	name   string
	points [][]float64
	class  []int
	widths []float64
	mode   lp.Mode
	gamma1 float64
	cost   float64 // gamma2 times the number of points
	// nugget prices rho by gamma1 as well, as a group of its own; alone makes every kernel a group.
	nugget, alone bool
	optimum       string
}

var (
	fourPoints  = [][]float64{{0}, {1}, {10}, {11}}
	twoAlike    = [][]float64{{0}, {0}, {1}, {5}}
	sixPoints   = [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}
	cubeCorners = [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}

	knownProgrammes = []programme{
		{name: "L1 literal", points: fourPoints, class: []int{0, 0, 1, 1}, widths: []float64{1}, mode: lp.Literal, gamma1: .1,
			cost: .04, optimum: ".380559456"},
		{name: "L1 nonneg", points: fourPoints, class: []int{0, 0, 1, 1}, widths: []float64{1}, mode: lp.Nonneg, gamma1: .1,
			cost: .04, optimum: ".380559456"},
		{name: "L2 literal: points that coincide force alpha = 0", points: twoAlike, class: []int{0, 0, 1, 1},
			widths: []float64{1}, mode: lp.Literal, gamma1: .1, cost: .04, optimum: "8.000000000"},
		{name: "L3 literal: alpha = 0 is forced", points: sixPoints, class: []int{0, 0, 0, 1, 1, 1}, widths: []float64{1, .1},
			mode: lp.Literal, gamma1: .1, cost: .06, optimum: "36.000000000"},
		{name: "L3 ridge, rho priced by gamma2", points: sixPoints, class: []int{0, 0, 0, 1, 1, 1}, widths: []float64{1, .1},
			mode: lp.Ridge, gamma1: .1, cost: .06, optimum: ".444258780"},
		{name: "L3 ridge, rho priced by gamma1 too", points: sixPoints, class: []int{0, 0, 0, 1, 1, 1},
			widths: []float64{1, .1}, mode: lp.Ridge, gamma1: .1, cost: .06, nugget: true, optimum: ".614931812"},
		{name: "L3 ridge, the same at gamma1 = 5", points: sixPoints, class: []int{0, 0, 0, 1, 1, 1},
			widths: []float64{1, .1}, mode: lp.Ridge, gamma1: 5, cost: .06, nugget: true, optimum: "14.582501843"},
		{name: "L3 ridge, every kernel a group, as in (4)", points: sixPoints, class: []int{0, 0, 0, 1, 1, 1},
			widths: []float64{1, .1}, mode: lp.Ridge, gamma1: .1, cost: .06, nugget: true, alone: true, optimum: ".635121759"},
		{name: "2x2x2 cube literal: alpha = 0 is forced", points: cubeCorners, class: []int{0, 1, 1, 0, 1, 0, 0, 1},
			widths: []float64{1, 10}, mode: lp.Literal, gamma1: .1, cost: .01, optimum: "96.000000000"},
	}
)

// lp builds the programme.
func (x *programme) lp() *lp.Problem {
	features := len(x.points[0])
	n := features * len(x.widths)
	p := &lp.Problem{Mode: x.mode, Gamma: x.gamma1, Groups: features, RidgeCost: x.cost, Points: len(x.points),
		Columns: make([][]float64, n)}
	if x.nugget {
		p.RidgeCost += x.gamma1
	}
	p.Pair = func(i, j int, dst []float64) {
		for k := range dst {
			f, w := k/len(x.widths), x.widths[k%len(x.widths)]
			d := x.points[i][f] - x.points[j][f]
			dst[k] = math.Exp(-w * d * d)
		}
	}
	ones := make([]float64, n)
	for k := range ones {
		ones[k] = 1
		p.Group = append(p.Group, int32(k/len(x.widths)))
		if x.alone {
			p.Group[k], p.Groups = int32(k), n
		}
		p.Cost = append(p.Cost, x.cost)
	}
	near, far := make([]float64, n), make([]float64, n)
	for i := range x.points {
		p.Diagonal = append(p.Diagonal, ones)
		for j := range x.points {
			for c := range x.points {
				if i == j || x.class[i] != x.class[j] || x.class[i] == x.class[c] {
					continue
				}
				p.Pair(i, j, near)
				p.Pair(i, c, far)
				for k := range near {
					p.Columns[k] = append(p.Columns[k], near[k]-far[k])
				}
			}
		}
	}
	return p
}

// programmes solves the known programmes; every answer must verify.
func (r *Reproduction) programmes(ctx context.Context) error {
	for i := range knownProgrammes {
		x := &knownProgrammes[i]
		p := x.lp()
		got, err := lp.Solve(ctx, p, nil)
		if err == nil {
			err = p.Verify(got)
		}
		if err != nil {
			return fmt.Errorf("solving %s: %w", x.name, err)
		}
		r.number(x.name, x.optimum, got.Upper)
	}
	return r.flushBeside("Kernel by linear programming: optima of small instances", "optimum")
}
