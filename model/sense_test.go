package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// labelledAs returns n records of two or more classes: each is of the class that prob likes best with the chance right,
// else of the next one; the model gives that class the propensity right. as gives the label of a class.
func labelledAs(n, classes int, right float64, as func(class int) int) []classLosses {
	var all []classLosses
	for i := range n {
		u := float64(Hash(7, uint64(i))>>11) / (1 << 53)
		likes := int(Hash(8, uint64(i)) % uint64(classes))
		class := likes
		if u >= right {
			class = (likes + 1) % classes
		}
		x := classLosses{time: int64(i), class: int32(as(class)), weight: 1, loss: make([]float64, classes)}
		for c := range x.loss {
			x.loss[c] = -math.Log((1 - right) / float64(classes-1))
		}
		x.loss[likes] = -math.Log(right)
		all = append(all, x)
	}
	return all
}

// TestWhichLabelsLookInverted: exchanged ones of two and three classes, and neither noise, a model that knows nothing,
// another base rate, nor a weaker relation.
func TestWhichLabelsLookInverted(t *testing.T) {
	same := func(c int) int { return c }
	next := func(k int) func(int) int { return func(c int) int { return (c + 1) % k } }
	// rare are records with a share of positives that the model, which expects a tenth, does not foresee.
	rare := func(share float64) []classLosses {
		var all []classLosses
		for i := range 2000 {
			x := classLosses{time: int64(i), weight: 1, loss: []float64{-math.Log(.9), -math.Log(.1)}}
			if float64(Hash(3, uint64(i))>>11)/(1<<53) < share {
				x.class = 1
			}
			all = append(all, x)
		}
		return all
	}
	for name, c := range map[string]struct {
		all     []classLosses
		classes int
		want    bool
	}{
		"as they were":                  {labelledAs(2000, 2, .8, same), 2, false},
		"inverted":                      {labelledAs(2000, 2, .8, next(2)), 2, true},
		"inverted, weakly related":      {labelledAs(5000, 2, .6, next(2)), 2, true},
		"inverted, too few to tell":     {labelledAs(60, 2, .55, next(2)), 2, false},
		"inverted, too few for batches": {labelledAs(39, 2, .95, next(2)), 2, false},
		"three classes turned":          {labelledAs(2000, 3, .8, next(3)), 3, true},
		"three classes as they were":    {labelledAs(2000, 3, .8, same), 3, false},
		"coins":                         {labelledAs(2000, 2, .5, same), 2, false},
		"a rate of .1, foreseen":        {rare(.1), 2, false},
		"a rate of .6 in place of .1":   {rare(.6), 2, false},
		"a rate of .9 in place of .1":   {rare(.9), 2, true},
		"no record":                     {nil, 2, false},
	} {
		s := senseOf(c.all, c.classes)
		if s.Inverted() != c.want {
			t.Errorf("%s: inverted %v, %s, low %.3f", name, s.Inverted(), &s, s.Low)
		}
	}
}

// TestOneSidedLabelsAreSeen: a class that never comes, although the model expects enough of it, and not where its
// labels come at other times than the newest.
func TestOneSidedLabelsAreSeen(t *testing.T) {
	no := func(int) int { return 0 }
	for _, c := range []struct {
		name     string
		n        int
		as       func(class int) int
		last     int64 // of the other class
		want     string
		expected float64
	}{
		{"all no", 2000, no, math.MinInt64, "yes", 1000},
		{"the last yes before them", 2000, no, 0, "yes", 1000},
		{"no in a batch", 2000, no, 1999, "", 0},
		{"no in a batch, of half of the time", 2000, no, 700, "yes", 500},
		{"few", 249, no, math.MinInt64, "", 0},
		{"both", 2000, func(c int) int { return c }, math.MinInt64, "", 0},
		{"all yes", 400, func(int) int { return 1 }, math.MinInt64, "no", 200},
	} {
		all := labelledAs(c.n, 2, .8, c.as)
		last := latest(all, 2)
		if c.as(1) == 0 {
			last[1] = c.last
		}
		s, found := turned(all, []string{"no", "yes"}, last)
		if found != (c.want != "") || s.Ceased != c.want || math.Abs(s.Expected-c.expected) > c.expected/10 {
			t.Errorf("%s: found %v, %+v", c.name, found, s)
		}
		if found && (s.Look() != "one-sided" || !strings.Contains(s.String(), "is of the class "+strconv.Quote(c.want))) {
			t.Errorf("%s: %s, %s", c.name, s.Look(), &s)
		}
	}
	rare := labelledAs(2000, 2, .8, no)
	for i := range rare { // twenty expected
		rare[i].loss = []float64{-math.Log(.99), -math.Log(.01)}
	}
	if s, found := turned(rare, []string{"no", "yes"}, latest(rare, 2)); found {
		t.Errorf("of a rare class: %+v", s)
	}
}

