package trees

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// structure is the trees that serve, as the state of a partition holds them.
type structure struct {
	stamp    uint64  // of the trees; 0 = there are none
	run      float64 // records in a row that share a fold, 0 = folds are by content
	halfLife float64
	base     []float64 // share of the class of each margin among the records of the fit
	trees    []tree
}

// maxExponent is the largest exponent of two of the weight of a record; beyond it the counts are rescaled.
const maxExponent = 128

// counts are the records that a partition has learnt since the fit, by weight, which grows with the clock
// (model/MODEL.md 3).
type counts struct {
	base   float64   // half-lives divided out
	square float64   // sum of the squared weights
	total  float64   // sum of the weights
	class  []float64 // of these by margin: those of its class
	slot   []float64 // for each slot of each tree: weight, and weight of the margin's class
}

func (s *structure) newCounts() *counts {
	n := 0
	for i := range s.trees {
		n += 2 * len(s.trees[i].share)
	}
	return &counts{class: make([]float64, len(s.base)), slot: make([]float64, n)}
}

func (c *counts) clone() *counts {
	n := *c
	n.class, n.slot = slices.Clone(c.class), slices.Clone(c.slot)
	return &n
}

// Component serves the trees of a model and counts the classes in their leaves. It is a model.Component.
type Component struct {
	schema    *model.Schema
	structure *structure // nil before the first Rebase
	counts    *counts    // nil without trees
	part      []byte     // of the model; nil after LoadState
	folds     []*walker  // of the trees of part without one fold each, once they are asked for
	features  []int32    // that trees may split on, from then on
	out       []float64  // a number a margin
	walk      *walker
}

var (
	_ model.Component  = (*Component)(nil)
	_ model.Excluder   = (*Component)(nil)
	_ model.Attributor = (*Component)(nil)
)

// Learn counts the example in the leaf of every tree.
func (c *Component) Learn(ex *model.Example) { c.count(ex, 1) }

// Retract undoes Learn of the example.
func (c *Component) Retract(ex *model.Example) { c.count(ex, -1) }

func (c *Component) count(ex *model.Example, sign float64) {
	if c.counts == nil || !(ex.Weight > 0) || uint32(ex.Class) >= uint32(len(c.schema.Classes)) {
		return
	}
	s, n := c.structure, c.counts
	w := sign * min(ex.Weight, model.MaxWeight)
	if s.halfLife > 0 {
		e := ex.Clock/s.halfLife - n.base
		if e > maxExponent {
			n.rescale(math.Floor(e))
			e -= math.Floor(e)
		}
		w *= math.Exp2(e)
	}
	n.square += w * math.Abs(w)
	n.total += w
	margins := len(s.base)
	for m := range margins {
		if is(ex.Class, m, margins) {
			n.class[m] += w
		}
	}
	for _, leaf := range c.walk.to(ex.Row) {
		e := &c.walk.ends[leaf]
		n.slot[e.slot] += w
		if is(ex.Class, int(e.margin), margins) {
			n.slot[e.slot+1] += w
		}
	}
}

// rescale divides the weights by a power of two, which is exact.
func (c *counts) rescale(shift float64) {
	by := -int(min(shift, 4096))
	c.square, c.total = math.Ldexp(c.square, 2*by), math.Ldexp(c.total, by)
	for _, v := range [][]float64{c.class, c.slot} {
		for i := range v {
			v[i] = math.Ldexp(v[i], by)
		}
	}
	c.base += shift
}

// unit is model.Unit of weights that grow with the clock: up to maxExponent half-lives, beyond its bound.
func (c *counts) unit() float64 {
	if u := c.square / c.total; u > 0 && u <= math.Ldexp(model.MaxWeight, maxExponent) {
		return u
	}
	return 1
}

// InputCount is 1, or 0 while there are no trees.
func (c *Component) InputCount() int {
	if c.counts == nil {
		return 0
	}
	return 1
}

// Inputs writes the sum of the trees and of the shifts of their leaves as log-lifts: half of a margin for one class and
// against the other, and of more than two classes the margins less their mean.
func (c *Component) Inputs(row model.Row, dst []float64) {
	if c.counts == nil {
		return
	}
	c.margins(row, c.out)
	spread(c.out, dst[:len(c.schema.Classes)])
}

// leafPrior is the number of records of the fit's class share with which a leaf begins.
const leafPrior = 100

// maxMargin bounds a margin.
const maxMargin = 20

