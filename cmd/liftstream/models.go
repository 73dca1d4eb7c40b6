package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/config"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

func modelCommand(a *cli.App) *cobra.Command {
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "model list|show|diff|export|publish|pin|unpin|rollback|freeze|unfreeze|trust -c FILE",
		About: `Look at the models of a stage, and say which one serves
'list' lists the published models and the refused ones with the figures of the gate, 'show' prints one in full, 'diff'
compares two, and 'export' writes one to a file that 'score' reads. A model is named by its version; 'newest' is the
newest one. 'publish' has a file serve, 'pin' a version whatever is published, 'rollback' an earlier one until another
is accepted, and 'freeze' ends fits or all learning; 'unpin' and 'unfreeze' undo them. 'trust' has labels that look
inverted fitted on.`,
		Example: `liftstream model list -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.NoCommand,
		Run: func(context.Context, []string) error {
			return cli.Usagef("say 'liftstream model list -c FILE', or 'show', 'diff' or 'export' in place of 'list'")
		},
	})
	c.SuggestionsMinimumDistance = 2
	c.FParseErrWhitelist.UnknownFlags = true // the name of the subcommand is wrong, not its flags
	c.AddCommand(modelListCommand(a), modelShowCommand(a), modelDiffCommand(a), modelExportCommand(a))
	c.AddCommand(orderCommands(a)...)
	return c
}

// withModels reads the configuration and its model topic, and calls f with both.
func withModels(ctx context.Context, a *cli.App, file string, f func(*config.Config, *state.Published) error) error {
	return cluster.With(ctx, a, file, func(k *cluster.Cluster, c *config.Config) error {
		p, err := state.ReadPublished(ctx, k.Client, c.Topics.Model)
		if err != nil {
			return cluster.Explain(err, file)
		}
		return f(c, p)
	})
}

func modelListCommand(a *cli.App) *cobra.Command {
	var file, format string
	c := a.Command(cli.Command{
		Use: "list -c FILE [--format table|json]",
		About: `List the models and what the gate said of them
Lists the versions that the model topic keeps, the newest ones (fit.keep) and those that a state may need again, and the
last refused models and failed fits, which have no version. log-loss is that of the new model, serving that of the model
which served, both on labelled records that neither had learnt; a model that was compared with nothing has no figures.
The last column says which version serves, and why a model is none. Below are the last orders of people: publish, pin,
unpin, rollback, freeze, unfreeze and trust, and the newest alarms of drift of each partition. json has all figures.`,
		Example: `liftstream model list -c cmd/liftstream/examples/live.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run: func(ctx context.Context, _ []string) error {
			if err := letterFormat(format, "table", "json"); err != nil {
				return err
			}
			return withModels(ctx, a, file, func(c *config.Config, p *state.Published) error {
				p.Serve(c.Fingerprint())
				broken := noteBroken(a, p)
				if format == "json" {
					return cmp.Or(cli.WriteJSON(a.Out, show.PublishedJSON(p)), broken)
				}
				return cmp.Or(show.Published(a.Out, p, c.Fingerprint()), broken)
			})
		},
	})
	cli.ConfigFlag(c, &file)
	c.Flags().StringVar(&format, "format", "table", "`FORMAT`: table or json")
	return c
}

func modelShowCommand(a *cli.App) *cobra.Command {
	var file string
	c := a.Command(cli.Command{
		Use: "show -c FILE VERSION|refused/N|failed/N",
		About: `Print one model in full
Prints a version as 'inspect' prints a model file. refused/N, as 'model list' names it, prints the verdict on a refused
model: its figures, and how many labelled records of each partition were there; failed/N why a fit came to nothing.`,
		Example: `liftstream model show -c cmd/liftstream/examples/live.yaml newest`,
		Args:    cli.Needs(1, 1, "a version, as 'model list' lists it"),
		Run: func(ctx context.Context, args []string) error {
			kind, number, refused := strings.Cut(args[0], "/")
			if !refused || kind != "refused" && kind != "failed" {
				return withVersions(ctx, a, file, args, func(c *config.Config, v []*state.ModelVersion) error {
					return show.Model(a.Out, versionName(c, v[0]), v[0].Model, c.GoalNames())
				})
			}
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return cli.Usagef("%s: it is refused/N or failed/N, as 'liftstream model list' prints it", args[0])
			}
			return withModels(ctx, a, file, func(c *config.Config, p *state.Published) error {
				for _, v := range p.Verdicts {
					if v.Number == n && v.Version == 0 {
						return show.Refused(a.Out, v)
					}
				}
				return fmt.Errorf("%s keeps no %s model %d; 'liftstream model list -c %s' lists them", c.Topics.Model, kind, n,
					file)
			})
		},
	})
	cli.ConfigFlag(c, &file)
	return c
}

func modelDiffCommand(a *cli.App) *cobra.Command {
	var file string
	c := a.Command(cli.Command{
		Use: "diff -c FILE VERSION VERSION",
		About: `Compare two models
Prints the lines of 'model show' in which the two differ, those of the first with -, those of the second with +:
records, verdicts, sizes, levels, and the sets of features with their eta. Two models without a difference print
nothing.`,
		Example: `liftstream model diff -c cmd/liftstream/examples/live.yaml 3 newest`,
		Args:    cli.Needs(2, 2, "two versions, as 'model list' lists them"),
		Run: func(ctx context.Context, args []string) error {
			return withVersions(ctx, a, file, args, func(c *config.Config, v []*state.ModelVersion) error {
				return show.ModelDiff(a.Out, v[0].Model, v[1].Model, c.GoalNames())
			})
		},
	})
	cli.ConfigFlag(c, &file)
	return c
}

// withVersions calls f with the named versions, all of them readable.
func withVersions(
	ctx context.Context, a *cli.App, file string, names []string, f func(*config.Config, []*state.ModelVersion) error,
) error {
	numbers := make([]int64, len(names))
	for i, name := range names {
		var err error
		if numbers[i], err = versionNumber(name); err != nil {
			return err
		}
	}
	return withModels(ctx, a, file, func(c *config.Config, p *state.Published) error {
		found := make([]*state.ModelVersion, len(numbers))
		for i, n := range numbers {
			v := p.Version(n)
			if k := len(p.Versions); n == 0 && k > 0 {
				v = &p.Versions[k-1]
			}
			if v == nil {
				return fmt.Errorf("%s holds no model %s; 'liftstream model list -c %s' lists those that it keeps",
					c.Topics.Model, names[i], file)
			}
			if v.Err != nil {
				return v.Err
			}
			found[i] = v
		}
		return f(c, found)
	})
}

// versionNumber reads the name of a version, 0 = the newest.
func versionNumber(name string) (int64, error) {
	if name == "newest" {
		return 0, nil
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n <= 0 {
		return 0, cli.Usagef("%s names no model: it is a version, as 'liftstream model list' prints it, or newest", name)
	}
	return n, nil
}

func versionName(c *config.Config, v *state.ModelVersion) string {
	return fmt.Sprintf("%d of %s (%s), published %s", v.Version, c.Topics.Model, text.Bytes(int64(v.Bytes)),
		show.Time(v.Time))
}
