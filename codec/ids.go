package codec

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// maxID is the length of an id: scores, dead letters and waiting records repeat it.
const maxID = 8 << 10

// rawText returns value i of a text column, or of a dictionary of texts, without a copy.
func rawText(a arrow.Array, i int) (text string, is bool) {
	if a.IsNull(i) {
		return "", false
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i), true
	case *array.LargeString:
		return a.Value(i), true
	case *array.StringView:
		return a.Value(i), true
	case *array.Dictionary:
		return rawText(a.Dictionary(), a.GetValueIndex(i))
	}
	return "", false
}

// idTexts holds the ids of the values of one dictionary.
type idTexts struct {
	dict    arrow.ArrayData
	texts   []string
	state   []uint8
	scratch []byte
}

const (
	idUnseen = iota
	idGood
	idBad
)

// isID reports whether a text may be an id. It goes to the scores as it is, so it must be text.
func isID(t []byte) bool { return len(t) > 0 && len(t) <= maxID && utf8.Valid(t) }

// shared reports whether value i is a float so large that other whole numbers have its bits: as an id it would be that
// of several records. Tables with a missing id make floats of whole numbers.
func shared(a arrow.Array, i int) bool {
	switch a := a.(type) {
	case *array.Float64:
		return math.Abs(a.Value(i)) >= exactBelow(a.DataType())
	case *array.Float32:
		return math.Abs(float64(a.Value(i))) >= exactBelow(a.DataType())
	case *array.Float16:
		return math.Abs(float64(a.Value(i).Float32())) >= exactBelow(a.DataType())
	}
	return false
}

// exactBelow is the number below which each whole number has bits of its own in a type of floats; 0 = in any other type
// each has them.
func exactBelow(t arrow.DataType) float64 {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return exactBelow(t.ValueType)
	case *arrow.Float64Type:
		return 1 << 53
	case *arrow.Float32Type:
		return 1 << 24
	case *arrow.Float16Type:
		return 1 << 11
	}
	return 0
}

// idCost is how many times the memory of an id's text is taken: twice while the texts are gathered, once for the ids.
const idCost = 3

func (d *Decoder) fillIDs(dst []string, recs []arrow.Record, col, rows int, first int32) []string {
	if col < 0 {
		return nil
	}
	dst = resize(dst, rows)
	d.ids.dict = nil
	part, row := dst, first
	for _, r := range recs {
		a := r.Column(col)
		if dict, ok := a.(*array.Dictionary); ok {
			d.fillIDsByValue(part[:a.Len()], dict, row)
		} else {
			d.fillIDsOf(part[:a.Len()], a, row)
		}
		part, row = part[a.Len():], row+int32(a.Len())
		if d.in.account.over {
			break
		}
	}
	return dst
}

// fillIDsOf makes one string of the texts of a column: one allocation a batch.
func (d *Decoder) fillIDsOf(dst []string, a arrow.Array, first int32) {
	d.text, d.ends = d.text[:0], d.ends[:0]
	for i := range dst {
		from := len(d.text)
		if text, is := rawText(a, i); !is || len(text) <= maxID {
			d.text, _ = appendText(d.text, a, i)
		}
		if !isID(d.text[from:]) || shared(a, i) {
			d.text = d.text[:from]
			d.reject(first+int32(i), ReasonID, d.o.ID, a, i)
		}
		if !d.in.account.take(idCost * int64(len(d.text)-from)) {
			return
		}
		d.ends = append(d.ends, int32(len(d.text)))
	}
	all, from := string(d.text), int32(0)
	for i, to := range d.ends {
		dst[i] = all[from:to]
		from = to
	}
}

// fillIDsByValue makes one string for each value of a dictionary, which the rows share.
func (d *Decoder) fillIDsByValue(dst []string, a *array.Dictionary, first int32) {
	x, values := &d.ids, a.Dictionary()
	if x.dict != values.Data() {
		if !d.in.account.take(24 * int64(values.Len())) {
			return
		}
		x.dict = values.Data()
		x.texts, x.state = resize(x.texts, values.Len()), resize(x.state, values.Len())
		clear(x.state)
	}
	for i := range dst {
		k := 0
		if a.IsValid(i) {
			k = a.GetValueIndex(i)
			if x.state[k] == idUnseen && !x.look(&d.in.account, values, k) {
				return
			}
		}
		if a.IsNull(i) || x.state[k] == idBad {
			dst[i] = ""
			d.reject(first+int32(i), ReasonID, d.o.ID, a, i)
			continue
		}
		dst[i] = x.texts[k]
	}
}

// look looks at value k of the dictionary; it reports false where the memory is used up.
func (x *idTexts) look(a *account, values arrow.Array, k int) bool {
	x.state[k] = idBad
	t := x.scratch[:0]
	if text, is := rawText(values, k); !is || len(text) <= maxID {
		t, _ = appendText(t, values, k)
		x.scratch = t
	}
	if isID(t) && !shared(values, k) {
		if !a.take(idCost * int64(len(t))) {
			return false
		}
		x.state[k], x.texts[k] = idGood, string(t)
	}
	return true
}
