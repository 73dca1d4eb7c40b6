// Command mutate puts small faults into packages, one at a time, and tells which of them no test notices.
//
//	go run ./.ci/mutate [--most 40] [--seed 1] [--since REF] [--short=false] [--run EXPR] [--list] [PACKAGE...]
//
// A fault turns a condition round or moves its boundary, changes an arithmetic operator, moves a constant by one, takes
// a statement away, or returns the zero value. It is laid over the file by the overlay of the go command: the work tree
// is never written. The tests of its own package run with a time limit. Of all faults of the packages the most that are
// asked for are drawn by the seed, so the same command draws the same faults. The report counts the faults that were
// killed by a failing test or by the time limit, that survived, that lie in code which no test reaches (and are not
// tried), and that do not compile; it lists the survivors. A survivor asks for a test, or changes nothing that can be
// seen from outside. Survivors leave the exit status at 0.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	most  int
	seed  uint64
	since string
	short bool
	run   string
	list  bool
}

func main() {
	var o options
	flag.IntVar(&o.most, "most", 40, "the most faults that are tried, over all packages; 0 = all")
	flag.Uint64Var(&o.seed, "seed", 1, "draws the faults")
	flag.StringVar(&o.since, "since", "", "take the packages whose files differ from this commit")
	flag.BoolVar(&o.short, "short", true, "run the tests with -short")
	flag.StringVar(&o.run, "run", "", "run the tests that match this expression alone")
	flag.BoolVar(&o.list, "list", false, "list the drawn faults and try none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mutate(ctx, os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

// target is a package under test.
type target struct {
	ImportPath string
	Dir        string
	GoFiles    []string

	reached  coverage
	limit    time.Duration // of one run of the tests
	baseline time.Duration
}

func mutate(ctx context.Context, out io.Writer, o options, patterns []string) error {
	if o.since != "" {
		changed, err := changedPackages(ctx, o.since)
		if err != nil {
			return err
		}
		patterns = append(patterns, changed...)
	}
	if len(patterns) == 0 {
		return errors.New("no package is named, and none has changed")
	}
	targets, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var faults []fault
	for i := range targets {
		for _, name := range targets[i].GoFiles {
			path := filepath.Join(targets[i].Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			of, err := faultsOf(path, source)
			if err != nil {
				return err
			}
			for _, f := range of {
				f.target = &targets[i]
				faults = append(faults, f)
			}
		}
	}
	all := len(faults)
	faults = draw(faults, o.most, o.seed)
	fmt.Fprintf(out, "%d of %d faults, seed %d\n", len(faults), all, o.seed)
	if o.list {
		for i := range faults {
			fmt.Fprintln(out, faults[i].String())
		}
		return nil
	}
	for i := range targets {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.target == &targets[i] }) {
			continue
		}
		if err := targets[i].measure(ctx, work, o); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s passes in %.1f s\n", targets[i].ImportPath, targets[i].baseline.Seconds())
	}
	results := map[outcome]int{}
	for i := range faults {
		r, err := faults[i].try(ctx, work, o)
		if err != nil {
			return err
		}
		results[r]++
		if r == survived || r == notCovered {
			fmt.Fprintf(out, "%s: %s\n", r, faults[i].String())
		}
	}
	fmt.Fprintf(out, "%d killed, %d timed out, %d survived, %d not covered, %d do not compile",
		results[killed], results[timedOut], results[survived], results[notCovered], results[notCompiled])
	if hit, n := results[killed]+results[timedOut], results[survived]+results[notCovered]; hit+n > 0 {
		fmt.Fprintf(out, "; score %.0f %% (%d of %d that compile)", 100*float64(hit)/float64(hit+n), hit, hit+n)
	}
	fmt.Fprintln(out)
	return nil
}

// draw takes the first most faults of an order that the seed makes, and returns them in the order of their places.
func draw(faults []fault, most int, seed uint64) []fault {
	if most > 0 && most < len(faults) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same seed draws the same faults
		r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		faults = faults[:most]
	}
	slices.SortStableFunc(faults, compareFaults)
	return faults
}

// changedPackages are the folders of the Go files that differ from a commit, tests left out where they alone do.
func changedPackages(ctx context.Context, since string) ([]string, error) {
	b, err := exec.CommandContext(ctx, "git", "diff", "--name-only", "--diff-filter=d", since, "--", "*.go").Output()
	if err != nil {
		return nil, fmt.Errorf("comparing with %s: %w", since, err)
	}
	var dirs []string
	for _, name := range strings.Fields(string(b)) {
		if !strings.HasPrefix(name, ".") && !strings.Contains(name, "/testdata/") {
			dirs = append(dirs, "./"+filepath.ToSlash(filepath.Dir(name)))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

func list(ctx context.Context, patterns []string) ([]target, error) {
	args := append([]string{"list", "-json=ImportPath,Dir,GoFiles"}, patterns...)
	b, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w%s", err, stderrOf(err))
	}
	var targets []target
	for d := json.NewDecoder(strings.NewReader(string(b))); d.More(); {
		var t target
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("listing packages: %w", err)
		}
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return targets, nil
}

func stderrOf(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return ": " + strings.TrimSpace(string(e.Stderr))
	}
	return ""
}
