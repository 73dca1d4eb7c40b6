package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/codec/number"
	"liftstream/model"
)

// linesOf are the rows of a record as JSON lines, of which every second has its keys in the reverse order.
func linesOf(rec arrow.Record) string {
	var out []byte
	names := rec.Schema().Fields()
	for i := range int(rec.NumRows()) {
		if i%2 == 0 {
			out = append((&Table{rec}).AppendJSON(out, i), '\n')
			continue
		}
		sep := byte('{')
		for k := len(names) - 1; k >= 0; k-- {
			out = append(appendQuoted(append(out, sep), names[k].Name), ':')
			out = appendJSON(out, rec.Column(k), i)
			sep = ','
		}
		out = append(out, "}\r\n\n"...)
	}
	return string(out)
}

// Ids and times of JSON are texts in scores.
var plainValue = regexp.MustCompile(`"(id|time)":(\d+)`)

// batchOf reads a message and returns the batch, bad rows by number and reason, and the scores of made-up numbers.
func batchOf(t *testing.T, o Options, value []byte) (b model.Batch, bad []string, scores string) {
	t.Helper()
	var c Carry
	d := mustDecoder(t, o)
	rows, err := d.Decode(&Message{Value: value, Time: 42, Now: 1e9, Partition: 2, Offset: 8}, &b, &c)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows {
		bad = append(bad, fmt.Sprint(e.Row, e.Reason))
	}
	enc, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &model.Scores{}
	s.Reset(b.N, len(o.Schema.Classes))
	out, err := enc.Encode(nil, &b, s, model.NewLevels(o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Columns { // NaN is not equal to itself
		for i, v := range c.Float {
			if v != v {
				c.Float[i] = math.MaxFloat64
			}
		}
	}
	return b, bad, plainValue.ReplaceAllString(string(out), `"$1":"$2"`)
}

// TestObjectsAreReadAsArrowIs: the same rows are the same batch and have the same scores.
func TestObjectsAreReadAsArrowIs(t *testing.T) {
	for name, c := range map[string]struct {
		o   Options
		rec arrow.Record
	}{
		"bank":     {bankOptions(), bankRecord(100)},
		"derived":  {derivedBank(), bankRecord(100)},
		"contract": {contractOptions(), record(t, contractFields, contractRows)},
		"values": {Options{Schema: &model.Schema{Classes: []string{"no", "1"}, Features: []model.Feature{
			{Name: "x", Kind: model.Continuous}, {Name: "v", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal}}},
			Label: "y"},
			record(t, []arrow.Field{field("x", realType), field("v", realType), field("b", arrow.FixedWidthTypes.Boolean),
				field("y", int64Type)}, `[{"x": 1e-9, "v": 1e20, "b": true, "y": 1}, {"x": 0.1, "v": 0.1, "b": false, "y": 1},
				{"x": 1e300, "v": -0.0, "b": null, "y": 2}, {"x": -1, "v": 12345678.5, "b": true, "y": null}]`)},
	} {
		c.o.Format = FormatJSONL
		want, wantBad, wantScores := batchOf(t, c.o, encodeStream(t, []arrow.Record{c.rec}))
		c.o.Input = InputJSONL
		lines := linesOf(c.rec)
		got, bad, scores := batchOf(t, c.o, []byte(lines))
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(bad, wantBad) || scores != wantScores {
			t.Errorf("%s in lines: bad %v, want %v, batch\n%+v, want\n%+v, scores\n%s, want\n%s", name, bad, wantBad, got, want,
				scores, wantScores)
		}
		c.o.Input = InputJSON
		row := 0
		for line := range strings.FieldsFuncSeq(lines, func(r rune) bool { return r == '\n' }) {
			if line == "\r" {
				continue
			}
			line = "\x00\x00\x00\x01\x02 " + strings.ReplaceAll(line, ",\"", ",\n\t\"") // framed and indented
			_, bad, scores := batchOf(t, c.o, []byte(line))
			want := strings.ReplaceAll(scores, `"source_row":0,`, fmt.Sprintf(`"source_row":%d,`, row))
			if !strings.Contains(wantScores, want) || len(bad) > 1 {
				t.Errorf("%s, object %d: scores %s are not among\n%s", name, row, want, wantScores)
			}
			row++
		}
		if row != int(c.rec.NumRows()) {
			t.Errorf("%s: %d objects", name, row)
		}
	}
}

// TestObjects: rows and messages of odd JSON. A bad line is a row of its own, and its letter is the line.
func TestObjects(t *testing.T) {
	yes := true
	good := `{"who": 1, "x": 2, "v": "a"}`
	for _, c := range []struct {
		name, value string
		json        bool
		rows        int
		want        string // the error of the message, or of its only bad row
		letter      string
	}{
		{"a line", good, false, 1, "", ""},
		{"an object", " " + good + "\n", true, 1, "", ""},
		{"a framed one", "\x00\x00\x00\x00\x07" + good, true, 1, "", ""},
		{"lines", good + "\n\n" + good + "\r\n", false, 2, "", ""},
		{"nothing", "", false, 0, "empty: no bytes", ""},
		{"no JSON", "hello", false, 0, "not_json: the first bytes are 68 65 6c 6c", ""},
		{"a list", "[" + good + "]", true, 0, "not_json", ""},
		{"a frame alone", "\x00\x00\x00\x00\x07", true, 0, "not_json", ""},
		{"two objects", good + good, true, 0, "damaged: text after the object", ""},
		{"half an object", good[:9], true, 0, "damaged: not a JSON object", ""},
		{"a line of another kind", good + "\n7\n" + good, false, 2, "row 1: damaged: not a JSON object", "7"},
		{"half a line", good + "\n" + good[:25], false, 1, "row 1: damaged: a string is never closed", good[:25]},
		{"a missing key", good + "\n" + `{"who": 1, "v": "a"}`, false, 1, `row 1: schema: column "x" is missing`,
			`{"who": 1, "v": "a"}`},
		{"missing keys", "{}", false, 0,
			`row 0: schema: column "who" is missing; column "x" is missing; column "v" is missing`,
			"{}"},
		{"a key that may be missing", strings.Replace(good, "who", "who\": 3, \"w\": null, \"z\": [{}], \"u", 1), false, 1,
			"", ""},
		{"a key twice", `{"who": 1, "x": 2, "x": 2, "v": "a"}`, false, 0, `row 0: damaged: the key "x" occurs twice`, ""},
		{"a text for a number", `{"who": 1, "x": "2", "v": "a"}`, false, 0,
			`row 0: number: column "x" holds the text "2"; a num`, ""},
		{"missing as a text", `{"who": 1, "x": " NA", "v": "NA"}`, false, 1, "", ""},
		{"a list for a level", `{"who": 1, "x": 2, "v": ["a"]}`, false, 0,
			`row 0: schema: column "v" is an object or a list`, ""},
		{"no id", `{"who": null, "x": 2, "v": "a"}`, false, 0, `row 0: id: column "who"`, ""},
		{"deep", `{"who": 1, "x": 2, "v": "a", "z": ` + strings.Repeat("[", 1e6) + "}", false, 0, "row 0: damaged", ""},
		{"a number beyond the range", `{"who": 1, "x": 1e999, "v": -1e999}`, false, 1, "", ""},
		{"half an escape", `{"who": 1, "x": 2, "v": "a\u12"}`, false, 0, "row 0: damaged: not a JSON object", ""},
	} {
		o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{
			{Name: "x", Kind: model.Continuous}, {Name: "v", Kind: model.Nominal}, {Name: "w", Kind: model.Nominal}}},
			ID: "who", Label: "y", Missing: []string{"NA"}, Nullable: map[string]bool{"w": yes}, Input: InputJSONL}
		if c.json {
			o.Input = InputJSON
		}
		d := mustDecoder(t, o)
		var b model.Batch
		bad, err := d.Decode(&Message{Value: []byte(c.value)}, &b, &Carry{})
		got := ""
		switch {
		case err != nil:
			got = strings.TrimPrefix(err.Error(), "decoding message: ")
		case len(bad) == 1:
			got = bad[0].Error()
		}
		if b.N != c.rows || (c.want == "") != (got == "") || !strings.Contains(got, c.want) || len(bad) > 1 {
			t.Errorf("%s: %d rows, %q, want %d and %q", c.name, b.N, got, c.rows, c.want)
		}
		if c.letter != "" && string(d.DeadRow(nil, bad[0].Row)) != c.letter {
			t.Errorf("%s: the letter is %q", c.name, d.DeadRow(nil, bad[0].Row))
		}
	}
}

