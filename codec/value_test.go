package codec

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// TestOneValueOneText: a value is the same level and the same class in every type.
func TestOneValueOneText(t *testing.T) {
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: utf8Type}
	for _, v := range []struct {
		level string
		class int32 // of 0, 1, 2.5, 2024-05-01
		types map[arrow.DataType]string
	}{
		{"1", 1, map[arrow.DataType]string{utf8Type: `"1.0"`, arrow.BinaryTypes.LargeString: `" 1"`,
			arrow.PrimitiveTypes.Int8: `1`, int64Type: `1`, arrow.PrimitiveTypes.Uint64: `1`, arrow.PrimitiveTypes.Float32: `1`,
			realType: `1`, &arrow.Decimal128Type{Precision: 9, Scale: 2}: `"1.00"`, dictionary: `"1.0"`}},
		{"true", 1, map[arrow.DataType]string{utf8Type: `"True"`, arrow.FixedWidthTypes.Boolean: `true`,
			dictionary: `"TRUE"`}},
		{"false", 0, map[arrow.DataType]string{utf8Type: `"False"`, arrow.FixedWidthTypes.Boolean: `false`}},
		{"2.5", 2, map[arrow.DataType]string{utf8Type: `"2.50"`, arrow.PrimitiveTypes.Float32: `2.5`, realType: `2.5`,
			&arrow.Decimal128Type{Precision: 9, Scale: 3}: `"2.500"`, &arrow.Decimal256Type{Precision: 40, Scale: 2}: `"2.50"`}},
		{"2024-05-01", 3, map[arrow.DataType]string{utf8Type: `"2024-05-01 00:00:00"`,
			arrow.FixedWidthTypes.Date32: `"2024-05-01"`, arrow.FixedWidthTypes.Date64: `"2024-05-01"`,
			arrow.FixedWidthTypes.Timestamp_s: `"2024-05-01"`, arrow.FixedWidthTypes.Timestamp_ns: `"2024-05-01"`,
			&arrow.TimestampType{Unit: arrow.Microsecond}: `"2024-05-01"`}},
		{"9999-12-31", model.UnknownClass, map[arrow.DataType]string{utf8Type: `"9999-12-31"`,
			arrow.FixedWidthTypes.Date32: `"9999-12-31"`}},
		{"007", model.UnknownClass, map[arrow.DataType]string{utf8Type: `"007"`, dictionary: `" 007 "`}},
		{"1777134800018164001", model.UnknownClass, map[arrow.DataType]string{utf8Type: `"1777134800018164001"`,
			int64Type: `"1777134800018164001"`, &arrow.Decimal128Type{Precision: 38, Scale: 0}: `"1777134800018164001"`}},
	} {
		for typ, value := range v.types {
			o := Options{Schema: &model.Schema{Classes: []string{"0", "1", "2.5", "2024-05-01"}, Positive: 1,
				Features: []model.Feature{{Name: "x", Kind: model.Nominal}}}, Label: "y", Missing: []string{"", "-999"}}
			rec := record(t, []arrow.Field{field("x", typ), field("y", typ)},
				fmt.Sprintf(`[{"x": %s, "y": %s}, {"x": null, "y": null}]`, value, value))
			var b model.Batch
			bad, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
			if err != nil || len(bad) > 0 {
				t.Errorf("%s of %s: %v %v", value, typ, err, bad)
				continue
			}
			x := &b.Columns[0]
			if len(x.Levels) != 1 || x.Levels[0] != v.level || x.Code[0] != 0 || x.Code[1] != model.MissingCode {
				t.Errorf("%s of %s is the level %q, want %q", value, typ, x.Levels, v.level)
			}
			if b.Label[0] != v.class || b.Label[1] != model.Unlabelled {
				t.Errorf("%s of %s has the class %d, want %d", value, typ, b.Label[0], v.class)
			}
		}
	}
}

