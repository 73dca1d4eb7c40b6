package evaluate

import (
	"testing"

	"liftstream/model"
)

// turned is the source with the classes of the records from first on and below end exchanged.
func turned(s Source, first, end int) Source {
	return func(yield func(*model.Batch, error) bool) {
		at := 0
		for b, err := range s {
			for i := range b.Label {
				if at >= first && at < end && b.Label[i] >= 0 {
					b.Label[i] = 1 - b.Label[i]
				}
				at++
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// TestModelsOfInvertedLabelsAreRefusedInEvaluationsToo: as many as there are verdicts in that time, in one partition
// and in two, of the cold start as well, and none of honest labels.
func TestModelsOfInvertedLabelsAreRefusedInEvaluationsToo(t *testing.T) {
	s := testSchema()
	spec := stageSpec(s)
	spec.Options.Gate = 5 // so that the gate refuses none
	for _, c := range []struct {
		name       string
		first, end int
		opt        Options
		want       int
	}{
		{"honest labels", 0, 0, Options{Refit: 1500}, 0},
		// The verdict at 4,500 learnt records sees 90 inverted ones. The model that it accepts has learnt these.
		{"from the middle on", 5000, 10_000, Options{Refit: 1500}, 2},
		{"in two partitions", 5000, 10_000, Options{Refit: 1500, Partitions: 2}, 2},
		{"after the first model", 700, 1400, Options{Refit: 6000}, 1},
	} {
		run, err := Prequential(t.Context(), s, turned(stream(10_000, 500, true, true), c.first, c.end),
			[]Method{Stage(MethodAll, spec)}, c.opt, func(*Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, v := range run.Verdicts {
			if v.Reason != model.Inverted {
				continue
			}
			if refused++; int(v.Learnt) < c.first*8/10 {
				t.Errorf("%s: a model is refused at %d learnt records", c.name, v.Learnt)
			}
		}
		if refused != c.want || run.Refused != c.want {
			t.Errorf("%s: %d of %d refused for inverted labels, want %d: %+v", c.name, refused, run.Refused, c.want,
				run.Verdicts)
		}
	}
}
