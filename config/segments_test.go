package config

import (
	"fmt"
	"strings"
	"testing"
)

// written is a condition with all of its parentheses.
func written(c *Condition) string {
	parts := func(all []Condition, sign string) string {
		var out []string
		for i := range all {
			out = append(out, written(&all[i]))
		}
		return "(" + strings.Join(out, sign) + ")"
	}
	switch {
	case len(c.Any) > 0:
		return parts(c.Any, "|")
	case len(c.All) > 0:
		return parts(c.All, "&")
	case c.Missing:
		return fmt.Sprintf("%s%s(missing)", c.Feature, c.Operator)
	}
	return fmt.Sprintf("%s%s%s", c.Feature, c.Operator, c.Value)
}

// TestConditions: & binds closer than |, and names and values may be quoted.
func TestConditions(t *testing.T) {
	for text, want := range map[string]string{
		"age>3":                                "age>3",
		" age >= -1e2 ":                        "age>=-1e2",
		"age>3|age<1&job=x":                    "(age>3|(age<1&job=x))",
		"(age>3 | age<1) & job != x":           "((age>3|age<1)&job!=x)",
		"((age>3))":                            "age>3",
		`"age">3 & job='a b & c'`:              "(age>3&job=a b & c)",
		"job=NA & job!='?'":                    "(job=(missing)&job!=(missing))",
		"job=Müller-5.x/2":                     "job=Müller-5.x/2",
		strings.Repeat("age>1&", 63) + "age>1": "(" + strings.Repeat("age>1&", 63) + "age>1)",
		strings.Repeat("(", 16) + "age>1" + strings.Repeat(")", 16): "age>1",
		strings.Repeat("(age>1)|", 20) + "age>1":                    "(" + strings.Repeat("age>1|", 20) + "age>1)",
	} {
		c := &Config{Record: Record{Missing: []string{"NA", "?"}, Features: []Feature{{Name: "age", Kind: KindContinuous},
			{Name: "job", Kind: KindNominal}}}, Segments: map[string]string{"s": text}}
		got, err := c.Condition("s")
		if err != nil || written(&got) != want {
			t.Errorf("%q: %s, %v; want %s", text, written(&got), err, want)
		}
		for _, long := range []string{text + strings.Repeat("&age>1", 64), "(" + text, text + ")", text + "&",
			strings.Repeat("(", 17) + text + strings.Repeat(")", 17), text + strings.Repeat(" ", 1024)} {
			c.Segments["s"] = long
			if got, err := c.Condition("s"); err == nil {
				t.Errorf("%q is read as %s", long, written(&got))
			}
		}
	}
}

// FuzzCondition: any text gives a condition or an error that names a place in it.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"age>3 & (job=x | job!='y z')", "job=NA", "((", "age>>1", "\xff=1", "ä<1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &Config{Record: Record{Missing: []string{"NA"}, Features: []Feature{{Name: "age", Kind: KindContinuous},
			{Name: "job", Kind: KindNominal}}}, Segments: map[string]string{"s": text}}
		if _, err := c.Condition("s"); err != nil && !strings.HasPrefix(err.Error(), "at character ") {
			t.Error(err)
		}
	})
}

// TestSegmentsShapeNoState: a state is the same with and without them, and they are few.
func TestSegmentsShapeNoState(t *testing.T) {
	plain, _ := load(t, minimal)
	with, _ := load(t, minimal+"segments: {old: age>60}\nmin_count: 5\n")
	if plain.Fingerprint() != with.Fingerprint() || plain.Frame() != with.Frame() {
		t.Error("segments change the fingerprint")
	}
	var many strings.Builder
	for i := range MaxSegments + 1 {
		fmt.Fprintf(&many, "  s%d: age>%d\n", i, i)
	}
	if _, _, err := Parse("t.yaml", []byte(minimal+"segments:\n"+many.String()), environment); err == nil ||
		!strings.Contains(err.Error(), "at most 50") {
		t.Errorf("51 segments: %v", err)
	}
}
