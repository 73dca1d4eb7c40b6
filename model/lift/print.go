package lift

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"liftstream/model"
	"liftstream/model/report/text"
)

// PrintPart prints the sets of features of a part of a model, and how many windows and profiles it has.
func PrintPart(w io.Writer, s *model.Schema, raw []byte) error {
	part, err := DecodePart(s, raw)
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
		x := Summarise(t.Counts(), len(s.Classes), t.Effective())
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
		entered, err := EnteredNames(s, raw)
		if err != nil {
			return err
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

// EnteredNames names the sets of a part that are in the scorecard beside the single features; none of nil.
func EnteredNames(s *model.Schema, raw []byte) (sets []string, err error) {
	if raw == nil {
		return nil, nil
	}
	part, err := DecodePart(s, raw)
	if err != nil {
		return nil, err
	}
	for _, e := range part.Entered {
		sets = append(sets, names(s, e.Set.Features()))
	}
	return sets, nil
}

// names joins the names of features.
func names(s *model.Schema, features []int32) string {
	out := make([]string, len(features))
	for i, f := range features {
		out[i] = s.Features[f].Name
	}
	return strings.Join(out, " ")
}
