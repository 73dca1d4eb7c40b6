package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model/report/text"
)

type producing struct {
	config, topic string
	key           string
	rate          float64
	batch, repeat int
}

func produceCommand(a *cli.App) *cobra.Command {
	var p producing
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "produce -c FILE DATA... [--rate R] [--batch N] [--repeat K] [--key COL] [--topic events|labels]",
		About: `Send data files as events, or as late labels
Sends the records of data files to the events topic, as messages of --batch records with the headers rows and crc32c,
each exactly once as long as the command runs. Messages are Arrow streams, or as input.format says; with json each
record is a message.

Where the configuration has record.id, or --key names a column, a record goes to the partition that Java's clients
choose for that text (murmur2), so that all records of one id stay in order. A message holds records of one partition;
it carries that text as its key when all its records share it, else no key. Without id and key the messages go to the
partitions in turn. A record whose id is missing goes where the empty text goes.

--topic labels sends outcomes that became known later: rows of the label column and either the id, or
source_partition, source_offset and source_row as copied from the scores. They go to the partition of their record.`,
		Example: `liftstream produce -c cmd/liftstream/examples/live.yaml cmd/liftstream/examples/bank.csv`,
		Args:    cli.Needs(1, -1, "data files"),
		Run:     func(ctx context.Context, data []string) error { return p.run(ctx, a, data) },
	})
	cli.ConfigFlag(c, &p.config)
	c.Flags().Float64Var(&p.rate, "rate", 0, "send `R` records a second; 0 = as fast as it goes")
	c.Flags().IntVar(&p.batch, "batch", 1000, "put at most `N` records into a message; --rate makes it fewer, so that "+
		"ten messages a second go out")
	c.Flags().IntVar(&p.repeat, "repeat", 1, "send the files `K` times")
	c.Flags().StringVar(&p.topic, "topic", "events", "send to `TOPIC`: events or labels")
	c.Flags().StringVar(&p.key, "key", "", "split and key by column `COL` in place of record.id")
	return c
}

func (p *producing) run(ctx context.Context, a *cli.App, data []string) error {
	switch {
	case !(p.rate >= 0):
		return cli.Usagef("--rate %v: it is a number of records a second, 0 for as fast as it goes", p.rate)
	case p.batch < 1:
		return cli.Usagef("--batch %d: a message holds at least one record", p.batch)
	case p.repeat < 1:
		return cli.Usagef("--repeat %d: it is at least 1", p.repeat)
	case p.topic != "events" && p.topic != "labels":
		return cli.Usagef("--topic %s: it is events or labels", p.topic)
	case p.topic == "labels" && p.key != "":
		return cli.Usagef("--key is for events: labels go where their records are")
	}
	stage, err := assemble.Load(a.Load, p.config)
	if err != nil {
		return err
	}
	c := stage.Config
	if c.Input.Format == config.InputAvro {
		return fmt.Errorf("%s: input.format is avro, which this command does not write: send the records by a program that "+
			"registers their schema, or choose arrow, jsonl or json", p.config)
	}
	topic := c.Topics.Events
	if p.topic == "labels" {
		if topic = c.Topics.Labels; topic == "" {
			return fmt.Errorf("%s: the configuration has no labels topic; topics.labels or the section labels adds one",
				p.config)
		}
	}
	size, err := file.Size(data)
	if err != nil {
		return err
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	if k.Own() { // nobody else can have made them
		if _, err := k.CreateTopics(ctx, cluster.Specs(c)...); err != nil {
			return cluster.Explain(err, p.config)
		}
	}
	partitions, err := k.Partitions(ctx, topic)
	if err != nil {
		return cluster.Explain(fmt.Errorf("looking at topic %s: %w", topic, err), p.config)
	}
	batch := p.batch
	if p.rate > 0 {
		batch = min(batch, max(1, int(p.rate/10)))
	}
	var bar, sent *cli.Progress
	if p.rate > 0 {
		sent = a.ProgressRecords("sending")
		defer sent.Finish()
	} else {
		bar = a.ProgressBytes("sending", size*int64(p.repeat))
		defer bar.Finish()
	}
	s := cluster.NewSender(k.Client, cluster.Sending{Topic: topic, Labels: p.topic == "labels", Partitions: partitions,
		Key: cmp.Or(p.key, c.Record.ID), Batch: batch, Rate: p.rate, Encoding: cluster.EncodingOf(c),
		Progress: sent.Add})
	began := time.Now()
	for range p.repeat {
		err := s.Files(ctx, data, file.TableOptions{Codec: stage.Codec, Rows: min(batch*partitions, cluster.MaxRows),
			Progress: bar.Add}, c)
		if err != nil {
			bar.Finish()
			sent.Finish()
			if s.Records > 0 {
				a.Notef("%s in %s were sent to %s before that", text.Count(s.Records, "record"), text.Count(s.Messages, "message"),
					s.Topic)
			}
			return cluster.Explain(err, p.config)
		}
	}
	bar.Finish()
	sent.Finish()
	a.Notef("sent %s in %s to %s (%s)", text.Count(s.Records, "record"), text.Count(s.Messages, "message"), s.Topic,
		text.Rate(s.Records, time.Since(began)))
	return nil
}
