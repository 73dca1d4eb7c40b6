package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// jsonLinesOf writes a CSV file as JSON lines, every value a text, and returns the name of that file.
func jsonLinesOf(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, value := range record {
			row[records[0][i]] = value
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, line...), '\n')
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGoClient: franz-go, as producer and as read-committed consumer, sends the events of the example and gets a score
// for each.
func TestGoClient(t *testing.T) {
	program := filepath.Join(t.TempDir(), "client")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../deploy/clients/go").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const extra = "topics: {partitions: 3}\ninput: {format: json}\noutput: {format: json}"
	worlds(t, extra, func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		run := start(t, "run", "-c", w.file)
		client := exec.Command(program, "--broker", w.address, "--events", w.config.Topics.Events, "--scores",
			w.config.Topics.Scores, "--id", "member", "--class", "democrat", jsonLinesOf(t, w.data))
		var fault strings.Builder
		client.Stderr = &fault
		out, err := client.Output()
		if err != nil {
			t.Fatalf("%v: %s\n%s", err, fault.String(), run.err.String())
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != 6 || lines[0] != "435 rows sent, 435 scored" {
			t.Errorf("%s", out)
		}
		for _, r := range w.records(w.config.Topics.Dead) {
			t.Errorf("a dead letter: %s", r.Value)
		}
		if code := run.stop(t); code != cli.StatusDone {
			t.Errorf("run ends with status %d\n%s", code, run.err.String())
		}
	})
}
