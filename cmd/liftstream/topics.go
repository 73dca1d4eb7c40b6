package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/config"
	"liftstream/stream/txn"
)

func topicsCommand(a *app) *cobra.Command {
	c := a.command(groupLive, "topics create|describe -c FILE", `Create the topics, or tell what is off with them
'create' makes the topics of a configuration that do not exist, with the right settings: events, scores, labels and
state with topics.partitions partitions each, model with one; state and model compacted; large enough messages. Those
that exist are left as they are. 'describe' lists them and tells what is off; its exit status is 1 if anything is.

With --acls both contact nobody and print, as the arguments of kafka-acls, the rights that a secured cluster must
grant: for the stage, and for the commands beside it.`,
		`liftstream topics create -c cmd/liftstream/examples/live.yaml`, noCommand,
		func(context.Context, []string) error {
			return usagef("say 'liftstream topics create -c FILE' or 'liftstream topics describe -c FILE'")
		})
	c.SuggestionsMinimumDistance = 2
	c.FParseErrWhitelist.UnknownFlags = true // the name of the subcommand is what is wrong, not its flags
	for _, x := range []struct {
		name, about string
		run         func(ctx context.Context, file string, acls bool) error
	}{
		{"create", "Create the topics that do not exist", a.createTopics},
		{"describe", "List the topics and tell what is off with them", a.describeTopics},
	} {
		var file string
		var acls bool
		sub := a.command("", x.name+" -c FILE [--acls]", x.about+"\n"+x.about+". See 'liftstream topics --help'.",
			"liftstream topics "+x.name+" -c cmd/liftstream/examples/live.yaml", needs(0, 0, ""),
			func(ctx context.Context, _ []string) error { return x.run(ctx, file, acls) })
		configFlag(sub, &file)
		sub.Flags().BoolVar(&acls, "acls", false, "print the rights that a secured cluster must grant")
		c.AddCommand(sub)
	}
	return c
}

