package number

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestPlainNumbersAreTheNearestDoubles: as strconv has them, with any digits and the point at any place.
func TestPlainNumbersAreTheNearestDoubles(t *testing.T) {
	digits := "123456789012345678"
	for _, shift := range []int{0, 3, 8} {
		for n := 1; n+shift <= len(digits); n++ {
			for point := -1; point <= n; point++ {
				for _, sign := range []string{"", "-", "+"} {
					text := digits[shift : shift+n]
					if point >= 0 {
						text = text[:point] + "." + text[point:]
					}
					text = sign + text
					want, err := strconv.ParseFloat(text, 64)
					got, ok := Parse([]byte(text))
					if err != nil || !ok || math.Float64bits(got) != math.Float64bits(want) {
						t.Errorf("%s is %v, %v; want %v, %v", text, got, ok, want, err)
					}
				}
			}
		}
	}
	for text, want := range map[string]float64{"-0": math.Copysign(0, -1), "0": 0, "-.0": math.Copysign(0, -1),
		"1e308": 1e308, "1e309": math.Inf(1), "-1e309": math.Inf(-1), "5e-324": 5e-324, "1e-400": 0, "inf": math.Inf(1)} {
		if got, ok := Parse([]byte(text)); !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "+", "-", ".", "-.", "1.2.3", "1 2", "1_0", "0x1", "0X1", "0x1p2", "1p2", "1P2",
		"e5", "1e", "--1", "+-1", "1-"} {
		if got, ok := Parse([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestAFormatReadsWhatItWrites: a number that is written by a format, with its groups, sign, blanks and percent, is
// read as the plain one, and by no format that parts its groups elsewhere.
func TestAFormatReadsWhatItWrites(t *testing.T) {
	grouped := func(whole, by string) string {
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + by + whole[at:]
		}
		return whole
	}
	blanks := []string{" ", "\t", "\u00a0", "\u2009", "\u202f", ""}
	for _, decimal := range []string{"", ".", ","} {
		for _, thousands := range append([]string{""}, Separators...) {
			f := Format{Decimal: decimal, Thousands: thousands, Percent: true, Currency: []string{"€", "kr", "CHF"}}
			if f.Check() != nil {
				continue
			}
			point := decimal
			if point == "" {
				point = "."
			}
			for _, whole := range []string{"0", "7", "12", "123", "1234", "12345", "123456", "1234567"} {
				for i, fraction := range []string{"", "5", "25", "125"} {
					plain, written := whole, grouped(whole, thousands)
					if fraction != "" {
						plain, written = plain+"."+fraction, written+point+fraction
					}
					want, err := strconv.ParseFloat(plain, 64)
					if err != nil {
						t.Fatal(err)
					}
					blank := blanks[(i+len(whole))%len(blanks)]
					for text, want := range map[string]float64{
						written: want, blank + written + blank: want, "-" + written: -want, "+" + blank + written: want,
						written + blank + "%": want / 100, "€" + blank + written: want, "-CHF" + blank + written: -want,
						"kr" + blank + "-" + written: -want, written + blank + "kr": want, written + "%" + blank + "€": want / 100,
						"€" + written + "%": want / 100,
					} {
						if got, ok := f.Parse([]byte(text)); !ok || got != want {
							t.Errorf("%s: %q is %v, %v; want %v", f, text, got, ok, want)
						}
					}
					if len(whole) > 3 && thousands != "" && thousands != " " { // blanks at the ends are cut
						for _, text := range []string{whole[:2] + thousands + whole[2:] + thousands, thousands + written,
							strings.Replace(written, thousands, thousands+thousands, 1), whole[:1] + thousands + whole[1:3],
							"0" + thousands + whole[:3]} {
							if got, ok := f.Parse([]byte(text)); ok {
								t.Errorf("%s: %q is %v", f, text, got)
							}
						}
					}
				}
			}
		}
	}
	f := Format{Decimal: ","}
	for n, ok := range map[int]bool{46: true, 48: true, 49: false} {
		if _, got := f.Parse([]byte(strings.Repeat("9", n))); got != ok {
			t.Errorf("a text of %d digits is a number: %v", n, got)
		}
	}
}

// TestFormatsAsTheConfigurationHasThem.
func TestFormatsAsTheConfigurationHasThem(t *testing.T) {
	for want, f := range map[string]Format{
		"{}": {}, `{decimal: ","}`: {Decimal: ","}, `{thousands: " "}`: {Thousands: " "}, "{percent: true}": {Percent: true},
		`{currency: ["€"]}`: {Currency: []string{"€"}},
		`{decimal: ",", thousands: ".", percent: true, currency: ["€", "EUR"]}`: {Decimal: ",", Thousands: ".", Percent: true,
			Currency: []string{"€", "EUR"}},
	} {
		if got := fmt.Sprint(f); got != want || f.Plain() != (want == "{}") {
			t.Errorf("got %s, plain %v; want %s", got, f.Plain(), want)
		}
	}
	if !(&Format{Decimal: "."}).Plain() {
		t.Error("a decimal point is not plain")
	}
	for text, ok := range map[string]bool{"abcdefgh": true, "abcdefghi": false, "a1": false, "a b": false, "a-": false,
		"+": false, "a_": false, "a'": false, "a,": false, "a.": false, "a\t": false, "US$": true, "€": true} {
		if err := (&Format{Currency: []string{"kr", text}}).Check(); (err == nil) != ok ||
			err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDetectedFormatsReadTheirTexts: the order of the texts does not matter, nor how often one is there, and a format
// that is detected has no part that no text needs.
func TestDetectedFormatsReadTheirTexts(t *testing.T) {
	for _, texts := range [][]string{{"1,5", "2,25", "3"}, {"1.234,5", "7"}, {"1,234.5", "7"}, {"12,5 %", "3 %"},
		{"$5", "$1,200.00", "x"}, {"5,00 €", "1.200,00 €", "x"}, {"1 234,5", "12"}, {"1'234.5", "12"}, {"1_234.5", "1"},
		{"USD 5", "7 USD", "12"}, {"100%", "$5", "1"}, {"1,234,567", "0.5"}, {"-€5", "€-6", "7"}} {
		first := Detect(texts)
		if first.Read == 0 || first.Format.Check() != nil {
			t.Errorf("%q: %+v", texts, first)
		}
		turned := append([]string{}, texts...)
		for range texts {
			turned = append(turned[1:], turned[0])
			if got := Detect(turned); !reflect.DeepEqual(got.Format, first.Format) || got.Read != first.Read {
				t.Errorf("%q: %+v, in another order %+v", texts, first, got)
			}
		}
		twice := Detect(append(append([]string{}, texts...), texts...))
		if !reflect.DeepEqual(twice.Format, first.Format) || twice.Read != 2*first.Read ||
			twice.Ambiguous != first.Ambiguous {
			t.Errorf("%q: %+v, twice %+v", texts, first, twice)
		}
		read := func(f Format) (n int) {
			for _, text := range texts {
				if _, ok := f.Parse([]byte(text)); ok {
					n++
				}
			}
			return n
		}
		f := first.Format
		if read(f) != first.Read {
			t.Errorf("%q: %s reads %d of %d", texts, f, read(f), first.Read)
		}
		for name, less := range map[string]Format{
			"currency": {Decimal: f.Decimal, Thousands: f.Thousands, Percent: f.Percent},
			"percent":  {Decimal: f.Decimal, Thousands: f.Thousands, Currency: f.Currency},
		} {
			needed := name == "currency" && f.Currency != nil || name == "percent" && f.Percent
			if needed && read(less) == first.Read {
				t.Errorf("%q: %s has a %s that no text needs", texts, f, name)
			}
		}
	}
}

// TestJoinedFormatsHaveTheParts of both, in either order.
func TestJoinedFormatsHaveTheParts(t *testing.T) {
	formats := []Format{{}, {Decimal: ","}, {Thousands: "."}, {Thousands: ","}, {Decimal: ",", Thousands: "."},
		{Percent: true}, {Currency: []string{"$"}}, {Currency: []string{"€"}}, {Decimal: ",", Percent: true}}
	for _, f := range formats {
		for _, g := range formats {
			x, ok := Join(f, g)
			y, also := Join(g, f)
			if ok != also || ok && (x.Decimal != y.Decimal || x.Thousands != y.Thousands || x.Percent != y.Percent ||
				len(x.Currency) != len(y.Currency)) {
				t.Errorf("%s with %s: %s, %v; the other way round %s, %v", f, g, x, ok, y, also)
			}
			if ok && (x.Check() != nil || x.Percent != (f.Percent || g.Percent)) {
				t.Errorf("%s with %s: %s", f, g, x)
			}
		}
	}
	f := Format{Currency: []string{"$"}}
	x, _ := Join(f, Format{Currency: []string{"€"}})
	x.Currency[0] = "changed"
	if f.Currency[0] != "$" {
		t.Error("a joined format shares the signs of the first")
	}
}
