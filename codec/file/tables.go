package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"liftstream/codec"
)

// TableOptions says how raw tables are read.
type TableOptions struct {
	// Codec, when its Schema is set, decides the types of the columns it names in text files: continuous features are
	// numbers, levels, label and id text. All other columns of text files are typed by their values.
	Codec codec.Options
	// Missing lists the texts that read as null; nil means Codec.Missing.
	Missing []string
	// Rows is the most records of a table; 0 means DefaultRows.
	Rows int
	// Texts lets TableReader.IsText answer for text files.
	Texts bool
	// Progress, when not nil, is told how many bytes (as stored) were read since it was last told.
	Progress func(bytes int64)
}

// TableReader reads files as raw tables. It is not safe for concurrent use.
type TableReader struct {
	paths    []string
	rows     int
	wants    wants
	changes  codec.Changes // of numbers in text files
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
	w.texts = o.Texts
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

// Typed reports whether the columns of the current file have types.
func (r *TableReader) Typed() bool {
	switch r.src.(type) {
	case *csv, *jsonl:
		return false
	}
	return true
}

// IsText reports whether a value of the last table is text by the format of its file: in quotes in CSV, a string in
// JSON lines. Columns that have types are text or not, see codec.Table.Columns.
func (r *TableReader) IsText(column, row int) bool {
	switch src := r.src.(type) {
	case *csv:
		return src.cols[column].isText(row)
	case *jsonl:
		return src.cols[column].isText(row)
	}
	return false
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
	r.wants.changes = &r.changes
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
		if !utf8.ValidString(n) {
			return &Error{File: path, Column: n, Err: fmt.Errorf("its name is %w", errText), Remedy: "save the file as UTF-8"}
		}
		if strings.IndexByte(n, 0) >= 0 {
			return &Error{File: path, Column: n, Err: errors.New("its name has zero bytes"), Remedy: damaged}
		}
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
			// An error that wraps io.EOF is damage, io.EOF alone is the end.
			if t, err = r.src.next(); err != nil && err != io.EOF {
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
