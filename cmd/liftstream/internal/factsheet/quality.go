package factsheet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// quality shows how good the scores were on records of the past.
func (b *builder) quality() {
	r := b.Evaluation
	if r == nil || len(r.Methods) == 0 {
		return
	}
	how := "each record was scored before it was learnt"
	if r.Protocol == "folds" {
		how = "each record was scored by a model that had not seen it"
	}
	s := Section{ID: "quality", Title: "How good it is", Text: []string{fmt.Sprintf("Measured on %s: %s.",
		text.Count(int(r.Scored), "record"), how)}}
	if len(r.Gains) > 0 {
		s.Text = append(s.Text, gainSentence(r))
	}
	if p := r.Profit; p != nil {
		s.Text = append(s.Text, profitSentence(p))
	}
	s.Blocks = append(s.Blocks, methodsBlock(b))
	if len(r.Gains) > 0 {
		s.Blocks = append(s.Blocks, gainsBlock(b), calibrationBlock(b))
	}
	if r.Profit != nil {
		s.Blocks = append(s.Blocks, profitBlock(b))
	}
	if len(r.Curve) > 1 {
		s.Blocks = append(s.Blocks, curveBlock(b))
	}
	if r.Uplift != nil {
		s.Blocks = append(s.Blocks, upliftBlock(b))
	}
	s.Notes = []string{"Intervals are of 95 %, by a bootstrap of blocks of records, those of gains and profits wider " +
		"where positives are few. AUC is the share of pairs of two records of different classes that the scores rank " +
		"right: .5 is chance. Gini is 2 AUC - 1. Log-loss is lower where propensities are truer."}
	b.add(s)
}

// measuredClass is the class of gains and groups: the positive one, the second of two where none is configured.
func measuredClass(r *evaluate.Result) string {
	if r.Positive == "" && len(r.Classes) == 2 {
		return r.Classes[1]
	}
	return r.Positive
}

func gainSentence(r *evaluate.Result) string {
	at := 0
	for i, g := range r.Gains {
		if math.Abs(g.Share-.1) < math.Abs(r.Gains[at].Share-.1) {
			at = i
		}
	}
	g := &r.Gains[at]
	chance := ""
	if g.LiftInterval[0] <= 1 && g.LiftInterval[1] >= 1 {
		chance = " Picking at random may do as well."
	}
	return fmt.Sprintf("The %s of the records with the highest propensity hold %s of all “%s”: %s times as many as "+
		"records picked at random would%s.", percent(g.Share), text.Percent(g.Capture), visible(measuredClass(r)),
		text.Lift(g.Lift, 1), within(liftBounds(g.LiftInterval, 1))) + chance
}

func profitSentence(p *evaluate.Profit) string {
	return fmt.Sprintf("At %s a hit and %s a contact, talking to the top %s, whose propensities pay, brings %s%s; "+
		"talking to everybody %s.", text.Number(p.Hit), text.Number(p.Contact), text.Percent(p.Paying),
		text.Decimals(p.PayingProfit, 0), within(bounds(p.PayingInterval, 0)), text.Decimals(p.All, 0))
}

// bounds writes an interval, - where there is none.
func bounds(i evaluate.Interval, n int) string {
	return ends(i, func(v evaluate.Number) string { return text.Decimals(v, n) })
}

// liftBounds writes the interval of a lift: an end above or below 1 does not read as 1.
func liftBounds(i evaluate.Interval, n int) string {
	return ends(i, func(v evaluate.Number) string { return text.Lift(v, n) })
}

func ends(i evaluate.Interval, write func(evaluate.Number) string) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) || i == (evaluate.Interval{}) {
		return "-"
	}
	return write(i[0]) + " to " + write(i[1])
}

