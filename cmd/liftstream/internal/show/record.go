package show

import (
	"fmt"
	"io"
	"strconv"

	"liftstream/model"
	"liftstream/model/local"
	"liftstream/model/report/text"
)

// Record prints the score of the record that p scored last, which has the number n, and the evidence of each of its
// features about the class, as its component local sees it.
func Record(w io.Writer, schema *model.Schema, p *model.Partition, scores *model.Scores, n int64) error {
	fmt.Fprintf(w, "record %d: %s", n, scores.Status[0])
	if scores.Reason[0] != "" {
		fmt.Fprintf(w, " (%s)", scores.Reason[0])
	}
	for y, class := range schema.Classes {
		fmt.Fprintf(w, ", %s %s", class, text.Decimals(scores.P[y], 3))
	}
	fmt.Fprintf(w, "; %s is %s times its base rate of %s\n", schema.Classes[scores.Target[0]],
		text.Decimals(scores.Lift[0], 2), text.Decimals(scores.BaseRate[0], 3))
	explanations := p.Component(local.Name).(*local.Component).Explain(p.Row(), nil)
	if len(explanations) == 0 {
		_, err := fmt.Fprintln(w, "the model has no local curves")
		return err
	}
	var rows [][]string
	for _, e := range explanations {
		f := schema.Features[e.Feature]
		value := valueText(&f, p.Levels(), e.Feature, e.Value)
		place := ""
		if e.Rank > 0 {
			place = strconv.Itoa(e.Rank)
		}
		rows = append(rows, []string{f.Name, value, nats(e.Alone), nats(e.Beside), place, text.Decimals(e.Mean, 3),
			text.Decimals(e.Deviation, 3)})
	}
	fmt.Fprintln(w)
	return text.Table(w, "", []string{"feature", "value", " alone", " beside others", " place", " curve", " sd"}, rows)
}

// nats writes the evidence of a feature, "-" where chance explains it.
func nats(v float64) string {
	if v == 0 {
		return "-"
	}
	return text.Decimals(v, 4)
}
