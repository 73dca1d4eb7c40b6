package codec

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

const (
	maxFrames    = 1 << 14 // of a message
	maxRows      = 1 << 22 // of a message: columns of the null type have rows without bytes
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

func cut(s string) string {
	if len(s) > 100 {
		return s[:100]
	}
	return s
}
