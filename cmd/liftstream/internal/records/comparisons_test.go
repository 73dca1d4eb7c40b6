package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestATripleIsThreeRecords with three different ids.
func TestATripleIsThreeRecords(t *testing.T) {
	for _, c := range []struct{ content, says string }{
		{"a,b,c\n", ""}, {"i,j,k\na,b,c\n", ""}, {"a,b,c\ni,j,k\n", ""},
		{"a,a,c\n", ":1: a, a, c are not three records"}, {"a,b,a\n", "not three records"},
		{"a,b,c\na,b,b\n", ":2: a, b, b are not three records"},
		{"a,b\n", "2 values"}, {"a,,c\n", "an empty id"}, {"i,j,k\n", "no triple"},
	} {
		path := filepath.Join(t.TempDir(), "triples.csv")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadComparisons(path)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %q", c.content, err, c.says)
		}
	}
}
