package show

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"liftstream/codec"
	"liftstream/model/report/text"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/txn"
)

// deadPrinter prints dead letters as 'tail' does.
type deadPrinter struct {
	linePrinter
	maxMessage int64
	plain      *codec.Plain
	done       <-chan struct{}
}

// Print prints a dead letter, which is one row; receipts are no letters.
func (p *deadPrinter) Print(r *txn.Record, _ int) (int, error) {
	if resend.IsReceipt(r) {
		return 0, nil
	}
	var cells []cell
	x, ok := deadletter.ReadReport(r)
	for _, c := range []cell{{"reason", string(x.Reason), 14}, {"stage", x.Stage, 7}, {"topic", x.Topic, 0},
		{"partition", strconv.Itoa(x.Partition), 9}, {"offset", strconv.FormatInt(x.Offset, 10), 8},
		{"row", strconv.Itoa(x.Row), 6}, {"first_seen", x.FirstSeen.UTC().Format(time.RFC3339Nano), 0},
		{"error", x.Error, 1}} {
		if !ok || c.name == "row" && x.Row < 0 || c.name == "first_seen" && x.FirstSeen.IsZero() {
			c.value = nil
		}
		cells = append(cells, c)
	}
	own := r.Headers
	if ok {
		own = x.Headers
	}
	r = Readable(r, x.Row, p.plain, p.done)
	return 1, p.line(append(cells, contents(r, own, x.Row >= 0, p.maxMessage)...))
}

// Readable returns a dead letter of a row of Avro with that row as JSON; any other, and one that cannot be read, as it
// is. It waits for the registry until done is closed. plain may be nil.
func Readable(r *txn.Record, row int, plain *codec.Plain, done <-chan struct{}) *txn.Record {
	if plain == nil || !plain.Avro || row < 0 {
		return r
	}
	line, err := plain.Line(r.Value, done)
	if err != nil || line == nil {
		return r
	}
	out := *r
	out.Value = line
	return &out
}

// contents are the cells of a letter's message: key, headers, the record where the letter is of one row, else the
// value.
func contents(r *txn.Record, headers []txn.Header, row bool, largest int64) []cell {
	named := map[string]string{}
	for _, h := range headers {
		named[h.Key] = string(h.Value)
	}
	var key any
	if r.Key != nil {
		key = string(r.Key)
	}
	cells := []cell{{"key", key, 0}, {"headers", named, 0}}
	if row {
		if line := jsonLines(r.Value); line != nil && json.Valid(line) {
			return append(cells, cell{"record", json.RawMessage(line), 0}, cell{"value_base64", nil, 0})
		}
		for t, err := range codec.Tables(r.Value, largest) {
			if err == nil && t.Rows() == 1 {
				return append(cells, cell{"record", json.RawMessage(t.AppendJSON(nil, 0)), 0}, cell{"value_base64", nil, 0})
			}
			break
		}
	}
	return append(cells, cell{"record", nil, 0}, cell{"value_base64", base64.StdEncoding.EncodeToString(r.Value), 0})
}

// Letter is a dead letter, its place and its fate.
type Letter struct {
	resend.Letter
	State string // waits, sent, or an outcome of resend in words
}

// Letters prints a list of dead letters and counts them.
type Letters struct {
	lines  linePrinter
	w      *bufio.Writer
	format string
	n      int
	counts map[[2]string]int // by reason and state
}

// NewLetters returns a list in a format: table, csv, jsonl, or json, one document with the counts.
func NewLetters(w *bufio.Writer, format string) *Letters {
	l := &Letters{lines: linePrinter{w: w, format: format}, w: w, format: format, counts: map[[2]string]int{}}
	if format == "json" {
		l.lines.format = "jsonl"
	}
	return l
}

// Count counts a letter.
func (l *Letters) Count(x *Letter) { l.counts[[2]string{string(x.Reason), x.State}]++ }

