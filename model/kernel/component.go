package kernel

import (
	"fmt"

	"liftstream/model"
)

// Component offers one input: for each class the mean similarity of the record to the class less that to all records,
// in nats. Nothing is learnt between fits. It is a model.Component.
type Component struct {
	schema *model.Schema
	part   []byte // as the Model has it
	curves []curve
}

var _ model.Component = (*Component)(nil)

// Observe does nothing.
func (c *Component) Observe(model.Row) {}

// Learn does nothing: the kernel is fitted anew as a whole.
func (c *Component) Learn(*model.Example) {}

// Retract does nothing.
func (c *Component) Retract(*model.Example) {}

// InputCount is 1, or 0 while there is no kernel.
func (c *Component) InputCount() int {
	if len(c.curves) == 0 {
		return 0
	}
	return 1
}

// Inputs writes the log-lift of each class: one look-up a feature with weight, no allocation.
func (c *Component) Inputs(row model.Row, dst []float64) {
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

// AppendState appends the part that serves: there is nothing else.
func (c *Component) AppendState(b []byte) []byte { return append(b, c.part...) }

// LoadState replaces the state by what AppendState wrote.
func (c *Component) LoadState(b []byte) error {
	c.part, c.curves = nil, nil
	if len(b) == 0 {
		return nil
	}
	p, err := DecodePart(c.schema, b)
	if err != nil {
		return err
	}
	c.part, c.curves = append([]byte(nil), b...), p.curves
	return nil
}

// Rebase takes over the curves of the part.
func (c *Component) Rebase(rb *model.Rebase) error {
	p, err := DecodePart(c.schema, rb.Part)
	if err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	c.part, c.curves = append([]byte(nil), rb.Part...), p.curves
	return nil
}
