package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

var fence = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// snippets returns the README and its snippets, each with its language.
func snippets(t *testing.T) (text string, all [][2]string) {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
		all = append(all, [2]string{m[1], m[2]})
	}
	return string(b), all
}

// TestReadmeSnippets runs every command of the README and lints every configuration.
func TestReadmeSnippets(t *testing.T) {
	long(t)
	text, all := snippets(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "cmd/liftstream/examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ran := map[string]int{}
	for _, s := range all {
		ran[s[0]]++
		switch s[0] {
		case "sh":
			for _, line := range strings.Split(strings.ReplaceAll(strings.TrimSpace(s[1]), "\\\n", ""), "\n") {
				if line == "go test ./..." {
					continue // this test is part of it
				}
				args := strings.Fields(line)
				if len(args) < 4 || strings.Join(args[:3], " ") != "go run ./cmd/liftstream" {
					t.Errorf("%q is not a command that this test knows to run", line)
					continue
				}
				args = args[3:]
				if args[0] == "demo" {
					args = append(args, "--once", "--rate", "0", "--listen", "127.0.0.1:0")
				}
				r := command(t, args...)
				if r.status != cli.StatusDone {
					t.Errorf("%s: status %d: %s", line, r.status, r.err)
				}
				if slices.Contains(args, "--record") {
					compareLines(t, text, r.out)
				}
			}
		case "yaml":
			if err := os.WriteFile("readme.yaml", []byte(s[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := command(t, "lint", "readme.yaml"); r.status != cli.StatusDone {
				t.Errorf("configuration: %s%s", r.out, r.err)
			}
		case "json":
			compareKeys(t, s[1])
		default:
			t.Errorf("a snippet of %s is checked by nobody", s[0])
		}
	}
	if ran["sh"] < 2 || ran["yaml"] < 1 || ran["json"] < 1 {
		t.Errorf("snippets found: %v", ran)
	}
}

// compareLines holds the README's score of one record, the indented lines from "record " on, against the command's.
func compareLines(t *testing.T, readme, printed string) {
	t.Helper()
	_, shown, found := strings.Cut(readme, "\n\n    record ")
	shown, _, _ = strings.Cut("record "+shown, "\n\n#")
	if !found {
		t.Fatal("the README shows no score of one record")
	}
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		if line != "..." && !strings.Contains(printed, line) {
			t.Errorf("the README shows %q, which --record does not print:\n%s", line, printed)
		}
	}
}

// compareKeys holds the README's score against one that was just written (scores.jsonl of the commands before it).
func compareKeys(t *testing.T, shown string) {
	t.Helper()
	keys := func(text string) (k []string) {
		d := json.NewDecoder(strings.NewReader(text))
		for depth := 0; ; {
			tok, err := d.Token()
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			switch tok {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				if depth--; depth == 0 {
					return k
				}
			default:
				if s, ok := tok.(string); ok && depth == 1 {
					k = append(k, s)
					var skip any
					if err := d.Decode(&skip); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	scores, err := os.ReadFile("scores.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(scores), "\n")
	if got, want := keys(shown), keys(line); !slices.Equal(got, want) {
		t.Errorf("the README's score has %v, a real one %v", got, want)
	}
}
