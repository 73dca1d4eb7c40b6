package codec

import "encoding/binary"

// flat reads a flatbuffer without trusting it: an offset that leads outside the bytes sets bad and yields zero. It
// replaces Arrow's generated accessors, which index without looking. Positions are absolute; 0 means absent.
type flat struct {
	b   []byte
	bad bool
}

func (f *flat) in(pos, n int) bool {
	if pos < 0 || n < 0 || pos > len(f.b)-n {
		f.bad = true
		return false
	}
	return true
}

func (f *flat) u8(pos int) byte {
	if !f.in(pos, 1) {
		return 0
	}
	return f.b[pos]
}

func (f *flat) u16(pos int) int {
	if !f.in(pos, 2) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(f.b[pos:]))
}

func (f *flat) u32(pos int) uint32 {
	if !f.in(pos, 4) {
		return 0
	}
	return binary.LittleEndian.Uint32(f.b[pos:])
}

func (f *flat) i64(pos int) int64 {
	if !f.in(pos, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(f.b[pos:]))
}

// ref follows the unsigned, forward offset at pos.
func (f *flat) ref(pos int) int {
	if pos == 0 {
		return 0
	}
	p := pos + int(f.u32(pos))
	if p == pos || !f.in(p, 4) {
		f.bad = true
		return 0
	}
	return p
}

func (f *flat) root() int {
	p := int(f.u32(0))
	if p < 4 || !f.in(p, 4) {
		f.bad = true
		return 0
	}
	return p
}

// entry returns the position of the vtable entry of a field, 0 when the vtable is too short to hold one.
func (f *flat) entry(table, field int) int {
	if table == 0 {
		return 0
	}
	v := table - int(int32(f.u32(table)))
	o := 4 + 2*field
	if !f.in(v, 4) || o+2 > f.u16(v) || !f.in(v+o, 2) {
		return 0
	}
	return v + o
}

// field returns the position of a table's field, 0 when absent.
func (f *flat) field(table, field int) int {
	e := f.entry(table, field)
	if e == 0 {
		return 0
	}
	o := f.u16(e)
	if o == 0 || !f.in(table+o, 1) {
		return 0
	}
	return table + o
}

// vector returns where the elements of a vector field start, and how many there are.
func (f *flat) vector(field, size int) (start, n int) {
	p := f.ref(field)
	if p == 0 {
		return 0, 0
	}
	n = int(f.u32(p))
	if !f.in(p+4, 0) || n > (len(f.b)-p-4)/size {
		f.bad = true
		return 0, 0
	}
	return p + 4, n
}

// Fields of the tables that this package reads, from Arrow's Message.fbs and Schema.fbs.
const (
	messageVersion    = 0
	messageHeaderType = 1
	messageHeader     = 2
	messageBodyLength = 3

	schemaEndianness = 0
	schemaFields     = 1
	schemaMetadata   = 2

	fieldName       = 0
	fieldNullable   = 1
	fieldTypeKind   = 2
	fieldType       = 3
	fieldDictionary = 4
	fieldChildren   = 5
	fieldMetadata   = 6

	dictionaryID        = 0
	dictionaryIndexType = 1
	dictionaryOrdered   = 2

	batchLength      = 0
	batchNodes       = 1
	batchBuffers     = 2
	batchCompression = 3
	batchVariadic    = 4

	dictBatchID    = 0
	dictBatchData  = 1
	dictBatchDelta = 2

	compressionCodec  = 0
	compressionMethod = 1

	headerSchema     = 1
	headerDictionary = 2
	headerRecords    = 3
)

// Kinds of types, from Schema.fbs.
const (
	flatNull            = 1
	flatInt             = 2
	flatFloat           = 3
	flatBinary          = 4
	flatUtf8            = 5
	flatBool            = 6
	flatDecimal         = 7
	flatDate            = 8
	flatTime            = 9
	flatTimestamp       = 10
	flatInterval        = 11
	flatList            = 12
	flatStruct          = 13
	flatUnion           = 14
	flatFixedSizeBinary = 15
	flatFixedSizeList   = 16
	flatMap             = 17
	flatDuration        = 18
	flatLargeBinary     = 19
	flatLargeUtf8       = 20
	flatLargeList       = 21
	flatRunEndEncoded   = 22
	flatBinaryView      = 23
	flatUtf8View        = 24
	flatListView        = 25
	flatLargeListView   = 26
)
