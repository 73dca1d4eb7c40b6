package show

import (
	"fmt"
	"io"
	"strconv"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// evaluationIntervals prints the intervals of the propensities beside the rates.
func evaluationIntervals(w io.Writer, r *evaluate.Result) error {
	u := r.Intervals
	if u == nil {
		return nil
	}
	fmt.Fprintf(w, "\nHow sure: the mean interval of the propensities (%s %% for one record), and the rate of %s\n",
		text.Number(100*u.Level), r.Positive)
	var rows [][]string
	marked := false
	for _, g := range u.Groups {
		mark := ""
		if by := 2 * g.RateError; g.Rate < g.Low-by || g.Rate > g.High+by {
			mark, marked = "!", true
		}
		rows = append(rows, []string{strconv.Itoa(g.N), text.Decimals(g.Low, 3), text.Decimals(g.Propensity, 3),
			text.Decimals(g.High, 3), text.Decimals(g.Rate, 3), mark})
	}
	if err := text.Table(w, "", []string{" records", " low", " propensity", " high", " rate", ""}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "The rate lies within the mean interval, but for the chance of the labels, in %d of %s of "+
		"1,000 records\n", u.Inside, text.Count(u.Blocks, "block"))
	if marked && err == nil {
		_, err = fmt.Fprintln(w, "! the rate of these records does not")
	}
	return err
}

// evaluationImportance prints the most important features, with the values that raise and lower scores most.
func evaluationImportance(w io.Writer, r *evaluate.Result) error {
	if len(r.Importance) > 0 {
		what := "the log-odds of the target"
		if r.Positive != "" {
			what = "the log-odds of " + r.Positive
		}
		fmt.Fprintf(w, "\nImportance: the mean size of a feature's contribution to %s, and the values of the highest and "+
			"the lowest mean contribution, in the last scores\n", what)
		head := []string{"feature", " size", "highest", "lowest"}
		if err := text.Table(w, "", head, importanceRows(r.Importance, 15)); err != nil {
			return err
		}
	}
	var rows [][]string
	for i := range r.Goals {
		for _, row := range importanceRows(r.Goals[i].Importance, 3) {
			rows = append(rows, append([]string{r.Goals[i].Goal}, row...))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nImportance for the goals: the features of the largest mean contributions to the log-odds of each\n")
	return text.Table(w, "", []string{"goal", "feature", " size", "highest", "lowest"}, rows)
}

// importanceRows are the rows of the most important features.
func importanceRows(list []evaluate.Importance, most int) (rows [][]string) {
	for _, x := range list[:min(len(list), most)] {
		top, low := 0, 0
		for i := range x.Curve {
			if x.Curve[i].Effect > x.Curve[top].Effect {
				top = i
			}
			if x.Curve[i].Effect < x.Curve[low].Effect {
				low = i
			}
		}
		at := func(i int) string {
			return fmt.Sprintf("%s (%+.2f)", text.Clip(x.Curve[i].Cell, 24), float64(x.Curve[i].Effect))
		}
		rows = append(rows, []string{x.Feature, text.Decimals(x.Effect, 3), at(top), at(low)})
	}
	return rows
}
