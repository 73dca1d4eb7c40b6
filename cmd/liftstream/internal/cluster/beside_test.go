package cluster

import (
	"strings"
	"testing"

	"liftstream/config"
)

// TestBeside: the names, topics, classes and brokers of a stage and its challenger.
func TestBeside(t *testing.T) {
	const other = "name: next\ntopics: {events: bank-events, labels: bank-labels"
	parse := func(text, classes string) *config.Config {
		t.Helper()
		c, _, err := config.Parse("x.yaml", []byte(text+"\nrecord:\n  label: {column: y, classes: "+classes+"}\n"+
			"  features:\n    - {name: age, kind: continuous}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct{ name, first, second, classes, want string }{
		{"well", "name: bank\nlabels: {}", other + "}", "[no, yes]", ""},
		{"classes in another order", "name: bank\nlabels: {}", other + "}", "[yes, no]", ""},
		{"one dead-letter topic", "name: bank\nlabels: {}", other + ", dead: bank-dead}", "[no, yes]", ""},
		{"one embedded broker", "name: bank\nlabels: {}\nkafka: {embedded: {dir: a}}",
			other + "}\nkafka: {embedded: {dir: a}}", "[no, yes]", ""},
		{"a broker in common", "name: bank\nlabels: {}\nkafka: {brokers: [a:1, b:1]}",
			other + "}\nkafka: {brokers: [c:1, b:1]}", "[no, yes]", ""},
		{"scores that both share", "name: bank\nlabels: {}\npolicy: {topic_shared: accept}",
			other + ", scores: bank-scores}\npolicy: {topic_shared: accept}", "[no, yes]", ""},
		{"one name", "name: bank\nlabels: {}", "name: bank\nlabels: {}", "[no, yes]", "both are called bank"},
		{"other events", "name: bank\nlabels: {}", "name: next\ntopics: {labels: bank-labels}", "[no, yes]",
			"topics.events of bank is bank-events and of next next-events"},
		{"no labels", "name: bank\nlabels: {}", "name: next\ntopics: {events: bank-events}", "[no, yes]",
			"topics.labels of bank is bank-labels and of next none"},
		{"its scores", "name: bank\nlabels: {}\npolicy: {topic_shared: accept}", other + ", scores: bank-scores}",
			"[no, yes]", "topics.scores of next"},
		{"its state", "name: bank\nlabels: {}", other + ", state: bank-state}", "[no, yes]", "topics.state of next"},
		{"its models", "name: bank\nlabels: {}\npolicy: {topic_shared: accept}",
			other + ", model: bank-model}\npolicy: {topic_shared: accept}", "[no, yes]", "topics.model of next"},
		{"other classes", "name: bank\nlabels: {}", other + "}", "[no, maybe]", "the classes of bank"},
		{"other brokers", "name: bank\nlabels: {}", other + "}\nkafka: {brokers: [c:1]}", "[no, yes]", "different clusters"},
		{"another embedded broker", "name: bank\nlabels: {}\nkafka: {embedded: {dir: a}}",
			other + "}\nkafka: {embedded: {dir: b}}", "[no, yes]", "different clusters"},
		{"brokers and an embedded one", "name: bank\nlabels: {}\nkafka: {embedded: {dir: a}}", other + "}", "[no, yes]",
			"different clusters"},
	} {
		err := Beside(parse(c.first, "[no, yes]"), parse(c.second, c.classes))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
