package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/report/text"
)

func fitCommand(a *cli.App) *cobra.Command {
	var f fitting
	c := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use:   "fit -c FILE DATA... [--model OUT] [--report OUT.json] [--as-of end]",
		About: `Fit a model to files, exactly
Reads all labelled records of the files and finds the sets of features that tell the classes apart, the windows and
the profiles in which a class is over-represented, and a scorecard of them: one exact fit over every record.

The order of the records does not matter: the same records in any other order give the same model, byte for byte, and
the mean of the propensities that it gives them is their rate. With --as-of end it does: the model is that of a stage
which has learnt the records one by one, the last of them just now, so that its short half-lives
(propensity.half_lives), its calibration and its mixture speak of the last records. That suits a stage that goes on
from there, 'run --model', where the files are the stream's own past, oldest first.

--model writes the model, with which 'score' scores. --report writes all findings as JSON, with the importance of the
features; without it a short summary goes to standard output. 'validated' is the lift of a profile on records held back
from the search (a fifth, see lift.profiles.validate: drawn at random, with --as-of end the last), with an interval
that holds at 95 % for all profiles of the report at once; 'confirmed' says that its q-value is at most .05, and only
then do scores show it. The interval asks for more than the q-value: that of a confirmed profile can begin below 1.
'lift' is the lift on all records, also on the records in which the profile was searched: chance is part of it. An
interval of a lift in a cell of a set, in the report, is of that cell by itself.`,
		Example: `
liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv --model votes.model`,
		Args: cli.Needs(1, -1, "data files"),
		Run:  func(ctx context.Context, data []string) error { return f.run(ctx, a, data) },
	})
	cli.ConfigFlag(c, &f.config)
	c.Flags().StringVarP(&f.model, "model", "m", "", "write the model to `OUT`; - is standard output, in place of the "+
		"summary")
	c.Flags().StringVar(&f.triples, "triples", "", "compare the records of `FILE`, whose lines i,j,k say that the "+
		"record of id i is more like j than like k, when the kernel is designed; "+
		"without it triples are drawn from the classes")
	c.Flags().StringVar(&f.asOf, "as-of", "", "`end`: fit the model of a stage that has learnt the records in their "+
		"order; without it order does not matter")
	c.Flags().StringVarP(&f.report, "report", "r", "", "write the report to `OUT.json`; - is standard output")
	return c
}

type fitting struct{ config, model, report, triples, asOf string }

func (f *fitting) run(ctx context.Context, a *cli.App, data []string) error {
	if f.asOf != "" && f.asOf != "end" {
		return cli.Usagef("--as-of %s: the only value is end; leave the flag out to fit records whose order does not matter",
			f.asOf)
	}
	err := cli.Apart(cli.Places(data, cli.Place{Flag: "config", Path: f.config},
		cli.Place{Flag: "triples", Path: f.triples}), cli.Place{Flag: "model", Path: f.model},
		cli.Place{Flag: "report", Path: f.report})
	if err != nil {
		return err
	}
	stage, err := assemble.Load(a.LoadOffline, f.config)
	if err != nil {
		return err
	}
	c := stage.Config
	var given *records.Comparisons
	var triples [][3]int32
	if f.triples != "" {
		if err := stage.Compare(&triples); err != nil {
			return fmt.Errorf("%s: --triples %s: %w", f.config, f.triples, err)
		}
		if given, err = records.ReadComparisons(f.triples); err != nil {
			return err
		}
	}
	timing := stage.Time()
	start := time.Now()
	builder := model.NewBuilder(stage.Spec)
	n, err := records.Gather(ctx, a, data, file.Options{Codec: stage.Codec, RequireLabel: true}, builder, given, nil)
	if err != nil {
		return err
	}
	if given != nil {
		if triples, err = given.Indices(data); err != nil {
			return err
		}
	}
	if builder.Len() == 0 {
		return fmt.Errorf("%s: none of the %s has one of the classes %s in column %q; see record.label in %s",
			text.Joined(data), text.Count(n, "record"),
			text.Some(stage.Spec.Schema.Classes, 6), c.Record.Label.Column, f.config)
	}
	read := time.Since(start)
	if builder.Classes() < 2 {
		return fmt.Errorf("%s: each labelled record (%d) is of the class %s; a fit needs records of two classes",
			text.Joined(data), builder.Len(),
			stage.Spec.Schema.Classes[builder.Evidence().Class[0]])
	}
	fit, evidence := builder.Fit, builder.Exchangeable
	if f.asOf == "end" {
		fit, evidence = builder.FitAsOfEnd, builder.Evidence
	}
	a.Step("fitting %s of %s", text.Count(builder.Len(), "record"), text.Count(len(stage.Spec.Schema.Features), "feature"))
	m, err := fit(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", text.Joined(data), err)
	}
	if f.model != "" {
		b := m.AppendBinary(nil)
		if err := a.WriteFile(f.model, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
		a.Notef("model to %s (%s)", f.model, text.Bytes(int64(len(b))))
	}
	r, err := stage.Report(c.Name, n, evidence(), m)
	if err != nil {
		return err
	}
	stage.ReportGoals(builder, m, r)
	r.Seconds = timing.Seconds(read)
	if f.report != "" {
		if r.Importance, err = stage.Importance(evidence(), m); err != nil {
			return err
		}
	}
	switch {
	case f.report == "" && f.model == "-": // standard output holds the model
		return nil
	case f.report == "":
		return show.Report(a.Out, r, c.Record.Label.Positive, stage.Summary(r))
	}
	err = a.WriteFile(f.report, func(w io.Writer) error {
		return cli.WriteJSON(w, r)
	})
	if err == nil && f.report != "-" {
		a.Notef("report to %s", f.report)
	}
	return err
}
