package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/stream/txn"
)

func TestProduceKeys(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 4}")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--key", "class", "--batch", "50")
	rows := 0
	for _, r := range w.records("votes-events") {
		classes := column(t, r.Value, "class")
		rows += len(classes)
		for _, c := range classes {
			if txn.Partition([]byte(c), 4) != r.Partition {
				t.Errorf("%s in partition %d", c, r.Partition)
			}
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(classes)))
		if len(distinct) == 1 && string(r.Key) != distinct[0] || len(distinct) > 1 && r.Key != nil {
			t.Errorf("a message of %v has the key %q", distinct, r.Key)
		}
		for _, h := range r.Headers {
			if h.Key == codec.HeaderRows && string(h.Value) != strconv.Itoa(len(classes)) {
				t.Errorf("a message of %d rows says %s", len(classes), h.Value)
			}
		}
	}
	if rows != 435 {
		t.Errorf("%d rows in the topic, want 435", rows)
	}
}

func TestProduceInTurn(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 3}")
	b, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.file, bytes.Replace(b, []byte("  id: member\n"), nil, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "100", "--repeat", "2")
	var ids [3]int
	for _, r := range w.records("votes-events") {
		ids[r.Partition] += len(column(t, r.Value, "member"))
		if r.Key != nil {
			t.Errorf("key %q", r.Key)
		}
	}
	if ids[0]+ids[1]+ids[2] != 870 || slices.Min(ids[:]) < 200 {
		t.Errorf("rows by partition %v", ids)
	}
}

func TestProduceRefusesWhatEveryRowWouldDieOf(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	data := w.other(func(r []string, line int) {
		if line == 0 {
			r[3] = "no-such-question"
		}
	})
	r := command(t, "produce", "-c", w.file, data)
	if r.status != cli.StatusInput || !strings.Contains(r.err, "adoption-of-the-budget-resolution") ||
		len(w.records("votes-events")) != 0 {
		t.Errorf("status %d, %s", r.status, r.err)
	}
	for _, c := range []struct{ flag, value string }{{"--rate", "-1"}, {"--batch", "0"}, {"--repeat", "0"},
		{"--key", "nothing"}, {"--topic", "scores"}} {
		if r := command(t, "produce", "-c", w.file, w.data, c.flag, c.value); r.status != cli.StatusUsage ||
			!strings.Contains(r.err, c.flag) {
			t.Errorf("%s %s: status %d, %s", c.flag, c.value, r.status, r.err)
		}
	}
}

// TestProduceOnAFullDisk: a child that may write no file above 64 KiB stands for a full disk. It counts the records
// there.
func TestProduceOnAFullDisk(t *testing.T) {
	w := newWorld(t, "")
	b, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "broker")
	file := filepath.Join(t.TempDir(), "full.yaml")
	text := bytes.Replace(b, fmt.Appendf(nil, "kafka: {brokers: [%q]}", w.address),
		fmt.Appendf(nil, "kafka: {embedded: {dir: %q}}", dir), 1)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("topics", "create", "-c", file)
	limited := exec.Command("sh", "-c", `ulimit -f 128 && exec "$@"`, "sh", buildBinary(t), "produce", "-c", file, w.data,
		"--repeat", "400", "--batch", "10")
	out, err := limited.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.StatusEnvironment || !bytes.Contains(out, []byte(dir)) {
		t.Errorf("produce ends with %v\n%s", err, out)
	}
	said := regexp.MustCompile(`(\d+) records in (\d+) messages were sent`).FindSubmatch(out)
	if said == nil {
		t.Fatalf("it does not say how many were sent:\n%s", out)
	}
	there := 0
	for line := range strings.Lines(w.must("tail", "-c", file, "--topic", "events", "--from", "start", "--follow=false",
		"--format", "jsonl").out) {
		there += min(len(line), 1)
	}
	if sent, _ := strconv.Atoi(string(said[1])); sent > there || sent == 0 {
		t.Errorf("it says that %d records were sent, and %d are there", sent, there)
	}
}
