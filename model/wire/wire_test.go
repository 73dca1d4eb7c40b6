package wire

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestGoldenBytes holds the bytes of each value by hand: states and models of former builds consist of these.
func TestGoldenBytes(t *testing.T) {
	for _, x := range []struct {
		name string
		got  []byte
		want []byte
	}{
		{"uvarint", AppendUvarint(nil, 300), []byte{0xac, 0x02}},
		{"varint", AppendVarint(nil, -2), []byte{3}},
		{"float", AppendFloat(nil, 1), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
		{"floats", AppendFloats(nil, []float64{0}), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"string", AppendString(nil, "ab"), []byte{2, 'a', 'b'}},
		{"bytes", AppendBytes(nil, []byte{7}), []byte{1, 7}},
		{"strings", AppendStrings(nil, []string{"a", ""}), []byte{2, 1, 'a', 0}},
		{"ints", AppendInts(nil, []int32{1, -1}), []byte{2, 2, 1}},
		{"behind a value", AppendUvarint([]byte{9}, 1), []byte{9, 1}},
		{"truth", AppendBool(AppendBool(nil, true), false), []byte{1, 0}},
	} {
		if !slices.Equal(x.got, x.want) {
			t.Errorf("%s: % x, want % x", x.name, x.got, x.want)
		}
	}
}

// everything appends a value of each kind, and read reads them and reports whether they came back.
func everything() []byte {
	b := AppendUvarint(nil, math.MaxUint64)
	b = AppendVarint(b, math.MinInt64)
	b = AppendFloat(b, math.Float64frombits(0x7ff8dead00000001))
	b = AppendFloats(b, []float64{math.Inf(-1), math.Copysign(0, -1)})
	b = AppendFloats(b, []float64{3, 4})
	b = AppendString(b, "text")
	b = AppendBytes(b, []byte("bytes"))
	b = AppendStrings(b, []string{"", "x"})
	b = AppendInts(b, []int{-5, math.MaxInt64})
	b = AppendBool(b, true)
	b = AppendBool(b, false)
	return AppendUvarint(b, 7)
}

func read(r *Reader) bool {
	ok := r.Uvarint() == math.MaxUint64
	ok = r.Varint() == math.MinInt64 && ok
	ok = math.Float64bits(r.Float()) == 0x7ff8dead00000001 && ok
	v := r.Floats()
	ok = len(v) == 2 && math.IsInf(v[0], -1) && math.Signbit(v[1]) && ok
	var into [2]float64
	r.FloatsInto(into[:])
	ok = into == [2]float64{3, 4} && ok
	ok = r.String() == "text" && ok
	ok = string(r.Bytes()) == "bytes" && ok
	ok = slices.Equal(r.Strings(2), []string{"", "x"}) && ok
	ok = slices.Equal(Ints[int](r), []int{-5, math.MaxInt64}) && ok
	ok = r.Bool() && ok
	ok = !r.Bool() && ok
	return r.Int(7) == 7 && ok
}

// TestRoundTripAndTruncation: each value comes back bit for bit, and of fewer bytes than there were the reader gives
// ErrTruncated at each value at which they can end.
func TestRoundTripAndTruncation(t *testing.T) {
	whole := everything()
	r := NewReader(whole)
	if r.Rest() != len(whole) {
		t.Errorf("%d bytes to read, want %d", r.Rest(), len(whole))
	}
	if !read(r) || r.Done() != nil || r.Rest() != 0 {
		t.Errorf("the values do not come back: %v, %d bytes left", r.Err(), r.Rest())
	}
	for n := range whole {
		r := NewReader(whole[:n])
		read(r)
		if err := r.Done(); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d of %d bytes: %v, want %v", n, len(whole), err, ErrTruncated)
		}
	}
}

