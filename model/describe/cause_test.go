package describe

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rules make classes of a, b and c, which do not depend on each other; strong are the features that beat the others by
// far.
var rules = map[string]struct {
	class  func(a, b, c float64) bool
	strong []string
}{
	"a bound on each side of a": {func(a, _, _ float64) bool { return a > .3 && a < .6 }, []string{"a"}},
	"a and a little of b":       {func(a, b, _ float64) bool { return a+.4*b > .7 }, []string{"a"}},
	"a bound of a that b moves": {func(a, b, _ float64) bool { return b < .7 && a > .5 || a > .8 }, []string{"a"}},
	"a and c, none by far":      {func(a, b, c float64) bool { return a+c+.3*b > 1.2 }, nil},
}

// TestCausesStay: a feature that decides the class, as its bounds or together with another one, is no leak; a noisy
// effect of the class is one beside it.
func TestCausesStay(t *testing.T) {
	for name, rule := range rules {
		for seed := range uint64(3) {
			for _, n := range []int{2000, 8000} {
				rows, noisy := make([][]string, n), make([][]string, n)
				for i := range rows {
					x := [4]float64{}
					for k := range x {
						x[k] = uniform(seed, i, 300+k)
						rows[i] = append(rows[i], strconv.FormatFloat(x[k], 'f', 4, 64))
					}
					y := rule.class(x[0], x[1], x[2])
					effect := strconv.FormatFloat(normal(seed, i, 310)+5*float64(yes(y)), 'f', 3, 64)
					rows[i] = append(rows[i], []string{"no", "yes"}[yes(y)])
					noisy[i] = slices.Insert(slices.Clone(rows[i]), 0, effect)
				}
				columns := []string{"a", "b", "c", "d", "y"}
				d := describe(t, table(columns, rows), Options{Label: "y"})
				if got := flags(d); len(got) > 0 {
					t.Errorf("%s, seed %d, %d records: leaks found %q", name, seed, n, got)
				}
				for _, f := range rule.strong {
					if c := d.column(t, f); !strings.Contains(c.Why, "it stays in") {
						t.Errorf("%s, seed %d, %d records: %s says %q", name, seed, n, f, c.Why)
					}
				}
				d = describe(t, table(slices.Insert(slices.Clone(columns), 0, "effect"), noisy), Options{Label: "y"})
				if got := flags(d); !slices.Equal(got, []string{"effect"}) {
					t.Errorf("%s, seed %d, %d records: with an effect leaks found %q", name, seed, n, got)
				}
			}
		}
	}
}

// TestInformation: two features of two values each, by hand, and the whole bias taken off where they tell nothing.
func TestInformation(t *testing.T) {
	var a, b []uint8
	var class []int32
	add := func(x, z uint8, y int32, times int) {
		for range times {
			a, b, class = append(a, x), append(b, z), append(class, y)
		}
	}
	add(1, 1, 0, 25) // exclusive or: nothing alone, everything within a class
	add(2, 2, 0, 25)
	add(1, 2, 1, 25)
	add(2, 1, 1, 25)
	if got, want := information(a, b, nil, 0), -1./200; math.Abs(got-want) > 1e-12 {
		t.Errorf("information %v, want %v", got, want)
	}
	if got, want := information(a, b, class, 2), math.Ln2-2./200; math.Abs(got-want) > 1e-12 {
		t.Errorf("information within the classes %v, want %v", got, want)
	}
}
