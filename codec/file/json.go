package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"liftstream/codec"
	"liftstream/codec/internal/jsontext"
)

const maxColumns = 1 << 14

// jsonl reads one JSON object a line. A key that a line lacks is null there; keys of later tables are added as columns
// unless only known columns are read. Nested values are kept as JSON text.
type jsonl struct {
	f       *stored
	l       *lines
	rows    int
	w       *wants
	cols    []cells
	index   map[string]int
	scratch []byte
	row     int64
	first   *codec.Table // read to learn the names
	err     error
	shape   shape
}

func openJSON(f *stored, rows int, w *wants) (*jsonl, error) {
	return openLines(f, lineRoom, rows, w)
}

// openLines is openJSON with a buffer of so many bytes at first.
func openLines(f *stored, room, rows int, w *wants) (*jsonl, error) {
	j := &jsonl{f: f, l: newLines(f, room), rows: rows, w: w, index: map[string]int{}}
	j.first, j.err = j.read()
	if errors.Is(j.err, io.EOF) {
		return nil, &Error{Err: errors.New("the file is empty"), Remedy: "a JSON lines file holds one object a line"}
	}
	if j.err != nil {
		return nil, j.err
	}
	return j, nil
}

func (j *jsonl) names() ([]string, error) {
	names := make([]string, len(j.cols))
	for i := range j.cols {
		names[i] = j.cols[i].name
	}
	return names, nil
}

func (j *jsonl) close() error { return j.f.close() }

func (j *jsonl) next() (*codec.Table, error) {
	if t := j.first; t != nil {
		j.first = nil
		return t, nil
	}
	return j.read()
}

func (j *jsonl) read() (*codec.Table, error) {
	for k := range j.cols {
		j.cols[k].begin()
	}
	return j.table()
}

// table reads the next table into columns that are empty.
func (j *jsonl) table() (*codec.Table, error) {
	n, start := 0, j.l.read
	for n < j.rows && j.l.read-start < maxTable {
		line, err := j.l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		j.row++
		if err := j.object(line, n); err != nil {
			var e *Error
			if !errors.As(err, &e) {
				e = &Error{Err: err, Remedy: "each line holds one JSON object"}
			}
			e.Row, e.Line = j.row, j.l.line
			return nil, e
		}
		n++
		for k := range j.cols {
			c := &j.cols[k]
			if c.as == wantNothing {
				continue
			}
			if c.len() < n {
				c.null()
			}
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	return j.shape.table(j.cols, n), nil
}

func (c *cells) len() int {
	if c.as == wantNumber {
		return c.nums.Len()
	}
	return c.text.Len()
}

// column returns the column of a key, which it adds when it is new; n values are null before it.
func (j *jsonl) column(key []byte, n int) (*cells, error) {
	if k, ok := j.index[string(key)]; ok {
		j.cols[k].met = true
		return &j.cols[k], nil
	}
	if len(j.cols) == maxColumns {
		return nil, &Error{Column: cut(key), Err: fmt.Errorf("more than %d different keys", maxColumns),
			Remedy: "names of columns are keys, values are not"}
	}
	if !utf8.Valid(key) {
		return nil, &Error{Column: cut(key), Err: fmt.Errorf("its name is %w", errText), Remedy: "save the file as UTF-8"}
	}
	name := string(key)
	j.index[name] = len(j.cols)
	j.cols = append(j.cols, j.w.cells(name))
	c := &j.cols[len(j.cols)-1]
	c.begin()
	c.met = true
	if c.as != wantNothing {
		for range n {
			c.null()
		}
	}
	return c, nil
}

// object adds the values of one line as row n of the table.
func (j *jsonl) object(b []byte, n int) error {
	if b[0] != '{' {
		return jsontext.ErrSyntax
	}
	p := jsontext.Parser{B: b, I: 1}
	p.Space()
	if p.Is('}') {
		return p.End()
	}
	for {
		key, err := p.Text(&j.scratch)
		if err != nil {
			return err
		}
		c, err := j.column(key, n)
		if err != nil {
			return err
		}
		p.Space()
		if !p.Is(':') {
			return jsontext.ErrSyntax
		}
		p.Space()
		if c.as != wantNothing && c.len() > n {
			return &Error{Column: c.name, Err: errors.New("the key occurs twice"), Remedy: "keep one"}
		}
		if err := j.value(&p, c); err != nil {
			return err
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

func (j *jsonl) value(p *jsontext.Parser, c *cells) error {
	if p.I >= len(p.B) {
		return jsontext.ErrSyntax
	}
	switch x := p.B[p.I]; {
	case x == '"':
		t, err := p.Text(&j.scratch)
		if err != nil || c.as == wantNothing {
			return err
		}
		t = trim(t)
		if err := c.string(t); err != nil {
			return c.misfit(t, err)
		}
		c.note(true)
		return nil
	case x == '{' || x == '[':
		raw, err := p.Nested()
		if err != nil || c.as == wantNothing {
			return err
		}
		if err := c.string(raw); err != nil {
			return c.misfit(raw, err)
		}
		return nil
	case x == '-' || x >= '0' && x <= '9':
		token, err := p.Number()
		if err != nil || c.as == wantNothing {
			return err
		}
		return c.token(token)
	case p.Word("null"):
		if c.as != wantNothing {
			c.null()
		}
	case p.Word("true"):
		if c.as != wantNothing {
			c.bool(true)
		}
	case p.Word("false"):
		if c.as != wantNothing {
			c.bool(false)
		}
	default:
		return jsontext.ErrSyntax
	}
	return nil
}
