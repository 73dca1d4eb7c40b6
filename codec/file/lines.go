package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	maxLine  = 64 << 20 // bytes of one record of a text file
	maxTable = 32 << 20 // bytes of a text file after which a table ends early
)

// lines cuts a stream into lines, in a buffer that grows to the longest.
type lines struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	eof    bool
	err    error
	line   int64 // number of the last line returned
	read   int64 // bytes returned
}

const lineRoom = 1 << 18 // bytes of the buffer for lines at first

func newLines(r io.Reader, room int) *lines { return &lines{r: utf8Of(r), buf: make([]byte, room)} }

// next returns the next line with its end; io.EOF after the last. It aliases the buffer until the next call.
func (l *lines) next() ([]byte, error) {
	b, err := l.peek()
	if err != nil {
		return nil, err
	}
	l.line++
	l.take(len(b))
	return b, nil
}

// peek returns the next line and leaves it there.
func (l *lines) peek() ([]byte, error) {
	from := l.lo
	for {
		if i := bytes.IndexByte(l.buf[from:l.hi], '\n'); i >= 0 {
			end := from + i + 1
			return l.buf[l.lo:end:end], nil
		}
		if l.eof {
			if l.err != nil {
				return nil, l.failed()
			}
			if l.lo == l.hi {
				return nil, io.EOF
			}
			return l.buf[l.lo:l.hi:l.hi], nil
		}
		seen := l.hi - l.lo
		if err := l.fill(); err != nil {
			return nil, err
		}
		from = l.lo + seen
	}
}

func (l *lines) take(n int) {
	l.lo += n
	l.read += int64(n)
}

// at returns byte i behind the taken bytes; ok is false at the end of the stream.
func (l *lines) at(i int) (c byte, ok bool, err error) {
	for l.lo+i >= l.hi {
		if l.eof {
			return 0, false, l.failed()
		}
		if err := l.fill(); err != nil {
			return 0, false, err
		}
	}
	return l.buf[l.lo+i], true, nil
}

// failed is the error that ended the stream, with its line; nil at its end.
func (l *lines) failed() error {
	var e *Error
	if errors.As(l.err, &e) {
		e.Line = l.line + 1
	}
	return l.err
}

// fill reads more behind the bytes in the buffer.
func (l *lines) fill() error {
	if l.lo > 0 {
		l.hi = copy(l.buf, l.buf[l.lo:l.hi])
		l.lo = 0
	}
	if l.hi == len(l.buf) {
		if len(l.buf) >= maxLine {
			return &Error{Line: l.line + 1, Err: fmt.Errorf("a record of more than %d bytes", maxLine),
				Remedy: "look for a quote that is never closed"}
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.hi:])
		l.hi += n
		if err != nil {
			l.eof = true
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
			return nil
		}
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}
