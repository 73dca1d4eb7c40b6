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
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec/file"
	"liftstream/model/evaluate"
	"liftstream/model/report/text"
	"liftstream/stream/bootstrap"
	"liftstream/stream/state"
)

type bootstrapping struct{ config, from, replace string }

func bootstrapCommand(a *cli.App) *cobra.Command {
	var b bootstrapping
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "bootstrap -c FILE DATA... [--from first|end] [--replace NAME]",
		About: `Let a stage begin with what the records of files tell
Learns the records of files, oldest first, as 'run' would have learnt them live, and writes the state of each partition
and the model that they serve into the topics. The stage that starts next goes on from there: its first record is
scored by the model and the counts of the history, and its next fit follows as if all had been one stream. Nothing is
scored, and no event is written.

Where the configuration has record.id, a record belongs to the partition to which 'produce' and Java's clients send its
id (murmur2), so that the counts and the labels of an id lie where its events come. Without an id the records go to the
partitions in turn. Records without a label wait for a late one, as far as labels allows; a label names such a record by
its id. Models are made at the numbers of records at which 'eval' makes them (fit.warmup, fit.records), and pass the
same gate; so it takes as long as 'eval'. A record without a time is taken as one of now.

The stage must not run. It begins at the offsets of its group; where there are none, and the topics hold messages, say
--from end if the files hold the records of these messages, else --from first. Where a state is already, --replace with
the name of the stage gives it up: the stage then goes on at its committed offsets with the state of the files alone.

Each partition is written in one transaction, by the id of its owner, so a stage that starts meanwhile makes the command
fail, and no state is written by halves. An interrupted one, where the first partitions have their states and the others
not, is repeated with --replace. The rights are those of 'run'. 'verify' replays from the states of the files: it checks
all that was scored after them, and cannot check how they were made.`,
		Example: `liftstream bootstrap -c cmd/liftstream/examples/live.yaml cmd/liftstream/examples/bank.csv`,
		Args:    cli.Needs(1, -1, "data files"),
		Run:     func(ctx context.Context, data []string) error { return b.run(ctx, a, data) },
	})
	cli.ConfigFlag(c, &b.config)
	c.Flags().StringVar(&b.from, "from", "", "let the stage begin at `PLACE`: first, the first messages that are left, "+
		"or end, behind the last ones; without it at the offsets of its group")
	c.Flags().StringVar(&b.replace, "replace", "", "give the states up that are there; `NAME` is that of the stage")
	return c
}

func (b *bootstrapping) run(ctx context.Context, a *cli.App, data []string) error {
	from := bootstrap.From(b.from)
	if from != bootstrap.Committed && from != bootstrap.First && from != bootstrap.End {
		return cli.Usagef("--from %s: it is first or end", b.from)
	}
	if err := cli.Apart(cli.Places(data, cli.Place{Flag: "config", Path: b.config})); err != nil {
		return err
	}
	stage, err := assemble.Load(a.Load, b.config)
	if err != nil {
		return err
	}
	c := stage.Config
	if b.replace != "" && b.replace != c.Name {
		return cli.Usagef("--replace %s: the stage of %s is %s", b.replace, b.config, c.Name)
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	if k.Own() { // nobody else can have made them
		if _, err := k.CreateTopics(ctx, cluster.Specs(c)...); err != nil {
			return cluster.Explain(err, b.config)
		}
	}
	o := bootstrap.Options{Client: k.Client, Name: c.Name, Topics: cluster.Topics(c), Spec: stage.Spec, From: from,
		Replace: b.replace != "", Now: time.Now()}
	plan, err := bootstrap.Look(ctx, o)
	if err != nil {
		return explained(err, b.config)
	}
	h, err := learn(ctx, a, stage, data, evaluate.Past{Partitions: len(plan.Starts), Refit: c.Fit.Records,
		Began: o.Now.UnixNano(), Version: plan.Model})
	if err != nil {
		return err
	}
	a.Step("writing the states of %s", text.Count(len(h.Partitions), "partition"))
	starts, err := bootstrap.Write(ctx, o, h.Partitions, h.Model)
	if err != nil {
		return explained(err, b.config)
	}
	return tell(a, h, starts)
}

// learn learns the records of the files.
func learn(ctx context.Context, a *cli.App, stage *assemble.Stage, data []string, past evaluate.Past) (
	*evaluate.History, error,
) {
	files := &records.Source{App: a, Context: ctx, Data: data, Passes: 1, Label: "learning",
		Options: file.Options{Codec: stage.Codec, RequireLabel: true}}
	h, err := evaluate.Learn(ctx, stage.Spec, files.Batches, past)
	if err != nil {
		return nil, records.Plain(err)
	}
	if h.Learnt == 0 {
		return nil, fmt.Errorf("%s: none of the %s has one of the classes %s in column %q; see record.label in the "+
			"configuration", text.Joined(data), text.Count(int(h.Records), "record"),
			text.Some(stage.Spec.Schema.Classes, 6), stage.Config.Record.Label.Column)
	}
	return h, nil
}

// explained adds the remedy to an error of the topics. A refusal has its own.
func explained(err error, config string) error {
	var refused *bootstrap.RefusedError
	if errors.As(err, &refused) {
		return err
	}
	return cluster.Explain(err, config)
}

// tell prints the states and the model with which the stage begins.
func tell(a *cli.App, h *evaluate.History, starts []state.Position) error {
	for p, part := range h.Partitions {
		_, err := fmt.Fprintf(a.Out, "partition %d: %s learnt, %.0f with a label; its events begin at offset %d, "+
			"its labels at %d\n", p, text.Count(int(part.Seen()), "record"), part.Labelled(), starts[p].Events, starts[p].Labels)
		if err != nil {
			return err
		}
	}
	if h.Model == nil {
		_, err := fmt.Fprintln(a.Out, "no model: it comes with the records of fit.warmup; until then each partition scores "+
			"by its own records")
		return err
	}
	_, err := fmt.Fprintf(a.Out, "model %d, of %s, serves from the first event on\n", h.Model.Version,
		text.Count(h.Model.Info.Records, "record"))
	return err
}
