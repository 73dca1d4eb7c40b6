package kernel

import (
	"slices"

	"liftstream/model"
)

var _ model.Carrier = (*Factory)(nil)

// CarryState keeps the weights and the curve or the codes of every feature that stays, each number as it was, and the
// proof of their programme. A new feature, level or class adds 0 until the next fit, which starts from these weights.
func (f *Factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	if len(state) == 0 {
		return nil, []int{}, nil
	}
	p, err := DecodePart(c.From, state)
	if err != nil {
		return nil, nil, err
	}
	var weights []Weight
	for _, w := range p.Weights {
		if w.Base.A < 0 {
			weights = append(weights, w)
		} else if w.Base.A = int32(c.Index(int(w.Base.A))); w.Base.A >= 0 {
			weights = append(weights, w)
		}
	}
	n := &Component{schema: f.schema}
	for i := range p.curves {
		if j := c.Index(int(p.curves[i].feature)); j >= 0 {
			n.curves = append(n.curves, p.curves[i].carry(c, j))
		}
	}
	if len(p.Total) > 0 {
		p.Total = append(p.Total, make([]float64, len(c.To.Classes)-len(c.From.Classes))...)
	}
	if p.product != nil {
		p.product = p.product.carry(c)
		if p.product == nil { // kernels of all features are gone with them
			weights = slices.DeleteFunc(weights, func(w Weight) bool { return w.Base.A < 0 })
		}
		n.product = p.product
	}
	p.Weights, p.curves = weights, n.curves
	return p.appendBinary(nil), make([]int, n.InputCount()), nil
}

// carry returns the curve as one of feature j.
func (c *curve) carry(x *model.Change, j int) curve {
	from, to := len(x.From.Classes), len(x.To.Classes)
	n := curve{feature: int32(j), levels: c.levels, lo: c.lo, per: c.per, end: levelsEnd(&x.To.Features[j])}
	add := func(dst, row []float64) []float64 {
		return append(append(dst, row...), make([]float64, to-from)...)
	}
	n.missing = add(nil, c.missing)
	was, is := len(x.From.Features[x.Feature[j]].Levels), len(x.To.Features[j].Levels)
	for i := range len(c.nodes) / from {
		row := c.nodes[i*from : (i+1)*from]
		if c.levels && was < is && i >= was { // "(other)", with the new levels before it
			n.nodes = append(n.nodes, make([]float64, (is-was)*to)...)
			n.nodes = add(n.nodes, row)
			break
		}
		n.nodes = add(n.nodes, row)
	}
	return n
}

// carry returns the product over the features that stay, nil where there are none. Its prototypes are not recognised
// any more: no fit to come has them.
func (p *product) carry(x *model.Change) *product {
	n := &product{ordered: p.ordered, mix: p.mix, key: p.key, order: byName(x.To), sum: p.sum,
		margins: len(x.To.Classes)}
	if n.margins == 2 {
		n.margins = 1
	}
	widen := func(v []float64) []float64 {
		out := make([]float64, 0, len(p.key)*n.margins)
		for i := range p.key {
			row := v[i*p.margins : (i+1)*p.margins]
			if p.margins == 1 && n.margins > 1 {
				out = append(out, -row[0])
			}
			out = append(out, row...)
			out = append(out, make([]float64, (i+1)*n.margins-len(out))...)
		}
		return out
	}
	n.weights, n.held = widen(p.weights), widen(p.held)
	for _, c := range p.columns {
		j := x.Index(int(c.feature))
		if j < 0 {
			continue
		}
		was, is := len(x.From.Features[c.feature].Levels), len(x.To.Features[j].Levels)
		c.feature, c.end = int32(j), levelsEnd(&x.To.Features[j])
		if c.levels && was < is { // "(other)", with the new levels before it
			c.code = slices.Clone(c.code)
			for i, code := range c.code {
				if int(code) > was {
					c.code[i] = uint8(min(int(code)+is-was, elsewhere))
				}
			}
		}
		n.columns = append(n.columns, c)
	}
	if len(n.columns) == 0 {
		return nil
	}
	return n
}
