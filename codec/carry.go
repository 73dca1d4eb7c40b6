package codec

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Carry holds the columns of an input that the scores hand on, in the Arrow types of the input: id, time, features. It
// belongs to the caller; Decode replaces its content, which stays valid until then.
type Carry struct {
	recs    []arrow.Record
	rows    int
	bad     []int32 // rows left out, ascending, counted over recs from 0
	plan    *plan
	derived []arrow.Array         // by feature, of all rows: those of derived features, nil else
	text    map[int][]arrow.Array // columns whose texts were not all UTF-8, made so: an array for each of recs
}

// Release lets go of the columns.
func (c *Carry) Release() {
	clear(c.recs)
	c.recs, c.text, c.derived, c.rows = c.recs[:0], nil, nil, 0
}

// part returns column i of record r.
func (c *Carry) part(r, i int) arrow.Array {
	if made := c.text[i]; made != nil {
		return made[r]
	}
	return c.recs[r].Column(i)
}

// prepare readies the columns that scores may hand on: no byte leaves the stage as text that is none, and the memory
// for copies is taken while the message can still be refused.
func (c *Carry) prepare(o *Options, a *account) *MessageError {
	c.text = nil
	columns := []int{c.plan.id, c.plan.time}
	if o.Features != FeaturesNone {
		columns = append(columns, c.plan.features...)
	}
	for _, i := range columns {
		if i < 0 {
			continue
		}
		if len(c.recs) > 0 && textual(c.recs[0].Column(i).DataType()) {
			c.repair(a, i)
		}
		if len(c.recs) > 1 || len(c.bad) > 0 || o.Dedup {
			a.take(c.copied(i))
		}
		if !a.running() {
			return a.refusal()
		}
	}
	return nil
}

// repair makes the texts of a column UTF-8, as the levels of features are.
func (c *Carry) repair(memory *account, i int) {
	var made []arrow.Array
	var of, done arrow.ArrayData // the last dictionary, and its repaired form
	for r, rec := range c.recs {
		a := rec.Column(i)
		values := a
		dict, is := a.(*array.Dictionary)
		if is {
			values = dict.Dictionary()
		}
		fixed := values
		if is && values.Data() == of {
			fixed = array.MakeFromData(done)
		} else if !isText(values) {
			if !memory.take(3*textSize(values) + 32*int64(values.Len())) {
				return
			}
			fixed = validText(values)
		}
		of, done = values.Data(), fixed.Data()
		if fixed == values {
			if made != nil {
				made[r] = a
			}
			continue
		}
		if made == nil {
			made = make([]arrow.Array, len(c.recs))
			for k := range r {
				made[k] = c.recs[k].Column(i)
			}
		}
		made[r] = fixed
		if is {
			x := dict.Data()
			made[r] = array.MakeFromData(array.NewDataWithDictionary(x.DataType(), x.Len(), x.Buffers(), x.NullN(), x.Offset(),
				fixed.Data().(*array.Data)))
		}
	}
	if made != nil {
		if c.text == nil {
			c.text = map[int][]arrow.Array{}
		}
		c.text[i] = made
	}
}

func isText(a arrow.Array) bool {
	if _, ok := a.DataType().(arrow.BinaryDataType); !ok {
		return true // numbers
	}
	for k := range a.Len() {
		if t, ok := rawText(a, k); ok && !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

// textSize is the length of all texts of a column together.
func textSize(a arrow.Array) (n int64) {
	for k := range a.Len() {
		t, _ := rawText(a, k)
		n += int64(len(t))
	}
	return n
}

// validText returns the texts of a with U+FFFD in place of bytes that are not UTF-8.
func validText(a arrow.Array) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, a.DataType()).(array.StringLikeBuilder)
	b.Reserve(a.Len())
	for k := range a.Len() {
		if t, ok := rawText(a, k); ok {
			b.Append(strings.ToValidUTF8(t, "\uFFFD"))
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// plainCost is the memory for a row of a column that becomes plain: each may become an array of its own on the way.
const plainCost = 700

// copied is the memory that column takes for a column of several parts.
func (c *Carry) copied(i int) (n int64) {
	values, most := int64(0), int64(1)<<62
	var of arrow.ArrayData
	for r := range c.recs {
		a := c.part(r, i)
		n += dataSize(a.Data())
		dict, ok := a.(*array.Dictionary)
		if !ok || dict.Dictionary().Data() == of {
			continue
		}
		of = dict.Dictionary().Data()
		values += int64(of.Len())
		n += dataSize(of) + 64*int64(of.Len())
		most = 1<<(dict.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).BitWidth()-1) - 1
	}
	if values <= most {
		return n
	}
	for r := range c.recs { // the values may not fit the indices together: see plain
		if dict, ok := c.part(r, i).(*array.Dictionary); ok {
			n += plainCost*int64(dict.Len()) + textSize(dict)
		}
	}
	return n
}

// Leave leaves more rows out, of the batch that Decode has filled with c: ascending, counted as model.Batch.Row is.
func (c *Carry) Leave(rows []int32) {
	c.rows -= len(rows)
	c.bad = append(c.bad, rows...)
	slices.Sort(c.bad)
}

// column returns the values of a column for the rows that are in the batch, in the type of the input, but plain where
// the dictionaries of several batches do not fit together. Column -1 has no value in any row.
func (c *Carry) column(i int) (arrow.Array, error) {
	if i < 0 {
		return array.NewNull(c.rows), nil
	}
	if len(c.recs) == 1 && len(c.bad) == 0 {
		return rebased(c.part(0, i)), nil
	}
	var parts []arrow.Array
	base, bad := int64(0), c.bad
	for r, rec := range c.recs {
		col, from := c.part(r, i), int64(0)
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
		return array.NewSlice(c.part(0, i), 0, 0), nil
	}
	if _, ok := parts[0].(*array.Dictionary); ok {
		return joined(parts)
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}

// joined concatenates dictionary arrays. Arrow looks at the dictionary of every part, value by value, which takes for
// ever where many parts have a large one; so parts of one dictionary become one first.
func joined(parts []arrow.Array) (arrow.Array, error) {
	var whole []arrow.Array
	for len(parts) > 0 {
		first, n := parts[0].(*array.Dictionary), 1
		for n < len(parts) && parts[n].(*array.Dictionary).Dictionary().Data() == first.Dictionary().Data() {
			n++
		}
		one, err := joinedIndices(first, parts[:n])
		if err != nil {
			return nil, err
		}
		whole, parts = append(whole, one), parts[n:]
	}
	if len(whole) == 1 {
		return whole[0], nil
	}
	out, err := array.Concatenate(whole, memory.DefaultAllocator)
	if err != nil {
		return plain(whole)
	}
	return out, nil
}

// joinedIndices concatenates arrays of one dictionary, which is that of first.
func joinedIndices(first *array.Dictionary, parts []arrow.Array) (arrow.Array, error) {
	t := first.DataType().(*arrow.DictionaryType)
	indices := make([]arrow.Array, len(parts))
	for k, p := range parts {
		x := p.Data()
		indices[k] = array.MakeFromData(array.NewData(t.IndexType, x.Len(), x.Buffers(), nil, x.NullN(), x.Offset()))
	}
	whole, err := array.Concatenate(indices, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	x := whole.Data()
	return array.MakeFromData(array.NewDataWithDictionary(t, x.Len(), x.Buffers(), x.NullN(), x.Offset(),
		first.Dictionary().Data().(*array.Data))), nil
}
