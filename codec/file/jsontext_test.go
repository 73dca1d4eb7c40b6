package file

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/codec"
	"liftstream/model"
)

// TestJSONTables: the rows of a text in memory are those of a file, in tables of the asked length; damage is an error.
func TestJSONTables(t *testing.T) {
	const text = `{"id":"007","p":0.5,"why":[{"feature":"age"}]}` + "\n" + `{"id":"8","p":null}` + "\n\n" + `{"id":"9"}`
	for _, rows := range []int{0, 1, 2} {
		var got []byte
		for table, err := range JSONTables([]byte(text), TableOptions{Codec: codec.ScoreFileOptions(), Rows: rows}) {
			if err != nil {
				t.Fatal(err)
			}
			if rows > 0 && table.Rows() > rows {
				t.Errorf("a table of %d rows, want %d", table.Rows(), rows)
			}
			for i := range table.Rows() {
				id, _ := table.Text(table.Column("id"), i)
				p, ok := table.Float(table.Column("p"), i)
				why, _ := table.Text(table.Column("why"), i)
				got = append(got, id...)
				if ok {
					got = append(append(got, ' ', byte('0'+int(10*p))), why...)
				}
				got = append(got, '\n')
			}
		}
		if want := "007 5[{\"feature\":\"age\"}]\n8\n9\n"; string(got) != want {
			t.Errorf("%d rows: got %q, want %q", rows, got, want)
		}
	}
	for range JSONTables([]byte(" \n"), TableOptions{}) {
		t.Error("an empty text has a table")
	}
	for _, damaged := range []string{"{", `{"id":`, "[]", "{}{", "\x00", `{"id":"a"}` + "\n" + `{`} {
		failed := false
		for _, err := range JSONTables([]byte(damaged), TableOptions{Rows: 1}) {
			failed = failed || err != nil
		}
		if !failed {
			t.Errorf("%q is read", damaged)
		}
	}
}

// TestAReaderOfTextsReadsThemAlike: whatever text came before, a text has the records of JSONTables, or is refused as
// there; and texts of the same keys and types share a schema.
func TestAReaderOfTextsReadsThemAlike(t *testing.T) {
	o := TableOptions{Codec: codec.Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{
		{Name: "age"}, {Name: "plan", Kind: model.Nominal}}}, ID: "who", Time: "at", Missing: []string{"NA", ""}}}
	r := NewJSONReader(o)
	texts := []string{
		`{"who":"a","age":1,"plan":"x"}`, `{"who":"a","age":1.5,"plan":"x"}`, `{"who":"a","age":-0,"plan":null}`,
		`{"plan":"NA","age":"NA","who":7}`, `{"age":1,"plan":"x"}`, `{"who":"a","age":1,"plan":"x","more":[1,{"b":2}]}`,
		`{"who":"a","age":true,"plan":true,"more":12}`, `{"who":"a","age":1,"plan":"x","more":"text","at":5}`,
		`{"who":"b","age":null,"plan":"\u00e9\ud83d\ude00","more":1.5,"at":1.5}`, `{"who":"a","age":1,"plan":"x"}`,
		`{"who":"a","age":18446744073709551615,"plan":18446744073709551615,"more":-3}`, `{"more":18446744073709551615}`,
		"{\"who\":\"a\",\"age\":1}\n{\"who\":\"b\",\"plan\":\"x\"}\n", "{\"age\":1}\n{\"age\":2.5}\n{\"more\":null}",
		`{"who":"a","age":1,"plan":"x"}`, `{"more":"x"}`, `{"more":3}`, `{}`, `{"who":"a","age":"old","plan":"x"}`,
		`{"who":"a","who":"b"}`, `{"age":1}x`, `{"plan":"\ud83d"}`,
	}
	for _, text := range texts {
		rows := strings.Count(strings.TrimSpace(text), "\n") + 1
		var want *codec.Table
		var wanted error
		for want, wanted = range JSONTables([]byte(text), TableOptions{Codec: o.Codec, Rows: rows}) {
			break
		}
		got, err := r.Table([]byte(text), rows)
		if (err != nil) != (wanted != nil) {
			t.Fatalf("%s: %v, want %v", text, err, wanted)
		}
		if err != nil {
			r = NewJSONReader(o)
			continue
		}
		if got.Rows() != want.Rows() || len(got.Columns()) != len(want.Columns()) {
			t.Fatalf("%s: %d rows, %v; want %d, %v", text, got.Rows(), got.Columns(), want.Rows(), want.Columns())
		}
		for k, c := range want.Columns() {
			at := got.Column(c.Name)
			if at < 0 || got.Columns()[at] != c {
				t.Errorf("%s: columns %v, want %v", text, got.Columns(), want.Columns())
				continue
			}
			for i := range want.Rows() {
				if g, w := got.AppendValue(nil, at, i), want.AppendValue(nil, k, i); string(g) != string(w) {
					t.Errorf("%s: %s of row %d is %s, want %s", text, c.Name, i, g, w)
				}
			}
		}
	}
	if _, err := r.Table([]byte(" "), 1); !errors.Is(err, io.EOF) {
		t.Errorf("an empty text: %v", err)
	}
	var same []*arrow.Schema
	for _, text := range []string{texts[0], texts[1], texts[0], texts[1]} {
		table, err := r.Table([]byte(text), 1)
		if err != nil {
			t.Fatal(err)
		}
		same = append(same, table.Record().Schema())
	}
	if same[0] != same[2] || same[1] != same[3] || same[0] == same[1] {
		t.Error("texts of the same keys and types do not share a schema")
	}
}

// TestHalvesOfPairsInFiles: an escape that is half of a surrogate pair is no text, like bytes that are not UTF-8.
func TestHalvesOfPairsInFiles(t *testing.T) {
	path := write(t, "rows.jsonl", `{"a":"x\ud83d\ude00"}`+"\n"+`{"a":"y\ud83d"}`+"\n")
	_, err := OpenTables([]string{path}, TableOptions{})
	if err == nil || !strings.Contains(err.Error(), `row 2 (line 2): column "a" holds "y\xed\xa0\xbd": not UTF-8`) {
		t.Errorf("%v", err)
	}
}
