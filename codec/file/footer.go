package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"liftstream/codec"
)

// An Arrow file has a footer that says where its schema, dictionaries and batches lie. Polars writes the schema there
// only, so the parts are read in the order of the footer and given to the reader of streams, which guards them all.

const (
	arrowMagic   = "ARROW1"
	maxFooter    = 1 << 26
	maxBlocks    = 1 << 20
	continuation = 0xFFFFFFFF
	padding      = 128 // bytes that writers may leave between parts
)

var errFooter = errors.New("its footer contradicts itself")

// block is a part of an Arrow file: metadata with its prefix, then a body.
type block struct{ from, meta, body int64 }

// footerOf returns the parts of an Arrow file as a stream, which data reads, and the bytes that are in none of them.
// ok is false where f is no Arrow file.
func footerOf(f, data io.ReaderAt, size int64) (stream io.Reader, rest int64, ok bool, err error) {
	var head [8]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:6]) != arrowMagic {
		return nil, 0, false, nil
	}
	var end [10]byte
	if size < 8+10 {
		return nil, 0, true, errors.New("it ends without a footer")
	}
	if _, err := f.ReadAt(end[:], size-10); err != nil {
		return nil, 0, true, err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != arrowMagic || n == 0 {
		return nil, 0, true, errors.New("it ends without a footer")
	}
	if n > size-8-10 || n > maxFooter {
		return nil, 0, true, fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-10-n); err != nil {
		return nil, 0, true, err
	}
	w := footerWalk{b: footer}
	schema, dictionaries, batches := w.walk()
	if w.bad || !codec.VerifiedFooter(footer) {
		return nil, 0, true, errFooter
	}
	if err := tiled(append(slices.Clone(dictionaries), batches...), size-10-n); err != nil {
		return nil, 0, true, err
	}
	rest = size
	blocks := append(dictionaries, batches...)
	version := w.version
	if len(blocks) > 0 {
		if version, err = versionOf(f, blocks[0]); err != nil {
			return nil, 0, true, err
		}
	}
	parts := []io.Reader{bytes.NewReader(schemaMessage(footer, schema, version))}
	for _, b := range blocks {
		frame, n, err := frameOf(f, data, b)
		if err != nil {
			return nil, 0, true, err
		}
		rest -= n
		parts = append(parts, frame)
	}
	return io.MultiReader(append(parts, bytes.NewReader([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}))...), rest, true, nil
}

// tiled checks that the blocks lie one behind the other up to the footer: one that is missing there would be rows that
// are missing here.
func tiled(blocks []block, end int64) error {
	slices.SortFunc(blocks, func(a, b block) int { return int(min(max(a.from-b.from, -1), 1)) })
	at := int64(-1)
	for _, b := range blocks {
		if b.from < 8 || b.meta < 8 || b.body < 0 || b.meta > end-b.from || b.body > end-b.from-b.meta {
			return fmt.Errorf("a batch of %d bytes at byte %d lies outside the file", b.meta+b.body, b.from)
		}
		if at >= 0 && (b.from < at || b.from-at > padding) {
			return fmt.Errorf("%d bytes at byte %d that the footer does not name", b.from-at, at)
		}
		at = b.from + b.meta + b.body
	}
	if at >= 0 && end-at > padding {
		return fmt.Errorf("%d bytes at byte %d that the footer does not name", end-at, at)
	}
	return nil
}

// metaOf returns the length of the metadata of a block, and that of the prefix in front of it: files before version
// 0.15 have no continuation mark.
func metaOf(f io.ReaderAt, b block) (n, prefix int64, err error) {
	var head [8]byte
	if _, err := f.ReadAt(head[:], b.from); err != nil {
		return 0, 0, noEOF(err)
	}
	n, prefix = int64(binary.LittleEndian.Uint32(head[:])), int64(4)
	if n == continuation {
		n, prefix = int64(binary.LittleEndian.Uint32(head[4:])), 8
	}
	if n == 0 || n > b.meta-prefix {
		return 0, 0, fmt.Errorf("metadata of %d bytes at byte %d, the footer says %d", n, b.from, b.meta)
	}
	return n, prefix, nil
}

