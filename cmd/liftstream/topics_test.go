package main

import (
	"context"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

func TestWithoutTopics(t *testing.T) {
	w := newWorld(t, "")
	for _, args := range [][]string{{"run"}, {"tail"}, {"produce", w.data}} {
		r := command(t, append(args, "-c", w.file)...)
		if r.status != cli.StatusInput || !strings.Contains(r.err, "liftstream topics create") {
			t.Errorf("%q without topics: status %d, %s", args, r.status, r.err)
		}
	}
	if r := command(t, "topics", "describe", "-c", w.file); r.status != cli.StatusInput ||
		!strings.Contains(r.out, "votes-scores: it does not exist") {
		t.Errorf("topics describe without topics: status %d, %s%s", r.status, r.out, r.err)
	}
}

func TestTopicsTellsWhatIsOff(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 3}\nlabels: {}")
	_, err := w.client.CreateTopics(context.Background(),
		txn.TopicSpec{Name: "votes-events", Partitions: 3, Replication: 1,
			Configs: map[string]string{"max.message.bytes": "1000"}},
		txn.TopicSpec{Name: "votes-scores", Partitions: 2, Replication: 1},
		txn.TopicSpec{Name: "votes-state", Partitions: 3, Replication: 1},
		txn.TopicSpec{Name: "votes-labels", Partitions: 3, Replication: 1,
			Configs: map[string]string{"cleanup.policy": "compact"}},
		txn.TopicSpec{Name: "votes-model", Partitions: 3, Replication: 1,
			Configs: map[string]string{"cleanup.policy": "compact"}})
	if err != nil {
		t.Fatal(err)
	}
	r := command(t, "topics", "create", "-c", w.file)
	for _, want := range []string{
		"created  votes-dead", "exists   votes-events",
		"votes-events: max.message.bytes is 1000, below memory.message",
		"votes-scores: it has 2 partitions and votes-events has 3",
		"votes-state: cleanup.policy is delete and must be compact",
		"votes-labels: cleanup.policy is compact and must be delete",
		"votes-model: it has 3 partitions and must have 1",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("topics create does not say %q:\n%s", want, r.out)
		}
	}
	if r.status != cli.StatusInput {
		t.Errorf("status %d, want %d", r.status, cli.StatusInput)
	}
	if r := command(t, "run", "-c", w.file); r.status != cli.StatusInput || !strings.Contains(r.err, "partitions") {
		t.Errorf("run over unequal topics: status %d, %s", r.status, r.err)
	}
}

func TestTopicsCreateTwice(t *testing.T) {
	worlds(t, "topics: {partitions: 2}\nlabels: {}", func(t *testing.T, w *world) {
		if r := w.must("topics", "create", "-c", w.file); strings.Count(r.out, "created") != 6 {
			t.Errorf("the first time:\n%s", r.out)
		}
		if r := w.must("topics", "create", "-c", w.file); strings.Count(r.out, "exists") != 6 {
			t.Errorf("the second time:\n%s", r.out)
		}
		w.must("topics", "describe", "-c", w.file)
	})
}

func TestRightsNameEverythingTheStageTouches(t *testing.T) {
	w := newWorld(t, "labels: {}")
	out := w.must("topics", "describe", "--acls", "-c", w.file).out
	for _, want := range []string{"votes-events", "votes-scores", "votes-labels", "votes-state", "votes-model",
		"votes-dead", "--group votes", "--transactional-id votes- --resource-pattern-type prefixed"} {
		if !strings.Contains(out, want) {
			t.Errorf("the rights do not name %s:\n%s", want, out)
		}
	}
}

func TestInspectTopics(t *testing.T) {
	w := newWorld(t, "topics: {partitions: 2}")
	w.must("topics", "create", "-c", w.file)
	if r := w.must("inspect", "-c", w.file, "--topic", "model"); !strings.Contains(r.out, "holds no model") {
		t.Errorf("the empty model topic:\n%s", r.out)
	}
	if r := w.must("inspect", "-c", w.file, "--topic", "state"); strings.Count(r.out, "none") != 2 {
		t.Errorf("the empty state topic:\n%s", r.out)
	}
	run := start(t, "run", "-c", w.file)
	w.must("produce", "-c", w.file, w.data)
	eventually(t, "a model", func() bool {
		return !strings.Contains(w.must("inspect", "-c", w.file, "--topic", "model").out, "holds no model")
	})
	run.stop(t)
	r := w.must("inspect", "-c", w.file, "--topic", "model")
	for _, want := range []string{"of this configuration", "the newest of votes-model", "physician-fee-freeze"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("inspect of the models lacks %q:\n%s", want, r.out)
		}
	}
	if r := w.must("tail", "-c", w.file, "--topic", "model", "--from", "start", "--follow=false", "--format",
		"jsonl"); !strings.HasPrefix(r.out, "{\"version\":1,\"what\":\"published\"") {
		t.Errorf("tail of the models: %s", r.out)
	}
	if r := w.must("inspect", "-c", w.file, "--topic", "state"); strings.Count(r.out, "whole") < 2 {
		t.Errorf("inspect of the states:\n%s", r.out)
	}
	damage := func(topic, key string) {
		err := w.client.Produce(context.Background(),
			[]txn.Record{{Topic: topic, Key: []byte(key), Value: []byte("damaged")}}, txn.None)
		if err != nil {
			t.Fatal(err)
		}
	}
	damage("votes-model", "model/1/0")
	damage("votes-state", "manifest/0")
	damage("votes-state", "manifest/1")
	for _, topic := range []string{"model", "state"} {
		if r := command(t, "inspect", "-c", w.file, "--topic", topic); r.status != cli.StatusInput ||
			!strings.Contains(r.err, "checksum") {
			t.Errorf("a damaged %s topic: status %d\n%s%s", topic, r.status, r.out, r.err)
		}
	}
}
