package column

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// TestColumns builds columns twice in the same buffers.
func TestColumns(t *testing.T) {
	var num Fixed[int64]
	var text Text
	var list List
	for round := range 2 {
		num.Reset()
		text.Reset()
		list.Reset()
		for i := range 20 {
			ok := (i+round)%3 != 0
			num.Add(int64(i), ok)
			if ok {
				text.Add(string(rune('a' + i)))
			} else {
				text.Null()
			}
			list.End(i+1, ok)
		}
		n := array.MakeFromData(num.Data(arrow.PrimitiveTypes.Int64)).(*array.Int64)
		s := array.MakeFromData(text.Data(arrow.BinaryTypes.String)).(*array.String)
		whole := arrow.PrimitiveTypes.Int64
		l := array.MakeFromData(list.Data(arrow.ListOf(whole), num.Data(whole))).(*array.List)
		for i := range 20 {
			ok := (i+round)%3 != 0
			if n.IsValid(i) != ok || s.IsValid(i) != ok || l.IsValid(i) != ok || num.Valid(i) != ok {
				t.Fatalf("round %d: entry %d is wrongly null", round, i)
			}
			lo, hi := l.ValueOffsets(i)
			if n.Value(i) != int64(i) || ok && s.Value(i) != string(rune('a'+i)) || lo != int64(i) || hi != lo+1 {
				t.Fatalf("round %d: entry %d: %d %q %d %d", round, i, n.Value(i), s.Value(i), lo, hi)
			}
		}
		if n.NullN() != num.Nulls() || num.Len() != 20 {
			t.Errorf("round %d: %d nulls of %d", round, num.Nulls(), num.Len())
		}
	}
	num.Reset()
	if a := array.MakeFromData(num.Data(arrow.PrimitiveTypes.Int64)); a.Len() != 0 {
		t.Error(a)
	}
}
