package main

import (
	"context"
	"fmt"
	"liftstream/stream/verify"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
)

func verifyCommand(a *app) *cobra.Command {
	var file, from, to string
	c := a.command(groupLive, "verify -c FILE [--from T] [--to T]", `Replay the topics and compare scores and state bit by bit
Replays events, labels and the recorded switches of the model, in the order that the journal in the state topic gives,
and compares every message of the scores topic byte for byte and the state at every snapshot that is still there. The
binary must be the one that scored, on the same architecture, and the configuration the same. Where the topics no
longer reach back to the beginning, it begins with the oldest usable snapshot and says so.

It writes nothing and may run beside the stage; what is committed meanwhile is left out. --from and --to, such as
2026-05-01T00:00:00Z, bound the comparison by the times of the messages. The exit status is 1 if anything differs.`,
		`liftstream verify -c cmd/liftstream/examples/live.yaml`, needs(0, 0, ""),
		func(ctx context.Context, _ []string) error { return a.verify(ctx, file, from, to) })
	configFlag(c, &file)
	c.Flags().StringVar(&from, "from", "", "compare messages from time `T` on")
	c.Flags().StringVar(&to, "to", "", "compare messages up to time `T`")
	return c
}

func (a *app) verify(ctx context.Context, file, from, to string) error {
	var bounds [2]time.Time
	for i, text := range []string{from, to} {
		if text == "" {
			continue
		}
		var err error
		if bounds[i], err = time.Parse(time.RFC3339, text); err != nil {
			return usagef("%s is no time such as 2026-05-01T00:00:00Z", text)
		}
	}
	if !bounds[1].IsZero() && bounds[1].Before(bounds[0]) {
		return usagef("--to %s is before --from %s: nothing would be compared", to, from)
	}
	c, err := a.load(file)
	if err != nil {
		return err
	}
	st, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	found, err := verify.Verify(ctx, verify.Options{Name: c.Name, Spec: st.Spec, Codec: st.Codec, Client: k.Client,
		Topics: topicsOf(c), From: bounds[0], To: bounds[1]})
	if err != nil {
		return explain(err, file)
	}
	differs := false
	for _, v := range found {
		switch {
		case v.Start == "" && len(v.Problems) == 0:
			fmt.Fprintf(a.out, "partition %d: nothing is committed yet\n", v.Partition)
		case len(v.Problems) == 0:
			fmt.Fprintf(a.out, "partition %d: events %d to %d replayed from %s: %d scores messages with %d records and %d states are the same; %d model switches, %d label offsets",
				v.Partition, v.From, v.To, v.Start, v.Messages, v.Records, v.States, v.Swaps, v.Labels)
			if v.Unread > 0 {
				fmt.Fprintf(a.out, "; %d snapshots are no longer whole", v.Unread)
			}
			fmt.Fprintln(a.out)
		}
		for _, p := range v.Problems {
			differs = true
			fmt.Fprintf(a.out, "partition %d: %s\n", v.Partition, p)
		}
		if v.More > 0 {
			fmt.Fprintf(a.out, "partition %d: and %d more\n", v.Partition, v.More)
		}
	}
	if differs {
		return errFound
	}
	return nil
}
