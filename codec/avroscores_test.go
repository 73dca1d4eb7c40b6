package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	lib "github.com/twmb/avro"

	"liftstream/model"
)

// oddScores are options with every column that scores may have, and names that Avro has not.
func oddScores() (Options, *model.Batch, *model.Scores, *model.Levels) {
	o := Options{ID: "who", Time: "at", Control: true, Uplift: true, Interval: true, Unusual: true,
		Schema: &model.Schema{Classes: []string{"no", "1 Jahr", "später"}, Positive: 1, Features: []model.Feature{
			{Name: "emp.rate"}, {Name: "2nd job", Kind: model.Nominal}}}}
	b := &model.Batch{N: 4, ID: []string{"a", "", "Zoë \x01\"", "d"}, Time: []int64{1e9 + 1, -1, 0, 1700000000123456789},
		Row: []int32{0, 1, 5, 127}, Partition: 16, Offset: 1 << 40}
	s := &model.Scores{}
	s.Reset(4, 3)
	s.Control, s.Unusual = []bool{true, false, false, true}, []int32{1, -1, -1, 0}
	s.Model = 300
	nan := math.NaN()
	for i := range 4 {
		copy(s.P[3*i:], []float64{.5, .125, .375})
		s.BaseRate[i], s.Lift[i], s.Percentile[i] = 1./3, 3*.125, .1
		s.Segment[i], s.Target[i] = int32(i-1), 2
		s.Uplift = append(s.Uplift, model.Uplift{Value: float64(i) / 10, Low: nan, High: 1})
		s.Intervals = append(s.Intervals, model.Interval{Low: .25, High: .5})
	}
	s.Status[1], s.Status[2], s.Reason[2] = model.StatusUntrained, model.StatusDegraded, "no_local"
	s.Subspace, s.Relevance = []int32{1, 0}, []float32{.3, 0}
	copy(s.SubspaceEnd, []int32{2, 2, 2, 2})
	s.Profile[0], s.ProfileLift[0] = "2nd job=x & emp.rate>3", 2.5
	s.Why = []model.Reason{{Feature: 0, Value: -1.5e-9, Effect: -.25, Lift: 2, N: 10},
		{Feature: 1, Value: 0, Effect: .1, Lift: nan, N: nan}, {Feature: 0, Value: nan, Effect: 1e300, Lift: 1, N: 1}}
	copy(s.WhyEnd, []int32{2, 2, 3, 3})
	levels := model.NewLevels(o.Schema)
	levels.Code(1, "x; y")
	return o, b, s, levels
}

// messages encodes all rows of a batch, each message for itself.
func messages(t testing.TB, o Options, b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) (out [][]byte) {
	t.Helper()
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	e.Begin(c, 0)
	value, err := e.Add([]byte("before"), b, s, levels, 0)
	if err != nil {
		t.Fatal(err)
	}
	parts, lost := e.Parts()
	if len(lost) > 0 {
		t.Fatalf("rows %v are lost", lost)
	}
	for _, p := range parts {
		out = append(out, value[p.Start:p.End])
	}
	return out
}

// TestGoldenAvroScores: the schema is that of testdata, and the messages are those of fastavro under it, made from the
// rows in JSON (testdata/avro.py). LIFTSTREAM_GOLDEN=write writes schemas and rows; the schema of scores only grows.
func TestGoldenAvroScores(t *testing.T) {
	o, b, s, levels := oddScores()
	golden := func(name string, got []byte) {
		t.Helper()
		path := "testdata/scores." + name
		if os.Getenv("LIFTSTREAM_GOLDEN") == "write" && name != "avro" {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%q\nwant\n%q", path, got, want)
		}
	}
	o.Format = FormatJSONL
	golden("jsonl", bytes.Join(messages(t, o, b, s, levels, nil), nil))
	for format, name := range map[Format]string{FormatAvro: "avsc", FormatJSON: "schema.json"} {
		o.Format = format
		text, err := ScoreSchema(o)
		if err != nil {
			t.Fatal(err)
		}
		golden(name, []byte(text+"\n"))
	}
	o.Format, o.Frame = FormatAvro, &Frame{}
	o.Frame.Set(1<<24 + 2)
	golden("avro", bytes.Join(messages(t, o, b, s, levels, nil), nil))
}

// scoredFormats are the formats, with a frame and without one.
func scoredFormats() map[string]func(o *Options) {
	return map[string]func(o *Options){
		"arrow":       func(o *Options) { o.Format = FormatArrow },
		"json":        func(o *Options) { o.Format = FormatJSON },
		"framed json": func(o *Options) { o.Format, o.Frame = FormatJSON, &Frame{} },
		"avro":        func(o *Options) { o.Format, o.Frame = FormatAvro, &Frame{} },
	}
}