// TestTheFiguresOfASense counts them anew by their definitions: weighted log-losses, the entropy of the classes and the
// interval of batch means.
func TestTheFiguresOfASense(t *testing.T) {
	all := labelledAs(500, 2, .7, func(c int) int { return 1 - c })
	var weight, loss, other, positive float64
	for i := range all {
		all[i].weight = float64(1 + i%3)
		x := all[i]
		weight += x.weight
		loss += x.weight * x.loss[x.class]
		other += x.weight * x.loss[1-x.class]
		positive += x.weight * float64(x.class)
	}
	p := positive / weight
	square := 0.
	for b := range 20 {
		e := 0.
		for _, x := range all[25*b : 25*b+25] {
			e += x.weight * (x.loss[x.class] - x.loss[1-x.class] - (loss-other)/weight)
		}
		square += e * e
	}
	low := (loss-other)/weight - 3.883405852592082*math.Sqrt(20./19*square)/weight
	s := senseOf(all, 2)
	for name, x := range map[string][2]float64{"loss": {s.Loss, loss / weight}, "exchanged": {s.Exchanged, other / weight},
		"rates": {s.Rates, -p*math.Log(p) - (1-p)*math.Log(1-p)}, "low": {s.Low, low}} {
		if !(math.Abs(x[0]-x[1]) < 1e-12) {
			t.Errorf("%s is %v, want %v", name, x[0], x[1])
		}
	}
	if s.Records != 500 {
		t.Errorf("%d records", s.Records)
	}
}

// TestExchangeOfClasses: of two and three classes no permutation is cheaper, and without a cheaper one the labels stay.
func TestExchangeOfClasses(t *testing.T) {
	permutations := map[int][][]int{2: {{0, 1}, {1, 0}},
		3: {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}}
	for k, all := range permutations {
		missed := 0
		for trial := range 300 {
			cost := make([]float64, k*k)
			for i := range cost {
				cost[i] = float64(Hash(1, uint64(trial), uint64(i)) % 1000)
			}
			sum := func(to []int) (s float64) {
				for y, c := range to {
					s += cost[y*k+c]
				}
				return s
			}
			best := math.Inf(1)
			for _, to := range all {
				best = min(best, sum(to))
			}
			to := exchange(cost, k)
			sorted := slices.Sorted(slices.Values(to))
			if sum(to) > sum(all[0]) || sorted[0] != 0 || sorted[k-1] != k-1 || len(slices.Compact(sorted)) != k {
				t.Errorf("%d classes: %v", k, to)
			}
			if sum(to) > best {
				missed++
			}
		}
		if k == 2 && missed > 0 || missed > 30 {
			t.Errorf("%d classes: %d of 300 are not the cheapest", k, missed)
		}
	}
}

// TestRefusalEnds: a verdict of any kind becomes a refusal until InvertedFor records have looked inverted.
func TestRefusalEnds(t *testing.T) {
	s := senseOf(labelledAs(2000, 2, .8, func(c int) int { return 1 - c }), 2)
	for _, r := range []VerdictReason{NothingToCompare, Better, WithinGate, Worse} {
		v := Verdict{Reason: r}
		if !s.Refuse(&v, InvertedFor-1) || v.Reason != Inverted || v.Accepted() {
			t.Errorf("%s: %s", r, v.Reason)
		}
		v = Verdict{Reason: r}
		if s.Refuse(&v, InvertedFor) || v.Reason != r {
			t.Errorf("%s after InvertedFor: %s", r, v.Reason)
		}
	}
	honest := senseOf(labelledAs(2000, 2, .8, func(c int) int { return c }), 2)
	if v := (Verdict{Reason: Better}); honest.Refuse(&v, 0) || v.Reason != Better {
		t.Errorf("%s", v.Reason)
	}
}
