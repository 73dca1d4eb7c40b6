package main

import (
	"cmp"
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
	memory := "counts that never forget"
	if l.HalfLife > 0 {
		memory = fmt.Sprintf("counts of a half-life of %s records", number(float64(l.HalfLife)))
	}
	_, err := fmt.Fprintf(w, "\nLocal: %s from %s; theta %s (a useless feature has relevance %s); the %d nearest of %s\n", count(len(l.Curves), "curve"), memory,
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
		rows = append(rows, []string{decimals(float64(s.EtaLeaveOneOut), 4), decimals(float64(s.Eta), 4), decimals(float64(s.EtaCorrected), 4), number(float64(s.N)),
			strconv.Itoa(len(s.Levels)), strings.Join(s.Features, " ")})
	}
	fmt.Fprintf(w, "\nSets of features%s: eta is the share of the uncertainty about the class that the set explains, 'left out' of\nrecords left out of the counts; the counts never forget\n", best(len(rows), len(r.Sets)))
	return table(w, "", []string{" left out", " eta", " corrected", " records", " cells", "features"}, rows)
}

func summariseWindows(w io.Writer, r *report.Report) error {
	if len(r.Windows) == 0 {
		return nil
	}
	var rows [][]string
	for _, x := range r.Windows[:min(summaryRows/2, len(r.Windows))] {
		rows = append(rows, []string{decimals(float64(x.Eta), 4), fmt.Sprintf("%s [%s, %s]", decimals(float64(x.EtaCorrected), 4), decimals(float64(x.EtaLow), 2), decimals(float64(x.EtaHigh), 2)), number(float64(x.N)), percent(float64(x.Mass)), strings.Join(x.Features, " ") + ": " + some(x.Levels, 4)})
	}
	fmt.Fprintf(w, "\nWindows%s: the cells of a set in which it says most; intervals of 95 %% for the windows of all sets tried at once\n", best(len(rows), len(r.Windows)))
	return table(w, "", []string{" eta", " corrected [low, high]", " records", " share", "cells"}, rows)
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
		var of []report.Profile
		for _, p := range r.Profiles {
			if p.Class == class {
				of = append(of, p)
			}
		}
		// Confirmed ones first; each kind in the order of the report.
		slices.SortStableFunc(of, func(a, b report.Profile) int { return cmp.Compare(rank(a.Confirmed), rank(b.Confirmed)) })
		confirmed, validated := 0, false
		var rows [][]string
		for k, p := range of {
			if p.Confirmed {
				confirmed++
			}
			validated = validated || p.ValidatedAmong > 0
			if k >= most {
				continue
			}
			tests := make([]string, len(p.Profile))
			for i, t := range p.Profile {
				tests[i] = testText(t)
			}
			later := "-"
			if v := decimals(float64(p.ValidatedLift), 2); v != "-" {
				later = fmt.Sprintf("%s [%s, %s]", v, decimals(float64(p.ValidatedLow), 2), decimals(float64(p.ValidatedHigh), 2))
			}
			is := "no"
			if p.Confirmed {
				is = "yes"
			}
			rows = append(rows, []string{is, later, decimals(float64(p.Lift), 2), number(float64(p.NX)), number(float64(p.NXY)), strings.Join(tests, " & ")})
		}
		state := fmt.Sprintf("%d of %d confirmed on records held back", confirmed, len(of))
		switch {
		case !validated:
			state = "searched among all records, none validated"
		case confirmed == 0:
			state = "none confirmed on records held back"
		}
		fmt.Fprintf(w, "\nProfiles of %s%s: %s\n", class, best(len(rows), len(of)), state)
		if err := table(w, "", []string{"confirmed", " validated [low, high]", " lift", " records", " of the class", "profile"}, rows); err != nil {
			return err
		}
	}
	return nil
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
