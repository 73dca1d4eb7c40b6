package local

import (
	"context"
	"math"
	"testing"

	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// TestTheReportHasStandardDeviations: they are the roots of the variances of the curves, at every point of the grid.
func TestTheReportHasStandardDeviations(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 400, 7)
	f := New(Options{Theta: .05}, s)
	part, err := f.Fit(context.Background(), modeltest.Evidence(s, l, ex), nil)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := f.Report(part, l, &r); err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(s, part)
	if err != nil {
		t.Fatal(err)
	}
	points := 0
	for i, x := range p.Report().Curves {
		c := r.Local.Curves[i]
		for k, v := range c.Grid {
			_, variance, _ := p.structure.features[x.Feature].gaussian(float64(v))
			if got := float64(c.SD[k]); math.Abs(got*got-variance) > 1e-12 {
				t.Errorf("%s at %v: standard deviation %v of the variance %v", c.Feature, v, got, variance)
			}
			points++
		}
	}
	if points == 0 {
		t.Fatal("no curve has a point: the test would say nothing")
	}
}
