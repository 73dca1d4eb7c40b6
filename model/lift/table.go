package lift

import (
	"fmt"
	"math"

	"liftstream/model/wire"
)

// Table holds the weighted class counts n_xy of the cells of one feature set. It never forgets.
//
// The sum of squared weights goes with the counts, for the effective number of records n_eff = (sum w)^2 / sum w^2.
type Table struct {
	classes int
	n       []float64 // cell-major, grows to the highest cell that was touched
	square  float64
}

// NewTable returns an empty table of the given number of classes.
func NewTable(classes int) *Table { return &Table{classes: classes} }

// add counts a record of weight w in the cell or, by sign -1, takes it out again.
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

// Merge adds the counts of o, a table of the same classes: the result is the table of both streams.
func (t *Table) Merge(o *Table) {
	if len(o.n) > len(t.n) {
		t.grow(o.Cells())
	}
	for i, v := range o.n {
		t.n[i] += v
	}
	t.square += o.square
}

// Clone returns an independent copy.
func (t *Table) Clone() *Table {
	c := *t
	c.n = append([]float64(nil), t.n...)
	return &c
}

// appendTable appends 0, where a table that forgets would have its base, the sum of squares, and the cells that are not
// all zero: their number, and for each its distance from the one before and its counts. The bytes do not depend on how
// far the table once grew.
func appendTable(b []byte, t *Table) []byte {
	b = wire.AppendFloat(b, 0)
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
	t := NewTable(classes)
	base := r.Float()
	t.square = r.Float()
	if base != 0 || !finite(t.square) {
		return nil, r.Fail(fmt.Errorf("table base %v is not 0 or sum of squares %v not a number", base, t.square))
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
