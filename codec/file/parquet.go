package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
	memory18 "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec"
)

// parquetFile reads Parquet column by column. The footer says how many rows there are, and each column gives as many or
// an error. A panic of the library becomes an error: its own record reader would panic in goroutines of its own, where
// nobody can recover.
type parquetFile struct {
	f       *stored
	size    int64
	pf      *pqfile.Reader
	batch   int64 // most rows of a table
	all     []string
	schema  *arrow.Schema // of the columns that are read
	columns []parquetColumn
	done    int64 // rows that were read
	total   int64
	walked  int   // row groups whose pages were walked
	before  int64 // rows of those
	memory  *atomic.Int64
}

type parquetColumn struct {
	*pqarrow.ColumnReader
	name   string
	leaves []int
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

const damaged = "the file is damaged; write it again"

func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = &Error{Err: fmt.Errorf("%s: %v", what, p), Remedy: damaged}
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
	p := &parquetFile{f: f, batch: int64(rows), memory: new(atomic.Int64)}
	if p.size, err = f.f.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	p.memory.Store(maxBatch)
	mem := limited{memory18.NewGoAllocator(), p.memory}
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = true
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = maxPage, maxPage
	if p.pf, err = pqfile.NewParquetReader(seekable{f}, pqfile.WithReadProps(props)); err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	if err := p.checkFooter(); err != nil {
		return nil, err
	}
	if err := p.checkSchema(); err != nil {
		return nil, err
	}
	fr, err := pqarrow.NewFileReader(p.pf, pqarrow.ArrowReadProperties{BatchSize: int64(rows)}, mem)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("reading parquet: %w", err), Remedy: "is it really Parquet, and whole?"}
	}
	return p, p.open(fr, w)
}

// checkFooter compares the numbers that the footer says twice.
func (p *parquetFile) checkFooter() error {
	sum := int64(0)
	for g := range p.pf.NumRowGroups() {
		n := p.pf.MetaData().RowGroup(g).NumRows()
		if n < 0 || n > math.MaxInt64-sum {
			return &Error{Err: fmt.Errorf("row group %d says that it has %d rows", g, n), Remedy: damaged}
		}
		sum += n
	}
	p.total = p.pf.NumRows()
	if sum != p.total {
		return &Error{Err: fmt.Errorf("the footer says %d rows, its row groups hold %d", p.total, sum), Remedy: damaged}
	}
	return nil
}

// storedSchema is the key under which writers leave the Arrow schema that a Parquet file was made from.
const storedSchema = "ARROW:schema"

// framed reports whether bytes begin like a message, also one of before version 0.15, which has no continuation mark.
func framed(message []byte) bool {
	if len(message) < 8 {
		return false
	}
	head := binary.LittleEndian.Uint32(message)
	return head == continuation || head != 0 && int64(head) <= int64(len(message)-4)
}

// unknownTypes reports whether the library does not know all types of a stored Arrow schema.
func unknownTypes(message []byte) (bool, error) {
	t, err := codec.NewTableStream(bytes.NewReader(message))
	var refused *codec.MessageError
	if errors.As(err, &refused) && (refused.Reason == codec.ReasonSchema || refused.Reason == codec.ReasonNotArrow) {
		return true, nil
	}
	return err == nil && t.Widened(), err
}

// checkSchema lets the guard of package codec read the stored Arrow schema before the library, which follows its
// lengths unchecked. One with types that the library does not know is left out: the columns then have the types of
// Parquet.
func (p *parquetFile) checkSchema() error {
	for _, kv := range p.pf.MetaData().KeyValueMetadata() {
		if kv == nil || kv.Key != storedSchema || kv.Value == nil {
			continue
		}
		message, err := base64.StdEncoding.DecodeString(*kv.Value)
		if err != nil {
			message, err = base64.RawStdEncoding.DecodeString(*kv.Value)
		}
		if err == nil && !framed(message) {
			err = errors.New("it is no message")
		}
		unknown := false
		if err == nil {
			unknown, err = unknownTypes(message)
		}
		switch {
		case err == nil && unknown:
			kv.Key += " left out"
		case err == nil:
		default:
			return &Error{Err: fmt.Errorf("reading the Arrow schema of parquet: %w", err), Remedy: damaged}
		}
	}
	return nil
}

// open starts the readers of the columns that are wanted.
func (p *parquetFile) open(fr *pqarrow.FileReader, w *wants) error {
	groups := make([]int, p.pf.NumRowGroups())
	for i := range groups {
		groups[i] = i
	}
	var fields []arrow.Field
	for i := range fr.Manifest.Fields {
		field := &fr.Manifest.Fields[i]
		name := field.Field.Name
		p.all = append(p.all, name)
		if w.of(name) == wantNothing {
			continue
		}
		leaves := map[int]bool{}
		c := parquetColumn{name: name, leaves: markLeaves(field, leaves, nil)}
		var err error
		if c.ColumnReader, err = fr.GetFieldReader(context.Background(), i, leaves, groups); err != nil {
			return &Error{Column: name, Err: fmt.Errorf("reading parquet: %w", err), Remedy: damaged}
		}
		s, err := schemaFrom(arrow18.NewSchema([]arrow18.Field{*c.Field()}, nil))
		if err != nil {
			return &Error{Column: name, Err: fmt.Errorf("of type %s, which is not read: %w", c.Field().Type, err),
				Remedy: "write it as another type"}
		}
		p.columns = append(p.columns, c)
		fields = append(fields, s.Field(0))
	}
	p.schema = arrow.NewSchema(fields, nil)
	return nil
}

