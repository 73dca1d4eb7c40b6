package cluster

import (
	"fmt"
	"strings"

	"liftstream/config"
	"liftstream/stream"
	"liftstream/stream/orders"
	"liftstream/stream/resend"
)

// Rights are the rights that the account of a configuration needs. Each line is the arguments of kafka-acls.
func Rights(c *config.Config) string {
	who := "ACCOUNT"
	if c.Kafka.SASL != nil {
		who = c.Kafka.SASL.Username
	}
	t := &c.Topics
	var b strings.Builder
	add := func(resource, name string, prefixed bool, operations ...string) {
		fmt.Fprintf(&b, "--add --allow-principal %s", Quote("User:"+who))
		for _, o := range operations {
			fmt.Fprintf(&b, " --operation %s", o)
		}
		fmt.Fprintf(&b, " --%s %s", resource, Quote(name))
		if prefixed {
			b.WriteString(" --resource-pattern-type prefixed")
		}
		b.WriteByte('\n')
	}
	// The section of run is that of bootstrap too, which writes by the ids of the tasks and of the trainer.
	b.WriteString("# run\n")
	// It looks at the settings of its topics before it starts.
	add("topic", t.Events, false, "Read", "Describe", "DescribeConfigs")
	if t.Labels != "" {
		add("topic", t.Labels, false, "Read", "Describe", "DescribeConfigs")
	}
	// At a start the stage reads the topics that it writes, to see how much of the last transaction is there.
	add("topic", t.Scores, false, "Read", "Write", "Describe", "DescribeConfigs")
	add("topic", t.Dead, false, "Read", "Write", "Describe", "DescribeConfigs")
	add("topic", t.State, false, "Read", "Write", "Describe", "DescribeConfigs")
	add("topic", t.Model, false, "Read", "Write", "Describe", "DescribeConfigs")
	add("group", c.Name, false, "Read", "Describe")
	// One transactional id a partition, NAME-0, NAME-1 ..., and NAME-trainer.
	add("transactional-id", c.Name+"-", true, "Write", "Describe")
	if c.Policy.DeadShare > 0 {
		add("group", stream.ResumeGroup(c.Name), false, "Describe")
	}
	b.WriteString("# produce\n")
	add("topic", t.Events, false, "Write", "Describe")
	b.WriteString("# tail\n")
	for _, topic := range []string{t.Scores, t.Dead} {
		add("topic", topic, false, "Read", "Describe")
	}
	b.WriteString("# dead\n")
	for _, topic := range []string{t.Events, t.Labels} {
		if topic != "" {
			add("topic", topic, false, "Write", "Describe")
		}
	}
	add("topic", t.Dead, false, "Read", "Write", "Describe")
	add("group", resend.Group(c.Name), false, "Read", "Describe")
	add("transactional-id", resend.Group(c.Name), false, "Write", "Describe")
	b.WriteString("# compare, with those of the other stage\n")
	for _, topic := range []string{t.Events, t.Labels, t.Scores} {
		if topic != "" {
			add("topic", topic, false, "Read", "Describe")
		}
	}
	b.WriteString("# resume\n")
	for _, topic := range []string{t.Events, t.Labels, t.State} {
		if topic != "" {
			add("topic", topic, false, "Read", "Describe")
		}
	}
	add("group", c.Name, false, "Describe")
	add("group", stream.ResumeGroup(c.Name), false, "Read", "Describe")
	add("transactional-id", stream.ResumeGroup(c.Name), false, "Write", "Describe")
	b.WriteString("# model\n")
	add("topic", t.Model, false, "Read", "Write", "Describe")
	add("transactional-id", orders.ID(c.Name), false, "Write", "Describe")
	b.WriteString("# topics create, topics describe\n")
	for _, s := range Specs(c) {
		add("topic", s.Name, false, "Create", "Describe", "DescribeConfigs")
	}
	return b.String()
}

// Quote makes a text one word of a shell.
func Quote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(":._-@/", r))
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
