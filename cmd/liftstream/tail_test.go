package main

import (
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
)

// A topic of JSON lines prints like one of Arrow messages.
func TestTailOfJSONLines(t *testing.T) {
	var tables [2]string
	for i, format := range []string{"arrow", "jsonl"} {
		w := newWorld(t, "output: {format: "+format+"}")
		w.must("topics", "create", "-c", w.file)
		w.must("produce", "-c", w.file, w.data)
		run := start(t, "run", "-c", w.file)
		w.await(435)
		run.stop(t)
		tables[i] = w.must("tail", "-c", w.file, "--from", "start", "-n", "435").out
		if lines := strings.Count(w.must("tail", "-c", w.file, "--from", "start", "-n", "400", "--format", "jsonl").out,
			"\n"); lines != 400 {
			t.Errorf("%s: %d lines, want 400", format, lines)
		}
	}
	if tables[0] != tables[1] || strings.Count(tables[0], "\n") != 436 {
		t.Errorf("the tables differ:\n%s\n%s", tables[0], tables[1])
	}
}

// Ids and levels come from other people.
func TestTailOfHostileTexts(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	text, err := os.ReadFile(w.data)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(text), "\n", 3)
	row := strings.Split(lines[1], ",")
	row[1] = "=1+1\x1b[31m\u202e"
	file := filepath.Join(t.TempDir(), "hostile.csv")
	if err := os.WriteFile(file, []byte(lines[0]+"\n"+strings.Join(row, ",")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("produce", "-c", w.file, file)
	for _, c := range []struct{ format, want string }{{"table", "=1+1·[31m·"}, {"jsonl", `"=1+1\u001b[31m\u202e"`},
		{"csv", row[1]}, {"csv --spreadsheet", "'=1+1·[31m·"}} {
		args := append([]string{"tail", "-c", w.file, "--topic", "events", "--from", "start", "-n", "1", "--format"},
			strings.Fields(c.format)...)
		if out := w.must(args...).out; !strings.Contains(out, c.want) {
			t.Errorf("%s: %q lacks %q", c.format, out, c.want)
		}
	}
}

func TestTailFormats(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "30")
	out := w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "-n", "100", "--format", "csv").out
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(records) != 101 || records[100][0] != "100" {
		t.Errorf("csv: %d records, %v", len(records), err)
	}
	if got := strings.Join(records[0], ","); got != head(t, w.data) {
		t.Errorf("csv heading %s", got)
	}
	out = w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "--follow=false").out
	if lines := strings.Count(out, "\n"); lines != 436 {
		t.Errorf("the table has %d lines, want 436", lines)
	}
	out = w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "-n", "100", "--format", "arrow").out
	stream, err := codec.NewTableStream(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for table, err := stream.Next(); ; table, err = stream.Next() {
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range table.Rows() {
			rows++
			if id, _ := table.Text(table.Column("member"), i); id != strconv.Itoa(rows) {
				t.Errorf("arrow: row %d is that of member %s", rows, id)
			}
		}
	}
	if rows != 100 {
		t.Errorf("arrow: %d rows, want 100", rows)
	}
	for _, c := range [][]string{{"--topic", "labels"}, {"--topic", "nothing"}, {"--from", "middle"}, {"--format", "xml"},
		{"-n", "-1"}, {"--topic", "dead", "--format", "arrow"}} {
		if r := command(t, append([]string{"tail", "-c", w.file}, c...)...); r.status != cli.StatusUsage &&
			r.status != cli.StatusInput || r.out != "" {
			t.Errorf("%v: status %d, %s", c, r.status, r.out)
		}
	}
}

func TestTailFollows(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		tail := start(t, "tail", "-c", w.file, "--topic", "events", "--from", "start", "--format", "jsonl")
		w.must("produce", "-c", w.file, w.data, "--batch", "50")
		eventually(t, "the last line", func() bool { return strings.Count(tail.out.String(), "\n") == 435 })
		if status := tail.stop(t); status != cli.StatusDone {
			t.Errorf("an interrupted tail ends with status %d", status)
		}
		late := start(t, "tail", "-c", w.file, "--topic", "events", "--from", "end", "-n", "3", "--format", "jsonl")
		time.Sleep(300 * time.Millisecond) // it must not print the rows that are there already
		if out := late.out.String(); out != "" {
			t.Errorf("--from end prints %s", out)
		}
		w.must("produce", "-c", w.file, w.data, "--batch", "50")
		if status := <-late.done; status != cli.StatusDone || strings.Count(late.out.String(), "\n") != 3 {
			t.Errorf("status %d\n%s", status, late.out.String())
		}
	})
}
