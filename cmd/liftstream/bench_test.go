package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedData returns a data file that is not shipped, from the folder LIFTSTREAM_SHARED or ../shared beside the
// repository.
func sharedData(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("LIFTSTREAM_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path, err := filepath.Abs(filepath.Join(root, "data", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("SKIPPED: %s is not there; set LIFTSTREAM_SHARED to the folder that holds data/%s", path, name)
	}
	return path
}

// BenchmarkEvalBank is eval of all 45,211 bank records with every method.
func BenchmarkEvalBank(b *testing.B) {
	data := sharedData(b, "bank_full.csv.gz")
	for b.Loop() {
		var out, errs bytes.Buffer
		if status := execute(context.Background(), []string{"eval", "-c", "examples/bank.yaml", data}, strings.NewReader(""), &out, &errs); status != 0 {
			b.Fatal(errs.String())
		}
	}
}
