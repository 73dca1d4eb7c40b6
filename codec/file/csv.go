package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec"
)

const (
	maxLine  = 64 << 20 // bytes of one record of a text file
	maxTable = 32 << 20 // bytes of a text file after which a table ends early
)

// lines cuts a stream into lines, in a buffer that grows to the longest.
type lines struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	eof    bool
	err    error
	line   int64 // number of the last line returned
	read   int64 // bytes returned
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, 1<<18)} }

// next returns the next line with its end; io.EOF after the last. It aliases the buffer until the next call.
func (l *lines) next() ([]byte, error) {
	from := l.lo
	for {
		if i := bytes.IndexByte(l.buf[from:l.hi], '\n'); i >= 0 {
			return l.take(from + i + 1), nil
		}
		if l.eof {
			if l.err != nil {
				return nil, l.err
			}
			if l.lo == l.hi {
				return nil, io.EOF
			}
			return l.take(l.hi), nil
		}
		seen := l.hi - l.lo
		if err := l.fill(); err != nil {
			return nil, err
		}
		from = l.lo + seen
	}
}

func (l *lines) take(end int) []byte {
	b := l.buf[l.lo:end:end]
	l.lo = end
	l.line++
	l.read += int64(len(b))
	return b
}

// fill reads more behind the bytes in the buffer.
func (l *lines) fill() error {
	if l.lo > 0 {
		l.hi = copy(l.buf, l.buf[l.lo:l.hi])
		l.lo = 0
	}
	if l.hi == len(l.buf) {
		if len(l.buf) >= maxLine {
			return &Error{Line: l.line + 1, Err: fmt.Errorf("a record of more than %d bytes", maxLine),
				Remedy: "look for a quote that is never closed"}
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.hi:])
		l.hi += n
		if err != nil {
			l.eof = true
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
			return nil
		}
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// csv reads comma-separated values (RFC 4180; also with semicolons or tabs: the most frequent of the three in the
// header). Spaces around a value are cut; empty lines are skipped.
type csv struct {
	f      *stored
	l      *lines
	rows   int
	comma  byte
	header []string
	cols   []cells
	fields [][]byte
	quotes []bool // by field: it stands in quotes; empty where the record has none
	joined []byte // a record that spans lines
	row    int64
	shape  shape
}

func openCSV(f *stored, rows int, w *wants) (*csv, error) {
	c := &csv{f: f, l: newLines(f), rows: rows, comma: ','}
	first, err := c.record(true)
	if errors.Is(err, io.EOF) {
		return nil, &Error{Err: errors.New("the file is empty"), Remedy: "a CSV file starts with a line of column names"}
	}
	if err != nil {
		return nil, err
	}
	if len(first) > maxColumns {
		return nil, &Error{Line: 1, Err: fmt.Errorf("%d columns, at most %d are read", len(first), maxColumns),
			Remedy: "is it really CSV with a line of names?"}
	}
	for _, b := range first {
		name := string(b)
		c.header = append(c.header, name)
		c.cols = append(c.cols, cells{name: name, as: w.of(name), floats: w.floats, missing: &w.missing,
			track: w.texts, changes: w.changes})
	}
	return c, nil
}

func (c *csv) names() ([]string, error) { return c.header, nil }

func (c *csv) close() error { return c.f.close() }

// record returns the trimmed fields of the next record, which alias buffers until the next call.
func (c *csv) record(header bool) ([][]byte, error) {
	for {
		line, err := c.l.next()
		if err != nil {
			return nil, err
		}
		if header {
			if bytes.HasPrefix(line, []byte{0xFF, 0xFE}) || bytes.HasPrefix(line, []byte{0xFE, 0xFF}) {
				return nil, &Error{Line: 1, Err: errors.New("the text is UTF-16"), Remedy: "save it as UTF-8"}
			}
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
			c.comma = delimiter(line)
		}
		if quotes := bytes.Count(line, []byte{'"'}); quotes > 0 {
			if line, err = c.whole(line, quotes); err != nil {
				return nil, err
			}
			return c.quoted(line)
		}
		line = chop(line)
		if len(bytes.TrimLeft(line, " \t")) == 0 {
			continue
		}
		c.quotes = c.quotes[:0]
		fields, comma := c.fields[:0], c.comma
		from := 0
		for i, b := range line {
			if b == comma {
				fields = append(fields, trim(line[from:i]))
				from = i + 1
			}
		}
		c.fields = append(fields, trim(line[from:]))
		return c.fields, nil
	}
}

func delimiter(line []byte) byte {
	best, most := byte(','), bytes.Count(line, []byte{','})
	for _, d := range []byte{';', '\t'} {
		if n := bytes.Count(line, []byte{d}); n > most {
			best, most = d, n
		}
	}
	return best
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

// whole adds lines while a quote is open: the number of quotes so far is odd.
func (c *csv) whole(line []byte, quotes int) ([]byte, error) {
	if quotes%2 == 0 {
		return line, nil
	}
	start := c.l.line
	c.joined = append(c.joined[:0], line...)
	for quotes%2 == 1 {
		if len(c.joined) > maxLine {
			return nil, &Error{Line: start, Err: fmt.Errorf("a record of more than %d bytes", maxLine),
				Remedy: "look for a quote that is never closed"}
		}
		more, err := c.l.next()
		if errors.Is(err, io.EOF) {
			return nil, &Error{Line: start, Err: errors.New("a quote is never closed"),
				Remedy: `a quote inside a quoted value is written twice ("")`}
		}
		if err != nil {
			return nil, err
		}
		quotes += bytes.Count(more, []byte{'"'})
		c.joined = append(c.joined, more...)
	}
	return c.joined, nil
}

// quoted splits a record that has quotes. A quote opens a value only at its start; elsewhere it stands for itself.
func (c *csv) quoted(line []byte) ([][]byte, error) {
	line = chop(line)
	c.fields, c.quotes = c.fields[:0], c.quotes[:0]
	for i := 0; ; {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		c.quotes = append(c.quotes, i < len(line) && line[i] == '"')
		if i < len(line) && line[i] == '"' {
			// The value is unescaped in place: it only shrinks.
			from, to := i+1, i+1
			i++
			for {
				if i >= len(line) {
					return nil, &Error{Line: c.l.line, Err: errors.New("a quote is never closed"),
						Remedy: `a quote inside a quoted value is written twice ("")`}
				}
				if line[i] == '"' {
					if i+1 >= len(line) || line[i+1] != '"' {
						i++
						break
					}
					i++
				}
				line[to] = line[i]
				to++
				i++
			}
			c.fields = append(c.fields, trim(line[from:to]))
			for i < len(line) && (line[i] == ' ' || line[i] == '\t') && line[i] != c.comma {
				i++
			}
			if i < len(line) && line[i] != c.comma {
				return nil, &Error{Line: c.l.line, Value: cut(line[from:to]), Err: errors.New("text after a closing quote"),
					Remedy: `a quote inside a quoted value is written twice ("")`}
			}
		} else {
			from := i
			for i < len(line) && line[i] != c.comma {
				i++
			}
			c.fields = append(c.fields, trim(line[from:i]))
		}
		if i >= len(line) {
			return c.fields, nil
		}
		i++
	}
}

func (c *csv) next() (*codec.Table, error) {
	for k := range c.cols {
		c.cols[k].begin()
	}
	n, start := 0, c.l.read
	for n < c.rows && c.l.read-start < maxTable {
		fields, err := c.record(false)
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
		if len(fields) != len(c.cols) {
			return nil, &Error{Row: c.row, Line: c.l.line, Err: fmt.Errorf("%d values, the header names %d columns", len(fields),
				len(c.cols)),
				Remedy: "complete the row, or quote values that contain the separator"}
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

// shape keeps the schema of the last table: a reader of tables plans once for a schema.
type shape struct{ schema *arrow.Schema }

func (s *shape) table(cols []cells, n int) *codec.Table {
	var fields []arrow.Field
	var arrays []arrow.Array
	for k := range cols {
		if cols[k].as == wantNothing {
			continue
		}
		a, t := cols[k].finish()
		fields = append(fields, arrow.Field{Name: cols[k].name, Type: t, Nullable: true})
		arrays = append(arrays, a)
	}
	same := s.schema != nil && s.schema.NumFields() == len(fields)
	for i := 0; same && i < len(fields); i++ {
		same = s.schema.Field(i).Equal(fields[i])
	}
	if !same {
		s.schema = arrow.NewSchema(fields, nil)
	}
	return codec.NewTable(array.NewRecord(s.schema, arrays, int64(n)))
}