// TestScoresAreTheSameInEveryFormat: read by name, each row is that of JSON lines.
func TestScoresAreTheSameInEveryFormat(t *testing.T) {
	odd, batch, scored, levels := oddScores()
	type world struct {
		o      Options
		b      *model.Batch
		s      *model.Scores
		levels *model.Levels
		c      *Carry
	}
	worlds := map[string]world{"all columns": {odd, batch, scored, levels, nil}}
	decoded := func(name string, o Options, rec arrow.Record, time int64) {
		w := world{o: o, b: &model.Batch{}, c: &Carry{}, levels: model.NewLevels(o.Schema)}
		if _, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec}), Time: time, Now: 1e9},
			w.b, w.c); err != nil {
			t.Fatal(err)
		}
		if w.s = bankScores(w.b.N); len(o.Schema.Features) < 16 {
			w.s = &model.Scores{}
			w.s.Reset(w.b.N, 2)
		}
		worlds[name] = w
	}
	for name, features := range map[string]Features{"no": FeaturesNone, "selected": FeaturesSelected, "all": FeaturesAll} {
		o := bankOptions()
		o.Features = features
		decoded(name+" features", o, bankRecord(20), 0)
		o = derivedBank()
		o.Features = features
		decoded(name+" derived features", o, bankRecord(20), 0)
	}
	o := contractOptions()
	o.Features = FeaturesAll
	decoded("contract", o, record(t, contractFields, contractRows), 42)
	for name, w := range worlds {
		o := w.o
		o.Format = FormatJSONL
		want := strings.Split(strings.TrimSpace(string(bytes.Join(messages(t, o, w.b, w.s, w.levels, w.c), nil))), "\n")
		for format, set := range scoredFormats() {
			o := w.o
			set(&o)
			if o.Frame != nil {
				o.Frame.Set(7)
			}
			all := messages(t, o, w.b, w.s, w.levels, w.c)
			if o.Format.Single() && len(all) != w.b.N {
				t.Errorf("%s, %s: %d messages of %d rows", name, format, len(all), w.b.N)
			}
			reader := Plain{Schemas: schemas{}}
			if o.Format == FormatAvro {
				text, err := ScoreSchema(o)
				if err != nil {
					t.Fatal(err)
				}
				reader.Schemas = schemas{7: text}
			}
			var got []string
			for _, value := range all {
				line, err := reader.Line(value, nil)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, format, err)
				}
				if (line != nil) != (o.Frame != nil) {
					t.Errorf("%s, %s: a frame is seen: %v", name, format, line != nil)
				}
				switch {
				case line != nil:
					got = append(got, string(line))
				case o.Format == FormatJSON:
					got = append(got, string(value))
				default:
					for table, err := range Tables(value, 0) {
						if err != nil {
							t.Fatal(err)
						}
						for i := range table.Rows() {
							got = append(got, string(table.AppendJSON(nil, i)))
						}
					}
				}
			}
			sameRows(t, name+", "+format, w.b, got, want)
		}
	}
}

// sameRows holds rows against those of JSON lines. In Avro ids are texts, times microseconds, and whole numbers of
// levels texts.
func sameRows(t *testing.T, name string, b *model.Batch, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
	}
	for i := range got {
		var g, w map[string]any
		for text, to := range map[*string]*map[string]any{&got[i]: &g, &want[i]: &w} {
			d := json.NewDecoder(strings.NewReader(*text))
			d.UseNumber()
			if err := d.Decode(to); err != nil {
				t.Fatalf("%s: %v in %s", name, err, *text)
			}
		}
		if strings.HasSuffix(name, "avro") {
			if id, ok := w["id"]; ok && id != nil {
				w["id"] = fmt.Sprint(id)
			}
			if at, ok := w["time"]; ok && at != nil {
				w["time"] = microText(b.Time[i])
			}
		}
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s, row %d:\n%s, want\n%s", name, i, got[i], want[i])
		}
	}
}

// microText is a time in whole microseconds, as RFC 3339.
func microText(ns int64) string {
	return time.Unix(0, ns).UTC().Add(-time.Duration((ns%1000 + 1000) % 1000)).Format(time.RFC3339Nano)
}

// TestSchemasOfScoresReplaceEachOther: the schema under other options reads messages of the first one, and the reverse,
// as registries demand of it under BACKWARD and under FORWARD.
func TestSchemasOfScoresReplaceEachOther(t *testing.T) {
	whole, _, _, _ := oddScores()
	whole.Features = FeaturesAll
	fewer := whole
	fewer.ID, fewer.Time, fewer.Features = "", "", FeaturesNone
	fewer.Control, fewer.Uplift, fewer.Interval, fewer.Unusual = false, false, false, false
	classes := fewer
	classes.Schema = &model.Schema{Classes: []string{"yes", "no"}}
	all := map[string]Options{"all": whole, "fewest": fewer, "other classes": classes}
	for a, x := range all {
		for b, y := range all {
			x.Format, y.Format = FormatAvro, FormatAvro
			reader, writer := parsed(t, x), parsed(t, y)
			if err := lib.CheckCompatibility(writer, reader); err != nil {
				t.Errorf("%s does not read %s: %v", a, b, err)
			}
		}
	}
}

