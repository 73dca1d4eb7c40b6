package main

import (
	"context"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/measure"

	"github.com/spf13/cobra"
)

func evalCommand(a *cli.App) *cobra.Command {
	var e measure.Evaluation
	c := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use: "eval -c FILE [-c CHALLENGER]... DATA... [--delay N] [--partitions P] [--protocol P] [--method M]... " +
			"[--on control] [--json OUT] [--scores OUT]",
		About: `Measure how good the scores are
Runs the stage over files as it would run over a topic, and compares its propensities with what happened.

Under the protocol prequential every record is scored before it, or any later one, is learnt; with --delay N its label
comes N records later. Models are re-fitted as fit.records says. The first --skip records are not counted. Under folds
the stage is fitted to all folds but one, as 'fit' does it, and scores that one, frozen; folds are drawn at random
(--folds) or read from a column (--fold-column; records without a value there are only learnt from).

Under triples the kernel alone is fitted to comparisons of the records outside of a fold, 'i is more like j than like
k', and asked for those of the records inside: whether it finds i and j more alike than either and k. Triples are drawn
from the classes, kernel.triples of them to fit and 1,000 to ask, or read from a file (--triples): to fit, those without
a record of the fold; to ask, those with one. Methods are kernel, as the stage has it; directions, which adds kernels
along sums of features; euclidean, the plain distance.

Methods: all is the whole stage; lift and those with a + the stage with these components alone; the name of another
component, such as trees, that one by itself, without the scorecard; knn the plain nearest neighbours on all
standardised features, among the same prototypes; prior the base rates. The log-losses of the others are compared with
that of all on the same records.

Under prequential the accuracy stands beside that of two forecasts without features, which say the class of the newest
known label (no change) and the most frequent one (majority). kappa is the accuracy beyond chance, and beyond each of
the two: 1 is never wrong, 0 no better. A drift point is a place where the log-loss changed, found by an adaptive window
(ADWIN). Drift compares the features in windows of 2,000 records, or of 200 in a shorter stream, with the first one.
Alarms compare the newest 500 records with 2,000 of the last fit (features, their missing values, classes), propensities
with the 2,000 just before, and log-losses with what the propensities promise and what was expected of the model.

The gains are those of talking to the records of the highest propensity; intervals are of 95 %, by a bootstrap of blocks
of records, those of the gains wider where positives are few. Gini is 2 AUC - 1. With the section value: {hit: 40,
contact: 1.5} the gains tell the profit, hits times hit less records times contact, and so does the cut of 'audience',
whose members' propensities times hit are at least contact.

The learning curve shows beside log-loss and AUC what the propensities promised of both before any label was there, and
marks with ! where the labels contradict them: calibrated propensities are marked in less than one stream of twenty.

With several -c each configuration runs over the same records, under the protocol and folds of the first, and every
further one is compared with the first: the differences of log-loss, Brier score and accuracy have paired intervals.
Without --method a challenger runs the method all alone. The configurations need the same classes in one order; gains,
curve, drift and --scores are those of the first.

With --on control the figures are those of the control share alone (section control), which users leave untargeted: of
the others the outcome is also that of their treatment. All records are scored and learnt as without it. Of several
configurations the share is that of the first.

Where the stage estimates the effect of a treatment (control.uplift), Qini tells how well the estimate ranks the
records: 0 is a ranking at random, 1 one by the outcomes themselves. Treated and untreated records of like propensity
are compared, and records without any of the other kind left out.

Groups are the records with one value of a feature of use: report, which is in no score, or those that meet a condition
of the section segments. Of each stand number, rate, mean propensity, its error, AUC or lift, the share in the tenth of
the highest propensity, and the most frequent strongest reasons; of segments also where share or rate changed. Fewer
than min_count records show no figures.

--scores OUT writes the scores that are measured, those of the method all or else of the first one, in the columns and
formats of 'score': each as it was before its record was learnt. source_row is the number of the record, over all files
from 0; under prequential the rows stand in stream order, those of the first --skip records among them, under folds
fold by fold. The subspaces and propensities in it have not seen their own labels, so a classifier can be fed them.`,
		Example: `liftstream eval -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --delay 100`,
		Args:    cli.Needs(1, -1, "data files"),
		Run:     func(ctx context.Context, data []string) error { return e.Run(ctx, a, data) },
	})
	e.Changed = c.Flags().Changed
	cli.ConfigsFlag(c, &e.Configs)
	f := c.Flags()
	f.StringVar(&e.Protocol, "protocol", "prequential", "`PROTOCOL`: prequential, folds or triples")
	f.IntVar(&e.Delay, "delay", 0, "let a label come `N` records late (prequential)")
	f.IntVar(&e.Skip, "skip", 1000, "do not count the first `N` records (prequential)")
	f.IntVar(&e.Partitions, "partitions", 1, "split the input into `P` partitions, each learning alone between re-fits "+
		"(prequential)")
	f.StringVar(&e.FoldColumn, "fold-column", "", "`COLUMN` that holds the fold of a record (folds, triples)")
	f.IntVar(&e.Folds, "folds", 10, "draw `K` folds (folds, triples)")
	f.StringVar(&e.Triples, "triples", "", "compare the records of `FILE`, lines of three ids i,j,k (triples)")
	names := measure.MethodNames()
	last := len(names) - 1
	f.StringSliceVar(&e.Methods, "method", nil, "`METHOD`: "+strings.Join(names[:last], ", ")+" or "+names[last]+
		"; may be repeated (default: all, lift, prior)")
	f.StringVar(&e.On, "on", "", "measure on `RECORDS`: control, those of the control share (prequential, folds; default "+
		"all)")
	f.StringVar(&e.JSON, "json", "", "write the result as JSON to `OUT`; - is standard output, in place of the table")
	f.StringVar(&e.Scores, "scores", "", "write the scores of the records to `OUT`: .jsonl .csv .arrow .arrows "+
		".feather .parquet (prequential, folds)")
	return c
}
