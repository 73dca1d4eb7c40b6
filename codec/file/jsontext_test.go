package file

import (
	"strings"
	"testing"

	"liftstream/codec"
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

// TestHalvesOfPairsInFiles: an escape that is half of a surrogate pair is no text, like bytes that are not UTF-8.
func TestHalvesOfPairsInFiles(t *testing.T) {
	path := write(t, "rows.jsonl", `{"a":"x\ud83d\ude00"}`+"\n"+`{"a":"y\ud83d"}`+"\n")
	_, err := OpenTables([]string{path}, TableOptions{})
	if err == nil || !strings.Contains(err.Error(), `row 2 (line 2): column "a" holds "y\xed\xa0\xbd": not UTF-8`) {
		t.Errorf("%v", err)
	}
}
