package file

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec"
	"liftstream/codec/internal/column"
	"liftstream/codec/number"
	"liftstream/model"
)

// guess is the type of an untyped column by the values seen so far.
type guess uint8

const (
	guessNone  guess = iota // only nulls
	guessInt                // integers up to 2^53
	guessLong               // integers of 64 bits
	guessULong              // integers from 0 to 2^64 - 1
	guessFloat
	guessBool // only JSON has these
	guessText
)

// join never gives up a digit: only integers that a float64 holds become floats.
func (g guess) join(o guess) guess {
	lo, hi := min(g, o), max(g, o)
	switch {
	case lo == guessNone || lo == hi, hi <= guessULong, lo == guessInt && hi == guessFloat:
		return hi
	}
	return guessText
}

// guessNumber is the type of a text that is a number by its form, else guessText.
func guessNumber(b []byte) guess {
	if !isInteger(b) {
		if isPlainNumber(b) {
			return guessFloat
		}
		return guessText
	}
	if len(b) <= 15 {
		return guessInt
	}
	if v, err := strconv.ParseInt(borrow(b), 10, 64); err == nil {
		if v >= -1<<53 && v <= 1<<53 {
			return guessInt
		}
		return guessLong
	}
	if _, err := strconv.ParseUint(borrow(b), 10, 64); err == nil {
		return guessULong
	}
	return guessText
}

// cells builds one column of a text file, one table after the other.
type cells struct {
	name    string
	as      want
	floats  bool // numbers are float64 even when all are whole
	missing *missing
	numbers *number.Format // of texts in a column of numbers
	changes *codec.Changes
	track   bool   // texts is kept
	texts   []bool // by row: the value is text by its format

	met   bool // by a JSONReader: its text has the key
	nums  column.Fixed[float64]
	ints  column.Fixed[int64] // of finish
	whole bool                // all of nums are integers that float64 holds exactly
	text  column.Text
	kind  guess // of the tables so far
	seen  guess // of the values of this table that came with a type
}

func (c *cells) begin() {
	c.nums = column.Fixed[float64]{V: make([]float64, 0, cap(c.nums.V))}
	n := len(c.text.Bytes)
	c.text = column.Text{Bytes: make([]byte, 0, n+n/8)}
	c.text.Reset()
	c.ints = column.Fixed[int64]{}
	c.texts = c.texts[:0]
	c.whole, c.seen = true, guessNone
}

// again is begin of the first table of another text, in the buffers of the one before.
func (c *cells) again() {
	c.nums.Reset()
	c.ints.Reset()
	c.text.Reset()
	c.texts = c.texts[:0]
	c.whole, c.seen, c.kind, c.met = true, guessNone, guessNone, false
}

var (
	errNumber = errors.New("not a number")
	errText   = errors.New("not UTF-8")
)

// misfit is the error of a value that its column does not take.
func (c *cells) misfit(value []byte, err error) *Error {
	e := &Error{Column: c.name, Value: cut(value), Err: err,
		Remedy: "correct it, add the text to missing, or make the feature nominal"}
	if d := number.Detect([]string{string(value)}); d.Read > 0 && !d.Format.Plain() && !errors.Is(err, errText) {
		e.Remedy = fmt.Sprintf("say how its numbers are written, format: %s in the configuration, or %s", d.Format, e.Remedy)
	}
	if errors.Is(err, errText) {
		e.Remedy = "save the file as UTF-8"
	}
	return e
}

func (c *cells) null() {
	if c.as == wantNumber {
		c.nums.Add(0, false)
	} else {
		c.text.Null()
	}
}

// add appends a text without a type, spaces around it cut.
func (c *cells) add(b []byte) error {
	if c.as == wantNumber {
		v, ok := c.numbers.Parse(b)
		if !ok {
			if c.missing.has(b) {
				c.nums.Add(0, false)
				return nil
			}
			return errNumber
		}
		c.changed(b, v)
		c.number(v)
		return nil
	}
	if c.missing.has(b) {
		c.text.Null()
		return nil
	}
	if !utf8.Valid(b) {
		return errText
	}
	c.text.Bytes = append(c.text.Bytes, b...)
	c.text.End(true)
	return nil
}

func (c *cells) number(v float64) {
	if c.whole && (v != math.Trunc(v) || math.Abs(v) > 1<<53) {
		c.whole = false
	}
	c.nums.Add(v, !math.IsNaN(v) && !math.IsInf(v, 0))
}

// changed counts a number that becomes another one, or missing.
func (c *cells) changed(b []byte, v float64) {
	switch {
	case c.changes == nil:
	case math.IsInf(v, 0):
		c.changes.Infinite++
	case math.IsNaN(v):
		c.changes.NaN++
	case len(b) > 15 && math.Abs(v) >= 1<<53 && isInteger(b):
		var digits [32]byte
		if string(strconv.AppendFloat(digits[:0], v, 'f', 0, 64)) != string(b) {
			c.changes.Rounded++
		}
	}
}

// string appends a value that is text by its format.
func (c *cells) string(b []byte) error {
	c.seen = c.seen.join(guessText)
	return c.add(b)
}

