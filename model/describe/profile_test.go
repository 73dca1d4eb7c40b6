package describe

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// profiled is the profile of n cells.
func profiled(n int, cell func(i int) string) *profile {
	p := &profile{}
	for i := range n {
		p.add(cell(i), false)
	}
	return p
}

func whole(i int) string { return strconv.Itoa(i) }

func TestNumbersThatAreRead(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-1.5": -1.5, "+3": 3, ".5": .5, "5.": 5, "1e3": 1000, "1E-3": .001,
		"007": 7, "-0": 0} {
		if got, ok := number(text); !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "x", "0x10", "1_000", "inf", "NaN", "1e999", "1p4", "1 2", "1,5", "Infinity", "-",
		"."} {
		if got, ok := number(text); ok && text != "." {
			t.Errorf("%q is the number %v", text, got)
		}
	}
}

// TestUnitsOfTime has the ends of 2000 to 2040 in each unit.
func TestUnitsOfTime(t *testing.T) {
	const from, to = 946_684_800, 2_208_988_800
	for _, c := range []struct {
		v    float64
		want int64
		name string
	}{
		{from - 1, 0, ""}, {from, 1e9, "s"}, {to - 1, 1e9, "s"}, {to, 0, ""},
		{from*1e3 - 1, 0, ""}, {from * 1e3, 1e6, "ms"}, {to*1e3 - 1, 1e6, "ms"}, {to * 1e3, 0, ""},
		{from * 1e6, 1e3, "us"}, {to*1e6 - 1, 1e3, "us"}, {from * 1e9, 1, "ns"}, {to * 1e9, 0, ""}, {0, 0, ""}, {-from, 0,
			""},
	} {
		if got := epochUnit(c.v); got != c.want {
			t.Errorf("%v is in units of %d ns, want %d", c.v, got, c.want)
		}
		if got := (&profile{unit: c.want}).unitName(); got != c.name {
			t.Errorf("units of %d ns are %q, want %q", c.want, got, c.name)
		}
	}
	p := profiled(3, func(i int) string { return strconv.Itoa((1_700_000_000 + i) * 1000) })
	if got, ok := p.nanos("1700000000123"); !ok || got != 1_700_000_000_123_000_000 {
		t.Errorf("%d, %v", got, ok)
	}
	if p.add("5", false); p.unit != -1 {
		t.Errorf("numbers of no common unit have the unit %d", p.unit)
	}
}

// TestWhatIsAnID has the boundaries of each rule; the others of the rules do not hold there.
func TestWhatIsAnID(t *testing.T) {
	mixed := func(i int) string { return strconv.Itoa((i * 7919) % 100_003) } // all distinct, in no order
	for _, c := range []struct {
		name string
		n    int
		cell func(i int) string
		want string // part of the reason; "" = it is none
	}{
		{"code", 20, func(i int) string { return fmt.Sprint("k", i) }, "nearly all values are distinct"},
		{"code", 19, func(i int) string { return fmt.Sprint("k", i) }, ""},
		{"code", 100, func(i int) string { return fmt.Sprint("k", min(i, 94)) }, "nearly all values are distinct"},
		{"code", 100, func(i int) string { return fmt.Sprint("k", min(i, 93)) }, ""},
		{"n", 20, whole, "grow from record to record"},
		{"n", 20, func(i int) string { return strconv.Itoa(min(i, 18)) }, ""},
		{"n", 1000, mixed, "whole numbers, all distinct"},
		{"n", 999, mixed, ""},
		{"n", 1001, func(i int) string { return mixed(min(i, 999)) }, ""},
		{"n", 1001, func(i int) string {
			if i == 500 {
				return ""
			}
			return mixed(i)
		}, ""},
		{"user_id", 100, func(i int) string { return strconv.Itoa(i % 21 * 3) }, "by its name"},
		{"user_id", 100, func(i int) string { return strconv.Itoa(i % 20 * 3) }, ""},
		{"user_id", 100, func(i int) string { return fmt.Sprint(float64(i) / 7) }, ""},
	} {
		if got := profiled(c.n, c.cell).idWhy(c.name); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s of %d records, such as %s: %q, want %q", c.name, c.n, c.cell(c.n-1), got, c.want)
		}
	}
	for name, want := range map[string]bool{"id": true, "ID": true, "customer_id": true, "customerID": true, "uuid": true,
		"account-key": true, "row.id": true, "paid": false, "valid": false, "identity": false, "keys": false, "idea": false} {
		if idName.MatchString(name) != want {
			t.Errorf("%s is the name of an id: %v", name, !want)
		}
	}
}

