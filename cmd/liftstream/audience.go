package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/audience"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

type choosing struct {
	config, by, share, out, topic string
	top, most                     int
	least                         float64
	with                          audience.With
	json                          bool
	changed                       func(flag string) bool
	unread                        int // messages of the topic
}

// mostTold is the number of messages that are told one by one where they cannot be read.
const mostTold = 20

func audienceCommand(a *cli.App) *cobra.Command {
	var x choosing
	c := a.Command(cli.Command{
		Group: cli.GroupLive,
		Use: "audience -c FILE [SCORES...] [--by CLASS] [--share P | --top N | --min-propensity P] [--out OUT | " +
			"--topic NAME]",
		About: `Choose whom to call
Takes the newest score of each id, orders them by the propensity of a class, the highest first, and writes the best.
Scores are those of the scores topic, read committed up to its present end, or of files that 'score --out' and 'eval
--scores' wrote; files need no configuration.

--share 10% takes that share of those who may be chosen (also .1), --top N so many, --min-propensity P all from that
propensity on. Without them the section value: {hit: 40, contact: 1.5} decides: it takes all whose propensity times hit
is at least contact, so that the next one would cost more than it is expected to bring.

The newest score is that of the latest record time, without record.time that of the message, and of equal ones that of
the last event; of files without times that of the last file and row. Without record.id each record stands for itself.
Equal propensities are ordered by a hash of the id (SHA-256), so the order in which scores came does not matter.
Members of the control share (section control) are to stay untargeted: they are left out and counted, unless
--with-control takes them in. So are untrained scores (--with-untrained), which no model made: their propensities are
base rates, .5 of two classes before the first label.

Each member is one line of JSON on standard output, a row of the file --out, whose extension says the format: .jsonl
.csv .arrow .arrows .feather .parquet, or a row of messages to the topic --topic, as 'produce' sends them, keyed and
split by id; the topic must exist. The columns are id, rank, segment, target (the class), propensity, base_rate, lift,
percentile and why; without ids the position of the record stands in place of id (codec/CONTRACT.md 3.2). CSV files of
scores have no reasons that can be read back.

--by takes a goal as well (record.goals), by the name of its column: the members of the highest propensity of that goal.
Lift, base rate and reasons are then those of the goal, where the scores have them (output.goals: why).

A summary tells the hits, the lift and, with the section value, the profit that the propensities promise: on standard
error, or as JSON on standard output with --json. Memory: about 300 bytes an id, of at most --max-ids, and the rows of
131,072 members at a time; the scores are read once to choose and once more for each 131,072 members.`,
		Example: `
liftstream audience -c cmd/liftstream/examples/live.yaml --share 10% --out call.csv
liftstream fit -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --model bank.model
liftstream score -c cmd/liftstream/examples/bank.yaml --model bank.model cmd/liftstream/examples/bank.csv --out s.jsonl
liftstream audience s.jsonl --by yes --top 100`,
		Args: cli.Needs(0, -1, ""),
		Run:  func(ctx context.Context, files []string) error { return x.run(ctx, a, files) },
	})
	x.changed = c.Flags().Changed
	f := c.Flags()
	f.StringVarP(&x.config, "config", "c", "", "configuration `FILE` (required to read the topic)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	f.StringVar(&x.by, "by", "", "order by the propensity of `CLASS`, or of a goal (default: the positive class)")
	f.StringVar(&x.share, "share", "", "take the share `P` of the ids, such as 10% or .1")
	f.IntVar(&x.top, "top", 0, "take `N` ids")
	f.Float64Var(&x.least, "min-propensity", 0, "take all ids whose propensity is `P` or more")
	f.StringVarP(&x.out, "out", "o", "-", "write to `OUT`; - is JSON lines on standard output")
	f.StringVar(&x.topic, "topic", "", "send to topic `NAME` in place of --out")
	f.BoolVar(&x.with.Control, "with-control", false, "take in the control share, which is to stay untargeted")
	f.BoolVar(&x.with.Untrained, "with-untrained", false, "take in scores that no model made, whose propensities are "+
		"base rates")
	f.IntVar(&x.most, "max-ids", 10_000_000, "hold at most `N` ids")
	f.BoolVar(&x.json, "json", false, "print the summary as JSON on standard output, in place of the audience")
	return c
}

func (x *choosing) run(ctx context.Context, a *cli.App, files []string) error {
	cut, err := x.cut()
	if err != nil {
		return err
	}
	if err := x.check(files); err != nil {
		return err
	}
	var c *config.Config
	choice := audience.Choice{Cut: cut, With: x.with, Most: x.most, Class: x.by}
	var value *evaluate.Value
	if x.config != "" || len(files) == 0 {
		load := a.Load
		if len(files) > 0 && x.topic == "" {
			load = a.LoadOffline
		}
		stage, err := assemble.Load(load, x.config)
		if err != nil {
			return err
		}
		c = stage.Config
		choice.Classes, choice.Control = stage.Spec.Schema.Classes, stage.Spec.Options.Control
		choice.Unit = stage.Codec.TimeUnit
		v := stage.Value()
		if choice.Goal = c.Goal(x.by); choice.Goal {
			v = stage.GoalValues()[x.by]
		}
		if v.Given() {
			value = &v
		}
	}
	if choice.Class, err = x.class(c); err != nil {
		return err
	}
	if cut == (audience.Cut{}) {
		if value == nil && choice.Goal {
			return cli.Usagef("nothing says how many: give --share, --top or --min-propensity, or a configuration with the "+
				"value of the goal, such as value: {goals: [{goal: %s, hit: 1, contact: .1}]}", x.by)
		}
		if value == nil {
			return cli.Usagef("nothing says how many: give --share, --top or --min-propensity, or a configuration with the " +
				"section value")
		}
		choice.Cut.Value = value
	}
	scan := audience.Files(a, files)
	var k *cluster.Cluster
	if len(files) == 0 || x.topic != "" {
		if k, err = cluster.Connect(ctx, c); err != nil {
			return err
		}
		defer k.Close()
	}
	if len(files) == 0 {
		choice.Records, choice.ByID = true, c.Record.ID != ""
		if scan, err = x.scan(a, k, c); err != nil {
			return err
		}
	}
	err = x.write(ctx, a, k, c, value, scan, choice)
	return cluster.Explain(err, x.config)
}

// write chooses the audience and writes it with its summary.
func (x *choosing) write(ctx context.Context, a *cli.App, k *cluster.Cluster, c *config.Config, value *evaluate.Value,
	scan audience.Scan, choice audience.Choice) error {
	var send *audience.Sender
	if x.topic != "" {
		var err error
		if send, err = audience.NewSender(ctx, k, c, x.topic, choice.Class); err != nil {
			return err
		}
	}
	chosen, err := audience.Choose(ctx, scan, choice)
	var many *audience.TooManyError
	if errors.As(err, &many) {
		return fmt.Errorf("%w; --max-ids sets the bound, and each id takes about %d bytes of memory", err,
			audience.EntryBytes)
	}
	if err != nil {
		return err
	}
	chosen.Unread = x.unread
	if chosen.Summary.Scores == 0 {
		why := ""
		if chosen.NoID > 0 {
			why += fmt.Sprintf("; %s without an id", text.Count(chosen.NoID, "score"))
		}
		if x.unread > 0 {
			why += fmt.Sprintf("; %s cannot be read", text.Count(x.unread, "message"))
		}
		return fmt.Errorf("there are no scores to choose from%s", why)
	}
	if send != nil {
		err = send.Send(ctx, chosen)
	} else {
		err = records.WriteTables(a, x.out, func(write func(t *codec.Table) error) error {
			return chosen.Write(ctx, write)
		})
	}
	if err != nil {
		return err
	}
	if chosen.Flat > 0 {
		a.Notef("note: the reasons of %s are left out: CSV has them as text; read scores from .jsonl, .arrow or .parquet",
			text.Count(chosen.Flat, "member"))
	}
	if x.json {
		return cli.WriteJSON(a.Out, chosen.Report(value))
	}
	for _, line := range chosen.Lines(value) {
		a.Notef("%s", line)
	}
	return nil
}

// scan reads the scores topic.
func (x *choosing) scan(a *cli.App, k *cluster.Cluster, c *config.Config) (audience.Scan, error) {
	most := 4 * int64(c.Memory.Message)
	plain, err := assemble.Plain(c, most, a.Notef)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.config, err)
	}
	return audience.Topic{Name: c.Topics.Scores, Stage: c.Name, Most: most, Plain: plain,
		Unread: func(err error) {
			if x.unread++; x.unread <= mostTold {
				a.Notef("%s", text.Visible(err.Error()))
			}
		}}.Scan(k), nil
}

