package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestAReportReadsBack: a report that was read has the JSON of the one that was written, with its nulls and orders.
func TestAReportReadsBack(t *testing.T) {
	nan := Number(math.NaN())
	r := Report{Name: "x", Records: 3, Labelled: 2, Classes: []string{"no", "yes"}, BaseRates: []Number{.5, nan},
		Sets:     []Set{{Features: []string{"b", "a"}, Eta: .25, RankError: nan, Counts: [][]Number{{1, nan}}}},
		Profiles: []Profile{{Class: "yes", Profile: Tests{{"z", "1"}, {"a", "(1, 2]"}}, Lift: 2, ValidatedLift: nan}},
		Features: []Feature{{Name: "a", InformationValue: nan, WOE: []WOE{{Cell: "c", N: 4, WOE: -1, Raw: nan}}}},
		Local:    &Local{Curves: []Curve{{Feature: "a", LengthScale: nan, Grid: []Number{1}, Mean: []Number{nan}}}},
		Seconds:  Seconds{{"read", 2.5}, {"lift", 1}}}
	want, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(want, &back); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(&back)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("read\n%s\nwritten\n%s", got, want)
	}
	if !math.IsNaN(float64(back.BaseRates[1])) || !math.IsNaN(float64(back.Profiles[0].ValidatedLift)) {
		t.Errorf("a null was read as %v and %v", back.BaseRates[1], back.Profiles[0].ValidatedLift)
	}
	for _, bad := range []string{`{"profiles":[{"profile":[1]}]}`, `{"profiles":[{"profile":{"a":1}}]}`,
		`{"seconds":{"read":"x"}}`, `{"seconds":7}`, `{"base_rates":["x"]}`} {
		if err := json.Unmarshal([]byte(bad), &Report{}); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if err := json.Unmarshal([]byte(`{"profiles":[{"profile":null}],"seconds":null}`), &back); err != nil {
		t.Error(err)
	}
	if s := strings.Count(string(got), "null"); s < 6 {
		t.Errorf("%d nulls", s)
	}
}
