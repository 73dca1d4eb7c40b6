package codec

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type expectation struct {
	Numbers    map[string][]*float64
	Levels     map[string][]*string
	Times      map[string][]int64
	Dictionary []*string
}

func expected(t testing.TB) (e expectation) {
	t.Helper()
	if err := json.Unmarshal(testdata(t, "expected.json"), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// typesOptions asks for every column of types.arrows that is a number or a level.
func typesOptions(e expectation) Options {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, n := range sorted(e.Numbers) {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Continuous})
	}
	for _, n := range sorted(e.Levels) {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	return Options{Schema: s, Missing: []string{"", "NA"}}
}

// TestTypes reads files of pyarrow: every type, plain and compressed, with the values that Python printed.
func TestTypes(t *testing.T) {
	e := expected(t)
	o := typesOptions(e)
	d := mustDecoder(t, o)
	for _, file := range []string{"types.arrows", "types_lz4.arrows", "types_zstd.arrows", "types.arrows"} {
		var b model.Batch
		bad, err := d.Decode(&Message{Value: testdata(t, file)}, &b, nil)
		if err != nil || len(bad) > 0 || b.N != 4 {
			t.Fatalf("%s: %d rows, %v, %v", file, b.N, bad, err)
		}
		for f, feature := range o.Schema.Features {
			c := b.Columns[f]
			for i := range b.N {
				if feature.Kind == model.Continuous {
					want := math.NaN()
					if p := e.Numbers[feature.Name][i]; p != nil {
						want = *p
					}
					if got := c.Float[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
						t.Errorf("%s: %s[%d] = %v, want %v", file, feature.Name, i, got, want)
					}
					continue
				}
				want, got := e.Levels[feature.Name][i], c.Code[i]
				switch {
				case (want == nil) != (got == model.MissingCode):
					t.Errorf("%s: %s[%d] = code %d, want %v", file, feature.Name, i, got, want)
				case want != nil && c.Levels[got] != *want:
					t.Errorf("%s: %s[%d] = %q, want %q", file, feature.Name, i, c.Levels[got], *want)
				}
			}
		}
	}
}

func TestTimes(t *testing.T) {
	e := expected(t)
	for _, name := range sorted(e.Times) {
		d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"a"}}, Time: name})
		var b model.Batch
		bad, err := d.Decode(&Message{Value: testdata(t, "types.arrows"), Time: 99}, &b, nil)
		if err != nil || len(bad) > 0 {
			t.Errorf("%s: %v %v", name, bad, err)
			continue
		}
		if !reflect.DeepEqual(b.Time, e.Times[name]) {
			t.Errorf("%s: %v, want %v", name, b.Time, e.Times[name])
		}
	}
}

// TestDictionaries reads a message whose dictionary grows and is replaced, and then another message of the same schema:
// a kept reader would give it the values of the first.
func TestDictionaries(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "color", Kind: model.Nominal}}}, Label: "class"}
	d := mustDecoder(t, o)
	check := func(file string, want []*string) {
		t.Helper()
		var b model.Batch
		if bad, err := d.Decode(&Message{Value: testdata(t, file)}, &b, nil); err != nil || len(bad) > 0 || b.N != len(want) {
			t.Fatalf("%s: %d rows, %v, %v", file, b.N, bad, err)
		}
		c := b.Columns[0]
		for i, w := range want {
			if (w == nil) != (c.Code[i] == model.MissingCode) || w != nil && c.Levels[c.Code[i]] != *w {
				t.Errorf("%s: row %d is not %v", file, i, w)
			}
			if b.Label[i] != 1 {
				t.Errorf("%s: row %d: label %d", file, i, b.Label[i])
			}
		}
	}
	one, two := "one", "two"
	for range 2 {
		check("dictionary.arrows", expected(t).Dictionary)
		check("other_dictionary.arrows", []*string{&one, &two})
		check("dictionary_zstd.arrows", expected(t).Dictionary)
	}
	// A message of the schema without its dictionary must not be read with those of the message before.
	value := testdata(t, "other_dictionary.arrows")
	frames, err := split(value, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cutOut []byte
	start := 0
	for i, f := range frames {
		end := start + 8 + len(f.meta) + len(f.body)
		if i != 1 {
			cutOut = append(cutOut, value[start:end]...)
		}
		start = end
	}
	cutOut = append(cutOut, value[start:]...)
	var b model.Batch
	if _, err := d.Decode(&Message{Value: cutOut}, &b, nil); err == nil {
		t.Fatalf("a message without its dictionary was read as %v", b.Columns[0])
	}
}

