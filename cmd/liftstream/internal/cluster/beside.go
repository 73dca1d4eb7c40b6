package cluster

import (
	"errors"
	"fmt"
	"slices"

	"liftstream/config"
)

// Beside returns an error where b cannot be a challenger of a, which scores the same events beside it: where it has the
// name of a, other events, labels or classes, another cluster, or one of the topics that a writes. They may share that
// of the dead letters, and where both accept it (policy.topic_shared) that of the scores.
func Beside(a, b *config.Config) error {
	if a.Name == b.Name {
		return fmt.Errorf("both are called %s: a challenger needs a name of its own, from which its group and its topics "+
			"have theirs", a.Name)
	}
	for _, t := range []struct{ key, first, second string }{
		{"topics.events", a.Topics.Events, b.Topics.Events}, {"topics.labels", a.Topics.Labels, b.Topics.Labels},
	} {
		if t.first != t.second {
			return fmt.Errorf("%s of %s is %s and of %s %s: a challenger reads the topics of the first; set %s there",
				t.key, a.Name, named(t.first), b.Name, named(t.second), t.key)
		}
	}
	shared := a.Policy.TopicShared == config.SharedAccept && b.Policy.TopicShared == config.SharedAccept
	for _, t := range []struct{ key, first, second string }{
		{"topics.scores", a.Topics.Scores, b.Topics.Scores}, {"topics.state", a.Topics.State, b.Topics.State},
		{"topics.model", a.Topics.Model, b.Topics.Model},
	} {
		if t.first == t.second && !(t.key == "topics.scores" && shared) {
			return fmt.Errorf("%s of %s is that of %s: a challenger writes into topics of its own", t.key, b.Name, a.Name)
		}
	}
	x, y := slices.Sorted(slices.Values(a.Record.Label.Classes)), slices.Sorted(slices.Values(b.Record.Label.Classes))
	if !slices.Equal(x, y) {
		return fmt.Errorf("the classes of %s are %q, those of %s %q: they must be the same", a.Name, x, b.Name, y)
	}
	if !sameBrokers(&a.Kafka, &b.Kafka) {
		return errors.New("the stages are on different clusters: give them the same section kafka")
	}
	return nil
}

func named(topic string) string {
	if topic == "" {
		return "none"
	}
	return topic
}

// sameBrokers reports whether two sections are of one embedded broker or have a broker in common.
func sameBrokers(a, b *config.Kafka) bool {
	if a.Embedded != nil || b.Embedded != nil {
		return a.Embedded != nil && b.Embedded != nil && a.Embedded.Dir == b.Embedded.Dir
	}
	return slices.ContainsFunc(a.Brokers, func(x string) bool { return slices.Contains(b.Brokers, x) })
}
