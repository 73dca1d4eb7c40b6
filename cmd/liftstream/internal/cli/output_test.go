package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"liftstream/codec/file"
)

// TestAFileAppearsWholeOrNotAtAll: in place of another one, behind a link, and after each failure.
func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	a := New(nil, io.Discard, io.Discard)
	content := strings.Repeat("0123456789", 10_000) // more than a buffer
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		make func(dir string) (path string) // in a directory of its own
		fail error
		want map[string]string // the files behind it
		says string            // of the error, with PATH for the path
	}{
		{name: "new", make: func(dir string) string { return dir + "/a" }, want: map[string]string{"a": content}},
		{name: "new, failed", make: func(dir string) string { return dir + "/a" }, fail: broken, says: "broken"},
		{name: "in place of another", make: func(dir string) string { return old(dir, "a") },
			want: map[string]string{"a": content}},
		{name: "in place of another, failed", make: func(dir string) string { return old(dir, "a") }, fail: broken,
			want: map[string]string{"a": "old"}, says: "broken"},
		{name: "behind a link", make: func(dir string) string {
			_ = os.Symlink(old(dir, "real"), dir+"/a")
			return dir + "/a"
		}, want: map[string]string{"real": content, "a": content}},
		{name: "data that cannot be written", make: func(dir string) string { return old(dir, "a.csv") },
			fail: &file.Error{}, want: map[string]string{"a.csv": "old"}, says: "PATH"},
		{name: "no directory", make: func(dir string) string { return dir + "/no/a" },
			says: "writing PATH: the directory DIR/no/ does not exist; create it first"},
		{name: "a directory", make: func(dir string) string { return dir }, says: "PATH is a directory; name a file in it"},
	} {
		dir := t.TempDir()
		path := c.make(dir)
		err := a.WriteFile(path, func(w io.Writer) error {
			var data *file.Error
			if errors.As(c.fail, &data) { // of the file that is written
				left, _ := filepath.Glob(filepath.Join(dir, ".partial-*"))
				return &file.Error{File: left[0], Err: broken}
			}
			if _, err := io.WriteString(w, content); err != nil {
				return err
			}
			return c.fail
		})
		says := strings.NewReplacer("PATH", path, "DIR", dir).Replace(c.says)
		if (err == nil) != (c.says == "") || !strings.Contains(fmt.Sprint(err), says) ||
			strings.Contains(fmt.Sprint(err), ".partial") {
			t.Errorf("%s: %v, want %q", c.name, err, says)
		}
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) != len(c.want) {
			t.Errorf("%s: left are %v", c.name, names)
		}
		for name, want := range c.want {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %s holds %d bytes, want %d; %v", c.name, name, len(got), len(want), err)
			}
		}
		if info, err := os.Lstat(filepath.Join(dir, "a")); c.name == "behind a link" &&
			(err != nil || info.Mode()&os.ModeSymlink == 0) {
			t.Errorf("%s: the link is gone: %v", c.name, err)
		}
	}
}

// old writes an older file.
func old(dir, name string) string {
	path := filepath.Join(dir, name)
	_ = os.WriteFile(path, []byte("old"), 0o600)
	return path
}

