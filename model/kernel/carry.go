package kernel

import "liftstream/model"

var _ model.Carrier = (*Factory)(nil)

// CarryState keeps the weights and the curve of every feature that stays, each number as it was, and the proof of their
// programme. A new feature, level or class adds 0 until the next fit, which starts from these weights.
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
		if w.Base.A = int32(c.Index(int(w.Base.A))); w.Base.A >= 0 {
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
