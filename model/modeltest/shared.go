package modeltest

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Shared returns the path of a file that may not be shipped, such as data/bank_full.csv.gz: in the folder that
// LIFTSTREAM_SHARED names, else in shared/ beside the repository. Where it is missing the test is skipped, and says so.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("LIFTSTREAM_SHARED")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if root == filepath.Dir(root) {
				t.Fatal("the test does not run inside the repository")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: %s is missing; set LIFTSTREAM_SHARED to the folder that holds it", name)
	}
	return path
}

// CSV reads a file, compressed where its name ends in .gz, into memory: the header, then the rows.
func CSV(t testing.TB, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}
