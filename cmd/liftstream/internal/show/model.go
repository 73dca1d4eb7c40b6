package show

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/model"
	"liftstream/model/report/text"
)

// Model prints the content of a model; name says which one it is. goals are the names of the goals of its stage, nil
// where the configuration is not at hand.
func Model(w io.Writer, name string, m *model.Model, goals []string) error {
	s := m.Schema()
	property := func(key, format string, args ...any) {
		fmt.Fprintf(w, "%-12s "+format+"\n", append([]any{key}, args...)...)
	}
	property("model", "%s", name)
	property("version", "%d, format %d", m.Version, model.ModelFormat)
	if m.Info.Previous > 0 {
		property("previous", "%d", m.Info.Previous)
	}
	property("fitted on", "%d labelled records of weight %s", m.Info.Records, text.Number(m.Info.Weight))
	property("gate", "%s", verdictText(&m.Info.Verdict))
	if m.Info.Exchangeable {
		property("speaks", "of all its records alike, in whatever order they were read; every half-life begins with their "+
			"counts")
	} else {
		property("speaks", "as of its last record, as a stage does that has learnt them in their order")
	}
	property("fingerprint", "%016x", m.Fingerprint)
	classes := strings.Join(s.Classes, ", ")
	if s.Positive >= 0 {
		classes += "; positive: " + s.Classes[s.Positive]
	}
	property("classes", "%s", classes)
	var rows [][]string
	for _, p := range sorted(m.Marks) {
		rows = append(rows, []string{strconv.Itoa(int(p)), strconv.FormatInt(m.Marks[p].Offset, 10),
			text.Number(m.Marks[p].Clock)})
	}
	fmt.Fprintln(w)
	if err := text.Table(w, "", []string{" partition", " next offset", " labelled"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, name := range sorted(m.Parts) {
		rows = append(rows, []string{name, text.Bytes(int64(len(m.Parts[name])))})
	}
	fmt.Fprintln(w)
	if err := text.Table(w, "", []string{"part", " size"}, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := modelFeatures(w, m); err != nil {
		return err
	}
	if err := assemble.PrintParts(w, m); err != nil {
		return err
	}
	return assemble.PrintGoals(w, m, goals)
}

// modelFeatures prints the features with their levels, special codes and cuts.
func modelFeatures(w io.Writer, m *model.Model) error {
	s := m.Schema()
	var rows [][]string
	for f := range s.Features {
		x := &s.Features[f]
		use := "score"
		if x.Use == model.UseReport {
			use = "report"
		}
		var levels, n string
		if x.Kind != model.Continuous {
			n = strconv.Itoa(m.Levels.Count(f))
			levels = text.Some(m.Levels.Names(f), 6)
		} else {
			levels = cellsOf(x)
		}
		if x.Derived != "" {
			levels = strings.TrimPrefix(levels+"; "+x.Derived, "; ")
		}
		rows = append(rows, []string{x.Name, x.Kind.String(), use, n, levels})
	}
	return text.Table(w, "", []string{"feature", "kind", "use", " levels", ""}, rows)
}

// cellsOf tells the cells of a continuous feature that the configuration asks for, "" where it asks for none.
func cellsOf(f *model.Feature) string {
	var parts []string
	list := func(name string, numbers []float64) {
		if len(numbers) == 0 {
			return
		}
		var texts []string
		for _, v := range numbers {
			texts = append(texts, string(model.AppendNumber(nil, v, 64)))
		}
		parts = append(parts, name+" "+text.Some(texts, 12))
	}
	list("special", f.Special)
	list("cuts", f.Cuts)
	if f.Least > 0 {
		bins := "bins of at least " + text.Percent(f.Least)
		if f.Trend != model.Free {
			bins += " with rates that " + map[model.Direction]string{model.Up: "rise", model.Down: "fall",
				model.Auto: "rise or fall"}[f.Trend]
		}
		parts = append(parts, bins)
	}
	return strings.Join(parts, "; ")
}

// verdictText writes the verdict of the gate on a model.
func verdictText(v *model.Verdict) string {
	if math.IsNaN(v.New) {
		return v.Reason.String()
	}
	line := fmt.Sprintf("%s: log-loss %.4f, the serving model %.4f, difference %s", v.Reason, v.New, v.Old,
		signed(v.Difference()))
	if !math.IsNaN(v.Low) {
		line += fmt.Sprintf(" [%s, %s]", signed(v.Low), signed(v.High))
	}
	return line + fmt.Sprintf(" on %s that neither had learnt; gate %s", text.Count(v.Records, "record"),
		strconv.FormatFloat(v.Gate, 'g', -1, 64))
}
