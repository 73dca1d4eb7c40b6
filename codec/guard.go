package codec

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Arrow's reader trusts its input: a damaged length makes it allocate hundreds of gigabytes, which ends the process,
// and a damaged offset panics where a value is read. So the guard follows every length and offset first.

const (
	maxFields    = 1 << 14 // of a schema, nested ones included
	maxDepth     = 32      // of nested fields
	maxText      = 1 << 24 // bytes of names and metadata of a schema
	maxFrames    = 1 << 14 // of a message
	continuation = 0xFFFFFFFF
)

// frame is one encapsulated message of a stream.
type frame struct {
	kind    byte
	meta    []byte
	body    []byte
	rows    int64 // of a record batch
	version int
}

// budget bounds the memory that is allocated for one message.
type budget struct {
	left int64
	over bool // something was refused
}

func (b *budget) take(n int64) bool {
	if n < 0 || n > b.left {
		b.over = true
		return false
	}
	b.left -= n
	return true
}

// capped is an allocator that refuses, by a panic that the decoder recovers, memory beyond the message's budget: Go's
// own answer to an absurd size cannot be recovered.
type capped struct {
	memory.Allocator
	budget *budget
}

type overBudget struct{ size int }

func (c capped) Allocate(n int) []byte {
	if !c.budget.take(int64(n)) {
		panic(overBudget{n})
	}
	return c.Allocator.Allocate(n)
}