func markLeaves(f *pqarrow.SchemaField, leaves map[int]bool, list []int) []int {
	if f.IsLeaf() {
		leaves[f.ColIndex] = true
		return append(list, f.ColIndex)
	}
	for i := range f.Children {
		list = markLeaves(&f.Children[i], leaves, list)
	}
	return list
}

func (p *parquetFile) names() ([]string, error) { return p.all, nil }

// walk goes over the pages of the row groups that begin before a row.
func (p *parquetFile) walk(row int64) error {
	for p.walked < p.pf.NumRowGroups() && p.before < row {
		g := p.pf.MetaData().RowGroup(p.walked)
		for _, c := range p.columns {
			for _, leaf := range c.leaves {
				chunk, err := g.ColumnChunk(leaf)
				at := int64(0)
				column := p.pf.MetaData().Schema.Column(leaf)
				d := depths{definition: column.MaxDefinitionLevel(), repetition: column.MaxRepetitionLevel()}
				if err == nil && d.repetition == 0 && chunk.NumValues() != g.NumRows() {
					err = fmt.Errorf("%d values in a row group of %d rows", chunk.NumValues(), g.NumRows())
				}
				if err == nil {
					err = p.checkSizes(p.walked, leaf, d)
				}
				if err == nil {
					at, err = walkPages(p.f.f, chunk, p.size, d)
				}
				if err != nil {
					return &Error{Row: p.before + at + 1, Column: c.name, Err: fmt.Errorf("reading parquet: %w", err), Remedy: damaged}
				}
			}
		}
		p.before += g.NumRows()
		p.walked++
	}
	return nil
}

// checkSizes compares the counts of levels that the footer has of a column chunk with the levels of the column.
func (p *parquetFile) checkSizes(group, leaf int, d depths) error {
	columns := p.pf.MetaData().RowGroups[group].Columns
	if leaf >= len(columns) || columns[leaf].MetaData == nil || columns[leaf].MetaData.SizeStatistics == nil {
		return nil
	}
	s := columns[leaf].MetaData.SizeStatistics
	for _, l := range [...]struct {
		counts []int64
		most   int16
	}{{s.GetDefinitionLevelHistogram(), d.definition}, {s.GetRepetitionLevelHistogram(), d.repetition}} {
		if n := len(l.counts); n > 0 && n != int(l.most)+1 {
			return fmt.Errorf("the footer counts %d levels of a column of %d", n, l.most+1)
		}
	}
	return nil
}

func (p *parquetFile) next() (t *codec.Table, err error) {
	n := min(p.batch, p.total-p.done)
	if n == 0 {
		return nil, io.EOF
	}
	column := ""
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("reading parquet: %v", x)
		}
		var e *Error
		if err != nil && !errors.As(err, &e) {
			err = &Error{Row: p.done + 1, Column: column, Err: err, Remedy: damaged}
		}
	}()
	if err := p.walk(p.done + n); err != nil {
		return nil, err
	}
	p.memory.Store(maxBatch)
	arrays := make([]arrow.Array, len(p.columns))
	for i, c := range p.columns {
		column = c.name
		if arrays[i], err = c.read(n, p.schema.Field(i).Type, limited{memory18.NewGoAllocator(), p.memory}); err != nil {
			return nil, fmt.Errorf("reading parquet: %w", err)
		}
		if got := int64(arrays[i].Len()); got != n {
			return nil, &Error{Row: p.done + min(got, n) + 1, Column: c.name,
				Err: fmt.Errorf("reading parquet: the column gives %d values of %d rows", p.done+got, p.total), Remedy: damaged}
		}
	}
	table := codec.NewTable(array.NewRecord(p.schema, arrays, n))
	if err := sound(table, p.done); err != nil {
		return nil, err
	}
	p.done += n
	return table, nil
}

// read returns the next n values of the column.
func (c parquetColumn) read(n int64, t arrow.DataType, mem memory18.Allocator) (arrow.Array, error) {
	chunks, err := c.NextBatch(n)
	if err != nil {
		return nil, err
	}
	switch parts := chunks.Chunks(); len(parts) {
	case 0:
		return array.MakeArrayOfNull(allocator, t, 0), nil
	case 1:
		return array.MakeFromData(dataFrom(parts[0].Data(), t)), nil
	default:
		one, err := array18.Concatenate(parts, mem)
		if err != nil {
			return nil, err
		}
		return array.MakeFromData(dataFrom(one.Data(), t)), nil
	}
}

func (p *parquetFile) close() (err error) {
	defer recovered("closing parquet", &err)
	return errors.Join(p.pf.Close(), p.f.close())
}

var _ parquet.ReaderAtSeeker = seekable{}
