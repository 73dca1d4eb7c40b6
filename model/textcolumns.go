package model

import (
	"fmt"
	"math"
	"strconv"

	"liftstream/model/wire"
)

// kinds of a column of texts.
const (
	textsNone     = 0
	textsNumbered = 1 // a prefix and a number
	textsEven     = 2 // all of one length
	textsOf       = 3 // any
)

// textColumn is a packed column of texts.
type textColumn struct {
	kind   byte
	prefix []byte // of textsNumbered; the template of textsEven, two bytes for each byte of a text
	column        // numbers of textsNumbered, ends of textsOf
	width  uint   // bits of a text of textsEven
	body   []byte // of textsEven and textsOf
}

// classes of the bytes of even texts.
const (
	evenSame = 0 // it is the second byte of its template
	evenHex  = 1 // one of 0 to 9 and a to f
	evenByte = 2
)

const hexDigits = "0123456789abcdef"

// appendTexts appends a column of texts.
func (k *columnPacker) appendTexts(b []byte, v []string) []byte {
	prefix, even, any := "", true, false
	for _, t := range v {
		even = even && len(t) == len(v[0])
		if t == "" {
			continue
		}
		if !any {
			any, prefix = true, t
		}
		n := 0
		for n < min(len(prefix), len(t)) && prefix[n] == t[n] {
			n++
		}
		prefix = prefix[:n]
	}
	if !any {
		return append(b, textsNone)
	}
	if numbers, ok := k.numbered(v, &prefix); ok {
		return k.appendInts(wire.AppendString(append(b, textsNumbered), prefix), numbers)
	}
	if even && len(v[0]) <= 255 {
		return k.appendEven(b, v)
	}
	k.ints = k.ints[:0]
	end := int64(0)
	for _, t := range v {
		end += int64(len(t))
		k.ints = append(k.ints, end)
	}
	b = wire.AppendUvarint(append(b, textsOf), uint64(end))
	b = k.appendInts(b, k.ints)
	for _, t := range v {
		b = append(b, t...)
	}
	return b
}

// numbered returns the numbers behind the prefix, of which it takes the digits at the end; 0 stands for an empty text.
func (k *columnPacker) numbered(v []string, prefix *string) ([]int64, bool) {
	p := *prefix
	for p != "" && '0' <= p[len(p)-1] && p[len(p)-1] <= '9' {
		p = p[:len(p)-1]
	}
	k.ints = k.ints[:0]
	for _, t := range v {
		if t == "" {
			k.ints = append(k.ints, 0)
			continue
		}
		digits := t[len(p):]
		if digits == "" || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
			return nil, false
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return nil, false
		}
		k.ints = append(k.ints, int64(n)+1)
	}
	*prefix = p
	return k.ints, true
}

// appendEven appends texts of one length.
func (k *columnPacker) appendEven(b []byte, v []string) []byte {
	b = wire.AppendUvarint(append(b, textsEven), uint64(len(v[0])))
	width := 0
	template := make([]byte, 0, 2*len(v[0]))
	for at := range len(v[0]) {
		class := byte(evenSame)
		for _, t := range v {
			if t[at] != v[0][at] {
				class = max(class, evenHex)
			}
			if class != evenSame && hexOf(t[at]) < 0 {
				class = evenByte
			}
		}
		if class == evenHex && hexOf(v[0][at]) < 0 {
			class = evenByte
		}
		template = append(template, class, v[0][at])
		width += int(class) * 4
	}
	b = append(b, template...)
	k.numbers = k.numbers[:0]
	for _, t := range v {
		for at := range len(t) {
			switch template[2*at] {
			case evenHex:
				k.numbers = append(k.numbers, uint64(hexOf(t[at])))
			case evenByte:
				k.numbers = append(k.numbers, uint64(t[at]&15), uint64(t[at]>>4))
			}
		}
	}
	return appendBits(b, k.numbers, 4)
}

