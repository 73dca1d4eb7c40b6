package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liftstream/model/wire"
)

// TestCanonicalText: the texts of one value have one text, and names that look like numbers keep theirs.
func TestCanonicalText(t *testing.T) {
	for _, c := range []struct{ want, texts string }{
		{"true", "true True TRUE"}, {"false", "false False FALSE"},
		{"1", "1 1. 1.0 1.000 1.0e+00 1.0E0"}, {"-1", "-1 -1.0"}, {"0", "0 -0 0.0 -0.0 .0 -.0 0. 0.0e+5"},
		{"2.5", "2.5 2.50 2.500 2.5e+0 2.5E0 25e-1"}, {"0.5", ".5 0.5 0.50 5e-1"}, {"-0.5", "-.5 -0.5 -0.50"},
		{"100", "100 100.0 1e+2 1.0e2"}, {"10000000000000000", "1e+16 1.0E16 10000000000000000 10000000000000000.0"},
		{"0.00001", "1e-05 1.0e-5 0.00001 0.000010"}, {"1e+22", "1e+22 1.0e22"},
		{"2024-05-01", "2024-05-01 2024-05-01T00:00:00 2024-05-01T00:00:00Z 2024-05-01T02:00:00+02:00 " +
			"2024-05-01T00:00:00.000"},
		{"2024-05-01T08:00:00Z", "2024-05-01T08:00:00 2024-05-01T08:00:00.000000 2024-05-01T10:00:00+02:00"},
		{"2024-05-01T08:00:00.25Z", "2024-05-01T08:00:00.250 2024-05-01T08:00:00.25Z"},
		{"9999-12-31", "9999-12-31 9999-12-31T00:00:00"},
		{"1777134800018164001", "1777134800018164001 1777134800018164001.0"},
		{"18446744073709551615", "18446744073709551615"},
		{"123456789012345678901234567890", "123456789012345678901234567890"},
	} {
		for _, text := range strings.Fields(c.texts) {
			if got := string(CanonicalText(nil, []byte(text))); got != c.want {
				t.Errorf("%q is %q, want %q", text, got, c.want)
			}
		}
	}
	for _, name := range []string{"", "-", ".", "-.", "007", "00", "-01", "007.0", "+1", "+49", "2E5", "1e3", "1e", "1e+",
		"1.e", "1.2.3", "1,5", "0x10", "1_000", "tRUE", "t", "T", "yes", "Infinity", "nan", "1.0 ", "e5", "1.0x", "2024-05",
		"2024-13-01", "2024-05-01T25:00:00", "2024-05-01T08:00", "2024-0501-1234", "1-800-55512", "1e+999", "true ", "١"} {
		if got := string(CanonicalText(nil, []byte(name))); got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	spaced := map[string]string{"2024-05-01 00:00:00": "2024-05-01", "2024-05-01 08:00:00+00:00": "2024-05-01T08:00:00Z",
		"2024-05-01 08:00:00+00": "2024-05-01T08:00:00Z", "2024-05-01T08:00:00.000000+0000": "2024-05-01T08:00:00Z",
		"2024-05-01 02:00:00 +0200": "2024-05-01", "2024-05-01 08:00:00 UTC": "2024-05-01T08:00:00Z",
		"2024-05-01 08:00:00 CET": "2024-05-01 08:00:00 CET", "2024-05-01 08:00:00+1": "2024-05-01 08:00:00+1"}
	for text, want := range spaced {
		if got := string(CanonicalText(nil, []byte(text))); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// FuzzCanonicalText: a canonical text is its own, and only changes a text that is UTF-8 into one that is.
func FuzzCanonicalText(f *testing.F) {
	for _, s := range []string{"True", "1.0", "-.50", "1e+16", "2024-05-01T00:00:00+01:00", "007", "-0", ".",
		"9999-12-31 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		c := string(CanonicalText(nil, b))
		if string(b) != before {
			t.Fatalf("%q was changed to %q", before, b)
		}
		if again := string(CanonicalText(nil, []byte(c))); again != c {
			t.Fatalf("%q is %q, and that is %q", before, c, again)
		}
		if v := SameValue(before); SameValue(c) != v || SameValue(v) != v {
			t.Fatalf("%q is the value %q, its canonical text %q is %q", before, v, c, SameValue(c))
		}
	})
}

// TestLevelsOfOneValue: a level is found by all texts of its value, and any of them may have come first.
func TestLevelsOfOneValue(t *testing.T) {
	for _, texts := range []string{"true 1 True 1.0 TRUE 1e0", "0 false -0 0.0", "2E5 200000 2e+5",
		"2024-05-01 2024-05-01T00:00:00Z", "2.50 2.5"} {
		all := strings.Fields(texts)
		for first := range all {
			l := NewLevels(&Schema{Features: []Feature{{Name: "x", Kind: Nominal}}})
			l.Code(0, "other")
			for _, text := range append(all[first:], all[:first]...) {
				if c := l.Code(0, text); c != 1 {
					t.Errorf("%q after %q has code %d of %q", text, all[first], c, l.Names(0))
				}
			}
		}
	}
	l := NewLevels(&Schema{Features: []Feature{{Name: "x", Kind: Nominal}}})
	for i, text := range []string{"007", "7", "07", "+7", "seven"} {
		if c := l.Code(0, text); c != uint32(i) {
			t.Errorf("%q has code %d", text, c)
		}
	}
}

// TestLevelsOfBefore: a state that has learnt two texts of one value keeps both, with their codes, and reads new
// records as it did; one that has learnt True finds it by true.
func TestLevelsOfBefore(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "x", Kind: Nominal}}}
	names := []string{"True", "1.0", "1", "False", "07"}
	b := wire.AppendStrings(wire.AppendUvarint(nil, 1), names)
	l, err := DecodeLevels(s, wire.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]uint32{"True": 0, "1.0": 1, "1": 2, "true": 0, "False": 3, "false": 3, "0": 3,
		"07": 4, "TRUE": 0} {
		if c := l.Code(0, text); c != want {
			t.Errorf("%q has code %d, want %d", text, c, want)
		}
	}
	if got := l.AppendBinary(nil); string(got) != string(b) {
		t.Error("the state is written otherwise than it was read")
	}
	if got := l.Clone().Names(0); !slices.Equal(got, names) {
		t.Errorf("a clone has %q", got)
	}
	b = wire.AppendStrings(wire.AppendUvarint(nil, 1), []string{"1.0", "True"})
	if l, err = DecodeLevels(s, wire.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if one, yes := l.Code(0, "1"), l.Code(0, "true"); one != 0 || yes != 1 {
		t.Errorf("1 and true have codes %d and %d: the canonical text comes before the value", one, yes)
	}
	for _, twice := range [][]string{{"a", "a"}, {"1", "1"}} {
		b := wire.AppendStrings(wire.AppendUvarint(nil, 1), twice)
		if _, err := DecodeLevels(s, wire.NewReader(b)); err == nil {
			t.Errorf("levels %q are read", twice)
		}
	}
}

