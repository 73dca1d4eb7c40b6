package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing that is wrong in a configuration file.
type Problem struct {
	File    string
	Line    int // from 1
	Message string
	// Hint is the word that was probably meant; empty when nothing is close.
	Hint string
	// Unset is the key whose value needs an environment variable that is not set; empty for other problems.
	Unset string
}

// Error writes the problem as file:line: message (did you mean "x"?).
func (p Problem) Error() string {
	if p.Hint == "" {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s (did you mean %q?)", p.File, p.Line, p.Message, p.Hint)
}

// Problems is everything that is wrong in a configuration, by line.
type Problems []Problem

// Error writes one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems one by one.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i := range p {
		errs[i] = p[i]
	}
	return errs
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// Warning is a part of a valid configuration whose effect may surprise.
type Warning struct {
	File    string
	Line    int // from 1
	Message string
}

// String writes the warning as file:line: warning: message.
func (w Warning) String() string { return fmt.Sprintf("%s:%d: warning: %s", w.File, w.Line, w.Message) }

// quote shows a text of the file in a message, shortened when it is long.
func quote(t string) string {
	const most = 80
	if len(t) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(t[cut]) {
			cut--
		}
		t = t[:cut] + "..."
	}
	return fmt.Sprintf("%q", t)
}

// Nearest returns the candidate that text is probably a slip of, or "". Case and the kind of the separators do not
// count; of equally near ones the first wins.
func Nearest(text string, candidates []string) string {
	const longest = 64
	if len(text) > longest {
		return ""
	}
	a := fold(text)
	best, bestDistance := "", 0
	for _, c := range candidates {
		if len(c) > longest || c == text {
			continue
		}
		b := fold(c)
		most := max(1, max(len(a), len(b))/3)
		if len(a)-len(b) > most || len(b)-len(a) > most {
			continue
		}
		if d := editDistance(a, b); d <= most && d < max(len(a), len(b)) && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// fold drops the characters that do not count in a comparison of names.
func fold(name string) []rune {
	rs := make([]rune, 0, len(name))
	for _, r := range name {
		if r != '-' && r != '_' && r != ' ' && r != '.' {
			rs = append(rs, unicode.ToLower(r))
		}
	}
	return rs
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string
// alignment).
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
