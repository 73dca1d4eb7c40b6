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
)

// guess is the type of an untyped column by the values seen so far.
type guess uint8

const (
	guessNone guess = iota // only nulls
	guessInt
	guessFloat
	guessBool // only JSON has these
	guessText
)

func (g guess) join(o guess) guess {
	switch {
	case g == guessNone || g == o:
		return o
	case o == guessNone:
		return g
	case g == guessInt && o == guessFloat || g == guessFloat && o == guessInt:
		return guessFloat
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

	nums  column.Fixed[float64]
	whole bool // all of nums are integers that float64 holds exactly
	text  column.Text
	kind  guess // of the tables so far
	seen  guess // of the values of this table that came with a type
}

func (c *cells) begin() {
	c.nums = column.Fixed[float64]{V: make([]float64, 0, cap(c.nums.V))}
	n := len(c.text.Bytes)
	c.text = column.Text{Bytes: make([]byte, 0, n+n/8)}
	c.text.Reset()
	c.whole, c.seen = true, guessNone
}

var (
	errNumber = errors.New("not a number")
	errText   = errors.New("not UTF-8")
)

// misfit is the error of a value that its column does not take.
func (c *cells) misfit(value []byte, err error) *Error {
	e := &Error{Column: c.name, Value: cut(value), Err: err,
		Remedy: "correct it, add the text to missing, or make the feature nominal"}
	if d := number.Detect([]string{string(value)}); d.Read > 0 && !errors.Is(err, errText) {
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

// string appends a value that is text by its format.
func (c *cells) string(b []byte) error {
	c.seen = c.seen.join(guessText)
	return c.add(b)
}

// token appends a JSON number.
func (c *cells) token(b []byte) error {
	v, ok := number.Parse(b)
	if !ok {
		return errNumber
	}
	if c.as == wantNumber {
		c.number(v)
		return nil
	}
	if isDigits(b) { // an id keeps every digit, however many
		c.seen = c.seen.join(guessInt)
		if !isInteger(b) {
			c.seen = guessText
		}
		c.text.Bytes = append(c.text.Bytes, b...)
	} else {
		if math.IsInf(v, 0) {
			c.text.Null()
			return nil
		}
		c.seen = c.seen.join(guessFloat)
		c.text.Bytes = codec.AppendNumber(c.text.Bytes, v)
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
		var ints column.Fixed[int64]
		for i, v := range c.nums.V {
			ints.Add(int64(v), c.nums.Valid(i))
		}
		return array.MakeFromData(ints.Data(t)), t
	}
	if c.as == wantNumber {
		return numeric(c.whole)
	}
	if c.as == wantGuess || c.as == wantTime {
		c.kind = c.kind.join(c.look())
		switch c.kind {
		case guessInt:
			t := arrow.PrimitiveTypes.Int64
			var ints column.Fixed[int64]
			for i := range c.text.Len() {
				v, _ := strconv.ParseInt(borrow(c.text.Value(i)), 10, 64)
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
		b := c.text.Value(i)
		switch {
		case isInteger(b):
			g = g.join(guessInt)
		case isDigits(b): // float64 would lose digits
			return guessText
		case isPlainNumber(b):
			g = g.join(guessFloat)
		default:
			return guessText
		}
	}
	return g
}

// isDigits reports whether b is the canonical text of a whole number, however large.
func isDigits(b []byte) bool {
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

// isInteger reports whether b is the canonical text of an int64.
func isInteger(b []byte) bool {
	if !isDigits(b) || len(b) > 20 {
		return false
	}
	if len(b) <= 18 {
		return true
	}
	_, err := strconv.ParseInt(borrow(b), 10, 64)
	return err == nil
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
