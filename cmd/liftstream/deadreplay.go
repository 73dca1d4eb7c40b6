package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/stream/resend"
)

type deadReplaying struct {
	letterFlags
	config, format string
	most           int
	dry            bool
}

func deadReplayCommand(a *cli.App) *cobra.Command {
	var d deadReplaying
	c := a.Command(cli.Command{
		Use: "replay -c FILE [LETTER...] [--dry-run] [--max-replays N] [--reason R] [--stage S] [--partition P] " +
			"[--offsets FROM:TO] [--since T] [--until T] [--format table|csv|jsonl|json]",
		About: `Send the messages of dead letters again, each exactly once
Sends the messages of the letters that wait, all or those that the flags pick or LETTER names, to the topic and the
partition that they came from, with their key, time and headers. Of a letter about one row that row is sent alone, in a
message with the numbers of its own. Letters of labels go to the labels.

The messages, a receipt in the dead-letter topic, and the offset of the group NAME-dead-replay there are one
transaction: a run that was killed leaves nothing half done, the next one goes on, and a letter that was sent waits no
more. Letters that a filter leaves wait for a later run. To send letters once more on purpose, set the group's offset
back ('kafka-consumer-groups.sh --reset-offsets').

A message that is sent again has the headers liftstream-letter and liftstream-replays, which counts. When it dies
again, its letter shows the count, and from --max-replays on it stays. Its timestamp is the first one, which is in the
header liftstream-time too; the counts say where the topic gives it a new one, and where a letter of a former build does
not know it. The exit status is 1 where a picked letter
could not be sent; the counts say why. --dry-run lists what would be sent.`,
		Example: `liftstream dead replay -c cmd/liftstream/examples/live.yaml --reason schema --dry-run`,
		Args:    cli.Needs(0, -1, ""),
		Run:     func(ctx context.Context, args []string) error { return d.run(ctx, a, args) },
	})
	cli.ConfigFlag(c, &d.config)
	d.add(c)
	f := c.Flags()
	f.BoolVar(&d.dry, "dry-run", false, "list the letters and send nothing")
	f.IntVar(&d.most, "max-replays", 3, "leave messages that were sent again `N` times already; 0 = none")
	f.StringVar(&d.format, "format", "table", "`FORMAT`: table, csv, jsonl or json")
	return c
}

func (d *deadReplaying) run(ctx context.Context, a *cli.App, letters []string) error {
	if err := letterFormat(d.format, "table", "csv", "jsonl", "json"); err != nil {
		return err
	}
	if d.most < 0 {
		return cli.Usagef("--max-replays %d: it is a number of times", d.most)
	}
	filter, err := d.filter(time.Now(), letters)
	if err != nil {
		return err
	}
	c, err := a.Load(d.config)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	targets := map[string]int{}
	for _, topic := range []string{c.Topics.Events, c.Topics.Labels} {
		if topic == "" {
			continue
		}
		if targets[topic], err = k.Partitions(ctx, topic); err != nil {
			return cluster.Explain(fmt.Errorf("looking at topic %s: %w", topic, err), d.config)
		}
	}
	w := bufio.NewWriterSize(a.Out, 1<<16)
	out := show.NewLetters(w, d.format)
	listed := d.dry || d.format != "table" // else the counts alone
	stayed := false
	var printing error
	err = resend.Run(ctx, resend.Options{
		Client: k.Client, Name: c.Name, Dead: c.Topics.Dead, Targets: targets, Filter: filter, Most: d.most, DryRun: d.dry,
		Patience: 5 * time.Minute, Now: time.Now, Each: func(l *resend.Letter, o resend.Outcome) {
			x := &show.Letter{Letter: *l, State: o.String()}
			if d.dry && o.Sent() {
				x.State = "to send" + strings.TrimPrefix(x.State, "sent")
			}
			stayed = stayed || !o.Sent()
			if out.Count(x); listed && printing == nil {
				printing = out.Print(x)
			}
		}})
	if closing := out.Close(); printing == nil {
		printing = closing
	}
	if flushing := w.Flush(); printing == nil {
		printing = flushing
	}
	switch {
	case err != nil:
		return cluster.Explain(err, d.config)
	case printing == nil && stayed:
		return cli.ErrFound
	}
	return printing
}
