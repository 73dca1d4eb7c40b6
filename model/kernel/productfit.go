package kernel

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"liftstream/model"
)

// The settings that a fit chooses among, in the order of the walk (METHOD.md 6.2): mixes are the share of the learnt
// weights in those of the kernels, the rest being even, sharpness is K(x, x), and ridges are the variance of the noise.
var (
	mixes     = []float64{.5, 0, 1}
	sharpness = []float64{4, 2, 8, 16}
	ridges    = []float64{.1, .03, .01, .3, 1, 3}
)

// searched bounds the records on which the settings are chosen. fewest is the number below which there is no product.
const (
	searched = 320
	fewest   = 50
)

// The standard errors by which a product must be better than a sum. Over exchangeable records the scorecard learns its
// weight from held-out inputs, so that one is enough. A stream moves, and its scorecard learns from scores: there a
// product must be better by more to replace the curves, and by less to stay in their place, since the weight of
// another input begins anew.
const (
	gateWhole  = 1
	gateStream = 4
	gateStay   = 2
)

// gate returns the standard errors that a product needs.
func gate(ev *model.Evidence, before *Part) float64 {
	switch {
	case ev.Exchangeable:
		return gateWhole
	case before != nil && before.product != nil:
		return gateStay
	}
	return gateStream
}

// workShare is the reciprocal of the share of a product in the budget of a fit: the programme may take most of it.
const workShare = 4

// productWork estimates the steps of a product of n prototypes.
func productWork(n int) float64 {
	cube := func(n int) float64 { return float64(n) * float64(n) * float64(n) }
	settings := len(mixes) + len(sharpness) + len(ridges) - 2
	return 1.5 * (2*float64(settings)*cube(min(n, searched)) + 2*cube(n))
}

// multiply makes the product (METHOD.md 6): it chooses the settings on searched records, and fits on all prototypes.
// alpha are the weights of the dictionary. It is nil where a sum of functions of one feature each does as well, unless
// the options ask for a product, and where the budget, the time of ctx or the records do not allow one.
func (f *Factory) multiply(ctx context.Context, ev *model.Evidence, axes []axis, dictionary []Base, alpha []float64,
	before *Part) *product {
	s := &search{even: evenly(dictionary), learnt: positive(alpha), dictionary: dictionary}
	for k, b := range dictionary {
		if k == 0 || dictionary[k-1].A != b.A {
			s.features = append(s.features, b.A)
		}
	}
	// A product over one feature is a function of it alone, as the sum is.
	if len(s.features) < 2 && f.options.Input != Product {
		return nil
	}
	most := affordable(ev, len(s.features))
	if !s.lay(f.schema, ev, axes, min(most, searched)) {
		return nil
	}
	sum, best := s.walk(ctx, scaled), s.walk(ctx, powered)
	if !s.lay(f.schema, ev, axes, most) {
		return nil
	}
	a, b := s.fit(ctx, sum, scaled), s.fit(ctx, best, powered)
	if a == nil || b == nil {
		return nil
	}
	gain, se := s.compare(a, b)
	if f.options.Input != Product && !(gain > gate(ev, before)*se) {
		return nil
	}
	out := s.with(dictionary, s.mixed(best))
	out.weights, out.held = b.weights, b.held
	return out
}

// affordable is the number of prototypes that the budget of a fit allows.
func affordable(ev *model.Evidence, columns int) int {
	most := min(maxPrototypes, productCodes/columns)
	for most >= fewest && !ev.Affords(workShare*productWork(most)) {
		most -= most/16 + 1
	}
	return most
}

