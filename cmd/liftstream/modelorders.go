package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/model"
	"liftstream/stream/orders"
	"liftstream/stream/state"
)

// ordering is an order on the command line.
type ordering struct {
	config, why string
	learning    bool
	verb        orders.Verb
}

// orderCommand builds the command of an order.
func orderCommand(a *cli.App, verb orders.Verb, c cli.Command) *cobra.Command {
	o := &ordering{verb: verb}
	c.Run = func(ctx context.Context, args []string) error { return o.run(ctx, a, args) }
	cmd := a.Command(c)
	cli.ConfigFlag(cmd, &o.config)
	cmd.Flags().StringVar(&o.why, "why", "", "`TEXT` that the log and 'model list' give as the reason")
	if verb == orders.Freeze {
		cmd.Flags().BoolVar(&o.learning, "learning", false, "learn nothing either")
	}
	return cmd
}

func (o *ordering) run(ctx context.Context, a *cli.App, args []string) error {
	var version int64
	if len(args) > 0 && o.verb != orders.Publish {
		var err error
		if version, err = versionNumber(args[0]); err != nil {
			return err
		}
		if version == 0 {
			return cli.Usagef("name the version by its number: 'liftstream model unpin' has the newest one serve")
		}
	}
	c, err := a.Load(o.config)
	if err != nil {
		return err
	}
	var m *model.Model
	if o.verb == orders.Publish {
		st, err := assemble.New(c)
		if err != nil {
			return err
		}
		if m, err = fileModel(st, args[0]); err != nil {
			return err
		}
	}
	k, err := cluster.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	given, err := orders.Give(ctx, orders.Options{Client: k.Client, Name: c.Name, Topic: c.Topics.Model,
		Fingerprint: c.Fingerprint(), Verb: o.verb, Version: version, Learning: o.learning, Model: m, Who: whoami(),
		Why: o.why, Now: time.Now()})
	var refused *orders.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w; 'liftstream model list -c %s' shows the models and the orders", err, o.config)
	}
	if err != nil {
		return cluster.Explain(err, o.config)
	}
	_, err = fmt.Fprintln(a.Out, effect(o.verb, given))
	return err
}

// fileModel reads a model file that a stage can serve.
func fileModel(st *assemble.Stage, path string) (*model.Model, error) {
	m, err := assemble.ReadModel(path, st.Spec.Schema)
	if err != nil {
		return nil, err
	}
	if err := model.NewPartition(st.Spec, 0).Swap(m); err != nil {
		return nil, assemble.Foreign(path, err)
	}
	return m, nil
}

// effect tells the effect of an order.
func effect(verb orders.Verb, o *state.Order) string {
	switch verb {
	case orders.Pin:
		return fmt.Sprintf("model %d serves until 'liftstream model unpin'", o.Serve)
	case orders.Unpin:
		return fmt.Sprintf("model %d serves, the newest one, until the next one is accepted", o.Serve)
	case orders.Rollback:
		return fmt.Sprintf("model %d serves as it was published, until the next one is accepted", o.Serve)
	case orders.Publish:
		if o.Serve > 0 && o.Until == 0 {
			return fmt.Sprintf("the stage publishes the model as its next version; model %d is pinned and serves on", o.Serve)
		}
		return "the stage publishes the model as its next version, which serves until another one is accepted"
	case orders.Freeze:
		if o.Still {
			return "no model is fitted and no record learnt until 'liftstream model unfreeze'"
		}
		return "no model is fitted until 'liftstream model unfreeze'"
	case orders.Trust:
		return "no model is refused for labels that look inverted, until one is published"
	}
	return "models are fitted and records learnt"
}