// within puts an interval into a sentence, nothing where there is none.
func within(interval string) string {
	if interval == "-" {
		return ""
	}
	return " (95 %: " + interval + ")"
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// methodsBlock compares the whole stage with simpler ones.
func methodsBlock(b *builder) Block {
	t := &Table{Caption: "The whole stage (all) and simpler methods", Head: []string{"Figure"}}
	var list []*evaluate.Metrics
	for _, name := range sortedNames(b.Evaluation.Methods) {
		if m := b.Evaluation.Methods[name]; m != nil && len(list) < shownMethods {
			t.Head, list = append(t.Head, " "+name), append(list, m)
		}
	}
	row := func(name string, of func(m *evaluate.Metrics) string) {
		r := cells(name)
		for _, m := range list {
			r = append(r, Cell{Text: of(m)})
		}
		t.Rows = append(t.Rows, r)
	}
	row("AUC", func(m *evaluate.Metrics) string { return text.Decimals(m.AUC, 4) })
	row("Gini", func(m *evaluate.Metrics) string { return text.Decimals(m.Gini, 4) })
	row("Gini, 95 %", func(m *evaluate.Metrics) string { return bounds(m.GiniInterval, 4) })
	row("Log-loss", func(m *evaluate.Metrics) string { return text.Decimals(m.LogLoss, 4) })
	row("Log-loss, 95 %", func(m *evaluate.Metrics) string { return bounds(m.LogLossInterval, 4) })
	row("Accuracy", func(m *evaluate.Metrics) string { return text.Percent(m.Accuracy) })
	row("Calibration error", func(m *evaluate.Metrics) string { return text.Decimals(m.CalibrationError, 4) })
	row("Calibration slope (1 = right)", func(m *evaluate.Metrics) string { return text.Decimals(m.CalibrationSlope, 2) })
	return Block{Table: t}
}

const shownMethods = 6

// sortedNames lists the method all first, then the others by name.
func sortedNames(m map[string]*evaluate.Metrics) (out []string) {
	if m[evaluate.MethodAll] != nil {
		out = append(out, evaluate.MethodAll)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name != evaluate.MethodAll {
			out = append(out, name)
		}
	}
	return out
}

// gainsBlock draws the share of all positives among the records of the highest propensity.
func gainsBlock(b *builder) Block {
	r := b.Evaluation
	curve := chart.Series{X: []float64{0}, Y: []float64{0}, Low: []float64{0}, High: []float64{0}}
	t := &Table{Caption: "Gains: the records of the highest propensity", Folded: true, Head: []string{"Top", " Records",
		" Positives", " Share of all", " 95 %", " Lift", " 95 %", " Mean propensity"}}
	list, _ := first(r.Gains, 100, "")
	for _, g := range list {
		curve.X, curve.Y = append(curve.X, 100*g.Share), append(curve.Y, 100*float64(g.Capture))
		curve.Low = append(curve.Low, 100*float64(g.CaptureInterval[0]))
		curve.High = append(curve.High, 100*float64(g.CaptureInterval[1]))
		t.Rows = append(t.Rows, cells(percent(g.Share), text.Number(g.N), text.Number(g.Positives), text.Percent(g.Capture),
			bounds(evaluate.Interval{100 * g.CaptureInterval[0], 100 * g.CaptureInterval[1]}, 1), text.Lift(g.Lift, 2),
			liftBounds(g.LiftInterval, 2), text.Decimals(g.MeanPropensity, 3)))
	}
	x := chart.Lines{Title: "Gains", X: "% of the records, highest propensity first", Y: "% of all positives", Zero: true,
		Series: []chart.Series{curve, {Kind: chart.Other, X: []float64{0, 100}, Y: []float64{0, 100}}}}
	return Block{b.figure("gains", "Gains, with the 95 % interval; broken line: records picked at random", x.Draw()), t}
}

// calibrationBlock compares the rate of the records between two lines of the gains with their mean propensity.
func calibrationBlock(b *builder) Block {
	t := &Table{Caption: "Calibration: records of like propensity", Folded: true,
		Head: []string{"Mean propensity", " Records", " Rate", " 95 %"}}
	points := chart.Series{Kind: chart.Points}
	var n, positives, sum float64
	top := 0.
	list, _ := first(b.Evaluation.Gains, 100, "")
	for _, g := range list {
		records, hits := float64(g.N)-n, float64(g.Positives)-positives
		mean := (float64(g.MeanPropensity)*float64(g.N) - sum) / records
		n, positives, sum = float64(g.N), float64(g.Positives), float64(g.MeanPropensity)*float64(g.N)
		if !(records > 0) {
			continue
		}
		rate := hits / records
		low, high := report.Wilson(rate, records)
		points.X, points.Y = append(points.X, mean), append(points.Y, rate)
		points.Low, points.High = append(points.Low, low), append(points.High, high)
		t.Rows = append(t.Rows, cells(text.Decimals(mean, 3), text.Number(math.Round(records)), text.Percent(rate),
			percents(low, high)))
		if !math.IsNaN(mean) {
			top = max(top, mean, rate)
		}
	}
	x := chart.Lines{Title: "Calibration", X: "mean propensity", Y: "rate of the class", Zero: true,
		Series: []chart.Series{{Kind: chart.Other, X: []float64{0, top}, Y: []float64{0, top}}, points}}
	return Block{b.figure("calibration", "Calibration: on the broken line propensities are true; 95 % intervals that "+
		"take records for independent", x.Draw()), t}
}

// profitBlock draws the profit of talking to the records of the highest propensity.
func profitBlock(b *builder) Block {
	curve := chart.Series{}
	t := &Table{Caption: "Profit: talking to the records of the highest propensity", Folded: true,
		Head: []string{"Top", " Profit", " 95 %"}}
	list, _ := first(b.Evaluation.Gains, 100, "")
	for _, g := range list {
		if g.Profit == nil || g.ProfitInterval == nil {
			continue
		}
		curve.X, curve.Y = append(curve.X, 100*g.Share), append(curve.Y, float64(*g.Profit))
		curve.Low = append(curve.Low, float64(g.ProfitInterval[0]))
		curve.High = append(curve.High, float64(g.ProfitInterval[1]))
		t.Rows = append(t.Rows, cells(percent(g.Share), text.Decimals(*g.Profit, 0), bounds(*g.ProfitInterval, 0)))
	}
	x := chart.Lines{Title: "Profit", X: "% of the records, highest propensity first", Y: "profit", Leveled: true,
		Series: []chart.Series{curve}}
	return Block{b.figure("profit", "Profit, with the 95 % interval", x.Draw()), t}
}

// curveBlock draws the quality over the stream.
func curveBlock(b *builder) Block {
	var got, promised chart.Series
	promised.Kind = chart.Other
	t := &Table{Caption: "Quality as it learns: log-loss since the line before, and what the propensities promised",
		Folded: true, Head: []string{"Up to record", " Log-loss", " Promised", " AUC"}}
	every := func(most int) int { return max(1, (len(b.Evaluation.Curve)+most-1)/most) }
	for i, p := range b.Evaluation.Curve {
		if i%every(shownCurve) == 0 {
			t.Rows = append(t.Rows, cells(strconv.FormatInt(p.Records, 10), text.Decimals(p.LogLoss, 4),
				text.Decimals(p.ExpectedLogLoss, 4), text.Decimals(p.AUC, 4)))
		}
		if i%every(drawnCurve) == 0 {
			got.X, got.Y = append(got.X, float64(p.Records)), append(got.Y, float64(p.LogLoss))
			promised.X, promised.Y = append(promised.X, float64(p.Records)), append(promised.Y, float64(p.ExpectedLogLoss))
		}
	}
	x := chart.Lines{Title: "Quality as it learns", X: "records of the stream", Y: "log-loss",
		Series: []chart.Series{promised, got}}
	return Block{b.figure("learning", "Log-loss along the stream; broken line: as the propensities promised", x.Draw()), t}
}

const (
	drawnCurve = 480 // points of the learning curve
	shownCurve = 60  // rows of its table
)

// upliftBlock draws the gain of treating the records of the highest estimated effect first.
func upliftBlock(b *builder) Block {
	u := b.Evaluation.Uplift
	curve := chart.Series{X: []float64{0}, Y: []float64{0}}
	t := &Table{Caption: "Uplift: gain of treating the records of the highest estimated effect first", Folded: true,
		Head: []string{"Treated first", " Gain"}}
	list, _ := first(u.Curve, 100, "")
	for _, p := range list {
		curve.X, curve.Y = append(curve.X, 100*float64(p.Share)), append(curve.Y, float64(p.Gain))
		t.Rows = append(t.Rows, cells(percent(float64(p.Share)), text.Decimals(p.Gain, 4)))
	}
	x := chart.Lines{Title: "Uplift", X: "% of the records treated first", Y: "gain", Series: []chart.Series{curve},
		Zero: true}
	return Block{b.figure("uplift", fmt.Sprintf("Uplift: effect of the treatment %s; Qini %s +- %s",
		text.Decimals(u.Effect, 4), text.Decimals(u.Qini, 3), text.Decimals(u.QiniError, 3)), x.Draw()), t}
}
