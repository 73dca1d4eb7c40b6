package kernel

import (
	"context"
	"math"

	"liftstream/model"
)

// Kernels over all features at once (METHOD.md 6.5). They are functions of the squared distance of two records or of
// their dot product, to which each feature adds its share: a product's tables hold that share in the place of alpha K.

// whole reports whether the kernels are over all features.
func (p *product) whole() bool { return len(p.mix) > 0 }

// kind names the input.
func (p *product) kind() string {
	if p.whole() {
		return "a " + p.mix[0].Base.Shape.String() + " kernel of all features"
	}
	return "a product"
}

// look fills t with the share of a column between the value of a code and that of each other code.
func (p *product) look(c *productColumn, code uint8, t *[256]float64) {
	switch {
	case !p.whole():
		c.look(code, t)
	case p.mix[0].Base.Shape == Gaussian:
		c.squares(code, t)
	default:
		c.dots(code, t)
	}
}

// squares fills t with the squares of distances.
func (c *productColumn) squares(code uint8, t *[256]float64) {
	if c.levels {
		for i := range t {
			t[i] = 2
		}
		t[code] = 0
		return
	}
	x := c.place(code)
	for i := range c.cells + 1 {
		d := x - c.place(uint8(i))
		t[i] = float64(d * d)
	}
}

// dots fills t with the products of values.
func (c *productColumn) dots(code uint8, t *[256]float64) {
	if c.levels {
		clear(t[:])
		t[code] = 1
		return
	}
	x := c.place(code)
	for i := range c.cells + 1 {
		t[i] = float64(x * c.place(uint8(i)))
	}
}

// place is the standardised value of a code of a number. A missing value is the mean.
func (c *productColumn) place(code uint8) float64 {
	if code == 0 {
		return 0
	}
	return c.at + float64(float64(code-1)*c.step)
}

// similarity is K(x, x_i) for the sum of the columns: of a product its exponential, else the mixture of the kernels
// over all features.
func (p *product) similarity(sum float64) float64 {
	if !p.whole() {
		return math.Exp(sum)
	}
	k := 0.
	for _, w := range p.mix {
		switch w.Base.Shape {
		case Linear:
			k += float64(w.Alpha * sum)
		case Polynomial:
			k += float64(w.Alpha * float64((sum+1)*(sum+1)))
		default:
			k += float64(w.Alpha * math.Exp(-float64(w.Base.Width*sum)))
		}
	}
	return k
}

// normalise scales the even weights so that the mean of K(x, x) over the prototypes is 1, as it is for Gaussian kernels
// and those of one feature. False where all K(x, x) are 0.
func (s *search) normalise() bool {
	if b := s.dictionary[0]; b.A >= 0 || b.Shape == Gaussian {
		return true
	}
	one := s.with(s.dictionary, []float64{1})
	mean := 0.
	for i := range s.n {
		sum := 0.
		var t [256]float64
		for k := range one.columns {
			c := &one.columns[k]
			one.look(c, c.code[i], &t)
			sum += t[c.code[i]]
		}
		mean += one.similarity(sum) / float64(s.n)
	}
	s.even = []float64{1 / mean}
	return mean > 0
}

// wholly completes a part of kernels over all features: alpha are their weights by the programme. Where the budget, the
// time of ctx or the records allow no input, the part has no weights either.
func (f *Factory) wholly(ctx context.Context, ev *model.Evidence, axes []axis, p *Part, dictionary []Base,
	alpha []float64) {
	s := &search{even: evenly(dictionary), dictionary: dictionary}
	if len(dictionary) > 1 {
		s.learnt = positive(alpha) // one kernel has no mix
	}
	for _, i := range byName(f.schema) {
		if axes[i].ok {
			s.features = append(s.features, i)
		}
	}
	most := affordable(ev, len(s.features))
	if !s.lay(f.schema, ev, axes, min(most, searched)) {
		return
	}
	best := s.walk(ctx, scaled)
	if !s.lay(f.schema, ev, axes, most) {
		return
	}
	fit := s.fit(ctx, best, scaled)
	if fit == nil {
		return
	}
	p.product = s.with(dictionary, s.mixed(best))
	p.product.weights, p.product.held = fit.weights, fit.held
	for k, b := range dictionary {
		if alpha[k] != 0 {
			p.Weights = append(p.Weights, Weight{b, alpha[k]})
		}
	}
	if len(p.Weights) == 0 {
		p.Status = Forced
	}
}
