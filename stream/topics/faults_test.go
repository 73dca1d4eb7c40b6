package topics

import (
	"strconv"
	"strings"
	"testing"

	"liftstream/stream/txn"
)

var names = Names{Events: "e", Scores: "s", Labels: "l", State: "st", Model: "m", Dead: "d"}

// sound returns topics as Specs makes them, with the defaults of a broker.
func sound() map[string]txn.Topic {
	out := map[string]txn.Topic{}
	for _, s := range Specs(names, 3, 3, 4<<20) {
		t := txn.Topic{Name: s.Name, Partitions: s.Partitions, Replication: s.Replication, Configs: map[string]string{
			"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "min.insync.replicas": "2",
			"unclean.leader.election.enable": "false", "message.timestamp.before.max.ms": "9223372036854775807"}}
		for k, v := range s.Configs {
			t.Configs[k] = v
		}
		out[s.Name] = t
	}
	return out
}

func TestFaults(t *testing.T) {
	set := func(topic, key, value string) func(known map[string]txn.Topic) {
		return func(known map[string]txn.Topic) { known[topic].Configs[key] = value }
	}
	for _, c := range []struct {
		name   string
		change func(known map[string]txn.Topic)
		want   string // "topic refused text", "topic text", or ""
	}{
		{"as they are made", func(map[string]txn.Topic) {}, ""},
		{"a topic is missing", func(known map[string]txn.Topic) { delete(known, "d") }, ""},
		{"a state that is deleted", set("st", "cleanup.policy", "delete"), "st refused cleanup.policy is delete"},
		{"a state that is deleted, too", set("st", "cleanup.policy", "compact,delete"), "st refused cleanup.policy is comp"},
		{"models that are deleted", set("m", "cleanup.policy", "delete"), "m refused cleanup.policy"},
		{"events that are compacted", set("e", "cleanup.policy", "compact"), "e refused cleanup.policy"},
		{"labels that are compacted, too", set("l", "cleanup.policy", "delete, compact"), "l refused cleanup.policy"},
		{"scores that are compacted", set("s", "cleanup.policy", "compact"), "s refused cleanup.policy"},
		{"dead letters that are compacted", set("d", "cleanup.policy", "compact"), "d refused cleanup.policy"},
		{"a setting that is not told", set("st", "cleanup.policy", ""), ""},
		{"other partitions", func(known map[string]txn.Topic) {
			x := known["st"]
			x.Partitions = 2
			known["st"] = x
		}, "st refused it has 2 partitions"},
		{"a model in two partitions", func(known map[string]txn.Topic) {
			x := known["m"]
			x.Partitions = 2
			known["m"] = x
		}, "m it has 2 partitions"},
		{"one copy", func(known map[string]txn.Topic) {
			x := known["s"]
			x.Replication, x.Configs["min.insync.replicas"] = 1, "1"
			known["s"] = x
		}, "s it has 1 replicas"},
		{"more copies in sync than there are", set("s", "min.insync.replicas", "4"), "s refused min.insync.replicas is 4"},
		{"unclean elections", set("e", "unclean.leader.election.enable", "true"), "e unclean.leader.election"},
		{"a state of small records", set("st", "max.message.bytes", "10000"), "st refused max.message.bytes"},
		{"small events", set("e", "max.message.bytes", "100000"), "e max.message.bytes is 100000, below memory.message"},
		{"small scores", set("s", "max.message.bytes", "100000"), "s max.message.bytes"},
		{"small dead letters", set("d", "max.message.bytes", "1048576"), "d max.message.bytes"},
		{"events by the broker's clock", set("e", "message.timestamp.type", "LogAppendTime"), "e message.timestamp.type"},
		{"scores by the broker's clock", set("s", "message.timestamp.type", "LogAppendTime"), "s message.timestamp.type"},
		{"a state by the broker's clock", set("st", "message.timestamp.type", "LogAppendTime"), ""},
		{"scores that must be young", set("s", "message.timestamp.before.max.ms", "3600000"), "s message.timestamp.before"},
	} {
		known := sound()
		c.change(known)
		var got []string
		for _, f := range Faults(known, names, Needs{Message: 1 << 20, Replication: 3}) {
			text := f.Topic + " " + f.Text
			if f.Refused {
				text = f.Topic + " refused " + f.Text
			}
			got = append(got, text)
		}
		if (c.want == "") != (len(got) == 0) || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Messages are no larger than the topics of the input take: the defaults of a broker are no fault.
func TestTopicsOfABrokersDefaults(t *testing.T) {
	known := sound()
	for _, x := range known {
		x.Configs["max.message.bytes"] = strconv.Itoa(1048588)
	}
	for _, f := range Faults(known, names, Needs{Message: 16 << 20, Replication: 3}) {
		if f.Refused {
			t.Errorf("%v", f)
		}
	}
}
