package factsheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const shownCurves = 12 // curves of features, and kernels

// local draws the Gaussian processes of the features; the one farthest from its neutral score comes first.
func (b *builder) local() {
	l := b.Report.Local
	if l == nil || len(l.Curves) == 0 {
		return
	}
	order := slices.Clone(l.Curves)
	reach := func(c *report.Curve) (most float64) {
		for _, v := range c.Mean {
			most = max(most, math.Abs(float64(v-c.Neutral)))
		}
		return most
	}
	slices.SortStableFunc(order, func(x, y report.Curve) int { return cmp.Compare(reach(&y), reach(&x)) })
	list, note := first(order, shownCurves, "curves, the one farthest from the line first,")
	s := Section{ID: "local", Title: "Where a value tells the classes apart", Text: []string{
		"Above the line a record of that value lies mostly among records of its own class, so that the value tells the " +
			"class; at the line it says nothing; below it lies mostly among others. A Gaussian process has learnt the " +
			"curve, and the band is two standard deviations."},
		Notes: noted(note, fmt.Sprintf("%s, the %d nearest of %s vote.", text.Count(len(l.Curves), "curve"), l.Neighbours,
			text.Count(l.Prototypes, "prototype")))}
	for i := range list {
		s.Blocks = append(s.Blocks, processBlock(b, &list[i]))
	}
	b.add(s)
}

// processBlock draws a process over numbers, or the table of levels.
func processBlock(b *builder, c *report.Curve) Block {
	t := &Table{Caption: "Curve of " + c.Feature, Head: []string{"Value", " Mean", " Deviation"}, Folded: true}
	name := "curve-" + fileName(c.Feature)
	caption := fmt.Sprintf("%s, of %s", c.Feature, text.Count(c.Observations, "observation"))
	if len(c.Levels) > 0 {
		x := chart.Bars{Title: "Curve of " + c.Feature, Axis: "mean", Base: float64(c.Neutral)}
		levels, note := first(c.Levels, shownCells, "levels")
		for k, level := range levels {
			mean, sd := number(c.Mean, k), number(c.SD, k)
			x.Rows = append(x.Rows, chart.Bar{Label: level, Value: float64(mean), Low: float64(mean - 2*sd),
				High: float64(mean + 2*sd), Text: text.Decimals(mean, 3)})
			t.Rows = append(t.Rows, cells(level, text.Decimals(mean, 3), text.Decimals(sd, 3)))
		}
		return Block{b.figure(name, noting(caption, note), x.Draw()), t}
	}
	y := chart.Series{X: floats(c.Grid), Y: floats(c.Mean)}
	for k := range c.Mean {
		sd := number(c.SD, k)
		y.Low, y.High = append(y.Low, float64(c.Mean[k]-2*sd)), append(y.High, float64(c.Mean[k]+2*sd))
		t.Rows = append(t.Rows, cells(text.Number(number(c.Grid, k)), text.Decimals(c.Mean[k], 3), text.Decimals(sd, 3)))
	}
	x := chart.Lines{Title: "Curve of " + c.Feature, X: c.Feature, Y: "mean", Series: []chart.Series{y},
		Level: float64(c.Neutral), Leveled: true}
	return Block{b.figure(name, caption, x.Draw()), t}
}

func floats(v []report.Number) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// kernel draws the weights of the kernel by feature.
func (b *builder) kernel() {
	k := b.Report.Kernel
	if k == nil {
		return
	}
	s := Section{ID: "kernel", Title: "In what records of a class are alike"}
	if len(k.Features) == 0 {
		s.Text = []string{fmt.Sprintf("In no feature, beyond chance (%s).", visible(k.Status))}
		b.add(s)
		return
	}
	s.Text = []string{"Records of a class are most alike in " + text.Some(shown(k.Features), 10) + "."}
	order := slices.Clone(k.Weights)
	slices.SortStableFunc(order, func(x, y report.KernelWeight) int { return cmp.Compare(y.Alpha, x.Alpha) })
	list, note := first(order, 2*shownCurves, "weights")
	x := chart.Bars{Title: "Weights of the kernel", Axis: "weight"}
	t := &Table{Caption: "Weights of the kernel", Head: []string{"Feature", " Width", " Weight"}, Folded: true}
	for _, w := range list {
		label := w.Feature
		if w.Width > 0 {
			label += ", width " + text.Number(w.Width)
		}
		x.Rows = append(x.Rows, chart.Plain(label, float64(w.Alpha), text.Decimals(w.Alpha, 3)))
		t.Rows = append(t.Rows, cells(w.Feature, text.Number(w.Width), text.Decimals(w.Alpha, 4)))
	}
	s.Blocks = []Block{{b.figure("kernel", "Weights of the kernel, which says how alike two records are", x.Draw()), t}}
	s.Notes = noted(note, "A narrow kernel asks for nearly equal values, a wide one for values of the same region.")
	b.add(s)
}

// trees shows the boosted trees by feature.
func (b *builder) trees() {
	r := b.Report.Trees
	if r == nil {
		return
	}
	s := Section{ID: "trees", Title: "Boosted trees"}
	if r.Trees == 0 {
		s.Text = []string{"No trees are kept: the score is as good without them on records that it has not seen."}
		b.add(s)
		return
	}
	s.Text = []string{fmt.Sprintf("%s of %d leaves lower the log-loss of an additive model by %s (standard error %s) on "+
		"records that neither has seen.", text.Count(r.Trees, "tree"), r.Leaves, text.Decimals(r.Gain, 4),
		text.Decimals(r.StdErr, 4))}
	list, note := first(r.Features, shownCells, "features")
	x := chart.Bars{Title: "Features of the trees", Axis: "share of the movement"}
	t := &Table{Caption: "Features of the trees", Head: []string{"Feature", " Share of the movement"}, Folded: true}
	for _, f := range list {
		x.Rows = append(x.Rows, chart.Plain(f.Feature, float64(f.Share), text.Percent(f.Share)))
		t.Rows = append(t.Rows, cells(f.Feature, text.Percent(f.Share)))
	}
	s.Blocks = []Block{{b.figure("trees", "Share of each feature in the movement of the trees", x.Draw()), t}}
	s.Notes = noted(note)
	b.add(s)
}