// hexOf returns the value of a digit, -1 of any other byte.
func hexOf(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// readTexts reads a column of n texts and returns the bytes behind it; see readColumn.
func readTexts(b []byte, n int, check bool) (c textColumn, rest []byte, err error) {
	r := wire.NewReader(b)
	if kind := r.Take(1); len(kind) == 1 {
		c.kind = kind[0]
	}
	switch c.kind {
	case textsNone:
	case textsNumbered:
		c.prefix = r.Bytes()
		if r.Err() == nil {
			c.column, rest, err = readColumn(b[len(b)-r.Rest():], n, check)
			return c, rest, err
		}
	case textsEven:
		c.prefix = r.Take(2 * r.Int(255))
		for at := 0; at < len(c.prefix); at += 2 {
			c.width += 4 * uint(min(c.prefix[at], evenByte))
		}
		c.body = b[len(b)-r.Rest():]
		size := (n*int(c.width) + 7) / 8
		if size > r.Rest()-columnEnd {
			return c, nil, fmt.Errorf("%d texts do not fit", n)
		}
		rest = c.body[size:]
		return c, rest, r.Err()
	case textsOf:
		size := r.Int(math.MaxInt32)
		if r.Err() != nil {
			break
		}
		if c.column, rest, err = readColumn(b[len(b)-r.Rest():], n, check); err != nil {
			return c, nil, err
		}
		if size > len(rest)-columnEnd {
			return c, nil, fmt.Errorf("texts of %d bytes do not fit", size)
		}
		c.body, rest = rest[:size], rest[size:]
		for i, last := 0, int64(0); check && i < n; i++ {
			end := c.int(i)
			if end < last || end > int64(size) {
				return c, nil, fmt.Errorf("text %d ends at %d of %d", i, end, size)
			}
			last = end
		}
		return c, rest, nil
	default:
		return c, nil, fmt.Errorf("kind %d of texts", c.kind)
	}
	return c, b[len(b)-r.Rest():], r.Err()
}

// text returns text i.
func (c *textColumn) text(i int) string {
	switch c.kind {
	case textsNumbered:
		n := c.int(i)
		if n <= 0 {
			return ""
		}
		return string(strconv.AppendInt(append(make([]byte, 0, len(c.prefix)+20), c.prefix...), n-1, 10))
	case textsEven:
		out := make([]byte, 0, 64)
		at := uint(i) * c.width
		for k := 0; k < len(c.prefix); k += 2 {
			switch c.prefix[k] {
			case evenSame:
				out = append(out, c.prefix[k+1])
			case evenHex:
				out = append(out, hexDigits[bitsAt(c.body, at, 4)])
				at += 4
			default:
				out = append(out, byte(bitsAt(c.body, at, 8)))
				at += 8
			}
		}
		return string(out)
	case textsOf:
		from := int64(0)
		if i > 0 {
			from = c.int(i - 1)
		}
		return string(c.body[from:c.int(i)])
	}
	return ""
}

// is reports whether text i is that one.
func (c *textColumn) is(i int, text string) bool {
	switch c.kind {
	case textsNumbered:
		n := c.int(i)
		if n <= 0 || len(text) < len(c.prefix) {
			return n <= 0 && text == ""
		}
		var room [20]byte
		digits := strconv.AppendInt(room[:0], n-1, 10)
		return text[:len(c.prefix)] == string(c.prefix) && text[len(c.prefix):] == string(digits)
	case textsEven:
		if 2*len(text) != len(c.prefix) {
			return false
		}
		at := uint(i) * c.width
		for k := range len(text) {
			same := c.prefix[2*k+1]
			switch c.prefix[2*k] {
			case evenSame:
			case evenHex:
				same = hexDigits[bitsAt(c.body, at, 4)]
				at += 4
			default:
				same = byte(bitsAt(c.body, at, 8))
				at += 8
			}
			if text[k] != same {
				return false
			}
		}
		return true
	case textsOf:
		from := int64(0)
		if i > 0 {
			from = c.int(i - 1)
		}
		return string(c.body[from:c.int(i)]) == text
	}
	return text == ""
}
