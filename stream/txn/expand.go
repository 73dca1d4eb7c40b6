package txn

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"
)

// DefaultExpandBytes is the limit of one decompressed batch where Config sets none.
const DefaultExpandBytes = 32 << 20

// expander decompresses batches within a budget of the process: no batch takes more than limit bytes, and the batches
// that are being decompressed at a time take no more together. It may be used by several goroutines.
type expander struct {
	limit  int64
	budget *semaphore.Weighted
	plain  sync.Pool // *[]byte
	zstd   sync.Pool // *zstd.Decoder with a window of at most smallWindow
}

func newExpander(limit int64) *expander {
	return &expander{limit: limit, budget: semaphore.NewWeighted(limit)}
}

var (
	errExpands = errors.New("more bytes than the limit")
	errBusy    = errors.New("the budget is in use")
)

// allowance is the part of the budget that one decompression holds.
type allowance struct {
	e     *expander
	held  int64
	whole bool // it is all of the budget
}

// whole waits for all of the budget. The caller must hold nothing of it.
func (e *expander) whole(ctx context.Context) (*allowance, error) {
	if err := e.budget.Acquire(ctx, e.limit); err != nil {
		return nil, err
	}
	return &allowance{e, e.limit, true}, nil
}

// take asks for n more bytes, without waiting: two decompressions that hold a part and wait for more would wait for
// ever.
func (a *allowance) take(n int64) error {
	switch {
	case a.whole:
		return nil
	case a.held+n > a.e.limit:
		return errBusy // alone it may have them
	case !a.e.budget.TryAcquire(n):
		return errBusy
	}
	a.held += n
	return nil
}

func (a *allowance) give(n int64) {
	if !a.whole {
		a.held -= n
		a.e.budget.Release(n)
	}
}

func (a *allowance) release() {
	if a != nil && a.held > 0 {
		a.e.budget.Release(a.held)
		a.held = 0
	}
}

// expand decompresses packed. The budget is asked before memory is: where it does not have the bytes, expand gives up
// its own, waits for all of the budget, and begins again. own is an allowance of the caller that is all of the budget,
// or nil. The caller releases the allowance that it gets.
func (e *expander) expand(ctx context.Context, packed []byte, c Compression, own *allowance) (
	plain []byte, a *allowance, err error,
) {
	if own == nil {
		a = &allowance{e: e}
		plain, err = e.decompress(packed, c, a)
		if !errors.Is(err, errBusy) {
			return plain, a, err
		}
		a.release()
		if own, err = e.whole(ctx); err != nil {
			return nil, nil, err
		}
	}
	plain, err = e.decompress(packed, c, own)
	return plain, own, err
}

func (e *expander) decompress(packed []byte, c Compression, a *allowance) ([]byte, error) {
	switch c {
	case Snappy:
		return e.snappy(packed, a)
	case Zstd:
		return e.zstandard(packed, a)
	}
	codec := kafka.Compression(c).Codec()
	if codec == nil {
		return nil, fmt.Errorf("compression %d, which Kafka does not have", c)
	}
	r := codec.NewReader(bytes.NewReader(packed))
	defer r.Close()
	return e.readAll(r, len(packed), a)
}

// readAll reads to the end of r, at most limit bytes.
func (e *expander) readAll(r io.Reader, packed int, a *allowance) ([]byte, error) {
	var dst []byte
	if p, ok := e.plain.Get().(*[]byte); ok {
		dst = (*p)[:0]
	} else {
		dst = make([]byte, 0, min(max(int64(4*packed), 4<<10), keptPlain))
	}
	if err := a.take(int64(cap(dst))); err != nil {
		return nil, err
	}
	for {
		if len(dst) == cap(dst) {
			grown := min(2*int64(cap(dst)), e.limit+1) // one more byte shows that there are too many
			if grown <= int64(cap(dst)) {
				return nil, errExpands
			}
			if err := a.take(min(grown, e.limit)); err != nil {
				return nil, err
			}
			old := dst
			dst = append(make([]byte, 0, grown), old...)
			a.give(min(int64(cap(old)), e.limit))
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)) > e.limit:
			return nil, errExpands
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return nil, fmt.Errorf("decompressing: %w", err)
		}
	}
}

// keptPlain is the size up to which memory for decompressed batches is used again.
const keptPlain = 2 << 20

// reuse takes memory back that nothing refers to.
func (e *expander) reuse(plain []byte) {
	if cap(plain) > 0 && cap(plain) <= keptPlain {
		e.plain.Put(&plain)
	}
}

// smallWindow is the largest window of a Zstandard decoder that is used again. A window is memory beside the output.
const smallWindow = 8 << 20

func (e *expander) zstandard(packed []byte, a *allowance) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if h.HasFCS && h.FrameContentSize > uint64(e.limit) {
		return nil, errExpands
	}
	if h.WindowSize > smallWindow {
		return e.largeWindow(packed, a)
	}
	dec, _ := e.zstd.Get().(*zstd.Decoder)
	if dec == nil {
		var err error
		dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(smallWindow), zstd.WithDecoderMaxMemory(uint64(max(smallWindow, e.limit))))
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
	}
	err := dec.Reset(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	plain, err := e.readAll(dec, len(packed), a)
	_ = dec.Reset(nil)
	e.zstd.Put(dec)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = errExpands // of a later frame
	}
	return plain, err
}

// largeWindow decompresses into memory that serves as the window too, where a window would be as large as the limit.
func (e *expander) largeWindow(packed []byte, a *allowance) ([]byte, error) {
	const anyWindow = 1 << 31
	if err := a.take(e.limit); err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(anyWindow), zstd.WithDecoderMaxMemory(anyWindow))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(packed, make([]byte, 0, e.limit))
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, errExpands
	case err != nil:
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return plain, nil
}

// snappy reads blocks in the framing of Java's writer, or one block without. Each block says its size before.
func (e *expander) snappy(packed []byte, a *allowance) ([]byte, error) {
	blocks, framed := bytes.CutPrefix(packed, []byte("\x82SNAPPY\x00"))
	if !framed {
		return e.snappyBlock(nil, packed, a)
	}
	if len(blocks) < 8 {
		return nil, io.ErrUnexpectedEOF
	}
	blocks = blocks[8:] // versions
	// The sizes come first, so that the memory is asked for once.
	total := int64(0)
	for rest := blocks; len(rest) > 0; {
		if len(rest) < 4 || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, io.ErrUnexpectedEOF
		}
		size := int(binary.BigEndian.Uint32(rest))
		n, err := snappy.DecodedLen(rest[4 : 4+size])
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		if total += int64(n); total > e.limit {
			return nil, errExpands
		}
		rest = rest[4+size:]
	}
	if err := a.take(total); err != nil {
		return nil, err
	}
	dst := make([]byte, 0, total)
	for len(blocks) > 0 {
		size := int(binary.BigEndian.Uint32(blocks))
		out, err := snappy.Decode(dst[len(dst):cap(dst)], blocks[4:4+size])
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		dst = dst[:len(dst)+len(out)]
		blocks = blocks[4+size:]
	}
	return dst, nil
}

func (e *expander) snappyBlock(dst, block []byte, a *allowance) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if int64(n) > e.limit {
		return nil, errExpands
	}
	if err := a.take(int64(n)); err != nil {
		return nil, err
	}
	dst, err = snappy.Decode(dst, block)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return dst, nil
}
