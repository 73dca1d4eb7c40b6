package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// lexer reads the words and signs of an expression.
type lexer struct {
	text string
	ends string // the characters that end a word, blanks and quotation marks included
	at   int
}

// placeError is a fault at a place of an expression.
type placeError struct {
	at      int
	message string
	hint    string
}

func (e *placeError) Error() string { return fmt.Sprintf("at character %d: %s", e.at, e.message) }

func (p *lexer) fail(at int, hint, format string, args ...any) error {
	return &placeError{utf8.RuneCountInString(p.text[:at]) + 1, fmt.Sprintf(format, args...), hint}
}

func (p *lexer) blank() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// sign takes a character if it comes next.
func (p *lexer) sign(c byte) bool {
	if p.blank(); p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word reads a word or a quoted text, and returns its place.
func (p *lexer) word(what string) (t string, quoted bool, at int, err error) {
	p.blank()
	at = p.at
	if p.at < len(p.text) && (p.text[p.at] == '"' || p.text[p.at] == '\'') {
		end := strings.IndexByte(p.text[p.at+1:], p.text[p.at])
		if end < 0 {
			return "", true, at, p.fail(at, "", "the quotation mark has no second one")
		}
		t = p.text[p.at+1 : p.at+1+end]
		p.at += end + 2
		return t, true, at, nil
	}
	for p.at < len(p.text) && strings.IndexByte(p.ends, p.text[p.at]) < 0 {
		p.at++
	}
	if p.at == at {
		return "", false, at, p.fail(at, "", "%s is missing", what)
	}
	return p.text[at:p.at], false, at, nil
}

// reportExpression reports the fault of the expression at a path; kind names it, with an example. An expression that
// holds a variable is not quoted: the variable may be a secret.
func reportExpression(d checker, path, kind string, err error) {
	if d.raw[path] != "" {
		d.report(path, "", "%s is not %s", path, kind)
		return
	}
	hint := ""
	var fault *placeError
	if errors.As(err, &fault) {
		hint = fault.hint
	}
	d.report(path, hint, "%s, %v", path, err)
}
