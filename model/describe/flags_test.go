package describe

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// counted is a scorer of values, of which each has so many records of each class; missing ones come first.
func counted(n ...[]float64) *alone {
	s := &alone{levels: map[string]int{}, block: evaluate.NewSet(len(n[0])), marks: []string{"-"}}
	for i, x := range n {
		s.n = append(s.n, x...)
		if i > 1 {
			s.levels[string(rune('a'+i-2))] = i
		}
	}
	s.odd = make([]float64, len(s.n))
	return s
}

func sums(n ...[]float64) []float64 {
	base := make([]float64, len(n[0]))
	for _, x := range n {
		for c, v := range x {
			base[c] += v
		}
	}
	return base
}

func classed(names string) *Description {
	d := &Description{}
	for _, c := range strings.Fields(names) {
		d.Classes = append(d.Classes, Count{Text: c})
	}
	return d
}

// TestWhatIsACopyOfTheClass has the boundaries: a value for each class, .985 of the records right, a tenth of the
// errors of the most frequent class, and 20 records that this one has wrong.
func TestWhatIsACopyOfTheClass(t *testing.T) {
	none := func(k int) []float64 { return make([]float64, k) }
	for _, c := range []struct {
		name     string
		distinct int
		n        [][]float64
		want     bool
	}{
		{"all right", 2, [][]float64{none(2), none(2), {500, 0}, {0, 500}}, true},
		{".985 right", 2, [][]float64{none(2), none(2), {500, 15}, {0, 485}}, true},
		{"one more wrong", 2, [][]float64{none(2), none(2), {499, 16}, {0, 485}}, false},
		{"20 to be expected wrong", 2, [][]float64{none(2), none(2), {500, 0}, {0, 20}}, true},
		{"19 to be expected wrong", 2, [][]float64{none(2), none(2), {500, 0}, {0, 19}}, false},
		{"a tenth of the errors", 2, [][]float64{none(2), none(2), {900, 3}, {0, 27}}, true},
		{"more than a tenth", 2, [][]float64{none(2), none(2), {900, 4}, {0, 27}}, false},
		{"missing values are wrong where they are few", 2, [][]float64{{4, 6}, none(2), {496, 0}, {0, 494}}, true},
		{"another number of values", 3, [][]float64{none(2), none(2), {500, 0}, {0, 500}}, false},
		{"two values of one class", 3, [][]float64{none(3), none(3), {500, 0, 4}, {0, 300, 2}, {0, 200, 0}}, false},
		{"a value for each of three", 3, [][]float64{none(3), none(3), {500, 0, 4}, {0, 500, 2}, {0, 0, 30}}, true},
	} {
		d, base := classed("no yes perhaps"), sums(c.n...)
		col := &Column{Name: "x", Distinct: c.distinct}
		d.copies(measured{col: col, score: counted(c.n...)}, base)
		if (col.Role == Leak) != c.want || says(d, "x", WarnLeak, "has a value for each class") != c.want {
			t.Errorf("%s: role %d, warnings %v", c.name, col.Role, d.Warnings)
		}
	}
}

// TestWhatDepartsFromItsValue: one value in more than half of the records, and among the others at most a tenth of the
// records outside one class that were to be expected there, which are 20 or more.
func TestWhatDepartsFromItsValue(t *testing.T) {
	for _, c := range []struct {
		name         string
		n            [][]float64
		want         bool
		here, beside float64
	}{
		{"one class alone", [][]float64{{0, 0}, {0, 0}, {900, 60}, {0, 40}}, true, 40, 0},
		{"a tenth", [][]float64{{0, 0}, {0, 0}, {900, 60}, {4, 41}}, true, 45, 4},
		{"more than a tenth", [][]float64{{0, 0}, {0, 0}, {900, 60}, {5, 41}}, false, 0, 0},
		{"half of the records", [][]float64{{0, 0}, {0, 0}, {60, 40}, {0, 100}}, false, 0, 0},
		{"a little more than half", [][]float64{{0, 0}, {0, 0}, {61, 40}, {0, 100}}, true, 100, 0},
		{"19 to be expected", [][]float64{{0, 0}, {0, 0}, {200, 2}, {0, 20}}, false, 0, 0},
		{"missing is no departure", [][]float64{{0, 40}, {0, 0}, {900, 60}, {0, 1}}, false, 0, 0},
		{"the other class", [][]float64{{0, 0}, {0, 0}, {60, 900}, {30, 0}, {25, 1}}, true, 56, 1},
	} {
		base := sums(c.n...)
		found, others := departures([]measured{{col: &Column{Name: "x"}, score: counted(c.n...)}}, base)
		if (len(found) == 1) != c.want || len(found)+len(others) != 1 {
			t.Errorf("%s: %+v", c.name, found)
			continue
		}
		if c.want && (found[0].here != c.here || found[0].beside != c.beside || found[0].usual != 2) {
			t.Errorf("%s: %v depart, %v of them beside; want %v and %v", c.name, found[0].here, found[0].beside, c.here,
				c.beside)
		}
	}
}

