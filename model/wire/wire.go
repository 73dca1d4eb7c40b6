// Package wire is the binary form that states and models share: little-endian numbers, uvarint lengths, and a reader
// that hostile bytes can neither crash nor make allocate more than they are long.
//
// Begin at Reader, and at the functions Append.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrTruncated is returned when the bytes end before the value does.
var ErrTruncated = errors.New("truncated")

// AppendUvarint appends v in base-128.
func AppendUvarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendVarint appends v zig-zag in base-128.
func AppendVarint(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// AppendFloat appends the eight bytes of v, NaN payloads included.
func AppendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendFloats appends a length and the values.
func AppendFloats(b []byte, v []float64) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	at, end := len(b), len(b)+8*len(v)
	b = slices.Grow(b, 8*len(v))[:end]
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[at+8*i:], math.Float64bits(x))
	}
	return b
}

// AppendString appends a length and the bytes.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendBytes appends a length and the bytes.
func AppendBytes(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendStrings appends a count and each string.
func AppendStrings(b []byte, s []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	for _, x := range s {
		b = AppendString(b, x)
	}
	return b
}

// AppendInts appends a count and each value zig-zag.
func AppendInts[T ~int | ~int32 | ~int64](b []byte, v []T) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	for _, x := range v {
		b = binary.AppendVarint(b, int64(x))
	}
	return b
}

// AppendBool appends one byte, 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Reader reads the values in the order in which they were appended. After the first error every call returns a zero
// value, so a decoder checks Err once at the end of a part. Returned slices are copies, except Bytes, which aliases
// the input.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads from b, which must not change while the reader is used.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Fail records err unless one is recorded already, and returns the recorded one.
func (r *Reader) Fail(err error) error {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
	return r.err
}

// Done returns the first error, or one that says that bytes are left over.
func (r *Reader) Done() error {
	if r.err == nil && len(r.b) > 0 {
		return r.Fail(fmt.Errorf("%d bytes left over", len(r.b)))
	}
	return r.err
}

// Rest is the number of bytes not yet read.
func (r *Reader) Rest() int { return len(r.b) }

// Uvarint reads the bytes of AppendUvarint.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail(ErrTruncated)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Varint reads the bytes of AppendVarint.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.Fail(ErrTruncated)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Int reads an uvarint that must lie in [0, limit].
func (r *Reader) Int(limit int) int {
	v := r.Uvarint()
	if v > uint64(limit) {
		r.Fail(fmt.Errorf("number %d above its limit of %d", v, limit))
		return 0
	}
	return int(v)
}

// Bool reads the bytes of AppendBool.
func (r *Reader) Bool() bool {
	if len(r.b) < 1 {
		r.Fail(ErrTruncated)
		return false
	}
	v := r.b[0]
	r.b = r.b[1:]
	if v > 1 {
		r.Fail(fmt.Errorf("byte %d where a truth value should be", v))
	}
	return v == 1
}

// Float reads the bytes of AppendFloat.
func (r *Reader) Float() float64 {
	if len(r.b) < 8 {
		r.Fail(ErrTruncated)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// count reads a length whose elements take at least size bytes each, so that it cannot exceed the bytes that are left.
func (r *Reader) count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.b)/size) {
		r.Fail(ErrTruncated)
		return 0
	}
	return int(n)
}

// Floats reads the bytes of AppendFloats.
func (r *Reader) Floats() []float64 {
	n := r.count(8)
	if r.err != nil {
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.b[8*i:]))
	}
	r.b = r.b[8*n:]
	return v
}

// FloatsInto reads exactly len(dst) values that AppendFloats wrote.
func (r *Reader) FloatsInto(dst []float64) {
	n := r.count(8)
	if r.err == nil && n != len(dst) {
		r.Fail(fmt.Errorf("%d numbers where %d should be", n, len(dst)))
	}
	if r.err != nil {
		return
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.b[8*i:]))
	}
	r.b = r.b[8*n:]
}

// Bytes reads the bytes of AppendBytes; the result aliases the input.
func (r *Reader) Bytes() []byte {
	n := r.count(1)
	if r.err != nil {
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// Take returns the next n bytes, which alias the input; nil where there are fewer.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.Fail(ErrTruncated)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// String reads the bytes of AppendString.
func (r *Reader) String() string { return string(r.Bytes()) }

// Strings reads the bytes of AppendStrings, at most limit of them.
func (r *Reader) Strings(limit int) []string {
	n := r.count(1)
	if n > limit {
		r.Fail(fmt.Errorf("%d texts above their limit of %d", n, limit))
	}
	if r.err != nil {
		return nil
	}
	v := make([]string, n)
	for i := range v {
		v[i] = r.String()
	}
	return v
}

// Ints reads the bytes of AppendInts.
func Ints[T ~int | ~int32 | ~int64](r *Reader) []T {
	n := r.count(1)
	if r.err != nil {
		return nil
	}
	v := make([]T, n)
	for i := range v {
		x := r.Varint()
		if v[i] = T(x); int64(v[i]) != x {
			r.Fail(fmt.Errorf("number %d does not fit", x))
		}
	}
	return v
}