// TestMergeKeepsTwoLevelsTwo: counts of two levels of one table never end in one, while those of two tables meet.
func TestMergeKeepsTwoLevelsTwo(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "x", Kind: Nominal}}}
	of := func(names ...string) *Levels {
		l := NewLevels(s)
		for _, n := range names {
			l.exact(0, n)
		}
		return l
	}
	for _, c := range []struct {
		l, o *Levels
		want []uint32
	}{
		{of("a", "1"), of("true", "a"), []uint32{1, 0}},
		{of("1"), of("1.0", "1"), []uint32{1, 0}},
		{of(), of("1.0", "1"), []uint32{0, 1}},
		{of("true"), of("1", "1.0", "b"), []uint32{0, 1, 2}},
		{of("b", "True"), of("true", "b"), []uint32{1, 0}},
	} {
		names := slices.Clone(c.l.Names(0))
		if got := c.l.Merge(c.o)[0]; !slices.Equal(got, c.want) {
			t.Errorf("%q and %q: recoded to %d, want %d; levels %q", names, c.o.Names(0), got, c.want, c.l.Names(0))
		}
	}
}

// TestClassOfALabel: a label finds its class by the text, else by the value; where two classes are one value, only by
// the text.
func TestClassOfALabel(t *testing.T) {
	for _, c := range []struct{ classes, text, want string }{
		{"0 1", "1", "1"}, {"0 1", "true", "1"}, {"0 1", "False", "0"}, {"0 1", "1.0", "1"}, {"0 1", "01", ""},
		{"true false", "True", "true"}, {"true false", "1", "true"}, {"True False", "true", "True"},
		{"True False", "0", "False"},
		{"0.0 1.0", "1", "1.0"}, {"0.0 1.0", "true", "1.0"}, {"no yes", "true", ""}, {"no yes", "Yes", ""},
		{"1 true", "True", "true"}, {"1 true", "1.0", "1"}, {"1.0 True", "true", ""}, {"1.00 2", "1.0", "1.00"},
		{"2024-05-01 x", "2024-05-01T00:00:00Z", "2024-05-01"},
	} {
		classes, got := strings.Fields(c.classes), ""
		if k := NewClassIndex(classes).Class([]byte(c.text)); k >= 0 {
			got = classes[k]
		}
		if got != c.want {
			t.Errorf("among %s the label %q is %q, want %q", c.classes, c.text, got, c.want)
		}
	}
}

