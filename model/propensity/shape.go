package propensity

import "liftstream/model"

// shape returns the cells of a continuous feature for values of the given weights: see cut. Behind them each special
// code has a cell, whether or not a record has it.
func (p fitter) shape(f *feature, values, weights []float64) axis {
	a := p.cut(values, weights, f.want != model.Free)
	a.special = f.special
	a.cells += a.special
	return a
}
