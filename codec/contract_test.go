package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// record makes a record from JSON rows.
func record(t testing.TB, fields []arrow.Field, rows string) arrow.Record {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func field(name string, typ arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: true}
}

var (
	utf8Type  = arrow.BinaryTypes.String
	int64Type = arrow.PrimitiveTypes.Int64
	realType  = arrow.PrimitiveTypes.Float64
)

func contractOptions() Options {
	return Options{
		Schema: &model.Schema{Classes: []string{"no", "1"}, Positive: 1, Features: []model.Feature{
			{Name: "x", Kind: model.Continuous},
			{Name: "size", Kind: model.Ordinal, Levels: []string{"s", "m", "l"}},
			{Name: "color", Kind: model.Nominal},
		}},
		ID: "who", Time: "at", Weight: "w", Label: "class", Missing: []string{"", "NA", "-999"}, Future: time.Minute,
	}
}

var contractFields = []arrow.Field{field("who", int64Type), field("at", int64Type), field("w", realType),
	field("class", utf8Type),
	field("x", realType), field("size", utf8Type), field("color", utf8Type), field("extra", utf8Type)}

const contractRows = `[
 {"who": 7, "at": 1000, "w": 1, "class": "no", "x": 1.5, "size": "m", "color": "red"},
 {"who": null, "at": 1000, "w": 1, "class": "no", "x": 2, "size": "m", "color": "red"},
 {"who": 8, "at": null, "w": 0, "class": null, "x": -999, "size": "xl", "color": "NA"},
 {"who": 9, "at": 70000, "w": 1, "class": "1", "x": 4, "size": "s", "color": "blue"},
 {"who": 10, "at": 1, "w": -1, "class": "1", "x": 4, "size": "s", "color": "blue"},
 {"who": 11, "at": 2, "w": 2, "class": "perhaps", "x": null, "size": " l ", "color": null}
]`

func TestContract(t *testing.T) {
	d := mustDecoder(t, contractOptions())
	rec := record(t, contractFields, contractRows)
	value := encodeStream(t, []arrow.Record{rec.NewSlice(0, 3), rec.NewSlice(3, 6)})
	var b model.Batch
	var c Carry
	bad, err := d.Decode(&Message{Value: value, Time: 42, Now: 1e9, Partition: 2, Offset: 8}, &b, &c)
	if err != nil {
		t.Fatal(err)
	}
	wantBad := []RowError{{1, ReasonID, "who", ""}, {3, ReasonFuture, "at", "70000"}, {4, ReasonWeight, "w", "-1"}}
	if !reflect.DeepEqual(bad, wantBad) {
		t.Errorf("bad rows %v, want %v", bad, wantBad)
	}
	b.Columns[0].Float[1], b.Columns[0].Float[2] = -b.Columns[0].Float[1], -b.Columns[0].Float[2] // NaN stays NaN
	if x := b.Columns[0].Float; x[0] != 1.5 || !math.IsNaN(x[1]) || !math.IsNaN(x[2]) {
		t.Errorf("x %v", x)
	}
	want := model.Batch{N: 3, Columns: []model.Column{
		b.Columns[0],
		{Code: []uint32{0, 1, 3}, Levels: []string{"m", "xl", "s", "l"}},
		{Code: []uint32{0, model.MissingCode, model.MissingCode}, Levels: []string{"red", "blue"}},
	}, Label: []int32{0, model.Unlabelled, model.UnknownClass}, Weight: []float64{1, 0, 2}, ID: []string{"7", "8", "11"},
		Time: []int64{1e9, 42, 2e6}, Row: []int32{0, 2, 5}, Partition: 2, Offset: 8}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch\n%+v, want\n%+v", b, want)
	}
	for _, e := range bad {
		value, err := d.AppendRow(nil, e.Row)
		if err != nil {
			t.Fatal(err)
		}
		for table, err := range Tables(value, 0) {
			if err != nil || table.Rows() != 1 || !table.Record().Schema().Equal(rec.Schema()) {
				t.Fatalf("row %d: %v", e.Row, err)
			}
			if got, want := string(table.AppendJSON(nil, 0)), string((&Table{rec}).AppendJSON(nil, int(e.Row))); got != want {
				t.Errorf("row %d: %s, want %s", e.Row, got, want)
			}
		}
	}
	// Scores carry the input's own columns of the rows that are left.
	o := contractOptions()
	o.Features, o.Format = FeaturesAll, FormatJSONL
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &model.Scores{}
	s.Reset(3, 2)
	lines, err := enc.Encode(nil, &b, s, model.NewLevels(o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, fmt.Sprintf("%v %v %v %v %v %v", v["id"], v["time"], v["source_row"], v["x"], v["size"],
			v["color"]))
	}
	if want := []string{"7 1000 0 1.5 m red", "8 <nil> 2 -999 xl NA", "11 2 5 <nil>  l  <nil>"}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestScoreColumns(t *testing.T) {
	o := contractOptions()
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: 1, ID: []string{"a"}, Time: []int64{1e9}, Row: []int32{4}, Partition: 1, Offset: 2}
	s := &model.Scores{}
	s.Reset(1, 2)
	table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range table.Columns() {
		got = append(got, c.Name+" "+c.Type)
	}
	want := []string{"id utf8", "time timestamp[ns, tz=UTC]", "source_partition int32", "source_offset int64",
		"source_row int32", "model int64",
		"status utf8", "reason utf8", "segment utf8", "target utf8", "propensity_no float64", "propensity_1 float64",
		"base_rate float64",
		"lift float64", "percentile float32", "subspace list<item: utf8, nullable>",
		"relevance list<item: float32, nullable>", "profile utf8",
		"profile_lift float64",
		"why list<item: struct<feature: utf8, value: utf8, effect: float64, lift: float64, n: float64>, nullable>"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("columns\n%q, want\n%q", got, want)
	}
	if _, err := enc.Table(b, &model.Scores{N: 2, Classes: 2}, nil, nil); err == nil {
		t.Error("two scores were written for one record")
	}
}

