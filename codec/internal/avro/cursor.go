package avro

import (
	"encoding/binary"
	"errors"
	"math"
)

// Errors of a Cursor.
var (
	// ErrShort is returned when a value goes on beyond the end of the bytes.
	ErrShort = errors.New("the bytes end inside a value")
	// ErrDamaged is returned when bytes are no value of their type.
	ErrDamaged = errors.New("the bytes are no value of the type")
	// ErrWork is returned when the types ask for too many steps, or lie too deep in each other.
	ErrWork = errors.New("its values are too many or too deep")
)

// levels bounds how deep values lie in each other.
const levels = 64

// Cursor walks the bytes of a datum. The work on it is bounded by their number.
type Cursor struct {
	b    []byte
	work int // steps left
}

// NewCursor returns a cursor at the beginning of b, which it keeps.
func NewCursor(b []byte) *Cursor { return &Cursor{b, 1<<16 + 4*len(b)} }

// Left is the number of bytes behind the cursor.
func (c *Cursor) Left() int { return len(c.b) }

func (c *Cursor) take(n int64) ([]byte, error) {
	if n < 0 {
		return nil, ErrDamaged
	}
	if n > int64(len(c.b)) {
		return nil, ErrShort
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out, nil
}

// Long reads a long, an int, the number of a branch or symbol, or a count.
func (c *Cursor) Long() (int64, error) {
	v, n := binary.Varint(c.b)
	switch {
	case n == 0:
		return 0, ErrShort
	case n < 0:
		return 0, ErrDamaged
	}
	c.b = c.b[n:]
	return v, nil
}

// Int reads an int.
func (c *Cursor) Int() (int32, error) {
	v, err := c.Long()
	if err == nil && int64(int32(v)) != v {
		err = ErrDamaged
	}
	return int32(v), err
}

// Index reads the number of one of n branches or symbols.
func (c *Cursor) Index(n int) (int, error) {
	v, err := c.Long()
	if err == nil && (v < 0 || v >= int64(n)) {
		err = ErrDamaged
	}
	return int(v), err
}

// Boolean reads a boolean.
func (c *Cursor) Boolean() (bool, error) {
	b, err := c.take(1)
	if err == nil && b[0] > 1 {
		err = ErrDamaged
	}
	return err == nil && b[0] == 1, err
}

// Float reads a float.
func (c *Cursor) Float() (float32, error) {
	b, err := c.take(4)
	if err != nil {
		return 0, err
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
}

// Double reads a double.
func (c *Cursor) Double() (float64, error) {
	b, err := c.take(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// Bytes reads a string, bytes or a fixed of type t. They alias the bytes of the cursor.
func (c *Cursor) Bytes(t *Type) ([]byte, error) {
	if t.Kind == Fixed {
		return c.take(int64(t.Size))
	}
	n, err := c.Long()
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

// Skip passes over a value of type t.
func (c *Cursor) Skip(t *Type) error { return c.skip(t, 0) }

// Step counts a value that lies so deep in others. It returns ErrWork where there were too many, or it is too deep.
func (c *Cursor) Step(depth int) error {
	if c.work--; c.work < 0 || depth > levels {
		return ErrWork
	}
	return nil
}

// Block reads the beginning of a block of an array or a map: the number of its items, 0 at the end of them.
func (c *Cursor) Block() (n int64, err error) {
	if n, err = c.Long(); err != nil || n >= 0 {
		return n, err
	}
	if n == math.MinInt64 {
		return 0, ErrDamaged
	}
	_, err = c.Long() // its bytes, for readers who pass over it
	return -n, err
}

func (c *Cursor) skip(t *Type, depth int) error {
	if err := c.Step(depth); err != nil {
		return err
	}
	var err error
	switch t.Kind {
	case Null:
	case Boolean:
		_, err = c.Boolean()
	case Int, Long:
		_, err = c.Long()
	case Float:
		_, err = c.take(4)
	case Double:
		_, err = c.take(8)
	case Bytes, String, Fixed:
		_, err = c.Bytes(t)
	case Enum:
		_, err = c.Index(len(t.Symbols))
	case Array, Map:
		err = c.skipBlocks(t, depth)
	case Record:
		for i := range t.Fields {
			if err = c.skip(t.Fields[i].Type, depth+1); err != nil {
				break
			}
		}
	case Union:
		var i int
		if i, err = c.Index(len(t.Branches)); err == nil {
			err = c.skip(t.Branches[i], depth+1)
		}
	}
	return err
}

// skipBlocks passes over the blocks of an array or a map. A block of a negative count says how many bytes it has.
func (c *Cursor) skipBlocks(t *Type, depth int) error {
	for {
		n, err := c.Long()
		if err != nil || n == 0 {
			return err
		}
		if n < 0 {
			size, err := c.Long()
			if err == nil {
				_, err = c.take(size)
			}
			if err != nil {
				return err
			}
			continue
		}
		for ; n > 0; n-- {
			left := len(c.b)
			if t.Kind == Map {
				if _, err := c.Bytes(&Type{Kind: String}); err != nil {
					return err
				}
			}
			if err := c.skip(t.Items, depth+1); err != nil {
				return err
			}
			if len(c.b) == left {
				break // so are all others of the block: they have no bytes
			}
		}
	}
}
