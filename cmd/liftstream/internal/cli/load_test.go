package cli

import (
	"fmt"
	"strings"
	"testing"

	"liftstream/config"
)

func TestTwins(t *testing.T) {
	const minimal = `name: bank
record:
  label: {column: y, classes: [%s]}
  features:
    - {name: age, kind: continuous}
    - {name: job, kind: nominal, levels: [%s]}
`
	for _, c := range []struct{ classes, levels, want string }{
		{"no, yes", `a, b, x, 1, 2.5, 007, 7, "+7"`, ""},
		{"0, 1", "true, false", ""},
		{"1, 1.0", "a, b", `3 record.label.classes[1]: "1" and "1.0" are one value`},
		{"no, True, x, true", "a, b", `3 record.label.classes[3]: "True" and "true" are one value`},
		{"0, 1, true", "a, b", `3 record.label.classes[2]: "1" and "true" are one value`},
		{"no, yes", "2.5, 2.50", `6 record.features[1].levels[1]: "2.5" and "2.50" are one value in two texts: which level`},
		{"no, yes", "2024-05-01, 2024-05-01T00:00:00Z", `6 record.features[1].levels[1]: "2024-05-01" and "2024-05-01T00`},
		{`no, "-0", 0`, "1, x, 1e+00, 1.", `3 record.label.classes[2]: "-0" and "0" are one value|` +
			`6 record.features[1].levels[2]: "1" and "1e+00" are one|6 record.features[1].levels[3]: "1" and "1." are one`},
		{"${ONE}, 1.0", "a, b", `3 record.label.classes[1]: the value of "${ONE}" and "1.0" are one value`},
	} {
		env := func(string) (string, bool) { return "1", true }
		got, ws, err := config.Parse("t.yaml", fmt.Appendf(nil, minimal, c.classes, c.levels), env)
		if err != nil || len(ws) > 0 {
			t.Errorf("classes %s, levels %s: %v %v", c.classes, c.levels, ws, err)
			continue
		}
		var found []string
		for _, w := range Twins(got) {
			if w.File != "t.yaml" {
				t.Errorf("a warning of file %q", w.File)
			}
			found = append(found, fmt.Sprintf("%d %s", w.Line, w.Message))
		}
		want := strings.Split(c.want, "|")
		ok := len(found) == len(want) || c.want == "" && len(found) == 0
		for i := range found {
			ok = ok && strings.HasPrefix(found[i], want[i])
		}
		if !ok {
			t.Errorf("classes %s, levels %s: got %q, want %q", c.classes, c.levels, found, want)
		}
	}
	if ws := Twins(nil); ws != nil {
		t.Errorf("of no configuration: %v", ws)
	}
}
