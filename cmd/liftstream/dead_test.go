package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

// Dead letters are listed, shown and sent again by the commands, those of labels to the labels.
func TestDeadLettersFromTheCommandLine(t *testing.T) {
	worlds(t, "labels: {window: 1h}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		run := start(t, "run", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		w.produce([]byte("customer,age\n1,\x1b[31m2\n"), 0, txn.Header{Key: "trace", Value: []byte("a\x1b[2Jb\u202e")})
		w.produce([]byte{0xff, 0xff, 0xff, 0xff, 1}, 0)
		if err := w.client.Produce(t.Context(), []txn.Record{{Topic: w.config.Topics.Labels, Value: []byte("no label")}},
			txn.None); err != nil {
			t.Fatal(err)
		}
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		w.await(2 * 435)
		dead := func() int { return len(w.records(w.config.Topics.Dead)) }
		eventually(t, "no three letters", func() bool { return dead() == 3 })
		run.stop(t)

		var list struct {
			Letters []struct {
				Letter, State, Reason, Stage string
				Offset                       int64
				Replays                      int
			}
			Counts []struct {
				Reason, State string
				Letters       int
			}
		}
		read := func(args ...string) {
			t.Helper()
			out := w.must(append([]string{"dead", "list", "-c", w.file, "--format", "json"}, args...)...).out
			list.Letters, list.Counts = nil, nil
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		read()
		if len(list.Letters) != 3 || list.Letters[0].State != "waits" {
			t.Fatalf("list %+v", list)
		}
		for _, c := range []struct {
			want int
			args []string
		}{{2, []string{"--stage", "events"}}, {1, []string{"--stage", "labels"}}, {1, []string{"--offsets", "2:2"}},
			{2, []string{"--offsets", "1:"}}, {3, []string{"--since", "1h"}}, {0, []string{"--until", "1h"}},
			{0, []string{"--partition", "7"}}, {0, []string{"--reason", "future"}}, {1, []string{"-n", "1"}}} {
			if read(c.args...); len(list.Letters) != c.want {
				t.Errorf("%q: %d letters, want %d", c.args, len(list.Letters), c.want)
			}
		}
		table := w.must("dead", "list", "-c", w.file).out
		if strings.Count(table, "waits") < 4 || strings.Contains(table, "\x1b") {
			t.Errorf("the table\n%s", table)
		}
		read("--offsets", "1:1", "--stage", "events")
		name := list.Letters[0].Letter
		shown := w.must("dead", "show", "-c", w.file, name).out
		if !strings.Contains(shown, "customer,age\n1,·[31m2") || !strings.Contains(shown, "header trace a·[2Jb·") ||
			strings.ContainsAny(shown, "\x1b\u202e") || !strings.Contains(shown, "\ntime ") ||
			strings.Contains(shown, "does not know") {
			t.Errorf("shown\n%q", shown)
		}
		value := filepath.Join(t.TempDir(), "value")
		w.must("dead", "show", "-c", w.file, name, "--value", value)
		if b, err := os.ReadFile(value); err != nil || string(b) != "customer,age\n1,\x1b[31m2\n" {
			t.Errorf("the value %q, %v", b, err)
		}
		if r := command(t, "dead", "show", "-c", w.file, "0/999"); r.status != cli.StatusInput {
			t.Errorf("a letter that is not there: status %d, %s", r.status, r.err)
		}

		out := w.must("dead", "replay", "-c", w.file, "--dry-run").out
		if strings.Count(out, "to send") < 4 || len(w.records(w.config.Topics.Labels)) != 1 {
			t.Errorf("dry run\n%s", out)
		}
		w.must("dead", "replay", "-c", w.file, name)
		w.must("dead", "replay", "-c", w.file, name)
		read("--waiting")
		if len(list.Letters) != 2 {
			t.Errorf("after one was sent: %+v", list)
		}
		out = w.must("dead", "replay", "-c", w.file).out
		w.must("dead", "replay", "-c", w.file)
		if n := len(w.records(w.config.Topics.Labels)); n != 2 || !strings.Contains(out, "sent") {
			t.Errorf("%d labels messages\n%s", n, out)
		}
		if n := len(w.records(w.config.Topics.Events)); n != 6 {
			t.Errorf("%d events messages, want 6", n)
		}
		before := dead()
		run = start(t, "run", "-c", w.file)
		eventually(t, "they do not die again", func() bool { return dead() == before+3 })
		run.stop(t)
		read("--waiting")
		if len(list.Letters) != 3 || list.Letters[0].Replays != 1 {
			t.Errorf("after they died again: %+v", list)
		}
		if r := command(t, "dead", "replay", "-c", w.file, "--max-replays", "1"); r.status != cli.StatusInput ||
			!strings.Contains(r.out, "sent too often") {
			t.Errorf("status %d\n%s%s", r.status, r.out, r.err)
		}
		if tail := w.must("tail", "-c", w.file, "--topic", "dead", "--from", "start", "--follow=false", "--format",
			"jsonl").out; strings.Count(tail, "\n") != 6 {
			t.Errorf("tail prints receipts:\n%s", tail)
		}
	})
}

func TestMisuseOfDead(t *testing.T) {
	for _, args := range []string{"dead", "dead lst", "dead show", "dead show 17", "dead show 1/-2", "dead list -n -1",
		"dead list --format arrow", "dead list --offsets 7", "dead list --since tomorrow", "dead list --stage scores",
		"dead replay --max-replays -1", "dead replay x"} {
		if r := command(t, strings.Fields(args)...); r.status != cli.StatusUsage {
			t.Errorf("%s: status %d\n%s", args, r.status, fmt.Sprint(r.out, r.err))
		}
	}
}
