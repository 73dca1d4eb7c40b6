package model

import (
	"math"
	"testing"
)

// TestChanceToBeUntreated: against counts that fade in a slow sum; at least the share, and cells apart.
func TestChanceToBeUntreated(t *testing.T) {
	var u untreatedShare
	var history []Treatment
	for i := range 1000 {
		x := Untreated
		if upliftDraw(i, 20) < .7 {
			x = Treated
		}
		history = append(history, x)
		u.add(u.bin(.3), x)
	}
	known, untreated := 0., 0.
	for i, x := range history {
		w := math.Pow(1-1./200, float64(len(history)-1-i))
		known += w
		if x == Untreated {
			untreated += w
		}
	}
	if got, want := u.chance(u.bin(.3), .05), (untreated+2)/(known+2); math.Abs(got-want) > 1e-9 {
		t.Errorf("the chance is %v, want %v", got, want)
	}
	if got := u.chance(u.bin(.3), .6); got != .6 {
		t.Errorf("a share of .6 leaves a chance of %v", got)
	}
	if got := u.chance(u.bin(.6), .05); got != 1 {
		t.Errorf("a cell without records has %v", got)
	}
	last := -1
	for _, p := range []float64{math.NaN(), 0, 1e-9, .002, .01, .1, .3, .5, .6, .9, .999, 1 - 1e-9, 1} {
		at := u.bin(p)
		if at < last || at < 0 || at >= untreatedBins {
			t.Errorf("propensity %v lies in cell %d after %d", p, at, last)
		}
		last = at
	}
	if a, b := u.bin(.5), u.bin(1/(1+math.Exp(-.25))); a != 24 || b != 25 {
		t.Errorf("cells %d and %d, want 24 and 25", a, b)
	}
}

// TestUntreatedWeighTheInverseOfTheirChance: the sum of their weights is that of all records of the score, and a record
// counts after it was weighed.
func TestUntreatedWeighTheInverseOfTheirChance(t *testing.T) {
	p := &Partition{spec: &Spec{Schema: upliftSchema, Options: Options{Control: Control{Share: .05, Seed: 1,
		Learn: LearnUntreated}}}}
	prob := []float64{.7, .3}
	all, learnt := 0., 0.
	for i := range 20_000 {
		x := Untreated
		if upliftDraw(i, 21) < .75 {
			x = Treated
		}
		want := 2 / p.untreated.chance(p.untreated.bin(.3), .05)
		rec := record{Example: Example{Weight: 2, Class: 1}}
		weigh(p, &rec, "", x, prob)
		if x == Treated {
			want = 0
		}
		if rec.Weight != want {
			t.Fatalf("record %d weighs %v, want %v", i, rec.Weight, want)
		}
		all += 2
		learnt += rec.Weight
	}
	if math.Abs(learnt/all-1) > .05 {
		t.Errorf("untreated records weigh %v, all of them %v", learnt, all)
	}
}
