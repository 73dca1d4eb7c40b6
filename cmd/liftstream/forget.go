package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream/orders"
	"liftstream/stream/state"
)

// forgetting is the command line of 'forget'.
type forgetting struct {
	config, file, why, format string
	ids                       []string
	wait                      time.Duration
}

func forgetCommand(a *cli.App) *cobra.Command {
	var f forgetting
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use:   "forget -c FILE --id ID|--ids FILE [--why TEXT] [--wait TIME] [--format text|json]",
		About: `Have a stage forget all records of an id
Every partition takes the records of the id out of its waiting store, tail, reservoir, prototypes, dedup and the times
of since_last and count, and takes a labelled record whose row it still has back from all counts. It writes new
snapshots at once, so that none is left with the records, and the next fit waits for fit.records alone. Models of before
the order, which may hold such a record to compare others with, leave the topic once none of them serves: 'model
rollback' does not reach behind it. Replays and takeovers obey at the same point. The answer says what was found, and
what the stage cannot take back. A record of the id that comes later is a new one.

Topics of events, labels, scores and dead letters are not the stage's to erase: let their retention end, or delete what
is in them. The order names an id by half of its SHA-256, and is emptied once all partitions have obeyed and written.
Where the stage does not run, or the time of --wait ends before, say 'forget' again without an id: it waits for all
orders so far.`,
		Example: `liftstream forget -c shop.yaml --id 44832 --why "request of 3 May"`,
		Args:    cli.Needs(0, 0, ""),
		Run:     func(ctx context.Context, _ []string) error { return f.run(ctx, a) },
	})
	cli.ConfigFlag(c, &f.config)
	s := c.Flags()
	s.StringArrayVar(&f.ids, "id", nil, "forget the records of `ID`, as scores name it; may be repeated")
	s.StringVar(&f.file, "ids", "", "forget the ids of `FILE`, one a line; - is standard input")
	s.StringVar(&f.why, "why", "", "`TEXT` that the log gives as the reason; it must name no person")
	s.DurationVar(&f.wait, "wait", 2*time.Minute, "wait `TIME` for the partitions; 0 gives the order and waits for none")
	s.StringVar(&f.format, "format", "text", "`FORMAT`: text or json")
	return c
}

func (f *forgetting) run(ctx context.Context, a *cli.App) error {
	if err := letterFormat(f.format, "text", "json"); err != nil {
		return err
	}
	if f.wait < 0 {
		return cli.Usagef("--wait %v: it is 0 or more", f.wait)
	}
	ids, err := f.read(a)
	if err != nil {
		return err
	}
	return cluster.With(ctx, a, f.config, func(k *cluster.Cluster, c *config.Config) error {
		if c.Record.ID == "" {
			return fmt.Errorf("%s: the configuration names no id (record.id), so no state knows one", f.config)
		}
		return f.order(ctx, a, k, c, ids)
	})
}

// read returns the sums of the ids, each once.
func (f *forgetting) read(a *cli.App) (sums []model.IDSum, err error) {
	ids := slices.Clone(f.ids)
	if f.file != "" {
		var in io.Reader = a.In
		if f.file != "-" {
			file, err := os.Open(f.file)
			if err != nil {
				return nil, fmt.Errorf("reading the ids: %w", err)
			}
			defer file.Close()
			in = file
		}
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if id := strings.TrimRight(lines.Text(), "\r"); id != "" {
				ids = append(ids, id)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("reading the ids: %w", err)
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s holds no id", f.file)
		}
	}
	if slices.Contains(f.ids, "") {
		return nil, cli.Usagef("--id is empty: an empty id is that of no record")
	}
	seen := map[model.IDSum]bool{}
	for _, id := range ids {
		if s := model.SumID(id); !seen[s] {
			seen[s], sums = true, append(sums, s)
		}
	}
	if len(sums) > state.ErasureIDs {
		return nil, fmt.Errorf("%d ids: give at most %d at a time", len(sums), state.ErasureIDs)
	}
	return sums, nil
}

