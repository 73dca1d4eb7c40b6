package chart

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible replaces the characters of a text that turn the order of the text around them, or that XML does not have, by
// a mark.
func Visible(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "·")
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}
