package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/cmd/liftstream/internal/play"
)

func demoCommand(a *cli.App) *cobra.Command {
	var d play.Demonstration
	var c *cobra.Command
	c = a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "demo [--data bank|votes] [--dir DIR] [--listen ADDR] [--rate R] [--once]",
		About: `Show everything, with nothing else installed
Starts a Kafka broker inside this process, sends a shipped data set to it as live events, scores them as they come, and
shows on a page and in this terminal how many were scored, how good the scores are, which profiles are strongest, and
whom to call first. It ends with the final figures, read back from the topics.

Every record is scored before it is learnt; the figures leave out the first 1,000 (100 of the votes), for which nothing
is known yet. Topics, the records as CSV and the configuration lie in DIR. Interrupt it, or kill it, at any time: the
same command goes on where it was, and no record is sent, scored or learnt twice. --once ends after the data; otherwise
the page stays until the command is interrupted.`,
		Example: `liftstream demo --once`,
		Args:    cli.Needs(0, 0, ""),
		Run: func(ctx context.Context, _ []string) error {
			d.AnyPort = !c.Flags().Changed("listen")
			d.QuietLog = !c.Flags().Changed("log-level")
			return d.Run(ctx, a)
		},
	})
	f := c.Flags()
	f.StringVar(&d.Data, "data", "bank", "show `SET`: "+strings.Join(demo.Names(), " or "))
	f.StringVar(&d.Dir, "dir", "liftstream-data", "keep topics and files in `DIR`, which is made when missing")
	f.StringVar(&d.Listen, "listen", "127.0.0.1:8080", "serve the page at `ADDR`; without the flag any free port when "+
		"that one is taken")
	f.Float64Var(&d.Rate, "rate", 5000, "send `R` records a second; 0 = as fast as it goes")
	f.BoolVar(&d.Once, "once", false, "end after the data")
	_ = c.MarkFlagDirname("dir")
	return c
}
