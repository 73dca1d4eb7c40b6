package codec

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec/internal/column"
	"liftstream/codec/internal/jsontext"
	"liftstream/model"
)

// objects reads JSON objects into the columns of the contract: one Arrow record for a message, whose buffers the next
// message takes. Its columns have the types that the contract asks for, so each value is read by itself.
type objects struct {
	plan    plan
	columns []objectColumn
	index   map[string][]int // columns by key: a column may have two roles
	schema  *arrow.Schema
	rows    int // of the last message
	scratch []byte
	text    []byte
}

// objectColumn is a column under construction.
type objectColumn struct {
	role
	seen    int32
	numbers column.Fixed[float64]
	wholes  column.Fixed[int64]
	texts   column.Text
}

func newObjects(d *Decoder, stage string) *objects {
	x := &objects{index: map[string][]int{}}
	var fields []arrow.Field
	for i, r := range rolesOf(d, &x.plan, stage) {
		*r.at = i
		typ := arrow.DataType(arrow.BinaryTypes.String)
		switch r.kind {
		case valueNumber:
			typ = arrow.PrimitiveTypes.Float64
		case valueWhole:
			typ = arrow.PrimitiveTypes.Int64
		}
		fields = append(fields, arrow.Field{Name: r.name, Type: typ, Nullable: true})
		x.columns = append(x.columns, objectColumn{role: r})
		x.index[r.name] = append(x.index[r.name], i)
	}
	x.schema = arrow.NewSchema(fields, nil)
	return x
}

// readObjects reads a message of JSON. A line that is no object is a bad row; a message without any object is dead.
func (k *intake) readObjects(value []byte, stage string) (*plan, arrow.Record, *MessageError) {
	x := k.objects[stage]
	if x == nil {
		if k.objects == nil {
			k.objects = map[string]*objects{}
		}
		x = newObjects(k.d, stage)
		k.objects[stage] = x
	}
	if len(value) == 0 {
		return nil, nil, dead(ReasonEmpty, "no bytes")
	}
	message := value
	if k.d.o.Input == InputJSON {
		value = unframed(value)
	}
	if b := bytes.TrimLeft(value, " \t\r\n"); len(b) == 0 || b[0] != '{' {
		return nil, nil, dead(ReasonNotJSON, "the first bytes are % x, a JSON object (input.format) starts with 7b",
			b[:min(len(b), 4)])
	}
	if !k.d.in.account.take(2 * int64(len(value))) {
		return nil, nil, k.d.in.account.refusal()
	}
	x.begin()
	if k.d.o.Input == InputJSON {
		k.lines = append(k.lines, message)
		if err := k.object(x, value, 0); err != nil {
			return nil, nil, dead(ReasonDamaged, "%w", err)
		}
		if k.d.in.account.ended() { // the row may lack its values
			return nil, nil, k.d.in.account.refusal()
		}
	} else if err := k.split(x, value); err != nil {
		return nil, nil, err
	}
	p := &x.plan
	if stage == StageLabels {
		p = k.labelsPlan(x)
	}
	return p, x.record(), nil
}

// unframed leaves out the five bytes that clients of a schema registry write before a JSON object.
func unframed(value []byte) []byte {
	if len(value) > frameBytes && value[0] == frameMagic {
		return value[frameBytes:]
	}
	return value
}

const (
	frameMagic = 0 // the first byte of a message whose schema a registry has; its id follows
	frameBytes = 5
)

// split reads the objects of a message of JSON lines. Empty lines are no rows.
func (k *intake) split(x *objects, value []byte) *MessageError {
	for line := range bytes.Lines(value) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		n := x.rows
		if n == maxRows {
			return dead(ReasonTooLarge, "more than %d rows", maxRows)
		}
		k.lines = append(k.lines, line)
		if err := k.object(x, line, int32(n)); err != nil {
			k.refuse(int32(n), ReasonDamaged, err.Error())
		}
		if n&1023 == 0 && !k.d.in.account.running() || k.d.in.account.ended() {
			return k.d.in.account.refusal()
		}
	}
	return nil
}

