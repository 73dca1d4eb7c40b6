package factsheet

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const shownClasses = 10 // of tables by class

// lead writes the first sentences, the facts and the base rates.
func (b *builder) lead() {
	m, s := b.Model, b.Model.Schema()
	b.sheet.Title = b.Name
	aim := "Model " + strconv.FormatInt(m.Version, 10) + " tells how prone a record is to each class: " +
		text.Some(shown(b.classes), shownClasses) + "."
	if b.target >= 0 {
		aim = fmt.Sprintf("Model %d tells how prone a record is to the class “%s”.", m.Version,
			visible(b.classes[b.target]))
	}
	b.sheet.Lead = append(b.sheet.Lead, aim)
	rates, from := b.baseRates()
	if b.target >= 0 && len(rates) == len(b.classes) {
		b.sheet.Lead = append(b.sheet.Lead, fmt.Sprintf("%s of the records are “%s” (%s): a lift of 2 means twice as many.",
			text.Percent(rates[b.target]), visible(b.classes[b.target]), from))
	}
	fact := func(name, format string, args ...any) {
		b.sheet.Facts = append(b.sheet.Facts, Fact{name, fmt.Sprintf(format, args...)})
	}
	fact("Version", "%d", m.Version)
	if m.Info.Previous > 0 {
		fact("Version before", "%d", m.Info.Previous)
	}
	fact("Fitted on", "%s", text.Count(m.Info.Records, "labelled record"))
	if b.Fit != nil {
		fact("Records read", "%d, %d of them labelled", b.Fit.Records, b.Fit.Labelled)
	}
	if m.Info.Exchangeable {
		fact("Speaks", "of all its records alike, in whatever order they came")
	} else {
		fact("Speaks", "as of its last record; older ones count less in its short memories")
	}
	classes := text.Some(shown(s.Classes), shownClasses)
	if s.Positive >= 0 {
		classes += "; positive: " + visible(s.Classes[s.Positive])
	}
	fact("Classes", "%s", classes)
	scored, reported := 0, 0
	for i := range s.Features {
		if s.Features[i].Use == model.UseReport {
			reported++
			continue
		}
		scored++
	}
	features := text.Count(scored, "feature") + " in scores"
	if reported > 0 {
		features += fmt.Sprintf(", %d in reports alone", reported)
	}
	fact("Features", "%s", features)
	if v := &m.Info.Verdict; !math.IsNaN(v.New) {
		fact("Against the version before", "%s: log-loss %.4f, that one %.4f, on %s that neither had learnt",
			strings.ReplaceAll(v.Reason.String(), "_", " "), v.New, v.Old, text.Count(v.Records, "record"))
	}
	b.rates(rates, from)
}

// baseRates are the shares of the classes, and the records that they are of; none where nobody tells.
func (b *builder) baseRates() (rates []report.Number, from string) {
	if b.Fit != nil && len(b.Fit.BaseRates) == len(b.classes) {
		return b.Fit.BaseRates, "of the records of the fit"
	}
	best := -1
	for i := range b.Report.Sets {
		if best < 0 || b.Report.Sets[i].N > b.Report.Sets[best].N {
			best = i
		}
	}
	if best < 0 {
		return nil, ""
	}
	rates = make([]report.Number, len(b.classes))
	var all report.Number
	for _, cell := range b.Report.Sets[best].Counts {
		for y := range rates {
			rates[y] += number(cell, y)
			all += number(cell, y)
		}
	}
	if !(all > 0) {
		return nil, ""
	}
	for y := range rates {
		rates[y] /= all
	}
	return rates, fmt.Sprintf("of the %s records that have all of %s", text.Number(all),
		text.Some(shown(b.Report.Sets[best].Features), 3))
}

// rates draws the base rates of more than two classes.
func (b *builder) rates(rates []report.Number, from string) {
	if len(rates) < 3 {
		return
	}
	x := chart.Bars{Title: "Share of each class", Axis: "share of the records"}
	t := &Table{Caption: "Share of each class, " + from, Head: []string{"Class", " Share"}, Folded: true}
	for y, c := range b.classes {
		if y == shownFeatures {
			break
		}
		x.Rows = append(x.Rows, chart.Plain(c, float64(rates[y]), text.Percent(rates[y])))
		t.Rows = append(t.Rows, cells(c, text.Percent(rates[y])))
	}
	_, note := first(b.classes, shownFeatures, "classes")
	b.add(Section{ID: "rates", Title: "How frequent the classes are", Notes: noted(note),
		Blocks: []Block{{b.figure("rates", "Share of each class, "+from, x.Draw()), t}}})
}

// limits names the figures that the sheet leaves out, and conclusions that they do not bear.
func (b *builder) limits() {
	s := Section{ID: "limits", Title: "What this does not say"}
	s.Text = append(s.Text, "A lift or an effect tells what goes together in the records, and not what would happen if a "+
		"value were changed: whoever talks to a group because of it needs a control group to learn that.",
		"The model knows the records that it was fitted on. Where the people, the offer or the way of counting change, "+
			"its figures grow old; the section on change, or a running stage, tells when.")
	s.Text = append(s.Text, b.absent()...)
	if l := b.Report.Search; l != nil {
		s.Notes = append(s.Notes, l.Notes...)
		if l.InexactWindows > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("windows: those of %s were not searched to the end",
				text.Count(l.InexactWindows, "set")))
		}
	}
	b.add(s)
}

// absent names the parts that are missing here, with the way to have them.
func (b *builder) absent() (out []string) {
	if b.Evaluation == nil {
		out = append(out, "This page has no figures on quality, since the model file has none. 'liftstream eval --json' "+
			"measures them on records of the past, and 'liftstream report --eval' adds them, with the effects of the whole "+
			"score.")
	}
	if b.Fit == nil {
		out = append(out, "The figures of the single features (information value, weights of evidence, warnings) are in "+
			"the report of the fit: add it by --fit.")
	}
	switch {
	case b.NoCard != "":
		out = append(out, "The scorecard is not shown: "+b.NoCard+".")
	case b.Card == nil:
		out = append(out, "The effects of the scorecard need its configuration: add it by -c.")
	default:
		for _, x := range b.Card.LeftOut {
			out = append(out, "Not in the scorecard that is shown: "+x+".")
		}
	}
	if len(b.Model.Parts) == 0 {
		out = append(out, "The model is empty: it has no part that has learnt anything.")
	}
	return out
}

// number is a figure of a list that may be too short: NaN there.
func number(v []report.Number, i int) report.Number {
	if i < 0 || i >= len(v) {
		return report.Number(math.NaN())
	}
	return v[i]
}

// shown makes texts of users harmless.
func shown(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = visible(t)
	}
	return out
}
