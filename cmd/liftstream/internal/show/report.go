package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/report"
	"liftstream/model/report/text"
)

const (
	reportRows    = 10 // of a table
	reportClasses = 6  // whose profiles are shown
)

// sections are the parts of a report, in their order.
var sections = []func(w io.Writer, r *report.Report, positive string) error{
	reportFeatures, reportSets, reportWindows, reportProfiles, reportGoals,
}

// Report prints the best of a report; all of it is in the JSON. positive is the class whose profiles come first,
// summary the paragraphs of the components.
func Report(w io.Writer, r *report.Report, positive string, summary []string) error {
	fmt.Fprintf(w, "%s: %s, %d labelled\n", r.Name, text.Count(r.Records, "record"), r.Labelled)
	rates := make([]string, len(r.Classes))
	for y, c := range r.Classes {
		rates[y] = fmt.Sprintf("%s %s", c, text.Percent(r.BaseRates[y]))
	}
	fmt.Fprintf(w, "base rates: %s\n", text.Some(rates, 12))
	for _, section := range sections {
		if err := section(w, r, positive); err != nil {
			return err
		}
	}
	for _, paragraph := range summary {
		if _, err := fmt.Fprintf(w, "\n%s\n", paragraph); err != nil {
			return err
		}
	}
	return nil
}

func reportFeatures(w io.Writer, r *report.Report, _ string) error {
	order := slices.Clone(r.Features)
	slices.SortStableFunc(order, func(a, b report.Feature) int {
		switch {
		case a.AUC > b.AUC:
			return -1
		case a.AUC < b.AUC:
			return 1
		}
		return 0
	})
	var rows [][]string
	for _, f := range order {
		if len(rows) == reportRows {
			break
		}
		rows = append(rows, []string{text.Decimals(f.AUC, 3), text.Decimals(f.InformationValue, 3), f.Name})
	}
	fmt.Fprintf(w, "\nFeatures alone%s\n", best(len(rows), len(order)))
	if err := text.Table(w, "", []string{" AUC", " information", "feature"}, rows); err != nil {
		return err
	}
	for _, f := range r.Features {
		for _, x := range f.Warnings {
			fmt.Fprintf(w, "note: %s: %s\n", f.Name, x)
		}
	}
	return nil
}

// best says that a table shows only the first of more.
func best(shown, of int) string {
	if shown < of {
		return fmt.Sprintf(", the best %d of %d", shown, of)
	}
	return ""
}

func reportSets(w io.Writer, r *report.Report, _ string) error {
	var rows [][]string
	for _, s := range r.Sets[:min(reportRows, len(r.Sets))] {
		rows = append(rows, []string{text.Decimals(s.EtaLeaveOneOut, 4), text.Decimals(s.Eta, 4),
			text.Decimals(s.EtaCorrected, 4), text.Number(s.N), strconv.Itoa(len(s.Levels)), strings.Join(s.Features, " ")})
	}
	fmt.Fprintf(w, "\nSets of features%s: eta is the share of the uncertainty about the class that the set explains, "+
		"'left out' of\nrecords left out of the counts; the counts never forget\n", best(len(rows), len(r.Sets)))
	return text.Table(w, "", []string{" left out", " eta", " corrected", " records", " cells", "features"}, rows)
}

func reportWindows(w io.Writer, r *report.Report, _ string) error {
	if len(r.Windows) == 0 {
		return nil
	}
	var rows [][]string
	for _, x := range r.Windows[:min(reportRows/2, len(r.Windows))] {
		corrected := fmt.Sprintf("%s [%s, %s]", text.Decimals(x.EtaCorrected, 4), text.Decimals(x.EtaLow, 2),
			text.Decimals(x.EtaHigh, 2))
		rows = append(rows, []string{text.Decimals(x.Eta, 4), corrected, text.Number(x.N), text.Percent(x.Mass),
			strings.Join(x.Features, " ") + ": " + text.Some(x.Levels, 4)})
	}
	fmt.Fprintf(w, "\nWindows%s: the cells of a set in which it says most; "+
		"intervals of 95 %% for the windows of all sets tried at once\n", best(len(rows), len(r.Windows)))
	return text.Table(w, "", []string{" eta", " corrected [low, high]", " records", " share", "cells"}, rows)
}

func reportProfiles(w io.Writer, r *report.Report, positive string) error {
	var classes []string
	for _, p := range r.Profiles {
		if !slices.Contains(classes, p.Class) {
			classes = append(classes, p.Class)
		}
	}
	if i := slices.Index(classes, positive); i > 0 {
		classes = append([]string{positive}, slices.Delete(classes, i, i+1)...)
	}
	most := reportRows
	if len(classes) > 2 {
		most /= 2
	}
	for k, class := range classes {
		if k == reportClasses {
			fmt.Fprintf(w, "\nProfiles of %s more classes are in the report: --report OUT.json\n", strconv.Itoa(len(classes)-k))
			break
		}
		if err := reportProfilesOf(w, r, class, most); err != nil {
			return err
		}
	}
	return nil
}

// reportProfilesOf prints the profiles of a class, at most the given number: the confirmed ones first, each kind in the
// order of the report.
func reportProfilesOf(w io.Writer, r *report.Report, class string, most int) error {
	var of []report.Profile
	for _, p := range r.Profiles {
		if p.Class == class {
			of = append(of, p)
		}
	}
	slices.SortStableFunc(of, func(a, b report.Profile) int { return cmp.Compare(rank(a.Confirmed), rank(b.Confirmed)) })
	confirmed, validated := 0, false
	var rows [][]string
	for k, p := range of {
		if p.Confirmed {
			confirmed++
		}
		validated = validated || p.ValidatedAmong > 0
		if k < most {
			rows = append(rows, profileRow(p))
		}
	}
	state := fmt.Sprintf("%d of %d confirmed on records held back", confirmed, len(of))
	switch {
	case !validated:
		state = "searched among all records, none validated"
	case confirmed == 0:
		state = "none confirmed on records held back"
	}
	fmt.Fprintf(w, "\nProfiles of %s%s: %s\n", class, best(len(rows), len(of)), state)
	heading := []string{"confirmed", " validated [low, high]", " lift", " records", " of the class", "profile"}
	if err := text.Table(w, "", heading, rows); err != nil {
		return err
	}
	below := func(p report.Profile) bool { return p.Confirmed && p.ValidatedLow < 1 }
	if slices.ContainsFunc(of[:len(rows)], below) {
		fmt.Fprintln(w, report.IntervalNote)
	}
	return nil
}

func profileRow(p report.Profile) []string {
	tests := make([]string, len(p.Profile))
	for i, t := range p.Profile {
		tests[i] = testText(t)
	}
	later := "-"
	if v := text.Lift(p.ValidatedLift, 2); v != "-" {
		later = fmt.Sprintf("%s [%s, %s]", v, text.Lift(p.ValidatedLow, 2), text.Lift(p.ValidatedHigh, 2))
	}
	confirmed := "no"
	if p.Confirmed {
		confirmed = "yes"
	}
	return []string{confirmed, later, text.Lift(p.Lift, 2), text.Number(p.NX), text.Number(p.NXY),
		strings.Join(tests, " & ")}
}

// rank puts confirmed profiles first.
func rank(confirmed bool) int {
	if confirmed {
		return 0
	}
	return 1
}

// testText writes one test of a profile as it is written in scores.
func testText(t report.Test) string {
	if strings.HasPrefix(t.Cell, "(") && strings.Contains(t.Cell, ", ") {
		return t.Feature + " in " + t.Cell
	}
	return t.Feature + "=" + t.Cell
}
