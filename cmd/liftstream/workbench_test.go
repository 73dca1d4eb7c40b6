package main

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// workbench is a directory with copies of the examples and a model of the bank, as the working directory.
func workbench(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	benchModel.once.Do(func() {
		if r := command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "bank.model"); r.status != cli.StatusDone {
			benchModel.problem = r.err
			return
		}
		var err error
		if benchModel.bytes, err = os.ReadFile("bank.model"); err != nil {
			benchModel.problem = err.Error()
		}
	})
	if benchModel.problem != "" {
		t.Fatal(benchModel.problem)
	}
	if err := os.WriteFile("bank.model", benchModel.bytes, 0o600); err != nil {
		t.Fatal(err)
	}
}

// benchModel is the model of every workbench, fitted once: two fits are equal (TestFitIsDeterministic).
var benchModel struct {
	once    sync.Once
	bytes   []byte
	problem string
}

// long leaves a test that takes many seconds out of a short run.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
}

// write writes a file that edit makes of another one.
func write(t *testing.T, name, from string, edit func(string) string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(edit(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// line edits line n, from 1, of a text.
func line(n int, edit func(string) string) func(string) string {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		lines[n-1] = edit(lines[n-1])
		return strings.Join(lines, "\n")
	}
}

func swap(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

// alike compares decoded JSON, numbers to a relative 1e-9.
func alike(got, want any, path string) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if err := alike(g[k], w[k], path+"."+k); err != nil {
				return err
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
		for i := range w {
			if err := alike(g[i], w[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 1e-9*math.Max(1, math.Abs(w)) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
	default:
		if got != want {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	return nil
}
