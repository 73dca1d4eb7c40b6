package factsheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const (
	shownGoals       = 15 // as many as there can be
	shownGoalBars    = 8  // features of a goal in its figure
	shownGoalFigures = 2  // features of a goal with a figure of their values, and sets with a table of their lifts
)

// goals shows the goals beside the label: how frequent they are, how good their scores were, and the features that tell
// of each.
func (b *builder) goals() {
	var reported []report.Goal
	switch {
	case b.Fit != nil && len(b.Fit.Goals) > 0:
		reported = b.Fit.Goals
	default:
		reported = b.Report.Goals
	}
	var measured []evaluate.Goal
	if b.Evaluation != nil {
		measured = b.Evaluation.Goals
	}
	reported, note := first(reported, shownGoals, "goals")
	measured, _ = first(measured, shownGoals, "goals")
	if len(reported) == 0 && len(measured) == 0 {
		return
	}
	s := Section{ID: "goals", Title: "Goals beside the label", Notes: noted(note), Text: []string{"A record may have " +
		"several of these outcomes at once, beside “" + visible(b.labelName()) + "”. Each has a scorecard and propensities " +
		"of its own, learnt from the same records; all other sections of this page speak of the label."}}
	if len(measured) > 0 {
		s.Blocks = append(s.Blocks, goalsBlock(measured))
		for i := range measured {
			s.Text = append(s.Text, goalSentences(&measured[i])...)
		}
	}
	for _, g := range goalImportances(measured, reported) {
		s.Blocks = append(s.Blocks, goalImportance(b, &g))
	}
	untold := false
	for i := range reported {
		g := &reported[i]
		if len(g.Classes) != 2 {
			continue // nobody wrote such a report; its other parts are of use
		}
		if !g.Fitted {
			s.Text = append(s.Text, fmt.Sprintf("%s has no structure: no records of two classes told it, and its propensities "+
				"are base rates.", visible(g.Goal)))
			continue
		}
		s.Blocks = append(s.Blocks, goalBlocks(b, g)...)
		untold = untold || len(g.Features) == 0
	}
	if untold {
		s.Notes = append(s.Notes, "The report of the fit (--fit) tells which features say most of each goal.")
	}
	b.add(s)
}

// goalImportances are the goals with the importances of their features: those of the evaluation, or else of the fit.
func goalImportances(measured []evaluate.Goal, reported []report.Goal) (out []report.Goal) {
	known := map[string]bool{}
	for i := range measured {
		if g := &measured[i]; len(g.Importance) > 0 {
			known[g.Goal] = true
			out = append(out, report.Goal{Goal: g.Goal, Importance: g.Importance})
		}
	}
	for i := range reported {
		if g := &reported[i]; len(g.Importance) > 0 && !known[g.Goal] {
			out = append(out, *g)
		}
	}
	return out
}

// goalImportance ranks the features by the mean size of their effects on a goal.
func goalImportance(b *builder, g *report.Goal) Block {
	list, note := first(g.Importance, shownGoalBars, "features")
	title := "Importance of the features for the goal " + g.Goal
	x := chart.Bars{Title: title, Axis: "mean size of the effect (log-odds)"}
	t := &Table{Caption: title, Head: []string{"Feature", " Mean size of the effect", " Odds"}, Folded: true}
	for _, f := range list {
		x.Rows = append(x.Rows, chart.Plain(f.Feature, float64(f.Effect), text.Decimals(f.Effect, 3)))
		t.Rows = append(t.Rows, cells(f.Feature, text.Decimals(f.Effect, 3), odds(f.Effect)))
	}
	caption := visible(g.Goal) + ": mean size of the effect of each feature on its score"
	return Block{b.figure("goal-importance-"+fileName(g.Goal), noting(caption, note), x.Draw()), t}
}

// labelName is the class of the label of which the page speaks, or that there are several.
func (b *builder) labelName() string {
	if b.target >= 0 {
		return b.classes[b.target]
	}
	return "the classes of the label"
}

// goalsBlock is the table of the figures of the goals.
func goalsBlock(goals []evaluate.Goal) Block {
	t := &Table{Caption: "How good the propensities of the goals are", Head: []string{"Goal", " Records", " Base rate",
		" AUC", " Log-loss", " 95 %", " Calibration error", " Lift, top 10 %"}}
	for _, g := range goals {
		if g.Metrics == nil {
			continue
		}
		lift := "-"
		if x := topTenth(g.Gains); x != nil {
			lift = text.Lift(x.Lift, 2)
		}
		t.Rows = append(t.Rows, cells(g.Goal, strconv.Itoa(g.Records), text.Percent(g.BaseRate), text.Decimals(g.AUC, 4),
			text.Decimals(g.LogLoss, 4), bounds(g.LogLossInterval, 4), text.Decimals(g.CalibrationError, 4), lift))
	}
	return Block{Table: t}
}

