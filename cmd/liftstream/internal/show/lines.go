package show

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"liftstream/stream/txn"
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
			b = fmt.Appendf(b, "%-*s ", c.width, clip(plain(c.value), max(c.width, 200)))
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

// versionPrinter prints the versions of the model topic.
type versionPrinter struct {
	linePrinter
	bytes map[string]int // of the chunks of versions not yet seen
}

// Print prints a version, and counts the bytes of its chunks before it.
func (p *versionPrinter) Print(r *txn.Record, _ int) (int, error) {
	if rest, ok := strings.CutPrefix(string(r.Key), "model/"); ok {
		version, _, _ := strings.Cut(rest, "/")
		if r.Value != nil {
			p.bytes[version] += len(r.Value)
		}
		return 0, nil
	}
	version, ok := strings.CutPrefix(string(r.Key), "version/")
	if n, err := strconv.ParseInt(version, 10, 64); ok && err == nil {
		return 1, p.version(r, version, n)
	}
	return 0, nil // of somebody else
}

func (p *versionPrinter) version(r *txn.Record, version string, n int64) error {
	change := "published"
	if r.Value == nil {
		change = "deleted"
	}
	size := int64(p.bytes[version])
	delete(p.bytes, version)
	at := "-"
	if !r.Time.IsZero() {
		at = r.Time.UTC().Format(time.RFC3339)
	}
	return p.line([]cell{{"version", n, 8}, {"what", change, 10}, {"time", at, 21}, {"bytes", size, 9},
		{"offset", r.Offset, 8}})
}
