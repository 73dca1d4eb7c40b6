package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
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

// parquetFile reads Parquet column by column. Its library panics on damaged files, which becomes an error; the
// library's own record reader would do so in goroutines of its own, where nobody can recover. (Columns that are structs
// are still read that way; the contract has none.)
type parquetFile struct {
	f       *stored
	pf      *pqfile.Reader
	rows    int64
	all     []string
	schema  *arrow.Schema // of the columns that are read
	columns []*pqarrow.ColumnReader
}

// seekable counts the bytes that a Parquet reader reads out of order.
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
			_ = f.close()
		}
	}()
	defer recovered("reading parquet", &err)
	if f.z != nil {
		return nil, &Error{Err: errors.New("packed parquet"), Remedy: "unpack it; parquet compresses by itself"}
	}
	p := &parquetFile{f: f, rows: int64(rows)}
	if p.pf, err = pqfile.NewParquetReader(seekable{f}); err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	fr, err := pqarrow.NewFileReader(p.pf, pqarrow.ArrowReadProperties{BatchSize: int64(rows)}, allocator)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	schema, err := fr.Schema()
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet schema: %w", err), Remedy: "write the file again"}
	}
	p.all = fieldNames(schema)
	groups := make([]int, p.pf.NumRowGroups())
	for i := range groups {
		groups[i] = i
	}
	var fields []arrow.Field
	for i := range fr.Manifest.Fields {
		field := &fr.Manifest.Fields[i]
		if w.of(field.Field.Name) == wantNothing {
			continue
		}
		leaves := map[int]bool{}
		markLeaves(field, leaves)
		c, err := fr.GetFieldReader(context.Background(), i, leaves, groups)
		if err != nil {
			return nil, &Error{Column: field.Field.Name, Err: fmt.Errorf("reading parquet: %w", err),
				Remedy: "write the file again"}
		}
		p.columns = append(p.columns, c)
		fields = append(fields, *c.Field())
	}
	p.schema = arrow.NewSchema(fields, nil)
	return p, nil
}

func markLeaves(f *pqarrow.SchemaField, leaves map[int]bool) {
	if f.IsLeaf() {
		leaves[f.ColIndex] = true
	}
	for i := range f.Children {
		markLeaves(&f.Children[i], leaves)
	}
}

func (p *parquetFile) names() ([]string, error) { return p.all, nil }

func (p *parquetFile) next() (t *codec.Table, err error) {
	defer recovered("reading parquet", &err)
	damaged := func(i int, err error) error {
		return &Error{Column: p.schema.Field(i).Name, Err: fmt.Errorf("reading parquet: %w", err),
			Remedy: "the file is damaged; write it again"}
	}
	arrays := make([]arrow.Array, len(p.columns))
	n := 0
	for i, c := range p.columns {
		chunks, err := c.NextBatch(p.rows)
		if err != nil {
			return nil, damaged(i, err)
		}
		switch parts := chunks.Chunks(); len(parts) {
		case 0:
			arrays[i] = array.MakeArrayOfNull(allocator, p.schema.Field(i).Type, 0)
		case 1:
			arrays[i] = parts[0]
		default:
			if arrays[i], err = array.Concatenate(parts, allocator); err != nil {
				return nil, damaged(i, err)
			}
		}
		if i == 0 {
			n = arrays[i].Len()
		}
		if arrays[i].Len() != n {
			return nil, damaged(i, fmt.Errorf("%d values where the first column has %d", arrays[i].Len(), n))
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	return codec.NewTable(array.NewRecord(p.schema, arrays, int64(n))), nil
}

func (p *parquetFile) close() (err error) {
	defer recovered("closing parquet", &err)
	return errors.Join(p.pf.Close(), p.f.close())
}

var _ parquet.ReaderAtSeeker = seekable{}
