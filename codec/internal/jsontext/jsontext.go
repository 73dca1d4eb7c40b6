// Package jsontext walks JSON texts value by value without building values, for readers of files and of messages.
//
// Begin at Parser.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrSyntax is returned when a text is not JSON where it should be.
var ErrSyntax = errors.New("not a JSON object")

// Parser walks one line of JSON.
type Parser struct {
	B []byte
	I int // the next byte
}

// Space passes over white space.
func (p *Parser) Space() {
	for p.I < len(p.B) && strings.IndexByte(" \t\r\n", p.B[p.I]) >= 0 {
		p.I++
	}
}

// Is passes over a byte, where it is the next one.
func (p *Parser) Is(c byte) bool {
	if p.I < len(p.B) && p.B[p.I] == c {
		p.I++
		return true
	}
	return false
}

// End fails where anything but white space is left.
func (p *Parser) End() error {
	p.Space()
	if p.I != len(p.B) {
		return errors.New("text after the object")
	}
	return nil
}

// Word passes over a word, where it comes next.
func (p *Parser) Word(w string) bool {
	if len(p.B)-p.I >= len(w) && string(p.B[p.I:p.I+len(w)]) == w {
		p.I += len(w)
		return true
	}
	return false
}

// Number reads a number and returns its bytes as they stand.
func (p *Parser) Number() ([]byte, error) {
	from := p.I
	digits := func() bool {
		at := p.I
		for p.I < len(p.B) && p.B[p.I]-'0' <= 9 {
			p.I++
		}
		return p.I > at
	}
	p.Is('-')
	if !p.Is('0') && !digits() {
		return nil, ErrSyntax
	}
	if p.Is('.') && !digits() {
		return nil, ErrSyntax
	}
	if p.Is('e') || p.Is('E') {
		if !p.Is('+') {
			p.Is('-')
		}
		if !digits() {
			return nil, ErrSyntax
		}
	}
	return p.B[from:p.I], nil
}

// Text reads a string; without escapes it aliases the line, else scratch.
func (p *Parser) Text(scratch *[]byte) ([]byte, error) {
	if !p.Is('"') {
		return nil, ErrSyntax
	}
	from := p.I
	for p.I < len(p.B) {
		switch c := p.B[p.I]; {
		case c == '"':
			p.I++
			return p.B[from : p.I-1], nil
		case c == '\\':
			return p.escaped(from, scratch)
		case c < 0x20:
			return nil, ErrSyntax
		}
		p.I++
	}
	return nil, errors.New("a string is never closed")
}

func (p *Parser) escaped(from int, scratch *[]byte) ([]byte, error) {
	out := append((*scratch)[:0], p.B[from:p.I]...)
	defer func() { *scratch = out }()
	for p.I < len(p.B) {
		c := p.B[p.I]
		p.I++
		switch {
		case c == '"':
			return out, nil
		case c < 0x20:
			return nil, ErrSyntax
		case c != '\\':
			out = append(out, c)
			continue
		}
		if p.I >= len(p.B) {
			break
		}
		c = p.B[p.I]
		p.I++
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
				return nil, ErrSyntax
			}
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if at := p.I; p.Word(`\u`) {
					if low, ok = p.hex(); !ok {
						return nil, ErrSyntax
					}
					if utf16.DecodeRune(r, low) == utf8.RuneError {
						p.I = at
					}
				}
				if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
					r = whole
				}
			}
			out = appendRune(out, r)
		default:
			return nil, ErrSyntax
		}
	}
	return nil, errors.New("a string is never closed")
}

// appendRune appends a character. Half of a surrogate pair is none: it becomes bytes that are not UTF-8, three as if it
// were one, so that texts with different halves stay different texts, which are treated as other bad bytes are.
func appendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(b, r)
}

func (p *Parser) hex() (rune, bool) {
	if len(p.B)-p.I < 4 {
		return 0, false
	}
	r := rune(0)
	for range 4 {
		c := p.B[p.I]
		p.I++
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

// Nested returns the bytes of an object or array as they stand.
func (p *Parser) Nested() ([]byte, error) {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(p.B[p.I:]))
	if err := d.Decode(&raw); err != nil {
		return nil, ErrSyntax
	}
	p.I += int(d.InputOffset())
	return raw, nil
}
