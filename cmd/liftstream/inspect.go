package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/lift"
)

// inspectCommand looks into a model file, and by topic into what the stage keeps in Kafka: topic "state" or "model".
// Without a topic function there are only files.
func inspectCommand(a *app, topic func(ctx context.Context, a *app, c *config.Config, topic string) error) *cobra.Command {
	var file, which string
	use, about := "inspect FILE", `Look into a model
Prints what a model file holds: its version and where it came from, its parts and their sizes, the features with
their levels, and the sets of features that tell the classes apart, with eta: the share of the uncertainty about the
class that the set explains.`
	if topic != nil {
		use = "inspect FILE | inspect -c FILE --topic state|model"
		about = strings.Replace(about, "Look into a model\n", "Look into a model or a state\n", 1) + `

With -c and --topic it looks into a topic of the stage instead: the snapshots of its state with their versions, sizes
and offsets, or the models that were published.`
	}
	c := a.command(groupOther, use, about,
		`liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv --model votes.model
liftstream inspect votes.model`,
		needs(0, 1, "a model file"), func(ctx context.Context, args []string) error {
			if which != "" || file != "" {
				if len(args) > 0 {
					return usagef("inspect looks into a file or, with -c FILE --topic state|model, into a topic; not both")
				}
				if which != "state" && which != "model" {
					return usagef("--topic %q: it is one of state, model", which)
				}
				c, err := a.load(file)
				if err != nil {
					return err
				}
				return topic(ctx, a, c, which)
			}
			if len(args) == 0 {
				return usagef("inspect needs a model file, such as 'liftstream fit --model' writes")
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return fmt.Errorf("reading model: %w", err)
			}
			m, err := readModel(args[0], nil)
			if err != nil {
				return err
			}
			return inspectModel(a.out, fmt.Sprintf("%s (%s)", args[0], bytesText(info.Size())), m)
		})
	if topic != nil {
		configFlag(c, &file)
		c.Flags().Lookup("config").Usage = "configuration `FILE`, with --topic"
		c.Flags().StringVar(&which, "topic", "", "`TOPIC` to look into: state or model")
	}
	return c
}

// inspectModel prints what a model holds; name says which one it is.
func inspectModel(w io.Writer, name string, m *model.Model) error {
	s := m.Schema()
	property := func(key, format string, args ...any) {
		fmt.Fprintf(w, "%-12s "+format+"\n", append([]any{key}, args...)...)
	}
	property("model", "%s", name)
	property("version", "%d, format %d", m.Version, model.ModelFormat)
	if m.Info.Previous > 0 {
		property("previous", "%d", m.Info.Previous)
	}
	property("fitted on", "%d labelled records of weight %s", m.Info.Records, number(m.Info.Weight))
	property("gate", "%s", verdictText(&m.Info.Verdict))
	if m.Info.Exchangeable {
		property("speaks", "of all its records alike, in whatever order they were read; every half-life begins with their counts")
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
		rows = append(rows, []string{strconv.Itoa(int(p)), strconv.FormatInt(m.Marks[p].Offset, 10), number(m.Marks[p].Clock)})
	}
	fmt.Fprintln(w)
	if err := table(w, "", []string{" partition", " next offset", " labelled"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, name := range sorted(m.Parts) {
		rows = append(rows, []string{name, bytesText(int64(len(m.Parts[name])))})
	}
	fmt.Fprintln(w)
	if err := table(w, "", []string{"part", " size"}, rows); err != nil {
		return err
	}
	rows = nil
	for f := range s.Features {
		x := &s.Features[f]
		use := "score"
		if x.Use == model.UseReport {
			use = "report"
		}
		levels, n := "", ""
		if x.Kind != model.Continuous {
			n = strconv.Itoa(m.Levels.Count(f))
			levels = some(m.Levels.Names(f), 6)
		}
		rows = append(rows, []string{x.Name, x.Kind.String(), use, n, levels})
	}
	fmt.Fprintln(w)
	if err := table(w, "", []string{"feature", "kind", "use", " levels", ""}, rows); err != nil {
		return err
	}
	b, ok := m.Parts[lift.Name]
	if !ok {
		return nil
	}
	part, err := lift.DecodePart(s, b)
	if err != nil {
		return fmt.Errorf("decoding the part %s: %w", lift.Name, err)
	}
	rows = nil
	sampled := false
	for i := range part.Sets {
		off := "-"
		if len(part.Sets[i].Set.Cuts()) > 0 {
			if off = "exact"; part.Sets[i].RankError > 0 {
				off, sampled = decimals(part.Sets[i].RankError, 4), true
			}
		}
		t := part.Sets[i].Total(len(s.Classes))
		x := lift.Summarise(t.Counts(), len(s.Classes), t.Effective())
		rows = append(rows, []string{strconv.Itoa(i + 1), decimals(x.EtaLeaveOneOut(), 4), decimals(x.Eta(), 4), decimals(x.EtaCorrected(), 4), number(x.N), strconv.Itoa(x.Occupied), off,
			names(s, part.Sets[i].Set.Features())})
	}
	fmt.Fprintln(w)
	if err := table(w, "", []string{" set", " left out", " eta", " corrected", " records", " cells", " rank error", "features"}, rows); err != nil {
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
		fmt.Fprintln(w, "rank error: how far the cut points of the cells are, at most, from the quantiles of all records, as a share of these; probability .999")
	}
	if len(part.Sets) > 0 {
		fmt.Fprintln(w, "left out: eta on records left out of the counts; the counts of sets never forget, they are of all records learnt since the set is counted")
	}
	confirmed := 0
	for _, p := range part.Profiles {
		if p.Confirmed() {
			confirmed++
		}
	}
	fmt.Fprintf(w, "\n%s tried, all of up to %s; %s, %s of which %d confirmed on records held back\n", count(part.Tried, "set"), count(part.Exhausted, "feature"),
		count(len(part.Windows), "window"), count(len(part.Profiles), "profile"), confirmed)
	return nil
}

// verdictText writes what the gate said of a model.
func verdictText(v *model.Verdict) string {
	if math.IsNaN(v.New) {
		return v.Reason.String()
	}
	text := fmt.Sprintf("%s: log-loss %.4f, the serving model %.4f, difference %s", v.Reason, v.New, v.Old, signed(v.Difference()))
	if !math.IsNaN(v.Low) {
		text += fmt.Sprintf(" [%s, %s]", signed(v.Low), signed(v.High))
	}
	return text + fmt.Sprintf(" on %s that neither had learnt; gate %s", count(v.Records, "record"), strconv.FormatFloat(v.Gate, 'g', -1, 64))
}

// names joins the names of features.
func names(s *model.Schema, features []int32) string {
	out := make([]string, len(features))
	for i, f := range features {
		out[i] = s.Features[f].Name
	}
	return strings.Join(out, " ")
}

// some joins the first n texts and says how many more there are.
func some(texts []string, n int) string {
	if len(texts) <= n {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:n], ", "), len(texts)-n)
}

// sorted returns the keys of a map in ascending order.
func sorted[K int32 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// number writes a count or a weight: whole numbers without decimals.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// decimals writes a figure with n decimals, "-" where it is not defined.
func decimals(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
