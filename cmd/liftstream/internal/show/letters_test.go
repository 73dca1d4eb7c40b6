package show

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/txn"
)

// message is an Arrow stream of the rows, JSON lines of texts of the given names.
func message(t *testing.T, rows string, names ...string) []byte {
	t.Helper()
	s := &model.Schema{Classes: []string{"no", "yes"}}
	for _, n := range names {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := file.OpenTables([]string{path}, file.TableOptions{Codec: codec.Options{Schema: s}, Missing: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	value, err := codec.NewEventEncoder().Encode(nil, table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

var (
	sentAt = time.Date(2024, 5, 1, 8, 0, 0, 250e6, time.UTC)
	seenAt = time.Date(2024, 5, 1, 9, 30, 0, 5e8, time.UTC)
)

// deadOnes makes the letters of one bad row and of one whole message.
func deadOnes(t *testing.T) (letters []txn.Record) {
	t.Helper()
	value := message(t, `{"id": "a", "x": "1"}`+"\n"+`{"id": null, "x": "2"}`, "id", "x")
	d, err := codec.NewDecoder(codec.Options{ID: "id", Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "x", Kind: model.Nominal}}}})
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	bad, err := d.Decode(&codec.Message{Value: value}, &b, nil)
	if err != nil || len(bad) != 1 {
		t.Fatal(bad, err)
	}
	r := &txn.Record{Topic: "in", Partition: 3, Offset: 41, Key: []byte("k\x1b"), Value: value, Time: sentAt,
		Headers: []txn.Header{{Key: "rows", Value: []byte("2")}, {Key: deadletter.HeaderReplays, Value: []byte("4")}}}
	keep := func(l deadletter.Letter) { letters = append(letters, l.Record) }
	from := deadletter.Origin{Name: "shop", Topic: "in", Stage: codec.StageEvents, Partition: 3}
	deadletter.Make(d, r, from, bad, nil, seenAt, keep)
	r = &txn.Record{Topic: "labels", Partition: 1, Offset: 7, Value: []byte("no arrow")}
	from = deadletter.Origin{Name: "shop", Topic: "labels", Stage: codec.StageLabels, Partition: 1}
	deadletter.Make(d, r, from, nil, &codec.MessageError{Reason: codec.ReasonNotArrow, Err: errors.New("text")}, seenAt,
		keep)
	return letters
}

// printed is the output of the printer of a topic for some records.
func printed(t *testing.T, topic Topic, kind string, records ...txn.Record) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	p, err := topic.Printer(w, kind)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if _, err := p.Print(&records[i], 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Close(), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTailOfDeadLetters: each letter with the facts of its message in every format. Receipts are no letters, and a
// record without the headers of one has null for them.
func TestTailOfDeadLetters(t *testing.T) {
	records := append(deadOnes(t), txn.Record{Headers: []txn.Header{{Key: "liftstream-receipt"}}},
		txn.Record{Value: []byte("x"), Headers: []txn.Header{{Key: "h", Value: []byte("v")}}})
	var all strings.Builder
	for _, format := range []string{"table", "jsonl", "csv"} {
		all.WriteString(printed(t, Topic{Format: format}, "dead", records...) + "----\n")
	}
	written(t, "tail_dead", all.String())
	if _, err := (Topic{Format: "arrow"}).Printer(nil, "dead"); !errors.Is(err, ErrNoArrow) {
		t.Errorf("dead letters as Arrow: %v", err)
	}
}

// TestARowOfALetterTooLargeIsShownAsBytes: the bound of a message holds for letters too.
func TestARowOfALetterTooLargeIsShownAsBytes(t *testing.T) {
	r := deadOnes(t)[0]
	for most, want := range map[int64]bool{0: true, int64(len(r.Value)): true, int64(len(r.Value)) - 1: false} {
		out := printed(t, Topic{Format: "jsonl", MaxMessage: most}, "dead", r)
		if strings.Contains(out, `"record":{`) != want || strings.Contains(out, `"value_base64":null`) != want {
			t.Errorf("at most %d bytes: %s", most, out)
		}
	}
}

func listed(t *testing.T) []*Letter {
	t.Helper()
	var letters []*Letter
	for i, r := range deadOnes(t) {
		x, ok := deadletter.ReadReport(&r)
		if !ok {
			t.Fatal("no letter")
		}
		letters = append(letters, &Letter{Letter: resend.Letter{Report: x, At: deadletter.Place{Partition: i, Offset: 60},
			Record: &r}, State: []string{"waits", "sent"}[i]})
	}
	old := *letters[1]
	old.FirstSeen, old.Timed, old.Time, old.Error = time.Time{}, false, sentAt, "a,\"b\"\x1b"
	return append(letters, &old)
}

// TestListOfDeadLetters: letters with their fates, then the counts, the most frequent first.
func TestListOfDeadLetters(t *testing.T) {
	letters := listed(t)
	var all strings.Builder
	for _, format := range []string{"table", "csv", "jsonl", "json"} {
		for _, empty := range []bool{false, true} {
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			l := NewLetters(w, format)
			for _, x := range letters {
				if empty {
					break
				}
				if err := l.Print(x); err != nil {
					t.Fatal(err)
				}
				l.Count(x)
			}
			if l.Listed() != len(letters) && !empty {
				t.Errorf("%s: %d letters are listed", format, l.Listed())
			}
			if err := errors.Join(l.Close(), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Errorf("no JSON: %s", b.String())
			}
			fmt.Fprintf(&all, "%s----\n", b.String())
		}
	}
	written(t, "letters", all.String())
}

// TestCountsOfLettersThatAreNotListed: the table of counts stands alone, by falling number, then by name.
func TestCountsOfLettersThatAreNotListed(t *testing.T) {
	for _, format := range []string{"table", "json"} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		l := NewLetters(w, format)
		for _, x := range []string{"time sent", "id waits", "id waits", "time waits", "crc_mismatch waits"} {
			reason, state, _ := strings.Cut(x, " ")
			l.Count(&Letter{Letter: resend.Letter{Report: deadletter.Report{Reason: codec.Reason(reason)}}, State: state})
		}
		if err := errors.Join(l.Close(), w.Flush()); err != nil {
			t.Fatal(err)
		}
		want := "reason        state  letters\nid            waits        2\ncrc_mismatch  waits        1\n" +
			"time          sent         1\ntime          waits        1\n"
		if format == "json" {
			want = "{\"letters\":[],\n\"counts\":[{\"reason\":\"id\",\"state\":\"waits\",\"letters\":2}," +
				"{\"reason\":\"crc_mismatch\",\"state\":\"waits\",\"letters\":1}," +
				"{\"reason\":\"time\",\"state\":\"sent\",\"letters\":1},{\"reason\":\"time\",\"state\":\"waits\",\"letters\":1}]}\n"
		}
		if b.String() != want {
			t.Errorf("%s: got\n%swant\n%s", format, b.String(), want)
		}
	}
}

// TestWholeLetters: each fact of a letter, for people and as JSON.
func TestWholeLetters(t *testing.T) {
	var all strings.Builder
	for _, x := range listed(t) {
		for _, format := range []string{"table", "json"} {
			if err := WholeLetter(&all, x, format, 0); err != nil {
				t.Fatal(err)
			}
			all.WriteString("----\n")
		}
	}
	written(t, "whole_letters", all.String())
}

// TestPayload: as rows where the value is a whole Arrow stream, of many the first twenty; else as text or bytes, of
// long ones the beginning.
func TestPayload(t *testing.T) {
	var rows []string
	for i := range 23 {
		rows = append(rows, fmt.Sprintf(`{"id": "r%d"}`, i))
	}
	many := message(t, strings.Join(rows, "\n"), "id")
	twenty := message(t, strings.Join(rows[:20], "\n"), "id")
	var empty []byte
	for table, err := range codec.Tables(twenty, 0) {
		if err == nil {
			empty, err = codec.NewEventEncoder().Encode(nil, table, []int{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("é", 600) // 1,200 bytes
	for _, c := range []struct {
		name  string
		value []byte
		want  string
		count int // of lines
	}{
		{"many rows", many, "r19\n(3 rows more)\n", 20 + 19 + 1}, {"twenty rows", twenty, "r19\n", 20 + 19},
		{"no rows", empty, "(an Arrow stream without rows)\n", 1},
		{"null", message(t, `{"id": null}`, "id"), "id                       (null)\n", 1},
		{"nothing", nil, "0 bytes that are no whole Arrow stream\n", 2},
		{"text", []byte("a\x1bbcde\nf\n"), "9 bytes that are no whole Arrow stream\na·bcde\nf\n\n", 4},
		{"bytes", []byte{0, 1, 2, 'a'}, "4 bytes that are no whole Arrow stream\n00000000  00 01 02 61", 2},
		{"a long text", []byte(line), "1200 bytes that are no whole Arrow stream, of which the first 1024:\n" +
			line[:1024] + "\n", 2},
	} {
		got := payload(c.value, 0)
		if !strings.Contains(got, c.want) || strings.Count(got, "\n") != c.count {
			t.Errorf("%s: got %q, want %q in %d lines", c.name, got, c.want, c.count)
		}
	}
	if got := payload(many, int64(len(many)-1)); !strings.Contains(got, "no whole Arrow stream") {
		t.Errorf("a value beyond the bound is read: %s", got)
	}
	for b, want := range map[string]string{"": "", "text\n": "text·", "\x00\x01a": "000161", "\xff": "ff",
		"abc\x00": "abc·"} {
		if got := shown([]byte(b)); got != want {
			t.Errorf("%q is shown as %q, want %q", b, got, want)
		}
	}
	if got := shown(nil); got != "(null)" {
		t.Errorf("no key is shown as %q", got)
	}
}

// TestTailOfModels: a version has the bytes of its own chunks, and none of those of the one before.
func TestTailOfModels(t *testing.T) {
	records := []txn.Record{
		{Key: []byte("model/5/0"), Value: make([]byte, 10)}, {Key: []byte("model/5/1"), Value: make([]byte, 7)},
		{Key: []byte("model/6/0"), Value: make([]byte, 4)},
		{Key: []byte("version/5"), Value: []byte("v"), Offset: 2, Time: sentAt},
		{Key: []byte("model/5/0")}, {Key: []byte("version/5"), Offset: 9}, {Key: []byte("verdict/1"), Value: []byte("v")},
		{Key: []byte("version/x"), Value: []byte("v")},
		{Key: []byte("version/6"), Value: []byte("v"), Offset: 11},
	}
	want := "version,what,time,bytes,offset,text\n5,published,2024-05-01T08:00:00Z,17,2,\n5,deleted,-,0,9,\n" +
		"6,published,-,4,11,\n"
	if got := printed(t, Topic{Format: "csv"}, "model", records...); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := printed(t, Topic{Format: "table"}, "model", records[3:4]...); !strings.HasPrefix(got, "version  what  ") ||
		!strings.Contains(got, "\n5        published  2024-05-01T08:00:00Z  0         2") {
		t.Errorf("got\n%s", got)
	}
}