func TestNoRows(t *testing.T) {
	e := expected(t)
	d := mustDecoder(t, typesOptions(e))
	enc, err := NewScoreEncoder(d.o)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	var c Carry
	if bad, err := d.Decode(&Message{Value: testdata(t, "empty.arrows")}, &b, &c); err != nil || len(bad) > 0 || b.N != 0 {
		t.Fatalf("%d rows, %v, %v", b.N, bad, err)
	}
	s := &model.Scores{}
	s.Reset(0, 2)
	value, err := enc.Encode(nil, &b, s, model.NewLevels(d.o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	for table, err := range Tables(value, 0) {
		if err != nil || table.Rows() != 0 {
			t.Fatalf("%v, %v", table, err)
		}
	}
}

func TestLabelsByPosition(t *testing.T) {
	d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, Label: "class"})
	var l model.Labels
	bad, err := d.DecodeLabels(&Message{Value: testdata(t, "labels.arrows"), Time: 5}, &l)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Labels{N: 2, Class: []int32{1, 0}, Partition: []int32{3, 4}, Offset: []int64{10, 11}, Row: []int32{0, 1},
		Time: []int64{5, 5}}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("%+v, want %+v", l, want)
	}
	wantBad := []RowError{{Row: 2, Reason: ReasonLabel, Column: "class"}, {Row: 3, Reason: ReasonLabel, Column: "class",
		Value: "maybe"}}
	if !reflect.DeepEqual(bad, wantBad) {
		t.Errorf("%v, want %v", bad, wantBad)
	}
	row, err := d.AppendRow(nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	for table, err := range Tables(row, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got := string(table.AppendJSON(nil,
			0)); got != `{"class":"maybe","source_partition":6,"source_offset":13,"source_row":3}` {
			t.Error(got)
		}
	}
}

