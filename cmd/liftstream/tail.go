package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/stream/txn"
)

type tailing struct {
	config, topic, from, format string
	n                           int
	follow                      bool
}

func tailCommand(a *app) *cobra.Command {
	var t tailing
	c := a.command(groupLive, "tail -c FILE [--topic scores|events|dead|labels|model] [--from start|end] [-n N] [--format table|jsonl|csv|arrow]",
		`Print a topic, read committed
Prints the records of a topic as they come, row by row, of transactions that were committed only. It goes on until -n
rows are printed, or until it is interrupted; --follow=false ends at what is the end of the topic when the command
starts. --from start begins with the oldest row that is kept, --from end, the default, waits for new ones. Rows of one
partition are in order. While it waits for more, brokers may be away for five minutes; it says so on standard error.

In why, effect is a feature's contribution to the log-odds of target in nats, lift the rate of target in the record's cell
over its base rate as the score used it (over the scorecard's horizons as they weigh in the score now, shrunken towards 1),
and n the number of labelled records, ever, that those of the cell are worth. An effect can go against its lift where the
feature stands for others; propensity.sign: follow forbids it.

jsonl and csv have every column of a score; csv flattens lists into one cell. Of these, subspace lists the features whose
values tell about the class there beyond chance, the most telling first; it may be empty. relevance says how much, in nats:
the Kullback-Leibler divergence of the class shares around the value from the base rates, or, where that is more, of those
of the nearest records that agree in the feature from those of all the nearest; so it can be compared between records. arrow is an Arrow stream, for events,
labels and scores. dead shows why rows were rejected, and in jsonl their headers and the row itself; model lists the
published versions. A message that cannot be read is named on standard error and passed over.`,
		`liftstream tail -c cmd/liftstream/examples/live.yaml --from start -n 5`, needs(0, 0, ""),
		func(ctx context.Context, _ []string) error { return t.run(ctx, a) })
	configFlag(c, &t.config)
	f := c.Flags()
	f.StringVar(&t.topic, "topic", "scores", "`TOPIC` to read: scores, events, dead, labels or model")
	f.StringVar(&t.from, "from", "end", "begin at `WHERE`: start or end")
	f.IntVarP(&t.n, "rows", "n", 0, "stop after `N` rows; 0 = no limit")
	f.StringVar(&t.format, "format", "table", "`FORMAT`: table, jsonl, csv or arrow")
	f.BoolVar(&t.follow, "follow", true, "wait for more at the end of the topic")
	return c
}

func (t *tailing) run(ctx context.Context, a *app) error {
	if !slices.Contains([]string{"start", "end"}, t.from) {
		return usagef("--from %s: it is start or end", t.from)
	}
	if t.n < 0 {
		return usagef("-n %d: it is a number of rows", t.n)
	}
	if !slices.Contains([]string{"table", "jsonl", "csv", "arrow"}, t.format) {
		return usagef("--format %s: it is one of table, jsonl, csv, arrow", t.format)
	}
	c, err := a.load(t.config)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.out, 1<<16)
	topic, p, err := t.printer(a, c, w)
	if err != nil {
		return err
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	at := txn.End
	if t.from == "start" {
		at = txn.Start
	}
	left := t.n
	if left == 0 {
		left = math.MaxInt
	}
	away := func(err error) {
		if err != nil {
			a.notef("waiting for the brokers: %v", err)
		} else {
			a.notef("the brokers are back")
		}
	}
	err = k.follow(ctx, topic, at, t.follow, away, func(records []txn.Record) (bool, error) {
		for i := range records {
			n, err := p.print(&records[i], left)
			if err != nil {
				return false, err
			}
			if left -= n; left == 0 {
				return false, nil
			}
		}
		return true, environment(w.Flush())
	})
	if closing := p.close(); err == nil || errors.Is(err, context.Canceled) {
		err = closing
	}
	if flushing := w.Flush(); err == nil {
		err = environment(flushing)
	}
	return explain(err, t.config)
}

// patience is how long a reader that waits for more bears brokers that are away, as 'run' does.
const patience = 5 * time.Minute

