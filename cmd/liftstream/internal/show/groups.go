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
	"liftstream/model/report/text"
)

// evaluationGroups prints a table for each column of use: report and one of the segments, and the changes of those.
func evaluationGroups(w io.Writer, r *evaluate.Result) error {
	g := r.Groups
	if g == nil {
		return nil
	}
	class := cmp.Or(r.Positive, r.Classes[min(1, len(r.Classes)-1)])
	for i := range g.Columns {
		c := &g.Columns[i]
		fmt.Fprintf(w, "\nGroups of %s, which is in no score, and the class %s (95 %% intervals)\n", c.Column, class)
		if err := groupTable(w, append(slices.Clone(c.Groups), g.All), g.MinCount, false); err != nil {
			return err
		}
	}
	if len(g.Segments) > 0 {
		var all []evaluate.Group
		for i := range g.Segments {
			all = append(all, g.Segments[i].Group)
		}
		fmt.Fprintf(w, "\nSegments, and the class %s (95 %% intervals)\n", class)
		if err := groupTable(w, append(all, g.All), g.MinCount, true); err != nil {
			return err
		}
		if err := groupChanges(w, g); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "error: propensity less rate; top tenth: share of the group in the tenth of all of the "+
		"highest propensity;\nreasons: how often a feature is the strongest. model/QUALITY.md 7 says what groups do not "+
		"tell.")
	return err
}

// groupTable prints one row a group. Segments have their lift in place of the AUC.
func groupTable(w io.Writer, all []evaluate.Group, least int, segments bool) error {
	fourth := "AUC"
	if segments {
		fourth = "lift"
	}
	var rows [][]string
	var hidden []string
	reasons := false
	for i := range all {
		x := &all[i]
		if math.IsNaN(float64(x.Records)) {
			hidden = append(hidden, x.Group)
			continue
		}
		var why []string
		for _, f := range x.Reasons[:min(2, len(x.Reasons))] {
			why = append(why, fmt.Sprintf("%s %.0f %%", f.Feature, 100*float64(f.Share)))
		}
		reasons = reasons || len(why) > 0
		figure, its := text.Decimals(x.AUC, 3), bounds(x.AUCInterval)
		if segments {
			figure, its = text.Decimals(x.Lift, 2), bounds(x.LiftInterval)
		}
		rows = append(rows, []string{x.Group, text.Number(x.Records), text.Percent(x.Share), text.Decimals(x.Rate, 3),
			bounds(x.RateInterval), text.Decimals(x.Mean, 3), signedShort(x.Error), signedBounds(x.ErrorInterval),
			figure, its, text.Percent(x.Top), percents(x.TopInterval),
			strings.Join(why, ", ")})
	}
	heading := []string{"", " records", " share", " rate", "", " propensity", " error", "", " " + fourth, "", " top tenth",
		"", "reasons"}
	if !reasons {
		heading[12] = ""
	}
	if err := text.Table(w, "", heading, rows); err != nil {
		return err
	}
	if len(hidden) > 0 {
		_, err := fmt.Fprintf(w, "Fewer than min_count = %d records, so no figures: %s\n", least, text.Some(hidden, 10))
		return err
	}
	return nil
}

// groupChanges prints the places where a segment changed.
func groupChanges(w io.Writer, g *evaluate.Groups) error {
	const most = 12
	var rows [][]string
	for _, c := range g.Changes[:min(most, len(g.Changes))] {
		rows = append(rows, []string{c.Segment, c.What, strconv.FormatInt(c.Since, 10), strconv.FormatInt(c.At, 10),
			text.Percent(c.Before), text.Percent(c.After)})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "No share or rate of a segment changed over the stream.")
		return err
	}
	more := ""
	if n := len(g.Changes); n > most {
		more = fmt.Sprintf(", the first %d of %d", most, n)
	}
	fmt.Fprintf(w, "Changes of segments, found by an adaptive window (ADWIN), and the mean until the next one%s\n", more)
	return text.Table(w, "", []string{"", "", " since record", " found at", " before", " after"}, rows)
}

func signedShort(f evaluate.Number) string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return fmt.Sprintf("%+.3f", float64(f))
}

func bounds(i evaluate.Interval) string {
	return between(i, 3)
}

func signedBounds(i evaluate.Interval) string { return inBrackets(i, signedShort) }

func percents(i evaluate.Interval) string {
	return inBrackets(i, func(f evaluate.Number) string { return text.Decimals(100*f, 1) })
}

func inBrackets(i evaluate.Interval, written func(evaluate.Number) string) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) {
		return "-"
	}
	return "[" + written(i[0]) + ", " + written(i[1]) + "]"
}
