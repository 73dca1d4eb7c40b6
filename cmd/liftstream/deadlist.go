package main

import (
	"bufio"
	"context"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/txn"
)

type deadListing struct {
	letterFlags
	config, format  string
	n               int
	counts, waiting bool
}

func deadListCommand(a *cli.App) *cobra.Command {
	var l deadListing
	c := a.Command(cli.Command{
		Use: "list -c FILE [--waiting] [--counts] [-n N] [--reason R] [--stage S] [--partition P] [--offsets FROM:TO] " +
			"[--since T] [--until T] [--format table|csv|jsonl|json]",
		About: `List dead letters and count them by reason
Lists the letters that the dead-letter topic keeps, then counts them by reason and state. A letter waits until 'dead
replay' has sent its message again; then it is sent. The columns stage, partition, offset and row say where the message
came from, replays how often it had been sent again before it died. The counts are of all picked letters, also of those
beyond -n. csv and jsonl have the letters alone, json both in one document.`,
		Example: `liftstream dead list -c cmd/liftstream/examples/live.yaml --waiting --since 24h`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return l.run(ctx, a) },
	})
	cli.ConfigFlag(c, &l.config)
	l.add(c)
	f := c.Flags()
	f.BoolVar(&l.waiting, "waiting", false, "only letters that wait")
	f.BoolVar(&l.counts, "counts", false, "only the counts")
	f.IntVarP(&l.n, "rows", "n", 100, "list `N` letters at most; 0 = all")
	f.StringVar(&l.format, "format", "table", "`FORMAT`: table, csv, jsonl or json")
	return c
}

func (l *deadListing) run(ctx context.Context, a *cli.App) error {
	if err := letterFormat(l.format, "table", "csv", "jsonl", "json"); err != nil {
		return err
	}
	if l.n < 0 {
		return cli.Usagef("-n %d: it is a number of letters", l.n)
	}
	filter, err := l.filter(time.Now(), nil)
	if err != nil {
		return err
	}
	c, err := a.Load(l.config)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	ledgers, err := resend.Read(ctx, k.Client, c.Name, c.Topics.Dead)
	if err != nil {
		return cluster.Explain(err, l.config)
	}
	w := bufio.NewWriterSize(a.Out, 1<<16)
	out := show.NewLetters(w, l.format)
	more := 0
	from := cluster.Following{Topic: c.Topics.Dead, From: txn.Start}
	err = k.Follow(ctx, from, func(records []txn.Record) (bool, error) {
		for i := range records {
			r := &records[i]
			x, ok := deadletter.ReadReport(r)
			at := deadletter.Place{Partition: r.Partition, Offset: r.Offset}
			sent := r.Partition < len(ledgers) && ledgers[r.Partition].Sent(r.Offset)
			if !ok || !filter.Match(at, &x) || l.waiting && sent {
				continue
			}
			letter := &show.Letter{Letter: resend.Letter{Report: x, At: at, Record: r}, State: stateOf(sent)}
			out.Count(letter)
			if l.counts {
				continue
			}
			if l.n > 0 && out.Listed() == l.n {
				more++
				continue
			}
			if err := out.Print(letter); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return cluster.Explain(err, l.config)
	}
	if err := out.Close(); err != nil {
		return err
	}
	if more > 0 {
		a.Notef("%d letters more; -n 0 lists all", more)
	}
	return w.Flush()
}
