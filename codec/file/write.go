package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/klauspost/compress/gzip"

	"liftstream/codec"
)

// Writer writes tables to one file in the format that its name says.
type Writer struct {
	path  string
	part  string // written first, renamed by Close; "" when path is written directly
	f     *os.File
	buf   *bufio.Writer
	z     *gzip.Writer
	out   io.Writer
	kind  string
	begun bool
	line  []byte
	sink  sink
	names []string
	err   error
}

// sink takes records in a binary format.
type sink interface {
	write(*codec.Table) error
	close() error
}

// KindOf returns the extension that says the format of a file that Create writes, and whether it is packed; an error
// tells which extensions there are.
func KindOf(path string) (kind string, packed bool, err error) {
	name := strings.ToLower(path)
	packed = strings.HasSuffix(name, ".gz")
	kind = filepath.Ext(strings.TrimSuffix(name, ".gz"))
	if !writable(kind) || packed && !textKind(kind) {
		return "", false, &Error{File: path, Err: unknownKind(kind),
			Remedy: "files that are written end in .jsonl .csv .arrow .arrows .feather .parquet"}
	}
	return kind, packed, nil
}

func unknownKind(kind string) error {
	if kind == "" {
		return errors.New("the name has no extension, which says the kind of file")
	}
	return fmt.Errorf("unknown kind of file %q", kind)
}

// Create starts a file that appears under its name, or replaces the file there, with Close. The extension says the
// format: .jsonl .ndjson .csv (each also .gz), .arrow .feather (Arrow file), .arrows (Arrow stream), .parquet. "-" is
// JSON lines on standard output.
func Create(path string) (*Writer, error) {
	if path == "-" {
		return NewWriter(os.Stdout, ".jsonl")
	}
	kind, packed, err := KindOf(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, part: path + ".part", kind: kind}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		w.part = ""
	}
	target := path
	if w.part != "" {
		target = w.part
	}
	if w.f, err = os.Create(target); err != nil {
		return nil, located(path, err)
	}
	w.buf = bufio.NewWriterSize(w.f, 1<<18)
	w.out = w.buf
	if packed {
		w.z = gzip.NewWriter(w.buf)
		w.out = w.z
	}
	return w, nil
}

// NewWriter writes to out in the format of an extension as in Create. It does not close out.
func NewWriter(out io.Writer, extension string) (*Writer, error) {
	if !writable(extension) {
		return nil, fmt.Errorf("unknown kind of file %q", extension)
	}
	w := &Writer{path: "-", kind: extension, buf: bufio.NewWriterSize(out, 1<<16)}
	w.out = w.buf
	return w, nil
}

func textKind(kind string) bool { return kind == ".csv" || kind == ".jsonl" || kind == ".ndjson" }

func writable(kind string) bool {
	return textKind(kind) || kind == ".arrow" || kind == ".arrows" || kind == ".feather" || kind == ".parquet"
}

// Write appends the rows of t. All tables of one file have the same columns.
func (w *Writer) Write(t *codec.Table) error {
	if w.err == nil {
		w.err = w.write(t)
	}
	return w.err
}

func (w *Writer) write(t *codec.Table) (err error) {
	defer recovered("writing", &err)
	if !w.begun {
		if err := w.begin(t); err != nil {
			return located(w.path, err)
		}
	} else if textKind(w.kind) && len(t.Columns()) != len(w.names) {
		return located(w.path, fmt.Errorf("a table of %d columns after one of %d", len(t.Columns()), len(w.names)))
	}
	if w.sink != nil {
		if err := w.sink.write(t); err != nil {
			return located(w.path, fmt.Errorf("writing batch: %w", err))
		}
		return nil
	}
	for i := range t.Rows() {
		if w.kind == ".csv" {
			w.line = t.AppendCSV(w.line[:0], i)
		} else {
			w.line = append(t.AppendJSON(w.line[:0], i), '\n')
		}
		if _, err := w.out.Write(w.line); err != nil {
			return located(w.path, err)
		}
	}
	return nil
}

func (w *Writer) begin(t *codec.Table) error {
	w.begun = true
	for _, c := range t.Columns() {
		w.names = append(w.names, c.Name)
	}
	schema := t.Record().Schema()
	switch w.kind {
	case ".csv":
		_, err := w.out.Write(t.AppendCSVHeader(nil))
		return err
	case ".arrows":
		w.sink = ipcSink{ipc.NewWriter(w.out, ipc.WithSchema(schema))}
	case ".arrow", ".feather":
		f, err := ipc.NewFileWriter(&position{w: w.out}, ipc.WithSchema(schema))
		if err != nil {
			return err
		}
		w.sink = fileSink{f}
	case ".parquet":
		to, err := schemaTo(schema)
		if err != nil {
			return err
		}
		f, err := pqarrow.NewFileWriter(to, keepOpen{w.out},
			parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("liftstream")),
			pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			return err
		}
		w.sink = parquetSink{f, to}
	}
	return nil
}

// Close finishes the file; without it nothing appears under the name. A Writer that got no tables leaves an empty file.
func (w *Writer) Close() (err error) {
	defer recovered("finishing file", &err)
	err = w.err
	if w.sink != nil && err == nil {
		err = w.sink.close()
	}
	if w.z != nil && err == nil {
		err = w.z.Close()
	}
	if err == nil {
		err = w.buf.Flush()
	}
	if w.f != nil {
		err = errors.Join(err, w.f.Close())
	}
	if w.part != "" && w.f != nil {
		if err == nil {
			err = os.Rename(w.part, w.path)
		} else {
			os.Remove(w.part)
		}
	}
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return e
		}
		return located(w.path, err)
	}
	return nil
}

type ipcSink struct{ w *ipc.Writer }

func (s ipcSink) write(t *codec.Table) error { return s.w.Write(t.Record()) }
func (s ipcSink) close() error               { return s.w.Close() }

type fileSink struct{ w *ipc.FileWriter }

func (s fileSink) write(t *codec.Table) error { return s.w.Write(t.Record()) }
func (s fileSink) close() error               { return s.w.Close() }

type parquetSink struct {
	w      *pqarrow.FileWriter
	schema *arrow18.Schema
}

func (s parquetSink) write(t *codec.Table) error {
	return s.w.WriteBuffered(recordTo(t.Record(), s.schema))
}
func (s parquetSink) close() error { return s.w.Close() }

// keepOpen hides Close: the file is closed by the Writer.
type keepOpen struct{ io.Writer }

// position is a Writer that knows where it is, which is all the seeking that Arrow's file writer does.
type position struct {
	w  io.Writer
	at int64
}

// Write implements io.Writer.
func (p *position) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

// Seek implements io.Seeker for asking only.
func (p *position) Seek(off int64, whence int) (int64, error) {
	if off == 0 && whence == io.SeekCurrent {
		return p.at, nil
	}
	return 0, errors.New("the output cannot seek")
}
