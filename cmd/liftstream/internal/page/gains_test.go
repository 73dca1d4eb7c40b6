package page

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// TestGainsAreThoseOfTheEvaluation, which ranks all records, but for the ties within a bucket.
func TestGainsAreThoseOfTheEvaluation(t *testing.T) {
	s := schema(1, "no", "yes")
	board, set := NewBoard(s, 0), evaluate.NewSet(2)
	for m := range int64(40) {
		b, out, l := scored(s, 0, m, 100)
		board.Scores(0, b, out, l)
		for i := range b.N {
			if err := set.Add(m*100+int64(i), out.P[2*i:2*i+2], b.Label[i], 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[float64]evaluate.Gain{}
	for _, g := range set.Gains(1) {
		want[math.Round(20*g.Share)/20] = g
	}
	q := board.View().Quality
	if len(q.Gains) != len(shares) || len(q.Calibration) != 10 {
		t.Fatalf("%d gains, %d tenths", len(q.Gains), len(q.Calibration))
	}
	for _, g := range q.Gains {
		w := want[g.Share]
		for what, x := range map[string][3]float64{
			"records": {float64(g.N), float64(w.N), 1e-6}, "positives": {float64(g.Positives), float64(w.Positives), 3},
			"capture": {float64(g.Capture), float64(w.Capture), .003}, "lift": {float64(g.Lift), float64(w.Lift), .02},
			"mean propensity": {float64(g.Mean), float64(w.MeanPropensity), .002}} {
			if !(math.Abs(x[0]-x[1]) <= x[2]) {
				t.Errorf("the first %v: %s %v, want %v", g.Share, what, x[0], x[1])
			}
		}
	}
	// The tenths add up to the whole.
	var n, positives, sum float64
	for _, b := range q.Calibration {
		n, positives, sum = n+float64(b.N), positives+float64(b.N*b.Rate), sum+float64(b.N*b.Mean)
		if !(b.Low <= b.Rate+1e-12 && b.Rate <= b.High+1e-12) {
			t.Errorf("a rate of %v is not within %v to %v", b.Rate, b.Low, b.High)
		}
	}
	last := q.Gains[len(q.Gains)-1]
	if math.Abs(n-4000) > 1e-6 || math.Abs(positives-float64(last.Positives)) > 1e-6 ||
		math.Abs(sum-float64(last.Mean*last.N)) > 1e-6 || math.Abs(float64(last.Capture)-1) > 1e-12 {
		t.Errorf("%v records, %v positives, %v expected, of %+v", n, positives, sum, last)
	}
}

// TestGainsOfNothing: none, and of one class the captured share is not defined, which the page shows as a dash.
func TestGainsOfNothing(t *testing.T) {
	var h histogram
	if g := h.gains(); g != nil || bins(g) != nil {
		t.Errorf("gains of nothing: %v", g)
	}
	h.add(.3, false, 5)
	g := h.gains()
	if len(g) != len(shares) || !math.IsNaN(float64(g[0].Capture)) || g[0].Positives != 0 {
		t.Errorf("gains of one class: %+v", g)
	}
	all, err := render(&moment{Live: Live{View: View{Quality: Quality{Gains: g, Calibration: bins(g)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if strings.Contains(string(p.HTML), "NaN") {
			t.Errorf("%s shows NaN", p.ID)
		}
	}
}

// TestTheMiddleOfABucketIsNearItsPropensities: at most half of its width of log-odds away.
func TestTheMiddleOfABucketIsNearItsPropensities(t *testing.T) {
	odds := func(p float64) float64 { return math.Log(p / (1 - p)) }
	for i := range 20_000 { // within the log-odds of the buckets
		p := (float64(i) + .5) / 20_000
		if d := odds(middle(bucket(p))) - odds(p); math.Abs(d) > 12./(buckets-1)+1e-9 {
			t.Fatalf("propensity %v counts as %v", p, middle(bucket(p)))
		}
	}
}

// TestWhatMovesTheScores: shares, sizes and signs of the reasons; noise of NaN is passed over; old ones fade.
func TestWhatMovesTheScores(t *testing.T) {
	s := schema(1, "no", "yes")
	out := &model.Scores{Terms: []string{"(kernel)"}}
	out.Reset(2, 2)
	out.Why = []model.Reason{{Feature: 0, Effect: .5}, {Feature: model.TermOf(0), Effect: -1},
		{Feature: 0, Effect: -1.5}, {Feature: 1, Effect: math.NaN()}}
	out.WhyEnd = []int32{2, 4}
	var a, b, all moved
	a.add(s, out, 0)
	b.add(s, out, 1)
	all.merge(&a)
	all.merge(&b)
	got := all.movers()
	if len(got) != 2 || got[0] != (Mover{"age", 1, 1, .5}) || got[1] != (Mover{"(kernel)", .5, 1, 0}) {
		t.Errorf("%+v", got)
	}
	var m moved
	for range 3 * movedRecords {
		m.add(s, out, 0)
	}
	for range movedRecords {
		m.add(s, out, 1)
	}
	if m.records > movedRecords {
		t.Errorf("%v records are kept", m.records)
	}
	// Of the newest 20,000 half or more are of the second record.
	if got := all.of[0].n; got != 2 {
		t.Errorf("the merged counts have changed: %v", got)
	}
	if n := m.of[model.TermOf(0)].n / m.records; n > .5 {
		t.Errorf("old reasons weigh %v", n)
	}
	// Sizes and signs fade as the numbers do: the mean and the share of the raising ones stay what they are.
	up := &model.Scores{}
	up.Reset(1, 2)
	up.Why, up.WhyEnd = []model.Reason{{Feature: 0, Effect: .5}}, []int32{1}
	var raising moved
	for range 3 * movedRecords {
		raising.add(s, up, 0)
	}
	if got := raising.movers(); len(got) != 1 || got[0].Effect != .5 || got[0].Up != 1 {
		t.Errorf("reasons that all raise by .5: %+v", got)
	}
}