// TestAMissingValueThatTellsTheClass, on either side; a column that is left out anyway is only told.
func TestAMissingValueThatTellsTheClass(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       [][]float64 // missing, present
		role    Role
		text    string
		becomes Role
	}{
		{"missing", [][]float64{{0, 50}, {850, 100}}, Feature, `where it is missing, 50 of 50 records are "yes", of all ` +
			`records 15.0 %`, Leak},
		{"a tenth", [][]float64{{4, 47}, {850, 99}}, Feature, "47 of 51 records", Leak},
		{"more than a tenth", [][]float64{{6, 45}, {850, 99}}, Feature, "", Feature},
		{"19 to be expected", [][]float64{{0, 22}, {850, 128}}, Feature, "", Feature},
		{"present", [][]float64{{850, 100}, {0, 50}}, Feature, "where it is present, 50 of 50", Leak},
		{"left out", [][]float64{{0, 50}, {850, 100}}, Left, "where it is missing", Left},
	} {
		d, base := classed("no yes"), sums(c.n...)
		col := &Column{Name: "x", Role: c.role}
		s := counted(c.n...)
		d.flagMissing(col, s, base)
		if col.Role != c.becomes || c.text == "" && len(d.Warnings) > 0 || c.text != "" && !says(d, "x", WarnMissing,
			c.text) {
			t.Errorf("%s: role %d, warnings %v", c.name, col.Role, d.Warnings)
		}
	}
	for auc, want := range map[float64]bool{MissingAUC: false, MissingAUC + .01: true} {
		d := classed("no yes")
		s := counted([]float64{10, 10}, []float64{10, 10})
		s.sum, s.blocks = auc, 1
		d.flagMissing(&Column{Name: "x"}, s, []float64{20, 20})
		if got := says(d, "x", WarnMissing, "ranks the classes with an AUC of 0.76 inside blocks"); got != want {
			t.Errorf("AUC %v: %v", auc, d.Warnings)
		}
	}
}

// TestAFarBetterFeatureIsALeak from 500 labelled records on: below, the owner can look through the table.
func TestAFarBetterFeatureIsALeak(t *testing.T) {
	for n, want := range map[int]Role{499: Feature, 500: Leak, 999: Leak} {
		d := described(t, Options{}, n, "told a b y", func(column string, i int) string {
			y := int(2 * uniform(3, i, 0))
			switch column {
			case "y":
				return []string{"no", "yes"}[y]
			case "told":
				return strconv.FormatFloat(float64(y)+1.2*uniform(3, i, 1), 'f', 3, 64)
			case "a":
				return strconv.Itoa(int(300 * uniform(3, i, 2)))
			}
			return strconv.Itoa(int(300 * uniform(3, i, 3)))
		})
		if c := d.column(t, "told"); c.Role != want || says(d, "told", WarnLeak, "alone ranks") != (want == Leak) ||
			want == Feature && !strings.Contains(c.Why, "it stays in") {
			t.Errorf("%d records: role %d, AUC %v (%s)", n, c.Role, c.AUC, c.Why)
		}
	}
}

// TestAMarkInQuotesAndWithout: the cells in quotes are a level, the others are missing, and the owner is told.
func TestAMarkInQuotesAndWithout(t *testing.T) {
	var rows [][]cell
	for i := range 900 {
		region := []cell{{"NA", i%2 == 0}, {"EU", true}, {"AS", true}}[i%3]
		rows = append(rows, []cell{region, {strconv.Itoa(i * 7919 % 503), false}, class(i)})
	}
	d := formed(t, []string{"region", "x", "y"}, nil, Options{}, rows)
	c := d.column(t, "region")
	if c.Missing != 150 || !slices.Contains(c.Levels, Count{"NA", 150}) || c.Distinct != 3 ||
		!says(d, "region", WarnMarks, `150 cells "NA" are in quotes`) ||
		!says(d, "region", WarnMarks, `150 cells "NA" treated as missing`) ||
		!says(d, "", WarnMarks, `"NA" stands in quotes, where it is text, and without`) {
		t.Errorf("%+v: %v", c, d.Warnings)
	}
	if want := "# 150 cells of this file: 150 \"NA\""; !strings.Contains(string(d.YAML()), want) {
		t.Errorf("no %q in\n%s", want, d.YAML())
	}
}

