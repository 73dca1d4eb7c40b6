package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/codec"
	"liftstream/stream/skip"
	"liftstream/stream/state"
)

type deadSkipping struct {
	config, stage, why string
	partition          int
	offset             int64
	processed          bool
}

func deadSkipCommand(a *cli.App) *cobra.Command {
	var d deadSkipping
	c := a.Command(cli.Command{
		Use: "skip -c FILE --partition P --offset N [--stage events|labels] [--why TEXT] [--processed]",
		About: `Have the stage pass a message by
For a message that ends the stage each time, or that nobody can process. Stop all processes of the stage, name the
message, and start them: they write it to the dead letters as it came, with the reason skipped, without decoding it, and
go on. Restarts and 'verify' pass it by too. It is done exactly once: the mark is a record of the state topic, which the
owner of the partition reads before any message.

A message that the stage has committed already is refused, for its scores are published and its records are learnt.
--processed takes it all the same, where a restart cannot read it any more: its records leave the state at the next
replay, and 'verify' names the difference.`,
		Example: `liftstream dead skip -c cmd/liftstream/examples/live.yaml --partition 0 --offset 17`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return d.run(ctx, a) },
	})
	cli.ConfigFlag(c, &d.config)
	f := c.Flags()
	f.IntVar(&d.partition, "partition", -1, "partition `P` of the message")
	f.Int64Var(&d.offset, "offset", -1, "offset `N` of the message")
	f.StringVar(&d.stage, "stage", codec.StageEvents, "topic of the message: `STAGE` is events or labels")
	f.StringVar(&d.why, "why", "", "`TEXT` that the dead letter gives as its cause")
	f.BoolVar(&d.processed, "processed", false, "take a message that is committed already too")
	return c
}

func (d *deadSkipping) run(ctx context.Context, a *cli.App) error {
	switch {
	case d.partition < 0 || d.offset < 0:
		return cli.Usagef("name the message by --partition P and --offset N")
	case d.stage != codec.StageEvents && d.stage != codec.StageLabels:
		return cli.Usagef("--stage %s: it is events or labels", d.stage)
	}
	if d.why == "" {
		d.why = "no cause was given"
	}
	c, err := a.Load(d.config)
	if err != nil {
		return err
	}
	if d.stage == codec.StageLabels && c.Topics.Labels == "" {
		return fmt.Errorf("%s: the configuration has no labels topic", d.config)
	}
	st, err := assemble.New(c)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	s, err := skip.Run(ctx, skip.Options{Client: k.Client, Name: c.Name, Topics: cluster.Topics(c),
		Limit: state.Bound(st.Spec), Stage: d.stage, Partition: d.partition, Offset: d.offset, Why: d.why,
		Processed: d.processed, Now: time.Now()})
	var refused *skip.RefusedError
	if errors.As(err, &refused) {
		return err
	}
	if err != nil {
		return cluster.Explain(err, d.config)
	}
	_, err = fmt.Fprintf(a.Out, "the message at offset %d of partition %d of the %s will be passed by\n", s.Offset,
		d.partition, d.stage)
	return err
}
