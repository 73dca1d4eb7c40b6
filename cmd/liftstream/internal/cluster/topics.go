package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"liftstream/config"
	"liftstream/stream/txn"
)

// Known describes those topics of a configuration that exist, by name.
func (k *Cluster) Known(ctx context.Context, c *config.Config) (map[string]txn.Topic, error) {
	var names []string
	for _, s := range Specs(c) {
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

// Length is the number of offsets between start and end of a topic's partitions.
func (k *Cluster) Length(ctx context.Context, t txn.Topic) (int64, error) {
	first, err := k.ListOffsets(ctx, t.Name, UpTo(t.Partitions), txn.Start)
	if err != nil {
		return 0, fmt.Errorf("measuring %s: %w", t.Name, err)
	}
	last, err := k.ListOffsets(ctx, t.Name, UpTo(t.Partitions), txn.End)
	if err != nil {
		return 0, fmt.Errorf("measuring %s: %w", t.Name, err)
	}
	var n int64
	for p := range t.Partitions {
		n += last[p] - first[p]
	}
	return n, nil
}

// UpTo is 0, 1, ... n-1.
func UpTo(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// Problems lists the faults of the topics of a configuration: each line names the topic and the remedy.
func (k *Cluster) Problems(ctx context.Context, c *config.Config) ([]string, error) {
	known, err := k.Known(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []string
	off := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	events := known[c.Topics.Events]
	for _, s := range Specs(c) {
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
				off("%s: it has %d partitions and %s has %d: they must be equal", s.Name, t.Partitions, c.Topics.Events,
					events.Partitions)
			}
		}
		if policy := t.Configs["cleanup.policy"]; s.Configs["cleanup.policy"] != "" && policy != s.Configs["cleanup.policy"] {
			off("%s: cleanup.policy is %s and must be %s, or its records vanish in time", s.Name, policy,
				s.Configs["cleanup.policy"])
		} else if s.Configs["cleanup.policy"] == "" && strings.Contains(policy, "compact") {
			off("%s: cleanup.policy is %s and must be delete: compaction refuses messages without a key and drops those of "+
				"the same one", s.Name, policy)
		}
		if size, err := strconv.ParseInt(t.Configs["max.message.bytes"], 10, 64); err == nil &&
			size < int64(c.Memory.Message) {
			off("%s: max.message.bytes is %d, below memory.message (%d)", s.Name, size, int64(c.Memory.Message))
		}
	}
	return found, nil
}