// TestTheCommonestValue is a single one: neither the cells between the atoms of a number, nor that of all further
// levels.
func TestTheCommonestValue(t *testing.T) {
	s := counted([]float64{90, 0}, []float64{5, 0}, []float64{1, 0}, []float64{50, 0})
	if got := s.usual(2); got != 3 || s.value(3) != `"b"` || s.value(99) != "" {
		t.Errorf("cell %d, of the text %s", got, s.value(3))
	}
	s.number, s.atoms = true, []float64{7.5, 8}
	if got := s.usual(2); got != 1 || s.value(1) != "7.5" {
		t.Errorf("cell %d, of the value %s", got, s.value(1))
	}
	if s.number, s.atoms = true, nil; s.usual(2) != 0 {
		t.Error("a number without atoms has a usual value")
	}
}

// TestAUCOfHalves: each half of the records is scored by the rates of the other, with five pseudo-records of the base
// rates, against the sum over all pairs.
func TestAUCOfHalves(t *testing.T) {
	even := [][]float64{{3, 1}, {2, 8}, {10, 4}, {0, 2}}
	odd := [][]float64{{1, 4}, {5, 5}, {12, 1}, {1, 0}}
	s := &alone{}
	for x := range even {
		for c := range 2 {
			s.n, s.odd = append(s.n, even[x][c]+odd[x][c]), append(s.odd, odd[x][c])
		}
	}
	base := sums(append(slices.Clone(even), odd...)...)
	var want, n float64
	for _, h := range [][2][][]float64{{even, odd}, {odd, even}} {
		for c := range 2 {
			score := func(x int) float64 {
				o := h[1][x]
				return (o[c] + 5*base[c]/(base[0]+base[1])) / (o[0] + o[1] + 5)
			}
			var sum, pairs float64
			for x := range even {
				for y := range even {
					w := h[0][x][c] * h[0][y][1-c]
					pairs += w
					if score(x) > score(y) {
						sum += w
					} else if score(x) == score(y) {
						sum += w / 2
					}
				}
			}
			want, n = want+sum/pairs, n+1
		}
	}
	if got := s.pooledAUC(base); math.Abs(got-want/n) > 1e-12 {
		t.Errorf("AUC %v, want %v", got, want/n)
	}
}

// TestTimesThatWouldNotBeRead: which units a configuration can name, and which texts the stage reads.
func TestTimesThatWouldNotBeRead(t *testing.T) {
	epoch := func(factor int64) func(int) string {
		return func(i int) string { return count64((1_700_000_000 + int64(3*i)) * factor) }
	}
	for _, c := range []struct {
		name  string
		cell  func(i int) string
		units bool
		ok    bool
		unit  string
		text  string
	}{
		{"texts", func(i int) string { return "2024-03-0" + whole(1+i%9) }, false, true, "", ""},
		{"milliseconds", epoch(1000), true, true, "", ""}, {"milliseconds", epoch(1000), false, true, "", ""},
		{"seconds", epoch(1), true, true, "s", ""}, {"seconds", epoch(1), false, false, "", "holds times in seconds"},
		{"microseconds", epoch(1e6), false, false, "", "holds times in microseconds"},
		{"nanoseconds", epoch(1e9), false, false, "", "holds times in nanoseconds"},
		{"nanoseconds", epoch(1e9), true, true, "ns", ""},
		{"integers of no unit", whole, true, true, "", ""},
		{"words", func(i int) string { return []string{"2024-03-01", "soon"}[i%4/3] }, true, false, "",
			"10 of 40 values are no times"},
	} {
		d := &Description{units: c.units}
		p := profiled(40, c.cell)
		if got := d.checkTime(&Column{Name: "at", Kind: model.Continuous}, p); got != c.ok || d.TimeUnit != c.unit ||
			(c.text == "") != (len(d.Warnings) == 0) || c.text != "" && !says(d, "at", WarnTime, c.text) {
			t.Errorf("%s, units %v: %v, unit %q, warnings %v", c.name, c.units, got, d.TimeUnit, d.Warnings)
		}
	}
}

func count64(n int64) string { return strings.ReplaceAll(count(n), ",", "") }
