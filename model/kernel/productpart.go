package kernel

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// appendBinary appends a product (FORMAT.md).
func (p *product) appendBinary(b []byte) []byte {
	b = wire.AppendBool(b, p.ordered)
	b = wire.AppendUvarint(b, uint64(len(p.key)))
	for _, k := range p.key {
		b = wire.AppendUvarint(b, k)
	}
	b = wire.AppendFloats(b, p.weights)
	b = wire.AppendFloats(b, p.held)
	b = wire.AppendUvarint(b, uint64(len(p.columns)))
	for i := range p.columns {
		c := &p.columns[i]
		b = wire.AppendUvarint(b, uint64(c.feature))
		b = wire.AppendFloat(b, c.lo)
		b = wire.AppendFloat(b, c.per)
		b = wire.AppendFloat(b, c.step)
		b = wire.AppendUvarint(b, uint64(c.cells))
		b = wire.AppendUvarint(b, uint64(len(c.bases)))
		for _, w := range c.bases {
			b = append(b, byte(w.Base.Shape))
			b = wire.AppendFloat(b, w.Base.Width)
			b = wire.AppendFloat(b, w.Alpha)
		}
		b = wire.AppendBytes(b, c.code)
		if p.whole() {
			b = wire.AppendFloat(b, c.at)
		}
	}
	if p.whole() {
		b = wire.AppendUvarint(b, uint64(len(p.mix)))
		for _, w := range p.mix {
			b = append(b, byte(w.Base.Shape))
			b = wire.AppendFloat(b, w.Base.Width)
			b = wire.AppendFloat(b, w.Alpha)
		}
	}
	return b
}

// readProduct reads a product of the schema, or whole kernels. Hostile bytes give an error.
func readProduct(s *model.Schema, r *wire.Reader, whole bool) (*product, error) {
	within := func(low, high float64) float64 {
		v := r.Float()
		if !(v >= low && v <= high) {
			r.Fail(fmt.Errorf("number %v", v))
		}
		return v
	}
	widest := math.MaxFloat64
	if whole {
		widest = 2 * farthest
	}
	p := &product{margins: len(s.Classes), ordered: r.Bool(), order: byName(s)}
	if p.margins == 2 {
		p.margins = 1
	}
	n := r.Int(maxPrototypes)
	for i := 0; i < n && r.Err() == nil; i++ {
		p.key = append(p.key, r.Uvarint())
	}
	p.weights, p.held = r.Floats(), r.Floats()
	if r.Err() == nil && (n < 1 || len(p.weights) != n*p.margins || len(p.held) != n*p.margins) {
		return nil, r.Fail(fmt.Errorf("decoding kernel: %d weights and %d held-out inputs of %d prototypes",
			len(p.weights), len(p.held), n))
	}
	for i := 0; i < len(p.weights) && r.Err() == nil; i++ {
		if !(math.Abs(p.weights[i]) <= maxInput && math.Abs(p.held[i]) <= maxInput) {
			return nil, r.Fail(fmt.Errorf("decoding kernel: a prototype of weight %v and input %v", p.weights[i], p.held[i]))
		}
	}
	seen, codes := make([]bool, len(s.Features)), 0
	for k := r.Int(len(s.Features)); k > 0 && r.Err() == nil; k-- {
		c := productColumn{feature: int32(r.Int(len(s.Features) - 1)), lo: within(-math.MaxFloat64, math.MaxFloat64),
			per: within(0, math.MaxFloat64), step: within(0, widest), cells: r.Int(productCells)}
		for m := r.Int(maxWeights); m > 0 && r.Err() == nil; m-- {
			w := Weight{Base: Base{Shape: Shape(r.Int(int(maxShape))), A: c.feature}}
			w.Base.Width, w.Alpha = within(0, math.MaxFloat64), within(0, maxInput)
			c.bases = append(c.bases, w)
		}
		c.code = append(c.code, r.Bytes()...)
		if whole {
			c.at = within(-farthest, farthest)
		}
		if r.Err() != nil {
			break
		}
		c.levels, c.end = s.Features[c.feature].Kind == model.Nominal, levelsEnd(&s.Features[c.feature])
		if codes += len(c.code); seen[c.feature] || len(c.code) != n || codes > productCodes || c.levels != (c.cells == 0) {
			return nil, r.Fail(fmt.Errorf("decoding kernel: a column of %d codes for %d prototypes", len(c.code), n))
		}
		if most := slices.Max(c.code); !c.levels && int(most) > c.cells {
			return nil, r.Fail(fmt.Errorf("decoding kernel: code %d of a number of %d cells", most, c.cells))
		}
		seen[c.feature] = true
		c.newTable()
		p.columns = append(p.columns, c)
	}
	if r.Err() == nil && len(p.columns) == 0 {
		return nil, r.Fail(fmt.Errorf("decoding kernel: a product of no features"))
	}
	p.sum = make([]float64, n)
	if whole {
		return p, p.readMix(r, within)
	}
	return p, r.Err()
}

// readMix reads the kernels over all features. within reads a number between two bounds.
func (p *product) readMix(r *wire.Reader, within func(low, high float64) float64) error {
	for k := r.Int(maxWeights); k > 0 && r.Err() == nil; k-- {
		w := Weight{Base: Base{Shape: Shape(r.Int(int(maxShape))), A: -1}}
		w.Base.Width, w.Alpha = within(0, math.MaxFloat64), within(0, maxInput)
		if s := w.Base.Shape; s != Gaussian && s != Polynomial && s != Linear || len(p.mix) > 0 && s != p.mix[0].Base.Shape {
			return r.Fail(fmt.Errorf("decoding kernel: a kernel of all features of shape %v", s))
		}
		p.mix = append(p.mix, w)
	}
	if r.Err() == nil && len(p.mix) == 0 {
		return r.Fail(fmt.Errorf("decoding kernel: no kernel over all features"))
	}
	return r.Err()
}
