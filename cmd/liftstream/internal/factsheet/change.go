package factsheet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

const (
	shownGroups = 20 // groups of a column
	shownDrift  = 12 // columns that moved, and alarms
)

// groups shows the figures by group and by segment.
func (b *builder) groups() {
	if b.Evaluation == nil || b.Evaluation.Groups == nil {
		return
	}
	g := b.Evaluation.Groups
	s := Section{ID: "groups", Title: "By group and segment", Text: []string{fmt.Sprintf("Rate is the share of “%s” "+
		"among the records of the group, error the mean propensity less that rate. Groups of fewer than %d records show no "+
		"figures. It says nothing on whether the labels are fair.", visible(measuredClass(b.Evaluation)), g.MinCount)}}
	columns, note := first(g.Columns, shownDrift, "columns")
	for i := range columns {
		s.Blocks = append(s.Blocks, groupBlocks(b, columns[i].Column, append(slices.Clone(columns[i].Groups), g.All))...)
	}
	if len(g.Segments) > 0 {
		var all []evaluate.Group
		for i := range g.Segments {
			all = append(all, g.Segments[i].Group)
		}
		s.Blocks = append(s.Blocks, groupBlocks(b, "Segment", append(all, g.All))...)
	}
	changes, more := first(g.Changes, shownDrift, "changes")
	if len(changes) > 0 {
		t := &Table{Caption: "Where the share of a segment changed, or the rate in it",
			Head: []string{"Segment", "Figure", " Since record", " Found at", " Before", " After"}}
		for _, c := range changes {
			t.Rows = append(t.Rows, cells(c.Segment, c.What, strconv.FormatInt(c.Since, 10), strconv.FormatInt(c.At, 10),
				text.Percent(c.Before), text.Percent(c.After)))
		}
		s.Blocks = append(s.Blocks, Block{Table: t})
	}
	s.Notes = noted(note, more, "Intervals are of 95 %.")
	b.add(s)
}

func groupBlocks(b *builder, column string, all []evaluate.Group) []Block {
	list, note := first(all, shownGroups, "groups")
	x := chart.Bars{Title: "Rate by " + column, Axis: "rate of the class"}
	t := &Table{Caption: "Figures by " + column, Head: []string{column, " Records", " Share", " Rate", " 95 %",
		" Mean propensity", " Error", " Lift", " AUC", " In the top tenth", "Strongest reasons"}}
	t.Caption = noting(t.Caption, note)
	for i := range list {
		g := &list[i]
		if math.IsNaN(float64(g.Records)) {
			t.Rows = append(t.Rows, cells(g.Group, "too few"))
			continue
		}
		x.Rows = append(x.Rows, chart.Bar{Label: g.Group, Value: float64(g.Rate), Low: float64(g.RateInterval[0]),
			High: float64(g.RateInterval[1]), Text: text.Percent(g.Rate)})
		var why []string
		for _, r := range g.Reasons[:min(2, len(g.Reasons))] {
			why = append(why, fmt.Sprintf("%s %.0f %%", visible(r.Feature), 100*float64(r.Share)))
		}
		t.Rows = append(t.Rows, cells(g.Group, text.Number(g.Records), text.Percent(g.Share), text.Percent(g.Rate),
			percents(float64(g.RateInterval[0]), float64(g.RateInterval[1])), text.Percent(g.Mean), signed(100*g.Error)+" %",
			text.Decimals(g.Lift, 2), text.Decimals(g.AUC, 3), text.Percent(g.Top), strings.Join(why, ", ")))
	}
	return []Block{{Figure: b.figure("group-"+fileName(column), "Rate by "+column+", with 95 % intervals", x.Draw())},
		{Table: t}}
}

// drift shows where the stream changed.
func (b *builder) drift() {
	r := b.Evaluation
	if r == nil {
		return
	}
	s := Section{ID: "drift", Title: "What changed along the stream"}
	moved := slices.DeleteFunc(slices.Clone(r.Drift), func(d evaluate.Drift) bool { return !d.Moved() })
	columns, cut := first(moved, shownDrift, "columns")
	if len(columns) > 0 {
		s.Blocks = append(s.Blocks, movedBlock(b, columns))
	}
	points, note := first(r.DriftPoints, shownDrift, "points")
	if len(points) > 0 {
		t := &Table{Caption: "Where the log-loss changed", Head: []string{"Since record", " Found at", " Before", " After"}}
		for _, p := range points {
			t.Rows = append(t.Rows, cells(strconv.FormatInt(p.Since, 10), strconv.FormatInt(p.At, 10),
				text.Decimals(p.Before, 4), text.Decimals(p.After, 4)))
		}
		s.Blocks = append(s.Blocks, Block{Table: t})
	}
	alarms, more := first(r.Alarms, shownDrift, "alarms")
	if len(alarms) > 0 {
		t := &Table{Caption: "Alarms of drift, as a running stage would have given them",
			Head: []string{"Column", "Kind", " At record", " Index", " Log-loss", " Threshold"}}
		for _, a := range alarms {
			t.Rows = append(t.Rows, cells(a.Feature, strings.ReplaceAll(a.Kind, "_", " "), strconv.FormatInt(a.At, 10),
				text.Decimals(a.PSI, 2), text.Decimals(a.LogLoss, 4), text.Decimals(a.Threshold, 4)))
		}
		s.Blocks = append(s.Blocks, Block{Table: t})
	}
	if len(s.Blocks) == 0 && len(r.Drift) > 0 {
		s.Text = []string{"No column moved far, and the quality did not change beyond chance."}
	}
	if len(s.Blocks) > 0 {
		s.Text = []string{"Where people or offers change, the scores of before say less. A running stage learns on."}
	}
	s.Notes = noted(cut, note, more)
	b.add(s)
}

// movedBlock draws how far the columns moved that moved beyond chance.
func movedBlock(b *builder, columns []evaluate.Drift) Block {
	x := chart.Bars{Title: "Drift of the columns", Axis: "population stability index"}
	t := &Table{Caption: "Drift: population stability index against the first records", Folded: true,
		Head: []string{"Column", " Largest", " At record", " Last", " Threshold of chance"}}
	for _, d := range columns {
		x.Rows = append(x.Rows, chart.Plain(d.Feature, float64(d.PSI), text.Decimals(d.PSI, 2)))
		t.Rows = append(t.Rows, cells(d.Feature, text.Decimals(d.PSI, 2), strconv.FormatInt(d.At, 10),
			text.Decimals(d.Last, 2), text.Decimals(d.Threshold, 2)))
	}
	return Block{b.figure("drift", "The columns that moved beyond chance, and how far: .1 is a shift, .25 a large one",
		x.Draw()), t}
}

// percents writes an interval of shares.
func percents(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return "-"
	}
	return text.Decimals(100*low, 1) + " to " + text.Decimals(100*high, 1) + " %"
}
