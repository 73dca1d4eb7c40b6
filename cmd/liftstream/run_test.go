package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/stream/txn"
)

func TestEveryRecordIsScoredOnceInItsPlace(t *testing.T) {
	worlds(t, "topics: {partitions: 3}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		run := start(t, "run", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "20")
		w.await(435)

		events, scores := w.records(w.config.Topics.Events), w.records(w.config.Topics.Scores)
		if len(events) != len(scores) {
			t.Fatalf("%d scores messages for %d events messages", len(scores), len(events))
		}
		used := map[int]int{}
		for i, e := range events { // partition by partition, each in order
			s := scores[i]
			used[e.Partition]++
			if e.Partition != s.Partition || !bytes.Equal(e.Key, s.Key) || !e.Time.Equal(s.Time) {
				t.Fatalf("event %d/%d key %q time %v was answered by %d/%d key %q time %v", e.Partition, e.Offset, e.Key, e.Time,
					s.Partition, s.Offset, s.Key, s.Time)
			}
			ids := column(t, e.Value, "member")
			if got := column(t, s.Value, "id"); !slices.Equal(got, ids) {
				t.Errorf("event %d/%d of %v was answered by scores of %v", e.Partition, e.Offset, ids, got)
			}
			for row, id := range ids {
				if want := txn.Partition([]byte(id), 3); want != e.Partition {
					t.Errorf("member %s lies in partition %d, want %d", id, e.Partition, want)
				}
				if got := column(t, s.Value, "source_offset")[row]; got != strconv.FormatInt(e.Offset, 10) {
					t.Errorf("member %s names offset %s, want %d", id, got, e.Offset)
				}
			}
		}
		if len(used) != 3 {
			t.Errorf("records lie in %d of 3 partitions", len(used))
		}
		if l := w.ledger(); l.Twice+l.Strange+l.Missing() != 0 {
			t.Errorf("%d scored twice, %d strange, %d missing", l.Twice, l.Strange, l.Missing())
		}

		lines := w.must("tail", "-c", w.file, "--from", "start", "-n", "435", "--format", "jsonl").out
		seen := map[string]bool{}
		for line := range strings.Lines(lines) {
			var x struct {
				ID     string
				No, Up float64
				P      float64 `json:"propensity_democrat"`
				Q      float64 `json:"propensity_republican"`
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil || seen[x.ID] || !(x.P+x.Q > 1-1e-9 && x.P+x.Q < 1+1e-9) {
				t.Fatalf("line %s: %v", line, err)
			}
			seen[x.ID] = true
		}
		if len(seen) != 435 {
			t.Errorf("tail prints %d records, want 435", len(seen))
		}
		if status := run.stop(t); status != cli.StatusDone {
			t.Errorf("run ends with status %d\n%s", status, run.err.String())
		}
	})
}

func TestRunStopsAndGoesOn(t *testing.T) {
	worlds(t, "topics: {partitions: 2}\ncommit: {interval: 20ms}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		producing := start(t, "produce", "-c", w.file, w.data, "--rate", "2000", "--repeat", "8", "--batch", "10")
		stops := 0
		for w.scored() < 3000 {
			before := w.scored()
			run := start(t, "run", "-c", w.file)
			eventually(t, "a score", func() bool { return w.scored() > before })
			if status := run.stop(t); status != cli.StatusDone {
				t.Fatalf("run ends with status %d\n%s", status, run.err.String())
			}
			stops++
		}
		if status := <-producing.done; status != cli.StatusDone {
			t.Fatalf("produce ends with status %d\n%s", status, producing.err.String())
		}
		run := start(t, "run", "-c", w.file)
		w.await(8 * 435)
		run.stop(t)
		if l := w.ledger(); l.Events != 8*435 || l.Twice+l.Strange+l.Missing()+l.Dead != 0 {
			t.Errorf("%d events, %d scored twice, %d strange, %d missing, %d dead", l.Events, l.Twice, l.Strange, l.Missing(),
				l.Dead)
		}
		t.Logf("stopped %d times on the way", stops)
	})
}

