package codec

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// TestCodesOfNarrowColumns: a code or a missing number that a column cannot hold is meant by the number next to it, and
// the record has the code as configured; columns of doubles take the number itself alone.
func TestCodesOfNarrowColumns(t *testing.T) {
	single := arrow.PrimitiveTypes.Float32
	for _, c := range []struct {
		typ  arrow.DataType
		rows string
		want string // code numbers, -1 = a number, -2 = missing
	}{
		{single,
			`[{"x": -99.9}, {"x": -0.1}, {"x": -99.8}, {"x": 1}, {"x": null}, {"x": -88.8}, {"x": -999}]`,
			"[1 -2 -1 -1 -2 2 0]"},
		{arrow.FixedWidthTypes.Float16,
			`[{"x": -99.9}, {"x": -0.1}, {"x": -90}, {"x": 1}, {"x": null}, {"x": -88.8}, {"x": -999}]`,
			"[1 -2 -1 -1 -2 2 0]"},
		{arrow.PrimitiveTypes.Float64,
			`[{"x": -99.9}, {"x": -0.1}, {"x": -99.80000305}, {"x": 1}, {"x": null}, {"x": -88.80000305}, {"x": -999}]`,
			"[1 -2 -1 -1 -2 -1 0]"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: single},
			`[{"x": -99.9}, {"x": -0.1}, {"x": -99.8}, {"x": 1}, {"x": null}, {"x": -88.8}, {"x": -999}]`,
			"[1 -2 -1 -1 -2 2 0]"},
	} {
		s := &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "x", Special: []float64{-999, -99.9, -88.8}}}}
		d := mustDecoder(t, Options{Missing: []string{"-0.1"}, Schema: s})
		rec := record(t, []arrow.Field{{Name: "x", Type: c.typ, Nullable: true}}, c.rows)
		var b model.Batch
		if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil {
			t.Fatal(c.typ, err)
		}
		var got []int
		for _, v := range b.Columns[0].Float {
			v = s.Features[0].Value(v)
			k := model.SpecialOf(v)
			if k < 0 && v != v {
				k = -2
			}
			got = append(got, k)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v, want %s", c.typ, got, c.want)
		}
	}
}
