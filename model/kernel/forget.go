package kernel

import (
	"slices"

	"liftstream/model"
)

// Keys returns the key of the prototype of the product that is the example, if there is one.
func (c *Component) Keys(ex *model.Example) []uint64 {
	if c.product == nil || !c.product.ordered {
		return nil
	}
	key := c.product.keyOf(ex.Row, ex.Clock)
	if !slices.Contains(c.product.key, key) {
		return nil
	}
	return []uint64{key}
}

// Forget takes the prototypes of these keys out of the product, and returns their number. The weights of the others
// stay. The last prototype of all leaves its place behind, without values and of weight 0.
func (c *Component) Forget(keys []uint64) (found int) {
	if c.product == nil {
		return 0
	}
	p := *c.product
	var kept []int
	for i, k := range p.key {
		if !slices.Contains(keys, k) {
			kept = append(kept, i)
		}
	}
	if found = len(p.key) - len(kept); found == 0 {
		return 0
	}
	was := p
	n := max(len(kept), 1)
	p.key, p.weights, p.held = make([]uint64, n), make([]float64, n*p.margins), make([]float64, n*p.margins)
	p.columns, p.sum = slices.Clone(p.columns), make([]float64, n)
	for k := range p.columns {
		p.columns[k].code = make([]uint8, n)
	}
	for i, k := range kept {
		p.key[i] = was.key[k]
		copy(p.weights[i*p.margins:(i+1)*p.margins], was.weights[k*p.margins:])
		copy(p.held[i*p.margins:(i+1)*p.margins], was.held[k*p.margins:])
		for j := range p.columns {
			p.columns[j].code[i] = was.columns[j].code[k]
		}
	}
	part, err := DecodePart(c.schema, c.part)
	if err != nil {
		return 0 // LoadState and Rebase have read these bytes
	}
	part.product = &p
	c.set(part.appendBinary(nil), part)
	return found
}

var _ model.Forgetter = (*Component)(nil)
