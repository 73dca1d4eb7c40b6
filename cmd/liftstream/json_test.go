package main

import (
	"strings"
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
