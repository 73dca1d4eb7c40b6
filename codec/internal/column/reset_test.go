package column

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// TestAColumnIsThatOfItsLastBatch: after batches of any length and any nulls, each builder holds the same as a new one.
func TestAColumnIsThatOfItsLastBatch(t *testing.T) {
	var num, fresh Fixed[int64]
	var text, freshText Text
	var list, freshList List
	whole := arrow.PrimitiveTypes.Int64
	for round, c := range []struct{ n, null int }{{20, 3}, {5, 0}, {9, 1}, {0, 0}, {17, 2}, {8, 0}, {1, 1}} {
		fresh, freshText, freshList = Fixed[int64]{}, Text{}, List{}
		freshText.Reset()
		freshList.Reset()
		num.Reset()
		text.Reset()
		list.Reset()
		nulls := 0
		for i := range c.n {
			ok := c.null == 0 || i%c.null != 0
			if !ok {
				nulls++
			}
			for _, x := range []*Fixed[int64]{&num, &fresh} {
				x.Add(int64(i*round), ok)
			}
			for _, x := range []*Text{&text, &freshText} {
				if ok {
					x.Add(fmt.Sprint(round, i))
				} else {
					x.Null()
				}
				if got := string(x.Value(i)); ok && got != fmt.Sprint(round, i) || !ok && got != "" {
					t.Fatalf("round %d: text %d is %q", round, i, got)
				}
			}
			for _, x := range []*List{&list, &freshList} {
				x.End(i+1, ok)
			}
		}
		for _, pair := range [][2]arrow.ArrayData{
			{num.Data(whole), fresh.Data(whole)},
			{text.Data(arrow.BinaryTypes.String), freshText.Data(arrow.BinaryTypes.String)},
			{list.Data(arrow.ListOf(whole), num.Data(whole)), freshList.Data(arrow.ListOf(whole), fresh.Data(whole))},
		} {
			got, want := array.MakeFromData(pair[0]), array.MakeFromData(pair[1])
			if !array.Equal(got, want) || got.NullN() != nulls || got.Len() != c.n || got.String() != want.String() {
				t.Errorf("round %d: %d nulls of %d, %s; want %d of %d, %s", round, got.NullN(), got.Len(), got, nulls, c.n, want)
			}
		}
		if num.Nulls() != nulls || text.Nulls() != nulls || list.Nulls() != nulls || num.Len() != c.n ||
			text.Len() != c.n || list.Len() != c.n {
			t.Errorf("round %d: %d, %d and %d nulls, want %d", round, num.Nulls(), text.Nulls(), list.Nulls(), nulls)
		}
	}
}
