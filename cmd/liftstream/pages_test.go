package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// citation is the name of a page, then perhaps the numbers of its sections, or a title in quotes.
	citation      = regexp.MustCompile(`([\w./-]*\b[A-Z]+\.md)((?:,? \d+(?:\.\d+)*\b)*)(?:,? "([^"]+)")?`)
	sectionNumber = regexp.MustCompile(`\d+(?:\.\d+)*`)
	// absent are the names of pages that were never part of the repository.
	absent  = regexp.MustCompile(`\b(SPEC|DESIGN|INTERFACE|KAFKA)\b`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)#]*)(?:#[^)]*)?\)`)
)

// pages reads every page of the repository, by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, ".md", func(name string, text []byte) { all[name] = string(text) })
	return all
}

// walk calls f for each file of the repository with the ending, by its path from the root.
func walk(t *testing.T, ending string, f func(name string, text []byte)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".":
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ending:
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err == nil {
			f(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// find returns the page that a text in folder dir means: beside it, in a folder above, or named from the root.
func find(all map[string]string, dir, page string) (string, bool) {
	for ; ; dir = path.Dir(dir) {
		if text, ok := all[path.Join(dir, page)]; ok {
			return text, true
		}
		if dir == "." {
			return "", false
		}
	}
}

// titles returns the headings of a page, and the numbers with which they begin.
func titles(page string) map[string]bool {
	has := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		has[m[1]] = true
		if n, title, ok := strings.Cut(m[1], " "); ok && sectionNumber.FindString(n) == n {
			has[n], has[title] = true, true
		}
	}
	return has
}

// missing returns the pages and sections that a text in folder dir cites and that do not exist.
func missing(all map[string]string, dir, text string) (bad []string) {
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		page, ok := find(all, dir, m[1])
		if !ok {
			bad = append(bad, m[1])
			continue
		}
		has := titles(page)
		for _, s := range append(sectionNumber.FindAllString(m[2], -1), m[3]) {
			if s != "" && !has[s] {
				bad = append(bad, m[1]+" "+s)
			}
		}
	}
	return bad
}

// TestCommentsCitePagesThatExist holds each citation of a page in a comment against the page.
func TestCommentsCitePagesThatExist(t *testing.T) {
	all := pages(t)
	found, set := 0, token.NewFileSet()
	walk(t, ".go", func(name string, text []byte) {
		f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			at := set.Position(group.Pos()).String()
			text := plainText(group)
			if m := absent.FindString(text); m != "" && !strings.Contains(text, m+".md") {
				t.Errorf("%s cites %s, which is no page of the repository", at, m)
			}
			found += len(citation.FindAllString(text, -1))
			for _, m := range missing(all, path.Dir(name), text) {
				t.Errorf("%s cites %s, which does not exist", at, m)
			}
		}
	})
	if found < 70 {
		t.Errorf("%d citations found: is the pattern still right?", found)
	}
}

// plainText returns the words of a comment on one line: a citation may be broken over two.
func plainText(group *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range group.List {
		b.WriteString(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), "/*"), "*/"))
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestPagesCitePagesThatExist holds the links and citations between pages against the files.
func TestPagesCitePagesThatExist(t *testing.T) {
	all := pages(t)
	kinds := map[string]bool{} // names of pages; those of the top level speak of a kind without its folder
	for name := range all {
		kinds[path.Base(name)] = true
	}
	for name, text := range all {
		for _, m := range missing(all, path.Dir(name), strings.NewReplacer("\n", " ", "`", "").Replace(text)) {
			if !kinds[m] || path.Dir(name) != "." {
				t.Errorf("%s cites %s, which does not exist", name, m)
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := m[1]
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", path.Dir(name), to)); err != nil {
				t.Errorf("%s links to %s: %v", name, to, err)
			}
		}
	}
}

// TestCitationsOfAbsentPagesAreFound holds the check itself.
func TestCitationsOfAbsentPagesAreFound(t *testing.T) {
	all := map[string]string{"a/METHOD.md": "# Title\n\n## 1 One\n\n### 1.2 Two\n\n## Three\n"}
	for _, c := range []struct {
		text string
		bad  bool
	}{
		{"see METHOD.md", false},
		{"see METHOD.md 1, 1.2.", false},
		{`see a/METHOD.md, "Three"`, false},
		{"see METHOD.md 1.3", true},
		{"see METHOD.md 1, 2", true},
		{`see METHOD.md, "Four"`, true},
		{"see FORMAT.md", true},
		{"see b/METHOD.md", true},
	} {
		if bad := len(missing(all, "a/b", c.text)) > 0; bad != c.bad {
			t.Errorf("%s: %t, want %t", c.text, bad, c.bad)
		}
	}
}

// TestReadmeListsEveryCommand holds the README's table of commands against the help.
func TestReadmeListsEveryCommand(t *testing.T) {
	readme := pages(t)["README.md"]
	all := regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(command(t, "--help").out, -1)
	if len(all) < 10 {
		t.Fatalf("the help lists %d commands", len(all))
	}
	for _, m := range all {
		if m[1] != "help" && !strings.Contains(readme, "\n| `"+m[1]+"` |") {
			t.Errorf("the README does not list the command %s", m[1])
		}
	}
}
