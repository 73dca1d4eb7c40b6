package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"

	"liftstream/codec/file"
)

// writeFile writes a file so that its name never shows half of it: under a temporary name beside it, synced, then
// renamed. "-" is standard output; what exists and is no regular file (a pipe, a device) is written in place.
func (a *app) writeFile(path string, write func(w io.Writer) error) error {
	if path == "-" {
		w := bufio.NewWriter(a.out)
		if err := write(w); err != nil {
			return err
		}
		return environment(w.Flush())
	}
	return replaceFile(path, func(name string) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return environment(err)
		}
		w := bufio.NewWriterSize(f, 1<<16)
		if err := write(w); err != nil {
			f.Close()
			return err
		}
		return environment(errors.Join(w.Flush(), toDisk(f), f.Close()))
	})
}

// toDisk brings a regular file to the disk.
func toDisk(f *os.File) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Sync()
}

// replaceFile calls write with a temporary name that has path's extension, then renames that file to path. Whatever
// fails, the temporary file is removed.
func replaceFile(path string, write func(name string) error) error {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory; name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return write(target)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return environment(err)
	}
	dir, name := filepath.Split(target)
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("writing %s: the directory %s does not exist; create it first", path, dir)
		}
	}
	temporary := dir + ".partial-" + strconv.Itoa(os.Getpid()) + "-" + name
	defer os.Remove(temporary)
	if err := write(temporary); err != nil {
		return renamed(err, temporary, path)
	}
	return environment(renamed(os.Rename(temporary, target), temporary, path))
}

// renamed lets an error speak of the file that the user named.
func renamed(err error, temporary, path string) error {
	var data *file.Error
	if errors.As(err, &data) && data.File == temporary {
		data.File = path
	}
	var access *fs.PathError
	if errors.As(err, &access) && access.Path == temporary {
		access.Path = path
	}
	var link *os.LinkError
	if errors.As(err, &link) && link.Old == temporary {
		return &fs.PathError{Op: "write", Path: path, Err: link.Err}
	}
	return err
}

// place is a file that a command line names, and the flag that names it; empty for the data files.
type place struct{ flag, path string }

// apart reports outputs that would overwrite what the same command reads, or each other. Two may be the same pipe or
// device, but not both standard output.
func apart(inputs []place, outputs ...place) error {
	for i, out := range outputs {
		if out.path == "" {
			continue
		}
		for _, in := range inputs {
			if in.path != "" && out.path != "-" && sameFile(in.path, out.path) {
				what := "the data"
				if in.flag != "" {
					what = "--" + in.flag
				}
				return usagef("--%s %s would overwrite what is read as %s; name another file", out.flag, out.path, what)
			}
		}
		for _, other := range outputs[:i] {
			if other.path == out.path || other.path != "" && sameFile(other.path, out.path) {
				return usagef("--%s and --%s are both %s; name two files", other.flag, out.flag, out.path)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are of one regular file, which need not exist yet.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, missing := os.Stat(b)
	switch {
	case err == nil && missing == nil:
		return x.Mode().IsRegular() && os.SameFile(x, y)
	case err != nil && missing != nil && a != "-" && b != "-":
		a, err = filepath.Abs(a)
		b, missing = filepath.Abs(b)
		return err == nil && missing == nil && a == b
	}
	return false
}

// places are the data files of a command line beside what its flags name.
func places(data []string, flags ...place) []place {
	for _, d := range data {
		flags = append(flags, place{"", d})
	}
	return flags
}

// flatArray matches an indented JSON array of plain values.
var flatArray = regexp.MustCompile(`\[\n[^\[\]{}]*\]`)

// lineBreak matches a line break of indented JSON with the indentation behind it; texts hold none.
var lineBreak = regexp.MustCompile(`\n\s*`)

// writeJSON writes v as indented JSON in which an array of plain values takes one line.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	j.SetIndent("", "  ")
	if err := j.Encode(v); err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	text := flatArray.ReplaceAllFunc(b.Bytes(), func(array []byte) []byte {
		flat := lineBreak.ReplaceAll(array, []byte(" "))
		return append(append([]byte("["), bytes.TrimSpace(flat[1:len(flat)-1])...), ']')
	})
	_, err := w.Write(text)
	return environment(err)
}

// table writes rows of cells in aligned columns; a column whose heading begins with a space is right-aligned.
func table(w io.Writer, indent string, heading []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	width := make([]int, len(heading))
	for c, h := range heading {
		width[c] = len([]rune(strings.TrimPrefix(h, " ")))
		for _, r := range rows {
			width[c] = max(width[c], len([]rune(r[c])))
		}
	}
	line := func(cells []string) {
		out := make([]string, len(cells))
		for c, x := range cells {
			x = strings.TrimPrefix(x, " ")
			if strings.HasPrefix(heading[c], " ") {
				x = strings.Repeat(" ", width[c]-len([]rune(x))) + x
			}
			out[c] = x
		}
		fmt.Fprintln(t, strings.TrimRight(indent+strings.Join(out, "\t"), " \t"))
	}
	line(heading)
	for _, r := range rows {
		line(r)
	}
	return environment(t.Flush())
}

// progress shows how far a command is, on a terminal only. Its methods may be called on nil.
type progress struct{ bar *progressbar.ProgressBar }

// progressBytes returns a bar over that many bytes, nil when standard error is no terminal or the user wants quiet.
func (a *app) progressBytes(what string, total int64) *progress {
	if a.quiet || !onTerminal(a.err) {
		return nil
	}
	return &progress{progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(65_000_000), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))}
}

// progressRecords returns a count of records, whose number is unknown; nil as with progressBytes. It suits what is slow
// on purpose: the bytes of a small file are read at once.
func (a *app) progressRecords(what string) *progress {
	if a.quiet || !onTerminal(a.err) {
		return nil
	}
	return &progress{progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString("records"), progressbar.OptionThrottle(65_000_000), progressbar.OptionClearOnFinish())}
}

func (p *progress) add(n int64) {
	if p != nil {
		_ = p.bar.Add64(n)
	}
}

func (p *progress) done() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
