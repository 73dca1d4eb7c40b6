package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// result is the outcome of one command line.
type result struct {
	status   int
	out, err string
}

// command runs a command line in the process.
func command(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	status := execute(context.Background(), args, strings.NewReader(""), &out, &errs)
	return result{status, out.String(), errs.String()}
}

// must is command for one that has to be done.
func must(t *testing.T, args ...string) result {
	t.Helper()
	r := command(t, args...)
	if r.status != cli.StatusDone {
		t.Fatalf("%q: status %d: %s", args, r.status, r.err)
	}
	return r
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no command given"},
		{[]string{"vresion"}, `there is no command "vresion" (did you mean version?)`},
		{[]string{"version", "extra"}, `"extra" is one argument too many`},
		{[]string{"version", "--colour"}, "unknown flag: --colour"},
		{[]string{"version", "--log-level", "loud"}, "--log-level loud: it is one of debug, info, warn, error"},
		{[]string{"version", "--log-format", "xml"}, "--log-format xml: it is one of auto, console, json"},
		{[]string{"help", "nothing"}, `there is no command "nothing"`},
		{[]string{"help", "inti"}, `there is no command "inti" (did you mean init or lint?)`},
		{[]string{"help", "topics", "creat"}, `there is no command "creat" (did you mean create?)`},
		{[]string{"topics", "creat", "-c", "x.yaml", "--acls"}, `there is no command "creat" (did you mean create?)`},
		{[]string{"init", "x.csv", "--lable", "class"}, "unknown flag: --lable (did you mean --label?)"},
		{[]string{"produce", "-c", "x", "y.csv", "--log_format=x", "--Batch=3"}, "unknown flag: --log_format (did you " +
			"mean --log-format?)"},
		{[]string{"score", "-c", "x", "--model", "m", "y.csv", "--record", "1", "--explain"}, "--record explains one record"},
		{[]string{"broker", "--dir", "x", "--listen", "here"}, "--listen here: it is HOST:PORT"},
		{[]string{"broker", "--dir", "x", "--listen", "127.0.0.1:99999"}, "--listen 127.0.0.1:99999: it is HOST:PORT"},
		{[]string{"broker", "--dir", "x", "--listen", "0.0.0.0:0"}, "--insecure"},
		{[]string{"broker", "--dir", "x", "--listen", ":0"}, "--insecure"},
		{[]string{"demo", "--dir", "x", "--listen", "here"}, "--listen here: it is HOST:PORT"},
		{[]string{"verify", "-c", "x", "--to", "soon"}, "--to soon: it is a time such as 2026-05-01T00:00:00Z"},
		{[]string{"verify", "-c", "x", "--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z"},
			"nothing would be compared"},
	} {
		r := command(t, c.args...)
		if r.status != cli.StatusUsage || !strings.Contains(r.err, c.want) || !strings.Contains(r.err, "--help'") ||
			r.out != "" {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want status 2 and %q", c.args, r.status, r.out, r.err, c.want)
		}
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, c := range rootCommand(&cli.App{}).Commands() {
		r := command(t, c.Name(), "--help")
		if r.status != cli.StatusDone || c.Name() != "help" && !strings.Contains(r.out, "\n  liftstream "+c.Name()+" ") &&
			c.Name() != "version" {
			t.Errorf("%s --help: status %d without an example of it:\n%s", c.Name(), r.status, r.out)
		}
	}
}

func TestVersionNamesTheFormats(t *testing.T) {
	r := command(t, "version")
	for _, want := range []string{"version ", "commit ", "go ", "state ", "model ", "topics "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("version prints no %q:\n%s", want, r.out)
		}
	}
}