// prototypes codes the rows, which become the prototypes of a product without weights.
func prototypes(schema *model.Schema, ev *model.Evidence, axes []axis, features, rows []int32) *product {
	p := &product{margins: len(schema.Classes), ordered: !ev.Exchangeable, order: byName(schema)}
	if p.margins == 2 {
		p.margins = 1
	}
	row := make(model.Row, len(ev.Columns))
	for _, i := range rows {
		ev.Row(int(i), row)
		p.key = append(p.key, p.keyOf(row, ev.Clock[i]))
	}
	for _, f := range features {
		c := newProductColumn(&axes[f], f)
		for _, i := range rows {
			c.code = append(c.code, c.codeOf(ev.Columns[f][i]))
		}
		p.columns = append(p.columns, c)
	}
	return p
}

// setting is a choice: the share of the learnt weights, K(x, x), and the variance of the noise.
type setting struct{ mix, sharp, noise float64 }

// search walks over the settings.
type search struct {
	*ridge
	*product     // the prototypes, under no weights
	features     []int32
	dictionary   []Base
	even, learnt []float64
	kernels      [2]*mat.SymDense // K under these
}

// lay draws at most so many prototypes; false where they are too few, or of one class.
func (s *search) lay(schema *model.Schema, ev *model.Evidence, axes []axis, most int) bool {
	rows := chosen(ev, most, len(schema.Classes))
	if s.ridge != nil && s.n == len(rows) {
		return true
	}
	s.product = prototypes(schema, ev, axes, s.features, rows)
	if s.ridge = newRidge(ev, rows, s.key, len(schema.Classes)); s.ridge == nil || !s.normalise() {
		return false
	}
	s.kernels[0] = s.sums(s.with(s.dictionary, s.even))
	if s.learnt != nil {
		s.kernels[1] = s.sums(s.with(s.dictionary, s.learnt))
	}
	return true
}

// scaled is the kernel sharp K, and powered exp(sharp (K - 1)), which is a product.
func scaled(k, sharp float64) float64  { return sharp * k }
func powered(k, sharp float64) float64 { return math.Exp(sharp * (k - 1)) }

// fit fits with one setting; nil where that has no solution, or ctx has ended.
func (s *search) fit(ctx context.Context, x setting, kernel func(k, sharp float64) float64) *ridgeFit {
	g := mat.NewSymDense(s.n, nil)
	for i := range s.n {
		for j := i; j < s.n; j++ {
			v := (1 - x.mix) * s.kernels[0].At(i, j)
			if x.mix > 0 {
				v += x.mix * s.kernels[1].At(i, j)
			}
			g.SetSym(i, j, kernel(v, x.sharp))
		}
	}
	return s.solve(ctx, g, x.noise)
}

// walk returns the setting of the least held-out log-loss: the best noise, then the best sharpness, then the best mix.
func (s *search) walk(ctx context.Context, kernel func(k, sharp float64) float64) setting {
	shares := mixes
	if s.learnt == nil {
		shares = []float64{0}
	}
	best := setting{shares[0], sharpness[0], ridges[0]}
	least := math.Inf(1)
	try := func(x setting) {
		if f := s.fit(ctx, x, kernel); f != nil && f.loss < least {
			best, least = x, f.loss
		}
	}
	for _, v := range ridges {
		try(setting{best.mix, best.sharp, v})
	}
	for _, v := range sharpness[1:] {
		try(setting{best.mix, v, best.noise})
	}
	for _, v := range shares[1:] {
		try(setting{v, best.sharp, best.noise})
	}
	return best
}

// mixed returns the weights of a setting.
func (s *search) mixed(x setting) []float64 {
	out := make([]float64, len(s.dictionary))
	for k := range out {
		out[k] = x.sharp * (1 - x.mix) * s.even[k]
		if x.mix > 0 {
			out[k] += x.sharp * x.mix * s.learnt[k]
		}
	}
	return out
}

