package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/config"
	"liftstream/model/report/text"
)

func topicsCommand(a *cli.App) *cobra.Command {
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "topics create|describe -c FILE",
		About: `Create the topics, or tell what is off with them
'create' makes the topics of a configuration that do not exist, with the right settings: events, scores, labels and
state with topics.partitions partitions each, model with one; state and model compacted; large enough messages. Those
that exist are left as they are. 'describe' lists them and tells what is off; its exit status is 1 if anything is.

With --acls both contact nobody and print, as the arguments of kafka-acls, the rights that a secured cluster must
grant: for the stage, and for the commands beside it.`,
		Example: `liftstream topics create -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.NoCommand,
		Run: func(context.Context, []string) error {
			return cli.Usagef("say 'liftstream topics create -c FILE' or 'liftstream topics describe -c FILE'")
		},
	})
	c.SuggestionsMinimumDistance = 2
	c.FParseErrWhitelist.UnknownFlags = true // the name of the subcommand is wrong, not its flags
	for _, x := range []struct {
		name, about string
		run         func(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, file string) error
	}{
		{"create", "Create the topics that do not exist", createTopics},
		{"describe", "List the topics and tell what is off with them", describeTopics},
	} {
		var file string
		var acls bool
		sub := a.Command(cli.Command{
			Use:     x.name + " -c FILE [--acls]",
			About:   x.about + "\n" + x.about + ". See 'liftstream topics --help'.",
			Example: "liftstream topics " + x.name + " -c cmd/liftstream/examples/live.yaml",
			Args:    cli.Needs(0, 0, ""),
			Run: func(ctx context.Context, _ []string) error {
				c, err := a.Load(file)
				if err != nil {
					return err
				}
				if acls {
					_, err := io.WriteString(a.Out, cluster.Rights(c))
					return err
				}
				k, err := cluster.Connect(ctx, c)
				if err != nil {
					return err
				}
				defer k.Close()
				return x.run(ctx, a, k, c, file)
			},
		})
		cli.ConfigFlag(sub, &file)
		sub.Flags().BoolVar(&acls, "acls", false, "print the rights that a secured cluster must grant")
		c.AddCommand(sub)
	}
	return c
}

func createTopics(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, file string) error {
	specs := cluster.Specs(c)
	created, err := k.CreateTopics(ctx, specs...)
	for i, made := range created {
		state := "exists"
		if made {
			state = "created"
		}
		if err == nil || made {
			fmt.Fprintf(a.Out, "%-8s %s\n", state, specs[i].Name)
		}
	}
	if err != nil {
		return cluster.Explain(fmt.Errorf("creating topics: %w", err), file)
	}
	return printProblems(ctx, a, k, c, file)
}

func describeTopics(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, file string) error {
	known, err := k.Known(ctx, c)
	if err != nil {
		return cluster.Explain(err, file)
	}
	var rows [][]string
	for _, s := range cluster.Specs(c) {
		t, ok := known[s.Name]
		if !ok {
			rows = append(rows, []string{s.Name, "-", "-", "-", "-", "-"})
			continue
		}
		records, err := k.Length(ctx, t)
		if err != nil {
			return cluster.Explain(err, file)
		}
		rows = append(rows, []string{t.Name, strconv.Itoa(t.Partitions), strconv.Itoa(t.Replication),
			t.Configs["cleanup.policy"],
			t.Configs["max.message.bytes"], strconv.FormatInt(records, 10)})
	}
	if err := text.Table(a.Out, "", []string{"topic", " partitions", " replication", "cleanup", " max.message.bytes",
		" offsets"}, rows); err != nil {
		return err
	}
	return printProblems(ctx, a, k, c, file)
}

// printProblems prints the faults of the topics.
func printProblems(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, file string) error {
	found, err := k.Problems(ctx, c)
	if err != nil {
		return cluster.Explain(err, file)
	}
	for _, p := range found {
		fmt.Fprintln(a.Out, p)
	}
	if len(found) > 0 {
		return cli.ErrFound
	}
	return nil
}
