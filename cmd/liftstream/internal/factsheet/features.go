package factsheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const (
	shownFeatures = 30 // of a list of all features
	shownEffects  = 12 // features with a figure of their effects
	shownCells    = 24 // rows of a figure of one feature
)

// of is the class that effects speak of, for sentences: those of the whole score are of each record's target, which is
// the positive class or, where none is configured, that of the highest lift.
func (b *builder) of(measured bool) string {
	if b.target < 0 || measured && b.Model.Schema().Positive < 0 {
		return "each record's target class"
	}
	return "“" + visible(b.classes[b.target]) + "”"
}

// scored returns the effects of the whole score by feature, the most important first, and the records that they are of:
// as eval measured them or, without that, the fit. None where nobody did.
func (b *builder) scored() (list []report.Importance, of string) {
	switch {
	case b.Evaluation != nil && len(b.Evaluation.Importance) > 0:
		return b.Evaluation.Importance, "Means over the newest scores of the evaluation, at most 10,000, each of a record " +
			"that the model had not seen."
	case b.Fit != nil:
		return b.Fit.Importance, "Means over at most 2,000 scores of records that the model was fitted to: a feature that " +
			"only fits them by chance looks more important than it is."
	}
	return nil, ""
}

// importance ranks the features by the mean size of their effects.
func (b *builder) importance() {
	all, of := b.scored()
	if len(all) == 0 {
		return
	}
	list, note := first(all, shownFeatures, "features")
	x := chart.Bars{Title: "Importance of the features", Axis: "mean size of the effect (log-odds)"}
	t := &Table{Caption: "Importance of the features", Head: []string{"Feature", " Mean size of the effect", " Odds"},
		Folded: true}
	for _, f := range list {
		x.Rows = append(x.Rows, chart.Plain(f.Feature, float64(f.Effect), text.Decimals(f.Effect, 3)))
		t.Rows = append(t.Rows, cells(f.Feature, text.Decimals(f.Effect, 3), odds(f.Effect)))
	}
	b.add(Section{ID: "importance", Title: "Which features matter", Text: []string{fmt.Sprintf("The longer the bar, the "+
		"more a feature moves the score for %s, up or down. %s moves it most. An effect of 0.69 doubles or halves the odds.",
		b.of(true), visible(all[0].Feature))},
		Blocks: []Block{{b.figure("importance", "Mean size of the effect of each feature", x.Draw()), t}},
		Notes:  noted(note, of)})
}

// odds is the factor on the odds of an effect.
func odds[F ~float64](effect F) string {
	v := math.Exp(float64(effect))
	if !(v < 1e6) {
		return "-"
	}
	return "× " + strconv.FormatFloat(v, 'f', 2, 64)
}

// effects shows the effect of each value of a feature on the score: the whole one or, where nobody measured that, the
// scorecard.
func (b *builder) effects() {
	var note string
	all, of := b.scored()
	s := Section{ID: "effects", Title: "What each value does", Text: []string{fmt.Sprintf("To the right, or up: the "+
		"value makes %s more likely than it is on average; to the left, or down: less likely.", b.of(len(all) > 0))}}
	switch {
	case len(all) > 0:
		var list []report.Importance
		list, note = first(all, shownEffects, "features, the most important first,")
		for i := range list {
			s.Blocks = append(s.Blocks, measuredBlock(b, &list[i]))
		}
		s.Notes = noted(note, of, "The mean contribution of the feature to the log-odds, of the whole score; the line is "+
			"one standard deviation to both sides, since the same value may count differently beside other values. Of a "+
			"feature of many levels the ten most frequent are measured.")
	case b.Card != nil:
		var list []portable.Feature
		list, note = first(b.Card.Features, shownEffects, "features, in the order of the configuration,")
		for i := range list {
			s.Blocks = append(s.Blocks, cardedBlock(b, &list[i]))
		}
		s.Notes = noted(note, "The effects of the scorecard, in log-odds, as long as its calibration does not bend; the "+
			"other components of the score are not in them. Points are values with a cell of their own. The records of a "+
			"number are those of the whole cell in which its piece lies.")
	default:
		return
	}
	b.add(s)
}

