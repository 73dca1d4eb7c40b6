package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/config"
	"liftstream/stream/orders"
	"liftstream/stream/state"
)

func promoteCommand(a *cli.App) *cobra.Command {
	var configs []string
	var why string
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "promote -c FILE -c CHALLENGER [--why TEXT]",
		About: `Put a challenger into the place of a stage
Where both configurations make the same models, which differ because they were fitted at other times or from other
records, the model that serves in the challenger goes over: the first stage publishes it as its next version, as by
'model publish', and both run on. Say 'compare' first: nothing is asked here. It needs the rights of 'model' on both.

A model of other features or settings would not fit the state of the first stage, and one of records that control.learn
chooses otherwise would foretell another outcome. Then nothing is changed, the steps are printed by which the challenger
itself takes the place over with all that it has learnt, writing into the scores topic of the first stage, and the exit
status is 1.`,
		Example: `liftstream promote -c cmd/liftstream/examples/live.yaml -c cmd/liftstream/examples/challenger.yaml`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return promote(ctx, a, configs, why) },
	})
	cli.ConfigsFlag(c, &configs)
	c.Flags().StringVar(&why, "why", "", "`TEXT` that the log and 'model list' give as the reason")
	return c
}

func promote(ctx context.Context, a *cli.App, files []string, why string) error {
	first, second, err := beside(a, files)
	if err != nil {
		return err
	}
	if first.Config.Fingerprint() != second.Config.Fingerprint() || teachers(first.Config) != teachers(second.Config) {
		return cmp.Or(succession(a.Out, files, first.Config, second.Config), cli.ErrFound)
	}
	k, err := cluster.Connect(ctx, first.Config)
	if err != nil {
		return err
	}
	defer k.Close()
	return handOver(ctx, a, k, files, first, second, why)
}

// teachers says which records a stage learns from, and by which weights, as far as no fingerprint does.
func teachers(c *config.Config) config.Control {
	if c.Control == nil || c.Control.Learn == config.ControlLearnAll {
		return config.Control{Learn: config.ControlLearnAll}
	}
	of := *c.Control
	of.Uplift = ""
	return of
}

// handOver has the first stage publish the model that serves in the second.
func handOver(
	ctx context.Context, a *cli.App, k *cluster.Cluster, files []string, first, second *assemble.Stage, why string,
) error {
	to, from := first.Config, second.Config
	p, err := state.ReadPublished(ctx, k.Client, from.Topics.Model)
	if err != nil {
		return cluster.Explain(err, files[1])
	}
	p.Serve(from.Fingerprint())
	v := p.Version(p.Serving)
	switch {
	case v == nil:
		return fmt.Errorf("no model serves in %s yet; 'liftstream model list -c %s' lists those that it has", from.Name,
			files[1])
	case v.Err != nil:
		return v.Err
	}
	reason := fmt.Sprintf("model %d of %s", v.Version, from.Name)
	if why != "" {
		reason += ": " + why
	}
	given, err := orders.Give(ctx, orders.Options{Client: k.Client, Name: to.Name, Topic: to.Topics.Model,
		Fingerprint: to.Fingerprint(), Verb: orders.Publish, Model: v.Model, Who: whoami(), Why: reason, Now: time.Now()})
	var refused *orders.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w; 'liftstream model list -c %s' shows the models and the orders", err, files[0])
	}
	if err != nil {
		return cluster.Explain(err, files[0])
	}
	if _, err := fmt.Fprintf(a.Out, "model %d of %s goes to %s: %s\n", v.Version, from.Name, to.Name,
		effect(orders.Publish, given)); err != nil {
		return err
	}
	if more := settings(to, from); len(more) > 0 {
		a.Notef("the sections %s differ too and stay as they are in %s", strings.Join(more, ", "), files[0])
	}
	return nil
}

// settings are the sections in which two configurations differ, without the places that a challenger has for itself.
func settings(first, second *config.Config) []string {
	return slices.DeleteFunc(first.Sections(second), func(s string) bool {
		return slices.Contains([]string{"name", "topics", "kafka", "http"}, s)
	})
}

// succession prints how the second stage takes the place of the first.
func succession(w io.Writer, files []string, first, second *config.Config) error {
	_, err := fmt.Fprintf(w, `%[1]s and %[2]s make other models: they differ in %[3]s. Nothing is changed.
%[4]s takes the place of %[5]s with all that it has learnt in these steps:

1. Wait until both have no lag, by liftstream_lag_messages, best while no events come, and stop both with SIGTERM.
   Events that one of them has scored and the other has not would be twice in %[6]s, or not at all.
2. In %[2]s set topics.scores: %[6]s and policy.topic_shared: accept.
3. Start 'liftstream run -c %[2]s'. It goes on where it was, and answers the next events in %[6]s. Its state, models and
   dead letters stay in %[7]s, %[8]s and %[9]s.
4. Keep %[1]s and its topics as long as you may want to go back by the same steps.

Readers that can change their topic need none of this: %[10]s has the scores of %[4]s already.
`, files[0], files[1], strings.Join(settings(first, second), ", "), second.Name, first.Name, first.Topics.Scores,
		second.Topics.State, second.Topics.Model, second.Topics.Dead, second.Topics.Scores)
	return err
}
