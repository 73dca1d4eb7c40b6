package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/compare"
	"liftstream/cmd/liftstream/internal/show"
)

type comparing struct {
	configs          []string
	from, to, format string
	alpha            float64
}

func compareCommand(a *cli.App) *cobra.Command {
	var o comparing
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "compare -c FILE -c CHALLENGER [--from T] [--to T] [--alpha A] [--format table|json]",
		About: `Compare two stages that score the same events
Reads the scores of both stages, committed ones only, and the labels of the records, and prints the log-losses over the
records that both have scored, their difference with an interval, and the verdict. The challenger is a stage of another
name with the same topics of events and labels and topics of its own for all else, as 'run --shadow' starts it.

The interval is always valid: with probability 1 - A, .95 unless --alpha says otherwise, it holds the mean of the
expected differences at every number of records at once. So look as often as you like, and act on the first verdict:
of two equal stages at most one comparison in twenty ever gives one (model/paired/METHOD.md). It is negative where the
first one is better. Looks that belong together begin at the same record: give all of them the same --from.

Labels come with the events, or from the labels topic of the first stage: a record is counted under the first label that
names it, within labels.window, and after that under the class of labels.on_expiry, where it is one; then no record
counts before its window has closed. A label by an id means the record that came last, by any labels.match. A challenger
that began with a backlog may have scored records when it had learnt labels that the first stage did not have in time:
where labels come late, --from T, such as 2026-05-01T00:00:00Z, begins when it had caught up. --from and --to bound the
events by the times of their messages.

Below stand the calibration, in tenths of each stage's own propensities for the positive class, and how many records of
the top tenth the two have in common.`,
		Example: `liftstream compare -c cmd/liftstream/examples/live.yaml -c cmd/liftstream/examples/challenger.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return o.run(ctx, a) },
	})
	cli.ConfigsFlag(c, &o.configs)
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "compare events from time `T` on")
	f.StringVar(&o.to, "to", "", "compare events up to time `T`")
	f.Float64Var(&o.alpha, "alpha", 0.05, "let the share `A` of comparisons give a false verdict")
	f.StringVar(&o.format, "format", "table", "`FORMAT`: table or json")
	return c
}

func (o *comparing) run(ctx context.Context, a *cli.App) error {
	if err := letterFormat(o.format, "table", "json"); err != nil {
		return err
	}
	if !(o.alpha > 0 && o.alpha < 1) {
		return cli.Usagef("--alpha %v: it is a share between 0 and 1", o.alpha)
	}
	from, to, err := times(o.from, o.to)
	if err != nil {
		return err
	}
	first, second, err := beside(a, o.configs)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, first.Config)
	if err != nil {
		return err
	}
	defer k.Close()
	r, err := compare.Run(ctx, k, first, second, compare.Options{From: from, To: to, Alpha: o.alpha})
	if err != nil {
		return cluster.Explain(err, o.configs[0])
	}
	if o.format == "json" {
		return cli.WriteJSON(a.Out, r)
	}
	return show.Comparison(a.Out, r)
}

// beside loads the two configurations of a stage and its challenger.
func beside(a *cli.App, files []string) (first, second *assemble.Stage, err error) {
	if len(files) != 2 {
		return nil, nil, cli.Usagef("two configurations are needed: -c FILE -c CHALLENGER")
	}
	if first, err = assemble.Load(a.Load, files[0]); err != nil {
		return nil, nil, err
	}
	if second, err = assemble.Load(a.Load, files[1]); err != nil {
		return nil, nil, err
	}
	if err := cluster.Beside(first.Config, second.Config); err != nil {
		return nil, nil, fmt.Errorf("%s and %s: %w", files[0], files[1], err)
	}
	return first, second, nil
}

// times reads the flags --from and --to; the zero time stands for none.
func times(from, to string) (a, b time.Time, err error) {
	for _, x := range []struct {
		flag, text string
		t          *time.Time
	}{{"from", from, &a}, {"to", to, &b}} {
		if x.text == "" {
			continue
		}
		if *x.t, err = time.Parse(time.RFC3339, x.text); err != nil {
			return a, b, cli.Usagef("--%s %s: it is a time such as 2026-05-01T00:00:00Z", x.flag, x.text)
		}
	}
	if !b.IsZero() && b.Before(a) {
		return a, b, cli.Usagef("--to %s is before --from %s: nothing would be compared", to, from)
	}
	return a, b, nil
}