// versionOf reads the metadata version of a block. That of the footer may be another one: Arrow's library for C++
// writes V5 there, also where it writes messages of V4.
func versionOf(f io.ReaderAt, b block) (uint16, error) {
	n, prefix, err := metaOf(f, b)
	if err != nil {
		return 0, err
	}
	meta := make([]byte, min(n, maxFooter))
	if _, err := f.ReadAt(meta, b.from+prefix); err != nil {
		return 0, noEOF(err)
	}
	w := footerWalk{b: meta}
	version := 0
	if at := w.field(w.u32(0), 0); at != 0 {
		version = w.u16(at)
	}
	if w.bad {
		return 0, fmt.Errorf("damaged metadata at byte %d", b.from)
	}
	return uint16(version), nil
}

// frameOf is a block as a message of a stream, of which so many bytes are read from data.
func frameOf(f, data io.ReaderAt, b block) (frame io.Reader, read int64, err error) {
	n, prefix, err := metaOf(f, b)
	if err != nil {
		return nil, 0, err
	}
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], continuation)
	binary.LittleEndian.PutUint32(head[4:], uint32(n))
	return io.MultiReader(bytes.NewReader(head[:]), io.NewSectionReader(data, b.from+prefix, n),
		io.NewSectionReader(data, b.from+b.meta, b.body)), n + b.body, nil
}

// schemaMessage wraps the schema of a footer, whose table begins at byte schema, as the metadata of a message, with its
// prefix. References of a flatbuffer are relative, so the footer is copied whole behind the new root.
func schemaMessage(footer []byte, schema int, version uint16) []byte {
	const root = 40
	m := make([]byte, 8, 8+root+len(footer)+8)
	le := binary.LittleEndian
	m = le.AppendUint32(m, 16)                        // the table of the message
	for _, v := range []uint16{12, 24, 4, 6, 8, 16} { // its fields: version, kind, schema, length of the body
		m = le.AppendUint16(m, v)
	}
	m = le.AppendUint32(m, 12) // back to the list of fields
	m = le.AppendUint16(m, version)
	m = append(m, 1, 0) // a schema
	m = le.AppendUint32(m, uint32(root+schema-24))
	m = le.AppendUint32(m, 0)
	m = le.AppendUint64(m, 0)
	m = append(m, footer...)
	for len(m)%8 != 0 {
		m = append(m, 0)
	}
	le.PutUint32(m, continuation)
	le.PutUint32(m[4:], uint32(len(m)-8))
	return m
}

// footerWalk reads the flatbuffer of a footer, or of a message. A reference that leads outside makes it bad.
type footerWalk struct {
	b       []byte
	bad     bool
	version uint16
}

func (w *footerWalk) u32(at int) int {
	if at < 0 || at+4 > len(w.b) {
		w.bad = true
		return 0
	}
	return int(binary.LittleEndian.Uint32(w.b[at:]))
}

func (w *footerWalk) i64(at int) int64 {
	if at < 0 || at+8 > len(w.b) {
		w.bad = true
		return 0
	}
	return int64(binary.LittleEndian.Uint64(w.b[at:]))
}

func (w *footerWalk) u16(at int) int {
	if at < 0 || at+2 > len(w.b) {
		w.bad = true
		return 0
	}
	return int(binary.LittleEndian.Uint16(w.b[at:]))
}

// field returns where field k of a table lies, 0 where it is absent.
func (w *footerWalk) field(table, k int) int {
	list := table - int(int32(w.u32(table)))
	if n := w.u16(list); 4+2*k+2 > n {
		return 0
	}
	if off := w.u16(list + 4 + 2*k); off != 0 {
		return table + off
	}
	return 0
}

// ref follows the reference at a place.
func (w *footerWalk) ref(at int) int {
	if at == 0 {
		return 0
	}
	return at + w.u32(at)
}

func (w *footerWalk) walk() (schema int, dictionaries, batches []block) {
	root := w.u32(0)
	if at := w.field(root, 0); at != 0 {
		w.version = uint16(w.u16(at))
	}
	if schema = w.ref(w.field(root, 1)); schema == 0 || schema+4 > len(w.b) {
		w.bad = true
		return 0, nil, nil
	}
	return schema, w.blocks(w.field(root, 2)), w.blocks(w.field(root, 3))
}

func (w *footerWalk) blocks(at int) []block {
	if at == 0 {
		return nil
	}
	list := w.ref(at)
	n := w.u32(list)
	if n < 0 || n > maxBlocks || n > (len(w.b)-list)/24 {
		w.bad = true
		return nil
	}
	out := make([]block, n)
	for i := range out {
		p := list + 4 + 24*i
		out[i] = block{w.i64(p), int64(int32(w.u32(p + 8))), w.i64(p + 16)}
	}
	return out
}
