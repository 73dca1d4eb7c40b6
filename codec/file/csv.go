package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec"
)

// csv reads comma-separated values (RFC 4180; the delimiter is found, see dialect). A quote opens a value only at its
// start, behind spaces, and stands for itself elsewhere. A record ends with LF, CR LF or CR. Spaces around a value are
// cut; empty lines are skipped. Columns behind the last name hold nothing, as a delimiter at the end of the lines makes
// them.
type csv struct {
	f      *stored
	l      *lines
	rows   int
	comma  byte
	header []string
	width  int // values of each record, 0 before the first
	cols   []cells
	fields [][]byte
	spans  []span
	quotes []bool // by field: it stands in quotes; empty where the record has none
	row    int64
	shape  shape
}

// span is where a field lies behind the bytes that were taken.
type span struct {
	from, to int
	quoted   bool
}

func openCSV(f *stored, rows int, w *wants) (*csv, error) {
	c := &csv{f: f, l: newLines(f, lineRoom), rows: rows}
	for len(c.l.buf[c.l.lo:c.l.hi]) < sampleBytes && !c.l.eof {
		if err := c.l.fill(); err != nil {
			return nil, err
		}
	}
	sample := c.l.buf[c.l.lo:c.l.hi]
	whole := len(sample) <= sampleBytes && c.l.eof
	comma, skip := dialect(sample[:min(len(sample), sampleBytes)], whole)
	c.comma = comma
	c.l.take(skip)
	if skip > 0 {
		c.l.line++
	}
	first, err := c.record()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Err: errors.New("the file is empty"), Remedy: "a CSV file starts with a line of column names"}
	}
	if err != nil {
		return nil, err
	}
	for len(first) > 1 && len(first[len(first)-1]) == 0 {
		first = first[:len(first)-1]
	}
	if len(first) > maxColumns {
		return nil, &Error{Line: 1, Err: fmt.Errorf("%d columns, at most %d are read", len(first), maxColumns),
			Remedy: "is it really CSV with a line of names?"}
	}
	for _, b := range first {
		if !utf8.Valid(b) {
			return nil, &Error{Line: c.l.line, Value: cut(b), Err: errText, Remedy: "save the file as UTF-8"}
		}
		name := string(b)
		c.header = append(c.header, name)
		c.cols = append(c.cols, w.cells(name))
	}
	return c, nil
}

func (c *csv) names() ([]string, error) { return c.header, nil }

func (c *csv) close() error { return c.f.close() }

// record returns the trimmed fields of the next record, which alias buffers until the next call.
func (c *csv) record() ([][]byte, error) {
	for {
		line, err := c.l.peek()
		if err != nil {
			return nil, err
		}
		text := chop(line)
		if bytes.IndexByte(text, '"') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
			if err := c.split(); err != nil {
				return nil, err
			}
			if len(c.fields) == 1 && c.fields[0] == nil {
				continue
			}
			return c.fields, nil
		}
		c.l.line++
		c.l.take(len(line))
		if len(bytes.TrimLeft(text, " \t")) == 0 && (c.comma != '\t' || bytes.IndexByte(text, '\t') < 0) {
			continue
		}
		c.quotes = c.quotes[:0]
		fields, comma := c.fields[:0], c.comma
		from := 0
		for i, b := range text {
			if b == comma {
				fields = append(fields, trim(text[from:i]))
				from = i + 1
			}
		}
		c.fields = append(fields, trim(text[from:]))
		return c.fields, nil
	}
}

