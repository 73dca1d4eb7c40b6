package show

import (
	"strings"
	"testing"

	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// TestReportOfProfiles: confirmed profiles come first, and the report says how many are, or that none was validated.
func TestReportOfProfiles(t *testing.T) {
	profile := func(cell string, among int, confirmed bool) report.Profile {
		return report.Profile{Class: "yes", Profile: report.Tests{{Feature: "job", Cell: cell}}, ValidatedLift: 2,
			ValidatedLow: 1.0013, ValidatedHigh: 2.5, ValidatedAmong: among, Confirmed: confirmed}
	}
	for want, profiles := range map[string][]report.Profile{
		"1 of 2 confirmed on records held back":      {profile("first", 2, false), profile("second", 2, true)},
		"none confirmed on records held back":        {profile("second", 2, false), profile("first", 2, false)},
		"searched among all records, none validated": {profile("second", 0, false), profile("first", 0, false)},
	} {
		var b strings.Builder
		if err := reportProfiles(&b, &report.Report{Profiles: profiles}, "yes"); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, want) || strings.Index(text, "job=second") > strings.Index(text,
			"job=first") {
			t.Errorf("want %q, job=second first:\n%s", want, text)
		} else if !strings.Contains(text, "2.00 [1.001, 2.50]") {
			t.Errorf("the low end of the interval does not show on which side of 1 it is:\n%s", text)
		}
	}
}

// TestReportOfAnIntervalBelowOne: the interval asks for more than the q-value, and the report says so where it shows.
func TestReportOfAnIntervalBelowOne(t *testing.T) {
	for low, want := range map[report.Number]bool{.96: true, 1.04: false} {
		var b strings.Builder
		if err := reportProfiles(&b, &report.Report{Profiles: []report.Profile{{Class: "yes", ValidatedLift: 1.3,
			ValidatedLow: low, ValidatedHigh: 1.8, ValidatedAmong: 2, Confirmed: true}}}, "yes"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), report.IntervalNote) != want {
			t.Errorf("an interval that begins at %v:\n%s", low, b.String())
		}
	}
}

// TestOneValidatedProfileIsEnough for a report that speaks of the validation, whichever profile it is.
func TestOneValidatedProfileIsEnough(t *testing.T) {
	for _, among := range [][]int{{2, 0}, {0, 2}, {2, 2}} {
		var b strings.Builder
		r := &report.Report{}
		for _, n := range among {
			r.Profiles = append(r.Profiles, report.Profile{Class: "yes", ValidatedLift: 2, ValidatedAmong: n})
		}
		if err := reportProfiles(&b, r, "yes"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "none confirmed on records held back") {
			t.Errorf("validated among %v:\n%s", among, b.String())
		}
	}
}

// TestTheReasonsOfOneGroupHaveAHeading, whichever group has some; without reasons there is none.
func TestTheReasonsOfOneGroupHaveAHeading(t *testing.T) {
	some := []evaluate.GroupReason{{Feature: "age", Share: .5}}
	for _, c := range []struct {
		groups []evaluate.Group
		want   bool
	}{
		{[]evaluate.Group{{Group: "a", Reasons: some}, {Group: "b"}}, true},
		{[]evaluate.Group{{Group: "a"}, {Group: "b", Reasons: some}}, true},
		{[]evaluate.Group{{Group: "a"}, {Group: "b"}}, false},
	} {
		var b strings.Builder
		if err := groupTable(&b, c.groups, 10, false); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "reasons") != c.want || strings.Contains(b.String(), "age 50 %") != c.want {
			t.Errorf("a heading %v, want %v:\n%s", !c.want, c.want, b.String())
		}
	}
}
