package codec

import (
	"errors"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"liftstream/model"
)

func (d *Decoder) fillContinuous(dst []float64, a arrow.Array) error {
	if err := fillFloats(dst, a); err != nil {
		return err
	}
	switch a.DataType().ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DICTIONARY:
		for i, v := range dst {
			if math.IsInf(v, 0) {
				dst[i] = math.NaN()
			}
		}
	}
	for _, miss := range d.numbers {
		for i, v := range dst {
			if v == miss {
				dst[i] = math.NaN()
			}
		}
	}
	return nil
}

func (d *Decoder) fillLevels(c *levelColumn, dst []uint32, a arrow.Array) error {
	switch a := a.(type) {
	case *array.String:
		return eachText(a, a.ValueOffsets(), func(i int, t []byte) { dst[i] = c.lookup(t) },
			func(i int) { dst[i] = model.MissingCode })
	case *array.Dictionary:
		// By value, and only values that occur: levels are numbered by the rows.
		const unseen = model.MissingCode - 1
		values := a.Dictionary()
		codes := make([]uint32, values.Len())
		for i := range codes {
			codes[i] = unseen
		}
		for i := range dst {
			dst[i] = model.MissingCode
			if a.IsNull(i) {
				continue
			}
			k := a.GetValueIndex(i)
			if k < 0 || k >= len(codes) {
				return errOffsets
			}
			if codes[k] == unseen {
				codes[k] = model.MissingCode
				t, ok := appendText(d.scratch[:0], values, k)
				d.scratch = t
				if ok {
					codes[k] = c.lookup(t)
				}
			}
			dst[i] = codes[k]
		}
		return nil
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
	d.classes.begin()
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			t, ok := appendText(d.scratch[:0], a, i)
			d.scratch = t
			dst[i] = model.Unlabelled
			if ok {
				dst[i] = d.classes.lookup(t)
			}
		}
		dst = dst[a.Len():]
	}
}

func (d *Decoder) reject(row int32, r Reason, column string, a arrow.Array, i int) {
	e := RowError{Row: row, Reason: r, Column: column}
	if !isNull(a, i) {
		t, _ := appendText(nil, a, i)
		if len(t) == 0 {
			t = append(t, a.ValueStr(i)...)
		}
		e.Value = cut(string(t))
	}
	d.bad = append(d.bad, e)
}

func (d *Decoder) fillIDs(dst []string, recs []arrow.Record, col, rows int, first int32) []string {
	if col < 0 {
		return nil
	}
	// One string holds the texts of all ids: one allocation a batch.
	d.text, d.ends = d.text[:0], d.ends[:0]
	row := first
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			n := len(d.text)
			t, ok := appendText(d.text, a, i)
			d.text = t
			if !ok || len(t) == n {
				d.reject(row, ReasonID, d.o.ID, a, i)
			}
			d.ends = append(d.ends, int32(len(d.text)))
			row++
		}
	}
	all, from := string(d.text), int32(0)
	dst = resize(dst, rows)
	for i, to := range d.ends {
		dst[i] = all[from:to]
		from = to
	}
	return dst
}

// missingText reports whether a value is null, not finite, or one of the texts that mean missing.
func (d *Decoder) missingText(a arrow.Array, i int) bool {
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
