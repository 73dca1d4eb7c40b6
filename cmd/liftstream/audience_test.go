package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/audience"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/report"
	"liftstream/stream/txn"
)

// TestAudienceOfATopic: of the topic, of its scores as a file of any kind, and in a topic there are the same members.
func TestAudienceOfATopic(t *testing.T) {
	for _, format := range []string{"arrow", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t, "value: {hit: 2, contact: 1}\ntopics: {partitions: 3}\noutput: {format: "+format+"}")
			w.must("topics", "create", "-c", w.file)
			w.must("produce", "-c", w.file, w.data, "--batch", "30")
			run := start(t, "run", "-c", w.file)
			w.await(435)
			run.stop(t)
			w.must("produce", "-c", w.file, w.data, "--batch", "50") // the same ids, which are not scored again
			share := w.must("audience", "-c", w.file, "--by", "democrat", "--share", "10%", "--with-untrained")
			if n := strings.Count(share.out, "\n"); n != 43 ||
				!strings.Contains(share.err, "43 of 435 ids (9.9 %), from 435 scores") {
				t.Errorf("%d members\n%s", n, share.err)
			}
			dir := t.TempDir()
			scores := filepath.Join(dir, "scores.jsonl")
			tail := w.must("tail", "-c", w.file, "--from", "start", "--follow=false", "--format", "jsonl")
			if err := os.WriteFile(scores, []byte(tail.out), 0o600); err != nil {
				t.Fatal(err)
			}
			files := w.must("audience", scores, "--by", "democrat", "--share", ".1", "--with-untrained")
			if files.out != share.out {
				t.Errorf("the file has another audience:\n%s\n%s", files.out, share.out)
			}
			for _, kind := range []string{"arrow", "parquet", "csv", "jsonl"} {
				out := filepath.Join(dir, "audience."+kind)
				var summary audience.Report
				r := w.must("audience", "-c", w.file, "--by", "democrat", "--out", out, "--json", "--with-untrained")
				if err := json.Unmarshal([]byte(r.out), &summary); err != nil {
					t.Fatal(err)
				}
				if summary.By != "democrat" || summary.N == 0 || summary.N == 435 || summary.Last < .5 ||
					*summary.ExpectedProfit != 2*summary.Hits-report.Number(summary.N) {
					t.Errorf("%s: %+v", kind, summary)
				}
			}

			if _, err := w.client.CreateTopics(t.Context(), txn.TopicSpec{Name: "calls", Partitions: 2}); err != nil {
				t.Fatal(err)
			}
			sent := w.must("audience", "-c", w.file, "--by", "democrat", "--top", "20", "--topic", "calls",
				"--with-untrained")
			if sent.out != "" {
				t.Errorf("output %s", sent.out)
			}
			members := map[string]bool{}
			for _, r := range w.records("calls") {
				for _, id := range column(t, r.Value, "id") {
					if txn.Partition([]byte(id), 2) != r.Partition || members[id] {
						t.Errorf("id %s lies in partition %d, or twice", id, r.Partition)
					}
					members[id] = true
				}
			}
			for line := range strings.Lines(share.out) {
				var m struct {
					ID   string
					Rank int
				}
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err)
				}
				if members[m.ID] != (m.Rank <= 20) {
					t.Errorf("id %s of rank %d is in the topic: %v", m.ID, m.Rank, members[m.ID])
				}
			}
			if len(members) != 20 {
				t.Errorf("%d members in the topic", len(members))
			}
		})
	}
}

