package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/stream"
)

func resumeCommand(a *cli.App) *cobra.Command {
	var file string
	var partitions []int
	var all, end bool
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "resume -c FILE --partition P|--all [--through-end]",
		About: `Let partitions go on that policy.dead_share has paused
A partition whose newest rows are bad beyond policy.dead_share pauses: it has committed everything so far, the bad rows
as dead letters, and takes no more; /readyz is red and says why, and liftstream_paused is 1. Correct the sender, then
resume the partition: the messages up to where it stands count no more, it goes on within some seconds, and nothing is
lost or doubled. It pauses again where the messages that follow are as bad. --through-end accepts all messages that its
topics hold now, for a backlog that is known to be bad: it becomes dead letters, and 'liftstream dead replay' sends them
again later.

The command writes offsets of the group NAME-dead-resume. So it reaches a partition wherever its owner runs, and holds
after a restart; a restart alone does not resume.`,
		Example: `liftstream resume -c cmd/liftstream/examples/live.yaml --partition 0`,
		Args:    cli.Needs(0, 0, ""),
		Run: func(ctx context.Context, _ []string) error {
			if all == (len(partitions) > 0) {
				return cli.Usagef("say which partitions: --partition P, as /readyz and the log name it, or --all")
			}
			c, err := a.Load(file)
			if err != nil {
				return err
			}
			k, err := cluster.Connect(ctx, c)
			if err != nil {
				return err
			}
			defer k.Close()
			n, err := k.Partitions(ctx, c.Topics.Events)
			if err != nil {
				return cluster.Explain(fmt.Errorf("looking at topic %s: %w", c.Topics.Events, err), file)
			}
			if all {
				partitions = cluster.UpTo(n)
			}
			if p := slices.Max(append(partitions, 0)); p >= n || slices.Min(append(partitions, 0)) < 0 {
				return fmt.Errorf("%s has the partitions 0 to %d", c.Topics.Events, n-1)
			}
			for _, p := range partitions {
				at, err := stream.Resume(ctx, k.Client, c.Name, cluster.Topics(c), p, end)
				if err != nil {
					return cluster.Explain(err, file)
				}
				text := fmt.Sprintf("partition %d: events below offset %d", p, at.Events)
				if c.Topics.Labels != "" {
					text += fmt.Sprintf(" and labels below offset %d", at.Labels)
				}
				fmt.Fprintln(a.Out, text+" count no more")
			}
			return nil
		},
	})
	cli.ConfigFlag(c, &file)
	f := c.Flags()
	f.IntSliceVar(&partitions, "partition", nil, "resume the partition `P`; may be repeated")
	f.BoolVar(&all, "all", false, "resume all partitions; one that is not paused begins to count anew")
	f.BoolVar(&end, "through-end", false, "accept all messages that the topics hold now")
	return c
}
