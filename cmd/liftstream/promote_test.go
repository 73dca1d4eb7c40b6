package main

import (
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/stream/scores"
)

// TestPromoteAModel: the model that serves in a challenger of the same settings serves in the stage, with its reason.
func TestPromoteAModel(t *testing.T) {
	long(t)
	w := newWorld(t, "topics: {partitions: 2}")
	other := w.challenger(func(s string) string {
		return strings.Replace(s, "topics: {", "labels: {}\ntopics: {labels: votes-labels, events: votes-events, ", 1)
	})
	if text := refusal(t, cli.StatusInput, "promote", "-c", w.file, "-c", other.file); !strings.Contains(text,
		"topics.labels of votes is none") {
		t.Error(text)
	}
	learns := w.challenger(func(s string) string {
		return strings.Replace(s, "topics: {", "control: {by: record, learn: control}\ntopics: {events: votes-events, ", 1)
	})
	if r := command(t, "promote", "-c", w.file, "-c", learns.file); r.status != cli.StatusInput ||
		!strings.Contains(r.out, "they differ in control. Nothing is changed") {
		t.Errorf("status %d, %s%s", r.status, r.out, r.err)
	}
	other = w.challenger(func(s string) string {
		s = strings.Replace(s, "every: 1s", "every: 2s", 1)
		return strings.Replace(s, "topics: {", "topics: {events: votes-events, ", 1)
	})
	w.must("topics", "create", "-c", w.file)
	w.must("topics", "create", "-c", other.file)
	promote := []string{"promote", "-c", w.file, "-c", other.file}
	if text := refusal(t, cli.StatusInput, promote...); !strings.Contains(text, "no model serves in votes-next yet") {
		t.Error(text)
	}
	w.must("produce", "-c", w.file, w.data)
	run := start(t, "run", "-c", other.file)
	eventually(t, "a model", func() bool {
		return strings.Contains(w.must("model", "list", "-c", other.file).out, "serves")
	})
	run.stop(t)
	r := w.must(append(promote, "--why", "better by .01")...)
	if !strings.Contains(r.out, "of votes-next goes to votes: the stage publishes the model as its next version") ||
		!strings.Contains(r.err, "the sections fit differ too") {
		t.Errorf("says %s%s", r.out, r.err)
	}
	run = start(t, "run", "-c", w.file)
	run.says(t, "model published, as ordered")
	run.says(t, "another model serves")
	run.stop(t)
	if out := w.must("model", "list", "-c", w.file).out; !strings.Contains(out, "of votes-next: better by .01") {
		t.Errorf("listed\n%s", out)
	}
}

// TestPromoteAConfiguration: where the settings differ, the printed steps are right: the challenger answers the next
// events in the topic of the first stage, each once.
func TestPromoteAConfiguration(t *testing.T) {
	long(t)
	w := newWorld(t, "topics: {partitions: 2}")
	text := func(topics string) func(string) string {
		return func(s string) string {
			return strings.Replace(s, "topics: {", "trees: off\n"+topics, 1)
		}
	}
	other := w.challenger(text("topics: {events: votes-events, "))
	w.must("topics", "create", "-c", w.file)
	w.must("topics", "create", "-c", other.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "50")
	for _, x := range []*world{w, other} {
		run := start(t, "run", "-c", x.file)
		x.await(435)
		run.stop(t)
	}
	r := command(t, "promote", "-c", w.file, "-c", other.file)
	if r.status != cli.StatusInput || r.err != "" {
		t.Errorf("status %d, %s", r.status, r.err)
	}
	for _, want := range []string{"they differ in trees. Nothing is changed", "votes-next takes the place of votes",
		"set topics.scores: votes-scores and policy.topic_shared: accept"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("says no %q:\n%s", want, r.out)
		}
	}
	// The steps.
	next := w.challenger(text("policy: {topic_shared: accept}\ntopics: {scores: votes-scores, events: votes-events, "))
	run := start(t, "run", "-c", next.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "50")
	w.await(2 * 435)
	run.stop(t)
	if l := w.ledger(); l.Events != 2*435 || l.Twice+l.Strange+l.Missing()+l.Dead != 0 {
		t.Errorf("%d events, %d scored twice, %d strange, %d missing, %d dead", l.Events, l.Twice, l.Strange, l.Missing(),
			l.Dead)
	}
	names := map[string]int{}
	for _, m := range w.records(w.config.Topics.Scores) {
		names[scores.NameOf(&m)]++
	}
	if len(names) != 2 || names["votes"] != names["votes-next"] {
		t.Errorf("messages by their stages: %v", names)
	}
	if strings.Contains(run.err.String(), "\"from\":\"empty\"") {
		t.Errorf("the challenger has lost its state\n%s", run.err.String())
	}
}

// TestPromoteFromOtherRecords: a model of records that control.learn chooses otherwise does not go over, though no
// fingerprint tells it.
func TestPromoteFromOtherRecords(t *testing.T) {
	control := func(of config.Control) *config.Config { return &config.Config{Control: &of} }
	all := config.Control{Share: .1, Learn: config.ControlLearnAll}
	other := all
	other.Share, other.Uplift = .2, config.ControlUpliftOn
	share := config.Control{Share: .1, Learn: config.ControlLearnControl}
	wider, uplift := share, share
	wider.Share, uplift.Uplift = .2, config.ControlUpliftOn
	for _, c := range []struct {
		name          string
		first, second *config.Config
		same          bool
	}{
		{"no control and all", &config.Config{}, control(all), true}, {"another share", control(all), control(other), true},
		{"all and control", control(all), control(share), false},
		{"none and control", &config.Config{}, control(share), false},
		{"control of another share", control(share), control(wider), false},
		{"control with uplift", control(share), control(uplift), true},
	} {
		if same := teachers(c.first) == teachers(c.second); same != c.same {
			t.Errorf("%s: the same records are learnt: %v", c.name, same)
		}
	}
}
