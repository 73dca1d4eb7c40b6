// Package file reads data files (CSV, Arrow, Parquet, JSON lines) as batches under the contract of package codec, or as
// raw tables, and writes tables to files. A value means the same however it came: every format becomes a codec.Table
// first, and package codec reads that as it reads a message.
//
// Begin at Open and Create; OpenTables gives raw tables.
//
// Parquet is read and written by the Parquet package of arrow-go v18 (Apache-2.0, releases every few months). Three
// were compared on files of pyarrow, pandas, Polars and DuckDB. The package of Arrow v15, whose other parts package
// codec uses, lacks BYTE_STREAM_SPLIT, where it silently gives no rows, and LZ4_RAW. parquet-go/parquet-go v0.32.0
// (Apache-2.0) refuses valid files, such as an empty block of DELTA_BYTE_ARRAY and columns of nulls by DuckDB, and
// panics on damaged ones. v18 read all of them but one, which its peer refuses too, and bounds its pages. It does not
// look at the checksums of pages, and a column that ends early is shorter without an error: so pages.go walks over the
// pages first, and the rows of every column are counted against the footer. Parquet of v15 and v18 cannot be linked
// into one program.
package file

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	// A label that is no class is an error with it, and else only counted (Notes).
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
	notes  Notes
	recent *model.Recency
}

// Notes counts the values that a Reader has read otherwise than they stood in the files.
type Notes struct {
	codec.Changes
	// UnknownClass counts labels that are no class of the configuration, First says which and where the first one is.
	UnknownClass int
	First        error
	Merged       []string // sentences about texts that are one number and so one level
	Evicted      uint64   // ids whose former records were forgotten for lack of room, see model.Kept
}

// Notes returns those of all batches so far.
func (r *Reader) Notes() Notes {
	n := r.notes
	n.Changes = n.Add(r.raw.changes)
	n.Merged, n.Evicted = nil, r.recent.Kept().Evicted
	for _, m := range r.d.Findings.Merged {
		n.Merged = append(n.Merged, fmt.Sprintf("%q: the texts %q and %q are one number and so one level; name both under "+
			"levels if they are names", m.Feature, m.First, m.Second))
	}
	return n
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
	r := &Reader{o: o, d: d, beside: make([][]string, len(o.Beside)),
		recent: model.NewRecency(o.Codec.Schema, o.Codec.Recency)}
	r.raw = &TableReader{paths: paths, rows: o.Rows, wants: wants, progress: o.Progress, columns: r.checkColumns}
	if err := r.raw.start(); err != nil {
		r.raw.Close()
		return nil, err
	}
	return r, nil
}

// checkColumns tells which columns of the contract a file lacks or has twice. It may lack those of nullable: column.
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
	for _, g := range c.Goals {
		if err := check(g.Column, "a goal", r.o.RequireLabel); err != nil {
			return err
		}
	}
	if err := check(c.Treated, "the treatment", r.o.RequireLabel); err != nil {
		return err
	}
	for _, x := range []struct{ name, role string }{{c.ID, "the id"}, {c.Time, "the time"}, {c.Weight, "the weight"}} {
		if err := check(x.name, x.role, true); err != nil {
			return err
		}
	}
	for i := range c.Schema.Features {
		name := c.Schema.Features[i].Name
		if c.Schema.Features[i].Derived != "" {
			continue
		}
		if err := check(name, "a feature", !c.Nullable[name]); err != nil {
			return err
		}
	}
	for _, s := range c.Sources() {
		if err := check(s.Name, "the source of a derived feature", !c.Nullable[s.Name]); err != nil {
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
// batch, Offset is the number of the batch over all files, Partition is 0; records without a time have time 0. Bad
// rows are errors here (*Error), and so are classes that the configuration does not list where a label is required. c
// as in codec.Decoder.Decode. Features of former records (codec.Options.Recency) tell of the records that this Reader
// has read before.
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
		return r.raw.at(int(e.Row), rowError(e))
	}
	r.notes.Changes = r.notes.Add(r.d.Changes())
	if err := r.unknownClasses(t, b); err != nil {
		return err
	}
	r.recent.Fill(b)
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

// unknownClasses notes the labels that are no class, of the label and of the goals, or refuses the first.
func (r *Reader) unknownClasses(t *codec.Table, b *model.Batch) error {
	for i, k := range b.Label {
		for g := -1; g < len(r.o.Codec.Goals); g++ {
			name, classes := r.o.Codec.Label, r.o.Codec.Schema.Classes
			if g >= 0 {
				if b.Outcomes == nil {
					break
				}
				k, name, classes = b.Outcomes[i].Of(g), r.o.Codec.Goals[g].Column, r.o.Codec.Goals[g].Classes
			}
			if k != model.UnknownClass {
				continue
			}
			err := r.noClass(t, i, name, classes)
			if r.o.RequireLabel {
				return err
			}
			if r.notes.UnknownClass++; r.notes.First == nil {
				r.notes.First = err
			}
		}
	}
	return nil
}

// noClass is the error of a label that is no class.
func (r *Reader) noClass(t *codec.Table, row int, name string, classes []string) *Error {
	column := t.Column(name)
	text, _ := t.Text(column, row)
	what := "no class of the configuration"
	if t.Columns()[column].Kind == codec.KindBool {
		what += ", the column holds booleans"
	}
	return r.raw.at(row, &Error{Column: name, Value: text[:min(len(text), 100)], Err: errors.New(what),
		Remedy: "the classes are " + list(classes) + "; add it, or name it under missing"})
}

// Beside returns the texts of column Options.Beside[i] for the records of the last batch; "" where null. It is valid
// until the next call of Next.
func (r *Reader) Beside(i int) []string { return r.beside[i] }

// Close closes the files.
func (r *Reader) Close() error { return r.raw.Close() }