// note says of the last value whether it is text by its format.
func (c *cells) note(isText bool) {
	if !c.track {
		return
	}
	for len(c.texts) < c.len()-1 {
		c.texts = append(c.texts, false)
	}
	c.texts = append(c.texts, isText)
}

// isText reports whether the value of a row is text by its format.
func (c *cells) isText(row int) bool { return row < len(c.texts) && c.texts[row] }

// token appends a JSON number.
func (c *cells) token(b []byte) error {
	v, ok := number.Parse(b)
	if !ok {
		return errNumber
	}
	if c.as == wantNumber {
		c.changed(b, v)
		c.number(v)
		return nil
	}
	if g := guessNumber(b); isInteger(b) {
		c.seen = c.seen.join(g)
		c.text.Bytes = append(c.text.Bytes, b...)
	} else {
		if math.IsInf(v, 0) {
			c.text.Null()
			return nil
		}
		c.seen = c.seen.join(guessFloat)
		c.text.Bytes = model.AppendNumber(c.text.Bytes, v, 64)
	}
	c.text.End(true)
	return nil
}

// bool appends a JSON boolean.
func (c *cells) bool(v bool) {
	if c.as == wantNumber {
		c.nums.Add(0, true)
		if v {
			c.nums.V[len(c.nums.V)-1] = 1
		}
		return
	}
	c.seen = c.seen.join(guessBool)
	c.text.Bytes = strconv.AppendBool(c.text.Bytes, v)
	c.text.End(true)
}

// finish returns the column of this table.
func (c *cells) finish() (arrow.Array, arrow.DataType) {
	numeric := func(whole bool) (arrow.Array, arrow.DataType) {
		if !whole || c.floats {
			t := arrow.PrimitiveTypes.Float64
			return array.MakeFromData(c.nums.Data(t)), t
		}
		t := arrow.PrimitiveTypes.Int64
		for i, v := range c.nums.V {
			c.ints.Add(int64(v), c.nums.Valid(i))
		}
		return array.MakeFromData(c.ints.Data(t)), t
	}
	if c.as == wantNumber {
		return numeric(c.whole)
	}
	if c.as == wantGuess || c.as == wantTime {
		kind := c.kind.join(c.look())
		if kind == guessULong && c.negative() {
			kind = guessText
		}
		c.kind = kind
		switch c.kind {
		case guessInt, guessLong:
			t := arrow.PrimitiveTypes.Int64
			for i := range c.text.Len() {
				v, _ := strconv.ParseInt(borrow(c.text.Value(i)), 10, 64)
				c.ints.Add(v, c.text.Valid(i))
			}
			return array.MakeFromData(c.ints.Data(t)), t
		case guessULong:
			t := arrow.PrimitiveTypes.Uint64
			var ints column.Fixed[uint64]
			for i := range c.text.Len() {
				v, _ := strconv.ParseUint(borrow(c.text.Value(i)), 10, 64)
				ints.Add(v, c.text.Valid(i))
			}
			return array.MakeFromData(ints.Data(t)), t
		case guessFloat:
			for i := range c.text.Len() {
				v, _ := number.Parse(c.text.Value(i))
				c.nums.Add(v, c.text.Valid(i) && !math.IsNaN(v) && !math.IsInf(v, 0))
			}
			return numeric(false)
		case guessBool:
			b := array.NewBooleanBuilder(allocator)
			for i := range c.text.Len() {
				if c.text.Valid(i) {
					b.Append(string(c.text.Value(i)) == "true")
				} else {
					b.AppendNull()
				}
			}
			return b.NewArray(), arrow.FixedWidthTypes.Boolean
		}
	}
	return array.MakeFromData(c.text.Data(arrow.BinaryTypes.String)), arrow.BinaryTypes.String
}

// look guesses the type of this table's values.
func (c *cells) look() guess {
	if c.seen != guessNone {
		return c.seen
	}
	g := guessNone
	for i := range c.text.Len() {
		if !c.text.Valid(i) {
			continue
		}
		if g = g.join(guessNumber(c.text.Value(i))); g == guessText {
			return g
		}
	}
	return g
}

// negative reports whether a value of this table begins with a minus sign.
func (c *cells) negative() bool {
	for i := range c.text.Len() {
		if b := c.text.Value(i); c.text.Valid(i) && len(b) > 0 && b[0] == '-' {
			return true
		}
	}
	return false
}

// isInteger reports whether b is the canonical text of an integer of any size.
func isInteger(b []byte) bool {
	d := b
	if len(d) > 0 && d[0] == '-' {
		d = d[1:]
	}
	if len(d) == 0 || d[0] == '0' && len(b) > 1 {
		return false
	}
	for _, x := range d {
		if x < '0' || x > '9' {
			return false
		}
	}
	return true
}

// isPlainNumber reports whether b is a decimal number without leading zeros.
func isPlainNumber(b []byte) bool {
	d := b
	if len(d) > 0 && d[0] == '-' {
		d = d[1:]
	}
	if len(d) == 0 || d[0] == '0' && len(d) > 1 && d[1] != '.' && d[1] != 'e' && d[1] != 'E' || d[0] != '.' &&
		(d[0] < '0' || d[0] > '9') {
		return false
	}
	_, ok := number.Parse(b)
	return ok
}

// borrow views bytes as a string that is not kept.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
