package propensity

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// reference holds the settings of METHOD.md 6.1.
var reference = tuning{
	recipes:    [cards]recipe{{.3, 1, 1, 0, 0}, {.15, .2, .2, 0, 0}, {.05, .2, .2, 2, 0}, {.15, .2, .2, 1, 0}},
	rate:       1,
	fixedShare: .001,
	rateFloor:  1e-15,
	few:        1e9,
	zeroPrior:  true,
	blindStart: true,
}

// specified returns the options of METHOD.md 6.1: without the shortest half-life.
func specified() Options {
	opt := Default()
	opt.HalfLives = opt.HalfLives[1:]
	return opt
}

// TestReference compares propensities with those of an independent program.
func TestReference(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Runs []struct {
			Drop         string
			Delay, Every int
			P            []float64
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden.Runs {
		t.Run(fmt.Sprintf("drop=%s,delay=%d", g.Drop, g.Delay), func(t *testing.T) {
			d := load(t, "class", "yes", []string{g.Drop}, filepath.Join("testdata", "bank_sample.csv.gz"))
			p := prequential(open(d, specified(), reference, 1000), d, g.Delay)
			for i, want := range g.P {
				if got := p[i*g.Every]; math.Abs(got-want) > 1e-9 {
					t.Fatalf("record %d: propensity %.12f, the reference says %.12f", i*g.Every, got, want)
				}
			}
		})
	}
}

// open returns a scorecard whose cells are cut from the first n records, and that has learnt nothing.
func open(d *table, opt Options, tune tuning, n int) *Scorecard {
	s := newScorecard(newPlanOf(opt, d.schema, tune))
	s.axes = fitter{s.plan}.build(context.Background(), joined(d.evidence(n), nil), nil)
	s.startCells(s.cur, s.axes)
	s.derive()
	return s
}

// prequential returns the propensity of class 1 of every record, scored before it is learnt; labels come delay records
// later.
func prequential(s *Scorecard, d *table, delay int) []float64 {
	out := make([]float64, len(d.rows))
	prob := make([]float64, s.classes)
	waiting := make([][]float64, delay+1)
	for i := range waiting {
		waiting[i] = make([]float64, s.PendingLen())
	}
	for i, row := range d.rows {
		s.Score(row, nil, waiting[i%len(waiting)], prob)
		out[i] = prob[1]
		if u := i - delay; u >= 0 {
			ex := d.example(u)
			s.LearnScored(&ex, nil, waiting[u%len(waiting)])
		}
	}
	return out
}