// topTenth is the row of the gains whose share is nearest to a tenth; nil of none.
func topTenth(gains []evaluate.Gain) *evaluate.Gain {
	var best *evaluate.Gain
	for i := range gains {
		if best == nil || math.Abs(gains[i].Share-.1) < math.Abs(best.Share-.1) {
			best = &gains[i]
		}
	}
	return best
}

// goalSentences say who to talk to for a goal, and the profit of it.
func goalSentences(g *evaluate.Goal) (out []string) {
	if x := topTenth(g.Gains); x != nil {
		out = append(out, fmt.Sprintf("%s: the %s of the records with its highest propensity hold %s of all of it: %s times "+
			"as many as records picked at random would%s.", visible(g.Goal), percent(x.Share), text.Percent(x.Capture),
			text.Lift(x.Lift, 1), within(liftBounds(x.LiftInterval, 1))))
	}
	if g.Profit != nil {
		out = append(out, visible(g.Goal)+": "+profitSentence(g.Profit))
	}
	return out
}

// goalBlocks draws the features that tell most of a goal, and lists the lifts of its best sets.
func goalBlocks(b *builder, g *report.Goal) (out []Block) {
	class := g.Classes[len(g.Classes)-1]
	if order := slices.Clone(g.Features); len(order) > 0 {
		slices.SortStableFunc(order, func(x, y report.Feature) int {
			return cmp.Compare(y.InformationValue, x.InformationValue)
		})
		list, note := first(order, shownGoalBars, "features, by their information,")
		title := fmt.Sprintf("Information about the goal %s of each feature alone", g.Goal)
		x := chart.Bars{Title: title, Axis: "information value"}
		t := &Table{Caption: title, Head: []string{"Feature", " Information value", " AUC", "Warnings"}, Folded: true}
		for _, f := range list {
			x.Rows = append(x.Rows, chart.Plain(f.Name, float64(f.InformationValue), text.Decimals(f.InformationValue, 3)))
			t.Rows = append(t.Rows, cells(f.Name, text.Decimals(f.InformationValue, 3), text.Decimals(f.AUC, 3),
				text.Some(f.Warnings, 3)))
		}
		caption := fmt.Sprintf("%s (%s in %s of %s): information value of each feature alone", visible(g.Goal),
			visible(class), text.Percent(g.BaseRate), text.Count(g.Records, "record"))
		out = append(out, Block{b.figure("goal-"+fileName(g.Goal), noting(caption, note), x.Draw()), t})
		for i := range list[:min(len(list), shownGoalFigures)] {
			block := evidenceBlock(b, &list[i])
			block.Figure.Caption = fmt.Sprintf("Goal %s: %s", visible(g.Goal), block.Figure.Caption)
			out = append(out, block)
		}
	}
	sets, _ := first(g.Sets, shownGoalFigures, "")
	for i := range sets {
		out = append(out, Block{Table: goalLifts(g, &sets[i])})
	}
	return out
}

// goalLifts is the table of the lifts of a goal in the cells of a set.
func goalLifts(g *report.Goal, x *report.Set) *Table {
	k := len(g.Classes) - 1
	names := text.Some(shown(x.Features), 4)
	t := &Table{Caption: fmt.Sprintf("Goal %s: lifts of “%s” by %s", visible(g.Goal), visible(g.Classes[k]), names),
		Head: []string{"Value", " Records", " Lift", " 95 %"}, Folded: true}
	for c := range x.Levels {
		if len(t.Rows) == shownCells {
			t.Caption = noting(t.Caption, fmt.Sprintf("Of %d cells the first %d are shown.", len(x.Levels), shownCells))
			break
		}
		if c >= len(x.Counts) || c >= len(x.Lift) || k >= len(x.Lift[c]) {
			break
		}
		var n report.Number
		for _, v := range x.Counts[c] {
			n += v
		}
		interval := evaluate.Interval{}
		if c < len(x.LiftLow) && c < len(x.LiftHigh) && k < len(x.LiftLow[c]) && k < len(x.LiftHigh[c]) {
			interval = evaluate.Interval{x.LiftLow[c][k], x.LiftHigh[c][k]}
		}
		t.Rows = append(t.Rows, cells(x.Levels[c], text.Number(n), text.Lift(x.Lift[c][k], 2), liftBounds(interval, 2)))
	}
	return t
}
