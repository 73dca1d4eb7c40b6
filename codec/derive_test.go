package codec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// derivedOptions has a feature of each kind derived from two columns that are no features.
func derivedOptions() Options {
	when := Derivation{Column: "when", Unit: time.Second}
	return Options{Label: "class", Missing: []string{"?"}, Features: FeaturesAll,
		Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{
			{Name: "minutes", Derived: "age(when, m, unit=s)"},
			{Name: "cell", Kind: model.Ordinal, Levels: []string{"low", "high"}, Derived: "bucket(x, 5)"},
			{Name: "share", Derived: "ratio(x, x)"},
		}},
		Derived: map[string]Derivation{
			"minutes": {Function: Age, Of: []Derivation{when}, Per: time.Minute},
			"cell":    {Function: Bucket, Of: []Derivation{{Column: "x", Special: []float64{-1}}}, Cuts: []float64{5}},
			"share":   {Function: Ratio, Of: []Derivation{{Column: "x"}, {Column: "x"}}},
		}}
}

// derivedBank has features derived from numbers and texts of a bank campaign, as numbers and as times.
func derivedBank() Options {
	o := bankOptions()
	levels := []string{"low", "high"}
	o.Schema.Features = append([]model.Feature{
		{Name: "share", Derived: "log(ratio(balance, age))"},
		{Name: "cell", Kind: model.Ordinal, Levels: levels, Derived: "bucket(duration, 5)"},
		{Name: "hour", Derived: "hour(age, unit=s)"}, {Name: "since", Derived: "age(day, d)"},
	}, o.Schema.Features[:3]...)
	o.Derived = map[string]Derivation{
		"share": {Function: Log, Of: []Derivation{{Function: Ratio, Of: []Derivation{{Column: "balance"}, {Column: "age"}}}}},
		"cell":  {Function: Bucket, Of: []Derivation{{Column: "duration"}}, Cuts: []float64{5}},
		"hour":  {Function: Hour, Of: []Derivation{{Column: "age", Unit: time.Second}}, Zone: time.UTC},
		"since": {Function: Age, Of: []Derivation{{Column: "day"}}, Per: 24 * time.Hour},
	}
	return o
}

// derivedMessage is a message of the columns when and x of those types.
func derivedMessage(t *testing.T, when arrow.DataType, whens string, x arrow.DataType, xs string) []byte {
	t.Helper()
	var columns []arrow.Array
	for _, c := range []struct {
		typ    arrow.DataType
		values string
	}{{when, whens}, {x, xs}} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.values))
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, a)
	}
	fields := []arrow.Field{{Name: "when", Type: when, Nullable: true}, {Name: "x", Type: x, Nullable: true}}
	var e streamEncoder
	value, err := e.encode(nil, array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len())))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestDerivedFeaturesOfRowsLeftOut: a duplicate that dedup leaves out is handed on in no feature, and the texts of an
