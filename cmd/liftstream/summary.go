package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/report"
)

const (
	summaryRows    = 10 // of a table
	summaryClasses = 6  // whose profiles are shown
)

// summarise prints the best of a report for people; all of it is in the JSON.
func summarise(w io.Writer, r *report.Report, positive string) error {
	fmt.Fprintf(w, "%s: %s, %d labelled\n", r.Name, count(r.Records, "record"), r.Labelled)
	rates := make([]string, len(r.Classes))
	for y, c := range r.Classes {
		rates[y] = fmt.Sprintf("%s %s", c, percent(float64(r.BaseRates[y])))
	}
	fmt.Fprintf(w, "base rates: %s\n", some(rates, 12))
	for _, section := range []func() error{
		func() error { return summariseFeatures(w, r) },
		func() error { return summariseSets(w, r) },
		func() error { return summariseWindows(w, r) },
		func() error { return summariseProfiles(w, r, positive) },
		func() error { return summariseLocal(w, r) },
		func() error { return summariseKernel(w, r) },
	} {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

// summariseLocal prints what was chosen for the neighbours and the subspaces of single records.
func summariseLocal(w io.Writer, r *report.Report) error {
	l := r.Local
	if l == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nLocal: %s; theta %s (a useless feature has relevance %s); the %d nearest of %s\n", count(len(l.Curves), "curve"),
		decimals(float64(l.Theta), 2), decimals(float64(l.Useless), 2), l.Neighbours, count(l.Prototypes, "prototype"))
	return environment(err)
}

// summariseKernel prints the kernel's short list, heaviest first.
func summariseKernel(w io.Writer, r *report.Report) error {
	if r.Kernel == nil {
		return nil
	}
	list := "none"
	if len(r.Kernel.Features) > 0 {
		list = some(r.Kernel.Features, summaryRows)
	}
	_, err := fmt.Fprintf(w, "\nKernel (%s): records of a class are most alike in %s\n", r.Kernel.Status, list)
	return environment(err)
}

func summariseFeatures(w io.Writer, r *report.Report) error {
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
		if len(rows) == summaryRows {
			break
		}
		rows = append(rows, []string{decimals(float64(f.AUC), 3), decimals(float64(f.InformationValue), 3), f.Name})
	}
	fmt.Fprintf(w, "\nFeatures alone%s\n", best(len(rows), len(order)))
	if err := table(w, "", []string{" AUC", " information", "feature"}, rows); err != nil {
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

func summariseSets(w io.Writer, r *report.Report) error {
	var rows [][]string
	for _, s := range r.Sets[:min(summaryRows, len(r.Sets))] {
		rows = append(rows, []string{decimals(float64(s.Eta), 4), decimals(float64(s.EtaCorrected), 4), number(float64(s.N)), strconv.Itoa(len(s.Levels)), strings.Join(s.Features, " ")})
	}
	fmt.Fprintf(w, "\nSets of features%s: eta is the share of the uncertainty about the class that the set explains\n", best(len(rows), len(r.Sets)))
	return table(w, "", []string{" eta", " corrected", " records", " cells", "features"}, rows)
}

func summariseWindows(w io.Writer, r *report.Report) error {
	if len(r.Windows) == 0 {
		return nil
	}
	var rows [][]string
	for _, x := range r.Windows[:min(summaryRows/2, len(r.Windows))] {
		rows = append(rows, []string{decimals(float64(x.Eta), 4), number(float64(x.N)), percent(float64(x.Mass)), strings.Join(x.Features, " ") + ": " + some(x.Levels, 4)})
	}
	fmt.Fprintf(w, "\nWindows%s: the cells of a set in which it says most\n", best(len(rows), len(r.Windows)))
	if r.Windows[0].Mass < .2 && r.Windows[len(rows)-1].Eta == 1 {
		fmt.Fprintln(w, "all of these are cells with records of one class only; lift.windows.min_mass asks for windows with more of the records")
	}
	return table(w, "", []string{" eta", " records", " share", "cells"}, rows)
}

func summariseProfiles(w io.Writer, r *report.Report, positive string) error {
	var classes []string
	for _, p := range r.Profiles {
		if !slices.Contains(classes, p.Class) {
			classes = append(classes, p.Class)
		}
	}
	if i := slices.Index(classes, positive); i > 0 {
		classes = append([]string{positive}, slices.Delete(classes, i, i+1)...)
	}
	for k, class := range classes {
		if k == summaryClasses {
			fmt.Fprintf(w, "\nProfiles of %s more classes are in the report: --report OUT.json\n", strconv.Itoa(len(classes)-k))
			break
		}
		most := summaryRows
		if len(classes) > 2 {
			most /= 2
		}
		var rows [][]string
		all, by := 0, ""
		for _, p := range r.Profiles {
			if p.Class != class {
				continue
			}
			all++
			if len(rows) == most {
				continue
			}
			tests := make([]string, len(p.Profile))
			for i, t := range p.Profile {
				tests[i] = testText(t)
			}
			validated := "-"
			if v := decimals(float64(p.ValidatedLift), 2); v != "-" {
				by = ", by the low end of the validated lift"
				validated = fmt.Sprintf("%s [%s, %s]", v, decimals(float64(p.ValidatedLow), 2), decimals(float64(p.ValidatedHigh), 2))
			}
			rows = append(rows, []string{fmt.Sprintf("%s [%s, %s]", decimals(float64(p.Lift), 2), decimals(float64(p.LiftLow), 2), decimals(float64(p.LiftHigh), 2)),
				validated, number(float64(p.NX)), number(float64(p.NXY)), strings.Join(tests, " & ")})
		}
		fmt.Fprintf(w, "\nProfiles of %s%s%s\n", class, best(len(rows), all), by)
		if err := table(w, "", []string{" lift [low, high]", " validated", " records", " of the class", "profile"}, rows); err != nil {
			return err
		}
	}
	return nil
}

// testText writes one test of a profile as it is written in scores.
func testText(t report.Test) string {
	if strings.HasPrefix(t.Cell, "(") && strings.Contains(t.Cell, ", ") {
		return t.Feature + " in " + t.Cell
	}
	return t.Feature + "=" + t.Cell
}