// TestRefused has the limits of each value: the last that is read, and the first that is not.
func TestRefused(t *testing.T) {
	long := AppendUvarint(nil, 1<<62)
	for _, x := range []struct {
		name string
		b    []byte
		read func(r *Reader)
		want string // part of the error; "" = none
	}{
		{"number at its limit", []byte{5}, func(r *Reader) { r.Int(5) }, ""},
		{"number above its limit", []byte{6}, func(r *Reader) { r.Int(5) }, "number 6 above its limit of 5"},
		{"nothing, for a truth value", nil, func(r *Reader) { r.Bool() }, "truncated"},
		{"seven bytes of a number", make([]byte, 7), func(r *Reader) { r.Float() }, "truncated"},
		{"nothing, for a number", nil, func(r *Reader) { r.Uvarint() }, "truncated"},
		{"nothing, for a signed number", nil, func(r *Reader) { r.Varint() }, "truncated"},
		{"nothing, for a small number", nil, func(r *Reader) { r.Int(3) }, "truncated"},
		{"nothing, for bytes", nil, func(r *Reader) { r.Bytes() }, "truncated"},
		{"no truth value", []byte{2}, func(r *Reader) { r.Bool() }, "byte 2 where a truth value should be"},
		{"texts at their limit", []byte{2, 0, 0}, func(r *Reader) { r.Strings(2) }, ""},
		{"texts above their limit", []byte{3, 0, 0, 0}, func(r *Reader) { r.Strings(2) }, "3 texts above their limit of 2"},
		{"fewer numbers", AppendFloats(nil, []float64{1}), func(r *Reader) { r.FloatsInto(make([]float64, 2)) },
			"1 numbers where 2 should be"},
		{"more numbers", AppendFloats(nil, []float64{1, 2}), func(r *Reader) { r.FloatsInto(make([]float64, 1)) },
			"2 numbers where 1 should be"},
		{"ends of 32 bits", AppendInts(nil, []int64{math.MaxInt32, math.MinInt32}), func(r *Reader) { Ints[int32](r) }, ""},
		{"above 32 bits", AppendInts(nil, []int64{math.MaxInt32 + 1}), func(r *Reader) { Ints[int32](r) },
			"number 2147483648 does not fit"},
		{"below 32 bits", AppendInts(nil, []int64{math.MinInt32 - 1}), func(r *Reader) { Ints[int32](r) },
			"number -2147483649 does not fit"},
		{"bytes left over", []byte{0, 0, 0}, func(r *Reader) { r.Bool() }, "2 bytes left over"},
		{"length of numbers", long, func(r *Reader) { r.Floats() }, "truncated"},
		{"length of numbers to fill", long, func(r *Reader) { r.FloatsInto(nil) }, "truncated"},
		{"length of texts", long, func(r *Reader) { r.Strings(math.MaxInt) }, "truncated"},
		{"length of integers", long, func(r *Reader) { Ints[int](r) }, "truncated"},
		{"length of bytes", long, func(r *Reader) { r.Bytes() }, "truncated"},
		{"endless number", slices.Repeat([]byte{0xff}, 11), func(r *Reader) { r.Uvarint() }, "truncated"},
		{"endless signed number", slices.Repeat([]byte{0xff}, 11), func(r *Reader) { r.Varint() }, "truncated"},
	} {
		r := NewReader(x.b)
		x.read(r)
		switch err := r.Done(); {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// TestTheFirstErrorStays: after an error every value is zero, nothing is left to read, and a later error does not hide
// the first.
func TestTheFirstErrorStays(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	r := NewReader(everything())
	if got := r.Fail(first); got != first {
		t.Errorf("Fail gives %v", got)
	}
	if got := r.Fail(second); got != first {
		t.Errorf("Fail gives %v, want the first error", got)
	}
	into := []float64{1}
	r.FloatsInto(into)
	if r.Rest() != 0 || r.Uvarint() != 0 || r.Varint() != 0 || r.Int(9) != 0 || r.Bool() || r.Float() != 0 ||
		r.Floats() != nil || r.Bytes() != nil || r.String() != "" || r.Strings(9) != nil || Ints[int](r) != nil ||
		into[0] != 1 {
		t.Error("a reader that has failed reads on")
	}
	if r.Err() != first || r.Done() != first {
		t.Errorf("%v and %v, want the first error", r.Err(), r.Done())
	}
}

// TestWhoOwnsTheBytes: the slices that a reader returns are the caller's, except Bytes, which ends where the value
// ends, so that an append to it does not overwrite the next value.
func TestWhoOwnsTheBytes(t *testing.T) {
	b := AppendString(AppendBytes(AppendFloats(nil, []float64{1}), []byte("ab")), "next")
	r := NewReader(b)
	r.Floats()[0] = 2
	if got := NewReader(b).Floats(); got[0] != 1 {
		t.Errorf("numbers alias the input: %v", got)
	}
	part := r.Bytes()
	_ = append(part, "xyz"...)
	if got := r.String(); got != "next" || r.Done() != nil {
		t.Errorf("the next value is %q, %v", got, r.Err())
	}
	b[9+1] = 'A' // the first byte of the bytes
	if string(part) != "Ab" {
		t.Errorf("Bytes is %q: it must alias the input", part)
	}
}
