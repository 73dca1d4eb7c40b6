// Package file reads data files (CSV, Arrow, Parquet, JSON lines) as batches under the contract of package codec, or as
// raw tables, and writes tables to files. A value means the same however it came: every format becomes a codec.Table
// first, and package codec reads that as it reads a message.
package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/codec"
	"liftstream/model"
)

// DefaultRows is the number of records in a batch when Options sets none.
const DefaultRows = 4096

// Options says how files are read.
type Options struct {
	Codec codec.Options
	// Rows is the most records of a batch; 0 means DefaultRows.
	Rows int
	// RequireLabel makes an absent label column an error. Without it such files read as unlabelled.
	RequireLabel bool
	// Beside names further columns, read as text for Reader.Beside; an absent one is an error.
	Beside []string
	// Progress, when not nil, is told how many bytes (as stored) were read since it was last told.
	Progress func(bytes int64)
}

// Reader reads files one after the other, streaming. It is not safe for concurrent use.
type Reader struct {
	o      Options
	d      *codec.Decoder
	raw    *TableReader
	chunk  int64
	beside [][]string
	err    error
}

// Open opens the files in order. It reads as much of the first as tells whether the columns fit; later files are opened
// when their turn comes.
func Open(paths []string, o Options) (*Reader, error) {
	if len(paths) == 0 {
		return nil, errors.New("opening data: no files")
	}
	d, err := codec.NewDecoder(o.Codec)
	if err != nil {
		return nil, fmt.Errorf("opening data: %w", err)
	}
	wants := wantsOf(o.Codec)
	for _, name := range o.Beside {
		if _, ok := wants.by[name]; !ok {
			wants.by[name] = wantText
		}
	}
	wants.rest, wants.floats = wantNothing, true
	r := &Reader{o: o, d: d, beside: make([][]string, len(o.Beside))}
	r.raw = &TableReader{paths: paths, rows: o.Rows, wants: wants, progress: o.Progress, columns: r.checkColumns}
	if err := r.raw.start(); err != nil {
		r.raw.Close()
		return nil, err
	}
	return r, nil
}

// checkColumns tells which columns of the contract a file lacks or has twice.
func (r *Reader) checkColumns(file string, names []string) error {
	c := &r.o.Codec
	check := func(name, role string, required bool) error {
		n := 0
		for _, have := range names {
			if have == name {
				n++
			}
		}
		if n == 1 || n == 0 && (name == "" || !required) {
			return nil
		}
		if n > 1 {
			return &Error{File: file, Column: name, Err: fmt.Errorf("%d columns have this name", n),
				Remedy: "rename or remove all but one"}
		}
		return &Error{File: file, Column: name,
			Err:    fmt.Errorf("the file has no such column, which the configuration names as %s", role),
			Remedy: "its columns are " + list(names)}
	}
	if err := check(c.Label, "the label", r.o.RequireLabel); err != nil {
		return err
	}
	for _, x := range []struct{ name, role string }{{c.ID, "the id"}, {c.Time, "the time"}, {c.Weight, "the weight"}} {
		if err := check(x.name, x.role, true); err != nil {
			return err
		}
	}
	for i := range c.Schema.Features {
		if err := check(c.Schema.Features[i].Name, "a feature", true); err != nil {
			return err
		}
	}
	for _, name := range r.o.Beside {
		if err := check(name, "a column to read", true); err != nil {
			return err
		}
	}
	return nil
}

