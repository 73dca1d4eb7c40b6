package infer

import "strconv"

// quick reads requests of the usual form in one pass. Where it says no, encoding/json reads the request: it knows the
// others, and names their faults. encoding/json reads alike each request that quick reads.
type quick struct {
	b     []byte
	i     int                // the next byte
	known map[string]*string // names and datatypes, which then cost no memory
}

// request reads a request without parameters.
func (p *quick) request(q *inferRequest) bool {
	seen := 0
	return p.object(func(key []byte) bool {
		bit := 0
		ok := false
		switch string(key) {
		case "id":
			bit = 1
			q.ID, ok = p.text()
		case "inputs":
			bit = 2
			ok = p.list(func() bool {
				q.Inputs = append(q.Inputs, tensor{})
				return p.tensor(&q.Inputs[len(q.Inputs)-1])
			})
		case "outputs":
			bit = 4
			ok = p.list(func() bool {
				q.Outputs = append(q.Outputs, wantedOutput{})
				return p.wanted(&q.Outputs[len(q.Outputs)-1])
			})
		}
		again := seen&bit != 0
		seen |= bit
		return ok && !again
	}) && p.end()
}

func (p *quick) tensor(x *tensor) bool {
	seen := 0
	return p.object(func(key []byte) bool {
		bit := 0
		ok := false
		switch string(key) {
		case "name":
			bit = 1
			x.Name, ok = p.text()
		case "shape":
			bit = 2
			ok = p.list(func() bool {
				n, ok := p.number()
				size, err := strconv.ParseInt(string(n), 10, 64)
				x.Shape = append(x.Shape, size)
				return ok && err == nil
			})
		case "datatype":
			bit = 4
			x.Datatype, ok = p.text()
		case "data":
			bit = 8
			p.space()
			from := p.i
			ok = p.list(func() bool { _, ok := p.value(); return ok })
			x.Data = p.b[from:p.i]
			x.flat = ok
		}
		again := seen&bit != 0
		seen |= bit
		return ok && !again
	})
}

func (p *quick) wanted(o *wantedOutput) bool {
	seen := false
	return p.object(func(key []byte) (ok bool) {
		if string(key) == "name" && !seen {
			seen = true
			o.Name, ok = p.text()
		}
		return ok
	})
}

// object reads an object; member reads the value of a key.
func (p *quick) object(member func(key []byte) bool) bool {
	if !p.is('{') {
		return false
	}
	if p.is('}') {
		return true
	}
	for {
		p.space()
		key, ok := p.plain()
		if !ok || !p.is(':') || !member(key) {
			return false
		}
		if p.is('}') {
			return true
		}
		if !p.is(',') {
			return false
		}
	}
}

// list reads a list; element reads one of its values.
func (p *quick) list(element func() bool) bool {
	if !p.is('[') {
		return false
	}
	if p.is(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if p.is(']') {
			return true
		}
		if !p.is(',') {
			return false
		}
	}
}

// value reads a text, a number, a boolean or null, and returns it as it stands.
func (p *quick) value() (v []byte, ok bool) {
	p.space()
	if p.i >= len(p.b) {
		return nil, false
	}
	from := p.i
	switch p.b[from] {
	case '"':
		_, ok = p.plain()
	case 't':
		ok = p.word("true")
	case 'f':
		ok = p.word("false")
	case 'n':
		ok = p.word("null")
	default:
		return p.number()
	}
	return p.b[from:p.i], ok
}

// text reads a text.
func (p *quick) text() (string, bool) {
	p.space()
	t, ok := p.plain()
	if s := p.known[string(t)]; s != nil {
		return *s, ok
	}
	return string(t), ok
}

// plain reads a text that stands in JSON as it is: printable ASCII, none of which is escaped, nor would be.
func (p *quick) plain() ([]byte, bool) {
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		return nil, false
	}
	for k := p.i + 1; k < len(p.b); k++ {
		switch c := p.b[k]; {
		case c == '"':
			t := p.b[p.i+1 : k]
			p.i = k + 1
			return t, true
		case c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&':
			return nil, false
		}
	}
	return nil, false
}

// number reads a number of JSON.
func (p *quick) number() ([]byte, bool) {
	p.space()
	from := p.i
	digits := func() bool {
		at := p.i
		for p.i < len(p.b) && p.b[p.i]-'0' <= 9 {
			p.i++
		}
		return p.i > at
	}
	one := func(set string) bool {
		if p.i < len(p.b) {
			for k := range len(set) {
				if p.b[p.i] == set[k] {
					p.i++
					return true
				}
			}
		}
		return false
	}
	one("-")
	if !one("0") && !digits() || one(".") && !digits() {
		return nil, false
	}
	if one("eE") {
		if one("+-"); !digits() {
			return nil, false
		}
	}
	return p.b[from:p.i], true
}

func (p *quick) word(w string) bool {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		return false
	}
	p.i += len(w)
	return true
}

// is passes over white space, and over a byte where that is the next one.
func (p *quick) is(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *quick) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

func (p *quick) end() bool {
	p.space()
	return p.i == len(p.b)
}

// flatValues are values for a list that quick has read; ok is false where not all are of the datatype, or not n.
func (x *tensor) flatValues(n int) (out [][]byte, ok bool) {
	p := quick{b: x.Data}
	out = make([][]byte, 0, min(n, len(x.Data)/2))
	ok = p.list(func() bool {
		v, ok := p.value()
		if !ok || len(out) == n || !isOf(x.Datatype, v) {
			return false
		}
		out = append(out, v)
		return true
	})
	return out, ok && len(out) == n
}

// isOf reports whether a value is of a datatype; it may say no of some that are.
func isOf(datatype string, v []byte) bool {
	kind := datatypes[datatype]
	switch c := v[0]; {
	case c == 'n':
		return kind != 0
	case c == '"':
		return kind == 's'
	case c == 't' || c == 'f':
		return kind == 'b'
	case kind == 'i' && len(v) <= digits:
		bits, err := strconv.Atoi(datatype[len(datatype)-min(len(datatype), 2):])
		if err != nil {
			bits = 8
		}
		if datatype[0] == 'U' {
			_, err = strconv.ParseUint(string(v), 10, bits)
		} else {
			_, err = strconv.ParseInt(string(v), 10, bits)
		}
		return err == nil
	}
	return kind == 'f'
}