// TestNumbersThatAreNames: of how many values, of how many records each, with which names and digits.
func TestNumbersThatAreNames(t *testing.T) {
	mod := func(k int) func(int) string { return func(i int) string { return strconv.Itoa(i % k) } }
	for _, c := range []struct {
		name string
		n    int
		cell func(i int) string
		want string // of names; "" = it is a number
	}{
		{"v", 240, mod(12), "few whole numbers"}, {"v", 239, mod(12), ""}, {"v", 10_000, mod(13), ""},
		{"v", 60, mod(3), "few whole numbers"}, {"v", 59, mod(3), ""}, {"v", 1000, mod(2), ""},
		{"zip", 20, mod(18), "codes by the name of the column"}, {"zipper", 20, mod(18), ""},
		{"productCode", 20, mod(18), "codes by the name of the column"}, {"decode", 20, mod(18), ""},
		{"v", 100, func(i int) string { return fmt.Sprintf("%02d", i) }, "names: 10 with leading zeros"},
		{"v", 100, func(i int) string { return "0" + whole(i) + ".5" }, ""},
	} {
		p := profiled(c.n, c.cell)
		if p.settleNames(c.name, Format{}, false); p.names != c.want {
			t.Errorf("%s of %d records, such as %s: %q, want %q", c.name, c.n, c.cell(c.n-1), p.names, c.want)
		}
	}
	p := profiled(40, mod(2))
	if p.settleNames("v", Format{}, false); p.isNumber() {
		t.Error("two numbers are a quantity")
	}
}

// TestTextsAmongNumbers: how many of them are taken for marks of missing values.
func TestTextsAmongNumbers(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, odd  int
		text    func(i int) string
		nearly  bool
		missing int64
	}{
		{"one of twenty", 100, 5, func(int) string { return "many" }, true, 5},
		{"more than one of twenty", 100, 6, func(int) string { return "many" }, false, 0},
		{"three texts", 100, 5, func(i int) string { return fmt.Sprint("t", i%3) }, true, 5},
		{"four texts", 100, 5, func(i int) string { return fmt.Sprint("t", i%4) }, false, 0},
		{"placeholders in half", 100, 50, func(int) string { return "unknown" }, true, 50},
		{"in more than half", 100, 51, func(int) string { return "unknown" }, false, 0},
		{"none", 100, 0, nil, false, 0},
	} {
		p := profiled(c.n, func(i int) string {
			if i < c.odd {
				return c.text(i)
			}
			return whole(i)
		})
		if got := p.nearlyNumbers(); got != c.nearly {
			t.Errorf("%s: nearly numbers %v", c.name, got)
		}
		if p.oddIsMissing = c.nearly; !c.nearly {
			continue
		}
		col := p.column("v")
		if col.Missing != c.missing || col.Kind != model.Continuous || col.Distinct != c.n-c.odd ||
			len(col.Marks) != len(p.odd) || col.Min != float64(c.odd) || col.Max != float64(c.n-1) {
			t.Errorf("%s: %+v", c.name, col)
		}
	}
	// Three distinct numbers with a text that is no placeholder are a quantity, two are not.
	for k, want := range map[int]bool{2: false, 3: true} {
		p := profiled(100, func(i int) string {
			if i == 0 {
				return "many"
			}
			return strconv.Itoa(i % k)
		})
		if p.nearlyNumbers() != want {
			t.Errorf("%d numbers and a text: nearly numbers %v", k, !want)
		}
	}
}

// TestColumnsOfTimes: texts or integers, which must span a second and be no counter.
func TestColumnsOfTimes(t *testing.T) {
	at := func(step int) func(int) string {
		return func(i int) string { return strconv.Itoa(1_700_000_000 + step*i) }
	}
	days := func(other int) func(int) string {
		return func(i int) string {
			if i < other {
				return "soon"
			}
			return fmt.Sprintf("2024-%02d-%02d", 1+i/28%12, 1+i%28)
		}
	}
	for _, c := range []struct {
		name   string
		n      int
		cell   func(int) string
		want   bool
		nearly int64
	}{
		{"v", 3, days(0), true, 0}, {"v", 2, days(0), false, 0}, {"v", 100, days(1), false, 1},
		{"v", 100, days(5), false, 5}, {"v", 100, days(6), false, 0},
		{"v", 50, at(2), true, 0}, {"v", 50, at(1), false, 0}, {"seen_at", 50, at(1), true, 0},
		{"v", 50, at(-2), false, 0}, {"time", 50, at(-2), true, 0}, {"v", 50, func(i int) string { return at(0)(i) }, false,
			0},
		{"time", 50, func(i int) string { return strconv.Itoa(1_700_000_000_000 + i*20) }, false, 0},
		{"time", 51, func(i int) string { return strconv.Itoa(1_700_000_000_000 + i*20) }, true, 0},
	} {
		p := profiled(c.n, c.cell)
		if p.isTime(c.name) != c.want || p.nearlyTimes() != c.nearly {
			t.Errorf("%s of %d records, such as %s: a time %v, but for %d", c.name, c.n, c.cell(c.n-1), p.isTime(c.name),
				p.nearlyTimes())
		}
	}
}