// TestLevelsOfTheConfigurationKeepTheirTexts: levels that are one number stay two where the configuration names both,
// and marks of missing values are values too.
func TestLevelsOfTheConfigurationKeepTheirTexts(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"0", "1"}, Positive: 1, Features: []model.Feature{
		{Name: "version", Kind: model.Nominal, Levels: []string{"3.1", "3.10"}}, {Name: "free", Kind: model.Nominal}}},
		Missing: []string{"", "-999.0"}}
	rec := record(t, []arrow.Field{field("version", utf8Type), field("free", utf8Type)}, `[
		{"version": "3.1", "free": "3.1"}, {"version": "3.10", "free": "3.10"}, {"version": "3.100", "free": "-999"},
		{"version": "-999.0", "free": "-999.00"}]`)
	var b model.Batch
	if bad, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil ||
		len(bad) > 0 {
		t.Fatal(err, bad)
	}
	const none = model.MissingCode
	for f, want := range [][]uint32{{0, 1, 0, none}, {0, 0, none, none}} {
		if got := b.Columns[f].Code; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: codes %d of %q, want %d", o.Schema.Features[f].Name, got, b.Columns[f].Levels, want)
		}
	}
}

// TestFloatsThatAreSeveralIDs: a float that other whole numbers have become is nobody's id, alone and in a dictionary,
// in events and in labels.
func TestFloatsThatAreSeveralIDs(t *testing.T) {
	real32 := arrow.PrimitiveTypes.Float32
	for _, c := range []struct {
		typ    arrow.DataType
		id     string
		shared bool
	}{
		{realType, "9007199254740991", false}, {realType, "9007199254740992", true}, {realType, "-9007199254740992", true},
		{realType, "1e300", true}, {realType, "-12.5", false}, {real32, "16777215", false}, {real32, "16777216", true},
		{arrow.FixedWidthTypes.Float16, "2047", false}, {arrow.FixedWidthTypes.Float16, "2048", true},
		{int64Type, `"9007199254740993"`, false}, {arrow.PrimitiveTypes.Uint64, `"18446744073709551615"`, false},
		{&arrow.DictionaryType{IndexType: int64Type, ValueType: realType}, "9007199254740991", false},
		{&arrow.DictionaryType{IndexType: int64Type, ValueType: realType}, "9007199254740992", true},
	} {
		d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "x"}}}, ID: "id", Label: "y"})
		rec := record(t, []arrow.Field{field("id", c.typ), field("x", realType), field("y", utf8Type)},
			fmt.Sprintf(`[{"id": %s, "x": 1, "y": "no"}]`, c.id))
		m := &Message{Value: encodeStream(t, []arrow.Record{rec})}
		var b model.Batch
		var l model.Labels
		bad, err := d.Decode(m, &b, nil)
		if err != nil || (len(bad) == 1 && bad[0].Reason == ReasonID) != c.shared || b.N == len(bad) {
			t.Errorf("%s of %s: %d rows, %v, %v", c.id, c.typ, b.N, bad, err)
		}
		bad, err = d.DecodeLabels(m, &l)
		if err != nil || (len(bad) == 1 && bad[0].Reason == ReasonID) != c.shared || l.N == len(bad) {
			t.Errorf("labels, %s of %s: %q, %v, %v", c.id, c.typ, l.ID, bad, err)
		}
	}
}

// TestLongLevelsAreTold: texts that are one in their first KiB are two levels, also those that grow so long because
// bytes that are no UTF-8 are replaced, and no level is longer than a model keeps it.
func TestLongLevelsAreTold(t *testing.T) {
	for _, x := range []struct {
		what      string
		text      string
		shortened int
	}{
		{"ASCII", strings.Repeat("x", model.MaxLevelBytes), 2}, {"euros", strings.Repeat("€", 400), 2},
		{"bad bytes", strings.Repeat("a\xFF", 500), 2}, {"long and bad bytes", strings.Repeat("a\xFF", 800), 2},
		{"within a level", strings.Repeat("x", model.MaxLevelBytes-1), 0},
	} {
		c := levelColumn{missing: map[string]bool{}, account: &account{limit: 1 << 20}}
		c.begin(nil)
		a, b, again := c.lookup([]byte(x.text+"A")), c.lookup([]byte(x.text+"B")), c.lookup([]byte(" "+x.text+"A"))
		if a != 0 || b != 1 || again != a || c.shortened != x.shortened*3/2 {
			t.Errorf("%s: codes %d %d %d, %d are shortened", x.what, a, b, again, c.shortened)
		}
		l := model.NewLevels(&model.Schema{Features: []model.Feature{{Name: "f", Kind: model.Nominal}}})
		for code, level := range c.levels {
			if len(level) > model.MaxLevelBytes || !utf8.ValidString(level) || l.Code(0, level) != uint32(code) ||
				l.Names(0)[code] != level {
				t.Errorf("%s: level %d has %d bytes and ends in %q", x.what, code, len(level), level[len(level)-9:])
			}
		}
	}
}
