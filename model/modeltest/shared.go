package modeltest

import (
	"os"
	"path/filepath"
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
