package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

// TestAnotherListOfFeaturesKeepsTheState: with the configuration alone changed, between two runs of one group.
func TestAnotherListOfFeaturesKeepsTheState(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		text, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		edited := func(name, old, now string) string {
			if !strings.Contains(string(text), old) {
				t.Fatalf("no %q in the configuration", old)
			}
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			return file
		}
		const crime, duty = `    - {name: crime, kind: nominal, levels: ["n", "y"]}` + "\n",
			`    - {name: duty-free-exports, kind: nominal, levels: ["n", "y"]}` + "\n"
		before := edited("before.yaml", crime, "")
		after := edited("after.yaml", duty+`    - {name: export`, `    - {name: export`)
		w.must("topics", "create", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "10", "--repeat", "3")
		run := start(t, "run", "-c", before)
		eventually(t, "the scores", func() bool { return w.scored() == 3*435 })
		eventually(t, "a model",
			func() bool { return !strings.Contains(metrics(t, run), `liftstream_fits_total{outcome="published"} 0`) })
		if status := run.stop(t); status != cli.StatusDone {
			t.Fatalf("run ends with status %d\n%s", status, run.err.String())
		}
		w.must("produce", "-c", w.file, w.data, "--batch", "10")
		run = start(t, "run", "-c", after) // one feature is gone, one is new
		eventually(t, "all labels", func() bool { return learnt(t, run) == 4*435 })
		m := metrics(t, run)
		if !strings.Contains(m, `liftstream_restores_total{how="carried"} 1`) ||
			!strings.Contains(m, `liftstream_policy_total{action="carried",policy="schema_changed"} 1`) {
			t.Errorf("the state was not carried over:\n%s", m)
		}
		if !strings.Contains(m, `liftstream_records_total{status="untrained"} 0`) {
			t.Error("scores know nothing after the change")
		}
		// One record has no value at all, and a few have one in the new feature alone, which the model in place may not know.
		ok := regexp.MustCompile(`liftstream_records_total\{status="ok"\} (\d+)`).FindStringSubmatch(m)
		if n, err := strconv.Atoi(append(ok, "", "")[1]); err != nil || n < 430 || n > 434 {
			t.Errorf("scores are degraded after the change:\n%s", m)
		}
		run.stop(t)
		if l := w.ledger(); l.Events != 4*435 || l.Twice+l.Strange+l.Missing()+l.Dead != 0 {
			t.Errorf("%d events, %d scored twice, %d strange, %d missing, %d dead", l.Events, l.Twice, l.Strange, l.Missing(),
				l.Dead)
		}
		w.must("verify", "-c", after)
		// Any other change of the schema begins the state anew.
		text, err = os.ReadFile(after)
		if err != nil {
			t.Fatal(err)
		}
		run = start(t, "run", "-c", edited("other.yaml", "lift:\n", "lift:\n  quantiles: 4\n"))
		eventually(t, "a state anew", func() bool {
			return strings.Contains(metrics(t, run), `liftstream_policy_total{action="rebuild",policy="schema_changed"} 1`)
		})
		run.stop(t)
	})
}

// Duplicates are left out from some day on: the state stays, its ids begin to be remembered.
func TestDedupIsSwitchedOnWithoutAStateAnew(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		text, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		deduping := filepath.Join(t.TempDir(), "dedup.yaml")
		if err := os.WriteFile(deduping, append(text, "dedup: {by: id, window: 1h}\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		w.must("topics", "create", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "10", "--repeat", "2")
		run := start(t, "run", "-c", w.file)
		w.await(2 * 435) // events that were sent twice are two
		eventually(t, "all labels", func() bool { return learnt(t, run) == 2*435 })
		run.stop(t)
		run = start(t, "run", "-c", deduping)
		w.must("produce", "-c", w.file, w.data, "--batch", "10", "--repeat", "3")
		w.await(3 * 435)
		eventually(t, "the duplicates", func() bool {
			return strings.Contains(metrics(t, run), `liftstream_duplicates_total{outcome="left_out"} 870`)
		})
		m := metrics(t, run)
		if n := learnt(t, run); !strings.Contains(m, `liftstream_restores_total{how="carried"} 1`) || n != 3*435 {
			t.Errorf("%d learnt\n%s", n, m)
		}
		run.stop(t)
		run = start(t, "run", "-c", deduping)
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		eventually(t, "more duplicates", func() bool {
			return strings.Contains(metrics(t, run), `liftstream_duplicates_total{outcome="left_out"} 435`)
		})
		run.stop(t)
		if n := w.scored(); n != 3*435 {
			t.Errorf("%d scores", n)
		}
		w.must("verify", "-c", deduping)
	})
}

func TestTooManyDeadLettersPauseThePartition(t *testing.T) {
	worlds(t, "policy: {dead_share: 0.2}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		var out []txn.Record
		for i := range 30 {
			out = append(out, txn.Record{Topic: w.config.Topics.Events, Value: fmt.Appendf(nil, "no Arrow %d", i),
				Time: time.Now()})
		}
		if err := w.client.Produce(t.Context(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		run := start(t, "run", "-c", w.file)
		eventually(t, "a pause", func() bool {
			return strings.Contains(metrics(t, run), `liftstream_paused{partition="0"} 1`)
		})
		status, text := run.get(t, "readyz")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "more than policy.dead_share, 0.2") ||
			!strings.Contains(text, `"Phase":"paused"`) {
			t.Errorf("status %d, %s", status, text)
		}
		if n := len(w.records(w.config.Topics.Dead)); n != 21 {
			t.Errorf("%d dead letters, want 21: more than a fifth of a hundred messages", n)
		}
		if r := command(t, "resume", "-c", w.file); r.status != cli.StatusUsage {
			t.Errorf("no partition: status %d", r.status)
		}
		if r := command(t, "resume", "-c", w.file, "--partition", "7"); r.status != cli.StatusInput {
			t.Errorf("a partition that is not there: status %d", r.status)
		}
		w.must("resume", "-c", w.file, "--partition", "0", "--through-end")
		w.must("produce", "-c", w.file, w.data)
		w.await(435)
		if status, text := run.get(t, "readyz"); status != http.StatusOK {
			t.Errorf("status %d, %s", status, text)
		}
		if n := len(w.records(w.config.Topics.Dead)); n != 30 {
			t.Errorf("%d dead letters, want 30", n)
		}
		run.stop(t)
	})
}

func TestFormatThatThisBuildDoesNotWrite(t *testing.T) {
	for _, n := range []string{"7", "-1"} {
		if r := command(t, "run", "-c", "examples/live.yaml", "--format", n); r.status != cli.StatusUsage ||
			!strings.Contains(r.err, "this build writes formats 1 to 1") {
			t.Errorf("--format %s: status %d, %s", n, r.status, r.err)
		}
	}
}