// follow reads the committed records of all partitions of a topic and hands them on, those of one partition in order,
// until f says so by false or fails. At the end it waits for more, or returns when wait is false; the end is then that
// of the moment of the call. While it waits, brokers may go away and come back within patience: away is called with the
// error when they go, and with nil when they are back.
func (k *cluster) follow(ctx context.Context, topic string, from txn.Position, wait bool, away func(error), f func([]txn.Record) (more bool, err error)) error {
	n, err := k.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	next, err := k.ListOffsets(ctx, topic, upTo(n), from)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	end, err := k.ListOffsets(ctx, topic, upTo(n), txn.End)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	const fetchBytes = 4 << 20
	var lost time.Time // since when the brokers are away; zero = they are there
	for {
		idle := true
		for p := range n {
			for wait || next[p] < end[p] {
				got, err := k.Fetch(ctx, topic, p, next[p], fetchBytes, 10*time.Millisecond)
				if err != nil {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					// A broker that has just come back may not know all of its topics yet.
					kind, first := txn.KindOf(err), lost.IsZero()
					passing := kind == txn.Environment || kind == txn.Unknown || kind == txn.NoTopic && !first
					if wait && passing && (first || time.Since(lost) < patience) {
						if first {
							lost = time.Now()
							away(err)
						}
						if err := pause(ctx, time.Second); err != nil {
							return err
						}
						continue // the same offset again: a fetch has no effect
					}
					return fmt.Errorf("reading %s: %w", topic, err)
				}
				if !lost.IsZero() {
					lost = time.Time{}
					away(nil)
				}
				moved := got.Next > next[p]
				next[p] = got.Next
				if len(got.Records) > 0 {
					idle = false
					more, err := f(got.Records)
					if err != nil || !more {
						return err
					}
				}
				if !moved || wait {
					break // with several partitions each has its turn
				}
			}
		}
		if !wait {
			return nil
		}
		if idle {
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// printer writes the records of one topic in one format.
type printer interface {
	// print writes at most limit rows of a record and returns how many.
	print(r *txn.Record, limit int) (int, error)
	close() error
}

// printer returns the topic's name and what prints it.
func (t *tailing) printer(a *app, c *config.Config, w *bufio.Writer) (string, printer, error) {
	bad := func(r *txn.Record, err error) {
		a.notef("%s, partition %d, offset %d: %v", r.Topic, r.Partition, r.Offset, err)
	}
	rows := func(topic string, scores bool) (string, printer, error) {
		p := &rowPrinter{w: w, format: t.format, scores: scores, maxMessage: 4 * int64(c.Memory.Message), unreadable: bad}
		if t.format == "arrow" {
			var err error
			if p.arrow, err = file.NewWriter(w, ".arrows"); err != nil {
				return "", nil, err
			}
		}
		return topic, p, nil
	}
	switch t.topic {
	case "scores":
		return rows(c.Topics.Scores, true)
	case "events":
		return rows(c.Topics.Events, false)
	case "labels":
		if c.Topics.Labels == "" {
			return "", nil, fmt.Errorf("%s: the configuration has no labels topic; topics.labels or the section labels adds one", t.config)
		}
		return rows(c.Topics.Labels, false)
	case "dead", "model":
		if t.format == "arrow" {
			return "", nil, usagef("--format arrow is for events, labels and scores, not for %s", t.topic)
		}
		if t.topic == "model" {
			return c.Topics.Model, &versionPrinter{linePrinter{w: w, format: t.format}, map[string]int{}}, nil
		}
		return c.Topics.Dead, &deadPrinter{linePrinter{w: w, format: t.format}, 4 * int64(c.Memory.Message)}, nil
	}
	return "", nil, usagef("--topic %s: it is one of scores, events, dead, labels, model", t.topic)
}

// rowPrinter prints Arrow messages, or messages of JSON lines, row by row.
type rowPrinter struct {
	w          *bufio.Writer
	format     string
	maxMessage int64
	scores     bool // a table shows the columns that people ask for
	unreadable func(r *txn.Record, err error)
	arrow      *file.Writer // of the format arrow
	headed     bool         // the heading of the table of scores is written

	columns []codec.ColumnInfo // of the last table, for headings
	buffer  []byte
}

func (p *rowPrinter) close() error {
	if p.arrow == nil {
		return nil
	}
	return environment(p.arrow.Close())
}

func (p *rowPrinter) print(r *txn.Record, limit int) (int, error) {
	if len(r.Value) > 0 && r.Value[0] == '{' {
		return p.lines(r, limit)
	}
	printed := 0
	for t, err := range codec.Tables(r.Value, p.maxMessage) {
		if err != nil {
			p.unreadable(r, err)
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

// lines prints a message of JSON lines, as output.format: jsonl makes them.
func (p *rowPrinter) lines(r *txn.Record, limit int) (int, error) {
	printed := 0
	for line := range strings.SplitSeq(strings.TrimRight(string(r.Value), "\n"), "\n") {
		if printed == limit {
			break
		}
		b := append(append(p.buffer[:0], line...), '\n')
		switch p.format {
		case "jsonl":
		case "table":
			var row jsonRow
			if json.Unmarshal([]byte(line), &row) == nil && p.scores {
				b = p.score(b[:0], row)
			}
		default:
			return printed, fmt.Errorf("the topic holds JSON lines (output.format: jsonl), which --format jsonl and table print")
		}
		p.buffer = b
		if _, err := p.w.Write(b); err != nil {
			return printed, environment(err)
		}
		printed++
	}
	return printed, nil
}

func (p *rowPrinter) table(t *codec.Table, n int) error {
	b := p.buffer[:0]
	switch p.format {
	case "jsonl":
		for i := range n {
			b = append(t.AppendJSON(b, i), '\n')
		}
	case "csv":
		if p.changed(t) {
			b = t.AppendCSVHeader(b)
		}
		for i := range n {
			b = t.AppendCSV(b, i)
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
	return environment(err)
}

// changed reports whether the columns are others than those of the table before.
func (p *rowPrinter) changed(t *codec.Table) bool {
	c := t.Columns()
	if slices.Equal(c, p.columns) {
		return false
	}
	p.columns = c
	return true
}

// people appends scores as people read them.
func (p *rowPrinter) people(b []byte, t *codec.Table, n int) []byte {
	for i := range n {
		b = p.score(b, tableRow{t, i})
	}
	return b
}

// scoreRow is one score, whatever it is written in; absent and null texts are empty.
type scoreRow interface{ text(column string) string }

type tableRow struct {
	t *codec.Table
	i int
}

func (r tableRow) text(column string) string {
	if c := r.t.Column(column); c >= 0 {
		s, _ := r.t.Text(c, r.i)
		return s
	}
	return ""
}

type jsonRow map[string]json.RawMessage

func (r jsonRow) text(column string) string {
	raw := string(r[column])
	var s string
	switch {
	case raw == "null":
		return ""
	case strings.HasPrefix(raw, `"`) && json.Unmarshal(r[column], &s) == nil:
		return s
	}
	return raw
}

// score appends one line, and the heading before the first.
func (p *rowPrinter) score(b []byte, r scoreRow) []byte {
	const layout = "%-16s %-14s %11s %8s %7s %6s  %s\n"
	if !p.headed {
		b = fmt.Appendf(b, layout, "who", "most likely", "propensity", "average", "top", "model", "because")
		p.headed = true
	}
	number := func(column string) float64 {
		if v, err := strconv.ParseFloat(r.text(column), 64); err == nil {
			return v
		}
		return math.NaN()
	}
	share := func(v float64) string {
		if math.IsNaN(v) {
			return "-"
		}
		return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
	}
	who := r.text("id")
	if who == "" {
		who = r.text("source_partition") + "/" + r.text("source_offset") + "/" + r.text("source_row")
	}
	times := "-"
	if v := number("lift"); !math.IsNaN(v) {
		times = strconv.FormatFloat(v, 'f', 1, 64) + "x"
	}
	because := reasons(r.text("why"))
	if because == "" {
		because = "(" + r.text("status") + ")"
	}
	return fmt.Appendf(b, layout, clip(who, 16), clip(r.text("segment"), 14), share(number("propensity_"+r.text("target"))), times,
		share(1-number("percentile")), r.text("model"), clip(because, 1000))
}

// reasons writes the first reasons of a why list, given as JSON.
func reasons(list string) string {
	var why []struct {
		Feature string   `json:"feature"`
		Value   *string  `json:"value"`
		Effect  float64  `json:"effect"`
		Lift    *float64 `json:"lift"`
	}
	if json.Unmarshal([]byte(list), &why) != nil {
		return ""
	}
	var parts []string
	for _, x := range why[:min(3, len(why))] {
		value := "missing"
		if x.Value != nil {
			value = *x.Value
		}
		parts = append(parts, fmt.Sprintf("%s=%s (%+.2f)", x.Feature, value, x.Effect))
	}
	return strings.Join(parts, ", ")
}

// generic appends all columns, aligned for short texts.
func (p *rowPrinter) generic(b []byte, t *codec.Table, n int) []byte {
	width := func(c codec.ColumnInfo) int { return min(max(utf8.RuneCountInString(c.Name), 9), 24) }
	if p.changed(t) {
		for _, c := range p.columns {
			b = fmt.Appendf(b, "%-*s ", width(c), clip(c.Name, 24))
		}
		b = append(b, '\n')
	}
	for i := range n {
		for c, info := range p.columns {
			text, ok := t.Text(c, i)
			if !ok {
				text = "-"
			}
			b = fmt.Appendf(b, "%-*s ", width(info), clip(text, 24))
		}
		b = append(b, '\n')
	}
	return b
}

// clip shortens a text for a table and makes control characters visible.
func clip(s string, width int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '·'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// linePrinter prints one line for each of what it is given: named texts, of which a table shows the first few.
type linePrinter struct {
	w       *bufio.Writer
	format  string
	started bool
}

type cell struct {
	name  string
	value any // string, int64, or anything with a JSON form
	width int // in a table; 0 = not shown there
}

func (p *linePrinter) close() error { return nil }

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
		_, err := p.w.Write(append(b, '}', '\n'))
		return environment(err)
	case "csv":
		w := csv.NewWriter(p.w)
		heading, record := make([]string, len(cells)), make([]string, len(cells))
		for i, c := range cells {
			heading[i], record[i] = c.name, text(c.value)
		}
		if !p.started {
			_ = w.Write(heading)
		}
		p.started = true
		_ = w.Write(record)
		w.Flush()
		return environment(w.Error())
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
			b = fmt.Appendf(b, "%-*s ", c.width, clip(text(c.value), max(c.width, 200)))
		}
	}
	_, err := p.w.Write(append(b, '\n'))
	return environment(err)
}

func text(v any) string {
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

// deadPrinter prints dead letters.
type deadPrinter struct {
	linePrinter
	maxMessage int64
}

func (p *deadPrinter) print(r *txn.Record, _ int) (int, error) {
	own := []string{codec.DeadReason, codec.DeadStage, codec.DeadTopic, codec.DeadPartition, codec.DeadOffset, codec.DeadRow, codec.DeadFirstSeen, codec.DeadError}
	width := map[string]int{codec.DeadReason: 14, codec.DeadStage: 7, codec.DeadPartition: 9, codec.DeadOffset: 8, codec.DeadRow: 6, codec.DeadError: 1}
	// The stage writes its headers after those of the message: the last of a name is its own.
	headers := map[string]string{}
	others := map[string]string{}
	for _, h := range r.Headers {
		if slices.Contains(own, h.Key) {
			headers[h.Key] = string(h.Value)
		} else {
			others[h.Key] = string(h.Value)
		}
	}
	var cells []cell
	for _, name := range own {
		v, ok := headers[name]
		var value any = v
		if !ok {
			value = nil
		}
		cells = append(cells, cell{name, value, width[name]})
	}
	var key any
	if r.Key != nil {
		key = string(r.Key)
	}
	cells = append(cells, cell{"key", key, 0}, cell{"headers", others, 0})
	if headers[codec.DeadRow] != "" {
		for t, err := range codec.Tables(r.Value, p.maxMessage) {
			if err == nil && t.Rows() == 1 {
				cells = append(cells, cell{"record", json.RawMessage(t.AppendJSON(nil, 0)), 0}, cell{"value_base64", nil, 0})
				return 1, p.line(cells)
			}
			break
		}
	}
	cells = append(cells, cell{"record", nil, 0}, cell{"value_base64", base64.StdEncoding.EncodeToString(r.Value), 0})
	return 1, p.line(cells)
}

// versionPrinter prints the versions of the model topic.
type versionPrinter struct {
	linePrinter
	bytes map[string]int // of the chunks of versions not yet seen
}

func (p *versionPrinter) print(r *txn.Record, _ int) (int, error) {
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
	what := "published"
	if r.Value == nil {
		what = "deleted"
	}
	size := int64(p.bytes[version])
	delete(p.bytes, version)
	at := "-"
	if !r.Time.IsZero() {
		at = r.Time.UTC().Format(time.RFC3339)
	}
	return p.line([]cell{{"version", n, 8}, {"what", what, 10}, {"time", at, 21}, {"bytes", size, 9}, {"offset", r.Offset, 8}})
}