// TestAnErrorNamesTheFileOfTheUser in place of the temporary one, of each kind, and leaves other names.
func TestAnErrorNamesTheFileOfTheUser(t *testing.T) {
	e := errors.New("e")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Op: "write", Path: "tmp", Err: e}, "write user: e"},
		{&os.PathError{Op: "write", Path: "tmp2", Err: e}, "write tmp2: e"},
		{&os.LinkError{Op: "rename", Old: "tmp", New: "user", Err: e}, "write user: e"},
		{&os.LinkError{Op: "rename", Old: "other", New: "user", Err: e}, "rename other user: e"},
		{fmt.Errorf("writing: %w", &os.PathError{Op: "write", Path: "tmp", Err: e}), "writing: write tmp: e"},
		{&file.Error{File: "tmp", Err: e}, (&file.Error{File: "user", Err: e}).Error()},
		{&file.Error{File: "data", Err: e}, (&file.Error{File: "data", Err: e}).Error()},
	} {
		if got := renamed(c.err, "tmp", "user"); got.Error() != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestJSONIsReadByPeople: arrays of plain values take one line, others do not; texts keep their brackets and line
// breaks.
func TestJSONIsReadByPeople(t *testing.T) {
	var b bytes.Buffer
	v := map[string]any{"a": []int{1, 2, 3}, "b": []any{}, "c": []any{[]string{"x [\n y]", "<&>"},
		map[string]any{"d": nil}}}
	if err := WriteJSON(&b, v); err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"a\": [1, 2, 3],\n  \"b\": [],\n  \"c\": [\n    [\n      \"x [\\n y]\",\n      \"<&>\"\n    ],\n" +
		"    {\n      \"d\": null\n    }\n  ]\n}\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if err := WriteJSON(&failing{}, v); err == nil {
		t.Error("an error of the writer is lost")
	}
	if err := WriteJSON(&b, func() {}); err == nil {
		t.Error("a function has a form")
	}
}

// TestOutputsAreApart from every input and from each other, under each of their names.
func TestOutputsAreApart(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"in", "out"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("in", "soft"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("in", "hard"); err != nil {
		t.Fatal(err)
	}
	data := []string{"first", "in"}
	for _, c := range []struct {
		outputs []string
		want    string // of the error; "" = none
	}{
		{[]string{"out", "new", ""}, ""}, {[]string{"", "", ""}, ""}, {[]string{"-", "out", ""}, ""},
		{[]string{"in"}, "--a in would overwrite what is read as the data"},
		{[]string{"./in"}, "the data"}, {[]string{"soft"}, "the data"}, {[]string{"hard"}, "the data"},
		{[]string{"./first"}, "the data"}, {[]string{"out", "new", "hard"}, "--c hard would overwrite"},
		{[]string{"config"}, "--a config would overwrite what is read as --config"},
		{[]string{"out", "./out"}, "--a and --b are both ./out"}, {[]string{"-", "-"}, "--a and --b are both -"},
		{[]string{"x", "new", "./new"}, "--b and --c are both ./new"},
		{[]string{"new", "x", "new"}, "--a and --c are both new"},
		{[]string{os.DevNull, os.DevNull, ""}, os.DevNull}, {[]string{os.DevNull, "/dev/../dev/null"}, ""},
	} {
		var outputs []Place
		for i, path := range c.outputs {
			outputs = append(outputs, Place{string(rune('a' + i)), path})
		}
		err := Apart(Places(data, Place{"config", "config"}, Place{"triples", ""}), outputs...)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			Status(err) != StatusUsage) {
			t.Errorf("%q: %v, want %q", c.outputs, err, c.want)
		}
	}
}

func TestArgumentsAndAddresses(t *testing.T) {
	for _, c := range []struct {
		min, max, n int
		want        string
	}{{0, 0, 0, ""}, {0, 0, 1, `x: "0" is one argument too many`}, {1, 1, 0, "x needs files"}, {1, 1, 1, ""},
		{1, 1, 2, `"1" is one argument too many`}, {1, -1, 9, ""}, {2, -1, 1, "x needs files"}, {0, 2, 2, ""},
		{0, 2, 4, `"2" is one argument too many`}} {
		args := strings.Fields("0 1 2 3 4 5 6 7 8 9")[:c.n]
		err := Needs(c.min, c.max, "files")(&cobra.Command{Use: "x FILE"}, args)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			Status(err) != StatusUsage) {
			t.Errorf("%d to %d of %d: %v, want %q", c.min, c.max, c.n, err, c.want)
		}
	}
	for value, ok := range map[string]bool{"127.0.0.1:0": true, ":8080": true, "[::1]:65535": true, "host:65536": false,
		"host": false, "host:": false, "host:-1": false, "host:http": false, "": false, "::1:80": false} {
		if err := Address("listen", value); (err == nil) != ok || err != nil && Status(err) != StatusUsage {
			t.Errorf("%q: %v", value, err)
		}
	}
}
