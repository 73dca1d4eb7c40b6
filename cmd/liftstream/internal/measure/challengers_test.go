package measure

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/evaluate"
)

// TestChallengers: each configuration is measured as it is alone, and compared with the first by method, on the same
// records and in the same folds, also with another seed.
func TestChallengers(t *testing.T) {
	conf, path := data(t, 400, func(int) string { return "" })
	other := filepath.Join(t.TempDir(), "other.yaml")
	text := strings.Replace(configuration, "records: 60}", "records: 60, seed: 77}", 1)
	text = strings.Replace(text, "name: a,", "name: a, use: never,", 1) + "trees: off\n"
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	measured := func(protocol string, methods []string, configs ...string) *evaluate.Result {
		t.Helper()
		e := flags()
		e.Protocol, e.Configs, e.Methods, e.Skip, e.Folds = protocol, configs, methods, 50, 3
		if len(configs) > 1 {
			e.Scores = filepath.Join(t.TempDir(), "s.jsonl")
		}
		var r evaluate.Result
		if _, err := run(t, e, path, &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
	for _, protocol := range []string{prequential, folds} {
		methods := []string{"all", "prior"}
		r := measured(protocol, methods, conf, other, conf)
		if len(r.Challengers) != 2 || r.Challengers[0].Config != other || r.Challengers[1].Config != conf {
			t.Fatalf("%s: challengers %+v", protocol, r.Challengers)
		}
		alone := measured(protocol, methods, other)
		first := measured(protocol, methods, conf)
		for _, m := range methods {
			a, b, p := first.Methods[m], alone.Methods[m], r.Challengers[0].Against[m]
			if protocol == prequential && b.LogLoss != r.Challengers[0].Result.Methods[m].LogLoss ||
				a.LogLoss != r.Methods[m].LogLoss {
				t.Errorf("%s, %s: log-loss %v and %v, alone %v and %v", protocol, m, r.Methods[m].LogLoss,
					r.Challengers[0].Result.Methods[m].LogLoss, a.LogLoss, b.LogLoss)
			}
			b = r.Challengers[0].Result.Methods[m]
			for what, d := range map[string]evaluate.Number{"log-loss": p.LogLoss - (a.LogLoss - b.LogLoss),
				"Brier": p.Brier - (a.Brier - b.Brier), "accuracy": p.Accuracy - (a.Accuracy - b.Accuracy)} {
				if math.Abs(float64(d)) > 1e-12 {
					t.Errorf("%s, %s: the difference of %s is off by %v", protocol, m, what, d)
				}
			}
			if m == "all" && (p.LogLoss == 0 || p.LogLossInterval[0] >= p.LogLossInterval[1]) {
				t.Errorf("%s: %+v", protocol, p)
			}
			if same := r.Challengers[1].Against[m]; *same != (evaluate.Pair{}) {
				t.Errorf("%s, %s: against itself %+v", protocol, m, same)
			}
		}
	}
	// Without --method the challenger runs the whole stage alone.
	r := measured(prequential, nil, conf, other)
	if len(r.Methods) != 3 || len(r.Challengers[0].Result.Methods) != 1 || r.Challengers[0].Against["all"] == nil {
		t.Errorf("%d methods, %+v", len(r.Methods), r.Challengers)
	}
}

// TestChallengersThatAreRefused: other classes, a fault that names its configuration, and an output that is an input.
func TestChallengersThatAreRefused(t *testing.T) {
	conf, path := data(t, 100, func(int) string { return "" })
	write := func(name, old, new string) string {
		file := filepath.Join(t.TempDir(), name)
		text := strings.Replace(configuration, old, new, 1)
		if text == configuration {
			t.Fatalf("no %q in the configuration", old)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	turned := write("turned.yaml", "classes: [no, yes]", "classes: [yes, no]")
	lacking := write("lacking.yaml", "name: a,", "name: nowhere,")
	for _, c := range []struct {
		set  func(e *Evaluation)
		says string
	}{
		{func(e *Evaluation) { e.Configs = []string{conf, turned} }, "turned.yaml: its classes are yes, no, those of "},
		{func(e *Evaluation) { e.Configs = []string{conf, lacking} }, "lacking.yaml: "},
		{func(e *Evaluation) { e.Configs, e.JSON = []string{conf, turned}, turned }, "would overwrite"},
		{func(e *Evaluation) { e.Configs, e.Protocol = []string{conf, turned}, triples }, "there is one configuration"},
		{func(e *Evaluation) { e.Configs = nil }, "the configuration is missing"},
	} {
		e := flags()
		e.Skip = 10
		c.set(e)
		var out, notes strings.Builder
		err := e.Run(t.Context(), cli.New(nil, &out, &notes), []string{path})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", slices.Clone(e.Configs), err)
		}
	}
}