// order gives the order, if there are ids, and waits for all so far.
func (f *forgetting) order(
	ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, ids []model.IDSum,
) error {
	explain := func(err error) error {
		if refused := (*orders.RefusedError)(nil); errors.As(err, &refused) {
			return err
		}
		return cluster.Explain(err, f.config)
	}
	st, err := assemble.New(c)
	if err != nil {
		return err
	}
	partitions, err := k.Partitions(ctx, c.Topics.Events)
	if err != nil {
		return cluster.Explain(fmt.Errorf("looking at topic %s: %w", c.Topics.Events, err), f.config)
	}
	w := &orders.Forgetting{State: c.Topics.State, Options: orders.Options{Client: k.Client, Name: c.Name,
		Topic: c.Topics.Model, Who: whoami(), Why: f.why, Now: time.Now()}}
	former, err := w.Begin(ctx, partitions)
	if err != nil {
		return explain(err)
	}
	former = slices.DeleteFunc(former, func(e *state.Erasure) bool { return e.Emptied })
	if len(ids) == 0 && len(former) == 0 {
		_, err := fmt.Fprintln(a.Out, "no order to forget is open; name the records by --id or --ids")
		return err
	}
	told := show.Forgotten{IDs: len(ids), Partitions: partitions, State: c.Topics.State}
	if len(ids) > 0 {
		o, err := w.Forget(ctx, ids, nil)
		if err != nil {
			return explain(err)
		}
		former = append(former, o)
	}
	group, err := k.ConsumerGroup(c.Name).Describe(ctx)
	if err != nil {
		return cluster.Explain(fmt.Errorf("asking for the members of the group %s: %w", c.Name, err), f.config)
	}
	told.Running = len(group.Members) > 0
	wait := f.wait
	if !told.Running {
		wait = 0
	}
	if told.Order, err = f.await(ctx, w, former, wait, &told); err != nil {
		return explain(err)
	}
	told.Models = w.Models
	told.Prototypes = w.MayHoldRecords(st.Spec)
	told.Topics, told.ModelTopic = []string{c.Topics.Events}, c.Topics.Model
	for _, t := range []string{c.Topics.Labels, c.Topics.Scores, c.Topics.Dead} {
		if t != "" {
			told.Topics = append(told.Topics, t)
		}
	}
	if f.format == "json" {
		err = cli.WriteJSON(a.Out, told.JSON())
	} else {
		err = told.Write(a.Out)
	}
	if err == nil && told.Running && f.wait > 0 && !told.Clean() {
		err = fmt.Errorf("not all partitions have answered within %v; 'liftstream forget -c %s' waits again", f.wait,
			f.config)
	}
	return err
}

// await waits for the orders, the newest of which it returns, has the other partitions forget the prototypes that one
// has found, and empties the orders that all have obeyed.
func (f *forgetting) await(
	ctx context.Context, w *orders.Forgetting, open []*state.Erasure, wait time.Duration, told *show.Forgotten,
) (uint64, error) {
	began := time.Now()
	left := func() time.Duration { return max(wait-time.Since(began), 0) }
	newest := open[len(open)-1]
	for {
		all, err := w.Await(ctx, newest.Number, left())
		if err != nil {
			return newest.Number, err
		}
		var keys []uint64
		clean := true
		for _, o := range open {
			told.Take(w.Answers(o.Number))
			for _, x := range w.Answers(o.Number) {
				if len(o.IDs) > 0 {
					keys = append(keys, x.Keys...)
				}
			}
		}
		for _, x := range all {
			clean = clean && x.Clean
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		if clean && len(keys) > 0 && len(all) > 1 {
			o, err := w.Forget(ctx, nil, keys)
			if err != nil {
				return newest.Number, err
			}
			newest, open = o, []*state.Erasure{o}
			continue
		}
		if clean {
			return newest.Number, w.Finish(ctx, newest.Number)
		}
		return newest.Number, nil
	}
}
