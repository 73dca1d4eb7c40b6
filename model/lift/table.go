package lift

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/wire"
)

// rescaleAt is the number of half-lives after which growing weights are divided out of a Table.
const rescaleAt = 256

// Table holds the weighted class counts n_xy of the cells of one feature set.
//
// With a half-life it forgets by growing weights (model/MODEL.md 3): a record of age a half-lives on the stream's clock
// weighs w*2^(a-base) and nothing is ever swept; every measure of this package is invariant to the common factor. The
// base is a whole number and moves by whole numbers, so rescaling is exact, and a record retracted after a rescale
// takes back exactly its weight. The zero half-life never forgets and keeps the base at 0.
//
// The sum of squared weights goes with the counts, for the effective number of records n_eff = (sum w)^2 / sum w^2.
type Table struct {
	classes int
	half    model.HalfLife
	base    float64
	n       []float64 // cell-major, grows to the highest cell that was touched
	square  float64
}

// NewTable returns an empty table of the given number of classes.
func NewTable(classes int, half model.HalfLife) *Table {
	return &Table{classes: classes, half: half}
}

// factor returns 2^(age-base) of the example, moving the base first when the factor would grow too large. An example
// older than 1,074 half-lives before the base has the factor 0.
func (t *Table) factor(ex *model.Example) float64 {
	var age float64
	switch {
	case t.half.Records > 0:
		age = ex.Clock / t.half.Records
	case t.half.Duration > 0:
		age = float64(ex.Time) / float64(t.half.Duration)
	default:
		return 1
	}
	whole := math.Floor(age)
	if whole-t.base > rescaleAt {
		t.rebase(whole)
	}
	return math.Ldexp(math.Exp2(age-whole), int(max(whole-t.base, -4096)))
}

func (t *Table) rebase(base float64) {
	shift := int(max(t.base-base, -4096))
	for i, v := range t.n {
		t.n[i] = math.Ldexp(v, shift)
	}
	t.square = math.Ldexp(t.square, 2*shift)
	t.base = base
}

// Add counts the example in the cell, which must be at least 0. An example whose class is not one of the table's, or
// whose weight is not positive, changes nothing.
func (t *Table) Add(cell int, ex *model.Example) { t.count(cell, ex, 1) }

// Sub takes the example out of the cell again.
func (t *Table) Sub(cell int, ex *model.Example) { t.count(cell, ex, -1) }

func (t *Table) count(cell int, ex *model.Example, sign float64) {
	if !(ex.Weight > 0) || uint32(ex.Class) >= uint32(t.classes) {
		return
	}
	t.add(cell, int(ex.Class), sign, min(ex.Weight, model.MaxWeight)*t.factor(ex))
}

func (t *Table) add(cell, class int, sign, w float64) {
	i := cell*t.classes + class
	if i >= len(t.n) {
		t.grow(cell + 1)
	}
	t.n[i] += sign * w
	t.square += sign * w * w
}

func (t *Table) grow(cells int) {
	need := cells * t.classes
	if need <= cap(t.n) {
		t.n = t.n[:need]
		return
	}
	n := make([]float64, need, need+need/2)
	copy(n, t.n)
	t.n = n
}

// Cells is one more than the highest cell that was touched.
func (t *Table) Cells() int { return len(t.n) / t.classes }

// Counts returns n_xy, cell by cell with the classes innermost; it aliases the table.
func (t *Table) Counts() []float64 { return t.n }

// Effective is n_eff; 0 when the table is empty.
func (t *Table) Effective() float64 {
	if !(t.square > 0) {
		return 0
	}
	var n float64
	for _, v := range t.n {
		n += v
	}
	return n * n / t.square
}

// Merge adds the counts of o, a table of the same classes and half-life: the result is the table of both streams.
func (t *Table) Merge(o *Table) {
	if o.base > t.base {
		t.rebase(o.base)
	}
	if len(o.n) > len(t.n) {
		t.grow(o.Cells())
	}
	shift := int(max(o.base-t.base, -4096))
	for i, v := range o.n {
		t.n[i] += math.Ldexp(v, shift)
	}
	t.square += math.Ldexp(o.square, 2*shift)
}

// Clone returns an independent copy.
func (t *Table) Clone() *Table {
	c := *t
	c.n = append([]float64(nil), t.n...)
	return &c
}

// appendTable appends the base, the sum of squares, and the cells that are not all zero: their number, and for each
// its distance from the one before and its counts. The bytes do not depend on how far the table once grew.
func appendTable(b []byte, t *Table) []byte {
	b = wire.AppendFloat(b, t.base)
	b = wire.AppendFloat(b, t.square)
	occupied := 0
	for x := 0; x < t.Cells(); x++ {
		if t.occupied(x) {
			occupied++
		}
	}
	b = wire.AppendUvarint(b, uint64(occupied))
	last := 0
	for x := 0; x < t.Cells(); x++ {
		if !t.occupied(x) {
			continue
		}
		b = wire.AppendUvarint(b, uint64(x-last))
		last = x
		for _, v := range t.n[x*t.classes : (x+1)*t.classes] {
			b = wire.AppendFloat(b, v)
		}
	}
	return b
}

func (t *Table) occupied(x int) bool {
	for _, v := range t.n[x*t.classes : (x+1)*t.classes] {
		if v != 0 {
			return true
		}
	}
	return false
}

// decodeTable reads the bytes of appendTable into an empty table; cells lie below the given number.
func decodeTable(r *wire.Reader, classes, cells int) (*Table, error) {
	t := NewTable(classes, model.HalfLife{})
	t.base = r.Float()
	t.square = r.Float()
	if !finite(t.base) || !finite(t.square) {
		return nil, r.Fail(fmt.Errorf("table base %v or sum of squares %v is not a number", t.base, t.square))
	}
	occupied := r.Int(cells)
	last := 0
	for i := 0; i < occupied && r.Err() == nil; i++ {
		step := r.Int(cells)
		if i > 0 && step == 0 || last+step >= cells {
			return nil, r.Fail(fmt.Errorf("cell %d of %d", last+step, cells))
		}
		last += step
		if r.Rest() < 8*classes {
			return nil, r.Fail(wire.ErrTruncated)
		}
		t.grow(max(t.Cells(), last+1))
		for y := 0; y < classes; y++ {
			v := r.Float()
			if !finite(v) {
				return nil, r.Fail(fmt.Errorf("count %v of cell %d", v, last))
			}
			t.n[last*classes+y] = v
		}
	}
	return t, r.Err()
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