func list(names []string) string {
	const most = 30
	names = slices.Clone(names)
	for i, n := range names {
		if q := strconv.Quote(cut([]byte(n))); q != `"`+n+`"` {
			names[i] = q
		}
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Next reads the next batch into b, whose buffers it reuses, and returns io.EOF after the last. Row counts within the
// batch, Offset is the number of the batch over all files, Partition is 0; records without a time have time 0. Bad rows
// and classes that the configuration does not list are errors here (*Error). c as in codec.Decoder.Decode.
func (r *Reader) Next(b *model.Batch, c *codec.Carry) error {
	b.N = 0
	if r.err != nil {
		return r.err
	}
	r.err = r.next(b, c)
	if r.err != nil {
		b.N = 0
	}
	return r.err
}

func (r *Reader) next(b *model.Batch, c *codec.Carry) error {
	t, err := r.raw.Next()
	if err != nil {
		return err
	}
	m := codec.Message{Offset: r.chunk}
	bad, err := r.d.DecodeTable(t, 0, &m, b, c)
	if err != nil {
		var merr *codec.MessageError
		if errors.As(err, &merr) {
			return &Error{File: r.raw.file(), Column: merr.Column, Err: merr.Err, Remedy: remedies[merr.Reason]}
		}
		return fmt.Errorf("%s: %w", r.raw.file(), err)
	}
	if len(bad) > 0 {
		e := bad[0]
		return r.raw.at(int(e.Row), &Error{Column: e.Column, Value: e.Value, Err: rowErrors[e.Reason],
			Remedy: rowRemedies[e.Reason]})
	}
	for i, k := range b.Label {
		if k == model.UnknownClass {
			text, _ := t.Text(t.Column(r.o.Codec.Label), i)
			return r.raw.at(i, &Error{Column: r.o.Codec.Label, Value: text, Err: errors.New("no class of the configuration"),
				Remedy: "the classes are " + list(r.o.Codec.Schema.Classes) + "; add it, or name it under missing"})
		}
	}
	for i, name := range r.o.Beside {
		k := t.Column(name)
		r.beside[i] = r.beside[i][:0]
		for row := range t.Rows() {
			text, _ := t.Text(k, row)
			r.beside[i] = append(r.beside[i], text)
		}
	}
	r.chunk++
	return nil
}

// Beside returns the texts of column Options.Beside[i] for the records of the last batch; "" where null. It is valid
// until the next call of Next.
func (r *Reader) Beside(i int) []string { return r.beside[i] }

// Close closes the files.
func (r *Reader) Close() error { return r.raw.Close() }

// TableOptions says how raw tables are read.
type TableOptions struct {
	// Codec, when its Schema is set, decides the types of the columns it names in text files: continuous features are
	// numbers, levels, label and id text. All other columns of text files are typed by their values.
	Codec codec.Options
	// Missing lists the texts that read as null; nil means Codec.Missing.
	Missing []string
	// Rows is the most records of a table; 0 means DefaultRows.
	Rows int
	// Progress, when not nil, is told how many bytes (as stored) were read since it was last told.
	Progress func(bytes int64)
}

// TableReader reads files as raw tables. It is not safe for concurrent use.
type TableReader struct {
	paths    []string
	rows     int
	wants    wants
	progress func(int64)
	columns  func(file string, names []string) error

	next    int // of paths
	src     source
	pending *codec.Table // the rest of the last batch of the source
	base    int64        // records of the file before the last table
	at0     int
	err     error
}

// OpenTables opens the files in order for raw reading.
//
// The type of an untyped column of a text file is that of the values so far: an integer column becomes a number column
// with the first fraction, and either becomes text with the first text; so later tables may have other types than
// earlier ones. Numbers with leading zeros are text.
func OpenTables(paths []string, o TableOptions) (*TableReader, error) {
	if len(paths) == 0 {
		return nil, errors.New("opening data: no files")
	}
	w := wants{by: map[string]want{}}
	if o.Codec.Schema != nil {
		w = wantsOf(o.Codec)
	}
	if o.Missing != nil {
		w.missing = missingSet(o.Missing)
	}
	r := &TableReader{paths: paths, rows: o.Rows, wants: w, progress: o.Progress}
	if err := r.start(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *TableReader) file() string {
	if r.next == 0 {
		return ""
	}
	return r.paths[r.next-1]
}

func (r *TableReader) start() error {
	if r.rows <= 0 {
		r.rows = DefaultRows
	}
	path := r.paths[r.next]
	r.next++
	r.base, r.at0 = 0, 0
	src, err := open(path, r.rows, &r.wants, r.progress)
	if err != nil {
		return located(path, err)
	}
	r.src = src
	names, err := src.names()
	if err != nil {
		return located(path, err)
	}
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return &Error{File: path, Column: n, Err: errors.New("two columns have this name"), Remedy: "rename or remove one"}
		}
		seen[n] = true
	}
	if r.columns != nil {
		return r.columns(path, names)
	}
	return nil
}

// located gives an error its file.
func located(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.File = path
		return e
	}
	var merr *codec.MessageError
	if errors.As(err, &merr) {
		return &Error{File: path, Column: merr.Column, Err: fmt.Errorf("%s: %w", merr.Reason, merr.Err),
			Remedy: "write the file again"}
	}
	var perr *os.PathError
	if errors.As(err, &perr) {
		return &Error{File: path, Err: perr.Err, Remedy: "check the name and the rights"}
	}
	return &Error{File: path, Err: err}
}

// Next returns the next table, valid until the next call, and io.EOF after the last.
func (r *TableReader) Next() (*codec.Table, error) {
	if r.err != nil {
		return nil, r.err
	}
	t, err := r.read()
	r.err = err
	return t, err
}

