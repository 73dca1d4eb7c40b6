package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"

	"liftstream/model/wire"
)

// Format is the newest version of the values in the state and model topics that this build reads and writes; see
// FORMAT.md. A change of these values, down to the bytes of a component, makes a new version. A build also writes the
// version before, as long as members that read no later one may be in its group.
const Format = OldestFormat

// OldestFormat is the oldest version that this build reads and writes.
const OldestFormat = 1

// chunkBytes is the largest piece of a section or model in one record, far below the message limit of most topics.
// leastChunk is the smallest, for topics that take less.
const (
	chunkBytes = 256 << 10
	leastChunk = 256
)

const (
	// maxSection bounds the bytes of a section, compressed and not, against hostile lengths. The configuration bounds its
	// keys so that no section is larger. Log.Limit bounds the sections of a task further.
	maxSection = 4 << 30
	// maxModel bounds those of a model.
	maxModel = 1 << 30
)

// chunkFor returns the size of the pieces for a topic that takes records of at most limit bytes; 0 = there is no limit.
func chunkFor(limit int) int {
	const beside = 512 // key, frame and headers
	if limit <= 0 {
		return chunkBytes
	}
	return min(max(limit-beside, leastChunk), chunkBytes)
}

// zstdBlock is the largest content of a block of zstd, of which the smallest has four bytes.
const zstdBlock = 128 << 10

const (
	// JournalBytes bounds the value of a journal or done record.
	JournalBytes = 64
	// maxManifest bounds the value of a manifest.
	maxManifest = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal frames a payload. Format 0 stands for the oldest one.
func Seal(payload []byte, format int) []byte {
	b := append(make([]byte, 0, len(payload)+5), byte(max(format, OldestFormat)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Unseal is the inverse of Seal, for a reader of formats up to newest. A whole frame of a later format gives a
// *FormatError.
func Unseal(value []byte, newest int) (payload []byte, format int, err error) {
	if len(value) < 5 {
		return nil, 0, fmt.Errorf("frame of %d bytes", len(value))
	}
	body := value[:len(value)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(value[len(body):]) {
		return nil, 0, errors.New("checksum mismatch")
	}
	switch format = int(body[0]); {
	case format > newest:
		return nil, 0, &FormatError{format, newest}
	case format < OldestFormat:
		return nil, 0, fmt.Errorf("format %d, this build reads %d and later", format, OldestFormat)
	}
	return body[1:], format, nil
}

// FormatError is returned for a value that a newer build has written.
type FormatError struct{ Format, Newest int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("format %d, this build reads up to %d", e.Format, e.Newest)
}

// Blob says how a large value lies in a topic: the number of its chunks, its bytes compressed and not, and the CRC-32C
// of the latter.
type Blob struct {
	Chunks, Packed, Length int
	CRC                    uint32
}

// AppendBinary appends the four numbers as unsigned varints.
func (s Blob) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(s.Chunks))
	b = wire.AppendUvarint(b, uint64(s.Packed))
	b = wire.AppendUvarint(b, uint64(s.Length))
	return wire.AppendUvarint(b, uint64(s.CRC))
}

func readBlob(r *wire.Reader) Blob {
	b := Blob{Chunks: r.Int(maxSection / leastChunk), Packed: r.Int(maxSection), Length: r.Int(maxSection),
		CRC: uint32(r.Uvarint())}
	if most := b.Packed/leastChunk + 1; b.Chunks > max(most, 1<<12) {
		b.Chunks = -1 // it fits no size; see unpack
	}
	return b
}

// Packer compresses large values. It is not safe for concurrent use.
type Packer struct {
	enc *zstd.Encoder
	// Limit is the most bytes that one record of the topic may have; 0 = there is no limit.
	Limit int
}

// NewPacker returns a packer.
func NewPacker() *Packer {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only wrong options make it fail
	}
	return &Packer{enc: e}
}

// pack compresses raw and returns it in frames of one chunk each.
func (p *Packer) pack(raw []byte, format int) (Blob, [][]byte) {
	packed := p.enc.EncodeAll(raw, nil)
	s := Blob{Packed: len(packed), Length: len(raw), CRC: crc32.Checksum(raw, castagnoli)}
	var frames [][]byte
	chunk := chunkFor(p.Limit)
	for at := 0; at < len(packed) || at == 0; at += chunk {
		frames = append(frames, Seal(packed[at:min(at+chunk, len(packed))], format))
	}
	s.Chunks = len(frames)
	return s, frames
}

// unpack is the inverse of pack: chunk returns the frame with that number, nil where it is missing.
func unpack(s Blob, newest int, chunk func(i int) []byte) ([]byte, error) {
	if s.Chunks < 0 {
		return nil, errors.New("more chunks than its bytes can have")
	}
	packed := make([]byte, 0, min(s.Packed, 64*chunkBytes))
	for i := range s.Chunks {
		frame := chunk(i)
		if frame == nil {
			return nil, fmt.Errorf("chunk %d of %d is not there", i, s.Chunks)
		}
		body, _, err := Unseal(frame, newest)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		packed = append(packed, body...)
	}
	if len(packed) != s.Packed {
		return nil, fmt.Errorf("%d bytes where %d should be", len(packed), s.Packed)
	}
	if s.Length > zstdBlock*(len(packed)/4+1) {
		return nil, fmt.Errorf("%d bytes announced, which %d cannot hold", s.Length, len(packed))
	}
	most := zstd.WithDecoderMaxMemory(uint64(max(s.Length, 8<<20)))
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), most)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if len(raw) != s.Length || crc32.Checksum(raw, castagnoli) != s.CRC {
		return nil, errors.New("checksum mismatch")
	}
	return raw, nil
}
