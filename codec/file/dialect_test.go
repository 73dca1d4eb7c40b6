package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"liftstream/codec"
	"liftstream/codec/number"
	"liftstream/model"
)

// rowsOf reads a file raw, each row as JSON.
func rowsOf(path string) (rows []string, err error) {
	r, err := OpenTables([]string{path}, TableOptions{Missing: []string{""}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range t.Rows() {
			rows = append(rows, string(t.AppendJSON(nil, i)))
		}
	}
}

// TestDialects: a table in every dialect of CSV.
func TestDialects(t *testing.T) {
	want := []string{`{"a":1,"b":"x"}`, `{"a":2,"b":"y z"}`}
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"commas", "a,b\n1,x\n2,y z\n", want},
		{"no end of the last line", "a,b\n1,x\n2,y z", want},
		{"semicolons", "a;b\r\n1;x\r\n2;y z\r\n", want},
		{"tabs", "a\tb\n1\tx\n2\ty z\n", want},
		{"bars", "a|b\n1|x\n2|y z\n", want},
		{"carriage returns", "a,b\r1,x\r2,y z\r", want},
		{"carriage returns and quotes", "a,b\r\"1\",x\r2,\"y z\"", want},
		{"mixed ends", "a,b\n1,x\r2,y z\r\n", want},
		{"all quoted", "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y z\"\n", want},
		{"blanks", "a , b\n 1,x \n2, \"y z\" \n", want},
		{"empty lines", "\n\na,b\n\n1,x\n  \n2,y z\n\r\n\n", want},
		{"sep=", "sep=;\na;b\n1;x\n2;y z\n", want},
		{"sep= in quotes", "\"sep=^\"\r\na^b\r\n1^x\r\n2^y z\r\n", want},
		{"delimiter at the end of all lines", "a,b,\n1,x,\n2,y z,\n", want},
		{"delimiter at the end of the rows", "a,b\n1,x,\n2,y z,\n", want},
		{"delimiter at the end of the header", "a,b,,\n1,x\n2,y z\n", want},
		{"empty columns", "a,b,,\n1,x,,\n2,y z,,\n", want},
		{"mark", "\xEF\xBB\xBFa,b\n1,x\n2,y z\n", want},
		{"quoted names with other delimiters", "\"n, m, o\";b\n3;x\n", []string{`{"n, m, o":3,"b":"x"}`}},
		{"text with other delimiters", "a;b\n1;p,q,r\n2;s,t,u\n", []string{`{"a":1,"b":"p,q,r"}`, `{"a":2,"b":"s,t,u"}`}},
		{"decimal commas", "a;b;c\n1,5;x;2,25\n", []string{`{"a":"1,5","b":"x","c":"2,25"}`}},
		{"quote in the middle", "a,b\n12\" pipe,x\n5\" 3/4\" bolt,y\n",
			[]string{`{"a":"12\" pipe","b":"x"}`, `{"a":"5\" 3/4\" bolt","b":"y"}`}},
		{"quote at the end", "a,b\n1,3'6\"\n2,4'\"\n", []string{`{"a":1,"b":"3'6\""}`, `{"a":2,"b":"4'\""}`}},
		{"doubled quotes", "a,b\n1,\"say \"\"hi\"\"\"\n", []string{`{"a":1,"b":"say \"hi\""}`}},
		{"lines in quotes", "a,b\n1,\"x\r\ny\rz\n\"\n2,z\n",
			[]string{`{"a":1,"b":"x\u000d\ny\u000dz\n"}`, `{"a":2,"b":"z"}`}},
		{"one column", "a\n1\n2\n", []string{`{"a":1}`, `{"a":2}`}},
		{"one column of texts with commas in quotes", "a\n\"1,2\"\n", []string{`{"a":"1,2"}`}},
		{"missing at the end", "a,b,c\n1,,\n2,,\n", []string{`{"a":1,"b":null,"c":null}`, `{"a":2,"b":null,"c":null}`}},
		{"a tab for nothing", "a\tb\n\t\n1\tx\n", []string{`{"a":null,"b":null}`, `{"a":1,"b":"x"}`}},
	} {
		if got, err := rowsOf(write(t, "x.csv", c.content)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
}

// TestRaggedRows: a row of another width is an error with its place, with and without delimiters at the ends of lines.
func TestRaggedRows(t *testing.T) {
	for _, c := range []struct {
		name, content string
		row, line     int64
	}{
		{"short", "a,b\n1,x\n2\n", 2, 3},
		{"long", "a,b\n1,x\n2,y,z\n", 2, 3},
		{"a value behind the last name", "a,b,\n1,x,\n2,y,z\n", 2, 3},
		{"only one row with a delimiter at its end", "a,b\n1,x\n2,y,\n", 2, 3},
		{"only one row without", "a,b\n1,x,\n2,y\n", 2, 3},
		{"a quote that is never closed", "a,b\n1,x\n2,\"y\n3,z\n", 2, 3},
		{"a quote that is never closed behind lines in quotes", "a,b\n1,\"x\n\"\n2,\"y\n3,z\n", 2, 4},
		{"text behind a quote", "a,b\n1,x\n2,\"y\"z\n", 2, 3},
	} {
		rows, err := rowsOf(write(t, "x.csv", c.content))
		var e *Error
		if !errors.As(err, &e) || e.Row != c.row || e.Line != c.line || len(rows) > 0 {
			t.Errorf("%s: %q, %v", c.name, rows, err)
		}
	}
}

func wideText(s string, big, mark bool) string {
	var b []byte
	if mark {
		s = "\ufeff" + s
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

// TestUTF16 reads UTF-16 in both orders, with and without a mark, and refuses half of it.
func TestUTF16(t *testing.T) {
	const csv = "name,b\ngrüße 漢 \U0001F600,1\nother,2\n"
	const js = "{\"name\": \"grüße 漢 \U0001F600\", \"b\": 1}\n{\"name\": \"other\", \"b\": 2}\n"
	want := []string{"{\"name\":\"grüße 漢 \U0001F600\",\"b\":1}", `{"name":"other","b":2}`}
	for _, big := range []bool{false, true} {
		for _, mark := range []bool{false, true} {
			for name, text := range map[string]string{"x.csv": csv, "x.jsonl": js} {
				whole := wideText(text, big, mark)
				if got, err := rowsOf(write(t, name, whole)); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s, big %v, mark %v: %q, %v", name, big, mark, got, err)
				}
				if got, err := rowsOf(write(t, name, whole[:len(whole)-1])); err == nil {
					t.Errorf("%s, big %v, mark %v, cut: %q", name, big, mark, got)
				}
				// long enough that characters lie across the pieces in which it is read
				long := wideText(text+strings.Repeat(text[strings.Index(text, "\n")+1:], 3000), big, mark)
				if got, err := rowsOf(write(t, name, long)); err != nil || len(got) < 3000 {
					t.Errorf("%s, big %v, mark %v, long: %d rows, %v", name, big, mark, len(got), err)
				}
			}
		}
	}
	lone := wideText("a,b\n1,", false, true) + "\x3D\xD8x\x00\n\x00"
	if got, err := rowsOf(write(t, "x.csv", lone)); err == nil {
		t.Errorf("half of a pair: %q", got)
	}
}

// TestPackedFilesThatAreCut: any cut of a packed file is an error, even at the end of a line.
func TestPackedFilesThatAreCut(t *testing.T) {
	text := []byte("a,b\n" + strings.Repeat("1,x\n2,y\n", 200))
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"x.csv.gz": gz.String(), "x.csv.zst": zst.String()} {
		if got, err := rowsOf(write(t, name, content)); err != nil || len(got) != 400 {
			t.Errorf("%s: %d rows, %v", name, len(got), err)
		}
		if got, err := rowsOf(write(t, name, content+content)); name == "x.csv.gz" && (err != nil || len(got) != 801) {
			t.Errorf("%s twice: %d rows, %v", name, len(got), err)
		}
		for n := range len(content) {
			if got, err := rowsOf(write(t, name, content[:n])); err == nil {
				t.Errorf("%s, %d of %d bytes: %d rows", name, n, len(content), len(got))
			}
		}
	}
}

// TestNumbersOfAFormat: texts are the same numbers in files and in messages; a text that is none names its row.
func TestNumbersOfAFormat(t *testing.T) {
	o := codec.Options{Missing: []string{"", "NA"}, Label: "y", Schema: &model.Schema{Classes: []string{"no", "yes"},
		Positive: 1, Features: append(continuous("price"), nominal("grp")...)},
		Numbers: number.Format{Decimal: ",", Thousands: ".", Percent: true, Currency: []string{"€"}}}
	texts := []string{"1.234,50 €", "12,5 %", "NA", "-3", "1.500"}
	want := []string{"0 1234.5 1,5", "1 0.125 1,5", "0 NaN 1,5", "0 -3 1,5", "0 1500 1,5"}
	labels := []string{"no", "yes", "no", "no", "no"}
	csv, js := "price;grp;y\n", ""
	for i, s := range texts {
		csv += s + ";1,5;" + labels[i] + "\n"
		js += `{"price": "` + s + `", "grp": "1,5", "y": "` + labels[i] + "\"}\n"
	}
	for name, content := range map[string]string{"x.csv": csv, "x.jsonl": js} {
		path := write(t, name, content)
		if got, err := readAll(t, Options{Codec: o}, path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		// As texts of Arrow and Parquet, and as a message.
		for _, kind := range []string{".arrow", ".parquet"} {
			out := filepath.Join(t.TempDir(), "x"+kind)
			w, err := Create(out)
			if err != nil {
				t.Fatal(err)
			}
			enc := codec.NewEventEncoder()
			for table := range tablesOf(t, path, TableOptions{Missing: []string{}}) {
				if err := w.Write(table); err != nil {
					t.Fatal(err)
				}
				value, err := enc.Encode(nil, table, []int{0, 1, 2, 3, 4})
				if err != nil {
					t.Fatal(err)
				}
				d, err := codec.NewDecoder(o)
				if err != nil {
					t.Fatal(err)
				}
				var b model.Batch
				if bad, err := d.Decode(&codec.Message{Value: value}, &b, nil); err != nil || len(bad) > 0 ||
					!reflect.DeepEqual(text(&b), want) {
					t.Errorf("%s sent: %q, %v, %v", name, text(&b), bad, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(t, Options{Codec: o}, out); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s%s: %q, %v", name, kind, got, err)
			}
		}
	}
	for name, content := range map[string]string{"x.csv": "price;grp;y\n1;a;no\n1.5;a;no\n",
		"x.jsonl": "{\"price\": 1, \"grp\": \"a\"}\n{\"price\": \"1.5\"}\n"} {
		_, err := readAll(t, Options{Codec: o}, write(t, name, content))
		var e *Error
		if !errors.As(err, &e) || e.Row != 2 || e.Column != "price" || e.Value != "1.5" {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := o
	plain.Numbers = number.Format{}
	_, err := readAll(t, Options{Codec: plain}, write(t, "x.csv", "price;grp;y\n1,5;a;no\n"))
	if err == nil || !strings.Contains(err.Error(), `format: {decimal: ","}`) {
		t.Errorf("no format is proposed: %v", err)
	}
}

// TestParquetHoles: zeros over each piece of a Parquet file are an error or change no row; rows are never fewer.
func TestParquetHoles(t *testing.T) {
	content, err := os.ReadFile("testdata/rows.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(content); at += 7 {
		hole := bytes.Clone(content)
		clear(hole[at:min(at+40, len(hole))])
		if got, err := rowsOf(write(t, "x.parquet", string(hole))); err == nil && len(got) != 8 {
			t.Errorf("zeros from byte %d: %d rows", at, len(got))
		}
	}
}

// TestKeysThatBeginLate: a key that the first lines do not have is missing there, and its values stay in their rows.
func TestKeysThatBeginLate(t *testing.T) {
	const text = `{"a":1}` + "\n" + `{"a":2}` + "\n" + `{"a":3,"late":"x","n":7}` + "\n" + `{"a":4}` + "\n" +
		`{"n":8,"later":"y"}` + "\n"
	rows, err := rowsOf(write(t, "x.jsonl", text))
	want := []string{
		`{"a":1,"late":null,"n":null,"later":null}`, `{"a":2,"late":null,"n":null,"later":null}`,
		`{"a":3,"late":"x","n":7,"later":null}`, `{"a":4,"late":null,"n":null,"later":null}`,
		`{"a":null,"late":null,"n":8,"later":"y"}`,
	}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v\n%s", err, strings.Join(rows, "\n"))
	}
}