func TestUntrainedIsNull(t *testing.T) {
	o := bankOptions()
	o.ID = ""
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	s := bankScores(2)
	s.Status[1] = model.StatusUntrained
	b := &model.Batch{N: 2, Time: make([]int64, 2), Row: make([]int32, 2)}
	table, err := enc.Table(b, s, model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	var null []string
	for i, c := range table.Columns() {
		if _, ok := table.Text(i, 1); !ok && c.Name != "reason" {
			null = append(null, c.Name)
		}
		if _, ok := table.Text(i, 0); !ok && c.Name != "reason" {
			t.Errorf("a trained score has no %s", c.Name)
		}
	}
	if want := []string{"lift", "percentile", "subspace", "relevance", "profile", "profile_lift",
		"why"}; !reflect.DeepEqual(null, want) {
		t.Errorf("null are %q, want %q", null, want)
	}
}

func TestMessageErrors(t *testing.T) {
	value := encodeStream(t, []arrow.Record{bankRecord(3)})
	twice := record(t, []arrow.Field{field("customer", utf8Type), field("customer", utf8Type)}, `[]`)
	headers := EventHeaders(value, 3)
	for _, c := range []struct {
		name string
		m    Message
		want Reason
	}{
		{"nothing", Message{}, ReasonEmpty},
		{"text", Message{Value: []byte("age,job\n1,x\n")}, ReasonNotArrow},
		{"file format", Message{Value: testdata(t, "types.arrow")}, ReasonNotArrow},
		{"no end mark", Message{Value: value[:len(value)-8]}, ReasonTruncated},
		{"half an end mark", Message{Value: value[:len(value)-4]}, ReasonTruncated},
		{"half", Message{Value: value[:len(value)/2]}, ReasonTruncated},
		{"more", Message{Value: append(append([]byte{}, value...), 1)}, ReasonTrailing},
		{"two streams", Message{Value: append(append([]byte{}, value...), value...)}, ReasonTrailing},
		{"more rows announced", Message{Value: value, Headers: Headers{Rows: []byte("4")}}, ReasonRows},
		{"fewer rows announced", Message{Value: value, Headers: Headers{Rows: []byte("2")}}, ReasonRows},
		{"no rows announced", Message{Value: value, Headers: Headers{Rows: []byte("0")}}, ReasonRows},
		{"rows that are no number", Message{Value: value, Headers: Headers{Rows: []byte("x")}}, ReasonRows},
		{"crc", Message{Value: value, Headers: Headers{CRC32C: []byte("00000000")}}, ReasonCRC},
		{"crc that is no number", Message{Value: value, Headers: Headers{CRC32C: []byte("zz")}}, ReasonCRC},
		{"large", Message{Value: make([]byte, DefaultMaxMessage+1)}, ReasonTooLarge},
		{"a column twice", Message{Value: encodeStream(t, []arrow.Record{twice})}, ReasonSchema},
		{"good", Message{Value: value, Headers: headers}, ""},
	} {
		d := mustDecoder(t, bankOptions())
		var b model.Batch
		_, err := d.Decode(&c.m, &b, nil)
		var m *MessageError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &m) || m.Reason != c.want):
			t.Errorf("%s: %v, want the reason %s", c.name, err, c.want)
		}
	}
}