// TestNumbersOfObjects: values that a double does not hold are counted, and written numbers are read as the
// configuration says.
func TestNumbersOfObjects(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{
		{Name: "x", Kind: model.Continuous}, {Name: "id", Kind: model.Nominal}}}, Label: "y", Input: InputJSONL,
		Numbers: number.Format{Decimal: ","}, Nullable: map[string]bool{"id": true}}
	d := mustDecoder(t, o)
	var b model.Batch
	bad, err := d.Decode(&Message{Value: []byte(`{"x": 9007199254740993, "id": 9007199254740993}
{"x": 9007199254740992, "id": 1.50}
{"x": "1,5", "id": "1.50"}
{"x": 1.5, "id": true}
{"x": 1e400}
{"x": null}`)}, &b, nil)
	if err != nil || len(bad) != 0 {
		t.Fatal(bad, err)
	}
	want := Changes{Rounded: 1, Infinite: 1, Absent: 2}
	if got := d.Changes(); got != want {
		t.Errorf("changes %+v, want %+v", got, want)
	}
	x := b.Columns[0].Float
	if x[0] != 1<<53 || x[1] != 1<<53 || x[2] != 1.5 || x[3] != 1.5 || !math.IsNaN(x[4]) || !math.IsNaN(x[5]) {
		t.Errorf("x %v", x)
	}
	if got := b.Columns[1].Levels; !reflect.DeepEqual(got, []string{"9007199254740993", "1.5", "true"}) {
		t.Errorf("levels %q", got)
	}
}

