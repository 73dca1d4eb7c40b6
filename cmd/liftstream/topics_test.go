package main

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
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

// TestRunLooksAtTheTopicsFirst: as 'topics describe' does, before it says that it is ready.
func TestRunLooksAtTheTopicsFirst(t *testing.T) {
	for _, c := range []struct {
		topic, key, value string
		refused           bool
	}{
		{"state", "cleanup.policy", "delete", true},
		{"state", "cleanup.policy", "compact,delete", true},
		{"model", "cleanup.policy", "delete", true},
		{"events", "cleanup.policy", "compact", true},
		{"labels", "cleanup.policy", "compact", true},
		{"scores", "cleanup.policy", "compact", true},
		{"dead", "cleanup.policy", "compact", true},
		{"state", "max.message.bytes", "2000", true},
		{"events", "max.message.bytes", "100000", false},
		{"events", "message.timestamp.type", "LogAppendTime", false},
		{"scores", "message.timestamp.type", "LogAppendTime", false},
	} {
		t.Run(c.topic+" "+c.key+" "+c.value, func(t *testing.T) {
			worlds(t, "labels: {}", func(t *testing.T, w *world) {
				specs := cluster.Specs(w.config)
				for i := range specs {
					if strings.HasSuffix(specs[i].Name, "-"+c.topic) {
						specs[i].Configs = maps.Clone(specs[i].Configs)
						specs[i].Configs[c.key] = c.value
					}
				}
				if _, err := w.client.CreateTopics(t.Context(), specs...); err != nil {
					t.Fatal(err)
				}
				said := command(t, "topics", "describe", "-c", w.file)
				if said.status != cli.StatusInput || !strings.Contains(said.out, "-"+c.topic+": ") {
					t.Errorf("topics describe: status %d\n%s", said.status, said.out)
				}
				if c.refused {
					r := command(t, "run", "-c", w.file)
					if r.status != cli.StatusInput || !strings.Contains(r.err, "-"+c.topic+": "+c.key+" is "+c.value) {
						t.Errorf("run: status %d\n%s", r.status, r.err)
					}
					return
				}
				run := start(t, "run", "-c", w.file)
				eventually(t, "it is ready", func() bool { s, _ := run.get(t, "readyz"); return s == http.StatusOK })
				for _, path := range []string{"readyz", "api/live", ""} {
					if _, text := run.get(t, path); !strings.Contains(text, "-"+c.topic+": "+c.key+" is "+c.value) {
						t.Errorf("/%s does not show it:\n%s", path, text)
					}
				}
				run.stop(t)
				if n := strings.Count(run.err.String(), "a topic is unusual"); n != 1 {
					t.Errorf("it was warned of %d times\n%s", n, run.err.String())
				}
			})
		})
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
		"votes-dead", "--group votes", "--transactional-id votes- --resource-pattern-type prefixed",
		"--transactional-id votes-orders\n"} {
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
		"jsonl"); !strings.Contains(r.out, "{\"version\":1,\"what\":\"published\"") {
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