func (c capped) Reallocate(n int, b []byte) []byte {
	if n > len(b) && !c.budget.take(int64(n-len(b))) {
		panic(overBudget{n})
	}
	return c.Allocator.Reallocate(n, b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkHeaders compares the headers that can be checked before the value is parsed, and returns the announced number of
// rows, -1 when none was.
func checkHeaders(h Headers, value []byte) (rows int64, err *MessageError) {
	rows = -1
	if h.Rows != nil {
		n, e := strconv.ParseUint(string(h.Rows), 10, 63)
		if e != nil {
			return 0, dead(ReasonRows, "the header %q is not a number", cut(string(h.Rows)))
		}
		rows = int64(n)
	}
	if h.CRC32C != nil {
		want, e := strconv.ParseUint(string(h.CRC32C), 16, 32)
		if e != nil {
			return 0, dead(ReasonCRC, "the header %q is not a hexadecimal number of eight digits", cut(string(h.CRC32C)))
		}
		if got := crc32.Checksum(value, castagnoli); got != uint32(want) {
			return 0, dead(ReasonCRC, "the header says %08x, the value has %08x", want, got)
		}
	}
	return rows, nil
}

// split walks the frames of a stream: the schema, dictionaries and record batches, the end mark, and nothing after it.
// The frames alias value.
func split(value []byte, frames []frame) ([]frame, *MessageError) {
	frames = frames[:0]
	if len(value) == 0 {
		return nil, dead(ReasonEmpty, "no bytes")
	}
	if len(value) >= 6 && string(value[:6]) == "ARROW1" {
		return nil, dead(ReasonNotArrow, "the Arrow file format; a message holds the stream format")
	}
	if len(value) >= 4 && binary.LittleEndian.Uint32(value) != continuation {
		return nil, dead(ReasonNotArrow, "the first bytes are % x, an Arrow stream starts with ff ff ff ff", value[:4])
	}
	for pos := 0; ; {
		rest := value[pos:]
		if len(rest) < 8 {
			if allFF(rest) {
				return nil, dead(ReasonTruncated, "ends after %d bytes without an end mark", len(value))
			}
			return nil, dead(ReasonDamaged, "no message starts at byte %d", pos)
		}
		if binary.LittleEndian.Uint32(rest) != continuation {
			return nil, dead(ReasonDamaged, "no message starts at byte %d", pos)
		}
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		pos += 8
		if size == 0 {
			if len(frames) == 0 {
				return nil, dead(ReasonDamaged, "the stream has no schema")
			}
			if pos != len(value) {
				return nil, dead(ReasonTrailing, "%d bytes after the end mark", len(value)-pos)
			}
			return frames, nil
		}
		if size > int64(len(value)-pos) {
			return nil, dead(ReasonTruncated, "metadata of %d bytes at byte %d, the value has %d", size, pos, len(value))
		}
		if len(frames) == maxFrames {
			return nil, dead(ReasonTooLarge, "more than %d batches", maxFrames)
		}
		f := frame{meta: value[pos : pos+int(size) : pos+int(size)]}
		pos += int(size)
		length, err := f.parse(len(frames))
		switch {
		case err != nil:
			return nil, err
		case length > int64(len(value)-pos):
			return nil, dead(ReasonTruncated, "body of %d bytes at byte %d, the value has %d", length, pos, len(value))
		case (len(frames) == 0) != (f.kind == headerSchema):
			return nil, dead(ReasonDamaged, "message %d is of kind %d; one schema comes first", len(frames), f.kind)
		}
		f.body = value[pos : pos+int(length) : pos+int(length)]
		pos += int(length)
		frames = append(frames, f)
	}
}

// parse reads the metadata of the frame and returns the length of its body. at names the frame in errors.
func (f *frame) parse(at int) (length int64, err *MessageError) {
	fb := flat{b: f.meta}
	root := fb.root()
	if p := fb.field(root, messageVersion); p != 0 {
		f.version = fb.u16(p)
	}
	if p := fb.field(root, messageHeaderType); p != 0 {
		f.kind = fb.u8(p)
	}
	if p := fb.field(root, messageBodyLength); p != 0 {
		length = fb.i64(p)
	}
	header := fb.ref(fb.field(root, messageHeader))
	switch {
	case fb.bad || header == 0 || length < 0:
		return 0, dead(ReasonDamaged, "metadata of message %d", at)
	case f.version != 3 && f.version != 4:
		return 0, dead(ReasonNotArrow, "metadata version %d; V4 and V5 are read", f.version+1)
	case f.kind == 0 || f.kind > headerRecords:
		return 0, dead(ReasonDamaged, "message %d is of kind %d", at, f.kind)
	}
	if f.kind == headerRecords {
		if p := fb.field(header, batchLength); p != 0 {
			f.rows = fb.i64(p)
		}
		if fb.bad || f.rows < 0 {
			return 0, dead(ReasonDamaged, "row count of message %d", at)
		}
	}
	return length, nil
}

func allFF(b []byte) bool {
	for i := 0; i < len(b) && i < 4; i++ {
		if b[i] != 0xFF {
			return false
		}
	}
	return true
}

// checkSchema follows every offset of a schema message, so that Arrow may, and bounds its copies: texts may be shared
// in the flatbuffer, and Arrow copies each use.
func checkSchema(meta []byte) *MessageError {
	w := schemaWalk{flat: flat{b: meta}, fields: maxFields, text: maxText}
	schema := w.ref(w.field(w.root(), messageHeader))
	if p := w.field(schema, schemaEndianness); p != 0 && w.u16(p) != 0 {
		return dead(ReasonNotArrow, "a big-endian stream")
	}
	w.keyValues(w.field(schema, schemaMetadata))
	w.vector(w.field(schema, schemaFeatures), 8)
	w.walk(w.field(schema, schemaFields), maxDepth)
	if w.over {
		return dead(ReasonTooLarge, "a schema of more than %d fields, %d bytes of names, or %d levels", maxFields, maxText,
			maxDepth)
	}
	if w.bad || schema == 0 {
		return dead(ReasonDamaged, "the schema's metadata")
	}
	return nil
}

type schemaWalk struct {
	flat
	fields, text int
	over         bool
}

func (w *schemaWalk) stop() bool { return w.bad || w.over }

func (w *schemaWalk) walk(field, depth int) {
	start, n := w.vector(field, 4)
	w.count(n)
	if depth == 0 && n > 0 {
		w.over = true
	}
	for i := 0; i < n && !w.stop(); i++ {
		t := w.ref(start + 4*i)
		w.bytes(w.field(t, fieldName), 1)
		kind := byte(0)
		if p := w.field(t, fieldTypeKind); p != 0 {
			kind = w.u8(p)
		}
		ty := w.ref(w.field(t, fieldType))
		if ty == 0 {
			w.bad = true
			return
		}
		switch kind {
		case typeTimestamp: // time zone
			w.bytes(w.field(ty, 1), 1)
		case typeUnion: // type ids
			w.bytes(w.field(ty, 1), 4)
		}
		if d := w.ref(w.field(t, fieldDictionary)); d != 0 {
			w.ref(w.field(d, dictionaryIndexType))
		}
		w.keyValues(w.field(t, fieldMetadata))
		w.walk(w.field(t, fieldChildren), depth-1)
	}
}

func (w *schemaWalk) count(n int) {
	if w.fields -= n; w.fields < 0 {
		w.over = true
	}
}

func (w *schemaWalk) keyValues(field int) {
	start, n := w.vector(field, 4)
	w.count(n)
	for i := 0; i < n && !w.stop(); i++ {
		t := w.ref(start + 4*i)
		w.bytes(w.field(t, 0), 1)
		w.bytes(w.field(t, 1), 1)
	}
}

func (w *schemaWalk) bytes(field, size int) {
	_, n := w.vector(field, size)
	if w.text -= n * size; w.text < 0 {
		w.over = true
	}
}

// need lists the buffers of one node of a layout.
type need struct {
	validity bool
	bits     []int64 // of a value, for each buffer after the validity: > 0 width; offsets32, offsets64, anySize
	variadic bool    // view types: a counted number of data buffers follows
	null     bool    // the null type: no buffer, every value null
}

const (
	offsets32 int64 = -1
	offsets64 int64 = -2
	anySize   int64 = -3
)

// layout lists, in the order of a record batch, the buffers of the nodes of a schema; ok is false for types that
// Arrow's reader does not load.
func layout(dst []need, t arrow.DataType, version int) ([]need, bool) {
	add := func(validity bool, bits ...int64) { dst = append(dst, need{validity: validity, bits: bits}) }
	children := func(fields ...arrow.Field) bool {
		for _, f := range fields {
			var ok bool
			if dst, ok = layout(dst, f.Type, version); !ok {
				return false
			}
		}
		return true
	}
	ok := true
	switch t := t.(type) {
	case *arrow.NullType:
		dst = append(dst, need{null: true})
	case *arrow.DictionaryType:
		return layout(dst, t.IndexType, version)
	case *arrow.StringType, *arrow.BinaryType:
		add(true, offsets32, anySize)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		add(true, offsets64, anySize)
	case arrow.BinaryViewDataType:
		dst = append(dst, need{validity: true, bits: []int64{128}, variadic: true})
	case *arrow.MapType:
		add(true, offsets32)
		return layout(dst, t.Elem(), version)
	case *arrow.ListType:
		add(true, offsets32)
		return layout(dst, t.Elem(), version)
	case *arrow.LargeListType:
		add(true, offsets64)
		return layout(dst, t.Elem(), version)
	case *arrow.ListViewType:
		add(true, 32, 32)
		return layout(dst, t.Elem(), version)
	case *arrow.LargeListViewType:
		add(true, 64, 64)
		return layout(dst, t.Elem(), version)
	case *arrow.FixedSizeListType:
		add(true)
		return layout(dst, t.Elem(), version)
	case *arrow.StructType:
		add(true)
		ok = children(t.Fields()...)
	case *arrow.RunEndEncodedType:
		add(version < 4)
		if dst, ok = layout(dst, t.RunEnds(), version); !ok {
			return dst, false
		}
		return layout(dst, t.Encoded(), version)
	case *arrow.SparseUnionType:
		add(version < 4, 8)
		ok = children(t.Fields()...)
	case *arrow.DenseUnionType:
		add(version < 4, 8, 32)
		ok = children(t.Fields()...)
	case arrow.ExtensionType:
		return layout(dst, t.StorageType(), version)
	case arrow.FixedWidthDataType:
		w := t.BitWidth()
		if w <= 0 || w > 1<<24 {
			return dst, false
		}
		add(true, int64(w))
	default:
		return dst, false
	}
	return dst, ok
}

// checkBatch looks at a record batch or dictionary frame: nodes and buffers are there, lie inside the body and are as
// long as their values need. needs is nil when the layout is not known (dictionaries). A compressed body is replaced by
// a plain one, within the budget.
func (g *guard) checkBatch(f *frame, needs []need) *MessageError {
	fb := flat{b: f.meta}
	root := fb.root()
	table := fb.ref(fb.field(root, messageHeader))
	if f.kind == headerDictionary {
		table = fb.ref(fb.field(table, dictBatchData))
	}
	if table == 0 || fb.bad {
		return dead(ReasonDamaged, "a batch without a header")
	}
	nodes, nNodes := fb.vector(fb.field(table, batchNodes), 16)
	buffers, nBuffers := fb.vector(fb.field(table, batchBuffers), 16)
	variadic, nVariadic := fb.vector(fb.field(table, batchVariadic), 8)
	compression := fb.ref(fb.field(table, batchCompression))
	if fb.bad {
		return dead(ReasonDamaged, "a batch's metadata")
	}
	if nNodes > maxFields || nBuffers > 4*maxFields {
		return dead(ReasonTooLarge, "a batch of %d nodes and %d buffers", nNodes, nBuffers)
	}
	for i := range nBuffers {
		off, n := fb.i64(buffers+16*i), fb.i64(buffers+16*i+8)
		if off < 0 || n < 0 || off > int64(len(f.body)) || n > int64(len(f.body))-off {
			return dead(ReasonDamaged, "buffer %d spans bytes %d + %d of a body of %d", i, off, n, len(f.body))
		}
	}
	if compression != 0 {
		if err := g.inflate(f, &fb, root, table, compression, buffers, nBuffers); err != nil {
			return err
		}
		fb.b = f.meta
	}
	for i := range nNodes {
		n, nulls := fb.i64(nodes+16*i), fb.i64(nodes+16*i+8)
		if n < 0 || n > maxRows || nulls < 0 || nulls > n {
			return dead(ReasonDamaged, "node %d has %d values, %d of them null", i, n, nulls)
		}
	}
	if needs == nil {
		return nil
	}
	l := bufferWalk{fb: &fb, nodes: nodes, buffers: buffers, nBuffers: nBuffers, variadic: variadic, nVariadic: nVariadic}
	return l.check(nNodes, needs)
}

// maxRows bounds the rows of a message: columns of the null type have rows without bytes.
const maxRows = 1 << 22

// topNode returns the length of a node: of a top-level column it must be the batch's own, which Arrow's record does not
// compare.
func topNode(f *frame, node int) int64 {
	fb := flat{b: f.meta}
	nodes, n := fb.vector(fb.field(fb.ref(fb.field(fb.root(), messageHeader)), batchNodes), 16)
	if node >= n {
		return -1
	}
	return fb.i64(nodes + 16*node)
}

func cut(s string) string {
	if len(s) > 100 {
		return s[:100]
	}
	return s
}
