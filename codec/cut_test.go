package codec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// cutRows are the rows of a message: whole numbers that a double does not hold, rows that are refused, and nulls, each
// beside others.
var cutRows = []string{
	`{"id": "a", "at": "1970-01-01T00:00:01Z", "w": 1, "y": "yes", "t": "1", "g": "no", "n": "9007199254740993",
		"l": "x"}`,
	`{"id": "b", "at": null, "w": 2, "y": "no", "t": "0", "g": null, "n": "7", "l": "y\ufffd"}`,
	`{"id": null, "at": "1970-01-01T00:00:02Z", "w": 1, "y": "yes", "t": "1", "g": "yes", "n": "3", "l": "x"}`,
	`{"id": "a", "at": "1970-01-01T00:00:03Z", "w": 0.5, "y": null, "t": null, "g": "yes", "n": null, "l": null}`,
	`{"id": "c", "at": "never", "w": 1, "y": "yes", "t": "1", "g": "no", "n": "4", "l": "z"}`,
	`{"id": "d", "at": "1970-01-01T00:00:04Z", "w": 1, "y": "perhaps", "t": null, "g": "x", "n": "-9007199254740993",
		"l": "y"}`,
	`{"id": "b", "at": "1970-01-01T00:00:05Z", "w": -1, "y": "yes", "t": "0", "g": "no", "n": "5", "l": "x"}`,
	`{"id": "e", "at": "1970-01-01T00:00:06Z", "w": 1, "y": "no", "t": "0", "g": "no", "n": "9007199254740993",
		"l": "z"}`,
}

// TestAMessageCutIntoRecordBatches reads as one of a single batch, wherever it is cut, with dictionaries of their own
// in the batches and without: values, refused rows, counts of changes, and the columns that scores hand on.
func TestAMessageCutIntoRecordBatches(t *testing.T) {
	dict := func(of arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: of}
	}
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "n", Kind: model.Continuous}, {Name: "l", Kind: model.Nominal}}}, ID: "id", Time: "at", Weight: "w",
		Label: "y", Treated: "t", Goals: []Goal{{Column: "g", Classes: []string{"no", "yes"}}}, Features: FeaturesAll}
	whole := []int{len(cutRows)}
	cuts := [][]int{{1, 8}, {3, 8}, {2, 4, 6, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, {7, 8}, {3, 3, 8}}
	for name, of := range map[string]func(arrow.DataType) arrow.DataType{
		"plain": func(t arrow.DataType) arrow.DataType { return t }, "dictionaries": dict,
	} {
		fields := []arrow.Field{field("id", of(utf8Type)), field("at", of(utf8Type)), field("w", realType),
			field("y", of(utf8Type)), field("t", of(utf8Type)), field("g", of(utf8Type)), field("n", of(int64Type)),
			field("l", of(utf8Type))}
		want := readCut(t, &o, fields, whole)
		if n := len(want.bad); n != 3 || want.changes != (Changes{Rounded: 3}) {
			t.Fatalf("%s: %d refused rows, changes %+v: the test says nothing", name, n, want.changes)
		}
		for _, ends := range cuts {
			got := readCut(t, &o, fields, ends)
			if !slices.Equal(got.rows, want.rows) || !slices.Equal(got.bad, want.bad) || got.changes != want.changes {
				t.Errorf("%s cut at %v:\n%s\nrefused %v, changes %+v; in one batch\n%s\nrefused %v, changes %+v", name, ends,
					strings.Join(got.rows, "\n"), got.bad, got.changes, strings.Join(want.rows, "\n"), want.bad, want.changes)
			}
		}
	}
}

// asRead is a message as a decoder reads it and an encoder hands it on.
type asRead struct {
	rows    []string
	bad     []RowError
	changes Changes
}

