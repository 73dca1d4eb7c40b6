package main

import (
	"context"

	"liftstream/stream/verify"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
)

func verifyCommand(a *cli.App) *cobra.Command {
	var file, from, to string
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "verify -c FILE [--from T] [--to T]",
		About: `Replay the topics and compare scores and state bit by bit
Replays events, labels and the recorded switches of the model, in the order that the journal in the state topic gives,
and compares every message of the scores topic byte for byte and the state at every snapshot that is still there. The
binary must be the one that scored, on the same architecture, and the configuration the same; what a state tells of an
earlier build stands before the differences. Where the topics no longer reach back to the beginning, it begins with the
oldest usable snapshot and says so.

It writes nothing and may run beside the stage; messages that are committed meanwhile are left out. --from and --to,
such as 2026-05-01T00:00:00Z, bound the comparison by the times of the messages. The exit status is 1 if anything
differs.`,
		Example: `liftstream verify -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return verifyTopics(ctx, a, file, from, to) },
	})
	cli.ConfigFlag(c, &file)
	c.Flags().StringVar(&from, "from", "", "compare messages from time `T` on")
	c.Flags().StringVar(&to, "to", "", "compare messages up to time `T`")
	return c
}

func verifyTopics(ctx context.Context, a *cli.App, file, from, to string) error {
	first, last, err := times(from, to)
	if err != nil {
		return err
	}
	st, err := assemble.Load(a.Load, file)
	if err != nil {
		return err
	}
	c := st.Config
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	found, err := verify.Verify(ctx, verify.Options{Name: c.Name, Spec: st.Spec, Codec: st.Codec, Client: k.Client,
		Topics: cluster.Topics(c), From: first, To: last})
	if err != nil {
		return cluster.Explain(err, file)
	}
	if show.Verification(a.Out, found) {
		return cli.ErrFound
	}
	return nil
}