func TestBadInputBecomesDeadLetters(t *testing.T) {
	worlds(t, "", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		run := start(t, "run", "-c", w.file)
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		good := w.records(w.config.Topics.Events)[0].Value
		w.produce(good[:len(good)/2], 0)
		w.produce([]byte("customer,age\n1,2\n"), 0)
		w.produce(good, 0, txn.Header{Key: codec.HeaderRows, Value: []byte("7")},
			txn.Header{Key: "trace", Value: []byte("abc")})
		// The stage goes on: these are scored.
		w.must("produce", "-c", w.file, w.data, "--batch", "435")
		w.await(2 * 435)

		var got []string
		for line := range strings.Lines(w.must("tail", "-c", w.file, "--topic", "dead", "--from", "start", "--follow=false",
			"--format", "jsonl").out) {
			var x struct {
				Reason, Stage, Topic, Partition, Offset, Error string
				Row                                            *string
				FirstSeen                                      time.Time `json:"first_seen"`
				Headers                                        map[string]string
				Value                                          []byte `json:"value_base64"`
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err)
			}
			got = append(got, x.Reason+" "+x.Offset)
			if x.Stage != "events" || x.Topic != w.config.Topics.Events || x.Partition != "0" || x.Row != nil ||
				x.FirstSeen.IsZero() || x.Error == "" {
				t.Errorf("dead letter %s", line)
			}
			switch x.Offset {
			case "1":
				if !bytes.Equal(x.Value, good[:len(good)/2]) {
					t.Error("the truncated message is not kept as it was")
				}
			case "3":
				if x.Headers["trace"] != "abc" {
					t.Errorf("headers %v of the message are lost", x.Headers)
				}
			}
		}
		if want := []string{"truncated 1", "not_arrow 2", "rows_mismatch 3"}; !slices.Equal(got, want) {
			t.Errorf("dead letters %v, want %v", got, want)
		}
		if table := w.must("tail", "-c", w.file, "--topic", "dead", "--from", "start",
			"--follow=false").out; !strings.Contains(table, "not_arrow") {
			t.Errorf("the table of dead letters:\n%s", table)
		}
		if status := run.stop(t); status != cli.StatusDone {
			t.Errorf("run ends with status %d\n%s", status, run.err.String())
		}
	})
}

func TestClassOutsideTheConfigurationIsScoredNotLearnt(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	run := start(t, "run", "-c", w.file)
	data := w.other(func(r []string, line int) {
		if line > 0 && line%5 == 0 {
			r[len(r)-1] = "whig"
		}
	})
	w.must("produce", "-c", w.file, data)
	w.await(435)
	var live struct {
		Scored, Dead int
		Quality      struct{ Records int }
	}
	w.live(run, &live)
	// 87 of 435 are whigs; of the others those before warmup are not counted.
	if live.Scored != 435 || live.Dead != 0 || live.Quality.Records == 0 || live.Quality.Records > 435-87 {
		t.Errorf("%+v", live)
	}
	if l := w.ledger(); l.Set(0).Len() != 435-87 {
		t.Errorf("%d labelled records, want %d", l.Set(0).Len(), 435-87)
	}
	run.stop(t)
}

