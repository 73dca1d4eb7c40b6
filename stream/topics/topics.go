// Package topics knows the topics of a stage: their names, how they must be made, and how they must fit each other.
//
// Begin at Specs, Check and Faults.
package topics

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// Names are the names of a stage's topics. Labels may be "", the others not.
type Names struct {
	Events, Scores, Labels, State, Model, Dead string
}

// String names the topics in a phrase: "reads A and B and writes C, D, E and F".
func (t Names) String() string {
	read := t.Events
	if t.Labels != "" {
		read += " and " + t.Labels
	}
	return fmt.Sprintf("reads %s and writes %s, %s, %s and %s", read, t.Scores, t.Dead, t.State, t.Model)
}

// MismatchError is returned where topics or state do not fit each other or this build, and no policy of the
// configuration makes the stage go on.
type MismatchError struct{ Problem string }

func (e *MismatchError) Error() string { return e.Problem }

// Check compares the topics with each other, and returns the partitions of the events and of the dead letters.
// Events, scores, labels and state must have as many.
func Check(ctx context.Context, c *txn.Client, t Names) (partitions, dead int, err error) {
	count := func(topic string) (n int) {
		if err == nil && topic != "" {
			if n, err = c.Partitions(ctx, topic); err != nil {
				err = fmt.Errorf("looking at topic %s: %w", topic, err)
			}
		}
		return n
	}
	partitions = count(t.Events)
	for _, topic := range []string{t.Scores, t.State, t.Labels} {
		if n := count(topic); err == nil && topic != "" && n != partitions {
			err = &MismatchError{Problem: fmt.Sprintf("topic %s has %d partitions, %s has %d: they must be equal",
				topic, n, t.Events, partitions)}
		}
	}
	dead = count(t.Dead)
	count(t.Model)
	if err != nil {
		return 0, 0, err
	}
	// A stage reads these rarely. A missing right to do so is better known at the first start than after a fault.
	for _, topic := range []string{t.Scores, t.Dead} {
		end, err := c.ListOffsets(ctx, topic, []int{0}, txn.End)
		if err == nil {
			_, err = c.Fetch(ctx, topic, 0, end[0], 1, 0)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("looking at topic %s: %w", topic, err)
		}
	}
	return partitions, dead, nil
}

// Settings returns the unusual settings of the topics; dangerous ones give a *MismatchError. Without the right
// DescribeConfigs it cannot look at them, and returns that.
func Settings(ctx context.Context, c *txn.Client, t Names, n Needs) (unusual []Fault, err error) {
	var names []string
	for _, s := range Specs(t, 1, 1, 0) {
		names = append(names, s.Name)
	}
	topics, err := c.Describe(ctx, names...)
	switch {
	case txn.KindOf(err) == txn.Denied:
		return []Fault{{Topic: t.Events, Text: fmt.Sprintf("the settings of the topics are not known: %v", err)}}, nil
	case err != nil:
		return nil, fmt.Errorf("describing topics: %w", err)
	}
	known := make(map[string]txn.Topic, len(topics))
	for _, topic := range topics {
		known[topic.Name] = topic
	}
	var refused []string
	for _, f := range Faults(known, t, n) {
		if f.Refused {
			refused = append(refused, f.String())
		} else {
			unusual = append(unusual, f)
		}
	}
	if len(refused) > 0 {
		return nil, &MismatchError{Problem: strings.Join(refused, "; ")}
	}
	return unusual, nil
}

// Specs are the topics of a stage as they must be: events, scores, labels and state with the same number of
// partitions, state and model compacted, messages up to maxMessage bytes, dead letters with deadletter.TopicBytes for
// their headers beside the largest message. The names that are "" are left out.
//
// Each transaction writes to the state topic, and a restart reads the part that compaction has not reached: so its
// segments are small, and the markers of transactions leave after a minute instead of a day.
func Specs(t Names, partitions, replication int, maxMessage int64) []txn.TopicSpec {
	size := map[string]string{"max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	dead := map[string]string{"max.message.bytes": strconv.FormatInt(maxMessage+deadletter.TopicBytes, 10)}
	compact := map[string]string{"cleanup.policy": "compact", "max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	state := maps.Clone(compact)
	state["segment.bytes"] = strconv.Itoa(8 << 20) // the largest record is a manifest of 4 MiB
	state["delete.retention.ms"] = "60000"
	all := []txn.TopicSpec{
		{Name: t.Events, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Scores, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Labels, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.State, Partitions: partitions, Replication: replication, Configs: state},
		{Name: t.Model, Partitions: 1, Replication: replication, Configs: compact},
		{Name: t.Dead, Partitions: partitions, Replication: replication, Configs: dead},
	}
	out := all[:0]
	for _, s := range all {
		if s.Name != "" {
			out = append(out, s)
		}
	}
	return out
}
