package show

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"liftstream/codec"
	"liftstream/model/report/text"
)

// people appends scores as people read them.
func (p *rowPrinter) people(b []byte, t *codec.Table, n int) []byte {
	for i := range n {
		b = p.score(b, tableRow{t, i})
	}
	return b
}

// scoreRow is one score, of a table or of a JSON line; absent and null texts are empty.
type scoreRow interface{ text(column string) string }

type tableRow struct {
	t *codec.Table
	i int
}

func (r tableRow) text(column string) string {
	if c := r.t.Column(column); c >= 0 {
		s, _ := r.t.Text(c, r.i)
		return s
	}
	return ""
}

type jsonRow map[string]json.RawMessage

func (r jsonRow) text(column string) string {
	raw := string(r[column])
	var s string
	switch {
	case raw == "null":
		return ""
	case strings.HasPrefix(raw, `"`) && json.Unmarshal(r[column], &s) == nil:
		return s
	}
	return raw
}

// score appends one line, and the heading before the first.
func (p *rowPrinter) score(b []byte, r scoreRow) []byte {
	of := func(c codec.Score) string { return r.text(c.String()) }
	const layout = "%-16s %-14s %11s %8s %7s %6s  %s\n"
	if !p.headed {
		b = fmt.Appendf(b, layout, "who", "most likely", "propensity", "average", "top", "model", "because")
		p.headed = true
	}
	number := func(digits string) float64 {
		if v, err := strconv.ParseFloat(digits, 64); err == nil {
			return v
		}
		return math.NaN()
	}
	share := func(v float64) string {
		if math.IsNaN(v) {
			return "-"
		}
		return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
	}
	who := of(codec.ScoreID)
	if who == "" {
		who = of(codec.ScorePartition) + "/" + of(codec.ScoreOffset) + "/" + of(codec.ScoreRow)
	}
	times := "-"
	if v := number(of(codec.ScoreLift)); !math.IsNaN(v) {
		times = strconv.FormatFloat(v, 'f', 1, 64) + "x"
	}
	because := reasons(of(codec.ScoreWhy))
	if because == "" {
		because = "(" + of(codec.ScoreStatus) + ")"
	}
	propensity := share(number(r.text(codec.PropensityColumn(of(codec.ScoreTarget)))))
	if low, high := of(codec.ScoreLow), of(codec.ScoreHigh); low != "" && high != "" {
		because = fmt.Sprintf("(%s to %s) %s", share(number(low)), share(number(high)), because)
	}
	if of(codec.ScoreControl) == "true" {
		because = "(control) " + because
	}
	return fmt.Appendf(b, layout, text.Clip(who, 16), text.Clip(of(codec.ScoreSegment), 14), propensity, times,
		share(1-number(of(codec.ScorePercentile))), of(codec.ScoreModel), text.Clip(because, 1000))
}

// reasons writes the first reasons of a why list, given as JSON.
func reasons(list string) string {
	var why []struct {
		Feature string   `json:"feature"`
		Value   *string  `json:"value"`
		Effect  float64  `json:"effect"`
		Lift    *float64 `json:"lift"`
	}
	if json.Unmarshal([]byte(list), &why) != nil {
		return ""
	}
	var parts []string
	for _, x := range why[:min(3, len(why))] {
		value := "missing"
		if x.Value != nil {
			value = *x.Value
		}
		parts = append(parts, fmt.Sprintf("%s=%s (%+.2f)", x.Feature, value, x.Effect))
	}
	return strings.Join(parts, ", ")
}
