package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"liftstream/codec"
)

// ipcFile reads Arrow streams and files.
type ipcFile struct {
	f *stored
	s *codec.TableStream
}

func openArrow(f *stored) (*ipcFile, error) {
	s, err := codec.NewTableStream(f)
	if err != nil {
		var merr *codec.MessageError
		if errors.As(err, &merr) && merr.Reason == codec.ReasonNotArrow {
			return nil, &Error{Err: merr.Err, Remedy: "is it really Arrow (version 2 for feather)?"}
		}
		return nil, err
	}
	return &ipcFile{f, s}, nil
}

func (a *ipcFile) names() ([]string, error)    { return a.s.Names(), nil }
func (a *ipcFile) next() (*codec.Table, error) { return a.s.Next() }
func (a *ipcFile) close() error                { return a.f.close() }

// parquetFile reads Parquet. Its library panics on damaged files; that becomes an error.
type parquetFile struct {
	f      *stored
	pf     *pqfile.Reader
	schema *arrow.Schema
	rr     pqarrow.RecordReader
}

// seekable counts what a Parquet reader reads out of order.
type seekable struct{ s *stored }

func (k seekable) ReadAt(p []byte, off int64) (int, error) {
	n, err := k.s.f.ReadAt(p, off)
	if k.s.progress != nil && n > 0 {
		k.s.progress(int64(n))
	}
	return n, err
}
func (k seekable) Seek(off int64, whence int) (int64, error) { return k.s.f.Seek(off, whence) }

func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = &Error{Err: fmt.Errorf("%s: %v", what, p), Remedy: "the file is damaged; write it again"}
	}
}

func openParquet(path string, rows int, w *wants, progress func(int64)) (src *parquetFile, err error) {
	f, err := openStored(path, progress)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	defer recovered("reading parquet", &err)
	if f.z != nil {
		return nil, &Error{Err: errors.New("packed parquet"), Remedy: "unpack it; parquet compresses by itself"}
	}
	p := &parquetFile{f: f}
	if p.pf, err = pqfile.NewParquetReader(seekable{f}); err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	fr, err := pqarrow.NewFileReader(p.pf, pqarrow.ArrowReadProperties{BatchSize: int64(rows)}, allocator)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	if p.schema, err = fr.Schema(); err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet schema: %w", err), Remedy: "write the file again"}
	}
	if p.rr, err = fr.GetRecordReader(context.Background(), parquetColumns(fr, p.schema, w), nil); err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "write the file again"}
	}
	return p, nil
}

// parquetColumns returns the leaf columns of the fields that are wanted; nil means all.
func parquetColumns(fr *pqarrow.FileReader, s *arrow.Schema, w *wants) []int {
	if w.rest != wantNothing {
		return nil
	}
	leaves := []int{}
	var walk func(f *pqarrow.SchemaField)
	walk = func(f *pqarrow.SchemaField) {
		if f.IsLeaf() {
			leaves = append(leaves, f.ColIndex)
		}
		for i := range f.Children {
			walk(&f.Children[i])
		}
	}
	for i := range fr.Manifest.Fields {
		if f := &fr.Manifest.Fields[i]; w.of(f.Field.Name) != wantNothing {
			walk(f)
		}
	}
	return leaves
}

func (p *parquetFile) names() ([]string, error) { return fieldNames(p.schema), nil }

func (p *parquetFile) next() (t *codec.Table, err error) {
	defer recovered("reading parquet", &err)
	if !p.rr.Next() {
		if err := p.rr.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "the file is damaged; write it again"}
		}
		return nil, io.EOF
	}
	return codec.NewTable(p.rr.Record()), nil
}

func (p *parquetFile) close() (err error) {
	defer recovered("closing parquet", &err)
	p.rr.Release()
	return errors.Join(p.pf.Close(), p.f.close())
}

var _ parquet.ReaderAtSeeker = seekable{}
