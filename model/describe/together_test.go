package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model/modeltest"
)

// kinds are columns that give the class away: by the record, whether it is a positive one.
var kinds = map[string]func(i int, positive bool, seed uint64) string{
	"copy, right in 99 %": func(i int, positive bool, seed uint64) string {
		return []string{"open", "won"}[yes(positive != (uniform(seed, i, 101) < .01))]
	},
	"copy, right in 97 %": func(i int, positive bool, seed uint64) string {
		return []string{"open", "won"}[yes(positive != (uniform(seed, i, 102) < .03))]
	},
	"number that is a copy, right in 97 %": func(i int, positive bool, seed uint64) string {
		return strconv.FormatFloat(normal(seed, i, 103)+6*float64(yes(positive != (uniform(seed, i, 105) < .03))), 'f', 3, 64)
	},
	"fee that is 0 unless sold": func(i int, positive bool, seed uint64) string {
		if positive {
			return strconv.FormatFloat(5+20*uniform(seed, i, 106), 'f', 2, 64)
		}
		return "0"
	},
	"fee that is 0 unless sold, and then in two of five": func(i int, positive bool, seed uint64) string {
		if positive && uniform(seed, i, 107) < .6 {
			return strconv.FormatFloat(5+20*uniform(seed, i, 108), 'f', 2, 64)
		}
		return "0"
	},
	"code that is none unless sold": func(i int, positive bool, seed uint64) string {
		if positive && uniform(seed, i, 109) < .5 || uniform(seed, i, 110) < .001 {
			return fmt.Sprint("K", int(5*uniform(seed, i, 111)))
		}
		return "none"
	},
	"code that is filled in after the sale": func(i int, positive bool, seed uint64) string {
		if positive && uniform(seed, i, 112) < .5 {
			return fmt.Sprint("K", int(5*uniform(seed, i, 113)))
		}
		return ""
	},
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestKindsOfLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for seed := range uint64(10) {
		for _, n := range []int{1500, 12000} {
			columns, rows := campaign(n, seed)
			var names []string
			for name := range kinds {
				names = append(names, name)
			}
			slices.Sort(names)
			with := func(names ...string) *Description {
				out := make([][]string, n)
				for i, r := range rows {
					out[i] = slices.Clone(r)
					for _, name := range names {
						out[i] = append(out[i], kinds[name](i, r[3] == "sold", seed))
					}
				}
				return describe(t, table(slices.Concat(columns, names), out), Options{Label: "outcome"})
			}
			for _, name := range names {
				if d := with(name); !slices.Equal(flags(d), []string{name}) || d.column(t, name).Role != Leak {
					t.Errorf("seed %d, %d records: leaks found %q, want %q; %+v", seed, n, flags(d), name, d.column(t, name))
				}
			}
			if d := with(names...); !slices.Equal(sorted(flags(d)), names) {
				t.Errorf("seed %d, %d records: of all kinds at once found %q", seed, n, flags(d))
			}
		}
	}
}

// TestGoodFeaturesStay: many features rank the classes with an AUC above .85 alone, as measurements of one thing do,
// and so do the rest together. Each of them gets a comment, and none is taken out.
func TestGoodFeaturesStay(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, classes := range []int{2, 5} {
		for seed := range uint64(10) {
			const n = 1200
			columns := []string{}
			rows := make([][]string, n)
			for f := range 16 {
				columns = append(columns, fmt.Sprint("m", f))
			}
			for i := range rows {
				y := int(float64(classes) * uniform(seed, i, 200))
				shared := normal(seed, i, 201)
				for f := range 16 {
					// Distances of the class means, in standard deviations, of 3.2 down to .8; a third of the noise is shared.
					at := (3.2 - .16*float64(f)) * float64((y*(2*f+1))%classes)
					rows[i] = append(rows[i], strconv.FormatFloat(at+.6*shared+.8*normal(seed, i, 210+2*f), 'f', 3, 64))
				}
				rows[i] = append(rows[i], fmt.Sprint("class ", y))
			}
			d := describe(t, table(append(columns, "y"), rows), Options{Label: "y"})
			good := 0
			for _, c := range d.Columns {
				if c.Role == Leak {
					t.Errorf("%d classes, seed %d: %s: %s", classes, seed, c.Name, c.Why)
				}
				if c.Role == Feature && c.alone() > LeakAUC {
					good++
					if !strings.Contains(c.Why, "it stays in") || !strings.Contains(string(d.YAML()), "# "+c.Name+" "+c.Why+"\n") {
						t.Errorf("%d classes, seed %d: %s has no comment: %q", classes, seed, c.Name, c.Why)
					}
				}
			}
			if good < 4 {
				t.Errorf("%d classes, seed %d: %d good features, the test wants more", classes, seed, good)
			}
		}
	}
}

