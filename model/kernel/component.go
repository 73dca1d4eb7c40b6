package kernel

import (
	"fmt"

	"liftstream/model"
)

// Component offers one input, in nats: for each class the mean similarity of the record to the class less the mean
// similarity to all records or, where the part has a product, that. It learns nothing between fits. It is a
// model.Component.
type Component struct {
	schema  *model.Schema
	part    []byte // as the Model has it
	curves  []curve
	total   []float64 // weight of each class in the curves, empty when it is not known
	self    float64   // K(x, x) of the mixture, in nats: a record's share of its own class's sum
	product *product  // nil: the input is that of the curves
}

var (
	_ model.Component = (*Component)(nil)
	_ model.Excluder  = (*Component)(nil)
	_ model.Keyed     = (*Component)(nil)
)

// Learn does nothing: only a fit changes the kernel.
func (c *Component) Learn(*model.Example) {}

// Retract does nothing.
func (c *Component) Retract(*model.Example) {}

// InputCount is 1, or 0 while there is no kernel.
func (c *Component) InputCount() int {
	if len(c.curves) == 0 && c.product == nil {
		return 0
	}
	return 1
}

// InputKeys appends the key of the input: that of a product is one of its own, that of the curves the number that it
// had before there were products.
func (c *Component) InputKeys(dst []uint64) []uint64 {
	switch {
	case c.product != nil && c.product.whole():
		return append(dst, model.FirstKey+1)
	case c.product != nil:
		return append(dst, model.FirstKey)
	case len(c.curves) > 0:
		return append(dst, 1)
	}
	return dst
}

// Inputs writes the log-lift of each class, without allocation: one look-up a feature with weight, or one a prototype
// and feature of a product.
func (c *Component) Inputs(row model.Row, dst []float64) {
	if c.product != nil {
		c.product.inputs(row, dst[:len(c.schema.Classes)])
		return
	}
	if len(c.curves) == 0 {
		return
	}
	dst = dst[:len(c.schema.Classes)]
	clear(dst)
	for i := range c.curves {
		k := &c.curves[i]
		k.add(row[k.feature], dst)
	}
}

// InputsWithout writes the Inputs of a record as if the curves had been tabulated without it. As for the slope, w K(x,
// x) over the weight of its class is taken off the mean of its class, and the centre moves by the class's share of
// that. The weights of the kernels keep the record. It writes 0 where the weights of the classes are not known. Of a
// product it writes the inputs that the fit found without the record.
func (c *Component) InputsWithout(ex *model.Example, dst []float64) {
	if c.product != nil {
		c.product.inputsWithout(ex, dst[:len(c.schema.Classes)])
		return
	}
	if len(c.curves) == 0 {
		return
	}
	dst = dst[:len(c.schema.Classes)]
	if len(c.total) == 0 || ex.Class < 0 || int(ex.Class) >= len(dst) || !(c.total[ex.Class] > ex.Weight) {
		clear(dst)
		return
	}
	c.Inputs(ex.Row, dst)
	all := 0.0
	for _, v := range c.total {
		all += v
	}
	off := ex.Weight / c.total[ex.Class] * c.self
	for y := range dst {
		dst[y] += c.total[ex.Class] / all * off
	}
	dst[ex.Class] -= off
}

// set makes p, whose bytes are part, the serving part.
func (c *Component) set(b []byte, p *Part) {
	c.part, c.curves, c.total, c.self = append([]byte(nil), b...), p.curves, p.Total, 0
	c.product = p.product
	for _, w := range p.Weights {
		c.self += p.Beta * w.Alpha
	}
}

// AppendState appends the serving part, which is all of the state.
func (c *Component) AppendState(b []byte) []byte { return append(b, c.part...) }

// LoadState replaces the state by one that AppendState wrote.
func (c *Component) LoadState(b []byte) error {
	c.part, c.curves, c.total, c.self, c.product = nil, nil, nil, 0, nil
	if len(b) == 0 {
		return nil
	}
	p, err := DecodePart(c.schema, b)
	if err != nil {
		return err
	}
	c.set(b, p)
	return nil
}

// Rebase serves the curves of the new part.
func (c *Component) Rebase(rb *model.Rebase) error {
	p, err := DecodePart(c.schema, rb.Part)
	if err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	c.set(rb.Part, p)
	return nil
}
