package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/config"
)

// TestLintSaysHowManyRecordsWait: the rates are the records by the window, and the setting that it names has room for
// the rate beside it.
func TestLintSaysHowManyRecordsWait(t *testing.T) {
	const head = "name: x\nrecord:\n  label: {column: y, classes: [a, b]}\n  features:\n" +
		"    - {name: n, kind: continuous}\n    - {name: job, kind: nominal}\n"
	say := func(more string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(head+more), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := config.Load(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		st, err := assemble.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return waitRoom(c, st.Spec)
	}
	if got := say(""); got != "" {
		t.Errorf("without labels: %q", got)
	}
	got := say("labels: {window: 7d, max_bytes: 256MiB}\ntopics: {partitions: 2}\n")
	m := regexp.MustCompile(`room for (\d+) .* some (\d+) where .*: ([\d.]+) to ([\d.]+) events .* 7d; 100 a second ` +
		`need some (\d+)MiB in each of 2 partitions`).FindStringSubmatch(got)
	if m == nil {
		t.Fatalf("it says %q", got)
	}
	var n [6]float64
	for i := range n[1:] {
		n[i+1], _ = strconv.ParseFloat(strings.Trim(m[i+1], "."), 64)
	}
	const week = 7 * 24 * 3600
	if n[1] < 1e6 || n[2] < 3*n[1] || n[3] < n[1]/week-.1 || n[3] > n[1]/week+.1 || n[4] < n[2]/week-.1 ||
		n[4] > n[2]/week+.1 {
		t.Errorf("it says %q", got)
	}
	enough := say("labels: {window: 7d, max_bytes: " + m[5] + "MiB}\ntopics: {partitions: 2}\n")
	if strings.Contains(enough, "need") {
		t.Errorf("what it names is not enough: %q", enough)
	}
	if some := say("labels: {window: 1m}\n"); strings.Contains(some, "need") {
		t.Errorf("over a minute: %q", some)
	}
}