// TestBombs: little messages that ask for much.
func TestBombs(t *testing.T) {
	o := bankOptions()
	o.MaxMessage = 1 << 16
	d := mustDecoder(t, o)
	// Constant columns compress to little.
	rec := bankRecord(1)
	const rows = 200_000
	ones := array.NewInt64Builder(memory.DefaultAllocator)
	for range rows {
		ones.Append(1)
	}
	one := ones.NewArray()
	fields := make([]arrow.Field, len(rec.Schema().Fields()))
	cols := make([]arrow.Array, len(fields))
	for i, f := range rec.Schema().Fields() {
		fields[i], cols[i] = field(f.Name, int64Type), one
	}
	big := array.NewRecord(arrow.NewSchema(fields, nil), cols, rows)
	value := encodeStream(t, []arrow.Record{big}, ipc.WithZstd())
	if len(value) > 1<<16 {
		t.Fatalf("the bomb has %d bytes", len(value))
	}
	var b model.Batch
	var m *MessageError
	if _, err := d.Decode(&Message{Value: value}, &b, nil); !errors.As(err, &m) || m.Reason != ReasonTooLarge {
		t.Errorf("%v", err)
	}
	// Rows of the null type cost no bytes at all.
	nulls := make([]arrow.Array, len(fields))
	for i, f := range rec.Schema().Fields() {
		fields[i] = field(f.Name, arrow.Null)
		nulls[i] = array.NewNull(maxRows)
	}
	value = encodeStream(t, []arrow.Record{array.NewRecord(arrow.NewSchema(fields, nil), nulls, maxRows)})
	if _, err := d.Decode(&Message{Value: value}, &b, nil); !errors.As(err, &m) || m.Reason != ReasonTooLarge {
		t.Errorf("%v", err)
	}
}

// TestOneMeaning: a level is the same in columns of every type.
func TestOneMeaning(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"1", "2"},
		Features: []model.Feature{{Name: "v", Kind: model.Nominal}}}, Label: "v2", Missing: []string{"?"}}
	for _, typ := range []arrow.DataType{utf8Type, int64Type, realType, arrow.PrimitiveTypes.Float32,
		arrow.PrimitiveTypes.Uint8,
		&arrow.Decimal128Type{Precision: 10, Scale: 2}, arrow.BinaryTypes.LargeString} {
		rows := `[{"v": 1, "v2": 1}, {"v": 2, "v2": 2}]`
		if typ == utf8Type || typ == arrow.BinaryTypes.LargeString {
			rows = `[{"v": "1", "v2": "1"}, {"v": "2", "v2": "2"}]`
		}
		d := mustDecoder(t, o)
		var b model.Batch
		if _, err := d.Decode(&Message{Value: encodeStream(t,
			[]arrow.Record{record(t, []arrow.Field{field("v", typ), field("v2", typ)}, rows)})}, &b, nil); err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if !reflect.DeepEqual(b.Columns[0].Levels, []string{"1", "2"}) || !reflect.DeepEqual(b.Label, []int32{0, 1}) {
			t.Errorf("%s: levels %q, labels %v", typ, b.Columns[0].Levels, b.Label)
		}
	}
}

// TestOptions: columns in two roles.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		ok   bool
	}{
		{"no schema", Options{}, false},
		{"label is a feature", Options{Schema: bankSchema(), Label: "age"}, false},
		{"label is the id", Options{Schema: bankSchema(), Label: "c", ID: "c"}, false},
		{"id is a feature", Options{Schema: bankSchema(), ID: "job"}, true},
	} {
		if _, err := NewDecoder(c.o); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestBatchesDoNotMatter: the same rows in one batch, in many, and in messages of their own.
func TestBatchesDoNotMatter(t *testing.T) {
	rec := bankRecord(50)
	d := mustDecoder(t, bankOptions())
	text := func(b *model.Batch, i int) string {
		out := fmt.Sprint(b.ID[i], b.Label[i])
		for f := range b.Columns {
			if c := b.Columns[f]; c.Float != nil {
				out += fmt.Sprint(" ", c.Float[i])
			} else {
				out += " " + c.Levels[c.Code[i]]
			}
		}
		return out
	}
	var whole, split, single []string
	var b model.Batch
	if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		whole = append(whole, text(&b, i))
	}
	var parts []arrow.Record
	for i := int64(0); i < 50; i += 7 {
		parts = append(parts, rec.NewSlice(i, min(i+7, 50)))
	}
	if _, err := d.Decode(&Message{Value: encodeStream(t, parts)}, &b, nil); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		split = append(split, text(&b, i))
	}
	for i := range int64(50) {
		if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec.NewSlice(i, i+1)})}, &b, nil); err != nil {
			t.Fatal(err)
		}
		single = append(single, text(&b, 0))
	}
	if !reflect.DeepEqual(whole, split) || !reflect.DeepEqual(whole, single) {
		t.Error("the rows differ")
	}
}