func ExampleCanonicalText() {
	for _, text := range []string{"True", "1.0", "2.50", "007", "2024-05-01 00:00:00"} {
		fmt.Printf("%s ", CanonicalText(nil, []byte(text)))
	}
	// Output: true 1 2.5 007 2024-05-01
}

// TestSpelling: a table that takes the spelling of a state of before learns the same levels with its texts.
func TestSpelling(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "a", Kind: Continuous}, {Name: "x", Kind: Nominal},
		{Name: "y", Kind: Nominal, Levels: []string{"1.0", "2.0"}}, {Name: "z", Kind: Nominal}}}
	section := func(x, z []string) []byte {
		b := wire.AppendStrings(wire.AppendUvarint(nil, 4), nil)
		return wire.AppendStrings(wire.AppendStrings(wire.AppendStrings(b, x), s.Features[2].Levels), z)
	}
	for _, c := range []struct {
		x, z             []string
		count            int
		feature, example string
		twins            []string
	}{
		{[]string{"1", "b", "2.5", "true"}, nil, 0, "", "", []string{"1", "true"}},
		{[]string{"1", "b", "2.5", "007"}, []string{"false"}, 0, "", "", nil},
		{[]string{"b", "1.0", "True", "2"}, []string{"2.50"}, 3, "x", "1.0", []string{"1.0", "True"}},
		{[]string{"b", "1.0", "2"}, []string{"False", "2.50", "2024-05-01T00:00:00Z"}, 4, "x", "1.0", nil},
		{[]string{"b"}, []string{"a", "1.", "1.0"}, 1, "", "", []string{"1.", "1.0"}},
	} {
		raw := section(c.x, c.z)
		got, err := SpellingOf(s, raw)
		if err != nil {
			t.Fatal(err)
		}
		if c.twins != nil {
			if !slices.Equal(got.Twins, c.twins) {
				t.Errorf("%q, %q: twins %q, want %q", c.x, c.z, got.Twins, c.twins)
			}
			continue
		}
		if got.Count != c.count || got.Feature != c.feature || got.Example != c.example || got.Twins != nil {
			t.Errorf("%q, %q: %+v", c.x, c.z, got)
		}
		l := NewLevels(s)
		l.spell(got)
		for f, texts := range map[int][]string{1: c.x, 3: c.z} {
			for code, text := range texts {
				if n := l.Code(f, string(CanonicalText(nil, []byte(text)))); n != uint32(code) {
					t.Errorf("%q of %q has code %d", text, texts, n)
				}
			}
		}
		if string(l.AppendBinary(nil)) != string(raw) {
			t.Errorf("%q, %q become %q, %q", c.x, c.z, l.Names(1), l.Names(3))
		}
		l.spell(nil)
		if c := l.Code(1, "77"); l.Text(1, float64(c)) != "77" {
			t.Error("the spelling is still there")
		}
	}
	for _, bad := range [][]byte{nil, {9}, append(section(nil, nil), 0)} {
		if _, err := SpellingOf(s, bad); err == nil {
			t.Errorf("% x is read", bad)
		}
	}
}
