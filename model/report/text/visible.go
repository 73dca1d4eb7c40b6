package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character acts on a terminal, or on the order of the text around it, instead of being shown.
func Hidden(r rune) bool { return !unicode.IsPrint(r) }

// Visible replaces the hidden characters of a text by a mark, and bytes that are no UTF-8 by U+FFFD. The result is
// harmless on a terminal and in XML.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return '·'
		}
		return r
	}, s)
}

// Clip makes a text visible and shortens it to so many characters, the last of which is then an ellipsis.
func Clip(s string, characters int) string {
	s = Visible(s)
	if utf8.RuneCountInString(s) <= characters {
		return s
	}
	return string([]rune(s)[:characters-1]) + "…"
}