// TestOffsetsNeedNotStartAtZero: a text column whose first offset is not 0, as other writers send slices, must come out
// of the scores as it went in.
func TestOffsetsNeedNotStartAtZero(t *testing.T) {
	offsets := arrow.Int32Traits.CastToBytes([]int32{3, 5, 8})
	text := array.NewData(utf8Type, 2, []*memory.Buffer{nil, memory.NewBufferBytes(offsets),
		memory.NewBufferBytes([]byte("xxxabcdexx"))}, nil, 0, 0)
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{field("who", utf8Type)}, nil),
		[]arrow.Array{array.MakeFromData(text)}, 2)
	value, err := NewEventEncoder().Encode(nil, &Table{rec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for table, err := range Tables(value, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range table.Rows() {
			s, _ := table.Text(0, i)
			got = append(got, s)
		}
	}
	if want := []string{"ab", "cde"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEventEncoder(t *testing.T) {
	table := &Table{bankRecord(20)}
	e := NewEventEncoder()
	d := mustDecoder(t, bankOptions())
	for _, rows := range [][]int{nil, {0, 3, 4, 5, 19}, {7}} {
		value, err := e.Encode(nil, table, rows)
		if err != nil {
			t.Fatal(err)
		}
		var b model.Batch
		n := len(rows)
		if rows == nil {
			n = 20
		}
		if bad, err := d.Decode(&Message{Value: value, Headers: EventHeaders(value, n)}, &b, nil); err != nil ||
			len(bad) > 0 {
			t.Fatal(err, bad)
		}
		for i, r := range rows {
			if b.ID[i] != fmt.Sprintf("c%06d", r) {
				t.Errorf("row %d is %s", r, b.ID[i])
			}
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {math.Copysign(0, -1), "0"}, {1, "1"}, {-3, "-3"}, {1e6, "1000000"}, {0.1, "0.1"}, {1e-7, "0.0000001"},
		{1e-8, "1e-08"},
		{1 << 60, "1152921504606846976"}, {1e21, "1e+21"}, {123.456, "123.456"}} {
		if got := string(model.AppendNumber(nil, c.v, 64)); got != c.want {
			t.Errorf("%v is %q, want %q", c.v, got, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		s    string
		want int64
		ok   bool
	}{{"1970-01-01T00:00:01Z", 1e9, true}, {"1970-01-01 00:00:01.5", 15e8, true}, {"1970-01-02", 86400e9, true},
		{" 1000 ", 1e9, true},
		{"1970-01-01T01:00:00+01:00", 0, true}, {"yesterday", 0, false}, {"", 0, false}, {"9999-01-01", 0, false},
		{"9223372036854775807", 0, false}, {"2262-06-01", 0, false}, {"1677-12-31", 0, false},
		{"2261-12-31", 9214560000e9, true}, {"1970-01-01T00:01", 60e9, true}, {"1970-01-01 00:01Z", 60e9, true},
		{"1970/01/02", 86400e9, true}, {"1970/01/01 00:00:01.5", 15e8, true}, {"01/02/1970", 0, false}} {
		if got, ok := parseTime(c.s, 0); ok != c.ok || got != c.want {
			t.Errorf("%q is %d, %v", c.s, got, ok)
		}
	}
}

// TestLevelsAreText: bytes that are not UTF-8 are not published as a level.
func TestLevelsAreText(t *testing.T) {
	c := levelColumn{missing: map[string]bool{}, account: &account{limit: 1 << 20}}
	c.begin(nil)
	a, b, same := c.lookup([]byte("gr\xFCn")), c.lookup([]byte("green")), c.lookup([]byte(" gr\xFCn"))
	if want := []string{"gr\uFFFDn", "green"}; a != 0 || b != 1 || same != a || !reflect.DeepEqual(c.levels, want) {
		t.Errorf("codes %d %d %d of %q", a, b, same, c.levels)
	}
}

// TestInternForgets: the table of texts stays bounded, and codes stay right when it is emptied.
func TestInternForgets(t *testing.T) {
	c := levelColumn{missing: map[string]bool{"": true}, account: &account{limit: 1 << 40}}
	for batch := range 40 {
		c.begin(nil)
		for i := range 2000 {
			text := fmt.Sprintf("level %d of %d", i, batch)
			if got := c.lookup([]byte(text)); got != uint32(i) || c.levels[got] != text {
				t.Fatalf("batch %d: %q has code %d", batch, text, got)
			}
			if got := c.lookup([]byte(" " + text + " ")); got != uint32(i) {
				t.Fatalf("batch %d: with spaces %q has code %d", batch, text, got)
			}
		}
		if c.lookup(nil) != model.MissingCode {
			t.Fatal("an empty text is not missing")
		}
		if len(c.raw) > internTexts+4001 {
			t.Fatalf("%d texts are kept", len(c.raw))
		}
	}
}
