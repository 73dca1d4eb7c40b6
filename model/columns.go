package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"liftstream/model/wire"
)

// Columns of numbers, packed: each value of a column takes the same number of bits, so any one is read without the
// others. stream/state/FORMAT.md has the bytes. The size of a column depends on its values alone, and so does the
// choice of the records that leave a full pending store; a general compressor would change it from version to version.

// kinds of a column.
const (
	columnInts    = 0 // base + unit x number
	columnDecimal = 1 // (base + unit x number) / 10^scale, or NaN
	columnList    = 2 // the number is a place in a list of values
	columnRaw     = 3 // the 64 bits of a float64
	columnCodes   = 4 // the number is a place in a list of codes of levels, see codeOf
)

// columnEnd is the number of zero bytes behind the last column: a value is read with the eight bytes around it.
const columnEnd = 9

// listEntry is the number of bytes of a value in the list of a column, and codeEntry that of a code.
const (
	listEntry = 8
	codeEntry = 4
)

// mostListed is the largest number of values in a list.
const mostListed = 512

// tableBits is the binary logarithm of the slots for the values of a column.
const tableBits = 11

// column is one packed column.
type column struct {
	kind    byte
	scale   byte // of columnDecimal
	missing bool // number 0 of columnDecimal is NaN, and the others begin at 1
	base    int64
	unit    uint64
	width   uint
	list    []byte
	bits    []byte // and the columns behind it
}

// powersOfTen are exact.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// number returns the packed number of record i.
func (c *column) number(i int) uint64 { return bitsAt(c.bits, uint(i)*c.width, c.width) }

// int returns value i of a column of ints.
func (c *column) int(i int) int64 { return c.base + int64(c.unit*c.number(i)) }

// codeOf is the number of a cell of a feature with levels in a list: 0 = missing, else one more than its code.
func codeOf(v float64) uint32 {
	switch {
	case v != v:
		return 0
	case v <= MaxLevels:
		return uint32(v) + 1
	}
	return MaxLevels + Further(v) + 1
}

// cellOf is the inverse of codeOf.
func cellOf(n uint32) float64 {
	if n == 0 {
		return math.NaN()
	}
	return Cell(n - 1)
}

// recode rewrites the codes in the list of a column, and reports whether one has changed.
func (c *column) recode(rc Recode, f int) (changed bool) {
	for at := 0; c.kind == columnCodes && at < len(c.list); at += codeEntry {
		was := binary.LittleEndian.Uint32(c.list[at:])
		now := codeOf(rc.Value(f, cellOf(was)))
		changed = changed || now != was
		binary.LittleEndian.PutUint32(c.list[at:], now)
	}
	return changed
}

// float returns value i of a column of floats, every bit of it.
func (c *column) float(i int) float64 {
	n := c.number(i)
	switch c.kind {
	case columnRaw:
		return math.Float64frombits(n)
	case columnList:
		return math.Float64frombits(binary.LittleEndian.Uint64(c.list[listEntry*n:]))
	case columnCodes:
		return cellOf(binary.LittleEndian.Uint32(c.list[codeEntry*n:]))
	}
	if c.missing {
		if n == 0 {
			return math.NaN()
		}
		n--
	}
	return float64(c.base+int64(c.unit*n)) / powersOfTen[c.scale]
}

// bitsAt returns the width bits from bit at on, of which b holds nine bytes at least.
func bitsAt(b []byte, at, width uint) uint64 {
	if width == 0 {
		return 0
	}
	i, shift := at>>3, at&7
	x := binary.LittleEndian.Uint64(b[i:]) >> shift
	if shift+width > 64 {
		x |= uint64(b[i+8]) << (64 - shift)
	}
	if width < 64 {
		x &= 1<<width - 1
	}
	return x
}

// appendBits appends the low width bits of each number, and fills the last byte up with zeros.
func appendBits(b []byte, numbers []uint64, width uint) []byte {
	var word uint64
	var held uint
	for _, n := range numbers {
		word |= n << held
		if held+width >= 64 {
			b = binary.LittleEndian.AppendUint64(b, word)
			if word = 0; held > 0 {
				word = n >> (64 - held)
			}
			held = held + width - 64
			continue
		}
		held += width
	}
	for ; held > 0; held -= min(held, 8) {
		b = append(b, byte(word))
		word >>= 8
	}
	return b
}