func (r *TableReader) read() (*codec.Table, error) {
	for {
		r.base += int64(r.at0)
		r.at0 = 0
		t := r.pending
		r.pending = nil
		if t == nil {
			var err error
			if t, err = r.src.next(); err != nil && !errors.Is(err, io.EOF) {
				return nil, located(r.file(), err)
			} else if err != nil {
				if r.base == 0 {
					return nil, &Error{File: r.file(), Err: errors.New("no records"),
						Remedy: "the file has a header or a schema and nothing after it"}
				}
				if err := r.src.close(); err != nil {
					r.src = nil
					return nil, located(r.file(), err)
				}
				r.src = nil
				if r.next == len(r.paths) {
					return nil, io.EOF
				}
				if err := r.start(); err != nil {
					return nil, err
				}
				continue
			}
		}
		if t.Rows() == 0 {
			continue
		}
		if t.Rows() > r.rows {
			rec := t.Record()
			r.pending = codec.NewTable(rec.NewSlice(int64(r.rows), rec.NumRows()))
			t = codec.NewTable(rec.NewSlice(0, int64(r.rows)))
		}
		r.at0 = t.Rows()
		return t, nil
	}
}

// at gives an error the place of a row of the last table.
func (r *TableReader) at(row int, e *Error) *Error {
	e.File = r.file()
	e.Row = r.base + int64(row) + 1
	return e
}

// Close closes the files.
func (r *TableReader) Close() error {
	if r.src == nil {
		return nil
	}
	err := r.src.close()
	r.src = nil
	return err
}

// Size is the sum of the sizes of the files as stored, for a progress bar.
func Size(paths []string) (int64, error) {
	n := int64(0)
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return 0, located(p, err)
		}
		n += st.Size()
	}
	return n, nil
}

// source reads one file.
type source interface {
	// names returns the columns, in order; formats that find columns as they go return those of the first batch.
	names() ([]string, error)
	// next returns tables of any number of rows and io.EOF at the end.
	next() (*codec.Table, error)
	close() error
}

// want is the type as which a column of a text file is read.
type want uint8

const (
	wantGuess   want = iota // the type of its values
	wantNumber              // anything else is an error
	wantText                // as it stands
	wantTime                // as wantGuess: integers are Unix milliseconds
	wantNothing             // not read
)

type wants struct {
	by      map[string]want
	rest    want
	floats  bool // numbers are always float64, never int64
	missing missing
}

func (w *wants) of(name string) want {
	if k, ok := w.by[name]; ok {
		return k
	}
	return w.rest
}

func wantsOf(o codec.Options) wants {
	w := wants{by: map[string]want{}, missing: missingSet(o.Missing)}
	for i := range o.Schema.Features {
		f := &o.Schema.Features[i]
		w.by[f.Name] = wantText
		if f.Kind == model.Continuous {
			w.by[f.Name] = wantNumber
		}
	}
	// A column in two roles is read as the stricter needs it: the contract takes text ids from numbers, not the reverse.
	for _, x := range []struct {
		name string
		as   want
	}{{o.ID, wantText}, {o.Label, wantText}, {o.Time, wantTime}, {o.Weight, wantNumber}} {
		if _, ok := w.by[x.name]; x.name != "" && !ok {
			w.by[x.name] = x.as
		}
	}
	return w
}

// missing is the set of texts that mean null.
type missing struct {
	set  map[string]bool
	lens uint64 // bit n: a text of n bytes is in it; bit 63: longer ones
}

func missingSet(texts []string) missing {
	m := missing{set: map[string]bool{}}
	for _, t := range texts {
		t = strings.Trim(t, " \t")
		m.set[t] = true
		m.lens |= 1 << min(len(t), 63)
	}
	return m
}

func (m *missing) has(b []byte) bool { return m.lens>>min(len(b), 63)&1 == 1 && m.set[string(b)] }

// Error is a fault of a file, with its place and its remedy.
type Error struct {
	File   string
	Row    int64  // record, counted from 1 without the header; 0 when no record is at fault
	Line   int64  // line of a text file, from 1; 0 when unknown
	Column string // "" when none is at fault
	Value  string // the offending text, cut
	Err    error
	Remedy string // an instruction; "" when the error has it
}

// Error writes file: row (line): column: value: fault; remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Row > 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
		if e.Line > 0 {
			fmt.Fprintf(&b, " (line %d)", e.Line)
		}
	} else if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %q", e.Column)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, " holds %q", e.Value)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

var remedies = map[codec.Reason]string{
	codec.ReasonSchema: "change the kind in the configuration, or the type in the file",
}

var rowErrors = map[codec.Reason]error{
	codec.ReasonID:     errors.New("the id is missing"),
	codec.ReasonTime:   errors.New("not a time"),
	codec.ReasonFuture: errors.New("a time in the future"),
	codec.ReasonWeight: errors.New("not a weight: a finite number of at least 0"),
}

var rowRemedies = map[codec.Reason]string{
	codec.ReasonID:   "every record needs one; without record.id in the configuration none does",
	codec.ReasonTime: "a time is RFC 3339 such as 2024-05-01T12:00:00Z, a date, or integer Unix milliseconds",
}

func cut(b []byte) string { return string(b[:min(len(b), 100)]) }

func fieldNames(s *arrow.Schema) []string {
	names := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		names[i] = f.Name
	}
	return slices.Clip(names)
}
