package number

import (
	"math"
	"reflect"
	"strconv"
	"testing"
)

func TestParse(t *testing.T) {
	comma := Format{Decimal: ","}
	german := Format{Decimal: ",", Thousands: ".", Percent: true, Currency: []string{"€", "EUR"}}
	english := Format{Thousands: ",", Percent: true, Currency: []string{"$", "USD"}}
	french, swiss := Format{Decimal: ",", Thousands: " "}, Format{Thousands: "'"}
	none := math.NaN()
	for _, c := range []struct {
		f    Format
		text string
		want float64
	}{
		{Format{}, "1.5", 1.5}, {Format{}, "1,5", none}, {Format{}, "1,500", none}, {Format{}, "12%", none},
		{Format{}, "1e3", 1000}, {Format{}, "0x10", none}, {Format{}, "", none}, {Format{}, "-", none},
		{comma, "1,5", 1.5}, {comma, "-0,25", -.25}, {comma, "1.5", none}, {comma, "1,5,5", none}, {comma, "12", 12},
		{comma, "1,5e3", 1500}, {comma, ",5", .5}, {comma, "5,", 5}, {comma, "1.234,5", none}, {comma, "nan", none},
		{german, "1.234,50 €", 1234.5}, {german, "€ -1.234.567", -1234567}, {german, "-€5", -5}, {german, "EUR 7,5", 7.5},
		{german, "12,5 %", .125}, {german, "12%", .12}, {german, "1.23", none}, {german, "1234.567", none},
		{german, "0.125", none}, {german, "1.500", 1500}, {german, "--5", none}, {german, "€", none}, {german, "%", none},
		{german, "1.234.56", none}, {german, "1..234", none}, {german, ".234", none}, {german, "€5€", none},
		{english, "$1,234.50", 1234.5}, {english, "1,234,567", 1234567}, {english, "$-3", -3}, {english, "-$3", -3},
		{english, "12,34", none}, {english, "1,2345", none}, {english, "1,23,456", none},
		{english, "1,234.5%", 12.345}, {english, "3 USD", 3},
		{french, "1 234,5", 1234.5}, {french, "1\u00a0234\u202f567,25", 1234567.25}, {french, "12 34", none},
		{swiss, "1'234.5", 1234.5}, {swiss, "1’234", 1234}, {swiss, "1'23", none},
	} {
		got, ok := c.f.Parse([]byte(c.text))
		if ok && math.IsNaN(got) {
			ok = false
		}
		if ok == math.IsNaN(c.want) || ok && got != c.want {
			t.Errorf("%+v: %q is %v, %v; want %v", c.f, c.text, got, ok, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		texts     []string
		want      Format
		read      int
		ambiguous bool
	}{
		{[]string{"1", "2.5"}, Format{}, 2, false},
		{[]string{"a", "b"}, Format{}, 0, false},
		{[]string{"1,5", "2,25", "3"}, Format{Decimal: ","}, 3, false},
		{[]string{"1.234,5", "7"}, Format{Decimal: ",", Thousands: "."}, 2, false},
		{[]string{"1,234.5", "7"}, Format{Thousands: ","}, 2, false},
		{[]string{"1,234", "7,125"}, Format{Thousands: ","}, 2, true},
		{[]string{"1,234", "7"}, Format{Thousands: ","}, 2, true},
		{[]string{"7", "1,234"}, Format{Thousands: ","}, 2, true},
		{[]string{"7", "1,234", "7.5"}, Format{Thousands: ","}, 3, false},
		{[]string{"0,125", "7,125"}, Format{Decimal: ","}, 2, false},
		{[]string{"1.234", "two"}, Format{}, 1, true},
		{[]string{"1,234,567", "7,125"}, Format{Thousands: ","}, 2, false},
		{[]string{"12%", "3.5 %"}, Format{Percent: true}, 2, false},
		{[]string{"12,5 %", "3 %"}, Format{Decimal: ",", Percent: true}, 2, false},
		{[]string{"$5", "$1,200.00"}, Format{Thousands: ",", Currency: []string{"$"}}, 2, false},
		{[]string{"5,00 €", "1.200,00 €", "x"}, Format{Decimal: ",", Thousands: ".", Currency: []string{"€"}}, 2, false},
		{[]string{"1 234,5", "12"}, Format{Decimal: ",", Thousands: " "}, 2, false},
		{[]string{"1'234.5", "12"}, Format{Thousands: "'"}, 2, false},
		{[]string{"100% wool", "cotton"}, Format{}, 0, false},
	} {
		got := Detect(c.texts)
		if !reflect.DeepEqual(got.Format, c.want) || got.Read != c.read || got.Ambiguous != c.ambiguous {
			t.Errorf("%q: %+v, want %+v, %d, %v", c.texts, got, c.want, c.read, c.ambiguous)
		}
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		f, g, want Format
		ok         bool
	}{
		{Format{}, Format{Decimal: ","}, Format{Decimal: ","}, true},
		{Format{Decimal: ",", Thousands: "."}, Format{Decimal: ",", Percent: true},
			Format{Decimal: ",", Thousands: ".", Percent: true}, true},
		{Format{Decimal: ","}, Format{Thousands: ","}, Format{}, false},
		{Format{Thousands: "."}, Format{Thousands: "'"}, Format{}, false},
		{Format{Currency: []string{"$"}}, Format{Currency: []string{"€", "$"}}, Format{Currency: []string{"$", "€"}}, true},
	} {
		if got, ok := Join(c.f, c.g); ok != c.ok || ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v with %+v: %+v, %v", c.f, c.g, got, ok)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, f := range []Format{{Decimal: ";"}, {Thousands: ";"}, {Decimal: ",", Thousands: ","}, {Thousands: "."},
		{Currency: []string{""}}, {Currency: []string{"5"}}, {Currency: []string{"%"}}} {
		if f.Check() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	if err := (&Format{Decimal: ",", Thousands: " ", Currency: []string{"zł"}}).Check(); err != nil {
		t.Error(err)
	}
}

// FuzzParse: no format reads a text without a digit but for names of numbers, none panics or allocates, and a plain
// number means the same by every format that has the decimal point and no groups.
func FuzzParse(f *testing.F) {
	f.Add("1.234,50 €", ",", ".", true, "€")
	f.Add("-$1,234.5%", ".", ",", true, "$")
	f.Fuzz(func(t *testing.T, text, decimal, thousands string, percent bool, sign string) {
		g := Format{Decimal: decimal, Thousands: thousands, Percent: percent, Currency: []string{sign}}
		if g.Check() != nil {
			return
		}
		v, ok := g.Parse([]byte(text))
		w, err := strconv.ParseFloat(text, 64)
		if p, plain := Parse([]byte(text)); plain && err == nil && p != w && !(p != p && w != w) {
			t.Errorf("%q is %v, strconv says %v", text, p, w)
		}
		if _, plain := Parse([]byte(text)); plain && g.decimal() == '.' && ok && v != w && !(v != v && w != w) {
			t.Errorf("%q is %v by %+v, %v plainly", text, v, g, w)
		}
	})
}