// Print prints a letter.
func (l *Letters) Print(x *Letter) error {
	if l.format == "json" {
		separator := ","
		if l.n == 0 {
			separator = `{"letters":[` + "\n"
		}
		if _, err := l.w.WriteString(separator); err != nil {
			return err
		}
	}
	l.n++
	var row any
	if x.Row >= 0 {
		row = int64(x.Row)
	}
	return l.lines.line([]cell{{"letter", placeOf(x), 10}, {"state", x.State, 8}, {"reason", string(x.Reason), 14},
		{"stage", x.Stage, 7}, {"topic", x.Topic, 0}, {"partition", int64(x.Partition), 9}, {"offset", x.Offset, 8},
		{"row", row, 6}, {"replays", int64(x.Replays), 7}, {"first_seen", seenOf(x, time.RFC3339), 20},
		{"time", timeOf(x), 0}, {"error", x.Error, 1}})
}

// Listed is the number of letters that were printed.
func (l *Letters) Listed() int { return l.n }

func placeOf(x *Letter) string { return fmt.Sprintf("%d/%d", x.At.Partition, x.At.Offset) }

// seenOf is the time at which the message was first seen; nil where the letter does not tell.
func seenOf(x *Letter, layout string) any {
	if x.FirstSeen.IsZero() {
		return nil
	}
	return x.FirstSeen.UTC().Format(layout)
}

// timeOf is the timestamp of the message; nil where the letter does not know it, or it had none.
func timeOf(x *Letter) any {
	if !x.Timed || x.Time.IsZero() {
		return nil
	}
	return x.Time.UTC().Format(time.RFC3339Nano)
}

