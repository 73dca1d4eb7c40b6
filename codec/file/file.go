// Package file reads data files (CSV, Arrow, Parquet, JSON lines) as batches under the contract of package codec, or as
// raw tables, and writes tables to files.
package file

import (
	"fmt"
	"io"

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
type Reader struct{}

// Open opens the files in order. It reads as much of the first as tells whether the columns fit; later files are opened
// when their turn comes.
func Open(paths []string, o Options) (*Reader, error) { return &Reader{}, nil }

// Next reads the next batch into b, whose buffers it reuses, and returns io.EOF after the last. Rows are numbered over
// all files: Row counts within the batch's chunk, Offset is the number of the chunk, Partition 0. Bad rows are errors
// here (*Error). c as in codec.Decoder.Decode.
func (r *Reader) Next(b *model.Batch, c *codec.Carry) error { return io.EOF }

// Beside returns the texts of column Options.Beside[i] for the records of the last batch; "" where null. It is valid
// until the next call of Next.
func (r *Reader) Beside(i int) []string { return nil }

// Close closes the files.
func (r *Reader) Close() error { return nil }

// TableOptions says how raw tables are read.
type TableOptions struct {
	// Codec, when its Schema is set, decides the types of the columns it names: continuous features are numbers, levels,
	// label and id text. All other columns of text files are typed by what they hold.
	Codec codec.Options
	// Missing lists the texts that read as null; nil means Codec.Missing.
	Missing []string
	// Rows is the most records of a table; 0 means DefaultRows.
	Rows     int
	Progress func(bytes int64)
}

// TableReader reads files as raw tables. It is not safe for concurrent use.
type TableReader struct{}

// OpenTables opens the files in order for raw reading.
func OpenTables(paths []string, o TableOptions) (*TableReader, error) { return &TableReader{}, nil }

// Next returns the next table, valid until the next call, and io.EOF after the last.
func (r *TableReader) Next() (*codec.Table, error) { return nil, io.EOF }

// Close closes the files.
func (r *TableReader) Close() error { return nil }

// Size is the sum of the sizes of the files as stored, for a progress bar.
func Size(paths []string) (int64, error) { return 0, nil }

// Error is what is wrong with a file, where, and what to do about it.
type Error struct {
	File   string
	Row    int64  // record, counted from 1 without the header; 0 when no record is at fault
	Line   int64  // line of a text file, from 1; 0 when unknown
	Column string // "" when none is at fault
	Value  string // the offending text, cut
	Err    error
	Remedy string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Writer writes tables to one file in the format that its name says.
type Writer struct{}

// Create creates (or replaces) the file; the extension says the format: .jsonl .ndjson .csv .arrow .arrows .feather
// .parquet. "-" is JSON lines on standard output.
func Create(path string) (*Writer, error) { return &Writer{}, nil }

// Write appends the rows of t. All tables of one file have the same columns.
func (w *Writer) Write(t *codec.Table) error { return nil }

// Close finishes the file; without it the file is not valid.
func (w *Writer) Close() error { return nil }