func (a *app) createTopics(ctx context.Context, file string, acls bool) error {
	c, err := a.load(file)
	if err != nil {
		return err
	}
	if acls {
		return a.printRights(c)
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	specs := specsOf(c)
	created, err := k.CreateTopics(ctx, specs...)
	for i, made := range created {
		state := "exists"
		if made {
			state = "created"
		}
		if err == nil || made {
			fmt.Fprintf(a.out, "%-8s %s\n", state, specs[i].Name)
		}
	}
	if err != nil {
		return explain(fmt.Errorf("creating topics: %w", err), file)
	}
	found, err := k.problems(ctx, c)
	if err != nil {
		return explain(err, file)
	}
	for _, p := range found {
		fmt.Fprintln(a.out, p)
	}
	if len(found) > 0 {
		return errFound
	}
	return nil
}

func (a *app) describeTopics(ctx context.Context, file string, acls bool) error {
	c, err := a.load(file)
	if err != nil {
		return err
	}
	if acls {
		return a.printRights(c)
	}
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	known, err := k.describe(ctx, c)
	if err != nil {
		return explain(err, file)
	}
	var rows [][]string
	for _, s := range specsOf(c) {
		t, ok := known[s.Name]
		if !ok {
			rows = append(rows, []string{s.Name, "-", "-", "-", "-", "-"})
			continue
		}
		records, err := k.length(ctx, t)
		if err != nil {
			return explain(err, file)
		}
		rows = append(rows, []string{t.Name, strconv.Itoa(t.Partitions), strconv.Itoa(t.Replication), t.Configs["cleanup.policy"],
			t.Configs["max.message.bytes"], strconv.FormatInt(records, 10)})
	}
	if err := table(a.out, "", []string{"topic", " partitions", " replication", "cleanup", " max.message.bytes", " offsets"}, rows); err != nil {
		return err
	}
	found, err := k.problems(ctx, c)
	if err != nil {
		return explain(err, file)
	}
	for _, p := range found {
		fmt.Fprintln(a.out, p)
	}
	if len(found) > 0 {
		return errFound
	}
	return nil
}

// describe is what the cluster has of the topics of a configuration, by name.
func (k *cluster) describe(ctx context.Context, c *config.Config) (map[string]txn.Topic, error) {
	var names []string
	for _, s := range specsOf(c) {
		names = append(names, s.Name)
	}
	topics, err := k.Describe(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describing topics: %w", err)
	}
	known := make(map[string]txn.Topic, len(topics))
	for _, t := range topics {
		known[t.Name] = t
	}
	return known, nil
}

// length is the number of offsets between start and end of a topic's partitions.
func (k *cluster) length(ctx context.Context, t txn.Topic) (int64, error) {
	first, err := k.ListOffsets(ctx, t.Name, upTo(t.Partitions), txn.Start)
	if err != nil {
		return 0, fmt.Errorf("measuring %s: %w", t.Name, err)
	}
	last, err := k.ListOffsets(ctx, t.Name, upTo(t.Partitions), txn.End)
	if err != nil {
		return 0, fmt.Errorf("measuring %s: %w", t.Name, err)
	}
	var n int64
	for p := range t.Partitions {
		n += last[p] - first[p]
	}
	return n, nil
}

// upTo is 0, 1, ... n-1.
func upTo(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// problems says what is off with the topics of a configuration: each line names the topic and the remedy.
func (k *cluster) problems(ctx context.Context, c *config.Config) ([]string, error) {
	known, err := k.describe(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []string
	off := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	events := known[c.Topics.Events]
	for _, s := range specsOf(c) {
		t, ok := known[s.Name]
		if !ok {
			off("%s: it does not exist: 'liftstream topics create' makes it", s.Name)
			continue
		}
		if len(t.Leaderless) > 0 {
			off("%s: partitions %s have no leader: brokers are down", s.Name, strings.Trim(fmt.Sprint(t.Leaderless), "[]"))
		}
		switch s.Name {
		case c.Topics.Model:
			if t.Partitions != 1 {
				off("%s: it has %d partitions and must have 1: delete it and create it again", s.Name, t.Partitions)
			}
		case c.Topics.Scores, c.Topics.Labels, c.Topics.State:
			if events.Partitions > 0 && t.Partitions != events.Partitions {
				off("%s: it has %d partitions and %s has %d: they must be equal", s.Name, t.Partitions, c.Topics.Events, events.Partitions)
			}
		}
		if policy := t.Configs["cleanup.policy"]; s.Configs["cleanup.policy"] != "" && policy != s.Configs["cleanup.policy"] {
			off("%s: cleanup.policy is %s and must be %s, or its records vanish in time", s.Name, policy, s.Configs["cleanup.policy"])
		} else if s.Configs["cleanup.policy"] == "" && strings.Contains(policy, "compact") {
			off("%s: cleanup.policy is %s and must be delete: compaction refuses messages without a key and drops those of the same one", s.Name, policy)
		}
		if size, err := strconv.ParseInt(t.Configs["max.message.bytes"], 10, 64); err == nil && size < int64(c.Memory.Message) {
			off("%s: max.message.bytes is %d, below memory.message (%d)", s.Name, size, int64(c.Memory.Message))
		}
	}
	return found, nil
}

// printRights writes the rights that the account of a configuration needs. Each line is the arguments of kafka-acls.
func (a *app) printRights(c *config.Config) error {
	who := "ACCOUNT"
	if c.Kafka.SASL != nil {
		who = c.Kafka.SASL.Username
	}
	t := &c.Topics
	var b strings.Builder
	add := func(resource, name string, prefixed bool, operations ...string) {
		fmt.Fprintf(&b, "--add --allow-principal %s", quote("User:"+who))
		for _, o := range operations {
			fmt.Fprintf(&b, " --operation %s", o)
		}
		fmt.Fprintf(&b, " --%s %s", resource, quote(name))
		if prefixed {
			b.WriteString(" --resource-pattern-type prefixed")
		}
		b.WriteByte('\n')
	}
	b.WriteString("# run\n")
	add("topic", t.Events, false, "Read", "Describe")
	if t.Labels != "" {
		add("topic", t.Labels, false, "Read", "Describe")
	}
	// What it wrote itself it reads at a start, to see what of the last transaction is there.
	add("topic", t.Scores, false, "Read", "Write", "Describe")
	add("topic", t.Dead, false, "Read", "Write", "Describe")
	add("topic", t.State, false, "Read", "Write", "Describe")
	add("topic", t.Model, false, "Read", "Write", "Describe")
	add("group", c.Name, false, "Read", "Describe")
	// One transactional id a partition, NAME-0, NAME-1 ..., and NAME-trainer.
	add("transactional-id", c.Name+"-", true, "Write", "Describe")
	b.WriteString("# produce\n")
	add("topic", t.Events, false, "Write", "Describe")
	b.WriteString("# tail\n")
	for _, topic := range []string{t.Scores, t.Dead} {
		add("topic", topic, false, "Read", "Describe")
	}
	b.WriteString("# topics create, topics describe\n")
	for _, s := range specsOf(c) {
		add("topic", s.Name, false, "Create", "Describe", "DescribeConfigs")
	}
	_, err := io.WriteString(a.out, b.String())
	return environment(err)
}

// quote makes a text one word of a shell.
func quote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(":._-@/", r))
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
