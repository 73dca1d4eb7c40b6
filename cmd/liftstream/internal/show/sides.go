package show

import (
	"fmt"
	"io"
	"math"

	"liftstream/model"
	"liftstream/model/report/text"
)

// Sentence says of a reason of a feature, in plain words, how its value changes the odds of a class:
//
//	contact = cellular raises the odds of yes by a factor of 1.52
//
// The factor is e to the effect. value is the text of the value, "" = it is missing.
func Sentence(feature, value string, effect float64, class string) string {
	has := feature + " = " + value
	if value == "" {
		has = feature + " is missing: it"
	}
	verb := "raises"
	if effect < 0 {
		verb = "lowers"
	}
	return fmt.Sprintf("%s %s the odds of %s by a factor of %s", has, verb, class,
		text.Decimals(math.Exp(effect), 2))
}

// Sides prints the interval of the score of the first record, if it has one, and a sentence for each reason
// of more than .1 nats: the raising ones first, then the lowering ones, each as they come, the largest first. It
// prints nothing if there are neither.
func Sides(w io.Writer, schema *model.Schema, levels *model.Levels, scores *model.Scores) error {
	class := schema.Classes[scores.Target[0]]
	if len(scores.Intervals) > 0 && !math.IsNaN(scores.Intervals[0].Low) {
		x := scores.Intervals[0]
		fmt.Fprintf(w, "\nthe propensity of %s lies between %s and %s in %s %% of such records\n", class,
			text.Decimals(x.Low, 3), text.Decimals(x.High, 3), text.Number(100*scores.IntervalLevel))
	}
	return sides(w, schema, levels, scores.WhyOf(0), class)
}

// Goals prints the propensity of each goal of the first record, and a sentence for each of its reasons, as Sides does.
func Goals(w io.Writer, schema *model.Schema, levels *model.Levels, scores *model.Scores, names []string) error {
	for k, name := range names {
		if k >= len(scores.Goals) || k >= len(scores.GoalLift) {
			break
		}
		told := "no model knows the goal: a base rate"
		if lift := scores.GoalLift[k]; !math.IsNaN(lift) {
			told = text.Decimals(lift, 2) + " times its base rate"
		}
		fmt.Fprintf(w, "\ngoal %s: %s, %s\n", name, text.Decimals(scores.Goals[k], 3), told)
		if err := sides(w, schema, levels, scores.GoalWhyOf(0, k), name); err != nil {
			return err
		}
	}
	return nil
}

// sides prints the reasons for and against a class.
func sides(w io.Writer, schema *model.Schema, levels *model.Levels, why []model.Reason, class string) error {
	for _, side := range []struct {
		sign float64
		what string
	}{{1, "for"}, {-1, "against"}} {
		headed := false
		for i := range why {
			r := &why[i]
			if !r.Matters() || !(r.Effect*side.sign > 0) {
				continue
			}
			if !headed {
				fmt.Fprintf(w, "\n%s %s:\n", side.what, class)
				headed = true
			}
			if _, err := fmt.Fprintf(w, "  %s\n", Sentence(schema.Features[r.Feature].Name, valueOf(schema, levels, r),
				r.Effect, class)); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOf is the text of the value of a feature's reason, "" where it is missing.
func valueOf(schema *model.Schema, levels *model.Levels, r *model.Reason) string {
	switch {
	case math.IsNaN(r.Value):
		return ""
	case schema.Features[r.Feature].Kind == model.Continuous:
		return text.Number(r.Value)
	}
	return levels.Text(int(r.Feature), r.Value)
}