// TestGoodFeaturesOfKnownData: of measured things no feature is taken out, however well it tells the class.
func TestGoodFeaturesOfKnownData(t *testing.T) {
	for file, good := range map[string]int{"house_votes84.csv": 3, "wdbc.csv": 11, "ionosphere.csv": 4, "iris.csv": 2,
		"wine.csv": 0, "pima_diabetes.csv": 0,
		"soybean_small.csv": 12, "balance_scale.csv": 0, "protein_xing.csv": 0} {
		columns, rows := load(t, modeltest.Shared(t, "data/"+file))
		d := describe(t, table(columns, rows), Options{Label: "class"})
		strong := 0
		for _, c := range d.Columns {
			if c.Role == Leak {
				t.Errorf("%s: %s is taken for a leak: %s", file, c.Name, c.Why)
			} else if c.Role == Feature && c.alone() > LeakAUC {
				strong++
			}
		}
		if strong != good {
			t.Errorf("%s: %d features with an AUC above %v alone, there were %d", file, strong, LeakAUC, good)
		}
		// A copy that is right in 99 % is found beside the best of features.
		class := d.Classes[len(d.Classes)-1].Text
		if file == "house_votes84.csv" || file == "wdbc.csv" {
			for i, r := range rows {
				rows[i] = append(slices.Clone(r), kinds["copy, right in 99 %"](i, r[len(columns)-1] == class, 1))
			}
			d := describe(t, table(append(columns, "copy"), rows), Options{Label: "class"})
			if got := flags(d); !slices.Equal(got, []string{"copy"}) {
				t.Errorf("%s with a copy of the class: leaks found %q", file, got)
			}
		}
	}
}

// TestTogether: of two features, one of which tells the classes apart in one half of the range and the other in the
// other half, the sum of log-lifts by hand.
func TestTogether(t *testing.T) {
	h := []float64{.75, .25}
	n := []float64{30, 10, 0, 20, 15, 5}
	got := logLifts(n, h)
	want := []float64{0, 0, math.Log((0 + 5*.75) / 25 / .75), math.Log((20 + 5*.25) / 25 / .25), 0, 0}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("log-lift %d: %v, want %v", i, got[i], want[i])
		}
	}
	s := newSample(45_000, 3)
	if s.step != 3 {
		t.Errorf("every %d-th block is held, want 3", s.step)
	}
	for i := range 45_000 {
		if held := s.next(int32(i%2), false); held != (i/1000%3 == 0) {
			t.Fatalf("record %d held: %v", i, held)
		}
	}
	if len(s.class) != 15_000 {
		t.Errorf("%d records held", len(s.class))
	}
	if s := newSample(1_000_000_000, 1_000_000); s.step != 1_000_000 {
		t.Errorf("with a million columns every %d-th block is held", s.step)
	}
}

// TestNothingIsKnownByHeart: columns of many levels with three records each tell the class of the records in hand, and
// of no other. A copy of the class beside them is found as it is beside others.
func TestNothingIsKnownByHeart(t *testing.T) {
	const n, name = 1500, "copy, right in 97 %"
	for seed := range uint64(3) {
		columns, rows := campaign(n, seed)
		for i := range rows {
			positive := rows[i][3] == "sold"
			for f := range 4 {
				rows[i] = append(rows[i], fmt.Sprint("street ", int(n/3*uniform(seed, i, 300+f))))
			}
			rows[i] = append(rows[i], kinds[name](i, positive, seed))
		}
		columns = append(columns, "home", "work", "birth", "school", name)
		d := describe(t, table(columns, rows), Options{Label: "outcome"})
		if got := flags(d); !slices.Equal(got, []string{name}) {
			t.Errorf("seed %d: leaks found %q, want %q: %+v", seed, got, name, d.column(t, name))
		}
	}
}
