package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/report"
)

func fitCommand(a *app) *cobra.Command {
	var f fitting
	c := a.command(groupFiles, "fit -c FILE DATA... [--model OUT] [--report OUT.json] [--as-of end]", `Fit a model to files, exactly
Reads all labelled records of the files and finds the sets of features that tell the classes apart, the windows and
the profiles in which a class is over-represented, and a scorecard of them: one exact fit over every record.

The order of the records does not matter: the same records in any other order give the same model, byte for byte, and
the mean of the propensities that it gives them is their rate. With --as-of end it does: the model is that of a stage
which has learnt the records one by one, the last of them just now, so that its short half-lives
(propensity.half_lives), its calibration and its mixture speak of the last records. That suits a stage that goes on
from there, 'run --model', where the files are the stream's own past, oldest first.

--model writes the model, with which 'score' scores. --report writes all that was found as JSON; without it a short
summary goes to standard output. 'validated' is the lift of a profile on records held back from the search (a fifth, see
lift.profiles.validate: drawn at random, with --as-of end the last), with an interval that holds at 95 % for all profiles
of the report at once; 'confirmed' says that its q-value is at most .05, and only then do scores carry it. 'lift' is that
on all records, those included among which the profile was searched: chance is part of it. An interval of a lift in a cell
of a set, in the report, is of that cell by itself.`,
		`liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv --model votes.model`,
		needs(1, -1, "data files"), func(ctx context.Context, data []string) error { return f.run(ctx, a, data) })
	configFlag(c, &f.config)
	c.Flags().StringVarP(&f.model, "model", "m", "", "write the model to `OUT`; - is standard output, in place of the summary")
	c.Flags().StringVar(&f.triples, "triples", "", "compare the records of `FILE`, whose lines i,j,k say that the record of id i is more like j than like k, when the kernel is designed; without it triples are drawn from the classes")
	c.Flags().StringVar(&f.asOf, "as-of", "", "`end`: fit the model of a stage that has learnt the records in their order; without it order does not matter")
	c.Flags().StringVarP(&f.report, "report", "r", "", "write the report to `OUT.json`; - is standard output")
	return c
}

type fitting struct{ config, model, report, triples, asOf string }

func (f *fitting) run(ctx context.Context, a *app, data []string) error {
	if f.asOf != "" && f.asOf != "end" {
		return usagef("--as-of %s: the only value is end; leave the flag out to fit records whose order does not matter", f.asOf)
	}
	err := apart(places(data, place{"config", f.config}, place{"triples", f.triples}), place{"model", f.model}, place{"report", f.report})
	if err != nil {
		return err
	}
	c, err := a.loadOffline(f.config)
	if err != nil {
		return err
	}
	stage, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", f.config, err)
	}
	var given *comparisons
	if f.triples != "" {
		if given, err = readComparisons(f.triples); err != nil {
			return err
		}
	}
	var triples [][3]int32
	var turn sync.Mutex
	seconds := map[string]*time.Duration{}
	for i, x := range stage.Spec.Components {
		if k, ok := x.(*kernel.Factory); ok && given != nil {
			x = &compared{k, &triples}
		}
		t := &timed{Factory: x, turn: &turn}
		stage.Spec.Components[i], seconds[x.Name()] = t, &t.took
	}
	start := time.Now()
	builder := model.NewBuilder(stage.Spec)
	records, err := a.gather(ctx, data, file.Options{Codec: stage.Codec, RequireLabel: true}, builder, given, nil)
	if err != nil {
		return err
	}
	if given != nil {
		if triples, err = given.indices(data); err != nil {
			return err
		}
	}
	if builder.Len() == 0 {
		return fmt.Errorf("%s: none of the %s has one of the classes %s in column %q; see record.label in %s", joined(data), count(records, "record"),
			some(stage.Spec.Schema.Classes, 6), c.Record.Label.Column, f.config)
	}
	read := time.Since(start)
	if builder.Classes() < 2 {
		return fmt.Errorf("%s: all %s are of the class %s; a fit needs records of two classes", joined(data), count(builder.Len(), "labelled record"),
			stage.Spec.Schema.Classes[builder.Evidence().Class[0]])
	}
	fit, evidence := builder.Fit, builder.Exchangeable
	if f.asOf == "end" {
		fit, evidence = builder.FitAsOfEnd, builder.Evidence
	}
	if onTerminal(a.err) {
		a.notef("fitting %s of %s", count(builder.Len(), "record"), count(len(stage.Spec.Schema.Features), "feature"))
	}
	m, err := fit(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", joined(data), err)
	}
	if f.model != "" {
		b := m.AppendBinary(nil)
		if err := a.writeFile(f.model, func(w io.Writer) error { _, err := w.Write(b); return environment(err) }); err != nil {
			return err
		}
		a.notef("model to %s (%s)", f.model, bytesText(int64(len(b))))
	}
	r, err := reportOf(c.Name, records, evidence(), m)
	if err != nil {
		return err
	}
	r.Seconds = report.Seconds{{Step: "read", Seconds: read.Seconds()}}
	for _, x := range stage.Spec.Components {
		r.Seconds = append(r.Seconds, report.Second{Step: x.Name(), Seconds: seconds[x.Name()].Seconds()})
	}
	switch {
	case f.report == "" && f.model == "-": // standard output holds the model
		return nil
	case f.report == "":
		return summarise(a.out, r, c.Record.Label.Positive)
	}
	err = a.writeFile(f.report, func(w io.Writer) error {
		return writeJSON(w, r)
	})
	if err == nil && f.report != "-" {
		a.notef("report to %s", f.report)
	}
	return err
}

