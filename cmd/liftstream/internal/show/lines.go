package show

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"

	"liftstream/model/report/text"
)

// linePrinter prints lines of named texts; a table shows some of them.
type linePrinter struct {
	w       *bufio.Writer
	format  string
	started bool
	// seen: hidden characters of CSV are replaced; formulas: texts that look like formulas begin with an apostrophe.
	seen, formulas bool
}

type cell struct {
	name  string
	value any // string, int64, or anything with a JSON form
	width int // in a table; 0 = not shown there
}

// Close does nothing: every line is whole.
func (p *linePrinter) Close() error { return nil }

func (p *linePrinter) line(cells []cell) error {
	switch p.format {
	case "jsonl":
		b := []byte{'{'}
		for i, c := range cells {
			if i > 0 {
				b = append(b, ',')
			}
			name, _ := json.Marshal(c.name)
			value, err := json.Marshal(c.value)
			if err != nil {
				return fmt.Errorf("writing JSON: %w", err)
			}
			b = append(append(append(b, name...), ':'), value...)
		}
		_, err := p.w.Write(append(visibleJSON(nil, b), '}', '\n'))
		return err
	case "csv":
		w := csv.NewWriter(p.w)
		heading, record := make([]string, len(cells)), make([]string, len(cells))
		for i, c := range cells {
			heading[i], record[i] = c.name, plain(c.value)
			if p.seen {
				record[i] = visibleCell(record[i], p.formulas)
			}
		}
		if !p.started {
			_ = w.Write(heading)
		}
		p.started = true
		_ = w.Write(record)
		w.Flush()
		return w.Error()
	}
	b := []byte{}
	if !p.started {
		for _, c := range cells {
			if c.width > 0 {
				b = fmt.Appendf(b, "%-*s ", c.width, c.name)
			}
		}
		b = append(b, '\n')
	}
	p.started = true
	for _, c := range cells {
		if c.width > 0 {
			b = fmt.Appendf(b, "%-*s ", c.width, text.Clip(plain(c.value), max(c.width, 200)))
		}
	}
	_, err := p.w.Write(append(b, '\n'))
	return err
}

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
