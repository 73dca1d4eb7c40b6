package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/config"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/txn"
)

func deadShowCommand(a *cli.App) *cobra.Command {
	var file, format, value string
	c := a.Command(cli.Command{
		Use: "show -c FILE LETTER [--format table|json] [--value OUT]",
		About: `Print one dead letter in full
Prints reason, error, the place of the message, its key and headers, and its value: an Arrow stream as its columns, else
the text or the bytes. Characters that would do something to a terminal are shown as dots. json has everything as it is,
the value in base64 where it is no row. --value writes the value alone to a file, byte for byte.`,
		Example: `liftstream dead show -c cmd/liftstream/examples/live.yaml 0/17`,
		Args:    cli.Needs(1, 1, "a letter"),
		Run: func(ctx context.Context, args []string) error {
			if err := letterFormat(format, "table", "json"); err != nil {
				return err
			}
			at, err := letterPlace(args[0])
			if err != nil {
				return err
			}
			return cluster.With(ctx, a, file, func(k *cluster.Cluster, c *config.Config) error {
				x, err := oneLetter(ctx, k, c, at)
				if err != nil {
					return cluster.Explain(err, file)
				}
				if value != "" {
					return a.WriteFile(value, func(w io.Writer) error {
						_, err := w.Write(x.Record.Value)
						return err
					})
				}
				plain, err := assemble.Plain(c, 4*int64(c.Memory.Message), a.Notef)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				plain.Avro = c.Input.Format == config.InputAvro
				x.Record = show.Readable(x.Record, x.Row, plain, ctx.Done())
				return show.WholeLetter(a.Out, x, format, 4*int64(c.Memory.Message))
			})
		},
	})
	cli.ConfigFlag(c, &file)
	c.Flags().StringVar(&format, "format", "table", "`FORMAT`: table or json")
	c.Flags().StringVar(&value, "value", "", "write the value of the message to the file `OUT`; - is standard output")
	return c
}

// oneLetter reads the letter at a place.
func oneLetter(ctx context.Context, k *cluster.Cluster, c *config.Config, at deadletter.Place) (*show.Letter, error) {
	topic := c.Topics.Dead
	n, err := k.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", topic, err)
	}
	if at.Partition >= n {
		return nil, fmt.Errorf("%s has %d partitions, and no partition %d", topic, n, at.Partition)
	}
	start, end, err := k.Bounds(ctx, topic, at.Partition)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", topic, err)
	}
	if at.Offset < start || at.Offset >= end {
		return nil, fmt.Errorf("partition %d of %s holds the offsets from %d on and below %d, and not %d", at.Partition,
			topic, start, end, at.Offset)
	}
	f, err := k.Fetch(ctx, topic, at.Partition, at.Offset, 1, time.Second)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", topic, err)
	}
	ledgers, err := resend.Read(ctx, k.Client, c.Name, topic)
	if err != nil {
		return nil, err
	}
	var r *txn.Record
	if len(f.Records) > 0 && f.Records[0].Offset == at.Offset {
		r = &f.Records[0]
		if x, ok := deadletter.ReadReport(r); ok {
			sent := at.Partition < len(ledgers) && ledgers[at.Partition].Sent(at.Offset)
			return &show.Letter{Letter: resend.Letter{Report: x, At: at, Record: r}, State: stateOf(sent)}, nil
		}
	}
	return nil, fmt.Errorf("%d/%d of %s is no dead letter; 'liftstream dead list' names those that are kept", at.Partition,
		at.Offset, topic)
}
