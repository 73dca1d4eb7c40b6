package main

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/txn"
)

// TestScoresOfARegistry: while the registry is away the stage joins no group and says so; then it registers one schema,
// scores each record once under its id, and every command reads the scores. A schema that the registry refuses ends the
// run with the name of the subject.
func TestScoresOfARegistry(t *testing.T) {
	for _, format := range []string{"avro", "json"} {
		t.Run(format, func(t *testing.T) {
			var status atomic.Int64
			status.Store(http.StatusServiceUnavailable)
			registry := srfake.New(srfake.WithGlobalCompat(sr.CompatFull))
			t.Cleanup(registry.Close)
			registry.SeedSchema("other-value", 1, 41, sr.Schema{Schema: `{"type":"record","name":"R","fields":[]}`})
			registry.Intercept(func(out http.ResponseWriter, r *http.Request) bool {
				code := int(status.Load())
				if code == 0 {
					return false
				}
				out.WriteHeader(code)
				_, _ = out.Write([]byte(`{"error_code": 1, "message": "it is not to be"}`))
				return true
			})
			w := newWorld(t, "registry: {url: \""+registry.URL()+"\"}\noutput: {format: "+format+
				", features: all, subject: votes-scored}\nlearning: off")
			w.must("topics", "create", "-c", w.file)
			w.must("produce", "-c", w.file, w.data, "--batch", "100")
			w.produce([]byte("no Arrow"), 0) // has no scores
			run := start(t, "run", "-c", w.file)
			eventually(t, "the wait for the registry on /readyz", func() bool {
				code, text := run.get(t, "readyz")
				return code != http.StatusOK && strings.Contains(text, "waiting for the schema registry at "+registry.URL())
			})
			if n := w.scored(); n != 0 {
				t.Errorf("%d scores without a schema", n)
			}
			status.Store(0)
			w.await(435)
			eventually(t, "a dead letter", func() bool { return len(w.records("votes-dead")) == 1 })
			if code := run.stop(t); code != cli.StatusDone {
				t.Errorf("run ends with status %d\n%s", code, run.err.String())
			}
			got := w.records("votes-scores")
			for _, r := range got {
				if !bytes.HasPrefix(r.Value, []byte{0, 0, 0, 0, 42}) {
					t.Fatalf("a score begins with % x", r.Value[:8])
				}
			}
			if len(got) != 435 {
				t.Errorf("%d messages of scores, want one for each record", len(got))
			}
			lines := w.must("tail", "-c", w.file, "--from", "start", "--follow=false", "--format", "jsonl").out
			if n := strings.Count(lines, `"source_partition"`); n != 435 || !strings.Contains(lines, `"propensity_democrat"`) ||
				!strings.Contains(lines, `"handicapped-infants":"`) {
				t.Errorf("%d lines, the first of them %.400s", n, lines)
			}
			table := w.must("tail", "-c", w.file, "--from", "start", "--follow=false", "--format", "csv").out
			if n := strings.Count(table, "\n"); n != 436 {
				t.Errorf("csv has %d lines: %.300s", n, table)
			}
			r := w.must("audience", "-c", w.file, "--top", "7", "--by", "democrat",
				"--with-untrained")
			if n := strings.Count(r.out, `"rank":`); n != 7 {
				t.Errorf("an audience of %d: %.300s%s", n, r.out, r.err)
			}
			if r := w.must("verify", "-c", w.file); !strings.Contains(r.out, "435") {
				t.Errorf("verify: %s%s", r.out, r.err)
			}
			status.Store(http.StatusConflict)
			if r := command(t, "run", "-c", w.file); r.status != cli.StatusInput || !strings.Contains(r.err,
				"newest one of subject votes-scored") {
				t.Errorf("a refused schema: status %d, %s", r.status, r.err)
			}
		})
	}
}

// TestScoresAsCloudEvents: a score has the attributes of its own, and keeps the subject of its event; verify agrees.
func TestScoresAsCloudEvents(t *testing.T) {
	w := newWorld(t, "input: {format: json, cloudevents: on}\noutput: {format: json, cloudevents: on}\nlearning: off")
	w.must("topics", "create", "-c", w.file)
	row := `{"member": "anna"`
	for _, name := range names(w) {
		row += `, "` + name + `": "y"`
	}
	w.produce([]byte(row+"}"), 0, txn.Header{Key: "ce_id", Value: []byte("41")},
		txn.Header{Key: "ce_subject", Value: []byte("anna")})
	run := start(t, "run", "-c", w.file)
	w.await(1)
	if code := run.stop(t); code != cli.StatusDone {
		t.Errorf("run ends with status %d\n%s", code, run.err.String())
	}
	for _, r := range w.records("votes-scores") {
		got := map[string]string{}
		for _, h := range r.Headers {
			got[h.Key] = string(h.Value)
		}
		if got["ce_id"] != "votes-events/0/0" || got["ce_subject"] != "anna" || got["ce_source"] != "liftstream/votes" ||
			got["content-type"] != "application/json" || !bytes.HasPrefix(r.Value, []byte(`{"id":"anna"`)) {
			t.Errorf("headers %v, value %.100s", got, r.Value)
		}
	}
	w.must("verify", "-c", w.file)
}