// TestSecondNamesColumn: the error of a message that does not fit names the column.
func TestSchemaErrors(t *testing.T) {
	classes := []string{"a"}
	feature := func(name string, k model.Kind) *model.Schema {
		return &model.Schema{Classes: classes, Features: []model.Feature{{Name: name, Kind: k}}}
	}
	for _, c := range []struct {
		name string
		o    Options
		col  string
	}{
		{"missing feature", Options{Schema: feature("gone", model.Continuous)}, "gone"},
		{"text for a number", Options{Schema: feature("l_string", model.Continuous)}, "l_string"},
		{"dictionary of text for a number", Options{Schema: feature("l_dictionary", model.Continuous)}, "l_dictionary"},
		{"list for a level", Options{Schema: feature("x_list", model.Nominal)}, "x_list"},
		{"binary for a level", Options{Schema: feature("x_binary", model.Nominal)}, "x_binary"},
		{"time for a number", Options{Schema: feature("t_ns_UTC", model.Continuous)}, "t_ns_UTC"},
		{"missing id", Options{Schema: &model.Schema{Classes: classes}, ID: "who"}, "who"},
		{"text weight", Options{Schema: &model.Schema{Classes: classes}, Weight: "l_string"}, "l_string"},
		{"boolean time", Options{Schema: &model.Schema{Classes: classes}, Time: "n_bool"}, "n_bool"},
		{"struct label", Options{Schema: &model.Schema{Classes: classes}, Label: "x_struct"}, "x_struct"},
	} {
		d := mustDecoder(t, c.o)
		var b model.Batch
		_, err := d.Decode(&Message{Value: testdata(t, "types.arrows")}, &b, nil)
		var m *MessageError
		if !errors.As(err, &m) || m.Reason != ReasonSchema || m.Column != c.col {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCarry: features come out of the scores as they went in, in their own types, from several batches, whole and with
// rows left out.
func TestCarry(t *testing.T) {
	types := typesOptions(expected(t))
	types.ID = "l_string_view_long" // its null row is bad
	colors := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "color", Kind: model.Nominal}}}}
	for _, c := range []struct {
		file string
		o    Options
		bad  int
	}{{"types.arrows", types, 1}, {"dictionary.arrows", colors, 0}, {"other_dictionary.arrows", colors, 0}} {
		var want []string
		for table, err := range Tables(testdata(t, c.file), 0) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range table.Rows() {
				if c.o.ID != "" {
					if _, ok := table.Text(table.Column(c.o.ID), i); !ok {
						continue
					}
				}
				want = append(want, rendered(table, i, c.o.Schema))
			}
		}
		for _, selected := range []bool{false, true} {
			o := c.o
			o.Features = FeaturesAll
			if selected {
				o.Features = FeaturesSelected
			}
			d := mustDecoder(t, o)
			e, err := NewScoreEncoder(o)
			if err != nil {
				t.Fatal(err)
			}
			var b model.Batch
			var carry Carry
			bad, err := d.Decode(&Message{Value: testdata(t, c.file)}, &b, &carry)
			if err != nil || len(bad) != c.bad {
				t.Fatalf("%s: %v, %v", c.file, bad, err)
			}
			s := &model.Scores{}
			s.Reset(b.N, 2)
			for i := range b.N {
				for f := range o.Schema.Features {
					s.Subspace, s.Relevance = append(s.Subspace, int32(f)), append(s.Relevance, 1)
				}
				s.SubspaceEnd[i] = int32(len(s.Subspace))
			}
			out, err := e.Encode(nil, &b, s, model.NewLevels(o.Schema), &carry)
			if err != nil {
				t.Fatalf("%s: %v", c.file, err)
			}
			var got []string
			for table, err := range Tables(out, 0) {
				if err != nil {
					t.Fatalf("%s: %v", c.file, err)
				}
				for i := range table.Rows() {
					got = append(got, rendered(table, i, o.Schema))
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, selected %v:\n%q, want\n%q", c.file, selected, got, want)
			}
		}
	}
}

func rendered(t *Table, row int, s *model.Schema) string {
	line := ""
	for i := range s.Features {
		c := t.Column(s.Features[i].Name)
		line += s.Features[i].Name + " " + t.Columns()[c].Type + " " + string(appendJSON(nil, t.Record().Column(c), row)) +
			"\n"
	}
	return line
}

// TestDeadLetters: a row is cut out of a message with every column as it was.
func TestDeadLetters(t *testing.T) {
	d := mustDecoder(t, typesOptions(expected(t)))
	value := testdata(t, "types.arrows")
	var b model.Batch
	if _, err := d.Decode(&Message{Value: value}, &b, nil); err != nil {
		t.Fatal(err)
	}
	for whole, err := range Tables(value, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for row := range whole.Rows() {
			letter, err := d.AppendRow(nil, int32(row))
			if err != nil {
				t.Errorf("row %d: %v", row, err)
				continue
			}
			for one, err := range Tables(letter, 0) {
				if err != nil || one.Rows() != 1 {
					t.Fatalf("row %d: %v", row, err)
				}
				for i, c := range whole.Columns() {
					got, want := string(appendJSON(nil, one.rec.Column(i), 0)), string(appendJSON(nil, whole.rec.Column(i), row))
					if got != want {
						t.Errorf("row %d: %s is %s, want %s", row, c.Name, got, want)
					}
				}
			}
		}
	}
	if _, err := d.AppendRow(nil, 4); err == nil {
		t.Error("a row that is not there was cut out")
	}
}