// TestAColumnInSeveralRolesCountsOnce: a feature that others are derived from is read once, and named once where it is
// missing; the changes are those of the same rows in Arrow.
func TestAColumnInSeveralRolesCountsOnce(t *testing.T) {
	o := derivedBank()
	o.Nullable = map[string]bool{"day": true, "duration": true}
	rec := record(t, []arrow.Field{field("customer", int64Type), field("age", int64Type), field("balance", int64Type)},
		`[{"customer": 1, "age": 3, "balance": "9007199254740993"}, {"customer": 2, "age": 5, "balance": 7}]`)
	var changes []Changes
	for in, value := range map[Input]string{InputArrow: string(encodeStream(t, []arrow.Record{rec})),
		InputJSONL: linesOf(rec)} {
		o.Input = in
		d := mustDecoder(t, o)
		var b model.Batch
		if bad, err := d.Decode(&Message{Value: []byte(value)}, &b, nil); err != nil || len(bad) != 0 || b.N != 2 {
			t.Fatal(bad, err)
		}
		changes = append(changes, d.Changes())
	}
	if want := (Changes{Rounded: 1, Absent: 2}); changes[0] != want || changes[1] != want {
		t.Errorf("changes %+v, want %+v", changes, want)
	}
	o = derivedBank()
	rec = record(t, []arrow.Field{field("customer", int64Type)}, `[{"customer": 1}]`)
	for in, value := range map[Input]string{InputArrow: string(encodeStream(t, []arrow.Record{rec})),
		InputJSONL: linesOf(rec)} {
		o.Input = in
		var b model.Batch
		bad, err := mustDecoder(t, o).Decode(&Message{Value: []byte(value)}, &b, nil)
		for _, column := range []string{"age", "balance", "duration", "day"} {
			if got := fmt.Sprint(bad, err); strings.Count(got, `"`+column+`"`) != 1 {
				t.Errorf("input %d: %s names %q not once", in, got, column)
			}
		}
	}
}

