package main

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
)

// TestEventsOfJSON: produce sends them as the configuration says, tail prints them whole, the stage reads them, and
// dead shows a bad one as it came.
func TestEventsOfJSON(t *testing.T) {
	for _, c := range []struct {
		format   string
		messages int
	}{{"jsonl", 5}, {"json", 435}} {
		w := newWorld(t, "input: {format: "+c.format+"}\noutput: {format: jsonl}\nlearning: off")
		w.must("topics", "create", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "100")
		if n := len(w.records("votes-events")); n != c.messages {
			t.Errorf("%s: %d messages, want %d", c.format, n, c.messages)
		}
		w.produce([]byte(`{"member": "x", "immigration": 7}`), 0)
		lines := w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "--follow=false", "--format",
			"jsonl").out
		if strings.Count(lines, "\n") != 436 || !strings.Contains(lines, `{"member":"1","handicapped-infants"`) {
			t.Errorf("%s: %d lines, the first of them %.300s", c.format, strings.Count(lines, "\n"), lines)
		}
		run := start(t, "run", "-c", w.file)
		w.await(435)
		eventually(t, "a dead letter", func() bool { return len(w.records("votes-dead")) == 1 })
		if status := run.stop(t); status != cli.StatusDone {
			t.Errorf("%s: run ends with status %d\n%s", c.format, status, run.err.String())
		}
		letters := w.must("dead", "list", "-c", w.file).out
		if !strings.Contains(letters, string(codec.ReasonSchema)) {
			t.Errorf("%s: letters\n%s", c.format, letters)
		}
	}
}

// TestEventsOfAvro: while the registry is away the stage waits and says so, and no event becomes a dead letter; then
// the events are scored, and one of a schema that the registry does not know is a dead letter.
func TestEventsOfAvro(t *testing.T) {
	var well atomic.Bool
	var fields []string
	registry := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case !well.Load():
			out.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/schemas/ids/7":
			_, _ = fmt.Fprintf(out, `{"schema": %q}`, `{"type": "record", "name": "Vote", "fields": [`+
				strings.Join(fields, ",")+`]}`)
		default:
			out.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(out, `{"error_code": 40403, "message": "Schema not found"}`)
		}
	}))
	t.Cleanup(registry.Close)
	w := newWorld(t,
		"input: {format: avro}\nregistry: {url: \""+registry.URL+"\"}\noutput: {format: jsonl}\nlearning: off")
	datum := []byte{0, 0, 0, 0, 7}
	for _, name := range append([]string{w.config.Record.ID}, names(w)...) {
		fields = append(fields, fmt.Sprintf(`{"name": %q, "type": "string"}`, codec.AvroName(name)))
		datum = append(binary.AppendVarint(datum, 1), 'y')
	}
	w.must("topics", "create", "-c", w.file)
	if r := command(t, "produce", "-c", w.file, w.data); r.status != cli.StatusInput || !strings.Contains(r.err, "avro") {
		t.Errorf("produce: status %d, %s", r.status, r.err)
	}
	for range 3 {
		w.produce(datum, 0)
	}
	w.produce([]byte{0, 0, 0, 0, 8, 2}, 0)
	w.produce(append([]byte{0, 0, 0, 0, 7, 0}, datum[7:]...), 0) // its id is empty
	run := start(t, "run", "-c", w.file)
	eventually(t, "the wait for the registry on /readyz", func() bool {
		status, text := run.get(t, "readyz")
		return status != http.StatusOK && strings.Contains(text, "waiting for the schema registry at "+registry.URL)
	})
	if m := metrics(t, run); !strings.Contains(m, "liftstream_registry_waiting 1") {
		t.Error("no metric says that it waits")
	}
	if n := len(w.records("votes-dead")); n != 0 || w.scored() != 0 {
		t.Errorf("%d dead letters and %d scores without a registry", n, w.scored())
	}
	well.Store(true)
	w.await(3)
	eventually(t, "the dead letters", func() bool { return len(w.records("votes-dead")) == 2 })
	if status := run.stop(t); status != cli.StatusDone {
		t.Errorf("run ends with status %d\n%s", status, run.err.String())
	}
	const row = `"member":"","handicapped_infants":"y"`
	for _, args := range [][]string{{"tail", "-c", w.file, "--topic", "dead", "--from", "start", "--follow=false",
		"--format", "jsonl"}, {"dead", "show", "-c", w.file, "0/1"},
		{"dead", "show", "-c", w.file, "0/1", "--format", "json"}} {
		if out := w.must(args...).out; !strings.Contains(out, row) {
			t.Errorf("%q shows the row as\n%s", args, out)
		}
	}
	letters := w.must("dead", "list", "-c", w.file, "--format", "jsonl").out
	if !strings.Contains(letters, "unknown_schema") || !strings.Contains(letters, "Schema not found") {
		t.Errorf("letters\n%s", letters)
	}
	tail := w.must("tail", "-c", w.file, "--topic", "events", "--from", "start", "--follow=false", "--format", "jsonl")
	if strings.Count(tail.out, `"handicapped_infants":"y"`) != 4 || !strings.Contains(tail.err, "schema 8") {
		t.Errorf("tail prints\n%s%s", tail.out, tail.err)
	}
	if v := w.must("verify", "-c", w.file); !strings.Contains(v.out, "3") {
		t.Errorf("verify: %s%s", v.out, v.err)
	}
}

// names are the columns of the features.
func names(w *world) (out []string) {
	for _, f := range w.config.Record.Features {
		out = append(out, f.Name)
	}
	return out
}
