package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// derived is a configuration with those derived features.
func derived(t *testing.T, text string) *Config {
	t.Helper()
	c, _ := load(t, minimal+text)
	return c
}

// TestDerivations: each expression has one canonical form, which is read again as itself; derived features in it are
// written out.
func TestDerivations(t *testing.T) {
	for text, want := range map[string]string{
		"hour(time)":                               "hour(time)",
		" hour ( time , zone = UTC ) ":             "hour(time)",
		"weekday(time, zone=Europe/Berlin)":        "weekday(time, zone=Europe/Berlin)",
		"month('when', unit=s, zone=Asia/Kolkata)": "month(when, zone=Asia/Kolkata, unit=s)",
		"day(when)":                                "day(when)",
		"age(when, d)":                             "age(when, d)",
		"age(when,w,unit=ms)":                      "age(when, w, unit=ms)",
		"ratio(age, a b)":                          "",
		`ratio(age, "a b")`:                        `ratio(age, "a b")`,
		"log(ratio(age,age))":                      "log(ratio(age, age))",
		"log(part)":                                `log(ratio(age, "a b"))`,
		"bucket(age, 18.0, 2.5e1, 65)":             "bucket(age, 18, 25, 65)",
		"bucket(hour(time), -0, 8)":                "bucket(hour(time), 0, 8)",
	} {
		c, _, err := Parse("t.yaml", []byte(minimal+"    - {name: a b, kind: continuous}\n    - {name: when, kind: nominal, "+
			"use: never}\nderive:\n  part: ratio(age, \"a b\")\n  x: |-\n    "+text+"\n"), environment)
		if want == "" {
			if err == nil {
				t.Errorf("%s was accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		d, ok := c.Derived("x")
		if !ok || d.String() != want || c.Derive["x"] != want {
			t.Errorf("%s is %s and %s, want %s", text, d.String(), c.Derive["x"], want)
		}
		again, err := ParseDerivation(want)
		if err != nil || again.String() != want {
			t.Errorf("%s read again is %s, %v", want, again.String(), err)
		}
	}
}

// TestDerivedFeaturesAreFeatures: they follow the listed ones by name, or stand where record.features has them, with
// its use and cuts; the dump loads again as the same configuration.
func TestDerivedFeaturesAreFeatures(t *testing.T) {
	c := derived(t, "    - {name: z, use: report}\n    - {name: y, cuts: [1, 2]}\n"+
		"derive: {b: 'bucket(age, 3, 7)', z: weekday(time), y: log(age), a: hour(time)}\n")
	var got []string
	for _, f := range c.Record.Features {
		got = append(got, fmt.Sprintf("%s %s %s %v %v", f.Name, f.Kind, f.Use, f.Levels, f.Cuts))
	}
	want := []string{"age continuous score [] []", "job nominal score [] []",
		"z ordinal report [Monday Tuesday Wednesday Thursday Friday Saturday Sunday] []", "y continuous score [] [1 2]",
		"a continuous score [] []", "b ordinal score [up to 3 (3, 7] above 7] []"}
	if !slices.Equal(got, want) {
		t.Errorf("features\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	again, _, err := Parse("t.yaml", c.Redacted(), environment)
	if err != nil {
		t.Fatalf("the dump does not load: %v\n%s", err, c.Redacted())
	}
	if again.Fingerprint() != c.Fingerprint() || string(again.Redacted()) != string(c.Redacted()) {
		t.Errorf("the dump loads as another configuration:\n%s", again.Redacted())
	}
	if got := c.Sources(); !slices.Equal(got, []string{"age"}) {
		t.Errorf("sources %q", got)
	}
}

// TestFingerprintOfDerivedFeatures: spelling does not count, the expression does, and the frame stays.
func TestFingerprintOfDerivedFeatures(t *testing.T) {
	plain, _ := load(t, minimal)
	a, b := derived(t, "derive: {x: 'log( age )'}\n"), derived(t, "derive: {x: log(age)}\n")
	other, through := derived(t, "derive: {x: 'ratio(age, age)'}\n"), derived(t, "derive: {x: 'hour(time, zone=UTC)'}\n")
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("a blank changes the fingerprint")
	}
	for i, c := range []*Config{plain, other, through} {
		if c.Fingerprint() == a.Fingerprint() {
			t.Errorf("configuration %d has the same fingerprint", i)
		}
		if c.Frame() != a.Frame() {
			t.Errorf("configuration %d has another frame", i)
		}
	}
}

// TestTimelessDerivationsWarn: files have no time of their own.
func TestTimelessDerivationsWarn(t *testing.T) {
	_, ws := load(t, minimal+"derive: {x: 'log(hour(time))', y: log(age)}\n")
	if len(ws) != 1 || ws[0].Line != 7 || !strings.Contains(ws[0].Message, "derive.x needs the time of the record") {
		t.Errorf("warnings %v", ws)
	}
	if _, ws = load(t, strings.Replace(minimal, "record:\n", "record:\n  time: at\n", 1)+
		"derive: {x: 'log(hour(time))'}\n"); len(ws) != 0 {
		t.Errorf("warnings with record.time: %v", ws)
	}
	for _, text := range []string{"count(30d)", "since_last()", "age(born, d)", "weekday(time)"} {
		_, ws = load(t, strings.Replace(minimal, "record:\n", "record:\n  id: who\n", 1)+
			"derive: {x: '"+strings.Replace(text, "born", "age", 1)+"'}\n")
		if len(ws) != 1 || !strings.Contains(ws[0].Message, "derive.x needs the time of the record") {
			t.Errorf("%s: warnings %v", text, ws)
		}
	}
}

// TestDerivationsAreBounded: length, depth and number hold also where derived features are written out.
func TestDerivationsAreBounded(t *testing.T) {
	chain := func(n int) string {
		text := "derive:\n  f0: log(age)\n"
		for i := 1; i < n; i++ {
			text += fmt.Sprintf("  f%d: log(f%d)\n", i, i-1)
		}
		return text
	}
	doubled := "derive:\n  f0: 'ratio(age, age)'\n"
	for i := 1; i < 7; i++ {
		doubled += fmt.Sprintf("  f%d: 'ratio(f%d, f%d)'\n", i, i-1, i-1)
	}
	many := "derive:\n"
	for i := range MaxDerived + 1 {
		many += fmt.Sprintf("  f%d: log(age)\n", i)
	}
	derived(t, chain(8))
	for _, c := range []struct{ text, want string }{
		{chain(9), "more than 8 functions lie inside of each other"}, {doubled, "more than 1024 bytes"},
		{many, "at most 256 are possible"},
		{"derive: {x: '" + strings.Repeat("log(", 9) + "age" + strings.Repeat(")", 9) + "'}\n", "at most 8 inside"},
	} {
		if _, _, err := Parse("t.yaml", []byte(minimal+c.text), environment); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestOneFaultIsOneProblem: features that are derived from a faulty one are not reported, nor is one whose text is not
// known away from its environment.
func TestOneFaultIsOneProblem(t *testing.T) {
	for text, want := range map[string]string{
		"derive: {a: 'ratio(b, c)', b: log(c), c: log(nothing)}\n": "derive.c",
		"derive: {a: log(b), b: log(c), c: log(a)}\n":              "derive.c",
		"derive: {a: log(b), b: 'log(${A})'}\n":                    "derive.b",
	} {
		_, _, err := Parse("t.yaml", []byte(minimal+text), environment)
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) ||
			strings.Contains(err.Error(), "alpha") {
			t.Errorf("%s: %v, want one problem of %s", text, err, want)
		}
	}
	if _, _, err := Parse("t.yaml", []byte(minimal+"derive: {a: log(b), b: 'log(${A})'}\n"), nil); err != nil {
		t.Errorf("an expression that is not known: %v", err)
	}
}

// TestZones: the zones come from the file of this package and not from the machine.
func TestZones(t *testing.T) {
	berlin, err := zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// Summer time began on 29 March 2026 at 01:00 UTC.
	for at, want := range map[int64]string{1774745999: "01:59:59", 1774746000: "03:00:00"} {
		if got := time.Unix(at, 0).In(berlin).Format(time.TimeOnly); got != want {
			t.Errorf("%d is %s in Berlin, want %s", at, got, want)
		}
	}
	for _, name := range []string{"", "Local", "Europe", "Europe/", "../etc/passwd", "Europe/berlin"} {
		if z, err := zone(name); err == nil {
			t.Errorf("zone %q is %v", name, z)
		}
	}
}

// FuzzDerivation: any text gives an expression with a canonical form, or an error that names a place in it.
func FuzzDerivation(f *testing.F) {
	for _, text := range []string{"hour(time, zone=Europe/Berlin)", "log(ratio(age, 'a b'))", "bucket(age, 1, 2e3)",
		"age(when, d, unit=s)", "((", "log(", "hour(time,,)", "\xff(1)", "bucket(ä, nan)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDerivation(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "at character ") {
				t.Error(err)
			}
			return
		}
		again, err := ParseDerivation(d.String())
		if len(d.String()) <= maxExpression && (err != nil || again.String() != d.String()) {
			t.Errorf("%q is %q, and that is %q, %v", text, d.String(), again.String(), err)
		}
		if (d.Kind() == KindOrdinal) != (len(d.Levels()) > 1) {
			t.Errorf("%q is %s of the levels %q", text, d.Kind(), d.Levels())
		}
	})
}