func (x *objects) begin() {
	x.rows = 0
	for i := range x.columns {
		c := &x.columns[i]
		c.seen = -1
		c.numbers.Reset()
		c.wholes.Reset()
		c.texts.Reset()
	}
}

// object reads one object as row n, and refuses the row where it lacks a column. An error says that the object is
// damaged; the row has values then, too.
func (k *intake) object(x *objects, b []byte, n int32) error {
	x.rows++
	if !k.d.in.account.take(int64(24*len(x.columns) + 64)) {
		return nil
	}
	err := k.values(x, b, n)
	if k.d.o.Attributes {
		k.addAttributes(x, n)
	}
	missing, faults := 0, []byte(nil)
	for i := range x.columns {
		c := &x.columns[i]
		if c.seen == n {
			continue
		}
		c.null()
		switch {
		case !c.needed && c.feature:
			k.d.changes.Absent++
		case c.needed && !slices.ContainsFunc(x.index[c.name], func(j int) bool { return j < i && x.columns[j].needed }):
			if missing++; missing <= named {
				faults = fmt.Appendf(faults, "column %q is missing; ", c.name)
			}
		}
	}
	if err == nil && missing > 0 {
		if missing > named {
			faults = fmt.Appendf(faults, "and %d more columns; ", missing-named)
		}
		k.refuse(n, ReasonSchema, string(faults[:len(faults)-2]))
	}
	return err
}

// values reads the values of an object.
func (k *intake) values(x *objects, b []byte, n int32) error {
	p := jsontext.Parser{B: b}
	p.Space()
	if !p.Is('{') {
		return jsontext.ErrSyntax
	}
	p.Space()
	if p.Is('}') {
		return p.End()
	}
	for {
		key, err := p.Text(&x.scratch)
		if err != nil {
			return err
		}
		columns := x.index[string(key)]
		p.Space()
		if !p.Is(':') {
			return jsontext.ErrSyntax
		}
		p.Space()
		v, err := next(&p, &x.text)
		if err != nil {
			return err
		}
		for _, i := range columns {
			c := &x.columns[i]
			if c.seen == n {
				return fmt.Errorf("the key %q occurs twice", c.name)
			}
			c.seen = n
			k.add(c, v, n)
		}
		p.Space()
		if p.Is('}') {
			return p.End()
		}
		if !p.Is(',') {
			return jsontext.ErrSyntax
		}
		p.Space()
	}
}

// jsonValue is a value of an object.
type jsonValue struct {
	kind jsonKind
	text []byte // of a string without its escapes, of a number as it stands
}

type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonTrue
	jsonFalse
	jsonNumber
	jsonString
	jsonNested
)

// next reads the next value. Its text is valid until the next call.
func next(p *jsontext.Parser, scratch *[]byte) (v jsonValue, err error) {
	if p.I >= len(p.B) {
		return v, jsontext.ErrSyntax
	}
	switch c := p.B[p.I]; {
	case c == '"':
		v.kind = jsonString
		v.text, err = p.Text(scratch)
	case c == '{' || c == '[':
		v.kind = jsonNested
		_, err = p.Nested()
	case c == '-' || c-'0' <= 9:
		v.kind = jsonNumber
		v.text, err = p.Number()
	case p.Word("null"):
	case p.Word("true"):
		v.kind = jsonTrue
	case p.Word("false"):
		v.kind = jsonFalse
	default:
		err = jsontext.ErrSyntax
	}
	return v, err
}

