package show

import (
	"fmt"
	"io"

	"liftstream/model"
	"liftstream/model/report/text"
	"liftstream/model/unusual"
)

// Unusual prints the feature of the record that p scored last whose value lies outside the learnt ones, and the usual
// numbers of it; nothing where there is none, or where none is looked for.
func Unusual(w io.Writer, schema *model.Schema, p *model.Partition, scores *model.Scores) error {
	if len(scores.Unusual) == 0 || scores.Unusual[0] < 0 {
		return nil
	}
	f := scores.Unusual[0]
	x, v := &schema.Features[f], p.Row()[f]
	usual := ""
	if c, ok := p.Component(unusual.Name).(*unusual.Component); ok {
		if low, high, ok := c.Usual(f); ok && x.Kind == model.Continuous {
			usual = fmt.Sprintf("; usual are %s to %s", text.Number(low), text.Number(high))
		}
	}
	_, err := fmt.Fprintf(w, "\nunusual: %s is %s, outside the learnt values%s\n", x.Name,
		valueText(x, p.Levels(), f, v), usual)
	return err
}

// valueText writes the value of feature f in a row.
func valueText(x *model.Feature, levels *model.Levels, f int32, v float64) string {
	switch n := x.Number(v); {
	case n != n:
		return "(missing)"
	case x.Kind == model.Continuous:
		return text.Number(n)
	}
	return levels.Text(int(f), v)
}
