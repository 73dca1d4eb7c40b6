package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// Levels of a Parquet column say which values are null, and which belong to one list. The library takes any level that
// is not the largest for a null, and reads the following ones out of step. So the levels are looked at before it reads
// them.

var errLevels = errors.New("the levels of a page end too early")

// Encodings of levels, from parquet.thrift.
const (
	levelsRLE       = 3
	levelsBitPacked = 4
)

// depths are the largest levels of a column: 0 means that its pages have none of the kind.
type depths struct{ definition, repetition int16 }

// levelCheck checks the levels of the pages of a column chunk. Pages of version 1 are packed with their levels, so they
// are unpacked for it, and once more by the library. Of the processor time of reading about 100 MB (medians of six runs
// in turn, with and without), that is too little to be measured for floats packed by snappy, and a fifth more for texts
// and whole numbers packed by snappy or zstd.
type levelCheck struct {
	depths
	codec    compress.Compression
	unpacked []byte // of a page, used again for the next
}

// checkPage checks the levels of a data page, given as it lies in the file.
func (d *levelCheck) checkPage(h *pageHeader, page []byte) error {
	if d.depths == (depths{}) {
		return nil
	}
	if h.kind == dataPageV2 {
		repetition, definition := int64(h.repetition), int64(h.definition)
		if repetition < 0 || definition < 0 || repetition+definition > int64(len(page)) {
			return errLevels
		}
		if err := checkLevels(page[:repetition], d.repetition, int(h.values)); err != nil {
			return err
		}
		return checkLevels(page[repetition:repetition+definition], d.definition, int(h.values))
	}
	if d.codec != compress.Codecs.Uncompressed {
		c, err := compress.GetCodec(d.codec)
		if err != nil {
			return err
		}
		d.unpacked = slices.Grow(d.unpacked[:0], int(h.unpacked))
		page = c.Decode(d.unpacked[:h.unpacked], page)
	}
	for _, l := range [...]struct {
		most     int16
		encoding int32
	}{{d.repetition, h.repetition}, {d.definition, h.definition}} {
		var n int
		switch {
		case l.most == 0:
			continue
		case l.encoding == levelsBitPacked: // by writers of long ago; a damaged one ends too early
			if n = (int(h.values)*bits.Len16(uint16(l.most)) + 7) / 8; n > len(page) {
				return errLevels
			}
		case l.encoding != levelsRLE || len(page) < 4:
			return errLevels
		default:
			size := int64(binary.LittleEndian.Uint32(page))
			page = page[4:]
			if size > int64(len(page)) {
				return errLevels
			}
			n = int(size)
			if err := checkLevels(page[:n], l.most, int(h.values)); err != nil {
				return err
			}
		}
		page = page[n:]
	}
	return nil
}

// checkLevels checks n levels in the hybrid of runs and packed bits: none is above most.
func checkLevels(b []byte, most int16, n int) error {
	if most == 0 {
		return nil
	}
	width := bits.Len16(uint16(most))
	for n > 0 {
		head, k := binary.Uvarint(b)
		if k <= 0 {
			return errLevels
		}
		b = b[k:]
		count := head >> 1
		if head&1 == 0 {
			size := (width + 7) / 8
			if size > len(b) {
				return errLevels
			}
			level := uint16(b[0])
			if size == 2 {
				level |= uint16(b[1]) << 8
			}
			if level > uint16(most) {
				return fmt.Errorf("a level of %d, at most %d in its column", level, most)
			}
			b = b[size:]
		} else {
			size := int(min(count, uint64(len(b)))) * width
			if size = min(size, len(b)); count <= uint64(len(b)) {
				count *= 8
			}
			if err := checkPacked(b[:size], width, most, n); err != nil {
				return err
			}
			b = b[size:]
		}
		n -= int(min(count, uint64(n)))
	}
	return nil
}

// checkPacked checks up to n levels of width bits, the lowest bits of a byte first.
func checkPacked(b []byte, width int, most int16, n int) error {
	if int(most) == 1<<width-1 {
		return nil
	}
	for i := range min(n, len(b)*8/width) {
		level := 0
		for k := range width {
			at := i*width + k
			level |= int(b[at/8]>>(at%8)&1) << k
		}
		if level > int(most) {
			return fmt.Errorf("a level of %d, at most %d in its column", level, most)
		}
	}
	return nil
}
