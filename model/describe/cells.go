package describe

import (
	"fmt"
	"iter"
	"strings"

	"liftstream/model"
)

// Format is the type of a column, in formats whose columns have types.
type Format struct {
	Refused string // why a configuration cannot name the column; "" = it can
	Text    bool   // its values are texts, of which a fit reads no numbers
	Time    bool   // its values are times, and none is an id
	// Exact is the number from which on several whole numbers are one value, which is no id; 0 = each has one of its own.
	Exact float64
}

// typed reports whether the format of the table has a null beside texts.
func (t *Table) typed() bool { return t.Formats != nil }

func (t *Table) format(c int) Format {
	if t.Formats == nil {
		return Format{}
	}
	return t.Formats[c]
}

// isText reports whether the cell of the record that Rows yielded last is text by its format.
func (t *Table) isText(c int) bool { return t.format(c).Text || t.Text != nil && t.Text(c) }

// cells yields the cells in the texts by which a stage compares them (model.CanonicalText). An error names the reading,
// as the argument does.
func (t *Table) cells(what string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		own := make([]string, len(t.Columns))
		raw, scratch := make([]byte, 0, 64), make([]byte, 0, 64)
		n := int64(0)
		for row, err := range t.Rows {
			n++
			if err != nil {
				yield(nil, fmt.Errorf("reading record %d%s: %w", n, what, err))
				return
			}
			if len(row) != len(t.Columns) {
				yield(nil, fmt.Errorf("reading record %d%s: %d cells, the header has %d", n, what, len(row), len(t.Columns)))
				return
			}
			for c, text := range row {
				text = strings.Trim(text, " \t")
				own[c] = text
				if text == "" || !strings.ContainsRune("0123456789-.tTfF", rune(text[0])) {
					continue
				}
				raw = append(raw[:0], text...)
				if canonical := model.CanonicalText(scratch, raw); string(canonical) != text {
					own[c] = string(canonical)
				}
			}
			if !yield(own, nil) {
				return
			}
		}
	}
}

// marked counts a text that may mean missing.
type marked struct {
	text      string
	n, quoted int64 // cells; of them, the texts by their format
}

// mark counts a cell that holds a mark; few marks are told apart.
func (p *profile) mark(text string, isText bool) {
	for i := range p.marks {
		if p.marks[i].text == text {
			p.marks[i].n++
			if isText {
				p.marks[i].quoted++
			}
			return
		}
	}
	if len(p.marks) < maxMarks {
		p.marks = append(p.marks, marked{text: strings.Clone(text), n: 1})
		if isText {
			p.marks[len(p.marks)-1].quoted = 1
		}
	}
}

const maxMarks = 8

// quotedMarks makes levels of marks that are texts: those in quotes where the file writes other cells without, and
// those in a column of texts that has nulls too. It returns them.
func (p *profile) quotedMarks(selective, typed bool) []marked {
	if p.texts() == 0 || !selective && !typed || typed && p.nulls == 0 {
		return nil // marks among numbers mean missing
	}
	var out []marked
	kept := p.marks[:0]
	for _, m := range p.marks {
		if m.quoted == 0 || m.text == "" || strings.TrimSpace(m.text) == "" {
			kept = append(kept, m)
			continue
		}
		out = append(out, marked{m.text, m.quoted, m.quoted})
		p.textMarks = true
		p.missing -= m.quoted
		if p.filled == 0 {
			p.distinct[hash(m.text)] = struct{}{}
		}
		if !p.dropped {
			p.levels[m.text] += m.quoted
		}
		if m.n -= m.quoted; m.n > 0 {
			m.quoted = 0
			kept = append(kept, m)
		}
	}
	p.marks = kept
	return out
}

// said writes counted marks, as in 7 cells "n/a" and 2 "?".
func said(marks []marked) string {
	var b strings.Builder
	for i, m := range marks {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%s %s %q", count(m.n), plural(m.n, "cell"), m.text)
		case i == len(marks)-1:
			fmt.Fprintf(&b, " and %s %q", count(m.n), m.text)
		default:
			fmt.Fprintf(&b, ", %s %q", count(m.n), m.text)
		}
	}
	return b.String()
}

func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
