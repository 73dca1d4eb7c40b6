package topics

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/stream/deadletter"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// TestTopicsAsTheyAreMade: each setting of each topic.
func TestTopicsAsTheyAreMade(t *testing.T) {
	const most = 4 << 20
	size := strconv.Itoa(most)
	want := map[string]map[string]string{
		"e": {"max.message.bytes": size}, "s": {"max.message.bytes": size}, "l": {"max.message.bytes": size},
		"st": {"max.message.bytes": size, "cleanup.policy": "compact", "segment.bytes": "8388608",
			"delete.retention.ms": "60000"},
		"m": {"max.message.bytes": size, "cleanup.policy": "compact"},
		"d": {"max.message.bytes": strconv.Itoa(most + deadletter.TopicBytes)},
	}
	for _, without := range []bool{false, true} {
		n, left := names, len(want)
		if without {
			n.Labels, left = "", left-1
		}
		specs := Specs(n, 3, 2, most)
		if len(specs) != left {
			t.Errorf("%d topics, want %d", len(specs), left)
		}
		for _, s := range specs {
			partitions := 3
			if s.Name == "m" {
				partitions = 1
			}
			if len(s.Configs) != len(want[s.Name]) || s.Partitions != partitions || s.Replication != 2 {
				t.Errorf("%+v", s)
			}
			for key, value := range want[s.Name] {
				if s.Configs[key] != value {
					t.Errorf("%s of %s is %s, want %s", key, s.Name, s.Configs[key], value)
				}
			}
		}
	}
	if got := names.String(); got != "reads e and l and writes s, d, st and m" {
		t.Errorf("%q", got)
	}
	if got := (Names{Events: "e", Scores: "s", State: "st", Model: "m", Dead: "d"}).String(); got !=
		"reads e and writes s, d, st and m" {
		t.Errorf("%q", got)
	}
}

// TestTopicsAreComparedAtTheStart: scores, labels and state have the partitions of the events, dead letters may have
// others; a topic that is missing is named.
func TestTopicsAreComparedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		other  string // topic with four partitions instead of three; "" = none
		gone   string // topic that is not there
		dead   int
		words  []string // of the error
		labels bool
	}{
		{"as they are made", "", "", 3, nil, true}, {"without labels", "", "", 3, nil, false},
		{"other dead letters", "d", "", 4, nil, true}, {"other labels, which are not read", "l", "", 3, nil, false},
		{"other scores", "s", "", 0, []string{"topic s has 4 partitions, e has 3"}, true},
		{"another state", "st", "", 0, []string{"topic st has 4 partitions, e has 3"}, true},
		{"other labels", "l", "", 0, []string{"topic l has 4 partitions, e has 3"}, true},
		{"no events", "", "e", 0, []string{"topic e"}, true}, {"no models", "", "m", 0, []string{"topic m"}, true},
		{"no dead letters", "", "d", 0, []string{"topic d"}, true},
	} {
		b, err := embedded.Start(embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		client := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
		specs := slices.DeleteFunc(Specs(names, 3, 1, 4<<20), func(s txn.TopicSpec) bool { return s.Name == c.gone })
		for i := range specs {
			if specs[i].Name == c.other {
				specs[i].Partitions = 4
			}
		}
		if _, err := client.CreateTopics(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		n := names
		if !c.labels {
			n.Labels = ""
		}
		partitions, dead, err := Check(t.Context(), client, n)
		var m *MismatchError
		switch {
		case c.words == nil:
			if err != nil || partitions != 3 || dead != c.dead {
				t.Errorf("%s: %d and %d partitions, %v", c.name, partitions, dead, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.words[0]) || errors.As(err, &m) != (c.gone == "") ||
			partitions+dead != 0:
			t.Errorf("%s: %d and %d partitions, %v", c.name, partitions, dead, err)
		}
		client.Close()
		b.Close()
	}
}

// TestSettingsThatLoseMessagesEndTheStart, all of them named; the unusual ones are told.
func TestSettingsThatLoseMessagesEndTheStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		state   string // its cleanup.policy
		scores  string
		message int64
		refused []string
		unusual []string // topics
	}{
		{"as they are made", "compact", "delete", 1 << 20, nil, nil},
		{"small events", "compact", "delete", 8 << 20, nil, []string{"e", "l"}},
		{"a state that is deleted", "delete", "delete", 8 << 20, []string{"st: cleanup.policy is delete"}, nil},
		{"two", "delete", "compact", 1 << 20, []string{"st: cleanup.policy is delete", "s: cleanup.policy is compact"}, nil},
	} {
		b, err := embedded.Start(embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		client := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
		specs := Specs(names, 3, 1, 4<<20)
		for i := range specs {
			switch specs[i].Name {
			case "st":
				specs[i].Configs["cleanup.policy"] = c.state
			case "s":
				specs[i].Configs = map[string]string{"cleanup.policy": c.scores, "max.message.bytes": "8388608"}
			}
		}
		if _, err := client.CreateTopics(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		unusual, err := Settings(t.Context(), client, names, Needs{Message: c.message})
		var m *MismatchError
		if errors.As(err, &m) != (c.refused != nil) || err != nil && m == nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, text := range c.refused {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v lacks %q", c.name, err, text)
			}
		}
		var topics []string
		for _, f := range unusual {
			topics = append(topics, f.Topic)
		}
		if !slices.Equal(topics, c.unusual) {
			t.Errorf("%s: unusual are %q, want %q", c.name, unusual, c.unusual)
		}
		client.Close()
		b.Close()
	}
}