// Close ends the list with the counts, the most frequent reason first. csv and jsonl have rows alone.
func (l *Letters) Close() error {
	keys := make([][2]string, 0, len(l.counts))
	for k := range l.counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int {
		return cmp.Or(l.counts[b]-l.counts[a], cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	switch l.format {
	case "table":
		if len(keys) == 0 {
			_, err := l.w.WriteString("no dead letters\n")
			return err
		}
		if l.n > 0 {
			_ = l.w.WriteByte('\n')
		}
		var rows [][]string
		for _, k := range keys {
			rows = append(rows, []string{text.Clip(k[0], 24), text.Clip(k[1], 24), strconv.Itoa(l.counts[k])})
		}
		return text.Table(l.w, "", []string{"reason", "state", " letters"}, rows)
	case "json":
		type count struct {
			Reason  string `json:"reason"`
			State   string `json:"state"`
			Letters int    `json:"letters"`
		}
		counts := []count{}
		for _, k := range keys {
			counts = append(counts, count{k[0], k[1], l.counts[k]})
		}
		b, err := json.Marshal(counts)
		if err != nil {
			return fmt.Errorf("writing JSON: %w", err)
		}
		if l.n == 0 {
			_, _ = l.w.WriteString(`{"letters":[`)
		}
		_, err = fmt.Fprintf(l.w, "],\n\"counts\":%s}\n", b)
		return err
	}
	return nil
}

// shownRows and shownBytes bound the value of one letter on a terminal.
const (
	shownRows  = 20
	shownBytes = 1024
)

// WholeLetter prints one letter in full, in the format table or json.
func WholeLetter(w io.Writer, x *Letter, format string, largest int64) error {
	r := x.Record
	if format == "json" {
		b := bufio.NewWriter(w)
		lines := linePrinter{w: b, format: "jsonl"}
		cells := []cell{{"letter", placeOf(x), 0}, {"state", x.State, 0}, {"reason", string(x.Reason), 0},
			{"stage", x.Stage, 0}, {"error", x.Error, 0}, {"topic", x.Topic, 0}, {"partition", int64(x.Partition), 0},
			{"offset", x.Offset, 0}, {"row", int64(x.Row), 0}, {"replays", int64(x.Replays), 0},
			{"first_seen", seenOf(x, time.RFC3339Nano), 0}, {"time", timeOf(x), 0}}
		if x.Row < 0 {
			cells[8].value = nil
		}
		if err := lines.line(append(cells, contents(r, x.Headers, x.Row >= 0, largest)...)); err != nil {
			return err
		}
		return b.Flush()
	}
	source := fmt.Sprintf("%s, partition %d, offset %d", x.Topic, x.Partition, x.Offset)
	if x.Row >= 0 {
		source += fmt.Sprintf(", row %d", x.Row)
	}
	rows := [][]string{{"letter", placeOf(x)}, {"state", x.State}, {"reason", text.Visible(string(x.Reason))},
		{"stage", text.Visible(x.Stage)}, {"error", text.Visible(x.Error)}, {"message", text.Visible(source)},
		{"first seen", cmp.Or(plain(seenOf(x, time.RFC3339Nano)), "not known")},
		{"sent again", strconv.Itoa(x.Replays) + " times before"}, {"key", shown(r.Key)}}
	switch at := x.Time.UTC().Format(time.RFC3339Nano); {
	case !x.Timed:
		rows = append(rows, []string{"time", at + " of the letter; it does not know that of the message"})
	case !x.Time.IsZero():
		rows = append(rows, []string{"time", at})
	}
	for _, h := range x.Headers {
		rows = append(rows, []string{"header " + text.Clip(h.Key, 100), shown(h.Value)})
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(w, "%-12s %s\n", r[0], r[1]); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n"+payload(r.Value, largest))
	return err
}

// shown is a value as text where it is one, else in hexadecimal digits.
func shown(b []byte) string {
	switch {
	case b == nil:
		return "(null)"
	case isText(b):
		return text.Clip(string(b), shownBytes)
	}
	return text.Clip(hex.EncodeToString(b), shownBytes)
}

// isText reports whether bytes are a text with hardly anything that a terminal would not print.
func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	odd := 0
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && r != '\n' {
			odd++
		}
	}
	return 4*odd <= len(b)
}

// payload is the value of a message: as a table, one column a line where it has one row; else as text or as bytes.
func payload(value []byte, largest int64) string {
	var b strings.Builder
	rows, done := 0, 0
	for t, err := range codec.Tables(value, largest) {
		if err != nil {
			if done == 0 {
				rows = -1
				break
			}
			fmt.Fprintf(&b, "(the rest cannot be read: %s)\n", text.Visible(err.Error()))
			break
		}
		rows += t.Rows()
		for i := 0; i < t.Rows() && done < shownRows; i++ {
			if done > 0 {
				b.WriteByte('\n')
			}
			for c, info := range t.Columns() {
				value, ok := t.Text(c, i)
				if !ok {
					value = "(null)"
				}
				fmt.Fprintf(&b, "%-24s %s\n", text.Clip(info.Name, 24), text.Clip(value, 200))
			}
			done++
		}
	}
	switch {
	case rows > done:
		fmt.Fprintf(&b, "(%d rows more)\n", rows-done)
	case rows == 0 && len(value) > 0 && b.Len() == 0:
		return "(an Arrow stream without rows)\n"
	}
	if rows >= 0 && len(value) > 0 {
		return b.String()
	}
	cut := value[:min(len(value), shownBytes)]
	head := fmt.Sprintf("%d bytes that are no whole Arrow stream", len(value))
	if jsonLines(value) != nil {
		head = fmt.Sprintf("%d bytes of JSON", len(value))
	}
	if len(cut) < len(value) {
		head += fmt.Sprintf(", of which the first %d:", len(cut))
	}
	if isText(cut) {
		var lines []string
		for line := range strings.SplitSeq(string(cut), "\n") {
			lines = append(lines, text.Visible(line))
		}
		return head + "\n" + strings.Join(lines, "\n") + "\n"
	}
	return head + "\n" + hex.Dump(cut)
}
