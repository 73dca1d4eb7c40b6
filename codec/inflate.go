package codec

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// inflater holds the decompressors that messages reuse. Arrow's own path trusts the announced lengths and window sizes,
// and makes a decompressor for every batch.
type inflater struct {
	zstd *zstd.Decoder
	lz4  *lz4.Reader
}

const (
	codecLZ4  = 0
	codecZSTD = 1
	// maxWindow bounds the window of a zstd frame. The output serves as the window, so that it costs no memory.
	maxWindow = 128 << 20
)

// method reads the compression of a batch; 0 = it has none.
func method(fb *flat, compression int) (codec byte, err *MessageError) {
	if compression == 0 {
		return 0, nil
	}
	method := byte(0)
	if p := fb.field(compression, compressionCodec); p != 0 {
		codec = fb.u8(p)
	}
	if p := fb.field(compression, compressionMethod); p != 0 {
		method = fb.u8(p)
	}
	if fb.bad || codec > codecZSTD || method != 0 {
		return 0, dead(ReasonDamaged, "compression %d of method %d", codec, method)
	}
	return codec, nil
}

// plainSize reads the length that precedes a compressed buffer; -1 means that it is not compressed. ok is false for a
// length that no bytes of that size can hold.
func plainSize(codec byte, src []byte) (n int64, ok bool) {
	size := int64(len(src)) - 8
	if size < 0 {
		return 0, false
	}
	n = int64(binary.LittleEndian.Uint64(src))
	if n == -1 {
		return size, true
	}
	most := 255 * (size + 1) // each byte of a length in LZ4 adds at most 255
	if codec == codecZSTD {
		most = zstdBlock * (size/4 + 1) // the smallest block has four bytes
	}
	return n, n >= 0 && n <= most
}

// zstdBlock is the largest content of a block of a zstd frame.
const zstdBlock = 128 << 10

var errShort = errors.New("it holds fewer bytes than it announces")

// unpack writes the content of a compressed buffer, whose plainSize is that of dst.
func (g *inflater) unpack(codec byte, dst, src []byte) error {
	if int64(binary.LittleEndian.Uint64(src)) == -1 {
		copy(dst, src[8:])
		return nil
	}
	src = src[8:]
	if len(dst) == 0 {
		return nil
	}
	if codec == codecLZ4 {
		if g.lz4 == nil {
			g.lz4 = lz4.NewReader(nil)
		}
		g.lz4.Reset(bytes.NewReader(src))
		return readWhole(g.lz4, dst)
	}
	if g.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
		g.zstd = z
	}
	out, err := g.zstd.DecodeAll(src, dst[:0])
	switch {
	case err != nil:
		return err
	case len(out) != len(dst):
		return errShort
	case &out[0] != &dst[0]:
		copy(dst, out)
	}
	return nil
}
