package codec

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"liftstream/model"
)

func (d *Decoder) fillContinuous(dst, special []float64, a arrow.Array) error {
	if dict, ok := a.(*array.Dictionary); ok && !d.in.account.take(8*int64(dict.Dictionary().Len())) {
		return nil
	}
	if err := fillFloats(dst, a); err != nil {
		return err
	}
	d.changes.numbers(dst, a)
	settle(dst, d.numbers, special, a.DataType())
	return nil
}

func (d *Decoder) fillLevels(c *levelColumn, dst []uint32, a arrow.Array) error {
	switch a := a.(type) {
	case *array.String:
		return eachText(a, a.ValueOffsets(), func(i int, t []byte) { dst[i] = c.lookup(t) },
			func(i int) { dst[i] = model.MissingCode })
	case *array.Dictionary:
		return c.byDictionary(dst, a)
	}
	for i := range dst {
		t, ok := appendText(d.scratch[:0], a, i)
		d.scratch = t
		dst[i] = model.MissingCode
		if ok {
			dst[i] = c.lookup(t)
		}
	}
	return nil
}

func (d *Decoder) fillLabels(dst []int32, recs []arrow.Record, col int) {
	if col < 0 {
		for i := range dst {
			dst[i] = model.Unlabelled
		}
		return
	}
	c := &d.classes
	c.begin()
	for _, r := range recs {
		a := r.Column(col)
		if dict, ok := a.(*array.Dictionary); ok {
			c.byDictionary(dst[:a.Len()], dict)
		} else {
			for i := range a.Len() {
				dst[i] = c.value(a, i)
			}
		}
		dst = dst[a.Len():]
	}
}

// instant64 is the number that a timestamp or a date holds. Arrow's text of it panics where the zone is unknown.
func instant64(a arrow.Array, i int) (v int64, is bool) {
	switch a := a.(type) {
	case *array.Timestamp:
		return int64(a.Value(i)), true
	case *array.Date32:
		return int64(a.Value(i)), true
	case *array.Date64:
		return int64(a.Value(i)), true
	case *array.Dictionary:
		if k := a.GetValueIndex(i); a.Dictionary().IsValid(k) {
			return instant64(a.Dictionary(), k)
		}
	}
	return 0, false
}

// rowErrorCost is the memory for a RowError besides its text.
const rowErrorCost = 112

func (d *Decoder) reject(row int32, r Reason, column string, a arrow.Array, i int) {
	e := RowError{Row: row, Reason: r, Column: column}
	if text, is := rawText(a, i); is {
		e.Value = strings.ToValidUTF8(cut(text), "\uFFFD")
	} else if !isNull(a, i) {
		t, _ := appendText(nil, a, i)
		e.Value = cut(string(t))
		if v, is := instant64(a, i); is && len(t) == 0 {
			e.Value = strconv.FormatInt(v, 10)
		}
	}
	if d.in.account.take(int64(rowErrorCost + len(e.Value))) {
		d.bad = append(d.bad, e)
	}
}

// missingText reports whether a value is null, not finite, or one of the texts that mean missing.
func (d *Decoder) missingText(a arrow.Array, i int) bool {
	if text, is := rawText(a, i); is && len(text) > maxLevel {
		return false
	}
	t, ok := appendText(d.scratch[:0], a, i)
	d.scratch = t
	return !ok || d.missing[string(trim(t))]
}

func (d *Decoder) fillWeights(dst []float64, recs []arrow.Record, col, rows int, first int32) ([]float64, error) {
	if col < 0 {
		return nil, nil
	}
	dst = resize(dst, rows)
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		part := dst[at : at+a.Len()]
		if err := fillFloats(part, a); err != nil {
			return dst, err
		}
		for i, w := range part {
			if !(w >= 0) || math.IsInf(w, 1) {
				d.reject(first+int32(at+i), ReasonWeight, d.o.Weight, a, i)
			}
		}
		at += a.Len()
	}
	return dst, nil
}

// fillTreated reads which records were treated: true and 1 say so, false and 0 say not, nulls and missing texts
// nothing. A row of any other text is bad. The result is nil where there is no column.
func (d *Decoder) fillTreated(
	dst []model.Treatment, recs []arrow.Record, col, rows int, first int32,
) []model.Treatment {
	if col < 0 {
		return nil
	}
	dst = resize(dst, rows)
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			dst[at] = model.TreatmentUnknown
			if raw, is := rawText(a, i); is && len(raw) > maxID {
				d.reject(first+int32(at), ReasonTreated, d.o.Treated, a, i)
			} else if text, ok := appendText(d.scratch[:0], a, i); ok {
				d.scratch = text
				t := trim(text)
				switch c := string(model.CanonicalText(nil, t)); {
				case d.missing[string(t)]:
				case c == "true" || c == "1":
					dst[at] = model.Treated
				case c == "false" || c == "0":
					dst[at] = model.Untreated
				default:
					d.reject(first+int32(at), ReasonTreated, d.o.Treated, a, i)
				}
			}
			at++
		}
	}
	return dst
}

var errOffsets = errors.New("a value lies outside its buffer")

// eachText calls value for every text of a and null for every null, after it has checked that the offsets never go back
// nor outside.
func eachText(a *array.String, offsets []int32, value func(i int, t []byte), null func(i int)) error {
	n := a.Len()
	if n == 0 {
		return nil
	}
	if len(offsets) < n+1 {
		return errOffsets
	}
	data := a.Data().Buffers()[2]
	var all []byte
	if data != nil {
		all = data.Bytes()
	}
	var bitmap []byte
	if a.NullN() > 0 {
		bitmap = a.NullBitmapBytes()
	}
	off := a.Data().Offset()
	lo := offsets[0]
	if lo < 0 {
		return errOffsets
	}
	for i, hi := range offsets[1 : n+1] {
		if hi < lo || int(hi) > len(all) {
			return errOffsets
		}
		if bitmap != nil && !bitutil.BitIsSet(bitmap, off+i) {
			null(i)
		} else {
			value(i, all[lo:hi])
		}
		lo = hi
	}
	return nil
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