// TestFreeTextIsLeftOut from a hundred values on, of which more than half are new.
func TestFreeTextIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		n, distinct int
		want        Role
	}{{100, 51, Left}, {100, 50, Feature}, {99, 60, Feature}} {
		d, got := columnOf(t, "v", c.n, func(i int) string { return fmt.Sprint("v", i%c.distinct) })
		if got.Role != c.want || got.Distinct != c.distinct || says(d, "v", WarnFreeText,
			"hardly a value") != (c.want == Left) {
			t.Errorf("%d of %d values are new: role %d (%s), %d distinct", c.distinct, c.n, got.Role, got.Why, got.Distinct)
		}
	}
}

// TestTokensMayBeIds: of texts without blanks the warning says how an id is named.
func TestTokensMayBeIds(t *testing.T) {
	for mark, want := range map[string]bool{"": true, " x": false} {
		d, got := columnOf(t, "Kunden-Nr.", 200, func(i int) string { return fmt.Sprint("K-", i%150, mark) })
		if got.Role != Left || says(d, "Kunden-Nr.", WarnFreeText, "--id names it") != want {
			t.Errorf("%q: role %d (%s), %v", mark, got.Role, got.Why, d.Warnings)
		}
	}
}

// TestDatesWithTheYearLastAreLeftOut: they are no times to the stage, and their levels would be learnt.
func TestDatesWithTheYearLastAreLeftOut(t *testing.T) {
	for form, want := range map[string]bool{"%02d.02.2026": true, "2/%d/26": true, "%d-3-2026 08:15": true,
		"%d.2.3": false, "1.2.%d": false, "v%d.02.2026": false, "%d.02.2026x": false} {
		d, got := columnOf(t, "v", 400, func(i int) string { return fmt.Sprintf(form, 1+i%28) })
		if left := says(d, "v", WarnTime, "write the year first"); left != want || (got.Role == Left) != want {
			t.Errorf("%s: role %d (%s), %v", form, got.Role, got.Why, d.Warnings)
		}
	}
	d, got := columnOf(t, "v", 400, func(i int) string { return fmt.Sprintf("2026-02-%02d", 1+i%28) })
	if got.Role != Left && got.Role != Time || says(d, "v", WarnTime, "year first") {
		t.Errorf("the year first: role %d, %v", got.Role, d.Warnings)
	}
}

// TestWhatIsCountedToALimit: distinct values, levels, and the numbers of a quantity; the comments say so.
func TestWhatIsCountedToALimit(t *testing.T) {
	p := profiled(3*maxDistinct, func(i int) string { return "v" + whole(i%(2*maxDistinct)) })
	if c := p.column("v"); c.Distinct != maxDistinct || c.Levels != nil || p.distinctShare() != 1 ||
		!strings.HasPrefix(c.facts(p.rows), "at least 16,384 levels; beyond the first 4,096 those that come often or ") {
		t.Errorf("%d distinct, a share of %v, %d levels: %s", c.Distinct, p.distinctShare(), len(c.Levels), c.facts(p.rows))
	}
	for n, levels := range map[int]int{model.MaxLevels: model.MaxLevels, model.MaxLevels + 1: 0} {
		c := profiled(n, func(i int) string { return "v" + whole(i) }).column("v")
		if len(c.Levels) != levels || c.Distinct != n || strings.Contains(c.facts(1), "told apart") != (levels == 0) {
			t.Errorf("%d levels: %d are counted: %s", n, len(c.Levels), c.facts(1))
		}
	}
	for n, dropped := range map[int]bool{fewNumbers: false, fewNumbers + 1: true} {
		if p := profiled(n, whole); p.dropped != dropped {
			t.Errorf("%d numbers are counted as levels: %v", n, p.dropped)
		}
	}
	p = &profile{}
	for i := range 2 * maxMarks {
		p.mark(whole(i%(maxMarks+1)), i%2 == 0)
	}
	if len(p.marks) != maxMarks || p.marks[0] != (marked{"0", 2, 1}) || p.marks[1] != (marked{"1", 2, 1}) {
		t.Errorf("marks %+v", p.marks)
	}
	// The most frequent levels first, equal ones by their texts; five of them, cut to 24 characters, are shown.
	long := strings.Repeat("é", 25)
	c := profiled(21, func(i int) string { return []string{"f", "e", "d", "c", long, "a"}[min(i/2, 5)] }).column("v")
	if got, want := c.facts(84), "6 levels: a 11, c 2, d 2, e 2, f 2, ..."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c = profiled(10, func(i int) string { return []string{long, "", "b"}[i%3] }).column("v")
	if got, want := c.facts(10), "2 levels: "+long[:48]+"... 4, b 3; 30.0 % missing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Numbers that a float64 does not hold.
	c = profiled(30, func(i int) string { return strconv.Itoa(9_007_199_254_740_993 + 2*(i%3) - min(i%3, 1)) }).column("v")
	if c.Rounded != 10 ||
		c.facts(30) != "9.007199254740992e+15 to 9.007199254740996e+15, 3 values; 10 rounded beyond 2^53" {
		t.Errorf("%d rounded: %s", c.Rounded, c.facts(30))
	}
}
