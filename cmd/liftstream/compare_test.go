package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/compare"
	"liftstream/config"
	"liftstream/stream/txn"
)

// challenger writes the configuration of a challenger of w.
func (w *world) challenger(edit func(string) string) *world {
	w.t.Helper()
	b, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	text := strings.Replace(string(b), "name: "+w.config.Name+"\n", "name: "+w.config.Name+"-next\n", 1)
	c := *w
	c.client = txn.NewClient(txn.Config{Brokers: []string{w.address}}) // one that knows no topics yet
	w.t.Cleanup(c.client.Close)
	c.file, c.next, c.rows = filepath.Join(w.t.TempDir(), "next.yaml"), nil, 0
	if err := os.WriteFile(c.file, []byte(edit(text)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if c.config, _, err = config.Load(c.file, nil); err != nil {
		w.t.Fatal(err)
	}
	return &c
}

// TestCompareStages: two stages of the same events, one of which looks at a single vote. The log-losses are those of
// the topics, and the verdict is plain.
func TestCompareStages(t *testing.T) {
	long(t)
	w := newWorld(t, "topics: {partitions: 2}")
	other := w.challenger(func(s string) string {
		lines := strings.Split(s, "\n")
		kept := lines[:0]
		for _, l := range lines {
			if !strings.Contains(l, "kind: nominal") || strings.Contains(l, "crime") {
				kept = append(kept, l)
			}
		}
		return strings.Replace(strings.Join(kept, "\n"), "topics: {", "topics: {events: votes-events, ", 1)
	})
	w.must("topics", "create", "-c", w.file)
	w.must("topics", "create", "-c", other.file)
	both := []string{"compare", "-c", w.file, "-c", other.file}
	if r := w.must(both...); !strings.Contains(r.out, "0 records scored by both") ||
		!strings.Contains(r.out, "none yet: no record") {
		t.Errorf("of empty topics:\n%s", r.out)
	}
	w.must("produce", "-c", w.file, w.data, "--batch", "20")
	for _, x := range []*world{w, other} {
		run := start(t, "run", "-c", x.file)
		x.await(435)
		run.stop(t)
	}
	var r compare.Result
	if err := json.Unmarshal([]byte(w.must(append(both, "--format", "json")...).out), &r); err != nil {
		t.Fatal(err)
	}
	class := slices.Index(w.stage.Spec.Schema.Classes, r.Class)
	for k, x := range []struct {
		name string
		want *world
		got  float64
	}{{"first", w, float64(r.LogLoss.First)}, {"second", other, float64(r.LogLoss.Second)}} {
		set := x.want.ledger().Set(0)
		if want := set.LogLoss(); math.Abs(want-x.got) > 1e-12 {
			t.Errorf("%s: log-loss %v, want %v", x.name, x.got, want)
		}
		var sum, want float64
		for i := class; i < len(set.P); i += set.Classes {
			want += set.P[i]
		}
		for _, tenth := range r.Calibration[k] {
			sum += float64(tenth.Records) * float64(tenth.Propensity)
		}
		if math.Abs(sum-want) > 1e-9*want {
			t.Errorf("%s: the propensities of its tenths add up to %v, and those of its scores to %v", x.name, sum, want)
		}
	}
	if lift := r.Top.Lift; lift.First <= lift.Second {
		t.Errorf("the lift of the top tenth is %v, and %v of the stage that looks at one vote", lift.First, lift.Second)
	}
	if r.Verdict != "first" || r.Counts.Both != 435 || r.Counts.Labelled != 435 || r.Counted != 435 ||
		r.Class != "republican" {
		t.Errorf("%+v", r)
	}
	if out := w.must(both...).out; !strings.Contains(out, "verdict: votes is better") ||
		!strings.Contains(out, "Top tenth: 43") {
		t.Errorf("for people:\n%s", out)
	}
	r = compare.Result{}
	if err := json.Unmarshal([]byte(w.must(append(both, "--format", "json", "--from", "2100-01-01T00:00:00Z")...).out),
		&r); err != nil || r.Counts.Records != 0 || r.Verdict != "none yet" {
		t.Errorf("of no time: %v, %+v", err, r)
	}
}

// TestCompareLateLabels: labels come by their own topic, by id, and a record counts when its label has come.
func TestCompareLateLabels(t *testing.T) {
	long(t)
	w := newWorld(t, "topics: {partitions: 2}\nlabels: {window: 1h}")
	other := w.challenger(func(s string) string {
		return strings.Replace(s, "topics: {", "topics: {events: votes-events, labels: votes-labels, ", 1)
	})
	w.must("topics", "create", "-c", w.file)
	w.must("topics", "create", "-c", other.file)
	nameless := w.other(func(r []string, line int) {
		if line > 0 {
			r[len(r)-1] = "" // the class
		}
	})
	if h := head(t, w.data); !strings.HasSuffix(h, ",class") {
		t.Fatalf("the columns are %s", h)
	}
	w.must("produce", "-c", w.file, nameless, "--batch", "50")
	for _, x := range []*world{w, other} {
		run := start(t, "run", "-c", x.file)
		x.await(435)
		run.stop(t)
	}
	compared := func() (r compare.Result) {
		t.Helper()
		out := w.must("compare", "-c", w.file, "-c", other.file, "--format", "json").out
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := compared(); r.Counts.Both != 435 || r.Counts.Waiting != 435 || r.Counted != 0 {
		t.Errorf("before the labels: %+v", r)
	}
	w.must("produce", "-c", w.file, w.data, "--topic", "labels")
	if r := compared(); r.Counts.Late != 435 || r.Counted != 435 || r.Verdict != "none yet" || r.Counts.LabelsUnused != 0 {
		t.Errorf("with the labels: %+v", r)
	}
}

func TestMisuseOfCompare(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"compare -c examples/live.yaml", "two configurations"},
		{"compare -c a -c b -c c", "two configurations"},
		{"compare -c a -c b --alpha 0", "--alpha 0: it is a share"},
		{"compare -c a -c b --format csv", "table, json"},
		{"compare -c a -c b --from soon", "--from soon"},
	} {
		if text := refusal(t, cli.StatusUsage, strings.Fields(c.args)...); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.args, text)
		}
	}
	text := refusal(t, cli.StatusInput, "compare", "-c", "examples/live.yaml", "-c", "examples/live.yaml")
	if !strings.Contains(text, "both are called live") {
		t.Error(text)
	}
}
