package unusual

import (
	"context"
	"fmt"

	"liftstream/model"
)

// Name is the factory's name: the key of its part in models and of its section in snapshots.
const Name = "unusual"

// Factory makes the component of a schema.
type Factory struct {
	share  float64
	schema *model.Schema
}

// New returns the factory. share is that of ordinary records which may be called unusual, at most; above 0 and below 1.
func New(share float64, s *model.Schema) *Factory { return &Factory{share, s} }

var (
	_ model.Factory = (*Factory)(nil)
	_ model.Carrier = (*Factory)(nil)
)

// Name is "unusual".
func (f *Factory) Name() string { return Name }

// New returns a component that calls nothing unusual until its first Rebase.
func (f *Factory) New(*model.Levels) model.Component { return &Component{schema: f.schema} }

// Fit learns the usual values of each scored feature from all records of a weight, each counted once. Each feature may
// use an equal part of the share. previous is read for its errors only.
func (f *Factory) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	if _, err := decode(f.schema, previous); err != nil {
		return nil, fmt.Errorf("reading the previous part: %w", err)
	}
	if ev.Keep && previous != nil {
		return previous, nil
	}
	scored, p := 0, &Part{share: f.share, usual: make([]usual, len(f.schema.Features))}
	for i := range f.schema.Features {
		if f.schema.Features[i].Use == model.UseScore {
			scored++
		}
	}
	var values []float64
	for i := range f.schema.Features {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x := &f.schema.Features[i]
		if x.Use != model.UseScore {
			continue
		}
		values = values[:0]
		for k, v := range ev.Columns[i] {
			if ev.Weight[k] > 0 {
				values = append(values, v)
			}
		}
		p.records = len(values)
		p.usual[i] = learn(x, values, f.share/float64(scored))
	}
	return p.append(nil), ctx.Err()
}

// CarryState keeps the usual values of each feature that both schemas have; of a new one nothing is said.
func (f *Factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	old, err := decode(c.From, state)
	if err != nil || old == nil {
		return nil, []int{}, err
	}
	p := &Part{share: old.share, records: old.records, usual: make([]usual, len(c.To.Features))}
	for i, was := range c.Feature {
		if was < 0 {
			continue
		}
		u := old.usual[was]
		if u.cells != nil {
			cells := make([]float64, len(u.cells))
			for k, v := range u.cells {
				cells[k] = c.Code(i, v)
			}
			u.cells = cells
		}
		p.usual[i] = u
	}
	return p.append(nil), []int{}, nil
}

// Component calls records unusual by the part of the serving model. It is a model.Component without inputs.
type Component struct {
	schema *model.Schema
	part   *Part // nil before the first Rebase
}

var (
	_ model.Component = (*Component)(nil)
	_ model.Observer  = (*Component)(nil)
)

// Unusual returns the feature whose value lies farthest outside the learnt ones, -1 where none does. Of features as far
// outside it is the first by name.
func (c *Component) Unusual(row model.Row) int32 {
	found, most := int32(-1), 0.
	if c.part == nil {
		return found
	}
	for i := range c.part.usual {
		x := &c.schema.Features[i]
		by := c.part.usual[i].outside(x, row[i])
		if by > most || by > 0 && by == most && x.Name < c.schema.Features[found].Name {
			found, most = int32(i), by
		}
	}
	return found
}

// Usual returns the ends of the usual numbers of a continuous feature, themselves usual; ok is false where nothing is
// said of it.
func (c *Component) Usual(f int32) (low, high float64, ok bool) {
	if c.part == nil || !c.part.usual[f].says {
		return 0, 0, false
	}
	u := &c.part.usual[f]
	return u.low, u.high, u.low <= u.high
}

// Learn does nothing: the values of a model are those of its fit.
func (c *Component) Learn(*model.Example) {}

// Retract does nothing.
func (c *Component) Retract(*model.Example) {}

// InputCount is 0.
func (c *Component) InputCount() int { return 0 }

// Inputs writes nothing.
func (c *Component) Inputs(model.Row, []float64) {}

// AppendState appends the part of the serving model; nothing before there is one.
func (c *Component) AppendState(b []byte) []byte {
	if c.part == nil {
		return b
	}
	return c.part.append(b)
}

// LoadState replaces the part by one that AppendState wrote.
func (c *Component) LoadState(b []byte) (err error) {
	c.part, err = decode(c.schema, b)
	return err
}

// Rebase takes over the part. Its cells have the codes of the Model.
func (c *Component) Rebase(rb *model.Rebase) error { return c.LoadState(rb.Part) }
