package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/model/report/text"
)

func lintCommand(a *cli.App) *cobra.Command {
	var configs []string
	cmd := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use:   "lint FILE...",
		About: `Check configurations
Checks configurations and prints the problems, one a line: the file, the line, the fault, and the name that was probably
meant. Warnings tell of keys that have another effect than their name suggests, and of classes and levels that are one
value in two texts, such as 1 and 1.0. With late labels it says how many records can wait for them. Nothing is
contacted, and names of environment variables need not be set. The exit status is 1 if anything is wrong, warnings
apart.`,
		Example: `liftstream lint cmd/liftstream/examples/bank.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Needs(1, -1, "configurations")(cmd, append(args, configs...))
		},
		Run: func(_ context.Context, files []string) error {
			files = append(files, configs...)
			wrong := false
			for _, f := range files {
				c, warnings, err := config.Load(f, nil)
				for _, w := range append(warnings, cli.Twins(c)...) {
					fmt.Fprintln(a.Out, w)
				}
				var problems config.Problems
				if err == nil && !c.Unseen() {
					// A feature that this build lacks concerns the whole file: the message names the key.
					var st *assemble.Stage
					if st, err = assemble.New(c); err == nil {
						if room := waitRoom(c, st.Spec); room != "" {
							a.Notef("%s: %s", f, room)
						}
					} else {
						err = config.Problems{{File: f, Line: 1, Message: err.Error()}}
					}
				}
				switch {
				case errors.As(err, &problems):
					fmt.Fprintln(a.Out, problems)
				case err != nil:
					fmt.Fprintf(a.Out, "%s: %v\n", f, err)
				}
				wrong = wrong || err != nil
			}
			if wrong {
				return cli.ErrFound
			}
			a.Notef("no problems in %s", text.Count(len(files), "file"))
			return nil
		},
	})
	cmd.Flags().StringArrayVarP(&configs, "config", "c", nil, "configuration `FILE`, as other commands name it")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}