// TestLabelsOfObjects: labels name their records by id where a row of the message has one, else by position.
func TestLabelsOfObjects(t *testing.T) {
	o := contractOptions()
	o.Input = InputJSONL
	for _, c := range []struct {
		name, value string
		ids         []string
		offsets     []int64
		bad         string
	}{
		{"by id", `{"who": 7, "class": "no"}` + "\n" + `{"class": 1, "who": "8"}`, []string{"7", "8"}, nil, ""},
		{"by position", `{"class": 1, "source_partition": 0, "source_offset": 9007199254740993, "source_row": 2}`, nil,
			[]int64{9007199254740993}, ""},
		{"a position of text", `{"class": 1, "source_partition": 0, "source_offset": "3", "source_row": 2}`, nil, nil,
			"record"},
		{"neither", `{"class": 1}`, nil, nil, "record"},
		{"one without an id", `{"who": 7, "class": "no"}` + "\n" + `{"class": 1}`, []string{"7"}, nil, "id"},
		{"no label", `{"who": 7}`, []string{}, nil, "schema"},
		{"no class", `{"who": 7, "class": null}`, []string{}, nil, "label"},
	} {
		var l model.Labels
		bad, err := mustDecoder(t, o).DecodeLabels(&Message{Value: []byte(c.value)}, &l)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		reason := ""
		for _, e := range bad {
			reason = string(e.Reason)
		}
		if reason != c.bad || len(l.ID) != len(c.ids) || len(c.ids) > 0 && !reflect.DeepEqual(l.ID, c.ids) ||
			len(l.Offset) != len(c.offsets) || len(c.offsets) > 0 && l.Offset[0] != c.offsets[0] {
			t.Errorf("%s: ids %q, offsets %v, bad %v", c.name, l.ID, l.Offset, bad)
		}
	}
}

