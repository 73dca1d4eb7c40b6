package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"liftstream/codec"
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
	j := &jsonl{f: f, l: newLines(f), rows: rows, w: w, index: map[string]int{}}
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
	if c.as != wantNothing {
		for range n {
			c.null()
		}
	}
	return c, nil
}

var errJSON = errors.New("not a JSON object")

// object adds the values of one line as row n of the table.
func (j *jsonl) object(b []byte, n int) error {
	if b[0] != '{' {
		return errJSON
	}
	p := parser{b: b, i: 1}
	p.space()
	if p.is('}') {
		return p.end()
	}
	for {
		key, err := p.text(&j.scratch)
		if err != nil {
			return err
		}
		c, err := j.column(key, n)
		if err != nil {
			return err
		}
		p.space()
		if !p.is(':') {
			return errJSON
		}
		p.space()
		if c.as != wantNothing && c.len() > n {
			return &Error{Column: c.name, Err: errors.New("the key occurs twice"), Remedy: "keep one"}
		}
		if err := j.value(&p, c); err != nil {
			return err
		}
		p.space()
		if p.is('}') {
			return p.end()
		}
		if !p.is(',') {
			return errJSON
		}
		p.space()
	}
}

func (j *jsonl) value(p *parser, c *cells) error {
	if p.i >= len(p.b) {
		return errJSON
	}
	switch x := p.b[p.i]; {
	case x == '"':
		t, err := p.text(&j.scratch)
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
		raw, err := p.nested()
		if err != nil || c.as == wantNothing {
			return err
		}
		if err := c.string(raw); err != nil {
			return c.misfit(raw, err)
		}
		return nil
	case x == '-' || x >= '0' && x <= '9':
		token, err := p.number()
		if err != nil || c.as == wantNothing {
			return err
		}
		return c.token(token)
	case p.word("null"):
		if c.as != wantNothing {
			c.null()
		}
	case p.word("true"):
		if c.as != wantNothing {
			c.bool(true)
		}
	case p.word("false"):
		if c.as != wantNothing {
			c.bool(false)
		}
	default:
		return errJSON
	}
	return nil
}

// parser walks one line of JSON.
type parser struct {
	b []byte
	i int
}

func (p *parser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

func (p *parser) is(c byte) bool {
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) end() error {
	p.space()
	if p.i != len(p.b) {
		return errors.New("text after the object")
	}
	return nil
}

func (p *parser) word(w string) bool {
	if len(p.b)-p.i >= len(w) && string(p.b[p.i:p.i+len(w)]) == w {
		p.i += len(w)
		return true
	}
	return false
}

func (p *parser) number() ([]byte, error) {
	from := p.i
	digits := func() bool {
		at := p.i
		for p.i < len(p.b) && p.b[p.i]-'0' <= 9 {
			p.i++
		}
		return p.i > at
	}
	p.is('-')
	if !p.is('0') && !digits() {
		return nil, errJSON
	}
	if p.is('.') && !digits() {
		return nil, errJSON
	}
	if p.is('e') || p.is('E') {
		if !p.is('+') {
			p.is('-')
		}
		if !digits() {
			return nil, errJSON
		}
	}
	return p.b[from:p.i], nil
}

// text reads a string; without escapes it aliases the line, else scratch.
func (p *parser) text(scratch *[]byte) ([]byte, error) {
	if !p.is('"') {
		return nil, errJSON
	}
	from := p.i
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return p.b[from : p.i-1], nil
		case c == '\\':
			return p.escaped(from, scratch)
		case c < 0x20:
			return nil, errJSON
		}
		p.i++
	}
	return nil, errors.New("a string is never closed")
}

func (p *parser) escaped(from int, scratch *[]byte) ([]byte, error) {
	out := append((*scratch)[:0], p.b[from:p.i]...)
	defer func() { *scratch = out }()
	for p.i < len(p.b) {
		c := p.b[p.i]
		p.i++
		switch {
		case c == '"':
			return out, nil
		case c < 0x20:
			return nil, errJSON
		case c != '\\':
			out = append(out, c)
			continue
		}
		if p.i >= len(p.b) {
			break
		}
		c = p.b[p.i]
		p.i++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := p.hex()
			if !ok {
				return nil, errJSON
			}
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if at := p.i; p.word(`\u`) {
					if low, ok = p.hex(); !ok {
						return nil, errJSON
					}
					if utf16.DecodeRune(r, low) == utf8.RuneError {
						p.i = at
					}
				}
				r = utf16.DecodeRune(r, low)
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, errJSON
		}
	}
	return nil, errors.New("a string is never closed")
}

func (p *parser) hex() (rune, bool) {
	if len(p.b)-p.i < 4 {
		return 0, false
	}
	r := rune(0)
	for range 4 {
		c := p.b[p.i]
		p.i++
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// nested returns the bytes of an object or array as they stand.
func (p *parser) nested() ([]byte, error) {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(p.b[p.i:]))
	if err := d.Decode(&raw); err != nil {
		return nil, errJSON
	}
	p.i += int(d.InputOffset())
	return raw, nil
}
