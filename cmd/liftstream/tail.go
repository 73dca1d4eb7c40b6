package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec"
	"liftstream/config"
	"liftstream/model/report/text"
	"liftstream/stream/txn"
)

type tailing struct {
	config, kind, from, format string
	n                          int
	follow, spreadsheet        bool
}

func tailCommand(a *cli.App) *cobra.Command {
	var t tailing
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use: "tail -c FILE [--topic scores|events|dead|labels|model] [--from start|end] [-n N] [--format " +
			"table|jsonl|csv|arrow]",
		About: `Print a topic, read committed
Prints the records of a topic as they come, row by row, of transactions that were committed only. It goes on until -n
rows are printed, or until it is interrupted; --follow=false ends at what is the end of the topic when the command
starts. --from start begins with the oldest row that is kept, --from end, the default, waits for new ones. Rows of one
partition are in order. While it waits for more, brokers may be away for five minutes; it says so on standard error.

In why, effect is a feature's contribution to the log-odds of target in nats, lift the rate of target in the record's
cell over its base rate as the score used it (over the scorecard's horizons as they weigh in the score now, shrunken
towards 1), and n the number of labelled records, ever, that those of the cell are worth. lift is null where the records
cannot tell it from 1: of values that tell nothing, some feature shows a lift in about one score of twenty, in more
where records are repeated or classes come in runs. An effect can go against its lift where the feature stands for
others; propensity.sign: follow forbids it. eval counts them.

jsonl and csv have every column of a score; csv flattens lists into one cell, and those of messages of JSON or Avro are
JSON there. Of these, subspace lists the features whose values tell about the class there beyond chance, the most
telling first; it may be empty. relevance says how much, in nats: the Kullback-Leibler divergence of the class shares
around the value from the base rates, or, where that is more, of those of the nearest records that agree in the feature
from those of all the nearest; so it can be compared between records. Characters that act on a terminal, or turn the
order of the text around, are dots in tables, in csv on a terminal, and in csv for a spreadsheet; jsonl escapes them.
csv that goes elsewhere has each value as it is, also a text such as =1+1 that a spreadsheet would compute;
--spreadsheet puts an apostrophe before it. arrow is an Arrow stream, for events, labels and scores that are Arrow. dead
shows why rows were rejected, and in jsonl their headers and the row itself; model lists the published versions, the
verdicts on models, of refused ones and failed fits too, and the orders of people. A message that cannot be read is
named on standard error and passed over.`,
		Example: `liftstream tail -c cmd/liftstream/examples/live.yaml --from start -n 5`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return t.run(ctx, a) },
	})
	cli.ConfigFlag(c, &t.config)
	f := c.Flags()
	f.StringVar(&t.kind, "topic", "scores", "`TOPIC` to read: scores, events, dead, labels or model")
	f.StringVar(&t.from, "from", "end", "begin at `WHERE`: start or end")
	f.IntVarP(&t.n, "rows", "n", 0, "stop after `N` rows; 0 = no limit")
	f.StringVar(&t.format, "format", "table", "`FORMAT`: table, jsonl, csv or arrow")
	f.BoolVar(&t.spreadsheet, "spreadsheet", false, "write csv for a spreadsheet: texts that look like formulas begin "+
		"with an apostrophe")
	f.BoolVar(&t.follow, "follow", true, "wait for more at the end of the topic")
	return c
}

func (t *tailing) run(ctx context.Context, a *cli.App) error {
	if !slices.Contains([]string{"start", "end"}, t.from) {
		return cli.Usagef("--from %s: it is start or end", t.from)
	}
	if t.n < 0 {
		return cli.Usagef("-n %d: it is a number of rows", t.n)
	}
	if !slices.Contains([]string{"table", "jsonl", "csv", "arrow"}, t.format) {
		return cli.Usagef("--format %s: it is one of table, jsonl, csv, arrow", t.format)
	}
	if t.spreadsheet && t.format != "csv" {
		return cli.Usagef("--spreadsheet is for --format csv, not for %s", t.format)
	}
	c, err := a.Load(t.config)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.Out, 1<<16)
	topic, p, err := t.topic(ctx, a, c, w)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	at := txn.End
	if t.from == "start" {
		at = txn.Start
	}
	left := t.n
	if left == 0 {
		left = math.MaxInt
	}
	away := func(err error) {
		if err != nil {
			a.Notef("waiting for the brokers: %v", err)
		} else {
			a.Notef("the brokers are back")
		}
	}
	err = k.Follow(ctx, cluster.Following{Topic: topic, From: at, Wait: t.follow, Away: away},
		func(records []txn.Record) (bool, error) {
			for i := range records {
				if records[i].Unread != nil {
					a.Notef("%v", records[i].Unread)
					continue
				}
				n, err := p.Print(&records[i], left)
				if errors.Is(err, codec.ErrStopped) {
					return false, ctx.Err()
				}
				if err != nil {
					return false, err
				}
				if left -= n; left == 0 {
					return false, nil
				}
			}
			return true, w.Flush()
		})
	if closing := p.Close(); err == nil || errors.Is(err, context.Canceled) {
		err = closing
	}
	if flushing := w.Flush(); err == nil {
		err = flushing
	}
	return cluster.Explain(err, t.config)
}

// topic returns the name of the topic and its printer.
func (t *tailing) topic(ctx context.Context, a *cli.App, c *config.Config, w *bufio.Writer) (
	string, show.Printer, error,
) {
	topics := map[string]string{"scores": c.Topics.Scores, "events": c.Topics.Events, "labels": c.Topics.Labels,
		"model": c.Topics.Model, "dead": c.Topics.Dead}
	name, ok := topics[t.kind]
	switch {
	case !ok:
		return "", nil, cli.Usagef("--topic %s: it is one of scores, events, dead, labels, model", t.kind)
	case name == "":
		return "", nil, fmt.Errorf("%s: the configuration has no labels topic; topics.labels or the section labels adds one",
			t.config)
	}
	o := show.Topic{Format: t.format, Terminal: cli.OnTerminal(a.Out), Spreadsheet: t.spreadsheet,
		MaxMessage: 4 * int64(c.Memory.Message), Unreadable: func(r *txn.Record, err error) {
			a.Notef("%s, partition %d, offset %d: %s", r.Topic, r.Partition, r.Offset, text.Visible(err.Error()))
		}}
	var err error
	if o.Plain, err = assemble.Plain(c, o.MaxMessage, a.Notef); err != nil {
		return "", nil, fmt.Errorf("%s: %w", t.config, err)
	}
	o.Plain.Avro, o.Done = t.kind != "scores" && c.Input.Format == config.InputAvro, ctx.Done()
	p, err := o.Printer(w, t.kind)
	if errors.Is(err, show.ErrNoArrow) {
		err = cli.Usagef("--format arrow is for events, labels and scores, not for %s", t.kind)
	}
	return name, p, err
}
