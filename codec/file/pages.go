package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/thrift/lib/go/thrift"
)

// Pages of a Parquet file: the library decodes them, and neither looks at their checksums nor counts them. So a walk
// over the headers of a column goes before it.

const maxPage = 256 << 20 // bytes of a page, packed or unpacked

// pageHeader has the fields of the Thrift struct PageHeader that the walk needs.
type pageHeader struct {
	kind             int32 // 0 data, 2 dictionary, 3 data of version 2
	unpacked, packed int32
	crc              int32
	sum              bool // crc is set
	values           int32
	// Of a data page: the encodings of its levels or, in version 2, their bytes.
	definition, repetition int32
}

const (
	dataPage       = 0
	dictionaryPage = 2
	dataPageV2     = 3
)

// chunkOf returns where the pages of a column chunk lie in a file of size bytes.
func chunkOf(c *metadata.ColumnChunkMetaData, size int64) (from, n int64, err error) {
	from, n = c.DataPageOffset(), c.TotalCompressedSize()
	if c.HasDictionaryPage() && c.DictionaryPageOffset() > 0 && c.DictionaryPageOffset() < from {
		from = c.DictionaryPageOffset()
	}
	if from < 4 || n < 0 || n > size-from {
		return 0, 0, fmt.Errorf("its pages, %d bytes from byte %d, lie outside the file of %d bytes", n, from, size)
	}
	return from, n, nil
}

// walkPages goes over the pages of a column chunk: each has its checksum where it says one, its levels are those of the
// column, and they hold as many values as the footer says. at is the number of values before the damage.
func walkPages(r io.ReaderAt, c *metadata.ColumnChunkMetaData, size int64, d depths) (at int64, err error) {
	from, n, err := chunkOf(c, size)
	if err != nil {
		return 0, err
	}
	// Some old writers leave the header of the dictionary out of the size.
	in := bufio.NewReaderSize(io.NewSectionReader(r, from, min(n+128, size-from)), 1<<16)
	want := c.NumValues()
	var page bytes.Buffer
	levels := levelCheck{depths: d, codec: c.Compression()}
	for at < want {
		h, err := readPageHeader(in)
		if err != nil {
			return at, fmt.Errorf("its pages hold %d values, the footer says %d: %w", at, want, err)
		}
		if h.packed < 0 || h.unpacked < 0 || h.packed > maxPage || h.unpacked > maxPage {
			return at, fmt.Errorf("a page of %d bytes, %d unpacked; at most %d are read", h.packed, h.unpacked, maxPage)
		}
		sum := crc32.NewIEEE()
		data := h.kind == dataPage || h.kind == dataPageV2
		page.Reset()
		var to io.Writer = io.Discard
		switch keep := data && d != (depths{}); {
		case keep && h.sum:
			to = io.MultiWriter(&page, sum)
		case keep:
			to = &page
		case h.sum:
			to = sum
		}
		if _, err := io.CopyN(to, in, int64(h.packed)); err != nil {
			return at, fmt.Errorf("a page is cut short: %w", noEOF(err))
		}
		if h.sum && sum.Sum32() != uint32(h.crc) {
			return at, fmt.Errorf("the checksum of a page is %08x, it says %08x", sum.Sum32(), uint32(h.crc))
		}
		if !data {
			continue
		}
		if h.values < 0 || int64(h.values) > want-at {
			return at, fmt.Errorf("a page of %d values where the footer leaves %d", h.values, want-at)
		}
		if err := levels.checkPage(&h, page.Bytes()); err != nil {
			return at, err
		}
		at += int64(h.values)
	}
	return at, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var compact = &thrift.TConfiguration{MaxMessageSize: maxHeader, MaxFrameSize: maxHeader}

const maxHeader = 1 << 24 // bytes of a page header: statistics hold values

// readPageHeader reads one Thrift struct PageHeader.
func readPageHeader(in *bufio.Reader) (h pageHeader, err error) {
	if _, err := in.Peek(1); err != nil {
		return h, noEOF(err)
	}
	ctx := context.Background()
	p := thrift.NewTCompactProtocolConf(transport{in}, compact)
	kind, size := false, 0
	err = fields(ctx, p, func(id int16, t thrift.TType) (read bool, err error) {
		switch {
		case id == 1 && t == thrift.I32:
			h.kind, err = p.ReadI32(ctx)
			kind = true
		case id == 2 && t == thrift.I32:
			h.unpacked, err = p.ReadI32(ctx)
			size++
		case id == 3 && t == thrift.I32:
			h.packed, err = p.ReadI32(ctx)
			size++
		case id == 4 && t == thrift.I32:
			h.crc, err = p.ReadI32(ctx)
			h.sum = true
		case (id == 5 || id == 7 || id == 8) && t == thrift.STRUCT:
			definition, repetition := int16(3), int16(4)
			if id == 8 {
				definition, repetition = 5, 6
			}
			err = fields(ctx, p, func(id int16, t thrift.TType) (read bool, err error) {
				to := map[int16]*int32{1: &h.values, definition: &h.definition, repetition: &h.repetition}[id]
				if to == nil || t != thrift.I32 {
					return false, nil
				}
				*to, err = p.ReadI32(ctx)
				return true, err
			})
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && (!kind || size != 2) {
		err = errors.New("a page header without kind or size")
	}
	return h, noEOF(err)
}

// fields reads a struct; each says whether it read the value of a field, which is passed over else.
func fields(ctx context.Context, p thrift.TProtocol, each func(int16, thrift.TType) (bool, error)) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, t, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if t == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		read, err := each(id, t)
		if err == nil && !read {
			err = p.Skip(ctx, t)
		}
		if err != nil {
			return err
		}
	}
}

// transport gives Thrift the bytes of a reader, and no more than it asks for.
type transport struct{ in *bufio.Reader }

func (t transport) Read(b []byte) (int, error)      { return t.in.Read(b) }
func (t transport) ReadByte() (byte, error)         { return t.in.ReadByte() }
func (t transport) Write([]byte) (int, error)       { return 0, errors.ErrUnsupported }
func (t transport) WriteByte(byte) error            { return errors.ErrUnsupported }
func (t transport) WriteString(string) (int, error) { return 0, errors.ErrUnsupported }
func (t transport) Flush(context.Context) error     { return nil }
func (t transport) RemainingBytes() uint64          { return ^uint64(0) }
func (t transport) Open() error                     { return nil }
func (t transport) Close() error                    { return nil }
func (t transport) IsOpen() bool                    { return true }

var _ thrift.TRichTransport = transport{}
