package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"liftstream/config"
)

// TestEachErrorHasItsStatusAndItsText, wrapped or not.
func TestEachErrorHasItsStatusAndItsText(t *testing.T) {
	plain := errors.New("x")
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{plain, StatusInput, "liftstream: x\n"},
		{ErrFound, StatusInput, ""},
		{&brokenConfig{config.Problems{{File: "a.yaml", Line: 3, Message: "m"}, {File: "a.yaml", Line: 5, Message: "n"}}},
			StatusInput, "a.yaml:3: m\na.yaml:5: n\n"},
		{Usagef("wrong %d", 7), StatusUsage, "liftstream: wrong 7\n"},
		{Environment(plain), StatusEnvironment, "liftstream: x\n"},
		{Environment(Usagef("x")), StatusUsage, "liftstream: x\n"},
		{&UsageError{Environment(plain)}, StatusUsage, "liftstream: x\n"},
		{context.Canceled, StatusEnvironment, "liftstream: interrupted\n"},
		{context.DeadlineExceeded, StatusEnvironment, "liftstream: context deadline exceeded\n"},
		{syscall.ENOSPC, StatusEnvironment, "liftstream: no space left on device\n"},
		{syscall.EIO, StatusEnvironment, "liftstream: input/output error\n"},
		{syscall.EDQUOT, StatusEnvironment, "liftstream: disk quota exceeded\n"},
		{syscall.EROFS, StatusEnvironment, "liftstream: read-only file system\n"},
		{syscall.EMFILE, StatusEnvironment, "liftstream: too many open files\n"},
		{syscall.ENFILE, StatusEnvironment, "liftstream: too many open files in system\n"},
		{syscall.ENOMEM, StatusEnvironment, "liftstream: cannot allocate memory\n"},
		{os.ErrNotExist, StatusInput, "liftstream: file does not exist\n"},
		{io.ErrUnexpectedEOF, StatusInput, "liftstream: unexpected EOF\n"},
		{syscall.EACCES, StatusInput, "liftstream: permission denied\n"},
	} {
		if status := Status(c.err); status != c.status || Complaint(c.err) != c.text {
			t.Errorf("%#v: status %d, want %d; %q, want %q", c.err, status, c.status, Complaint(c.err), c.text)
		}
		if status := Status(fmt.Errorf("reading: %w", c.err)); status != c.status {
			t.Errorf("%#v wrapped: status %d, want %d", c.err, status, c.status)
		}
	}
	if Status(nil) != StatusDone || Environment(nil) != nil {
		t.Errorf("no error: status %d, of the environment %v", Status(nil), Environment(nil))
	}
}

// TestFlagsOfEveryCommand: the notes, and the form and the level of the log.
func TestFlagsOfEveryCommand(t *testing.T) {
	for _, c := range []struct {
		level, form    string
		quiet          bool
		notes          string
		json, warnings bool // the form of the log, and whether it has warnings
		info           bool
	}{
		{"info", "auto", false, "a 7\n", true, true, true},
		{"warn", "json", true, "", true, true, false},
		{"error", "json", false, "a 7\n", true, false, false},
		{"debug", "console", true, "", false, true, true},
	} {
		name := fmt.Sprintf("%+v", c)
		var out, errs bytes.Buffer
		a := New(nil, &out, &errs)
		a.Quiet, a.LogLevel, a.LogForm = c.quiet, c.level, c.form
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a.Notef("a %d", 7)
		a.Step("on a terminal alone")
		if errs.String() != c.notes {
			t.Errorf("%s: notes %q", name, errs.String())
		}
		errs.Reset()
		log := a.Logger()
		log.Info("for your information")
		log.Warn("beware")
		log.Error("broken")
		if err := log.Sync(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := errs.Bytes()
		if bytes.HasPrefix(text, []byte("{")) != c.json || bytes.Contains(text, []byte("beware")) != c.warnings ||
			bytes.Contains(text, []byte("for your information")) != c.info || !bytes.Contains(text, []byte("broken")) ||
			out.Len() > 0 {
			t.Errorf("%s: the log\n%s", name, text)
		}
	}
	for _, a := range []App{{LogLevel: "loud", LogForm: "json"}, {LogLevel: "info", LogForm: "xml"}, {LogLevel: "info"}} {
		if Status(a.Check()) != StatusUsage {
			t.Errorf("level %q, form %q: %v", a.LogLevel, a.LogForm, a.Check())
		}
	}
}

// failing is a writer on a full disk that takes some bytes.
type failing struct{ takes int }

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.takes {
		return f.takes, errors.New("no space")
	}
	f.takes -= len(p)
	return len(p), nil
}

// TestResultsThatCannotBeWrittenAreTheEnvironments: at the first byte, and at the last.
func TestResultsThatCannotBeWrittenAreTheEnvironments(t *testing.T) {
	for _, takes := range []int{0, 2, 5} {
		a := New(nil, &failing{takes}, io.Discard)
		err := a.WriteFile("-", func(w io.Writer) error { _, err := io.WriteString(w, "abc"); return err })
		if want := map[bool]int{true: StatusDone, false: StatusEnvironment}[takes >= 3]; Status(err) != want {
			t.Errorf("%d bytes are taken: %v", takes, err)
		}
	}
	if err := New(nil, io.Discard, io.Discard).WriteFile("-", func(io.Writer) error { return ErrFound }); err != ErrFound {
		t.Errorf("an error of the content becomes %v", err)
	}
}
