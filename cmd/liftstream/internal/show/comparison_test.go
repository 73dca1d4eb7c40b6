package show

import (
	"reflect"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/compare"
	"liftstream/model/evaluate"
)

// TestPageOfAComparison: each figure stands in its place, the best tenth first.
func TestPageOfAComparison(t *testing.T) {
	r := &compare.Result{First: "shop", Second: "next", Alpha: .1, Verdict: "second", Class: "yes", Top: &compare.Top{}}
	next := .01
	numbered(reflect.ValueOf(&r.LogLoss), .01, &next)
	r.Difference, r.Interval = .0123, evaluate.Interval{.0012, .0234}
	r.Counts.Both, r.Counts.Labelled, r.Counts.Late, r.Counts.Expired = 1234, 1100, 1000, 20
	r.Counts.Waiting, r.Counts.Dropped, r.Counts.FirstOnly, r.Counts.SecondOnly = 100, 34, 7, 3
	r.Counted, r.Sampled = 1099, 1000
	for side := range r.Calibration {
		for i := range 10 {
			x := compare.Tenth{Records: 110 + i}
			numbered(reflect.ValueOf(&x.Propensity), .01, &next)
			numbered(reflect.ValueOf(&x.Share), .01, &next)
			r.Calibration[side] = append(r.Calibration[side], x)
		}
	}
	*r.Top = compare.Top{Records: 100, Both: 62, Share: .62, Lift: compare.Two{First: 3.25, Second: 3.5}}
	var b strings.Builder
	if err := Comparison(&b, r); err != nil {
		t.Fatal(err)
	}
	written(t, "comparison", b.String())
}

// TestShortComparisons: verdicts, and comparisons without labels, class or records.
func TestShortComparisons(t *testing.T) {
	for _, c := range []struct {
		r            compare.Result
		want, absent string
	}{
		{compare.Result{Verdict: "none yet"}, "no record has both scores and a label", "Top tenth"},
		{compare.Result{Verdict: "none yet", Counted: 5}, "none yet: the interval holds 0", "Calibration"},
		{compare.Result{First: "shop", Verdict: "first", Counted: 5, Class: "yes"}, "verdict: shop is better", "Top tenth"},
		{compare.Result{Counted: 5, Class: "yes", Sampled: 5, Top: &compare.Top{Records: 1}}, "Top tenth", "Calibration"},
	} {
		var b strings.Builder
		if err := Comparison(&b, &c.r); err != nil || !strings.Contains(b.String(), c.want) ||
			strings.Contains(b.String(), c.absent) {
			t.Errorf("%v, want %q without %q:\n%s", err, c.want, c.absent, b.String())
		}
	}
}
