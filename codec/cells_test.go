package codec

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// TestCellsOfCSVAreReadAgain: a sign that needs quotes has them wherever it stands in a cell.
func TestCellsOfCSVAreReadAgain(t *testing.T) {
	var want []string
	for _, sign := range []string{",", "\"", "\n", " ", "\"\"", "x"} {
		want = append(want, sign+"a", "a"+sign+"b", "a"+sign, sign)
	}
	want = append(want, "", "a\rb", "\ra", "a,b\"c\nd")
	rec := textRecord(t, "v", utf8Type, want...)
	table := NewTable(rec)
	text := table.AppendCSVHeader(nil)
	for i := range table.Rows() {
		// A second column: a line of one empty cell would be no record.
		line := strings.TrimSuffix(string(table.AppendCSV(nil, i)), "\n")
		text = append(text, line+",end\n"...)
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	if head != "v" {
		t.Fatalf("the header is %q", head)
	}
	rows, err := csv.NewReader(strings.NewReader(rest)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, row[0])
	}
	if !slices.Equal(got, want) {
		t.Errorf("read again\n%q, want\n%q", got, want)
	}
}

// TestMissingTextsInEitherSpelling: a text that means missing does so as it stands, and by the number that it is.
func TestMissingTextsInEitherSpelling(t *testing.T) {
	for _, c := range []struct{ missing, text, want string }{
		{"1.0", "1.0", "missing"}, {"1.0", "1", "missing"}, {"1", "1", "missing"}, {"1", "1.0", "missing"},
		{"1", "1.5", "1.5"}, {"NA", "NA", "missing"}, {"NA", "na", "na"}, {"NA", " NA ", "missing"},
	} {
		o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "v", Kind: model.Nominal}}}, Missing: []string{c.missing}}
		for _, typ := range textTypes {
			var b model.Batch
			rec := textRecord(t, "v", typ, c.text, "other")
			if _, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil {
				t.Fatal(err)
			}
			got := "missing"
			if l := &b.Columns[0]; l.Code[0] != model.MissingCode {
				got = l.Levels[l.Code[0]]
			}
			if got != c.want {
				t.Errorf("%q of type %s, where %q is missing: %s, want %s", c.text, typ, c.missing, got, c.want)
			}
		}
	}
}
