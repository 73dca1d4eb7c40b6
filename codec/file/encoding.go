package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf8Of gives the text of r as UTF-8 without its byte order mark. UTF-16 is known by its mark, or by its zero bytes.
// Other text passes as it is.
func utf8Of(r io.Reader) io.Reader {
	head := make([]byte, 1<<12)
	n, rest := 0, r
	for n < len(head) {
		k, err := r.Read(head[n:])
		n += k
		if err != nil {
			rest = ended{err}
			break
		}
	}
	head = head[:n]
	order, mark := encodingOf(head)
	all := io.MultiReader(bytes.NewReader(head[mark:]), rest)
	if order == nil {
		return all
	}
	return &wide{r: all, order: order}
}

// ended is a reader at its end, or at the error that ended it.
type ended struct{ err error }

func (e ended) Read([]byte) (int, error) { return 0, e.err }

// encodingOf tells the byte order of UTF-16, nil for all else, and the length of the mark.
func encodingOf(head []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		return nil, 3
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return binary.BigEndian, 2
	}
	// The header of a table is mostly ASCII, of which UTF-16 has every other byte zero.
	zeros := [2]int{}
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch pairs := len(head) / 2; {
	case pairs == 0:
	case zeros[1]*10 > pairs*4 && zeros[0]*20 < pairs:
		return binary.LittleEndian, 0
	case zeros[0]*10 > pairs*4 && zeros[1]*20 < pairs:
		return binary.BigEndian, 0
	}
	return nil, 0
}

// wide turns UTF-16 into UTF-8.
type wide struct {
	r     io.Reader
	order binary.ByteOrder
	in    [1 << 13]byte
	n     int    // bytes in in that wait for more
	out   []byte // text that waits to be read
	buf   []byte
	err   error
}

func half() error {
	return &Error{Err: errors.New("not UTF-16: half a character"),
		Remedy: "the file is damaged or cut short; fetch it again, or save it as UTF-8"}
}

// Read implements io.Reader.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		w.fill()
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

func (w *wide) fill() {
	k, err := w.r.Read(w.in[w.n:])
	w.n += k
	w.err = err
	w.buf = w.buf[:0]
	at := 0
	for ; at+2 <= w.n; at += 2 {
		u := rune(w.order.Uint16(w.in[at:]))
		if utf16.IsSurrogate(u) {
			if at+4 > w.n {
				break
			}
			if u = utf16.DecodeRune(u, rune(w.order.Uint16(w.in[at+2:]))); u == utf8.RuneError {
				w.err = half()
				break
			}
			at += 2
		}
		w.buf = utf8.AppendRune(w.buf, u)
	}
	w.n = copy(w.in[:], w.in[at:w.n])
	w.out = w.buf
	if w.n > 0 && errors.Is(w.err, io.EOF) {
		w.err = half()
	}
}