// TestObjectsAreBounded: many rows of few bytes are more memory than a message may take.
func TestObjectsAreBounded(t *testing.T) {
	o := bankOptions()
	o.Input, o.MaxMessage = InputJSONL, 1<<16
	var b model.Batch
	_, err := mustDecoder(t, o).Decode(&Message{Value: []byte(strings.Repeat("{}\n", 1<<14))}, &b, nil)
	var m *MessageError
	if !errors.As(err, &m) || m.Reason != ReasonTooLarge {
		t.Error(err)
	}
	done := make(chan struct{})
	close(done)
	if _, err = mustDecoder(t, o).Decode(&Message{Value: []byte("{}"), Done: done}, &b, nil); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// TestObjectsThatStopAreNoDeadLetters: a message that is told to stop while its rows wait for memory is not judged, and
// one whose only object is too large is too large.
func TestObjectsThatStopAreNoDeadLetters(t *testing.T) {
	object := `{"id":"` + strings.Repeat("x", 3<<16) + `"}`
	for in, value := range map[Input]string{InputJSONL: strings.Repeat(`{"id":"x"}`+"\n", 1000), InputJSON: object} {
		o := bankOptions()
		o.Input, o.Budget = in, &Budget{total: 1 << 30, common: step, taken: true} // the rest is held by others
		if in == InputJSON {
			o.Budget.common = 2 * int64(len(value))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for waits := false; !waits; time.Sleep(time.Millisecond) {
				o.Budget.mu.Lock()
				waits = len(o.Budget.waiting) > 0
				o.Budget.mu.Unlock()
			}
		}()
		var b model.Batch
		_, err := mustDecoder(t, o).Decode(&Message{Value: []byte(value), Done: done}, &b, nil)
		if !errors.Is(err, ErrStopped) {
			t.Errorf("input %d: %v", in, err)
		}
	}
	o := bankOptions()
	o.Input, o.MaxMessage = InputJSON, int64(len(object))
	o.Budget = NewBudget(2 * (2*int64(len(object)) + 64))
	var b model.Batch
	_, err := mustDecoder(t, o).Decode(&Message{Value: []byte(object)}, &b, nil)
	var m *MessageError
	if !errors.As(err, &m) || m.Reason != ReasonTooLarge {
		t.Error(err)
	}
}

// TestHalvesOfPairsInObjects: an escape that is half of a surrogate pair is no text. It is nobody's id, since all such
// ids would be one, and as a level it is counted.
func TestHalvesOfPairsInObjects(t *testing.T) {
	d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "v", Kind: model.Nominal}}}, ID: "id", Label: "y", Input: InputJSONL})
	value := `{"id":"a\ud83d\ude00","v":"x\ud83d\ude00","y":"no"}
{"id":"a\ud83d","v":"x","y":"no"}
{"id":"a\ude00","v":"x","y":"no"}
{"id":"b","v":"x\ud83d","y":"\udc00"}
`
	var b model.Batch
	bad, err := d.Decode(&Message{Value: []byte(value)}, &b, nil)
	if err != nil || len(bad) != 2 || bad[0] != (RowError{1, ReasonID, "id", "a\uFFFD"}) || bad[1].Row != 2 ||
		bad[1].Reason != ReasonID {
		t.Fatalf("%v, %v", bad, err)
	}
	if want := []string{"a\U0001F600", "b"}; !slices.Equal(b.ID, want) || d.Changes().Text != 1 ||
		!slices.Equal(b.Label, []int32{0, model.UnknownClass}) {
		t.Errorf("ids %q, want %q; %d changes, labels %v", b.ID, want, d.Changes().Text, b.Label)
	}
	if levels := b.Columns[0].Levels; !slices.Equal(levels, []string{"x\U0001F600", "x", "x\uFFFD"}) {
		t.Errorf("levels %q", levels)
	}
	var l model.Labels
	bad, err = d.DecodeLabels(&Message{Value: []byte(value)}, &l)
	if err != nil || l.N != 1 || len(bad) != 3 || bad[0].Reason != ReasonID || bad[2].Reason != ReasonLabel {
		t.Errorf("%d labels, %v, %v", l.N, bad, err)
	}
}

func FuzzObjects(f *testing.F) {
	for _, s := range []string{linesOf(record(f, contractFields, contractRows)), `{"who":1,"x":"\ud83d\u0041"}`,
		"\x00\x00\x00\x00\x01{}", `{"class":1,"source_partition":0,"source_offset":1e9,"source_row":-0}`, "{}\n{\n}"} {
		f.Add([]byte(s))
	}
	var decoders []*Decoder
	for _, in := range []Input{InputJSONL, InputJSON} {
		o := contractOptions()
		o.Input, o.MaxMessage, o.Features = in, 1<<20, FeaturesAll
		decoders = append(decoders, mustDecoder(f, o))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, d := range decoders {
			var b model.Batch
			var l model.Labels
			var c Carry
			bad, err := d.Decode(&Message{Value: value}, &b, &c)
			if err == nil && (len(b.Label) != b.N || len(b.ID) != b.N || len(b.Columns[0].Float) != b.N) {
				t.Fatalf("%d records: %+v", b.N, b)
			}
			for _, r := range bad {
				d.DeadRow(value, r.Row)
			}
			if _, err = d.DecodeLabels(&Message{Value: value}, &l); err == nil && len(l.Class) != l.N {
				t.Fatalf("%d classes of %d", len(l.Class), l.N)
			}
			d.Release()
		}
	})
}
