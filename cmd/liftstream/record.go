package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/local"
)

// explainRecord prints the score of one record and what each of its features tells about the class.
func (s *scoring) explainRecord(ctx context.Context, a *app, data []string, o file.Options, schema *model.Schema, p *model.Partition) error {
	if s.record < 0 {
		return usagef("--record %d: records are numbered from 0", s.record)
	}
	r, bar, err := a.open("looking for the record", data, o)
	if err != nil {
		return err
	}
	defer r.Close()
	defer bar.done()
	var b model.Batch
	for n := int64(0); ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("--record %d: %s has %s, numbered from 0", s.record, joined(data), count(int(n), "record"))
		}
		if err != nil {
			return err
		}
		if n == s.record {
			break
		}
	}
	b.Offset, b.Row[0] = s.record>>31, int32(s.record&math.MaxInt32)
	var scores model.Scores
	p.Events(&b, &scores)
	bar.done()
	return printRecord(a.out, schema, p, &scores, s.record)
}

func printRecord(w io.Writer, schema *model.Schema, p *model.Partition, scores *model.Scores, n int64) error {
	fmt.Fprintf(w, "record %d: %s", n, scores.Status[0])
	if scores.Reason[0] != "" {
		fmt.Fprintf(w, " (%s)", scores.Reason[0])
	}
	for y, class := range schema.Classes {
		fmt.Fprintf(w, ", %s %s", class, decimals(scores.P[y], 3))
	}
	target := scores.Target[0]
	fmt.Fprintf(w, "; %s is %s times its base rate of %s\n", schema.Classes[target], decimals(scores.Lift[0], 2), decimals(scores.BaseRate[0], 3))
	c, ok := p.Component(local.Name).(*local.Component)
	if !ok {
		return fmt.Errorf("the configuration has no component %s", local.Name)
	}
	explanations := c.Explain(p.Row(), nil)
	if len(explanations) == 0 {
		_, err := fmt.Fprintln(w, "the model has no local curves")
		return environment(err)
	}
	var rows [][]string
	for _, e := range explanations {
		f := schema.Features[e.Feature]
		value := "(missing)"
		switch {
		case math.IsNaN(e.Value):
		case f.Kind == model.Continuous:
			value = number(e.Value)
		default:
			value = p.Levels().Text(int(e.Feature), e.Value)
		}
		place := ""
		if e.Rank > 0 {
			place = strconv.Itoa(e.Rank)
		}
		rows = append(rows, []string{f.Name, value, nats(e.Alone), nats(e.Beside), place, decimals(e.Mean, 3), decimals(e.Deviation, 3)})
	}
	fmt.Fprintln(w)
	return table(w, "", []string{"feature", "value", " alone", " beside others", " place", " curve", " sd"}, rows)
}

// nats shows what a feature tells, which is nothing where chance explains it.
func nats(v float64) string {
	if v == 0 {
		return "-"
	}
	return decimals(v, 4)
}
