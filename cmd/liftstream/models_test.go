package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

// withModel runs a stage over the votes until a model is in the topic, and stops it.
func withModel(t *testing.T, w *world) {
	t.Helper()
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data)
	run := start(t, "run", "-c", w.file)
	eventually(t, "a model", func() bool {
		return strings.Contains(w.must("model", "list", "-c", w.file).out, "serves")
	})
	run.stop(t)
}

// TestModelsAreListedShownComparedAndExported: the exported file is the model of the topic, byte for byte, and 'score'
// reads it.
func TestModelsAreListedShownComparedAndExported(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		if r := w.must("model", "list", "-c", w.file); !strings.Contains(r.out, "no model was published yet") {
			t.Errorf("of an empty topic:\n%s", r.out)
		}
		if text := refusal(t, cli.StatusInput, "model", "show", "-c", w.file, "newest"); !strings.Contains(text,
			"holds no model newest") {
			t.Errorf("of an empty topic: %s", text)
		}
		withModel(t, w)
		if r := w.must("model", "list", "-c", w.file, "--format", "json"); !strings.Contains(r.out, `"serves": true`) {
			t.Errorf("as JSON:\n%s", r.out)
		}
		shown := w.must("model", "show", "-c", w.file, "1").out
		for _, want := range []string{"1 of " + w.config.Topics.Model, "published 20", "physician-fee-freeze"} {
			if !strings.Contains(shown, want) {
				t.Errorf("shown without %q:\n%s", want, shown)
			}
		}
		if r := w.must("model", "diff", "-c", w.file, "1", "1"); r.out != "" {
			t.Errorf("a model differs from itself:\n%s", r.out)
		}
		file := filepath.Join(t.TempDir(), "out.model")
		w.must("model", "export", "-c", w.file, "newest", "--out", file)
		exported, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := w.must("model", "export", "-c", w.file, "newest", "--out", "-"); r.out != string(exported) {
			t.Errorf("%d bytes on standard output, %d in the file", len(r.out), len(exported))
		}
		if r := w.must("inspect", file); !strings.Contains(r.out, "physician-fee-freeze") {
			t.Errorf("inspected:\n%s", r.out)
		}
		if r := w.must("score", "-c", w.file, "--model", file, w.data); strings.Count(r.out, "\n") != 435 {
			t.Errorf("%d lines of scores", strings.Count(r.out, "\n"))
		}
		for _, c := range [][]string{{"show", "99"}, {"diff", "1", "99"}, {"export", "99"}, {"show", "refused/99"}} {
			args := append([]string{"model", c[0], "-c", w.file}, c[1:]...)
			if text := refusal(t, cli.StatusInput, args...); !strings.Contains(text, "model list -c "+w.file) {
				t.Errorf("%q: %s", args, text)
			}
		}
		if err := w.client.Produce(t.Context(), []txn.Record{{Topic: w.config.Topics.Model, Key: []byte("model/1/0"),
			Value: []byte("damaged")}}, txn.None); err != nil {
			t.Fatal(err)
		}
		for _, c := range [][]string{{"list"}, {"show", "1"}} {
			args := append([]string{"model", c[0], "-c", w.file}, c[1:]...)
			if r := command(t, args...); r.status != cli.StatusInput || !strings.Contains(r.err, "checksum") {
				t.Errorf("%q of a damaged model: status %d\n%s%s", args, r.status, r.out, r.err)
			}
		}
	})
}

func TestMisuseOfModel(t *testing.T) {
	for _, args := range []string{"", "shw", "show", "show x", "show 0", "show -1", "show refused/x", "show 1 2", "diff 1",
		"export", "list 1", "list --format csv"} {
		refusal(t, cli.StatusUsage, append([]string{"model", "-c", "none.yaml"}, strings.Fields(args)...)...)
	}
}
