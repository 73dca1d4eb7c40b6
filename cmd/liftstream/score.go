package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/report/text"
)

func scoreCommand(a *cli.App) *cobra.Command {
	var s scoring
	c := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use:   "score -c FILE --model MODEL DATA... [--out OUT] [--method all|lift] [--explain | --record N]",
		About: `Score files with a fitted model
Scores records with the model that 'fit' wrote. Nothing is learnt on the way: the labels of the files, if there are
any, are not looked at, and every record gets the score that the model alone gives it (only percentile, the width of
output.interval, and features of since_last and count look at the records before; a model knows none of the records of
its fit, so give the files of the time before as well). A model that 'fit' wrote speaks of all its records alike: the
mean of its propensities over them is their rate. One of 'fit --as-of end' speaks as of the last of them: with short
half-lives (propensity.half_lives) it follows the latest base rates, so it suits the next records better than old ones.
'inspect' tells which one it is. To see how good a model is that learns as it goes, use 'eval'.

Each record's scores are one line of JSON on standard output, or a row of the file --out, whose extension says the
format: .jsonl .csv .arrow .arrows .feather .parquet. source_row is the number of the record, over all files from 0.
--method lift gives the scores of the scorecard alone, features and entered sets of features, the inputs of the other
parts being 0: 'model export' writes that score.

With --explain, 'why' holds every contribution to the log-odds of 'target', the named terms in parentheses among
them; they sum to the log-odds of its propensity.

--record N explains one record instead, that of source_row N: its score, and for each feature the evidence of its value
about the class beyond chance, in nats: alone (the class shares around the value against the base rates) and beside the
others (the class shares of the nearest records that agree in it against those of all the nearest), - where chance
explains it; the place in the record's subspace, whose relevance is the larger of the two; and the mean and standard
deviation of the curve by which the neighbours' distance selects features. Sentences follow: the values that raise the
odds of 'target', and those that lower it, by what factor, and before them the feature that lies outside the learnt
values (output.unusual); percentile and interval are those of a first record.`,
		Example: `
liftstream fit -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --model bank.model
liftstream score -c cmd/liftstream/examples/bank.yaml --model bank.model cmd/liftstream/examples/bank.csv --out s.csv
liftstream score -c cmd/liftstream/examples/bank.yaml --model bank.model cmd/liftstream/examples/bank.csv --record 178`,
		Args: cli.Needs(1, -1, "data files"),
		Run:  func(ctx context.Context, data []string) error { return s.run(ctx, a, data) },
	})
	cli.ConfigFlag(c, &s.config)
	c.Flags().StringVarP(&s.model, "model", "m", "", "model `FILE` that fit wrote (required)")
	c.Flags().StringVarP(&s.out, "out", "o", "-", "write to `OUT`; - is JSON lines on standard output")
	c.Flags().StringVar(&s.method, "method", methodAll, "`METHOD`: all, or lift for the scorecard without other parts")
	c.Flags().BoolVar(&s.explain, "explain", false, "give every contribution, not only the largest")
	c.Flags().Int64Var(&s.record, "record", 0, "explain the record with source_row `N`, feature by feature")
	s.one = func() bool { return c.Flags().Changed("record") }
	return c
}

// methodAll are the scores of all parts.
const methodAll = evaluate.MethodAll

type scoring struct {
	config, model, out string
	method             string
	explain            bool
	record             int64
	one                func() bool // whether one record is asked for
	batch              int         // records of a batch; 0 = the reader's own
}

func (s *scoring) run(ctx context.Context, a *cli.App, data []string) error {
	one := s.one != nil && s.one()
	if s.model == "" {
		return cli.Usagef("the model is missing: give it with --model FILE; 'liftstream fit' writes one")
	}
	if err := cli.Apart(cli.Places(data, cli.Place{Flag: "config", Path: s.config},
		cli.Place{Flag: "model", Path: s.model}), cli.Place{Flag: "out", Path: s.out}); err != nil {
		return err
	}
	if s.method != "" && s.method != methodAll && s.method != lift.Name {
		return cli.Usagef("--method %q: it is all or lift", s.method)
	}
	if s.out != "-" {
		if _, _, err := file.KindOf(s.out); err != nil {
			return err
		}
	}
	if one && (s.explain || s.out != "-") {
		return cli.Usagef("--record explains one record on standard output: it goes with neither --explain nor --out")
	}
	stage, err := assemble.Load(a.LoadOffline, s.config)
	if err != nil {
		return err
	}
	if one {
		if err := stage.Has(local.Name); err != nil {
			return fmt.Errorf("%s: --record %d: %w", s.config, s.record, err)
		}
	}
	if s.method == lift.Name {
		if one {
			return cli.Usagef("--record looks at the neighbours of a record: it goes with --method all only")
		}
		stage.Spec = stage.Base()
	}
	if s.explain || one {
		stage.Spec.Options.Why = -1
	}
	if one {
		stage.Spec.Options.GoalReasons = true
	}
	// Nothing waits for a label here.
	stage.Spec.Options.WaitBytes = 0
	m, err := assemble.ReadModel(s.model, stage.Spec.Schema)
	if err != nil {
		return err
	}
	p := model.NewPartition(stage.Spec, 0)
	if err := p.Swap(m); err != nil {
		return assemble.Foreign(s.model, err)
	}
	columns := stage.Codec
	columns.Label, columns.Goals = "", nil // nothing is learnt
	if one {
		scores, err := records.Nth(ctx, a, data, columns, s.record, p)
		if err != nil {
			return err
		}
		if err := show.Record(a.Out, stage.Spec.Schema, p, scores, s.record); err != nil {
			return err
		}
		if err := show.Unusual(a.Out, stage.Spec.Schema, p, scores); err != nil {
			return err
		}
		if err := show.Sides(a.Out, stage.Spec.Schema, p.Levels(), scores); err != nil {
			return err
		}
		return show.Goals(a.Out, stage.Spec.Schema, p.Levels(), scores, stage.GoalNames())
	}
	start := time.Now()
	o := records.Scoring{In: file.Options{Codec: columns, Rows: s.batch}, Out: stage.Codec, Path: s.out}
	n, err := o.Score(ctx, a, data, p)
	if err != nil {
		return err
	}
	a.Notef("%s scored%s with model %d (%s)", text.Count(int(n), "record"), toFile(s.out), m.Version,
		text.Rate(n, time.Since(start)))
	return nil
}

// toFile names the file of the results, unless it was standard output.
func toFile(out string) string {
	if out == "-" {
		return ""
	}
	return " to " + out
}