// margins sums up the trees, and moves each leaf by the change of its class share since the fit beyond that of all
// records, the mean of it over the trees of a margin (METHOD.md 6).
func (c *Component) margins(row model.Row, out []float64) {
	s, n := c.structure, c.counts
	clear(out)
	if !(n.total > 0) {
		for _, leaf := range c.walk.to(row) {
			e := &c.walk.ends[leaf]
			out[e.margin] += e.value
		}
		clamp(out)
		return
	}
	prior := leafPrior * n.unit()
	var moved, product [mostClasses]float64
	var trees [mostClasses]int
	for m := range out {
		product[m] = 1
	}
	for _, leaf := range c.walk.to(row) {
		e := &c.walk.ends[leaf]
		m := e.margin
		out[m] += e.value
		product[m] *= ratio(n.slot[e.slot+1], n.slot[e.slot], e.share, prior)
		if trees[m]++; trees[m]%together == 0 { // a logarithm takes as long as a way
			moved[m] += math.Log(product[m])
			product[m] = 1
		}
	}
	for m := range out {
		if trees[m] > 0 {
			moved[m] += math.Log(product[m])
			out[m] += moved[m]/float64(trees[m]) - math.Log(ratio(n.class[m], n.total, s.base[m], prior))
		}
	}
	clamp(out)
}

// together is the number of ratios that are multiplied before their logarithm is taken.
const together = 8

// ratio is the factor by which the odds of a class among n records, of which k are of the class, and prior records of
// the share p, differ from those of p. It is kept within 1e-24 and 1e24, so that a product of some has a logarithm.
func ratio(k, n, p, prior float64) float64 {
	k = max(k, 0)
	return min(max((k+prior*p)*(1-p)/((max(n-k, 0)+prior*(1-p))*p), 1e-24), 1e24)
}

func clamp(z []float64) {
	for i, v := range z {
		z[i] = min(max(v, -maxMargin), maxMargin)
	}
}

// spread writes margins as numbers of classes that sum to 0.
func spread(margins, dst []float64) {
	if len(margins) == 1 {
		dst[0], dst[1] = -margins[0]/2, margins[0]/2
		return
	}
	mean := 0.
	for _, v := range margins {
		mean += v
	}
	mean /= float64(len(margins))
	for y, v := range margins {
		dst[y] = v - mean
	}
}

// InputsWithout writes the sum of the trees that were fitted without the record's fold, and 0 where they are not at
// hand: a state does not hold them.
func (c *Component) InputsWithout(ex *model.Example, dst []float64) {
	if c.counts == nil {
		return
	}
	dst = dst[:len(c.schema.Classes)]
	clear(dst)
	if c.folds == nil && c.part != nil {
		if p, err := DecodePart(c.schema, c.part); err == nil {
			for _, trees := range p.folds {
				c.folds = append(c.folds, newWalker(trees, len(c.schema.Features)))
			}
			c.features = use(c.schema)
		}
	}
	if len(c.folds) != folds {
		return
	}
	clear(c.out)
	of := foldOf(c.structure.run, ex.Clock)
	if c.structure.run == 0 {
		of = uint8(contentOf(c.features, ex.Row) % folds)
	}
	own := c.folds[of]
	for _, leaf := range own.to(ex.Row) {
		e := &own.ends[leaf]
		c.out[e.margin] += e.value
	}
	clamp(c.out)
	spread(c.out, dst)
}

// Attribute adds to dst, feature after feature and classes innermost, the share of each feature in the input: from node
// to node on the way of the row the mean value of the leaves changes, by the feature of the split (METHOD.md 7). The
// rest of the input, the mean values of the trees and the shifts of leaves, belongs to no feature.
func (c *Component) Attribute(row model.Row, dst []float64) {
	if c.counts == nil {
		return
	}
	classes := len(c.schema.Classes)
	for k, leaf := range c.walk.to(row) {
		t := &c.structure.trees[k]
		for _, x := range c.walk.parts(t, k, leaf) {
			to := dst[int(x.feature)*classes : (int(x.feature)+1)*classes]
			if len(c.out) == 1 {
				to[0] -= x.by / 2
				to[1] += x.by / 2
				continue
			}
			for y := range to {
				to[y] -= x.by / float64(classes)
			}
			to[t.margin] += x.by
		}
	}
}

// Rebase serves the trees of the part. Counts stay where the trees are the same; else they are the part's share for
// Self, and learn Since.
func (c *Component) Rebase(rb *model.Rebase) error {
	p, err := DecodePart(c.schema, rb.Part)
	if err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	same := c.structure != nil && c.structure.stamp == p.stamp
	c.part, c.folds = rb.Part, nil
	if same {
		return nil
	}
	c.install(&p.structure, nil)
	if c.counts == nil {
		return nil
	}
	for i := range p.shares {
		if p.shares[i].partition == rb.Self {
			c.counts = p.shares[i].counts.clone()
			if c.structure.halfLife > 0 {
				c.counts.base += math.Floor(rb.Ahead / c.structure.halfLife)
			}
		}
	}
	if rb.Since != nil {
		rb.Since(func(ex *model.Example) bool {
			c.Learn(ex)
			return true
		})
	}
	return nil
}

// install serves a structure with these counts, nil = none yet.
func (c *Component) install(s *structure, n *counts) {
	c.structure, c.counts, c.out = s, n, make([]float64, len(s.base))
	c.walk = newWalker(s.trees, len(c.schema.Features))
	if n == nil && len(s.trees) > 0 {
		c.counts = s.newCounts()
	}
}