func TestTextInANumericColumn(t *testing.T) {
	w := newWorld(t, "")
	// A stage that takes the first question for a number, under the same topics.
	b, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	strict := filepath.Join(t.TempDir(), "strict.yaml")
	b = bytes.Replace(b, []byte("{name: crime, kind: nominal, levels: [\"n\", \"y\"]}"),
		[]byte("{name: crime, kind: continuous}"), 1)
	if err := os.WriteFile(strict, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w.must("topics", "create", "-c", w.file)
	run := start(t, "run", "-c", strict)
	w.must("produce", "-c", w.file, w.data, "--batch", "435")
	eventually(t, "a dead letter", func() bool { return len(w.records("votes-dead")) > 0 })
	out := w.must("tail", "-c", w.file, "--topic", "dead", "--from", "start", "-n", "1", "--format", "jsonl").out
	if !strings.Contains(out, `"crime"`) && !strings.Contains(out, `\"crime\"`) {
		t.Errorf("the dead letter does not name the column: %s", out)
	}
	// Numbers in that column are taken.
	r := w.other(func(r []string, line int) {
		if line > 0 {
			r[slices.Index(strings.Split(head(t, w.data), ","), "crime")] = strconv.Itoa(line)
		}
	})
	w.must("produce", "-c", strict, r, "--batch", "435")
	eventually(t, "scores", func() bool { return len(w.records("votes-scores")) > 0 })
	// From a file, the text is found before anything is sent.
	if r := command(t, "produce", "-c", strict, w.data); r.status != cli.StatusInput || !strings.Contains(r.err, "crime") {
		t.Errorf("produce of text in a numeric column: status %d, %s", r.status, r.err)
	}
	run.stop(t)
}

// Outcomes that come after their scores are learnt once, by id and by position.
func TestLateLabels(t *testing.T) {
	for _, by := range []string{"id", "position"} {
		t.Run(by, func(t *testing.T) {
			w := newWorld(t, "topics: {partitions: 2}\nlabels: {window: 1d}")
			w.must("topics", "create", "-c", w.file)
			run := start(t, "run", "-c", w.file)
			// The events do not know their class; the labels do.
			class := map[string]string{}
			unknown := w.other(func(r []string, line int) {
				if line > 0 {
					class[r[0]], r[len(r)-1] = r[len(r)-1], ""
				}
			})
			w.must("produce", "-c", w.file, unknown, "--batch", "50")
			w.await(435)
			var b strings.Builder
			b.WriteString("member,class\n")
			if by == "position" {
				b.Reset()
				b.WriteString("source_partition,source_offset,source_row,class\n")
			}
			for _, r := range w.records(w.config.Topics.Scores) {
				offset, row := column(t, r.Value, "source_offset"), column(t, r.Value, "source_row")
				for i, id := range column(t, r.Value, "id") {
					if by == "id" {
						fmt.Fprintf(&b, "%s,%s\n", id, class[id])
					} else {
						fmt.Fprintf(&b, "%d,%s,%s,%s\n", r.Partition, offset[i], row[i], class[id])
					}
				}
			}
			labels := filepath.Join(t.TempDir(), "labels.csv")
			if err := os.WriteFile(labels, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			w.must("produce", "-c", w.file, "--topic", "labels", labels, "--batch", "20")
			eventually(t, "the last label", func() bool { return learnt(t, run) == 435 })
			if l := w.ledger(); l.Dead != 0 {
				t.Errorf("%d dead letters", l.Dead)
			}
			run.stop(t)
		})
	}
}

// The ledger, on which the tests and the demonstration rely, sees doubled, strange and missing scores.
func TestLedgerSeesWhatIsWrong(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	run := start(t, "run", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "400")
	w.await(435)
	run.stop(t)
	scores := w.records(w.config.Topics.Scores)
	again := scores[1] // of 35 records
	err := w.client.Produce(context.Background(), []txn.Record{{Topic: again.Topic, Value: again.Value}}, txn.None)
	if err != nil {
		t.Fatal(err)
	}
	w.must("produce", "-c", w.file, w.data, "--batch", "435") // nobody scores these
	if l := w.ledger(); l.Events != 870 || l.Scored != 435 || l.Twice != 35 || l.Missing() != 435 || l.Strange != 0 {
		t.Errorf("%d events, %d scored, %d twice, %d missing, %d strange", l.Events, l.Scored, l.Twice, l.Missing(),
			l.Strange)
	}
	other := newWorld(t, "")
	other.must("topics", "create", "-c", other.file)
	err = other.client.Produce(context.Background(), []txn.Record{{Topic: other.config.Topics.Scores, Value: again.Value}},
		txn.None)
	if err != nil {
		t.Fatal(err)
	}
	if l := other.ledger(); l.Strange != 35 {
		t.Errorf("%d strange scores, want 35", l.Strange)
	}
}
