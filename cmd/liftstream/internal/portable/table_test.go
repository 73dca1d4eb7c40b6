package portable

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestPoints: odds of Odds to 1 have Base points, and PDO more double them, added up over the rows of the table.
func TestPoints(t *testing.T) {
	c := &Card{
		Margins: []Margin{{Intercept: math.Log(10), Share: 1, Z: []float64{-6, 6}, Value: []float64{-6, 6}}},
		Features: []Feature{{Name: "a, \"b\"", Kind: "nominal", Missing: []float64{0}, Unknown: []float64{0},
			Levels: []Level{{Level: "x", Records: 3, Effect: []float64{math.Log(4)}}}}},
		Points: &Points{Base: 600, Odds: 10, PDO: 20},
	}
	var b strings.Builder
	if err := c.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for _, r := range rows {
		if r[0] == "intercept" || r[0] == "level" && r[1] == "a, \"b\"" {
			v, err := strconv.ParseFloat(r[len(r)-1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	if math.Abs(sum-640) > 1e-9 {
		t.Errorf("odds of 40 have %v points, want 640:\n%s", sum, b.String())
	}
}

// TestNamesAreQuoted: a name cannot end its quotes or its comment.
func TestNamesAreQuoted(t *testing.T) {
	c := &Card{Name: "n\nDROP TABLE x; --", Target: `y"`, Other: "n", Clip: 12,
		Margins: []Margin{{Share: 1, Z: []float64{-6, 6}, Value: []float64{-6, 6}}},
		Features: []Feature{{Name: `f"<&`, Kind: "nominal", Missing: []float64{0}, Unknown: []float64{0},
			Levels: []Level{{Level: "it's <b>", Effect: []float64{1}}}}}}
	for format, want := range map[string][]string{
		"sql":  {`"f""<&"`, `'it''s <b>'`, `"propensity_y"""`},
		"pmml": {`"f&#34;&lt;&amp;"`, `it&#39;s &lt;b&gt;`, `"propensity_y&#34;"`},
	} {
		var b strings.Builder
		if err := c.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if !strings.Contains(b.String(), s) {
				t.Errorf("%s lacks %s:\n%s", format, s, b.String())
			}
		}
		if strings.Contains(b.String(), "\nDROP") {
			t.Errorf("%s: a name begins a line", format)
		}
	}
}