// ordinal one are its levels.
func TestDerivedFeaturesOfRowsLeftOut(t *testing.T) {
	d := mustDecoder(t, derivedOptions())
	value := derivedMessage(t, arrow.PrimitiveTypes.Int64, `[1709251140, 1, 1709247600, 2]`, arrow.PrimitiveTypes.Int32,
		`[5, 7, 6, null]`)
	for _, c := range []struct {
		leave []int32
		want  []string
	}{{nil, []string{"low", "high", "high", ""}}, {[]int32{0}, []string{"high", "high", ""}},
		{[]int32{1, 2}, []string{"low", ""}}, {[]int32{3}, []string{"low", "high", "high"}}, {[]int32{0, 1, 2, 3}, nil}} {
		var b model.Batch
		var carry Carry
		if bad, err := d.Decode(&Message{Value: value, Time: derivedAt * 1e9}, &b, &carry); err != nil || len(bad) > 0 {
			t.Fatal(bad, err)
		}
		carry.Leave(c.leave)
		a, err := carry.feature(1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range a.Len() {
			got = append(got, a.(*array.String).Value(i))
			if a.IsNull(i) != (got[i] == "") {
				t.Errorf("without %v: value %d of %v", c.leave, i, a)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("without %v: %q, want %q", c.leave, got, c.want)
		}
		d.Release()
	}
}

// derivedAt is the time of the messages: 2024-03-01 00:00:00 UTC.
const derivedAt = 1709251200

// TestSourcesOfEachType: a time means the same in each type of a column; nulls, missing texts, special codes, zero
// divided by zero and infinities give missing values; a text that is no time makes its row a bad one.
func TestSourcesOfEachType(t *testing.T) {
	nan := math.NaN()
	seconds, nanos := arrow.FixedWidthTypes.Timestamp_s, arrow.FixedWidthTypes.Timestamp_ns
	for _, c := range []struct {
		when    arrow.DataType
		whens   string
		minutes []float64
		bad     []int32
	}{
		{arrow.PrimitiveTypes.Int64, `[1709251140, null, 1709247600]`, []float64{1, nan, 60}, nil},
		{arrow.PrimitiveTypes.Float64, `[1709251140.5, null, 1709247600]`, []float64{.9916666666666667, nan, 60}, nil},
		{seconds, `["2024-02-29 23:59:00", null, "2024-02-29 23:00:00"]`, []float64{1, nan, 60}, nil},
		{nanos, `["2024-02-29 23:59:00", null, "2024-03-01 00:01:00"]`, []float64{1, nan, -1}, nil},
		{arrow.FixedWidthTypes.Date32, `["2024-02-29", null, "2024-03-01"]`, []float64{1440, nan, 0}, nil},
		{arrow.BinaryTypes.String, `["2024-02-29T23:59:00Z", " ? ", "2024-03-01T01:00:00+02:00"]`,
			[]float64{1, nan, 60}, nil},
		{arrow.BinaryTypes.String, `["1709251140", "soon", "2024-02-29"]`, []float64{1, 1440}, []int32{1}},
		{arrow.BinaryTypes.String, `["1709251140", "9999-12-31", null]`, []float64{1, nan}, []int32{1}},
		{arrow.Null, `[null, null, null]`, []float64{nan, nan, nan}, nil},
	} {
		o := derivedOptions()
		d := mustDecoder(t, o)
		var b model.Batch
		var carry Carry
		value := derivedMessage(t, c.when, c.whens, arrow.PrimitiveTypes.Float64, `[5, 0, -1]`)
		bad, err := d.Decode(&Message{Value: value, Time: derivedAt * 1e9}, &b, &carry)
		if err != nil {
			t.Fatalf("%s: %v", c.whens, err)
		}
		var rows []int32
		for _, e := range bad {
			rows = append(rows, e.Row)
			if e.Reason != ReasonTime || e.Column != "when" {
				t.Errorf("%s: bad row %+v", c.whens, e)
			}
		}
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if !slices.Equal(rows, c.bad) || !slices.EqualFunc(b.Columns[0].Float[:b.N], c.minutes, same) {
			t.Errorf("%s: minutes %v, bad rows %v; want %v, %v", c.whens, b.Columns[0].Float[:b.N], rows, c.minutes, c.bad)
		}
		cell, share := []uint32{0, 0, model.MissingCode}, []float64{1, nan, 1}
		for _, row := range c.bad {
			cell, share = slices.Delete(cell, int(row), int(row)+1), slices.Delete(share, int(row), int(row)+1)
		}
		if !slices.Equal(b.Columns[1].Code[:b.N], cell) || !slices.EqualFunc(b.Columns[2].Float[:b.N], share, same) {
			t.Errorf("%s: cells %v, shares %v; want %v, %v", c.whens, b.Columns[1].Code[:b.N], b.Columns[2].Float[:b.N], cell,
				share)
		}
		a, err := carry.feature(0)
		if err != nil || a.Len() != b.N {
			t.Fatalf("%s: %v, %v handed on of %d", c.whens, err, a, b.N)
		}
		for i := range b.N {
			if v := a.(*array.Float64); v.IsNull(i) != (c.minutes[i] != c.minutes[i]) || v.IsValid(i) &&
				v.Value(i) != c.minutes[i] {
				t.Errorf("%s: record %d hands on %v", c.whens, i, v)
			}
		}
		d.Release()
	}
}

// TestEndsOfDerivedNumbers: logarithms of subnormal numbers, by Python, and ages of more years than an int64 has
// nanoseconds for.
func TestEndsOfDerivedNumbers(t *testing.T) {
	for x, want := range map[float64]float64{5e-324: -744.4400719213812, 1e-310: -713.8013788281542,
		2.2250738585072009e-308: -708.3964185322641, 0x1p-1022: -708.3964185322641, 1: 0,
		math.MaxFloat64: 709.782712893384} {
		if got := logarithm(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("the logarithm of %v is %v, want %v", x, got, want)
		}
	}
	const first, last, day = math.MinInt64 + 1, math.MaxInt64, 24 * time.Hour
	s := deriveStep{Derivation: Derivation{Function: Age, Per: day}}
	for _, c := range []struct{ t, now, sign int64 }{{first, last, 1}, {last, first, -1}} {
		if got, want := s.ofTime(c.t, c.now, false), float64(c.sign)*0x1p64/float64(day); got != want {
			t.Errorf("the age of %d at %d is %v days, want %v", c.t, c.now, got, want)
		}
	}
	if got := s.ofTime(derivedAt*1e9+1, derivedAt*1e9, false); got != -1/float64(day) {
		t.Errorf("the age of a later time is %v", got)
	}
}

// TestDerivedWithoutItsColumns: a message that lacks a source is refused by its name, one of another type too; where
// the column may be absent the value is missing. A record of no time has no age.
func TestDerivedWithoutItsColumns(t *testing.T) {
	o := derivedOptions()
	for _, c := range []struct {
		name  string
		typ   arrow.DataType
		cells string
		want  string
	}{
		{"y", arrow.PrimitiveTypes.Float64, `[1]`, `column "when": missing (a derived feature needs it); ` +
			`column "x": missing`},
		{"when", arrow.FixedWidthTypes.Boolean, `[true]`, `column "when": of type bool; a timestamp, a date`},
		{"x", arrow.BinaryTypes.String, `["1"]`, `column "x": of type utf8; a number is needed (a derived feature`},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.cells))
		if err != nil {
			t.Fatal(err)
		}
		fields := []arrow.Field{{Name: c.name, Type: c.typ, Nullable: true}}
		var e streamEncoder
		value, err := e.encode(nil, array.NewRecord(arrow.NewSchema(fields, nil), []arrow.Array{a}, 1))
		if err != nil {
			t.Fatal(err)
		}
		var b model.Batch
		_, err = mustDecoder(t, o).Decode(&Message{Value: value, Time: derivedAt * 1e9}, &b, nil)
		var m *MessageError
		if !errors.As(err, &m) || m.Reason != ReasonSchema || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of type %s: %v, want %s", c.name, c.typ, err, c.want)
		}
	}
	o.Nullable = map[string]bool{"when": true, "x": true}
	var b model.Batch
	fields := []arrow.Field{{Name: "y", Type: arrow.Null, Nullable: true}}
	var e streamEncoder
	value, err := e.encode(nil, array.NewRecord(arrow.NewSchema(fields, nil), []arrow.Array{array.NewNull(2)}, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mustDecoder(t, o).Decode(&Message{Value: value, Time: derivedAt * 1e9}, &b, nil); err != nil ||
		b.Columns[0].Float[0] == b.Columns[0].Float[0] || b.Columns[1].Code[1] != model.MissingCode {
		t.Errorf("without its columns: %v, %+v", err, b.Columns)
	}
	value = derivedMessage(t, arrow.PrimitiveTypes.Int64, `[1709251140]`, arrow.PrimitiveTypes.Float64, `[5]`)
	if _, err := mustDecoder(t, o).Decode(&Message{Value: value}, &b, nil); err != nil ||
		b.Columns[0].Float[0] == b.Columns[0].Float[0] || b.Columns[2].Float[0] != 1 {
		t.Errorf("a record of no time: %v, %+v", err, b.Columns)
	}
}

// TestDerivationsMustFit: a schema and its derivations belong together.
func TestDerivationsMustFit(t *testing.T) {
	for _, spoil := range []func(o *Options){
		func(o *Options) { o.Derived = nil },
		func(o *Options) { o.Schema.Features[1].Levels = []string{"low"} },
		func(o *Options) { o.Schema.Features[0].Kind = model.Ordinal },
		func(o *Options) { o.Derived["share"] = Derivation{Column: "x"} },
	} {
		o := derivedOptions()
		spoil(&o)
		if _, err := NewDecoder(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestAgesBeyondTheRange: two times may be further apart than a duration can be. A record without a time has no age.
func TestAgesBeyondTheRange(t *testing.T) {
	s := &deriveStep{Derivation: Derivation{Function: Age, Per: time.Second}}
	for _, c := range []struct {
		t, now int64
		want   float64
	}{{0, 5e9, 5}, {5e9, 1, -4.999999999}, {math.MinInt64 + 1, 5e9, 9223372041.854775807},
		{math.MaxInt64, -5e9, -9223372041.854775807}, {math.MinInt64 + 1, -1, math.MaxInt64 / 1e9},
		{5e9, 0, math.NaN()}} {
		got := s.ofTime(c.t, c.now, false)
		if alike := math.Abs(got-c.want) <= 1e-15*math.Abs(c.want); !alike && (got == got || c.want == c.want) {
			t.Errorf("age of %d at %d is %v, want %v", c.t, c.now, got, c.want)
		}
	}
}

// TestRecordsWithoutATime have no hour, while a column may say the beginning of 1970; and a ratio beyond the largest
// number is missing.
func TestRecordsWithoutATime(t *testing.T) {
	s := &deriveStep{Derivation: Derivation{Function: Hour, Zone: time.UTC}}
	if got := s.ofTime(0, 0, true); got == got {
		t.Errorf("the hour of a record without a time is %v", got)
	}
	if got := s.ofTime(0, 0, false); got != 0 {
		t.Errorf("the hour of the beginning of 1970 is %v", got)
	}
	v := &deriver{sources: []source{{numbers: []float64{1e300, 1}}, {numbers: []float64{1e-300, 2}}}}
	ratio := &deriveStep{Derivation: Derivation{Function: Ratio}, of: []*deriveStep{{source: 0}, {source: 1}}}
	if got := v.run(ratio, make([]int64, 2)); got[0] == got[0] || got[1] != .5 {
		t.Errorf("ratios %v", got)
	}
}