// columnPacker packs columns; it holds room to work.
type columnPacker struct {
	ints    []int64
	floats  []float64
	numbers []uint64
	sorted  []uint64
	table   [1 << tableBits]uint16 // places in sorted by a hash, from 1 on
	texts   []string
	out     []byte
}

// spread brings values to their smallest distance from the first: base + unit x number.
func (k *columnPacker) spread(v []int64) (base int64, unit uint64, width uint) {
	k.numbers = grow(k.numbers, len(v))
	if len(v) == 0 {
		return 0, 1, 0
	}
	base = slices.Min(v)
	largest := uint64(0)
	for i, x := range v {
		d := uint64(x) - uint64(base)
		k.numbers[i] = d
		largest = max(largest, d)
		for d != 0 { // greatest common divisor
			unit, d = d, unit%d
		}
	}
	if unit > 1 {
		for i := range k.numbers {
			k.numbers[i] /= unit
		}
		largest /= unit
	}
	return base, max(unit, 1), uint(bits.Len64(largest))
}

// appendInts appends a column of ints.
func (k *columnPacker) appendInts(b []byte, v []int64) []byte {
	base, unit, width := k.spread(v)
	b = wire.AppendUvarint(wire.AppendVarint(append(b, columnInts), base), unit)
	return appendBits(append(b, byte(width)), k.numbers, width)
}

// decimals writes the values as whole numbers of 10^-scale into k.ints, NaN left out. It reports whether all of them
// are so to the bit.
func (k *columnPacker) decimals(v []float64) (scale int, missing, all bool) {
	k.ints = k.ints[:0]
	nan := math.Float64bits(math.NaN())
	for _, x := range v {
		if x != x {
			if missing = true; math.Float64bits(x) != nan {
				return 0, false, false
			}
			continue
		}
		for !isDecimal(x, scale) {
			if scale++; scale == len(powersOfTen) {
				return 0, false, false
			}
		}
	}
	for _, x := range v {
		if x != x {
			continue
		}
		if !isDecimal(x, scale) {
			return 0, false, false
		}
		k.ints = append(k.ints, int64(math.Round(x*powersOfTen[scale])))
	}
	return scale, missing, true
}

// isDecimal reports whether x is a whole number of 10^-scale, to the bit.
func isDecimal(x float64, scale int) bool {
	n := math.Round(x * powersOfTen[scale])
	return math.Abs(n) < 1<<53 && math.Float64bits(float64(int64(n))/powersOfTen[scale]) == math.Float64bits(x)
}