func TestAudienceOfWrongInput(t *testing.T) {
	w := newWorld(t, "")
	dir := t.TempDir()
	scores := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(scores, []byte(`{"id":"a","propensity_yes":0.5}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--top 1", cli.StatusUsage, "the configuration is missing"},
		{scores + " --top 1", cli.StatusUsage, "--by CLASS is missing"},
		{scores + " --by yes", cli.StatusUsage, "nothing says how many"},
		{scores + " --by yes --top 1 --share 10%", cli.StatusUsage, "give one of them"},
		{scores + " --by yes --share 10", cli.StatusUsage, "such as 10%"},
		{scores + " --by yes --share 0", cli.StatusUsage, "above 0"},
		{scores + " --by yes --share NaN", cli.StatusUsage, "above 0"},
		{scores + " --by yes --top 0", cli.StatusUsage, "at least 1"},
		{scores + " --by yes --min-propensity 2", cli.StatusUsage, "0 to 1"},
		{scores + " --by yes --top 1 --json", cli.StatusUsage, "name a file"},
		{scores + " --by yes --top 1 --topic x", cli.StatusUsage, "name the brokers"},
		{scores + " --by yes --top 1 --out x.doc", cli.StatusInput, "unknown kind"},
		{scores + " --by yes --top 1 --out " + scores, cli.StatusUsage, "overwrite"},
		{scores + " --by no --top 1", cli.StatusInput, "there is no column propensity_no; its classes are yes"},
		{scores + " --by yes --top 1 --max-ids 0", cli.StatusUsage, "at least 1"},
		{dir + "/none.jsonl --by yes --top 1", cli.StatusInput, "none.jsonl"},
		{"-c " + w.file + " --by labour --top 1", cli.StatusUsage, "the classes of the configuration are"},
		{"-c " + w.file + " --by democrat --top 1", cli.StatusInput, "topics create"},
		{"-c " + w.file + " --by democrat --top 1 --topic votes-scores", cli.StatusUsage, "for itself"},
		{"-c " + w.file + " --by democrat --top 1 --topic none", cli.StatusInput, "make it first"},
		{"-c " + w.file + " --top 1", cli.StatusUsage, "no positive class; its classes are democrat, republican"},
	} {
		r := command(t, append([]string{"audience"}, strings.Fields(c.args)...)...)
		if r.status != c.status || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%s: status %d, want %d and %q: %s%s", c.args, r.status, c.status, c.want, r.out, r.err)
		}
	}
	w.must("topics", "create", "-c", w.file)
	if r := command(t, "audience", "-c", w.file, "--by", "democrat", "--top", "1"); r.status != cli.StatusInput ||
		!strings.Contains(r.err, "no scores to choose from") {
		t.Errorf("an empty topic: status %d, %s", r.status, r.err)
	}
	// Messages of others are named and passed over.
	if err := w.client.Produce(t.Context(), []txn.Record{{Topic: w.config.Topics.Scores, Value: []byte("x")},
		{Topic: w.config.Topics.Scores, Value: []byte(`{"id":"a","propensity_democrat":0.5}`)},
		{Topic: w.config.Topics.Scores, Value: []byte(`{"id":`)}, {Topic: w.config.Topics.Scores}}, txn.None); err != nil {
		t.Fatal(err)
	}
	r := w.must("audience", "-c", w.file, "--by", "democrat", "--top", "1")
	if strings.Count(r.out, "\n") != 1 || strings.Count(r.err, "offset") != 2 {
		t.Errorf("%s%s", r.out, r.err)
	}
	// Of many, the first are named, and all are counted.
	others := slices.Repeat([]txn.Record{{Topic: w.config.Topics.Scores, Value: []byte("x")}}, 30)
	if err := w.client.Produce(t.Context(), others, txn.None); err != nil {
		t.Fatal(err)
	}
	r = w.must("audience", "-c", w.file, "--by", "democrat", "--top", "1")
	if strings.Count(r.err, "offset") != 20 || !strings.Contains(r.err, "\n32 messages left out that cannot be read") {
		t.Errorf("of many: %s", r.err)
	}
	out := filepath.Join(dir, "nobody.csv")
	w.must("audience", "-c", w.file, "--by", "democrat", "--min-propensity", ".99", "--out", out)
	const heading = "id,rank,segment,target,propensity,base_rate,lift,percentile,why\n"
	if b, err := os.ReadFile(out); err != nil || string(b) != heading {
		t.Errorf("nobody: %v %s", err, b)
	}
}
