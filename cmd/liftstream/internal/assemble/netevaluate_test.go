package assemble

import (
	"path/filepath"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/modeltest"
)

// netEvaluations are the configurations under which a stream is evaluated.
var netEvaluations = []struct {
	name  string
	folds bool
	lines []string
}{
	{"goals", false, []string{"  label: [{column: class, classes: [no, yes], positive: yes}, " +
		"{column: clicked, classes: [no, yes], positive: yes}]",
		"value: {hit: 40, contact: 1.5, goals: [{goal: clicked, hit: 1, contact: 0.1}]}"}},
	{"uplift", false, []string{"control: {share: 0.3, by: id, seed: 3, treated: called, learn: untreated, uplift: on}"}},
	{"classes", false, []string{"  label: {column: class, classes: [a, b, c]}",
		"    - {name: income, kind: continuous, special: [-999, -888], bins: {min: 0.2}}", "min_count: 35",
		"propensity: {half_lives: [30, 300], cells: 5}", "-value:"}},
	{"folds", true, []string{"-dedup:"}},
}

// TestNetOfEvaluations holds all figures of evaluations of a stream by several methods, in the order of the stream and
// by folds.
func TestNetOfEvaluations(t *testing.T) {
	modeltest.Computes(t)
	for _, o := range netEvaluations {
		t.Run(o.name, func(t *testing.T) {
			text := netVariant(netVariant(netVariant(netText, netTwo...), netOff...), "fit: {warmup: 100, records: 600}",
				"lift: {quantiles: 4, sets: {max: 2, top: 4}, windows: {top: 2}, profiles: {top: 2, max_features: 2}}")
			s := stage(t, netVariant(text, o.lines...))
			records := &netRecords{schema: s.Spec.Schema, classes: len(s.Spec.Schema.Classes), goals: len(s.GoalNames()),
				began: 1_700_000_000e9, ids: true}
			total, ctx := 2600, t.Context()
			if o.folds {
				total = 400
			}
			src := func(yield func(*model.Batch, error) bool) {
				for from := 0; from < total; from += 100 {
					b := records.batch(from, from+100)
					for i := range b.N {
						if truth := records.truth(from + i); i%9 > 0 { // files have the labels
							b.Label[i] = truth.class
							if b.Outcomes != nil {
								b.Outcomes[i] = truth.outcomes
							}
						}
					}
					if !yield(b, nil) {
						return
					}
				}
			}
			methods := []evaluate.Method{evaluate.Stage("all", s.Spec), evaluate.Prior(s.Spec.Schema),
				evaluate.Stage("lift", s.Scoring("lift"))}
			e := evaluate.NewEvaluation(s.Spec.Schema, methods, 50, 7)
			e.Group(evaluate.GroupOptions{Segments: s.Segments, Least: s.Config.MinCount})
			e.Goals(s.GoalNames(), s.GoalValues())
			e.Value = s.Value()
			var run evaluate.Run
			var err error
			if o.folds {
				run, err = evaluate.Folds(ctx, s.Spec.Schema, src, methods, 4, evaluate.StratifiedFolds(4, 3), e.Add)
			} else {
				run, err = evaluate.Prequential(ctx, s.Spec.Schema, src, methods,
					evaluate.Options{Delay: 40, Partitions: 2, Refit: s.Config.Fit.Records}, e.Add)
			}
			if err != nil {
				t.Fatal(err)
			}
			result, err := e.Result(run)
			if err != nil {
				t.Fatal(err)
			}
			var f modeltest.Figures
			f.JSON(t, "result", result)
			f.Golden(t, filepath.Join("testdata", "net", "evaluations", o.name+".txt"))
		})
	}
}