// appendFloats appends a column of floats, the shortest of the kinds that hold them to the bit.
func (k *columnPacker) appendFloats(b []byte, v []float64) []byte {
	best := 64 * len(v)
	scale, missing, decimal := k.decimals(v)
	var base int64
	var unit uint64
	var width uint
	if decimal {
		base, unit, width = k.spread(k.ints)
		if missing {
			width = 0
			for _, n := range k.numbers {
				width = max(width, uint(bits.Len64(n+1))) // 0 is NaN
			}
		}
		if decimal = width < 64 && int(width)*len(v) < best; decimal {
			best = int(width) * len(v)
		}
	}
	most := min(mostListed, best/(8*listEntry))
	few := k.distinct(len(v), func(i int) uint64 { return math.Float64bits(v[i]) }, most)
	if n := len(k.sorted); few && 8*listEntry*n+bits.Len(uint(max(n, 1)-1))*len(v) < best {
		b = wire.AppendUvarint(append(b, columnList), uint64(n))
		for _, x := range k.sorted {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return k.appendPlaces(b, len(v), func(i int) uint64 { return math.Float64bits(v[i]) })
	}
	if !decimal {
		k.numbers = k.numbers[:0]
		for _, x := range v {
			k.numbers = append(k.numbers, math.Float64bits(x))
		}
		return appendBits(append(b, columnRaw), k.numbers, 64)
	}
	b = append(b, columnDecimal, byte(scale), 0)
	if missing {
		b[len(b)-1] = 1
		at := 0
		all := grow(k.sorted, len(v))
		for i, x := range v {
			if all[i] = 0; x == x {
				all[i] = k.numbers[at] + 1
				at++
			}
		}
		k.numbers, k.sorted = all, k.numbers
	}
	b = wire.AppendUvarint(wire.AppendVarint(b, base), unit)
	return appendBits(append(b, byte(width)), k.numbers, width)
}

// distinct writes the values that differ into k.sorted, in order. Where there are more than most, which is at most
// pendingChunk, it writes some of them and reports false.
func (k *columnPacker) distinct(n int, value func(i int) uint64, most int) bool {
	clear(k.table[:])
	k.sorted = k.sorted[:0]
	for i := range n {
		x := value(i)
		at := x * 0x9e3779b97f4a7c15 >> (64 - tableBits)
		for ; k.table[at] != 0 && k.sorted[k.table[at]-1] != x; at = (at + 1) % (1 << tableBits) {
		}
		if k.table[at] != 0 {
			continue
		}
		if len(k.sorted) == most {
			return false
		}
		k.sorted = append(k.sorted, x)
		k.table[at] = uint16(len(k.sorted))
	}
	slices.Sort(k.sorted)
	return true
}

// appendCodes appends a column of cells of a feature with levels. The codes stand in its list alone, so that another
// table of levels changes no more than that.
func (k *columnPacker) appendCodes(b []byte, v []float64) []byte {
	k.distinct(len(v), func(i int) uint64 { return uint64(codeOf(v[i])) }, len(v))
	b = wire.AppendUvarint(append(b, columnCodes), uint64(len(k.sorted)))
	for _, x := range k.sorted {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return k.appendPlaces(b, len(v), func(i int) uint64 { return uint64(codeOf(v[i])) })
}

// appendPlaces appends the places of n values in the list k.sorted.
func (k *columnPacker) appendPlaces(b []byte, n int, at func(i int) uint64) []byte {
	width := uint(bits.Len(uint(max(len(k.sorted), 1) - 1)))
	k.numbers = grow(k.numbers, n)
	for i := range k.numbers {
		place, _ := slices.BinarySearch(k.sorted, at(i))
		k.numbers[i] = uint64(place)
	}
	return appendBits(append(b, byte(width)), k.numbers, width)
}

// readColumn reads a column of n values and returns the bytes behind it. check looks at every number too, as bytes from
// outside need it.
func readColumn(b []byte, n int, check bool) (c column, rest []byte, err error) {
	r := wire.NewReader(b)
	next := func() (x byte) {
		if b := r.Take(1); len(b) == 1 {
			x = b[0]
		}
		return x
	}
	c.unit = 1
	entries := 0
	switch c.kind = next(); c.kind {
	case columnDecimal:
		c.scale, c.missing = next(), next() != 0
		fallthrough
	case columnInts:
		c.base, c.unit = r.Varint(), r.Uvarint()
		c.width = uint(next())
	case columnList, columnCodes:
		entry := listEntry
		if c.kind == columnCodes {
			entry = codeEntry
		}
		entries = r.Int(pendingChunk)
		c.list = r.Take(entry * entries)
		c.width = uint(next())
	case columnRaw:
		c.width = 64
	default:
		return c, nil, fmt.Errorf("kind %d of a column", c.kind)
	}
	size := (n*int(min(c.width, 64)) + 7) / 8
	if r.Err() != nil || c.width > 64 || int(c.scale) >= len(powersOfTen) || size > r.Rest()-columnEnd {
		return c, nil, fmt.Errorf("a column of %d values does not fit", n)
	}
	c.bits = b[len(b)-r.Rest():]
	if check && (c.kind == columnList || c.kind == columnCodes) {
		for i := range n {
			if c.number(i) >= uint64(entries) {
				return c, nil, fmt.Errorf("value %d is not in the list of its column", i)
			}
		}
	}
	return c, c.bits[size:], nil
}