// measuredBlock draws the contributions of a feature by its values.
func measuredBlock(b *builder, f *report.Importance) Block {
	x := chart.Bars{Title: "Effect of " + f.Feature, Axis: "effect (log-odds)"}
	t := &Table{Caption: "Effect of " + f.Feature, Head: []string{"Value", " Records", " Effect", " Deviation", " Odds"},
		Folded: true}
	list, note := first(f.Curve, shownCells, "cells")
	for _, c := range list {
		x.Rows = append(x.Rows, chart.Bar{Label: c.Cell, Value: float64(c.Effect), Low: float64(c.Effect - c.SD),
			High: float64(c.Effect + c.SD), Text: signed(c.Effect)})
		t.Rows = append(t.Rows, cells(c.Cell, strconv.Itoa(c.N), signed(c.Effect), text.Decimals(c.SD, 2), odds(c.Effect)))
	}
	return Block{b.figure("effect-"+fileName(f.Feature), noting(f.Feature, note), x.Draw()), t}
}

// cardedBlock draws the effects of the scorecard: a curve over numbers, bars for levels.
func cardedBlock(b *builder, f *portable.Feature) Block {
	all := b.Card.Effects(f)
	t := &Table{Caption: "Effect of " + f.Name, Head: []string{"Value", " Records", " Effect from", " to"}, Folded: true}
	list, note := first(all, 2*shownCells, "rows")
	t.Caption = noting(t.Caption, note)
	for _, e := range list {
		t.Rows = append(t.Rows, cells(e.Cell, records(e.Records), signed(e.Low), signed(e.High)))
	}
	name := "effect-" + fileName(f.Name)
	if len(f.Pieces) > 1 {
		x := chart.Lines{Title: "Effect of " + f.Name, X: f.Name, Y: "effect (log-odds)", Leveled: true}
		low, high := seen(b.Report, f.Name)
		x.Series = pieces(all, low, high)
		return Block{b.figure(name, f.Name, x.Draw()), t}
	}
	x := chart.Bars{Title: "Effect of " + f.Name, Axis: "effect (log-odds)"}
	slices.SortStableFunc(all, func(a, b portable.Effect) int { return cmp.Compare(b.Records, a.Records) })
	bars, note := first(all, shownCells, "rows, those of the most records,")
	for _, e := range bars {
		x.Rows = append(x.Rows, chart.Plain(e.Cell, e.Low, signed(e.Low)))
	}
	return Block{b.figure(name, noting(f.Name, note), x.Draw()), t}
}

// pieces makes a curve of the effects of a number between low and high, and points of the values with a cell of their
// own.
func pieces(all []portable.Effect, low, high float64) []chart.Series {
	curve, own := chart.Series{}, chart.Series{Kind: chart.Points}
	for _, e := range all {
		if e.From == e.To {
			own.X, own.Y = append(own.X, e.To), append(own.Y, e.Low)
			continue
		}
		from, to := max(e.From, low), min(e.To, high)
		if math.IsNaN(e.From) {
			from = min(low, e.To)
		}
		if math.IsNaN(e.To) {
			to = max(high, e.From)
		}
		if !(from < to) {
			continue
		}
		at := func(v float64) float64 { // effects between the ends of a piece are drawn as straight
			if !(e.To > e.From) {
				return e.Low
			}
			return e.Low + (e.High-e.Low)*(v-e.From)/(e.To-e.From)
		}
		curve.X, curve.Y = append(curve.X, from, to), append(curve.Y, at(from), at(to))
	}
	return []chart.Series{curve, own}
}

// seen is the range of a feature among the records, where the part of the local subspaces knows it.
func seen(r *report.Report, feature string) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if r.Local == nil {
		return low, high
	}
	for i := range r.Local.Curves {
		if c := &r.Local.Curves[i]; c.Feature == feature && len(c.Levels) == 0 && len(c.Grid) > 1 {
			return float64(c.Grid[0]), float64(c.Grid[len(c.Grid)-1])
		}
	}
	return low, high
}

