package show

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/report/text"
)

// Model prints the content of a model; name says which one it is.
func Model(w io.Writer, name string, m *model.Model) error {
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
	for _, p := range parts {
		raw, ok := m.Parts[p.name]
		if !ok {
			continue
		}
		if err := p.print(w, s, raw); err != nil {
			return fmt.Errorf("decoding the part %s: %w", p.name, err)
		}
	}
	return nil
}

// parts are the parts of a model that Model prints, in their order.
var parts = []struct {
	name  string
	print func(w io.Writer, s *model.Schema, raw []byte) error
}{
	{lift.Name, modelSets},
}

// modelFeatures prints the features with their levels.
func modelFeatures(w io.Writer, m *model.Model) error {
	s := m.Schema()
	var rows [][]string
	for f := range s.Features {
		x := &s.Features[f]
		use := "score"
		if x.Use == model.UseReport {
			use = "report"
		}
		levels, n := "", ""
		if x.Kind != model.Continuous {
			n = strconv.Itoa(m.Levels.Count(f))
			levels = text.Some(m.Levels.Names(f), 6)
		}
		rows = append(rows, []string{x.Name, x.Kind.String(), use, n, levels})
	}
	return text.Table(w, "", []string{"feature", "kind", "use", " levels", ""}, rows)
}

// modelSets prints the sets of features of the part lift.
func modelSets(w io.Writer, s *model.Schema, raw []byte) error {
	part, err := lift.DecodePart(s, raw)
	if err != nil {
		return err
	}
	var rows [][]string
	sampled := false
	for i := range part.Sets {
		off := "-"
		if len(part.Sets[i].Set.Cuts()) > 0 {
			if off = "exact"; part.Sets[i].RankError > 0 {
				off, sampled = text.Decimals(part.Sets[i].RankError, 4), true
			}
		}
		t := part.Sets[i].Total(len(s.Classes))
		x := lift.Summarise(t.Counts(), len(s.Classes), t.Effective())
		rows = append(rows, []string{strconv.Itoa(i + 1), text.Decimals(x.EtaLeaveOneOut(), 4), text.Decimals(x.Eta(), 4),
			text.Decimals(x.EtaCorrected(), 4), text.Number(x.N), strconv.Itoa(x.Occupied), off,
			names(s, part.Sets[i].Set.Features())})
	}
	fmt.Fprintln(w)
	heading := []string{" set", " left out", " eta", " corrected", " records", " cells", " rank error", "features"}
	if err := text.Table(w, "", heading, rows); err != nil {
		return err
	}
	if len(part.Entered) > 0 {
		entered := make([]string, len(part.Entered))
		for i, e := range part.Entered {
			entered[i] = names(s, e.Set.Features())
		}
		fmt.Fprintf(w, "\nIn the scorecard beside the single features: %s\n", strings.Join(entered, ", "))
	}
	if sampled {
		fmt.Fprintln(w, "rank error: how far the cut points of the cells are, at most, from the quantiles of all records, "+
			"as a share of these; probability .999")
	}
	if len(part.Sets) > 0 {
		fmt.Fprintln(w, "left out: eta on records left out of the counts; the counts of sets never forget, "+
			"they are of all records learnt since the set is counted")
	}
	confirmed := 0
	for _, p := range part.Profiles {
		if p.Confirmed() {
			confirmed++
		}
	}
	_, err = fmt.Fprintf(w, "\n%s tried, all of up to %s; %s, %s of which %d confirmed on records held back\n",
		text.Count(part.Tried, "set"), text.Count(part.Exhausted, "feature"), text.Count(len(part.Windows), "window"),
		text.Count(len(part.Profiles), "profile"), confirmed)
	return err
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
