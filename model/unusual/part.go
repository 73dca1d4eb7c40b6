package unusual

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/wire"
)

// format is the version of the binary form of the part and of the state, which FORMAT.md describes.
const format = 1

// Part is this component's part of a Model, and the state of a partition.
type Part struct {
	share   float64 // of ordinary records that may be called unusual, at most
	records int     // learnt
	usual   []usual // by feature
}

func (p *Part) append(b []byte) []byte {
	b = wire.AppendUvarint(b, format)
	b = wire.AppendUvarint(wire.AppendFloat(b, p.share), uint64(p.records))
	b = wire.AppendUvarint(b, uint64(len(p.usual)))
	for i := range p.usual {
		u := &p.usual[i]
		if b = wire.AppendBool(b, u.says); !u.says {
			continue
		}
		b = wire.AppendBool(b, u.missing)
		b = wire.AppendFloat(wire.AppendFloat(b, u.low), u.high)
		b = wire.AppendFloats(wire.AppendUvarint(b, u.codes), u.cells)
	}
	return b
}

// decode reads a part or a state of the schema; no bytes are a state before the first model, and give nil.
func decode(s *model.Schema, b []byte) (*Part, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != format {
		return nil, fmt.Errorf("format %d, this build reads %d", f, format)
	}
	p := &Part{share: r.Float(), records: r.Int(math.MaxInt32)}
	if n := r.Int(len(s.Features)); r.Err() == nil && (n != len(s.Features) || !(p.share > 0 && p.share < 1)) {
		return nil, fmt.Errorf("%d features of share %v", n, p.share)
	}
	for range s.Features {
		u := usual{says: r.Bool()}
		if r.Err() != nil {
			break
		}
		if u.says {
			u.missing, u.low, u.high, u.codes, u.cells = r.Bool(), r.Float(), r.Float(), r.Uvarint(), r.Floats()
		}
		if math.IsNaN(u.low) || math.IsNaN(u.high) {
			r.Fail(fmt.Errorf("ends %v and %v", u.low, u.high))
		}
		for k, v := range u.cells {
			if !(v >= 0) || k > 0 && !(u.cells[k-1] < v) {
				r.Fail(fmt.Errorf("cells that do not ascend"))
			}
		}
		p.usual = append(p.usual, u)
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return p, nil
}
