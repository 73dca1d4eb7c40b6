package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// outcome is the end of a fault.
type outcome string

const (
	killed      outcome = "killed"
	timedOut    outcome = "timed out"
	survived    outcome = "survived"
	notCovered  outcome = "not covered"
	notCompiled outcome = "does not compile"
)

// leastLimit is the shortest time limit of a run of tests; a run of a fault may take limitFactor times as long as one
// without, for the machine may have other work.
const (
	leastLimit  = 20 * time.Second
	limitFactor = 4
)

// block is a stretch of statements of a coverage profile that no test reached.
type block struct {
	line, column, endLine, endColumn int
}

// coverage holds, by file name, the blocks that no test reached.
type coverage map[string][]block

func (c coverage) reached(file string, line, column int) bool {
	for _, b := range c[filepath.Base(file)] {
		after := line > b.line || line == b.line && column >= b.column
		before := line < b.endLine || line == b.endLine && column < b.endColumn
		if after && before {
			return false
		}
	}
	return true
}

// readCoverage reads a profile of one package: lines "path/file.go:12.34,15.2 3 1" after the first.
func readCoverage(b []byte) (coverage, error) {
	c := coverage{}
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if i == 0 && strings.HasPrefix(line, "mode:") {
			continue
		}
		colon := strings.LastIndexByte(line, ':')
		var x block
		var statements, count int
		if colon < 0 {
			return nil, fmt.Errorf("line %d of a coverage profile: %q", i+1, line)
		}
		_, err := fmt.Sscanf(line[colon+1:], "%d.%d,%d.%d %d %d",
			&x.line, &x.column, &x.endLine, &x.endColumn, &statements, &count)
		if err != nil {
			return nil, fmt.Errorf("line %d of a coverage profile: %w", i+1, err)
		}
		if count == 0 {
			name := filepath.Base(line[:colon])
			c[name] = append(c[name], x)
		}
	}
	return c, nil
}

func testFlags(o options, limit time.Duration) []string {
	flags := []string{"-test.failfast", "-test.timeout=" + limit.String()}
	if o.short {
		flags = append(flags, "-test.short")
	}
	if o.run != "" {
		flags = append(flags, "-test.run="+o.run)
	}
	return flags
}

// measure runs the tests without a fault: they must pass, and say which code they reach and how long they take.
func (t *target) measure(ctx context.Context, work string, o options) error {
	binary, profile := filepath.Join(work, "base.test"), filepath.Join(work, "base.profile")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover", "-o", binary, t.ImportPath)
	if b, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests of %s: %w\n%s", t.ImportPath, err, b)
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%s has no tests", t.ImportPath)
	}
	defer os.Remove(binary)
	begin := time.Now()
	c := exec.CommandContext(ctx, binary, append(testFlags(o, time.Hour), "-test.coverprofile="+profile)...)
	c.Dir = t.Dir
	if b, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests of %s fail without a fault: %w\n%s", t.ImportPath, err, b)
	}
	t.baseline = time.Since(begin)
	t.limit = max(leastLimit, limitFactor*t.baseline).Round(time.Second)
	b, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	t.reached, err = readCoverage(b)
	return err
}

// try runs the tests of the package over the fault.
func (f *fault) try(ctx context.Context, work string, o options) (outcome, error) {
	if !f.target.reached.reached(f.path, f.line, f.column) {
		return notCovered, nil
	}
	source, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	over, table := filepath.Join(work, "fault.go"), filepath.Join(work, "overlay.json")
	binary := filepath.Join(work, "fault.test")
	if err := os.WriteFile(over, f.apply(source), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{f.path: over}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(table, overlay, 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", table, "-o", binary, f.target.ImportPath)
	if err := build.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return notCompiled, nil
	}
	defer os.Remove(binary)
	limited, stop := context.WithTimeout(ctx, f.target.limit+10*time.Second)
	defer stop()
	c := exec.CommandContext(limited, binary, testFlags(o, f.target.limit)...)
	c.Dir, c.WaitDelay = f.target.Dir, 5*time.Second
	var output tail
	c.Stdout, c.Stderr = &output, &output
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return survived, nil
	case limited.Err() != nil || output.timeout:
		return timedOut, nil
	case errors.As(err, &exit):
		return killed, nil
	}
	return "", fmt.Errorf("running the tests of %s: %w", f.target.ImportPath, err)
}

// tail looks for the message of a time limit in the output of tests, which may be endless, and keeps none of it.
type tail struct{ timeout bool }

func (t *tail) Write(b []byte) (int, error) {
	t.timeout = t.timeout || bytes.Contains(b, []byte("panic: test timed out after"))
	return len(b), nil
}

func place(path string, line, column int) string {
	if wd, err := os.Getwd(); err == nil {
		if r, err := filepath.Rel(wd, path); err == nil {
			path = r
		}
	}
	return path + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column)
}
