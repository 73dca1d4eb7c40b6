package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/papers"
)

func reproduceCommand(a *cli.App) *cobra.Command {
	var r papers.Reproduction
	c := a.Command(cli.Command{
		Group: cli.GroupOther,
		Use:   "reproduce [TABLE...] [--data DIR]",
		About: `Compute the tables of the papers again
Prints the tables of the paper that the lifts come from (Marcondes, Simonis and Barrera, Entropy 20(2), 97, 2018) beside
what this build computes: 1, 2, 3, 5, 7, 8 and 9, or those that are named. The exit status is 1 if anything differs from
what the paper prints. The paper that the kernel comes from (Fung, Rosales and Rao, IJCAI 2007) prints no figures:
'kernel' solves its programme on instances whose optima are known, in each reading of its price. Nor does the text of
the paper of the local subspaces (Pichara and Soto, Intelligent Data Analysis 18(3), 2014): 'local' draws its synthetic
experiment, and with --data the accuracies on wdbc, wine, ionosphere, isolet40, syn_wide1 and syn_narrow1, NAME.csv.gz
with the columns class and fold at the end, beside plain nearest neighbours and the best of others.

The voting records of table 5 are part of the program. Tables 7, 8 and 9 search all 1,023 sets of the ten continuous
features of Covertype (UCI, https://doi.org/10.24432/C50K5N): --data names the folder that holds covtype10.csv.gz or
covtype10.csv, its first ten columns and the class under a header, in the original order.`,
		Example: `liftstream reproduce 1 2 3 5`,
		Args:    tableNumbers,
		Run:     func(ctx context.Context, tables []string) error { return r.Run(ctx, a, tables) },
	})
	c.Flags().StringVar(&r.Data, "data", "", "folder `DIR` with covtype10.csv.gz, for tables 7, 8 and 9")
	_ = c.MarkFlagDirname("data")
	return c
}

func tableNumbers(_ *cobra.Command, args []string) error {
	for _, x := range args {
		if !slices.Contains(papers.Tables, x) {
			return cli.Usagef("there is no table %q to reproduce; it is one of %s", x, strings.Join(papers.Tables, ", "))
		}
	}
	return nil
}
