package codec

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Carry holds the columns of an input that the scores hand on, in the Arrow types of the input: id, time, features. It
// belongs to the caller; Decode replaces its content, which stays valid until then.
type Carry struct {
	recs []arrow.Record
	rows int
	bad  []int32 // rows left out, ascending, counted over recs from 0
	plan *plan
}

// Leave leaves more rows out, of the batch that Decode has filled with c: ascending, counted as model.Batch.Row is.
func (c *Carry) Leave(rows []int32) {
	c.rows -= len(rows)
	c.bad = append(c.bad, rows...)
	slices.Sort(c.bad)
}

// column returns the values of a column for the rows that are in the batch, in the type of the input, but plain where
// the dictionaries of several batches do not fit together.
func (c *Carry) column(i int) (arrow.Array, error) {
	if len(c.recs) == 1 && len(c.bad) == 0 {
		return rebased(c.recs[0].Column(i)), nil
	}
	var parts []arrow.Array
	base, bad := int64(0), c.bad
	for _, rec := range c.recs {
		col, from := rec.Column(i), int64(0)
		for ; len(bad) > 0 && int64(bad[0]) < base+rec.NumRows(); bad = bad[1:] {
			if at := int64(bad[0]) - base; at > from {
				parts = append(parts, array.NewSlice(col, from, at))
			}
			from = int64(bad[0]) - base + 1
		}
		if from < rec.NumRows() {
			parts = append(parts, array.NewSlice(col, from, rec.NumRows()))
		}
		base += rec.NumRows()
	}
	if len(parts) == 0 {
		return array.NewSlice(c.recs[0].Column(i), 0, 0), nil
	}
	whole, err := array.Concatenate(parts, memory.DefaultAllocator)
	if _, ok := parts[0].(*array.Dictionary); ok && err != nil {
		return plain(parts)
	}
	return whole, err
}
