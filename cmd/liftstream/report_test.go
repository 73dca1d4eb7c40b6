package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"liftstream/cmd/liftstream/internal/cli"
)

// TestReportOfAModel: the page of a model alone, and of a model with its fit, its evaluation and its configuration; the
// same input gives the same bytes, and the figures are XML.
func TestReportOfAModel(t *testing.T) {
	long(t)
	workbench(t)
	must(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "bank.model", "--report", "fit.json")
	must(t, "eval", "-q", "-c", "bank.yaml", "bank.csv", "--method", "all", "--json", "eval.json")
	alone := must(t, "report", "bank.model", "--html", "-")
	for _, want := range []string{"<h1><bdi>bank</bdi></h1>", "Lift by value", "Profiles", "figures on quality",
		"poutcome"} {
		if !strings.Contains(alone.out, want) {
			t.Errorf("the page of the model lacks %q", want)
		}
	}
	all := []string{"report", "bank.model", "-c", "bank.yaml", "--fit", "fit.json", "--eval", "eval.json"}
	r := must(t, append(all, "--html", "a.html", "--svg", "figures")...)
	if !strings.Contains(r.err, "page to a.html") || !strings.Contains(r.err, "figures to figures") || r.out != "" {
		t.Errorf("it says %q", r.err)
	}
	page, err := os.ReadFile("a.html")
	if err != nil {
		t.Fatal(err)
	}
	if again := must(t, append(all, "-q", "--html", "-")...); again.out != string(page) || again.err != "" {
		t.Errorf("the page on standard output is another one: %d and %d bytes; %s", len(again.out), len(page), again.err)
	}
	if _, err := html.Parse(bytes.NewReader(page)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"How good it is", "Which features matter", "Each feature by itself"} {
		if !bytes.Contains(page, []byte(want)) || strings.Contains(alone.out, want) {
			t.Errorf("%q should be on the page with all files alone", want)
		}
	}
	card := must(t, "report", "bank.model", "-c", "bank.yaml", "--html", "-").out
	if !strings.Contains(card, "effects of the scorecard, in log-odds") || strings.Contains(card, "How good it is") {
		t.Error("the page with a configuration lacks the effects of the scorecard")
	}
	names, _ := filepath.Glob("figures/*.svg")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(b))
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) || !bytes.HasPrefix(b, []byte("<svg xmlns=")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(names) < 20 {
		t.Errorf("figures: %v", names)
	}
	t.Run("wrong", func(t *testing.T) { wrongReports(t) })
}

func wrongReports(t *testing.T) {
	other, err := os.ReadFile("eval.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"empty.json": nil, "half.json": other[:len(other)/2],
		"other.json": bytes.ReplaceAll(other, []byte(`"poutcome"`), []byte(`"another"`)), "file": []byte("x")} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"bank.model"}, cli.StatusUsage, "--html OUT"},
		{[]string{"--html", "x.html"}, cli.StatusUsage, "needs a model file"},
		{[]string{"bank.model", "--html", "bank.model"}, cli.StatusUsage, "would overwrite"},
		{[]string{"bank.model", "--eval", "eval.json", "--html", "eval.json"}, cli.StatusUsage, "would overwrite"},
		{[]string{"bank.model", "--svg", "file"}, cli.StatusUsage, "name a directory"},
		{[]string{"bank.model", "--svg", "-"}, cli.StatusUsage, "name a directory"},
		{[]string{"none.model", "--html", "x.html"}, cli.StatusInput, "none.model"},
		{[]string{"bank.csv", "--html", "x.html"}, cli.StatusInput, "not a liftstream model"},
		{[]string{"bank.model", "-c", "votes.yaml", "--html", "x.html"}, cli.StatusInput, "does not belong"},
		{[]string{"bank.model", "--fit", "eval.json", "--html", "x.html"}, cli.StatusInput, "eval.json"},
		{[]string{"bank.model", "--eval", "fit.json", "--html", "x.html"}, cli.StatusInput, "protocol"},
		{[]string{"bank.model", "--eval", "empty.json", "--html", "x.html"}, cli.StatusInput, "it is empty"},
		{[]string{"bank.model", "--eval", "half.json", "--html", "x.html"}, cli.StatusInput, "half.json"},
		{[]string{"bank.model", "--eval", "other.json", "--html", "x.html"}, cli.StatusInput, `no feature "another"`},
		{[]string{"bank.model", "--html", "no/x.html"}, cli.StatusInput, "create it first"},
		{[]string{"bank.model", "--svg", "no/x"}, cli.StatusEnvironment, "no/x"},
	} {
		r := command(t, append([]string{"report"}, c.args...)...)
		if r.status != c.status || !strings.Contains(r.err, c.says) || r.out != "" {
			t.Errorf("%q: status %d: %s; want %d and %q", c.args, r.status, r.err, c.status, c.says)
		}
	}
	if left, _ := filepath.Glob("*x*.html"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	var errs bytes.Buffer
	status := execute(context.Background(), []string{"report", "bank.model", "--html", "-"}, strings.NewReader(""), full{},
		&errs)
	if status != cli.StatusEnvironment {
		t.Errorf("a full disk: status %d: %s", status, errs.String())
	}
	// A figure that cannot be written: a folder has its name. The figures before it go again.
	if err := os.MkdirAll("taken/profiles.svg", 0o700); err != nil {
		t.Fatal(err)
	}
	r := command(t, "report", "bank.model", "--svg", "taken")
	if left, _ := filepath.Glob("taken/*"); r.status == cli.StatusDone || len(left) != 1 {
		t.Errorf("status %d, %s; left behind: %q", r.status, r.err, left)
	}
}