func chop(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// split splits a record that has quotes or spans lines, byte by byte. An empty line gives one field that is nil.
func (c *csv) split() error {
	c.spans = c.spans[:0]
	start, quotes := c.l.line+1, false
	for i := 0; ; {
		b, ok, err := c.l.at(i)
		for err == nil && ok && b == ' ' {
			i++
			b, ok, err = c.l.at(i)
		}
		if err != nil {
			return err
		}
		var s span
		if ok && b == '"' {
			quotes = true
			if s, i, err = c.quoted(i, start); err != nil {
				return err
			}
			if b, ok, i, err = c.closed(s, i); err != nil {
				return err
			}
		} else {
			s.from = i
			for ok && b != c.comma && b != '\n' && b != '\r' {
				i++
				if b, ok, err = c.l.at(i); err != nil {
					return err
				}
			}
			s.to = i
		}
		c.spans = append(c.spans, s)
		if ok && b == c.comma {
			i++
			continue
		}
		if ok && b == '\r' { // CR LF is one end
			if b, ok, err = c.l.at(i + 1); err != nil {
				return err
			}
			if ok && b == '\n' {
				i++
			}
			ok = true
		}
		if ok {
			i++
		}
		c.finish(i, quotes)
		return nil
	}
}

// closed passes over the blanks behind a closing quote, and returns the byte after them and where it is.
func (c *csv) closed(s span, i int) (b byte, ok bool, at int, err error) {
	for b, ok, err = c.l.at(i); ok && (b == ' ' || b == '\t') && b != c.comma; b, ok, err = c.l.at(i) {
		i++
	}
	if ok && b != c.comma && b != '\n' && b != '\r' {
		err = &Error{Line: c.l.line + 1, Value: cut(c.l.buf[c.l.lo+s.from : c.l.lo+s.to]),
			Err: errors.New("text after a closing quote"), Remedy: quoteTwice}
	}
	return b, ok, i, err
}

// finish takes the n bytes of a record whose spans are known.
func (c *csv) finish(n int, quotes bool) {
	c.fields, c.quotes = c.fields[:0], c.quotes[:0]
	for _, s := range c.spans {
		c.quotes = append(c.quotes, s.quoted)
		c.fields = append(c.fields, trim(c.l.buf[c.l.lo+s.from:c.l.lo+s.to]))
	}
	if len(c.fields) == 1 && len(c.fields[0]) == 0 && !quotes {
		c.fields[0] = nil
	}
	c.l.line++
	c.l.take(n)
}

const quoteTwice = `a quote inside a quoted value is written twice ("")`

// quoted reads the value whose opening quote is byte i, and returns where it lies and the byte after the closing quote.
// The value is unescaped in place: it only shrinks.
func (c *csv) quoted(i int, start int64) (s span, after int, err error) {
	i++
	s = span{i, i, true}
	for {
		b, ok, err := c.l.at(i)
		if err != nil {
			return s, 0, err
		}
		if !ok {
			return s, 0, &Error{Line: start, Err: errors.New("a quote is never closed"), Remedy: quoteTwice}
		}
		i++
		switch b {
		case '"':
			next, ok, err := c.l.at(i)
			if err != nil {
				return s, 0, err
			}
			if !ok || next != '"' {
				return s, i, nil
			}
			i++
		case '\n':
			c.l.line++
		}
		c.l.buf[c.l.lo+s.to] = b
		s.to++
	}
}

// fit cuts the empty values behind the last column. All records are as wide as the first.
func (c *csv) fit(fields [][]byte) ([][]byte, error) {
	n := len(c.cols)
	if len(fields) == n && c.width <= n {
		c.width = n
		return fields, nil
	}
	if c.width == 0 {
		c.width = len(fields)
	}
	wide := len(fields) > n && len(fields) == c.width
	for k := n; wide && k < len(fields); k++ {
		wide = len(fields[k]) == 0
	}
	if !wide {
		want := ""
		if c.width > n {
			want = fmt.Sprintf(" and the first record has %d values", c.width)
		}
		return nil, &Error{Row: c.row, Line: c.l.line, Err: fmt.Errorf("%d values, the header names %d columns%s",
			len(fields), n, want), Remedy: "complete the row, or quote values that contain the separator"}
	}
	return fields[:n], nil
}

func (c *csv) next() (*codec.Table, error) {
	for k := range c.cols {
		c.cols[k].begin()
	}
	n, start := 0, c.l.read
	for n < c.rows && c.l.read-start < maxTable {
		fields, err := c.record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.Row = c.row + 1
			}
			return nil, err
		}
		c.row++
		if fields, err = c.fit(fields); err != nil {
			return nil, err
		}
		for k := range c.cols {
			col := &c.cols[k]
			if col.as == wantNothing {
				continue
			}
			if err := col.add(fields[k]); err != nil {
				e := col.misfit(fields[k], err)
				e.Row, e.Line = c.row, c.l.line
				return nil, e
			}
			col.note(k < len(c.quotes) && c.quotes[k])
		}
		n++
	}
	if n == 0 {
		return nil, io.EOF
	}
	return c.shape.table(c.cols, n), nil
}

// shape keeps the schemas of the last tables: a reader of tables plans once for a schema.
type shape struct{ schemas []*arrow.Schema }

// keptSchemas is the most of them: the types of a column change with its values.
const keptSchemas = 16

// of returns the schema of these fields.
func (s *shape) of(fields []arrow.Field) *arrow.Schema {
	for _, schema := range s.schemas {
		same := schema.NumFields() == len(fields)
		for i := 0; same && i < len(fields); i++ {
			f := schema.Field(i)
			same = f.Name == fields[i].Name && arrow.TypeEqual(f.Type, fields[i].Type)
		}
		if same {
			return schema
		}
	}
	if len(s.schemas) >= keptSchemas {
		s.schemas = nil
	}
	s.schemas = append(s.schemas, arrow.NewSchema(fields, nil))
	return s.schemas[len(s.schemas)-1]
}

func (s *shape) table(cols []cells, n int) *codec.Table {
	fields, arrays := make([]arrow.Field, 0, len(cols)), make([]arrow.Array, 0, len(cols))
	for k := range cols {
		if cols[k].as == wantNothing {
			continue
		}
		a, t := cols[k].finish()
		fields = append(fields, arrow.Field{Name: cols[k].name, Type: t, Nullable: true})
		arrays = append(arrays, a)
	}
	return codec.NewTable(array.NewRecord(s.of(fields), arrays, int64(n)))
}
