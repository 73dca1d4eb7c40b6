package codec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow/array"
)

// maxBatch bounds the bytes of one batch of a file.
const maxBatch = 1 << 31

// TableStream reads the batches of an Arrow stream or file one by one, behind the same guard as messages. A file is
// read as the stream that it contains; its footer is not needed.
type TableStream struct {
	r    *bufio.Reader
	in   input
	s    *stream
	file bool // the file format: a footer follows
	bare bool // a stream of before version 0.15, whose messages begin with their length, without a continuation mark
	over bool // the last batch is read, or an error ended it
}

// NewTableStream starts to read r. Its errors, and those of Next, are *MessageError or those of r.
func NewTableStream(r io.Reader) (*TableStream, error) {
	t := &TableStream{r: bufio.NewReaderSize(r, 1<<16)}
	t.in.init(maxBatch/inflation, nil)
	t.in.exact = true
	t.in.account.name = "the bound of a batch of a file"
	if b, err := t.r.Peek(8); err == nil && string(b[:6]) == "ARROW1" {
		if _, err := t.r.Discard(8); err != nil {
			return nil, err
		}
		t.file = true
	}
	f, ok, err := t.frame(true)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, dead(ReasonEmpty, "no schema")
	}
	if err := t.in.guarded(func() (e *MessageError) {
		t.s, e = t.in.stream(f)
		t.in.values = map[int64]*array.Data{}
		return e
	}); err != nil {
		return nil, err
	}
	return t, nil
}

// frame reads the next frame; ok is false at the end mark, which may be absent where the input ends.
func (t *TableStream) frame(first bool) (f frame, ok bool, err error) {
	size, ok, err := t.prefix(first)
	if err != nil || !ok {
		return f, false, err
	}
	if f.meta, err = readN(t.r, size); err != nil {
		return f, false, err
	}
	length, merr := f.parse(len(f.meta))
	if merr == nil && !verified(f.meta, shapeMessage) {
		merr = dead(ReasonDamaged, "metadata of a message")
	}
	if merr != nil && first && t.bare { // else any text would be a damaged stream
		merr = noStream(binary.LittleEndian.AppendUint32(nil, uint32(size)))
	}
	if merr != nil {
		return f, false, merr
	}
	if first != (f.kind == headerSchema) {
		return f, false, dead(ReasonDamaged, "a message of kind %d; one schema comes first", f.kind)
	}
	f.body, err = readN(t.r, length)
	return f, err == nil, err
}

// prefix reads the length of the next metadata; ok is false at the end mark, and at the footer of a file.
func (t *TableStream) prefix(first bool) (size int64, ok bool, err error) {
	var head [4]byte
	n, err := io.ReadFull(t.r, head[:])
	if n == 0 && errors.Is(err, io.EOF) {
		if first {
			return 0, false, dead(ReasonEmpty, "no bytes")
		}
		return 0, false, dead(ReasonTruncated, "ends without an end mark")
	}
	marked := binary.LittleEndian.Uint32(head[:]) == continuation && !t.bare
	if err == nil && marked {
		_, err = io.ReadFull(t.r, head[:])
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, false, dead(ReasonTruncated, "ends inside a message")
	}
	if err != nil {
		return 0, false, err
	}
	size = int64(binary.LittleEndian.Uint32(head[:]))
	switch {
	case marked && size == 0 && t.file:
		return 0, false, t.footer(nil)
	case marked, t.bare:
	case first && !t.file && size > 0 && size <= maxFooter:
		t.bare = true
	case first:
		return 0, false, noStream(head[:])
	case t.file:
		// Go's writer of files puts no end mark before the footer.
		return 0, false, t.footer(head[:])
	default:
		return 0, false, dead(ReasonDamaged, "no message where one should start")
	}
	return size, size > 0, nil
}

func noStream(head []byte) *MessageError {
	return dead(ReasonNotArrow, "the first bytes are % x, an Arrow stream starts with ff ff ff ff", head)
}

// maxFooter bounds the footer of a file.
const maxFooter = 1 << 26

// footer reads the rest of a file, of which head was read, and checks that it is a whole footer.
func (t *TableStream) footer(head []byte) error {
	rest, err := io.ReadAll(io.LimitReader(t.r, maxFooter))
	if err != nil {
		return err
	}
	rest = append(head, rest...)
	n := len(rest) - 10
	if n < 0 || string(rest[n+4:]) != "ARROW1" || int64(binary.LittleEndian.Uint32(rest[n:])) != int64(n) {
		return dead(ReasonTruncated, "ends without a whole footer")
	}
	return nil
}

// readN reads n bytes in steps, so that a damaged length costs no more memory than the bytes that are there.
func readN(r io.Reader, n int64) ([]byte, error) {
	if n > maxBatch {
		return nil, dead(ReasonTooLarge, "a batch of %d bytes", n)
	}
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for int64(len(b)) < n {
		k := len(b)
		b = append(b, make([]byte, min(n-int64(k), step))...)
		if _, err := io.ReadFull(r, b[k:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, dead(ReasonTruncated, "ends inside a batch")
			}
			return nil, err
		}
	}
	return b, nil
}

// Next returns the next batch, io.EOF after the last. Tables stay valid.
func (t *TableStream) Next() (*Table, error) {
	if t.over {
		return nil, io.EOF
	}
	table, err := t.next()
	t.over = err != nil
	return table, err
}

func (t *TableStream) next() (*Table, error) {
	for {
		f, ok, err := t.frame(false)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, io.EOF
		}
		var table *Table
		if err := t.in.guarded(func() *MessageError {
			t.in.account.begin(nil)
			rec, err := t.in.batchOf(t.s, &f)
			if rec != nil {
				table = &Table{rec: rec}
			}
			return err
		}); err != nil {
			return nil, err
		}
		if table != nil {
			return table, nil
		}
	}
}

// Names returns the names of the columns, in order.
func (t *TableStream) Names() []string {
	var names []string
	for _, f := range t.s.schema.Fields() {
		names = append(names, f.Name)
	}
	return names
}
