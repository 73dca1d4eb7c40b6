package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/model/modeltest"
)

// checkParse holds the result of Parse for any text against its promises.
func checkParse(t *testing.T, data []byte) {
	for _, env := range []func(string) (string, bool){environment, nil} {
		c, _, err := Parse("f.yaml", data, env)
		if err != nil {
			var problems Problems
			if c != nil || !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("Parse returns %v and %v", c, err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Line > 2+strings.Count(string(data), "\n")+strings.Count(string(data), "\r") || p.Message == "" {
					t.Fatalf("problem %+v of %q", p, data)
				}
			}
			continue
		}
		if env == nil {
			continue
		}
		again, _, err := Parse("dump.yaml", c.Redacted(), env)
		if err != nil {
			t.Fatalf("the dump of %q is refused: %v\n%s", data, err, c.Redacted())
		}
		if again.Fingerprint() != c.Fingerprint() && len(c.masked) == 0 {
			t.Fatalf("the dump of %q has another fingerprint:\n%s", data, c.Redacted())
		}
	}
}

func seeds(t testing.TB) [][]byte {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for _, f := range append(files, "testdata/full.yaml", "testdata/minimal.yaml") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 4096 {
			texts = append(texts, b)
		}
	}
	return append(texts, []byte("&a [*a]"), []byte("&a {*a : *a}"), []byte("{a: !!binary x}"), []byte("? {}\n: 1"),
		[]byte("\xff\xfe"), []byte("%YAML 1.2\n---\n"),
		[]byte("\ufeffname: x"), []byte("name: \"\\ud800\""), []byte(strings.Repeat("[",
			20000)), []byte(strings.Repeat("{a: ", 5000)))
}

func FuzzParse(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(checkParse)
}

// TestParseNoPanic cuts and damages a good file all over.
func TestParseNoPanic(t *testing.T) {
	modeltest.Computes(t)
	for _, b := range seeds(t) {
		checkParse(t, b)
	}
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const marks = "\x00{[:&*!-\"'\n\t\x80"
	for i := 0; i < len(full); i += 7 {
		checkParse(t, full[:i])
		damaged := append([]byte{}, full...)
		damaged[i] = marks[i%len(marks)]
		checkParse(t, damaged)
	}
}