// timed is a Factory that notes how long its Fit took. Fits take turns, so that each has all cores and its time is its
// own.
type timed struct {
	model.Factory
	turn *sync.Mutex
	took time.Duration
}

// Fit calls the factory's own.
func (t *timed) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	start := time.Now()
	defer func() { t.took = time.Since(start) }()
	return t.Factory.Fit(ctx, ev, previous)
}

// compared is the kernel's Factory with triples of its own, numbers of records in the order in which they were read.
type compared struct {
	*kernel.Factory
	triples *[][3]int32
}

// Fit is FitGiven.
func (c *compared) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	triples := *c.triples
	if ev.Source != nil {
		at := make([]int32, len(ev.Source))
		for i, s := range ev.Source {
			at[s] = int32(i)
		}
		triples = slices.Clone(triples)
		for t := range triples {
			for n, i := range triples[t] {
				triples[t][n] = at[i]
			}
		}
	}
	return c.FitGiven(ctx, ev, previous, triples)
}

// reportOf gathers what a fit found.
func reportOf(name string, records int, ev *model.Evidence, m *model.Model) (*report.Report, error) {
	s := ev.Schema
	r := &report.Report{Name: name, Records: records, Labelled: ev.Len(), Classes: s.Classes, BaseRates: make([]report.Number, len(s.Classes))}
	var n float64
	rates := make([]float64, len(s.Classes))
	for i, y := range ev.Class {
		rates[y] += ev.Weight[i]
		n += ev.Weight[i]
	}
	for y := range rates {
		r.BaseRates[y] = report.Number(rates[y] / n)
	}
	part, err := lift.DecodePart(s, m.Parts[lift.Name])
	if err != nil {
		return nil, fmt.Errorf("reading the model's part %s: %w", lift.Name, err)
	}
	part.Report(s, m.Levels, r)
	if b, ok := m.Parts[kernel.Name]; ok {
		part, err := kernel.DecodePart(s, b)
		if err != nil {
			return nil, fmt.Errorf("reading the model's part %s: %w", kernel.Name, err)
		}
		r.Kernel = part.Report(s)
	}
	if b, ok := m.Parts[local.Name]; ok {
		part, err := local.DecodePart(s, b)
		if err != nil {
			return nil, fmt.Errorf("reading the model's part %s: %w", local.Name, err)
		}
		r.Local = part.Section(s, m.Levels)
	}
	r.Features = report.Features(ev)
	return r, nil
}

// collect reads all records of the files and gives them to add, batch by batch. It returns their number.
func (a *app) collect(ctx context.Context, data []string, o file.Options, add func(b *model.Batch)) (int, error) {
	r, bar, err := a.open("reading", data, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer bar.done()
	n := 0
	var b model.Batch
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
		add(&b)
		n += b.N
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: no records", joined(data))
	}
	return n, nil
}

// joined lists file names in a message.
func joined(data []string) string {
	if len(data) > 3 {
		return fmt.Sprintf("%s and %d more files", data[0], len(data)-1)
	}
	return strings.Join(data, ", ")
}