// whoami names the person and the machine.
func whoami() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// orderCommands are the commands that give an order on the models.
func orderCommands(a *cli.App) []*cobra.Command {
	const obeyed = `

The order is a record of the model topic. Every process of the stage obeys it within five seconds, one that is started
later before its first record, and each logs it with its time, its giver and --why. 'model list' lists the last orders.`
	return []*cobra.Command{
		orderCommand(a, orders.Pin, cli.Command{
			Use: "pin -c FILE VERSION [--why TEXT]",
			About: `Have one model serve, whatever is published
The version serves until 'model unpin', over restarts. Models are fitted and compared with it meanwhile, published and
listed, and do not serve. A version that does not serve yet begins as it was published: the counts that the partitions
have learnt since are forgotten, and it learns on from there.` + obeyed,
			Example: `liftstream model pin -c cmd/liftstream/examples/live.yaml 3 --why "campaign of March"`,
			Args:    cli.Needs(1, 1, "a version, as 'model list' lists it"),
		}),
		orderCommand(a, orders.Unpin, cli.Command{
			Use: "unpin -c FILE [--why TEXT]",
			About: `Have the newest model serve again
The newest version serves, with the newest counts of the partitions where their tails reach back to its fit, else as it
was published.` + obeyed,
			Example: `liftstream model unpin -c cmd/liftstream/examples/live.yaml`,
			Args:    cli.Needs(0, 0, ""),
		}),
		orderCommand(a, orders.Rollback, cli.Command{
			Use: "rollback -c FILE [VERSION] [--why TEXT]",
			About: `Go back to an earlier model
The version before the serving one, or the named one, serves byte for byte as it was published: the counts that the
partitions have learnt since are forgotten. It learns on, and the next model that the gate accepts replaces it. The next
fit sees the newest records, also those for which you go back: say 'model freeze' first where they are bad.` + obeyed,
			Example: `liftstream model rollback -c cmd/liftstream/examples/live.yaml --why "inverted labels since noon"`,
			Args:    cli.Needs(0, 1, ""),
		}),
		orderCommand(a, orders.Publish, cli.Command{
			Use: "publish -c FILE MODEL [--why TEXT]",
			About: `Have a model file serve
The stage publishes the file, such as 'fit --model' or 'model export' writes it, as its next version without asking the
gate. It serves as it is, unless another version is pinned, and learns on; the next model that the gate accepts replaces
it. It must be fitted under the same configuration. Where the stage does not run, it publishes the model at its start.
'model freeze' does not hold it up.` + obeyed,
			Example: `liftstream model publish -c cmd/liftstream/examples/live.yaml live.model`,
			Args:    cli.Needs(1, 1, "a model file"),
		}),
		orderCommand(a, orders.Freeze, cli.Command{
			Use: "freeze -c FILE [--learning] [--why TEXT]",
			About: `Fit no more models
The serving model stays and goes on to count labelled records; a fitted model that waits for its verdict is dropped.
With --learning nothing is learnt either: records are scored by the counts as they are, their labels are passed over,
and a label that comes later is counted as learning_off. The key learning: off of the configuration does the
same.` + obeyed,
			Example: `liftstream model freeze -c cmd/liftstream/examples/live.yaml --learning`,
			Args:    cli.Needs(0, 0, ""),
		}),
		orderCommand(a, orders.Trust, cli.Command{
			Use: "trust -c FILE [--why TEXT]",
			About: `Fit on labels that look inverted
The stage refuses its models where the newest labelled records look inverted to the serving model: it tells more about
them once the classes are exchanged. Say 'trust' where that is how the world has changed: the next model is judged by
the gate alone, on the records that are there. After 20,000 labelled records the stage trusts them by itself.` + obeyed,
			Example: `liftstream model trust -c cmd/liftstream/examples/live.yaml --why "the survey asks the opposite now"`,
			Args:    cli.Needs(0, 0, ""),
		}),
		orderCommand(a, orders.Unfreeze, cli.Command{
			Use: "unfreeze -c FILE [--why TEXT]",
			About: `Fit models and learn again
Ends 'model freeze', with --learning or without. Labels that were passed over meanwhile are not learnt.` + obeyed,
			Example: `liftstream model unfreeze -c cmd/liftstream/examples/live.yaml`,
			Args:    cli.Needs(0, 0, ""),
		}),
	}
}