// add adds a value to a column, null where it does not fit; its row is bad then.
func (k *intake) add(c *objectColumn, v jsonValue, n int32) {
	switch {
	case v.kind == jsonNull:
		c.null()
	case v.kind == jsonNested:
		c.null()
		k.refuse(n, ReasonSchema, fmt.Sprintf("column %q is an object or a list; %s", c.name, c.wants()))
	case c.kind == valueNumber:
		k.addNumber(c, v, n)
	case c.kind == valueWhole:
		w, err := strconv.ParseInt(string(v.text), 10, 64)
		c.wholes.Add(w, err == nil && v.kind == jsonNumber)
	default:
		at := len(c.texts.Bytes)
		switch v.kind {
		case jsonTrue:
			c.texts.Bytes = append(c.texts.Bytes, "true"...)
		case jsonFalse:
			c.texts.Bytes = append(c.texts.Bytes, "false"...)
		case jsonNumber:
			c.texts.Bytes = appendNumber(c.texts.Bytes, v.text)
		default:
			c.texts.Bytes = append(c.texts.Bytes, v.text...)
		}
		if len(c.texts.Bytes) > math.MaxInt32 {
			c.texts.Bytes, k.d.in.account.over = c.texts.Bytes[:at], true
		}
		c.texts.End(true)
	}
}

func (c *objectColumn) wants() string {
	switch c.kind {
	case valueNumber:
		return wantNumber
	case valueWhole:
		return wantWhole
	}
	return wantText
}

func (c *objectColumn) null() {
	switch c.kind {
	case valueNumber:
		c.numbers.Add(math.NaN(), false)
	case valueWhole:
		c.wholes.Add(0, false)
	default:
		c.texts.Null()
	}
}

// addNumber adds a quantity. A text is one where it means missing, or where Options.Numbers says how texts are numbers.
func (k *intake) addNumber(c *objectColumn, v jsonValue, n int32) {
	switch v.kind {
	case jsonTrue:
		c.numbers.Add(1, true)
	case jsonFalse:
		c.numbers.Add(0, true)
	case jsonNumber:
		f, _ := strconv.ParseFloat(string(v.text), 64) // infinite beyond the range
		if rounds(v.text, f) {
			k.d.changes.Rounded++
		}
		c.numbers.Add(f, true)
	default:
		t := trim(v.text)
		f, ok := math.NaN(), false
		if missing := k.d.missing[string(t)]; !missing {
			if !k.d.o.Numbers.Plain() {
				f, ok = k.d.o.Numbers.Parse(t)
			}
			if !ok {
				k.refuse(n, ReasonNumber, fmt.Sprintf("column %q holds the text %q; %s", c.name,
					bytes.ToValidUTF8([]byte(cut(string(t))), []byte("\uFFFD")), wantNumber))
			}
		}
		c.numbers.Add(f, ok)
	}
}

// rounds reports whether f is not the whole number of the text.
func rounds(text []byte, f float64) bool {
	if len(text) < 16 || f-f != 0 || bytes.ContainsAny(text, ".eE") {
		return false
	}
	var digits [32]byte
	return string(strconv.AppendFloat(digits[:0], f, 'f', 0, 64)) != string(text)
}

// appendNumber appends the canonical text of a JSON number: whole numbers keep every digit, others are those of the
// nearest double.
func appendNumber(dst, text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") {
		if string(text) == "-0" {
			return append(dst, '0')
		}
		return append(dst, text...)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return append(dst, text...) // beyond the range
	}
	return model.AppendNumber(dst, f, 64)
}

// record is the message as an Arrow record.
func (x *objects) record() arrow.Record {
	columns := make([]arrow.Array, len(x.columns))
	for i := range x.columns {
		c := &x.columns[i]
		switch c.kind {
		case valueNumber:
			columns[i] = array.MakeFromData(c.numbers.Data(arrow.PrimitiveTypes.Float64))
		case valueWhole:
			columns[i] = array.MakeFromData(c.wholes.Data(arrow.PrimitiveTypes.Int64))
		default:
			columns[i] = array.MakeFromData(c.texts.Data(arrow.BinaryTypes.String))
		}
	}
	return array.NewRecord(x.schema, columns, int64(x.rows))
}

// labelsPlan says whether the labels of a message name their records by id, as a row with an id does, or by position.
func (k *intake) labelsPlan(x *objects) *plan {
	p := x.plan
	if p.id >= 0 && x.columns[p.id].texts.Nulls() == x.rows {
		p.id = -1
	}
	return &p
}
