package infer

import (
	"strings"
	"testing"

	"liftstream/config"
)

// TestGoalsOfAnAnswer: an answer has the propensity and the lift of each goal, and its reasons where reasons are asked
// for.
func TestGoalsOfAnAnswer(t *testing.T) {
	old := "label: {column: y, classes: [no, yes], positive: yes}"
	list := "label: [{column: y, classes: [no, yes], positive: yes}, {column: clicks}]"
	text := strings.Replace(testConfig, old, list, 1) + "output: {goals: why}\n"
	if _, _, err := config.Parse("test.yaml", []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, text, nil)
	const record = `{"customer": "a", "age": 1, "plan": "base"}`
	for path, reasons := range map[string]bool{"/v1/score?partition=0": false,
		"/v1/score?reasons=true&partition=0": true} {
		got := w.send("POST", path, strings.Replace(record, `"customer": "a", `, "", 1)).Body.String()
		if !strings.Contains(got, `"propensity_clicks":`) || !strings.Contains(got, `"lift_clicks":`) ||
			strings.Contains(got, `"why_clicks":`) != reasons || strings.Contains(got, `"why":`) != reasons {
			t.Errorf("%s: %s", path, got)
		}
	}
	const inputs = `"inputs": [{"name": "age", "datatype": "FP64", "shape": [1], "data": [1]},
		{"name": "plan", "datatype": "BYTES", "shape": [1], "data": ["base"]}]`
	for body, reasons := range map[string]bool{"{" + inputs + "}": false,
		`{"parameters": {"reasons": true}, ` + inputs + "}":                                    true,
		`{"outputs": [{"name": "why_clicks"}, {"name": "propensity_clicks"}], ` + inputs + "}": true} {
		got := w.send("POST", "/v2/models/shop/infer", body).Body.String()
		if !strings.Contains(got, `"propensity_clicks"`) || strings.Contains(got, `"why_clicks"`) != reasons {
			t.Errorf("%s: %s", body, got)
		}
	}
}
