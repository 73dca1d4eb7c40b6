package propensity

import (
	"fmt"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// namedFormat and namedStateFormat are the versions of the binary forms of a scorecard with other blocks than
// Options.Founding: the names and sizes of its blocks stand behind the shape. namedFormat is that of a part, and was
// that of a state.
const (
	namedFormat      = 4
	namedStateFormat = 6
)

// maxBlocks bounds the blocks of a form, and maxInputs the inputs of one.
const (
	maxBlocks = 64
	maxInputs = 1 << 12
)

// BlocksOf returns the blocks of the components of a Spec, without those at its end that contribute nothing: their
// forms and terms are then the same as without these components.
func BlocksOf(spec *model.Spec) []Block {
	var blocks []Block
	n := len(spec.Components)
	for n > 0 && silent(spec.Components[n-1]) {
		n--
	}
	for i, f := range spec.Components[:n] {
		c := spec.Contribution(i)
		blocks = append(blocks, Block{Name: f.Name(), Inputs: c.Inputs, Fitted: c.Fitted})
	}
	return blocks
}

// silent reports whether a component offers no inputs to a scorecard.
func silent(f model.Factory) bool {
	_, contributes := f.(model.Contributor)
	return !contributes
}

// founded reports whether the forms of the plan name no blocks.
func (p *plan) founded() bool {
	return p.opt.Founding == nil || slices.Equal(p.opt.Blocks, p.opt.Founding)
}

// appendFormat appends the version, which is unnamed where the blocks need no names, the shape and the blocks.
func (p *plan) appendFormat(b []byte, unnamed, named uint64) []byte {
	if p.founded() {
		return p.appendShape(wire.AppendUvarint(b, unnamed))
	}
	b = p.appendShape(wire.AppendUvarint(b, named))
	b = wire.AppendUvarint(b, uint64(len(p.opt.Blocks)))
	for _, x := range p.opt.Blocks {
		b = wire.AppendUvarint(wire.AppendString(b, x.Name), uint64(x.Inputs))
	}
	return b
}

// readFormat reads the beginning of a form: its version, which is at most newest, and the plan of its blocks, which is
// p itself where they are those of p.
func (p *plan) readFormat(r *wire.Reader, newest uint64) (format uint64, from *plan, err error) {
	format = r.Uvarint()
	if r.Err() == nil && (format < beforeKeys || format > newest) {
		return 0, nil, fmt.Errorf("decoding scorecard: format %d, this build reads %d to %d", format, beforeKeys, newest)
	}
	shape := make([]uint64, len(p.shape()))
	for i := range shape {
		shape[i] = r.Uvarint()
	}
	blocks := p.opt.Founding
	if blocks == nil {
		blocks = p.opt.Blocks
	}
	if format >= namedFormat && format%2 == 0 { // 4, 6 and 8 have names, of states and of parts
		blocks = p.readBlocks(r)
	}
	if err := r.Err(); err != nil {
		return 0, nil, fmt.Errorf("decoding scorecard: %w", err)
	}
	levels := p.levels
	if most := mostLevels(p.classes); shape[len(shape)-1] == uint64(most) {
		levels = most // before maxTables there was no other bound
	}
	if from = p; !sameBlocks(blocks, p.opt.Blocks) || levels != p.levels {
		from = p.under(blocks)
		from.levels = levels
	}
	for i, want := range from.shape() {
		if shape[i] != uint64(want) {
			return 0, nil, fmt.Errorf("decoding scorecard: made under other options: %d where %d should be (number %d)",
				shape[i], want, i)
		}
	}
	return format, from, nil
}

// readBlocks reads the names and sizes of blocks; a block that the plan does not have is dropped later, so that it does
// not matter whether it was Fitted.
func (p *plan) readBlocks(r *wire.Reader) []Block {
	var blocks []Block
	for n := r.Int(maxBlocks); n > 0 && r.Err() == nil; n-- {
		x := Block{Name: r.String(), Inputs: r.Int(maxInputs)}
		for _, own := range p.opt.Blocks {
			if own.Name == x.Name {
				x.Fitted = own.Fitted
			}
		}
		if slices.ContainsFunc(blocks, func(o Block) bool { return o.Name == x.Name }) {
			r.Fail(fmt.Errorf("two blocks %q", x.Name))
		}
		blocks = append(blocks, x)
	}
	return blocks
}

// sameBlocks compares names and sizes.
func sameBlocks(a, b []Block) bool {
	return slices.EqualFunc(a, b, func(x, y Block) bool { return x.Name == y.Name && x.Inputs == y.Inputs })
}

// under returns the plan with other blocks, whose forms are read.
func (p *plan) under(blocks []Block) *plan {
	opt := p.opt
	opt.Blocks = blocks
	return newPlanOf(opt, p.schema, p.tuning)
}

// find returns the first external slot of the block of that name and the number of its inputs, which is 0 when there is
// no such block.
func (p *plan) find(name string) (at, inputs int) {
	for _, x := range p.opt.Blocks {
		if x.Name == name {
			return at, x.Inputs
		}
		at += x.Inputs
	}
	return 0, 0
}

// betweenBlocks returns the move between two plans that differ in their blocks alone: a new block starts as it would in
// an empty scorecard, and one that is gone is dropped.
func betweenBlocks(from, to *plan) *move {
	m := &move{from: from, to: to, sameSchema: true, feature: make([]int, len(to.features)), slot: make([]int, to.slots)}
	for i := range m.feature {
		m.feature[i] = i
	}
	m.slots(nil, make([]uint64, from.extern))
	return m
}

// part returns a part of from as one of to.
func (m *move) part(old *part) *part {
	n := *old
	if old.keys != nil {
		n.keys = make([][]uint64, len(m.to.opt.Blocks))
		for b, x := range m.to.opt.Blocks {
			was := slices.IndexFunc(m.from.opt.Blocks, func(o Block) bool { return o.Name == x.Name })
			if was >= 0 && was < len(old.keys) {
				n.keys[b] = old.keys[was][:min(len(old.keys[was]), x.Inputs)]
			}
		}
	}
	if old.batch != nil && m.to.levels < m.from.levels {
		n.batch = old.batch.within(m.to)
	}
	n.shares = slices.Clone(old.shares)
	for i := range n.shares {
		n.shares[i].t = m.tables(old.shares[i].t, old.axes, old.axes, false)
	}
	return &n
}
