package avro

import (
	"encoding/binary"
	"errors"
	"testing"
)

// TestListsOfNothingArePassedOver however many values they have: a null takes no byte, and no work. One whose values
// take bytes ends where these do.
func TestListsOfNothingArePassedOver(t *testing.T) {
	list := func(counts ...int64) (b []byte) {
		for _, n := range counts {
			b = binary.AppendVarint(b, n)
		}
		return b
	}
	const before, behind = `{"type":"record","name":"T","fields":[{"name":"a","type":{"type":"array","items":`, `}}]}`
	for _, c := range []struct {
		items string
		bytes []byte
		left  int // bytes behind the list
		want  error
	}{
		{`"null"`, list(1<<40, 0), 0, nil},
		{`"null"`, append(list(3, 1<<50, 2, 0), 7, 7), 2, nil},
		{`{"type":"record","name":"R","fields":[]}`, list(1<<40, 0), 0, nil},
		{`["null","long"]`, list(2, 0, 1, 5, 0), 0, nil},
		{`["null","long"]`, list(1<<40, 0, 0), 0, ErrShort},
		{`"long"`, list(2, 1, 300, 0), 0, nil},
	} {
		typ, err := Parse(before + c.items + behind)
		if err != nil {
			t.Fatal(err)
		}
		x := NewCursor(c.bytes)
		if err := x.Skip(typ); !errors.Is(err, c.want) || err == nil && x.Left() != c.left {
			t.Errorf("% x of %s: %v, %d bytes left; want %v and %d", c.bytes, c.items, err, x.Left(), c.want, c.left)
		}
	}
}
