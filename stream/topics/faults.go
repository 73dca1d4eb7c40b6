package topics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// Fault is a setting of a topic that is not as a stage needs it, or not as it expects it.
type Fault struct {
	Topic string
	Text  string // the fault and the remedy
	// Refused: a stage does not start over it, for it would lose messages or state. Otherwise the setting is unusual, and
	// a stage starts and warns.
	Refused bool
}

// String names the topic and the fault.
func (f Fault) String() string { return f.Topic + ": " + f.Text }

// Needs are the sizes that topics must have.
type Needs struct {
	Message     int64 // the largest input message
	Replication int   // 0 = any
}

// stateBytes is the smallest limit of messages that the topics of state and models may have: a manifest must fit.
const stateBytes = 64 << 10

// Faults compares the topics that exist with the needs of a stage, in the order of Specs. It is a pure function. Topics
// that do not exist are left out, and so are settings that are not known.
func Faults(known map[string]txn.Topic, t Names, n Needs) []Fault {
	var out []Fault
	for _, s := range Specs(t, 1, 1, 0) {
		if topic, ok := known[s.Name]; ok {
			c := comparison{Topic: topic, known: known, names: t, needs: n,
				compacted: s.Configs["cleanup.policy"] == "compact"}
			c.partitions()
			c.copies()
			c.cleanup()
			c.sizes()
			c.times()
			out = append(out, c.found...)
		}
	}
	return out
}

// comparison holds one topic against the needs.
type comparison struct {
	txn.Topic
	known     map[string]txn.Topic
	names     Names
	needs     Needs
	compacted bool // it must be
	found     []Fault
}

func (c *comparison) refuse(format string, args ...any) {
	c.found = append(c.found, Fault{c.Name, fmt.Sprintf(format, args...), true})
}

func (c *comparison) warn(format string, args ...any) {
	c.found = append(c.found, Fault{c.Name, fmt.Sprintf(format, args...), false})
}

// number returns a setting that is a number; ok is false where it is not known.
func (c *comparison) number(topic, key string) (n int64, ok bool) {
	n, err := strconv.ParseInt(c.known[topic].Configs[key], 10, 64)
	return n, err == nil
}

func (c *comparison) partitions() {
	events := c.known[c.names.Events].Partitions
	switch c.Name {
	case c.names.Model:
		if c.Topic.Partitions != 1 {
			c.warn("it has %d partitions and must have 1: delete it and create it again",
				c.Topic.Partitions)
		}
	case c.names.Scores, c.names.Labels, c.names.State:
		if events > 0 && c.Topic.Partitions != events {
			c.refuse("it has %d partitions and %s has %d: they must be equal", c.Topic.Partitions, c.names.Events, events)
		}
	}
}

func (c *comparison) copies() {
	if least, ok := c.number(c.Name, "min.insync.replicas"); ok && least > int64(c.Replication) && c.Replication > 0 {
		c.refuse("min.insync.replicas is %d and it has %d replicas: brokers refuse everything that is sent to it", least,
			c.Replication)
	}
	if c.Replication > 0 && c.Replication < c.needs.Replication {
		c.warn("it has %d replicas, below topics.replication (%d)", c.Replication, c.needs.Replication)
	}
	if c.Configs["unclean.leader.election.enable"] == "true" {
		c.warn("unclean.leader.election.enable is true: after it, messages are lost that were committed")
	}
}

func (c *comparison) cleanup() {
	policy := c.Configs["cleanup.policy"]
	set := strings.Split(strings.ReplaceAll(policy, " ", ""), ",")
	switch {
	case policy == "":
	case c.compacted && (len(set) != 1 || set[0] != "compact"):
		c.refuse("cleanup.policy is %s and must be compact, or its records vanish in time", policy)
	case !c.compacted && slices.Contains(set, "compact"):
		c.refuse("cleanup.policy is %s and must be delete: compaction refuses messages without a key and drops those of "+
			"the same one", policy)
	}
}

func (c *comparison) sizes() {
	size, ok := c.number(c.Name, "max.message.bytes")
	if !ok {
		return
	}
	// No message of the input is larger than its own topic takes.
	needed := int64(0)
	for _, topic := range []string{c.names.Events, c.names.Labels} {
		if takes, ok := c.number(topic, "max.message.bytes"); ok {
			needed = max(needed, min(takes, c.needs.Message))
		}
	}
	switch c.Name {
	case c.names.State, c.names.Model:
		if size < stateBytes {
			c.refuse("max.message.bytes is %d and must be at least %d, or the state cannot be written", size, stateBytes)
		}
	case c.names.Events, c.names.Labels:
		if size < c.needs.Message {
			c.warn("max.message.bytes is %d, below memory.message (%d)", size, c.needs.Message)
		}
	case c.names.Scores:
		if size < needed {
			c.warn("max.message.bytes is %d, below that of an input message (%d): scores may not fit", size, needed)
		}
	case c.names.Dead:
		if needed += deadletter.Bytes; size < needed {
			c.warn("max.message.bytes is %d, below that of an input message and its headers (%d): dead letters may not fit",
				size, needed)
		}
	}
}

func (c *comparison) times() {
	if c.Configs["message.timestamp.type"] == "LogAppendTime" {
		switch c.Name {
		case c.names.Events, c.names.Labels:
			c.warn("message.timestamp.type is LogAppendTime: the time of a message is when it came to the broker")
		case c.names.Scores, c.names.Dead:
			c.warn("message.timestamp.type is LogAppendTime: its messages do not have the time of their events")
		}
		return
	}
	if c.Name != c.names.Scores && c.Name != c.names.Dead {
		return
	}
	const key = "message.timestamp.before.max.ms"
	if oldest, ok := c.number(c.Name, key); ok {
		if events, ok := c.number(c.names.Events, key); ok && oldest < events {
			c.warn("%s is %d, below that of %s (%d): it may refuse messages that answer old events", key, oldest,
				c.names.Events, events)
		}
	}
}
