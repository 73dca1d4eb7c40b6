package show

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model/report/text"
	"liftstream/stream/txn"
)

// Printer writes the records of one topic in one format.
type Printer interface {
	// Print writes at most limit rows of a record and returns their number.
	Print(r *txn.Record, limit int) (int, error)
	// Close writes the end of the output; the writer below is not closed.
	Close() error
}

// Topic says how the records of a topic are printed.
type Topic struct {
	Format string // table, jsonl, csv or arrow
	// Terminal: people read the output, so CSV shows hidden characters. Spreadsheet: a program reads it that takes some
	// texts for formulas, so these begin with an apostrophe, too.
	Terminal, Spreadsheet bool
	// MaxMessage bounds the bytes of a message; 0 = codec.DefaultMaxMessage.
	MaxMessage int64
	// Plain reads messages in the frame of a schema registry, and waits for that until Done is closed; nil = no message is
	// in a frame, but JSON may be.
	Plain *codec.Plain
	Done  <-chan struct{}
	// Unreadable is told of a message that cannot be read, which is passed over.
	Unreadable func(r *txn.Record, err error)
}

// ErrNoArrow is returned when the format arrow is asked of a topic whose records are no rows.
var ErrNoArrow = errors.New("the records are no rows")

// Printer returns the printer of a topic: of scores, events or labels by row, of dead letters, or of the topic
// model: versions, verdicts and orders.
func (t Topic) Printer(w *bufio.Writer, kind string) (Printer, error) {
	lines := linePrinter{w: w, format: t.Format, seen: t.Terminal || t.Spreadsheet, formulas: t.Spreadsheet}
	switch {
	case kind == "scores" || kind == "events" || kind == "labels":
		return t.rows(w, kind == "scores")
	case t.Format == "arrow":
		return nil, ErrNoArrow
	case kind == "model":
		return &modelPrinter{lines, map[string]int{}}, nil
	}
	return &deadPrinter{lines, t.MaxMessage, t.Plain, t.Done}, nil
}

// rows returns the printer of Arrow messages, or of messages of JSON lines. A table of scores has the columns that
// people ask for, other tables have all columns.
func (t Topic) rows(w *bufio.Writer, scores bool) (Printer, error) {
	p := &rowPrinter{Topic: t, w: w, scores: scores}
	if t.Format == "arrow" {
		var err error
		if p.arrow, err = file.NewWriter(w, ".arrows"); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// rowPrinter prints Arrow messages, or messages of JSON lines, row by row.
type rowPrinter struct {
	Topic
	w      *bufio.Writer
	scores bool
	arrow  *file.Writer // of the format arrow
	headed bool         // the heading of the table of scores is written

	columns []codec.ColumnInfo // of the last table, for headings
	buffer  []byte
	row     []byte
}

// Close ends an Arrow stream.
func (p *rowPrinter) Close() error {
	if p.arrow == nil {
		return nil
	}
	return p.arrow.Close()
}

// Print prints the rows of a message.
func (p *rowPrinter) Print(r *txn.Record, limit int) (int, error) {
	value := r.Value
	if p.Plain != nil {
		line, err := p.Plain.Line(value, p.Done)
		switch {
		case errors.Is(err, codec.ErrStopped):
			return 0, err
		case err != nil:
			p.Unreadable(r, err)
			return 0, nil
		case line != nil:
			value = line
		}
	}
	if lines := jsonLines(value); lines != nil {
		return p.lines(r, lines, limit)
	}
	printed := 0
	for t, err := range codec.Tables(r.Value, p.MaxMessage) {
		if err != nil {
			p.Unreadable(r, err)
			break
		}
		n := min(t.Rows(), limit-printed)
		if n == 0 {
			continue
		}
		if err := p.table(t, n); err != nil {
			return printed, err
		}
		if printed += n; printed == limit {
			break
		}
	}
	return printed, nil
}

// lines prints JSON lines, of a message that input.format or output.format describes.
func (p *rowPrinter) lines(r *txn.Record, value []byte, limit int) (int, error) {
	printed := 0
	if p.Format == "csv" {
		for t, err := range file.JSONTables(value, file.TableOptions{Codec: codec.ScoreFileOptions()}) {
			if err != nil {
				p.Unreadable(r, err)
				break
			}
			n := min(t.Rows(), limit-printed)
			if err := p.table(t, n); err != nil {
				return printed, err
			}
			if printed += n; printed == limit {
				break
			}
		}
		return printed, nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(string(value), "\n"), "\n") {
		if printed == limit {
			break
		}
		b := append(visibleJSON(p.buffer[:0], []byte(line)), '\n')
		switch p.Format {
		case "jsonl":
		case "table":
			var row jsonRow
			if json.Unmarshal([]byte(line), &row) == nil && p.scores {
				b = p.score(b[:0], row)
			}
		default:
			return printed, fmt.Errorf("the topic holds JSON or Avro, which --format jsonl, csv and table print")
		}
		p.buffer = b
		if _, err := p.w.Write(b); err != nil {
			return printed, err
		}
		printed++
	}
	return printed, nil
}

func (p *rowPrinter) table(t *codec.Table, n int) error {
	b := p.buffer[:0]
	switch p.Format {
	case "jsonl":
		for i := range n {
			p.row = t.AppendJSON(p.row[:0], i)
			b = append(visibleJSON(b, p.row), '\n')
		}
	case "csv":
		if p.changed(t) {
			b = t.AppendCSVHeader(b)
		}
		for i := range n {
			b = t.AppendCSV(b, i)
		}
		if p.Terminal || p.Spreadsheet {
			var err error
			if b, err = rewrite(b, p.Spreadsheet); err != nil {
				return err
			}
		}
	case "arrow":
		if n < t.Rows() {
			t = t.Slice(n)
		}
		return p.arrow.Write(t)
	default:
		if p.scores && t.Column(codec.ColumnPartition) >= 0 {
			b = p.people(b, t, n)
		} else {
			b = p.generic(b, t, n)
		}
	}
	p.buffer = b
	_, err := p.w.Write(b)
	return err
}

// changed reports whether the columns have other names than those of the table before.
func (p *rowPrinter) changed(t *codec.Table) bool {
	c := t.Columns()
	if slices.EqualFunc(c, p.columns, func(a, b codec.ColumnInfo) bool { return a.Name == b.Name }) {
		return false
	}
	p.columns = c
	return true
}

// generic appends all columns, aligned for short texts.
func (p *rowPrinter) generic(b []byte, t *codec.Table, n int) []byte {
	width := func(c codec.ColumnInfo) int { return min(max(utf8.RuneCountInString(c.Name), 9), 24) }
	if p.changed(t) {
		for _, c := range p.columns {
			b = fmt.Appendf(b, "%-*s ", width(c), text.Clip(c.Name, 24))
		}
		b = append(b, '\n')
	}
	for i := range n {
		for c, info := range p.columns {
			value, ok := t.Text(c, i)
			if !ok {
				value = "-"
			}
			b = fmt.Appendf(b, "%-*s ", width(info), text.Clip(value, 24))
		}
		b = append(b, '\n')
	}
	return b
}
