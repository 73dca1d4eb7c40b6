package cli

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

	"liftstream/codec/file"
)

// WriteFile writes a file so that its name never shows half of it: under a temporary name beside it, synced, then
// renamed. "-" is standard output; a pipe or a device is written in place. Errors of the writer are of the environment.
func (a *App) WriteFile(path string, write func(w io.Writer) error) error {
	if path == "-" {
		w := bufio.NewWriter(a.Out)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	return ReplaceFile(path, func(name string) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return Environment(err)
		}
		w := bufio.NewWriterSize(sink{f}, 1<<16)
		if err := write(w); err != nil {
			f.Close()
			return err
		}
		return Environment(errors.Join(w.Flush(), toDisk(f), f.Close()))
	})
}

// toDisk brings a regular file to the disk.
func toDisk(f *os.File) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Sync()
}

// ReplaceFile calls write with a temporary name that has path's extension, then renames that file to path. It removes
// the temporary file after any failure.
func ReplaceFile(path string, write func(name string) error) error {
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
		return Environment(err)
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
	return Environment(renamed(os.Rename(temporary, target), temporary, path))
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

// flatArray matches an indented JSON array of plain values.
var flatArray = regexp.MustCompile(`\[\n[^\[\]{}]*\]`)

// lineBreak matches a line break of indented JSON with the indentation behind it; texts hold none.
var lineBreak = regexp.MustCompile(`\n\s*`)

// WriteJSON writes v as indented JSON in which an array of plain values takes one line.
func WriteJSON(w io.Writer, v any) error {
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
	return err
}
