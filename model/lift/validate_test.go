package lift

import (
	"context"
	"fmt"
	"math"
	"testing"

	"liftstream/model"
)

// TestValidation: the newer fifth is never looked at by the search; a profile that holds only before it is in no score.
func TestValidation(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, n := range []string{"old", "steady", "new"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	var rows [][]string
	const n = 2000
	for i := 0; i < n; i++ {
		bit := func(k uint64) bool { return mix(uint64(i)*8+k)%4 == 0 }
		old, steady, fresh := bit(1), bit(2), bit(3)
		p := uint64(10)
		if old && i < n*8/10 {
			p = 80
		}
		if steady {
			p = max(p, 60)
		}
		if fresh && i >= n*8/10 {
			p = 90
		}
		y := "no"
		if mix(uint64(i)*8+4)%100 < p {
			y = "yes"
		}
		rows = append(rows, []string{fmt.Sprint(old), fmt.Sprint(steady), fmt.Sprint(fresh), y})
	}
	ev := evidenceOf(s, rows)
	o := testOptions()
	o.Profiles.Of, o.Profiles.MaxFeatures, o.Profiles.Top = []int32{1}, 1, 2
	p, b := fitPart(t, o, ev, nil)
	// The order is that of the searched records, and does not look at the held-back ones.
	if len(p.Profiles) != 2 || p.Profiles[0].Text != "old=true" || p.Profiles[1].Text != "steady=true" {
		t.Fatalf("profiles %q and %q", p.Profiles[0].Text, p.Profiles[1].Text)
	}
	old, steady := p.Profiles[0], p.Profiles[1]
	if steady.Tally.Lift() >= old.Tally.Lift() {
		t.Error("the test needs a profile that shines on all the evidence")
	}
	if steady.Validation.N != n/5 || old.Q < .2 || steady.Q > .01 ||
		old.Confirmed() || !steady.Confirmed() || old.Among != 2 {
		t.Errorf("validated on %v, q %v and %v, among %d", steady.Validation.N, steady.Q, old.Q, old.Among)
	}
	c := serve(t, o, ev, b, 0, nil)
	yes := func(v ...string) (row model.Row) {
		for f, x := range v {
			row = append(row, float64(ev.Levels.Code(f, x)))
		}
		return row
	}
	text, lift := c.Profile(yes("true", "true", "false"), 1)
	if text != "steady=true" || lift != steady.Validation.Lift() {
		t.Errorf("met %q of lift %v", text, lift)
	}
	for _, row := range []model.Row{yes("true", "false", "false"), yes("false", "false", "true")} {
		if text, lift := c.Profile(row, 1); text != "" || !math.IsNaN(lift) {
			t.Errorf("met %q of lift %v, which no later record bore out", text, lift)
		}
	}
	for _, class := range []int32{-1, 0, 2} {
		if text, _ := c.Profile(yes("true", "true", "true"), class); text != "" {
			t.Errorf("class %d: met %q", class, text)
		}
	}
}

// TestNoValidation: a search of all records finds the profiles of Mine, validates nothing, and no score carries a
// profile.
func TestNoValidation(t *testing.T) {
	ev := generated(2000, 3)
	o := testOptions()
	o.Profiles.Validate, o.Profiles.KeepRedundant = 0, true
	p, b := fitPart(t, o, ev, nil)
	mined, err := Mine(context.Background(), ev, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Profiles) == 0 || len(p.Profiles) != len(mined) {
		t.Fatalf("%d profiles, want %d", len(p.Profiles), len(mined))
	}
	c := serve(t, o, ev, b, 0, nil)
	row := make(model.Row, len(ev.Columns))
	for i, f := range p.Profiles {
		low, high := f.ValidatedInterval()
		if f.Text != mined[i].Text || f.Tally != mined[i].Tally ||
			f.Q == f.Q || f.Among != 0 || low == low || high == high {
			t.Errorf("profile %d: %+v, want %+v", i, f, mined[i])
		}
	}
	for i := range ev.Class {
		ev.Row(i, row)
		for y := range ev.Schema.Classes {
			if text, _ := c.Profile(row, int32(y)); text != "" {
				t.Fatalf("record %d carries %q", i, text)
			}
		}
	}
}

func TestFisherAndFalseDiscovery(t *testing.T) {
	// scipy.stats.fisher_exact([[8, 2], [1, 5]], alternative="greater"): 0.024475524475524
	near(t, "fisher", (&Tally{N: 16, NX: 10, NXY: 8, NY: 9, Effective: 10}).fisher(), 0.02447552447552447, 1e-12)
	near(t, "all covered", (&Tally{N: 16, NX: 16, NXY: 9, NY: 9, Effective: 16}).fisher(), 1, 1e-9)
	near(t, "no data", (&Tally{}).fisher(), 1, 0)
	// p.adjust(c(.01, .04, .03, .5), "BH")
	for i, want := range []float64{.04, .16 / 3, .16 / 3, .5} {
		near(t, "q", benjaminiHochberg([]float64{.01, .04, .03, .5})[i], want, 1e-12)
	}
}
