package main

import (
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/stream/txn"
)

// skipped returns the places of the messages that were passed by.
func skipped(w *world) (at []string) {
	for _, r := range w.records(w.config.Topics.Dead) {
		h := map[string]string{}
		for _, x := range r.Headers {
			h[x.Key] = string(x.Value)
		}
		if h[codec.DeadReason] == string(codec.ReasonSkipped) {
			at = append(at, h[codec.DeadStage]+" "+h[codec.DeadPartition]+"/"+h[codec.DeadOffset])
		}
	}
	return at
}

// refusal runs a command that is refused in one sentence, of which it returns the text.
func refusal(t *testing.T, status int, args ...string) string {
	t.Helper()
	r := command(t, args...)
	text := strings.TrimSpace(r.err)
	if r.status != status || r.out != "" || text == "" || strings.Contains(text, "\n") && status != cli.StatusUsage {
		t.Errorf("%q: status %d, want %d and one sentence\n%s%s", args, r.status, status, r.out, r.err)
	}
	return text
}

// Exactly the named message is passed by, however often it is named; the stage goes on behind it, and its letter can be
// sent again, once.
func TestAMessageIsSkippedFromTheCommandLine(t *testing.T) {
	worlds(t, "labels: {window: 1h}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "87") // the messages 0 to 4
		skip := func(offset string, more ...string) []string {
			return append([]string{"dead", "skip", "-c", w.file, "--partition", "0", "--offset", offset}, more...)
		}
		for _, c := range []struct {
			args []string
			says string
		}{
			{skip("99"), "holds the offsets 0 to 4, and no 99"},
			{skip("0", "--stage", "labels"), "partition 0, holds no message"},
			{[]string{"dead", "skip", "-c", w.file, "--partition", "7", "--offset", "0"}, "partitions 0 to 0, and no 7"},
		} {
			if text := refusal(t, cli.StatusInput, c.args...); !strings.Contains(text, c.says) {
				t.Errorf("%q says %q, want %q in it", c.args, text, c.says)
			}
		}
		for range 2 {
			if r := w.must(skip("2", "--why", "by the test")...); !strings.Contains(r.out, "offset 2 of partition 0") {
				t.Errorf("says %q", r.out)
			}
		}
		run := start(t, "run", "-c", w.file)
		w.await(4 * 87)
		eventually(t, "its letter", func() bool { return len(skipped(w)) == 1 })
		if text := refusal(t, cli.StatusInput, skip("3")...); !strings.Contains(text, "stop them first") {
			t.Errorf("while a member runs: %q", text)
		}
		run.stop(t)
		for _, offset := range []string{"2", "3"} {
			if text := refusal(t, cli.StatusInput, skip(offset)...); !strings.Contains(text, "processed") {
				t.Errorf("a processed message: %q", text)
			}
		}
		w.produce([]byte("no event"), 0)
		if err := w.client.Produce(t.Context(), []txn.Record{{Topic: w.config.Topics.Labels, Value: []byte("no label")}},
			txn.None); err != nil {
			t.Fatal(err)
		}
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		w.must(skip("0", "--stage", "labels")...)
		run = start(t, "run", "-c", w.file)
		w.await(4*87 + 435)
		eventually(t, "the letter of the labels", func() bool { return len(skipped(w)) == 2 })
		run.stop(t)
		if got := strings.Join(skipped(w), ", "); got != "events 0/2, labels 0/0" {
			t.Errorf("passed by: %s", got)
		}
		w.must("verify", "-c", w.file)

		list := w.must("dead", "list", "-c", w.file, "--reason", "skipped", "--stage", "events", "--format", "csv").out
		lines := strings.Split(strings.TrimSpace(list), "\n")
		if len(lines) != 2 {
			t.Fatalf("listed\n%s", list)
		}
		letter, _, _ := strings.Cut(lines[1], ",")
		if shown := w.must("dead", "show", "-c", w.file, letter).out; !strings.Contains(shown, "by the test") {
			t.Errorf("shown\n%s", shown)
		}
		for range 2 {
			w.must("dead", "replay", "-c", w.file, letter)
		}
		run = start(t, "run", "-c", w.file)
		w.await(5*87 + 435)
		run.stop(t)
		if n := w.scored(); n != 5*87+435 {
			t.Errorf("%d records are scored", n)
		}
		w.must("verify", "-c", w.file)

		// A committed message is taken by --processed alone. Its score stays, and the stage goes on.
		if r := w.must(skip("1", "--processed")...); !strings.Contains(r.out, "offset 1 of partition 0") {
			t.Errorf("says %q", r.out)
		}
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		run = start(t, "run", "-c", w.file)
		w.await(5*87 + 2*435)
		run.stop(t)
		if got := len(skipped(w)); got != 2 {
			t.Errorf("%d letters of messages that were passed by", got)
		}
		if r := command(t, "verify", "-c", w.file); r.status != cli.StatusInput || !strings.Contains(r.out+r.err, "event 1") {
			t.Errorf("verify: status %d\n%s%s", r.status, r.out, r.err)
		}
	})
}

func TestMisuseOfSkip(t *testing.T) {
	for _, args := range []string{"", "--partition 0", "--offset 1", "--partition -1 --offset 1",
		"--partition 0 --offset -1",
		"--partition x --offset 1", "--partition 0 --offset 1 --stage scores", "--partition 0 --offset 1 2"} {
		if text := refusal(t, cli.StatusUsage, append([]string{"dead", "skip", "-c", "none.yaml"},
			strings.Fields(args)...)...); strings.Contains(text, "none.yaml:") {
			t.Errorf("%s: %s", args, text)
		}
	}
}