// alone ranks the features by the weight of evidence of each alone.
func (b *builder) alone() {
	if b.Fit == nil || len(b.Fit.Features) == 0 {
		return
	}
	order := slices.Clone(b.Fit.Features)
	slices.SortStableFunc(order, func(x, y report.Feature) int {
		return cmp.Compare(y.InformationValue, x.InformationValue)
	})
	list, note := first(order, shownFeatures, "features, by their information,")
	x := chart.Bars{Title: "Information value of each feature alone", Axis: "information value"}
	t := &Table{Caption: "Each feature alone", Head: []string{"Feature", " Information value", " AUC", "Warnings"},
		Folded: true}
	var warned []string
	for _, f := range list {
		x.Rows = append(x.Rows, chart.Plain(f.Name, float64(f.InformationValue), text.Decimals(f.InformationValue, 3)))
		t.Rows = append(t.Rows, cells(f.Name, text.Decimals(f.InformationValue, 3), text.Decimals(f.AUC, 3),
			text.Some(f.Warnings, 3)))
	}
	for _, f := range order {
		for _, w := range f.Warnings {
			warned = append(warned, "Warning: "+visible(f.Name)+": "+visible(w)+".")
		}
	}
	warned, more := first(warned, shownFeatures, "warnings")
	s := Section{ID: "alone", Title: "Each feature by itself", Text: append([]string{"How well a feature would tell " +
		"the classes apart by itself. By custom an information value below .02 is hardly anything, .1 to .3 is moderate, " +
		"and above .5 the feature may be known only after the outcome; the fewer the records, the more of it is chance. A " +
		"feature that is strong here and weak in the score may say what others say already."},
		warned...), Notes: noted(note, more),
		Blocks: []Block{{b.figure("information", "Information value of each feature", x.Draw()), t}}}
	for i := range list[:min(len(list), shownEffects/2)] {
		s.Blocks = append(s.Blocks, evidenceBlock(b, &list[i]))
	}
	b.add(s)
}

// evidenceBlock draws the weights of evidence of a feature.
func evidenceBlock(b *builder, f *report.Feature) Block {
	x := chart.Bars{Title: "Weight of evidence of " + f.Name, Axis: "weight of evidence"}
	t := &Table{Caption: "Weight of evidence of " + f.Name, Head: []string{"Value", " Records", " Weight of evidence"},
		Folded: true}
	list, note := first(f.WOE, shownCells, "cells")
	for _, c := range list {
		x.Rows = append(x.Rows, chart.Plain(c.Cell, float64(c.WOE), signed(c.WOE)))
		t.Rows = append(t.Rows, cells(c.Cell, text.Number(c.N), signed(c.WOE)))
	}
	return Block{b.figure("evidence-"+fileName(f.Name), noting(f.Name+", weight of evidence", note), x.Draw()), t}
}

// points lists the points of each value of a feature.
func (b *builder) points() {
	if b.Card == nil || b.Card.Points == nil {
		return
	}
	p := b.Card.Points
	t := &Table{Caption: "Points of each value", Head: []string{"Feature", "Value", " Records", " Points from", " to"}}
	left := 0
	for i := range b.Card.Features {
		f := &b.Card.Features[i]
		for _, e := range b.Card.Effects(f) {
			if len(t.Rows) == shownPoints {
				left++
				continue
			}
			t.Rows = append(t.Rows, cells(f.Name, e.Cell, records(e.Records), whole(p.Of(e.Low)), whole(p.Of(e.High))))
		}
	}
	note := ""
	if left > 0 {
		note = fmt.Sprintf("%d more rows are left out: 'liftstream model export --format csv' writes all.", left)
	}
	b.add(Section{ID: "points", Title: "Points", Text: []string{fmt.Sprintf("Odds of %s to 1 have %s points, and %s more "+
		"points double the odds. The points of a record's values add up, beside those of the intercept.",
		text.Number(p.Odds), text.Number(p.Base), text.Number(p.PDO))}, Blocks: []Block{{Table: t}},
		Notes: noted(note, "The records of a number are those of the whole cell in which its piece lies.")})
}

// whole writes points without decimals.
func whole(points float64) string { return text.Decimals(math.Round(points)+0, 0) }

const shownPoints = 200 // rows of the table of points

func records(n float64) string {
	if math.IsNaN(n) {
		return "-"
	}
	return text.Decimals(n, 0)
}

// signed writes an effect with its sign.
func signed[F ~float64](v F) string {
	s := text.Decimals(v, 2)
	if v >= 0 && s != "-" {
		return "+" + s
	}
	return s
}

// fileName makes a name that every file system takes.
func fileName(s string) string {
	var out []byte
	for i := 0; i < len(s) && len(out) < 40; i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			out = append(out, c)
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	return cmp.Or(strings.TrimRight(string(out), "-"), "feature")
}
