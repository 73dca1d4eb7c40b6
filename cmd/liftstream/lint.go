package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/config"
)

func lintCommand(a *app) *cobra.Command {
	return a.command(groupFiles, "lint FILE...", `Check configurations
Checks configurations and prints what is wrong, one problem a line: the file, the line, what it is, and what was
probably meant. Warnings tell of keys that do not do what one may think. Nothing is contacted, and names of
environment variables need not be set. The exit status is 1 if anything is wrong, warnings apart.`,
		`liftstream lint cmd/liftstream/examples/bank.yaml`, needs(1, -1, "configurations"),
		func(_ context.Context, files []string) error {
			wrong := false
			for _, f := range files {
				c, warnings, err := config.Load(f, nil)
				for _, w := range warnings {
					fmt.Fprintln(a.out, w)
				}
				var problems config.Problems
				if err == nil {
					// What this build lacks is the matter of the whole file: the message names the key.
					if _, err = assemble.New(c); err != nil {
						err = config.Problems{{File: f, Line: 1, Message: err.Error()}}
					}
				}
				switch {
				case errors.As(err, &problems):
					fmt.Fprintln(a.out, problems)
				case err != nil:
					fmt.Fprintf(a.out, "%s: %v\n", f, err)
				}
				wrong = wrong || err != nil
			}
			if wrong {
				return errFound
			}
			a.notef("no problems in %s", count(len(files), "file"))
			return nil
		})
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