// cut reads the flags that say how many.
func (x *choosing) cut() (c audience.Cut, err error) {
	n := 0
	for _, flag := range []string{"share", "top", "min-propensity"} {
		if x.changed(flag) {
			n++
		}
	}
	if n > 1 {
		return c, cli.Usagef("--share, --top and --min-propensity each say how many: give one of them")
	}
	if x.changed("share") {
		number, percent := strings.CutSuffix(x.share, "%")
		c.Share, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if percent {
			c.Share /= 100
		}
		if err != nil || !(c.Share > 0 && c.Share <= 1) {
			return c, cli.Usagef("--share %s: it is a share above 0 and up to 1, such as .1, or in percent, such as 10%%",
				x.share)
		}
	}
	if x.changed("top") {
		if c.Top = x.top; c.Top < 1 {
			return c, cli.Usagef("--top %d: it is a number of ids, at least 1", x.top)
		}
	}
	if x.changed("min-propensity") {
		if !(x.least >= 0 && x.least <= 1) {
			return c, cli.Usagef("--min-propensity %v: it is a propensity of 0 to 1", x.least)
		}
		c.Least = &x.least
	}
	return c, nil
}

func (x *choosing) check(files []string) error {
	switch {
	case x.topic != "" && x.changed("out"):
		return cli.Usagef("--out and --topic each say where the audience goes: give one of them")
	case x.json && x.topic == "" && x.out == "-":
		return cli.Usagef("--json prints the summary on standard output: name a file with --out, or --topic")
	case x.topic != "" && x.config == "":
		return cli.Usagef("--topic %s: a configuration must name the brokers; give it with -c FILE", x.topic)
	case x.most < 1 || x.most > math.MaxInt32:
		return cli.Usagef("--max-ids %d: it is at least 1 and at most %d", x.most, math.MaxInt32)
	}
	if x.topic == "" && x.out != "-" {
		if _, _, err := file.KindOf(x.out); err != nil {
			return err
		}
	}
	return cli.Apart(cli.Places(files, cli.Place{Flag: "config", Path: x.config}),
		cli.Place{Flag: "out", Path: x.out})
}

// class is the class of --by, or else the positive one.
func (x *choosing) class(c *config.Config) (string, error) {
	if c == nil {
		if x.by == "" {
			return "", cli.Usagef("--by CLASS is missing, or a configuration with a positive class")
		}
		return x.by, nil
	}
	l := &c.Record.Label
	switch {
	case x.by == "" && l.Positive == "":
		return "", cli.Usagef("--by CLASS is missing: the configuration has no positive class; its classes are %s",
			text.Some(l.Classes, 6))
	case x.by == "":
		return l.Positive, nil
	case c.Goal(x.by):
	case !slices.Contains(l.Classes, x.by):
		goals := ""
		if names := c.GoalNames(); len(names) > 0 {
			goals = ", and its goals " + text.Some(names, 15)
		}
		return "", cli.Usagef("--by %s: the classes of the configuration are %s%s", x.by, text.Some(l.Classes, 6), goals)
	}
	return x.by, nil
}
