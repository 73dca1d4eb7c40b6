package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// guard holds the buffers that the checks of messages reuse.
type guard struct {
	budget budget
	zstd   *zstd.Decoder
	lz4    *lz4.Reader
}

const (
	codecLZ4  = 0
	codecZSTD = 1
	// maxWindow bounds the memory that a zstd frame asks for before its first byte is known to be good.
	maxWindow = 32 << 20
)

// inflate replaces a compressed body by a plain one and patches a copy of the metadata to say so. Arrow's own path
// trusts the announced lengths and window sizes, and makes a decompressor for every batch.
func (g *guard) inflate(f *frame, fb *flat, root, table, compression, buffers, n int) *MessageError {
	codec, method := byte(0), byte(0)
	if p := fb.field(compression, compressionCodec); p != 0 {
		codec = fb.u8(p)
	}
	if p := fb.field(compression, compressionMethod); p != 0 {
		method = fb.u8(p)
	}
	bodyLength := fb.field(root, messageBodyLength)
	if fb.bad || codec > codecZSTD || method != 0 || bodyLength == 0 || !fb.in(bodyLength, 8) {
		return dead(ReasonDamaged, "compression %d of method %d", codec, method)
	}
	total := int64(0)
	for i := range n {
		off, size := fb.i64(buffers+16*i), fb.i64(buffers+16*i+8)
		if size == 0 {
			continue
		}
		plain, ok := plainSize(f.body[off:off+size], size)
		if !ok {
			return dead(ReasonDamaged, "compressed buffer %d of %d bytes announces %d", i, size, plain)
		}
		if !g.budget.take(plain + 8) {
			return dead(ReasonTooLarge, "compressed buffer %d announces %d bytes", i, plain)
		}
		total += (plain + 7) &^ 7
	}
	meta := flat{b: bytes.Clone(f.meta)}
	body := make([]byte, total)
	at := int64(0)
	for i := range n {
		off, size := fb.i64(buffers+16*i), fb.i64(buffers+16*i+8)
		src := f.body[off : off+size]
		plain := int64(0)
		if size > 0 {
			plain, _ = plainSize(src, size)
			dst := body[at : at+plain : at+plain]
			if int64(binary.LittleEndian.Uint64(src)) == -1 {
				copy(dst, src[8:])
			} else if err := g.unpack(codec, dst, src[8:]); err != nil {
				return dead(ReasonDamaged, "compressed buffer %d: %w", i, err)
			}
		}
		meta.putI64(buffers+16*i, at)
		meta.putI64(buffers+16*i+8, plain)
		at += (plain + 7) &^ 7
	}
	meta.putI64(bodyLength, total)
	entry := meta.entry(table, batchCompression)
	meta.b[entry], meta.b[entry+1] = 0, 0
	f.meta, f.body = meta.b, body
	return nil
}

// plainSize reads the length that precedes a compressed buffer; -1 means that it is not compressed.
func plainSize(src []byte, size int64) (int64, bool) {
	if size < 8 {
		return 0, false
	}
	n := int64(binary.LittleEndian.Uint64(src))
	if n == -1 {
		return size - 8, true
	}
	return n, n >= 0
}

func (g *guard) unpack(codec byte, dst, src []byte) error {
	if codec == codecLZ4 {
		if g.lz4 == nil {
			g.lz4 = lz4.NewReader(nil)
		}
		g.lz4.Reset(bytes.NewReader(src))
		return readWhole(g.lz4, dst)
	}
	if g.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		g.zstd = z
	}
	if err := g.zstd.Reset(bytes.NewReader(src)); err != nil {
		return err
	}
	return readWhole(g.zstd, dst)
}
