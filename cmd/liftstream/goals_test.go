package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
)

// TestGoalsFromInitToAudience goes the way of somebody with three outcomes: init, lint, fit, report, eval, score and
// audience. Clicks hang on the plan, leaving on nothing.
func TestGoalsFromInitToAudience(t *testing.T) {
	t.Chdir(t.TempDir())
	u := func(i, k int) float64 { return float64(model.Hash(29, uint64(i), uint64(k))>>11) / (1 << 53) }
	data := func(clicked func(i int) bool) string {
		var b strings.Builder
		b.WriteString("customer,age,plan,buys,clicks,leaves\n")
		for i := range 900 {
			yes := func(p bool) string { return map[bool]string{true: "yes", false: "no"}[p] }
			leaves := map[bool]string{true: "leaves", false: "stays"}[u(i, 4) < .2]
			fmt.Fprintf(&b, "c%04d,%d,%s,%s,%s,%s\n", i, 20+int(40*u(i, 1)), "abc"[i%3:i%3+1], yes(u(i, 2) < u(i, 1)),
				yes(clicked(i)), leaves)
		}
		return b.String()
	}
	clicks := func(i int) bool { return u(i, 3) < []float64{.1, .35, .7}[i%3] }
	files := map[string]string{"three.csv": data(clicks), "other.csv": data(func(i int) bool { return !clicks(i) })}
	save := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		save(name, text)
	}
	config := must(t, "init", "three.csv", "--label", "buys", "--goal", "clicks", "--goal", "leaves", "--id",
		"customer").out
	save("three.yaml", config+"local: off\nkernel: off\ntrees: off\nvalue: {hit: 5, contact: 1, "+
		"goals: [{goal: clicks, hit: 1, contact: .5}]}\n")
	must(t, "lint", "three.yaml")
	said := must(t, "fit", "-q", "-c", "three.yaml", "three.csv", "-m", "three.model").out
	if at := strings.Index(said, "\nGoals:"); at < 0 || !strings.Contains(said[at:], "plan (") {
		t.Errorf("fit does not tell of the goals:\n%s", said)
	}
	must(t, "fit", "-q", "-c", "three.yaml", "three.csv", "--report", "three.json")
	must(t, "eval", "-q", "-c", "three.yaml", "three.csv", "--skip", "100", "--json", "eval.json")
	goalsMeasured(t, "eval.json")
	must(t, "report", "three.model", "-c", "three.yaml", "--fit", "three.json", "--eval", "eval.json",
		"--html", "three.html")
	if page, err := os.ReadFile("three.html"); err != nil || !strings.Contains(string(page), `id="goals"`) {
		t.Errorf("the page of the model has no goals: %v", err)
	}

	scores := must(t, "score", "-q", "-c", "three.yaml", "-m", "three.model", "three.csv").out
	if other := must(t, "score", "-q", "-c", "three.yaml", "-m", "three.model", "other.csv").out; other != scores {
		t.Error("scores depend on the goals of the file: something is learnt")
	}
	save("s.jsonl", scores)
	got := must(t, "audience", "-c", "three.yaml", "s.jsonl", "--by", "clicks", "--top", "2")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var row struct {
		Target                      string
		Propensity, Lift, Base_Rate float64
		Why                         []struct{ Feature, Value string }
	}
	if err := json.Unmarshal([]byte(lines[0]), &row); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || row.Target != "clicks" || row.Propensity < .6 || row.Lift < 1.5 || len(row.Why) == 0 ||
		row.Why[0].Feature != "plan" || row.Why[0].Value != "c" {
		t.Errorf("the audience of clicks is %s", got.out)
	}
	// Its value decides how many: those whose propensity is a half or more.
	if got = must(t, "audience", "-c", "three.yaml", "s.jsonl", "--by", "clicks"); !strings.Contains(got.err, "profit") ||
		strings.Count(got.out, "\n") < 250 || strings.Count(got.out, "\n") > 350 {
		t.Errorf("%d lines, %s", strings.Count(got.out, "\n"), got.err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"audience", "-c", "three.yaml", "s.jsonl", "--by", "leaves"}, "value: {goals: [{goal: leaves"},
		{[]string{"audience", "-c", "three.yaml", "s.jsonl", "--by", "opens", "--top", "3"}, "its goals clicks, leaves"},
		{[]string{"init", "three.csv", "--label", "buys", "--goal", "opens"}, `no column "opens" for --goal`},
		{[]string{"init", "three.csv", "--label", "buys", "--goal", "age"}, "more than two classes"},
	} {
		if r := command(t, c.args...); r.status == cli.StatusDone || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: status %d, %s; want %q", c.args, r.status, r.err, c.want)
		}
	}
}

// goalsMeasured: the figures of an evaluation are those of clicks, which are told, and of leaves, which are noise.
func goalsMeasured(t *testing.T, name string) {
	t.Helper()
	var result struct {
		Goals []struct {
			Goal   string
			AUC    float64
			Gains  []struct{ Lift float64 }
			Profit *struct{ Paying_Profit float64 }
		}
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &result); err != nil {
		t.Fatal(err)
	}
	g := result.Goals
	if len(g) != 2 || g[0].Goal != "clicks" || g[0].AUC < .7 || len(g[0].Gains) != 20 || g[0].Profit == nil ||
		g[1].Profit != nil || g[1].AUC > .62 {
		t.Errorf("eval tells of the goals %+v", g)
	}
}
