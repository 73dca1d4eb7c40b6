package cluster

import (
	"context"
	"fmt"
	"strings"

	"liftstream/config"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Known describes those topics of a configuration that exist, by name.
func (k *Cluster) Known(ctx context.Context, c *config.Config) (map[string]txn.Topic, error) {
	var names []string
	for _, s := range Specs(c) {
		names = append(names, s.Name)
	}
	found, err := k.Describe(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describing topics: %w", err)
	}
	known := make(map[string]txn.Topic, len(found))
	for _, t := range found {
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
	return problems(known, c), nil
}

// problems are those of topics that are known by name.
func problems(known map[string]txn.Topic, c *config.Config) (found []string) {
	faults := topics.Faults(known, Topics(c), Needs(c))
	for _, s := range Specs(c) {
		t, ok := known[s.Name]
		if !ok {
			found = append(found, s.Name+": it does not exist: 'liftstream topics create' makes it")
			continue
		}
		if len(t.Leaderless) > 0 {
			found = append(found, fmt.Sprintf("%s: partitions %s have no leader: brokers are down", s.Name,
				strings.Trim(fmt.Sprint(t.Leaderless), "[]")))
		}
		for _, f := range faults {
			if f.Topic == s.Name {
				found = append(found, f.String())
			}
		}
	}
	return found
}

// Needs are the sizes that the topics of a configuration must have.
func Needs(c *config.Config) topics.Needs {
	return topics.Needs{Message: int64(c.Memory.Message), Replication: c.Topics.Replication}
}
