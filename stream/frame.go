package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"

	"liftstream/model/wire"
)

// Format is the newest version of the values in the state topic, journal and snapshots alike, and in the model topic,
// that this build reads and writes; see FORMAT.md. Whatever changes in them, down to the bytes of a component, is a new
// one, and a build writes the one before as well, for as long as members that read no other may be in its group.
const Format = oldestFormat

// oldestFormat is the oldest version that this build reads and writes.
const oldestFormat = 1

// chunkBytes is the largest piece of a section or model in one record, far below the smallest message limit of brokers.
const chunkBytes = 256 << 10

// maxSection bounds what a section or model may decompress to, against hostile lengths. What a task reads is bounded
// further by what its own configuration can have written.
const maxSection = 1 << 30

// maxManifest bounds the value of a manifest, journalBytes that of a journal or done record.
const (
	maxManifest  = 4 << 20
	journalBytes = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal frames a payload. Format 0 is the oldest one.
func seal(payload []byte, format int) []byte {
	b := append(make([]byte, 0, len(payload)+5), byte(max(format, oldestFormat)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// open is the inverse, for a reader of formats up to newest. A whole frame of a later one gives a *formatError.
func open(value []byte, newest int) (payload []byte, format int, err error) {
	if len(value) < 5 {
		return nil, 0, fmt.Errorf("frame of %d bytes", len(value))
	}
	body := value[:len(value)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(value[len(body):]) {
		return nil, 0, errors.New("checksum mismatch")
	}
	switch format = int(body[0]); {
	case format > newest:
		return nil, 0, &formatError{format, newest}
	case format < oldestFormat:
		return nil, 0, fmt.Errorf("format %d, this build reads %d and later", format, oldestFormat)
	}
	return body[1:], format, nil
}

// formatError is returned for what a newer build has written.
type formatError struct{ format, newest int }

func (e *formatError) Error() string {
	return fmt.Sprintf("format %d, this build reads up to %d", e.format, e.newest)
}

// blob is how a large value lies in a topic.
type blob struct {
	chunks, packed, length int
	crc                    uint32
}

func (s blob) append(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(s.chunks))
	b = wire.AppendUvarint(b, uint64(s.packed))
	b = wire.AppendUvarint(b, uint64(s.length))
	return wire.AppendUvarint(b, uint64(s.crc))
}

func readBlob(r *wire.Reader) blob {
	return blob{chunks: r.Int(maxSection / chunkBytes), packed: r.Int(maxSection), length: r.Int(maxSection), crc: uint32(r.Uvarint())}
}

// packer compresses blobs. It is not safe for concurrent use.
type packer struct{ enc *zstd.Encoder }

func newPacker() *packer {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only wrong options make it fail
	}
	return &packer{e}
}

// pack returns the frames of raw, compressed and cut.
func (p *packer) pack(raw []byte, format int) (blob, [][]byte) {
	packed := p.enc.EncodeAll(raw, nil)
	s := blob{packed: len(packed), length: len(raw), crc: crc32.Checksum(raw, castagnoli)}
	var frames [][]byte
	for at := 0; at < len(packed) || at == 0; at += chunkBytes {
		frames = append(frames, seal(packed[at:min(at+chunkBytes, len(packed))], format))
	}
	s.chunks = len(frames)
	return s, frames
}

// unpack is the inverse: chunk gives the frame with that number, nil when there is none.
func unpack(s blob, newest int, chunk func(i int) []byte) ([]byte, error) {
	packed := make([]byte, 0, min(s.packed, 64*chunkBytes))
	for i := range s.chunks {
		frame := chunk(i)
		if frame == nil {
			return nil, fmt.Errorf("chunk %d of %d is not there", i, s.chunks)
		}
		body, _, err := open(frame, newest)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		packed = append(packed, body...)
	}
	if len(packed) != s.packed {
		return nil, fmt.Errorf("%d bytes where %d should be", len(packed), s.packed)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(s.length, 8<<20))))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if len(raw) != s.length || crc32.Checksum(raw, castagnoli) != s.crc {
		return nil, errors.New("checksum mismatch")
	}
	return raw, nil
}