// readCut reads cutRows in record batches that end before the given rows.
func readCut(t *testing.T, o *Options, fields []arrow.Field, ends []int) (x asRead) {
	t.Helper()
	var recs []arrow.Record
	from := 0
	for _, to := range ends {
		recs = append(recs, record(t, fields, "["+strings.Join(cutRows[from:to], ",")+"]"))
		from = to
	}
	d := mustDecoder(t, *o)
	e, err := NewScoreEncoder(*o)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	var c Carry
	bad, err := d.Decode(&Message{Value: encodeStream(t, recs), Time: 77}, &b, &c)
	if err != nil {
		t.Fatal(err)
	}
	s := &model.Scores{}
	s.Reset(b.N, len(o.Schema.Classes))
	table, err := e.Table(&b, s, model.NewLevels(o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		level := "missing"
		if l := &b.Columns[1]; l.Code[i] != model.MissingCode {
			level = l.Levels[l.Code[i]]
		}
		row := fmt.Sprint(b.Row[i], b.ID[i], b.Time[i], b.Weight[i], b.Label[i], b.Treated[i], b.Outcomes[i],
			b.Columns[0].Float[i], level)
		for _, column := range []string{"id", "time", "n", "l"} {
			text, ok := table.Text(table.Column(column), i)
			row += fmt.Sprint(" ", column, " ", text, ok)
		}
		x.rows = append(x.rows, row)
	}
	x.bad, x.changes = slices.Clone(bad), d.Changes()
	return x
}

// TestLabelsCutIntoRecordBatches: as TestAMessageCutIntoRecordBatches, of labels that name their records by id and by
// position.
func TestLabelsCutIntoRecordBatches(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "n", Kind: model.Continuous}}}, ID: "id", Time: "at", Label: "y", Treated: "t",
		Goals: []Goal{{Column: "g", Classes: []string{"no", "yes"}}}}
	names := map[string]func(i int) string{
		"ids": func(i int) string {
			return []string{`"id": "a"`, `"id": null`, `"id": "b"`, `"id": "c"`, `"id": "a"`}[i]
		},
		"positions": func(i int) string {
			return fmt.Sprintf(`%q: 1, %q: %d, %q: %s`, ColumnPartition, ColumnOffset, 70+i, ColumnRow,
				[]string{"3", "-1", "0", "5", "4"}[i])
		},
	}
	rest := []string{`"at": "1970-01-01T00:00:01Z", "y": "yes", "t": "1", "g": "no"`,
		`"at": null, "y": "no", "t": "0", "g": null`, `"at": "1970-01-01T00:00:02Z", "y": null, "t": null, "g": "yes"`,
		`"at": null, "y": "perhaps", "t": "1", "g": null`, `"at": "1970-01-01T00:00:03Z", "y": "no", "t": "0", "g": "no"`}
	for name, of := range names {
		for _, text := range []arrow.DataType{utf8Type, dict} {
			fields := []arrow.Field{field("at", text), field("y", text), field("t", text), field("g", text)}
			if name == "ids" {
				fields = append(fields, field("id", text))
			} else {
				fields = append(fields, field(ColumnPartition, int64Type), field(ColumnOffset, int64Type),
					field(ColumnRow, int64Type))
			}
			read := func(ends ...int) (rows []string, bad []RowError) {
				var recs []arrow.Record
				from := 0
				for _, to := range ends {
					var lines []string
					for i := from; i < to; i++ {
						lines = append(lines, "{"+of(i)+", "+rest[i]+"}")
					}
					recs = append(recs, record(t, fields, "["+strings.Join(lines, ",")+"]"))
					from = to
				}
				var l model.Labels
				bad, err := mustDecoder(t, o).DecodeLabels(&Message{Value: encodeStream(t, recs), Time: 77}, &l)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i := range l.N {
					row := fmt.Sprint(l.Time[i], l.Class[i], l.Outcomes[i], l.Treated[i])
					if l.ID != nil {
						row += " " + l.ID[i]
					} else {
						row += fmt.Sprint(" ", l.Partition[i], l.Offset[i], l.Row[i])
					}
					rows = append(rows, row)
				}
				return rows, slices.Clone(bad)
			}
			want, refused := read(5)
			if len(want) != 3 || len(refused) != 2 {
				t.Fatalf("%s: %q, %v refused: the test says nothing", name, want, refused)
			}
			for _, ends := range [][]int{{1, 5}, {2, 4, 5}, {1, 2, 3, 4, 5}, {4, 5}, {0, 3, 3, 5}} {
				if got, bad := read(ends...); !slices.Equal(got, want) || !slices.Equal(bad, refused) {
					t.Errorf("%s of type %s cut at %v: %q, refused %v; in one batch %q, %v", name, text, ends, got, bad, want,
						refused)
				}
			}
		}
	}
}
