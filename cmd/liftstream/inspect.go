package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/config"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

func inspectCommand(a *cli.App) *cobra.Command {
	var file, topic string
	c := a.Command(cli.Command{
		Group: cli.GroupOther,
		Use:   "inspect FILE | inspect -c FILE --topic state|model",
		About: `Look into a model or a state
Prints the content of a model file: its version and where it came from, its parts and their sizes, the features with
their levels, and the sets of features that tell the classes apart, with eta: the share of the uncertainty about the
class that the set explains.

With -c and --topic it looks into a topic of the stage instead: the snapshots of its state with their versions, sizes
and offsets, or the models that were published.`,
		Example: `liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv --model votes.model
liftstream inspect votes.model`,
		Args: cli.Needs(0, 1, "a model file"),
		Run: func(ctx context.Context, args []string) error {
			if topic != "" || file != "" {
				if len(args) > 0 {
					return cli.Usagef("inspect looks into a file or, with -c FILE --topic state|model, into a topic; not both")
				}
				return inspectTopic(ctx, a, file, topic)
			}
			if len(args) == 0 {
				return cli.Usagef("inspect needs a model file, such as 'liftstream fit --model' writes")
			}
			return inspectFile(a, args[0])
		},
	})
	cli.ConfigFlag(c, &file)
	c.Flags().Lookup("config").Usage = "configuration `FILE`, with --topic"
	c.Flags().StringVar(&topic, "topic", "", "`TOPIC` to look into: state or model")
	return c
}

func inspectFile(a *cli.App, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading model: %w", err)
	}
	m, err := assemble.ReadModel(path, nil)
	if err != nil {
		return err
	}
	return show.Model(a.Out, fmt.Sprintf("%s (%s)", path, text.Bytes(info.Size())), m, nil)
}

var inspectors = map[string]func(context.Context, *cli.App, *cluster.Cluster, *config.Config) error{
	"state": inspectStates, "model": inspectModels,
}

// inspectTopic prints the content of the state topic or the model topic of a configuration. Its status is 1 when a part
// of it cannot be read.
func inspectTopic(ctx context.Context, a *cli.App, file, topic string) error {
	inspect, ok := inspectors[topic]
	if !ok {
		return cli.Usagef("--topic %q: it is one of state, model", topic)
	}
	return cluster.With(ctx, a, file, func(k *cluster.Cluster, c *config.Config) error {
		return cluster.Explain(inspect(ctx, a, k, c), file)
	})
}

func inspectModels(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config) error {
	p, err := state.ReadPublished(ctx, k.Client, c.Topics.Model)
	if err != nil {
		return err
	}
	versions := p.Versions
	if len(versions) == 0 {
		_, err := fmt.Fprintf(a.Out, "%s holds no model: none was published yet\n", c.Topics.Model)
		return cmp.Or(err, show.Verdicts(a.Out, p.Verdicts))
	}
	broken := noteBroken(a, p)
	if err := show.Versions(a.Out, versions, c.Fingerprint()); err != nil {
		return err
	}
	if err := show.Verdicts(a.Out, p.Verdicts); err != nil {
		return err
	}
	if last := versions[len(versions)-1]; last.Model != nil {
		fmt.Fprintln(a.Out)
		name := fmt.Sprintf("the newest of %s (%s)", c.Topics.Model, text.Bytes(int64(last.Bytes)))
		return cmp.Or(show.Model(a.Out, name, last.Model, c.GoalNames()), broken)
	}
	return broken
}

// noteBroken names the versions that cannot be read, and returns cli.ErrFound where there is one.
func noteBroken(a *cli.App, p *state.Published) (broken error) {
	for _, v := range p.Versions {
		if v.Model == nil {
			broken = cli.ErrFound
			a.Notef("model %d: %v", v.Version, v.Err)
		}
	}
	return broken
}

func inspectStates(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config) error {
	states, err := state.ReadStates(ctx, k.Client, c.Topics.State)
	if err != nil {
		return err
	}
	var broken error
	for _, s := range states {
		for _, err := range s.Problems {
			broken = cli.ErrFound
			a.Notef("partition %d: %v", s.Partition, err)
		}
		for _, x := range s.Snapshots {
			if x.Err != nil {
				broken = cli.ErrFound
				a.Notef("partition %d, snapshot %d: %v", s.Partition, x.Number, x.Err)
			}
		}
	}
	if err := show.States(a.Out, states, c.Fingerprint(), c.Topics.Labels != ""); err != nil {
		return err
	}
	return broken
}
