package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// evaluationGoals prints one line for each goal beside the label, and the gains of each.
func evaluationGoals(w io.Writer, r *evaluate.Result) error {
	if len(r.Goals) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nGoals: further labels, learnt beside the label from the same records\n")
	heading := []string{"", "records", "base rate", "log-loss", "95 % interval", "AUC", "in blocks", "calibration error"}
	var rows [][]string
	for _, g := range r.Goals {
		rows = append(rows, []string{g.Goal, strconv.Itoa(g.Records), text.Decimals(g.BaseRate, 4),
			text.Decimals(g.LogLoss, 4), interval(g.LogLossInterval), text.Decimals(g.AUC, 4),
			text.Decimals(g.AUCBlocks, 4), text.Decimals(g.CalibrationError, 4)})
	}
	if err := text.Table(w, "", heading, rows); err != nil {
		return err
	}
	return goalGains(w, r.Goals)
}

// goalShares are the rows of the gains that are printed of a goal.
var goalShares = []float64{.05, .1, .2}

// goalGains prints the lifts of the records of the highest propensity of each goal, and its profit where its value is
// given.
func goalGains(w io.Writer, goals []evaluate.Goal) error {
	var rows [][]string
	for _, g := range goals {
		for _, share := range goalShares {
			i := slices.IndexFunc(g.Gains, func(x evaluate.Gain) bool { return math.Abs(x.Share-share) < 1e-9 })
			if i < 0 {
				continue
			}
			x := g.Gains[i]
			rows = append(rows, []string{g.Goal, fmt.Sprintf("%.0f %%", share*100), text.Number(x.N), text.Number(x.Positives),
				text.Percent(x.Capture), text.Decimals(x.Lift, 2), between(x.LiftInterval, 2),
				text.Decimals(x.MeanPropensity, 3)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nGains of the goals: the records of the highest propensity of each\n")
	err := text.Table(w, "", []string{"", " top", " records", " positives", " of all", " lift", "95 % interval",
		" propensity"}, rows)
	for _, g := range goals {
		if p := g.Profit; p != nil && err == nil {
			_, err = fmt.Fprintf(w, "profit of %s at %s a hit and %s a contact: %s %s of the top %s, whose propensities pay; "+
				"%s of everybody\n", g.Goal, text.Number(p.Hit), text.Number(p.Contact), text.Decimals(p.PayingProfit, 0),
				between(p.PayingInterval, 0), text.Percent(p.Paying), text.Decimals(p.All, 0))
		}
	}
	return err
}

// goalFeatures is the number of features that are named of a goal.
const goalFeatures = 5

// reportGoals prints a line for each goal of a fit: how frequent it is, and the features that tell most of it alone.
func reportGoals(w io.Writer, r *report.Report, _ string) error {
	if len(r.Goals) == 0 {
		return nil
	}
	var rows [][]string
	for i := range r.Goals {
		g := &r.Goals[i]
		rate, best := "-", "not fitted: no records of two classes tell it, and its propensities are base rates"
		if g.Records > 0 {
			rate = text.Percent(g.BaseRate)
		}
		if g.Fitted {
			order := slices.Clone(g.Features)
			slices.SortStableFunc(order, func(a, b report.Feature) int {
				return cmp.Compare(b.InformationValue, a.InformationValue)
			})
			var names []string
			for _, f := range order[:min(goalFeatures, len(order))] {
				names = append(names, fmt.Sprintf("%s (%s)", f.Name, text.Decimals(f.InformationValue, 3)))
			}
			best = strings.Join(names, ", ")
		}
		rows = append(rows, []string{g.Goal, strconv.Itoa(g.Records), rate, g.Classes[len(g.Classes)-1], best})
	}
	fmt.Fprint(w, "\nGoals: further labels, learnt beside the label, with the features that tell most of each alone, and "+
		"their\ninformation values; the tables above are of the label\n")
	if err := text.Table(w, "", []string{"", " records", " rate", "of", "features"}, rows); err != nil {
		return err
	}
	for i := range r.Goals {
		for _, f := range r.Goals[i].Features {
			for _, x := range f.Warnings {
				if !slices.Contains(ofLabel(r, f.Name), x) {
					fmt.Fprintf(w, "note: %s, for the goal %s: %s\n", f.Name, r.Goals[i].Goal, x)
				}
			}
		}
	}
	return nil
}

// ofLabel are the warnings of a feature that the report has for the label already.
func ofLabel(r *report.Report, feature string) []string {
	for i := range r.Features {
		if r.Features[i].Name == feature {
			return r.Features[i].Warnings
		}
	}
	return nil
}
