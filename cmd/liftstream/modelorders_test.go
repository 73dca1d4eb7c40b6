package main

import (
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// TestOrdersFromTheCommandLine: each says its effect, is listed with its giver and reason, and is obeyed by the running
// stage; one without sense is refused.
func TestOrdersFromTheCommandLine(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		order := func(args ...string) []string { return append([]string{"model", args[0], "-c", w.file}, args[1:]...) }
		for _, c := range []struct {
			args []string
			says string
		}{
			{order("pin", "1"), "holds no model 1"}, {order("unpin"), "no version is pinned"},
			{order("rollback"), "no readable model of this configuration before"}, {order("unfreeze"), "nothing is frozen"},
			{order("trust"), "nothing to trust"},
		} {
			if text := refusal(t, cli.StatusInput, c.args...); !strings.Contains(text, c.says) ||
				!strings.Contains(text, "model list -c "+w.file) {
				t.Errorf("%q: %s", c.args, text)
			}
		}
		withModel(t, w)
		for _, c := range []struct {
			args []string
			says string
		}{
			{order("pin", "1", "--why", "the campaign"), "model 1 serves until 'liftstream model unpin'\n"},
			{order("freeze"), "no model is fitted until 'liftstream model unfreeze'\n"},
			{order("freeze", "--learning"), "no model is fitted and no record learnt until 'liftstream model unfreeze'\n"},
		} {
			if r := w.must(c.args...); r.out != c.says {
				t.Errorf("%q says %q", c.args, r.out)
			}
		}
		if text := refusal(t, cli.StatusInput, order("rollback", "1")...); !strings.Contains(text, "model 1 is pinned") {
			t.Errorf("a rollback while a version is pinned: %s", text)
		}
		list := w.must("model", "list", "-c", w.file).out
		for _, want := range []string{"pin 1", "the campaign", "freeze --learning", whoami(), "serves"} {
			if !strings.Contains(list, want) {
				t.Errorf("listed without %q:\n%s", want, list)
			}
		}
		run := start(t, "run", "-c", w.file)
		w.must("produce", "-c", w.file, w.data)
		w.await(2 * 435)
		eventually(t, "a word about the orders", func() bool {
			log := run.err.String()
			return strings.Contains(log, "learning is off") && strings.Contains(log, whoami()) &&
				strings.Contains(log, "no model is fitted")
		})
		if r := w.must(order("unfreeze")...); r.out != "models are fitted and records learnt\n" {
			t.Errorf("says %q", r.out)
		}
		eventually(t, "learning again", func() bool { return strings.Contains(run.err.String(), "learning is on") })
		if r := w.must(order("unpin")...); !strings.Contains(r.out, "the newest one") {
			t.Errorf("says %q", r.out)
		}
		file := filepath.Join(t.TempDir(), "given.model")
		w.must("fit", "-c", w.file, w.data, "--model", file)
		if r := w.must(order("publish", file, "--why", "from a file")...); !strings.Contains(r.out, "its next version") {
			t.Errorf("says %q", r.out)
		}
		eventually(t, "the model of the file", func() bool {
			log := run.err.String()
			return strings.Contains(log, "model published, as ordered") && strings.Contains(log, "another model serves")
		})
		run.stop(t)
		if text := refusal(t, cli.StatusInput, order("publish", w.data)...); !strings.Contains(text, "not a liftstream") {
			t.Errorf("no model file: %s", text)
		}
		w.must("verify", "-c", w.file)
	})
}

func TestMisuseOfOrders(t *testing.T) {
	for _, args := range []string{"pin", "pin x", "pin 0", "pin newest", "pin 1 2", "unpin 1", "rollback x",
		"rollback 1 2", "freeze 1", "publish", "unfreeze 1", "unfreeze --learning"} {
		words := strings.Fields(args)
		refusal(t, cli.StatusUsage, append([]string{"model", words[0], "-c", "none.yaml"}, words[1:]...)...)
	}
}