// sums returns K between all prototypes of a product.
func (r *ridge) sums(p *product) *mat.SymDense {
	g := mat.NewSymDense(r.n, nil)
	sum := make([]float64, r.n)
	for i := range r.n {
		clear(sum)
		for k := range p.columns {
			c := &p.columns[k]
			var t [256]float64
			p.look(c, c.code[i], &t)
			for j := i; j < r.n; j++ {
				sum[j] += t[c.code[j]]
			}
		}
		for j := i; j < r.n; j++ {
			if p.whole() {
				g.SetSym(i, j, p.similarity(sum[j]))
			} else {
				g.SetSym(i, j, sum[j]+1)
			}
		}
	}
	return g
}

// evenly gives equal weight to each feature, and within it to each kernel.
func evenly(dictionary []Base) []float64 {
	count, features := map[int32]int{}, 0.
	for _, b := range dictionary {
		if count[b.A]++; count[b.A] == 1 {
			features++
		}
	}
	out := make([]float64, len(dictionary))
	for k, b := range dictionary {
		out[k] = 1 / features / float64(count[b.A])
	}
	return out
}

// positive returns the weights above 0, scaled to a sum of 1; nil when there are none.
func positive(alpha []float64) []float64 {
	out, sum := make([]float64, len(alpha)), 0.
	for k, v := range alpha {
		if v > 0 {
			out[k] = v
			sum += v
		}
	}
	if !(sum > 0) {
		return nil
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

// with returns a product of the same prototypes under these weights of kernels, without the columns that have none.
func (p *product) with(dictionary []Base, weights []float64) *product {
	n := *p
	n.columns, n.sum = nil, make([]float64, len(p.key))
	if len(dictionary) > 0 && dictionary[0].A < 0 {
		n.columns = p.columns
		for k, b := range dictionary {
			if weights[k] > 0 {
				n.mix = append(n.mix, Weight{b, weights[k]})
			}
		}
		return &n
	}
	for _, c := range p.columns {
		c.bases = nil
		for k, b := range dictionary {
			if b.A == c.feature && weights[k] > 0 {
				c.bases = append(c.bases, Weight{b, weights[k]})
			}
		}
		if len(c.bases) > 0 {
			c.newTable()
			n.columns = append(n.columns, c)
		}
	}
	return &n
}

// newProductColumn lays out the cells of a feature.
func newProductColumn(a *axis, feature int32) productColumn {
	c := productColumn{feature: feature, levels: a.levels, end: a.end}
	if a.levels {
		return c
	}
	lo, hi := max(a.at(a.lo), -farthest), min(a.at(a.hi), farthest)
	c.cells = productCells
	c.step, c.at = (hi-lo)/float64(c.cells-1), lo
	c.lo = max((lo*a.sd+a.mean)*a.scale, -math.MaxFloat64)
	c.per = float64(c.cells-1) / (hi - lo) / a.sd / a.scale
	return c
}

// chosen returns the records that become prototypes, ascending: by class the ones of least -ln(u)/w, u being a hash and
// w the weight of the record, which grows as for triples (Efraimidis and Spirakis 2006). Each class has equally many as
// far as it has records.
func chosen(ev *model.Evidence, most, classes int) []int32 {
	type candidate struct {
		key float64
		row int32
	}
	by := make([][]candidate, classes)
	for i, w := range ev.Weight {
		y := ev.Class[i]
		w *= math.Pow(growth(ev), float64(i)/float64(max(ev.Len()-1, 1)))
		if y < 0 || int(y) >= classes || !(w > 0) || math.IsInf(w, 0) {
			continue
		}
		u := (float64(model.Hash(ev.Seed, uint64(i), 91)>>11) + .5) / (1 << 53)
		by[y] = append(by[y], candidate{-math.Log(u) / w, int32(i)})
	}
	order := make([]int, classes)
	for y := range by {
		order[y] = y
		slices.SortFunc(by[y], func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
		})
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(by[a]) - len(by[b]) })
	var out []int32
	for k, y := range order {
		n := min(len(by[y]), (most-len(out))/(len(order)-k))
		for _, c := range by[y][:n] {
			out = append(out, c.row)
		}
	}
	slices.Sort(out)
	return out
}
