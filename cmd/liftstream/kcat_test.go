package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

// TestKcat runs the lines of deploy/clients/README.md: kcat sends events to the partitions of their ids, and reads
// scores and dead letters.
func TestKcat(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("NOT PROVED: that kcat understands the topics; kcat is missing")
	}
	const extra = "topics: {partitions: 3}\ninput: {format: json}\noutput: {format: json}"
	worlds(t, extra, func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		var keyed bytes.Buffer
		text, err := os.ReadFile(jsonLinesOf(t, w.data))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var row struct{ Member string }
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			keyed.WriteString(row.Member + "|" + string(line))
		}
		keyed.WriteString("x|no row\n")
		file := filepath.Join(t.TempDir(), "votes.keyed")
		if err := os.WriteFile(file, keyed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		kcat := func(args ...string) string {
			t.Helper()
			var fault strings.Builder
			c := exec.Command("kcat", args...)
			c.Stderr = &fault
			out, err := c.Output()
			if err != nil {
				t.Fatalf("kcat %q: %v: %s", args, err, fault.String())
			}
			return string(out)
		}
		topics := w.config.Topics
		kcat("-P", "-b", w.address, "-t", topics.Events, "-X", "partitioner=murmur2_random", "-K", "|", "-l", file)
		for _, r := range w.records(topics.Events) {
			if want := txn.Partition(r.Key, 3); r.Partition != want {
				t.Fatalf("the event of %s lies in partition %d, want %d", r.Key, r.Partition, want)
			}
		}
		run := start(t, "run", "-c", w.file)
		w.await(435)
		eventually(t, "a dead letter", func() bool { return len(w.records(topics.Dead)) == 1 })
		lines := kcat("-C", "-b", w.address, "-t", topics.Scores, "-o", "beginning", "-e", "-q")
		if n := strings.Count(lines, `"propensity_democrat":`); n != 435 || strings.Count(lines, "\n") != 435 {
			t.Errorf("%d scores: %.300s", n, lines)
		}
		last := kcat("-C", "-b", w.address, "-t", topics.Scores, "-o", "-2", "-e", "-q", "-f", `%k %p %o %h\n`)
		if !strings.Contains(last, "liftstream-name="+w.config.Name) {
			t.Errorf("headers %s", last)
		}
		letters := kcat("-C", "-b", w.address, "-t", topics.Dead, "-o", "beginning", "-e", "-q", "-f", `%h\n%s\n`)
		if !strings.Contains(letters, "liftstream-reason=not_json") || !strings.Contains(letters, "\nno row\n") {
			t.Errorf("letters %s", letters)
		}
		if code := run.stop(t); code != cli.StatusDone {
			t.Errorf("run ends with status %d\n%s", code, run.err.String())
		}
	})
}