func parsed(t *testing.T, o Options) *lib.Schema {
	t.Helper()
	text, err := ScoreSchema(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := lib.Parse(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// TestNamesThatMeetInAvro are refused, and only there.
func TestNamesThatMeetInAvro(t *testing.T) {
	for name, o := range map[string]Options{
		"classes":  {Schema: &model.Schema{Classes: []string{"a b", "a_b"}}},
		"features": {Schema: &model.Schema{Classes: []string{"a"}, Features: []model.Feature{{Name: "x.y"}, {Name: "x-y"}}}},
		"a column": {Schema: &model.Schema{Classes: []string{"a"}, Features: []model.Feature{{Name: "base-rate"}}}},
	} {
		o.Features, o.Format = FeaturesAll, FormatAvro
		if _, err := NewScoreEncoder(o); err == nil || !strings.Contains(err.Error(), "in Avro") {
			t.Errorf("%s: %v", name, err)
		}
		o.Format = FormatJSON
		if _, err := ScoreSchema(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ScoreSchema(bankOptions()); err == nil {
		t.Error("Arrow has a schema of a registry")
	}
}

// TestSinglesAreLostAlone: a row that exceeds the limit is left out, the others are there; no rows are no message.
func TestSinglesAreLostAlone(t *testing.T) {
	o, b, s, levels := oddScores()
	for _, format := range []Format{FormatJSON, FormatAvro} {
		o.Format, o.Frame = format, &Frame{}
		sizes := messages(t, o, b, s, levels, nil)
		e, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		e.Begin(nil, len(sizes[0])-1)
		value, err := e.Add(nil, b, s, levels, 0)
		if err != nil {
			t.Fatal(err)
		}
		parts, lost := e.Parts()
		if len(parts) != 3 || !reflect.DeepEqual(lost, []int{0}) {
			t.Fatalf("format %d: %d parts, rows %v are lost", format, len(parts), lost)
		}
		for i, p := range parts {
			if p.First != i+1 || p.Rows != 1 || !bytes.Equal(value[p.Start:p.End], sizes[i+1]) {
				t.Errorf("format %d: part %d is %+v", format, i, p)
			}
		}
		none, no := &model.Batch{}, &model.Scores{}
		no.Reset(0, 3)
		if got := messages(t, o, none, no, levels, nil); len(got) != 0 {
			t.Errorf("format %d: %d messages without rows", format, len(got))
		}
		if _, err := e.Encode(nil, b, s, levels, nil); err == nil {
			t.Errorf("format %d: four rows are one message", format)
		}
	}
}

// TestFrames: the id is that of the last Set, and does not count in a comparison.
func TestFrames(t *testing.T) {
	f := &Frame{}
	before := f.append(nil)
	f.Set(0x01020304)
	after := f.append([]byte("x"))
	if !bytes.Equal(before, make([]byte, 5)) || string(after) != "x\x00\x01\x02\x03\x04" {
		t.Errorf("% x, % x", before, after)
	}
	for _, c := range []struct {
		f    *Frame
		a, b string
		want bool
	}{{f, "\x00abcdrest", "\x00efghrest", true}, {f, "\x00abcdrest", "\x00abcdresT", false},
		{f, "\x00abcd", "\x01abcd", false}, {f, "\x00a", "\x00b", false}, {nil, "\x00abcdrest", "\x00efghrest", false},
		{nil, "same", "same", true}} {
		if got := c.f.SameScores([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

// TestTextsOfNumbersAreNumbersInAvro: by format, as the stage reads them, and null where they mean none.
func TestTextsOfNumbersAreNumbersInAvro(t *testing.T) {
	o := Options{Format: FormatAvro, Features: FeaturesAll, Missing: []string{"-"},
		Schema: &model.Schema{Classes: []string{"a", "b"}, Features: []model.Feature{{Name: "x"}}}}
	o.Numbers.Decimal, o.Numbers.Thousands = ",", "."
	rec := record(t, []arrow.Field{field("x", utf8Type)}, `[{"x": " 1.234,5"}, {"x": "-"}, {"x": null}]`)
	var b model.Batch
	var c Carry
	if bad, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, &c); err != nil ||
		len(bad) > 0 {
		t.Fatal(bad, err)
	}
	s := &model.Scores{}
	s.Reset(3, 2)
	o.Frame = &Frame{}
	text, err := ScoreSchema(o)
	if err != nil {
		t.Fatal(err)
	}
	reader := Plain{Schemas: schemas{0: text}}
	for i, m := range messages(t, o, &b, s, model.NewLevels(o.Schema), &c) {
		line, err := reader.Line(m, nil)
		if want := []string{`"x":1234.5}`, `"x":null}`, `"x":null}`}[i]; err != nil ||
			!strings.HasSuffix(string(line), want) {
			t.Errorf("row %d: %s, %v", i, line, err)
		}
	}
}
