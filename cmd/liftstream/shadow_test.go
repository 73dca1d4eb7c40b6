package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// logged is a line of the log of a stage or its shadow.
type logged struct {
	Msg, Shadow, Page string
	Process           int
}

// process is a liftstream in a process of its own whose standard error is a file, which its shadow writes too.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	log string
}

func spawn(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), log: filepath.Join(t.TempDir(), "log")}
	f, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p.cmd.Stderr = f
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// lines are those of the log that ok accepts.
func (p *process) lines(ok func(logged) bool) (found []logged) {
	p.t.Helper()
	f, err := os.Open(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l logged
		if json.Unmarshal(s.Bytes(), &l) == nil && ok(l) {
			found = append(found, l)
		}
	}
	return found
}

func (p *process) says(text string, shadow bool) []logged {
	p.t.Helper()
	return p.lines(func(l logged) bool { return strings.Contains(l.Msg, text) && (l.Shadow != "") == shadow })
}

// TestShadowBesideAStage: a challenger that does not start, is killed, or ends with its stage, while the stage scores
// all events. It scores them too, into its own topic, and compare reads both.
func TestShadowBesideAStage(t *testing.T) {
	long(t)
	binary := buildBinary(t)
	w := newWorld(t, "topics: {partitions: 2}")
	other := w.challenger(func(s string) string {
		return strings.Replace(s, "topics: {", "topics: {events: votes-events, ", 1)
	})
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "50")
	run := spawn(t, binary, "run", "-c", w.file, "--shadow", other.file)
	eventually(t, "the end of a shadow without topics", func() bool {
		return len(run.says("shadow has ended", false)) > 0
	})
	w.await(435)
	w.must("topics", "create", "-c", other.file)
	other.await(435)

	started := run.says("the shadow runs", false)
	last := started[len(started)-1].Process
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", last)); runtime.GOOS == "linux" && err == nil {
		// Behind the name in brackets the nice value is the seventeenth.
		fields := strings.Fields(string(stat[slices.Index(stat, ')')+1:]))
		if fields[16] != "10" {
			t.Errorf("the shadow has the nice value %s", fields[16])
		}
	}
	if err := syscall.Kill(last, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another shadow", func() bool { return len(run.says("the shadow runs", false)) > len(started) })
	w.must("produce", "-c", w.file, w.data, "--batch", "50")
	w.await(2 * 435)
	other.await(2 * 435)
	out := w.must("compare", "-c", w.file, "-c", other.file).out
	if !strings.Contains(out, "870 records scored by both") ||
		!strings.Contains(out, "none yet: the interval holds 0") {
		t.Errorf("compared:\n%s", out)
	}
	if err := run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := run.cmd.Wait(); err != nil {
		t.Errorf("the stage ends with %v", err)
	}
	if len(run.says("stopped", false)) != 1 || len(run.says("stopped", true)) != 1 {
		t.Errorf("stage and shadow have stopped %d and %d times", len(run.says("stopped", false)),
			len(run.says("stopped", true)))
	}

	// A shadow whose stage is killed stops as well.
	run = spawn(t, binary, "run", "-c", w.file, "--shadow", other.file)
	eventually(t, "the shadow", func() bool { return len(run.says("taken over", true)) >= 2 })
	page := run.says("serving", true)[0].Page
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.cmd.Wait()
	eventually(t, "the end of the shadow", func() bool {
		r, err := http.Get(page + "healthz")
		if err == nil {
			r.Body.Close()
		}
		return err != nil
	})
}

// TestShadowThatCannotBe: a configuration that is no challenger, or that is not there, costs the stage nothing.
func TestShadowThatCannotBe(t *testing.T) {
	long(t)
	binary := buildBinary(t)
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data)
	for i, c := range []struct{ shadow, want string }{
		{w.file, "both are called votes"}, {filepath.Join(t.TempDir(), "none.yaml"), "none.yaml"},
	} {
		run := spawn(t, binary, "run", "-c", w.file, "--shadow", c.shadow)
		w.must("produce", "-c", w.file, w.data)
		w.await((i + 2) * 435)
		eventually(t, c.want, func() bool {
			b, err := os.ReadFile(run.log)
			return err == nil && strings.Contains(string(b), c.want) && len(run.says("shadow has ended", false)) > 0
		})
		if err := run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := run.cmd.Wait(); err != nil {
			t.Errorf("%s: the stage ends with %v", c.shadow, err)
		}
	}
}
