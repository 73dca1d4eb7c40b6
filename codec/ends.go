package codec

import (
	"errors"
	"io"
)

var errLonger = errors.New("it unpacks to more bytes than announced")

// readWhole fills dst from r, which must end there: its last bytes can hold a checksum.
func readWhole(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); {
	case err == nil:
		return errLonger
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// SameSchema reports whether both streams have the same columns of the same types.
func (t *TableStream) SameSchema(o *TableStream) bool { return t.s.schema.Equal(o.s.schema) }

// Widened reports whether a column has a type that Arrow's library does not know, and is read as a wider one.
func (t *TableStream) Widened() bool { return t.s.widened }
