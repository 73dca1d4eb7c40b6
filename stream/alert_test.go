package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"liftstream/stream/txn"
)

// exposed reads a registry as Prometheus does: each series, buckets included, by its name with its labels.
func exposed(t testing.TB, g prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]string{}
	for line := range strings.Lines(text.String()) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			out[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return out
}

// firing has promtool tell which alerts of deploy/prometheus fire where the series stand at before for half an hour,
// and then at after for 30 hours. Counts go on to rise every five minutes as much as between the two.
func firing(t *testing.T, before, after map[string]string) (names []string) {
	t.Helper()
	tool := os.Getenv("LIFTSTREAM_PROMTOOL")
	rules, err := filepath.Abs("../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			all = append(all, name)
		}
	}
	var y strings.Builder
	fmt.Fprintf(&y, "rule_files: [%q]\nevaluation_interval: 5m\ntests:\n  - interval: 5m\n    input_series:\n", rules)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		var from, to float64
		if _, err := fmt.Sscan(after[name], &to); err != nil {
			t.Fatal(err)
		}
		values := fmt.Sprintf("_x6 %v+0x380", to)
		if b, ok := before[name]; ok {
			if _, err := fmt.Sscan(b, &from); err != nil {
				t.Fatal(err)
			}
			values = fmt.Sprintf("%v+0x6 %v+0x380", from, to)
		}
		base, _, _ := strings.Cut(name, "{")
		for _, rises := range []string{"_total", "_bucket", "_count", "_sum", "labelled_records"} {
			if strings.HasSuffix(base, rises) {
				values = fmt.Sprintf("%v+0x6 %v+%vx380", from, to, to-from)
			}
		}
		series := strings.Replace(name, "{", `{job="bank",`, 1)
		if base == name {
			series += `{job="bank"}`
		}
		fmt.Fprintf(&y, "      - series: '%s'\n        values: '%s'\n", series, values)
	}
	y.WriteString("    promql_expr_test:\n")
	for _, name := range all {
		fmt.Fprintf(&y, "      - expr: count(ALERTS{alertname=%q,alertstate=\"firing\"}) + 4711\n", name)
		y.WriteString("        eval_time: 30h\n")
	}
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(y.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// Each case expects nothing: promtool shows a firing alert as one that it got.
	out, err := exec.Command(tool, "test", "rules", file).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "FAILED") {
		t.Fatalf("%v: %s", err, out)
	}
	shown := string(out)
	for _, name := range all {
		if strings.Contains(shown, `alertname="`+name+`"`) || strings.Contains(shown, `alertname=\"`+name+`\"`) {
			names = append(names, name)
		}
	}
	return names
}

// TestAlertsFire: a stage is brought into the conditions of which alerts speak, and the alert fires over the metrics
// that it has then, by the rules themselves. One that works as it should raises none.
func TestAlertsFire(t *testing.T) {
	if os.Getenv("LIFTSTREAM_PROMTOOL") == "" {
		t.Skip("SKIPPED, NOT CHECKED: LIFTSTREAM_PROMTOOL names no promtool")
	}
	lag := func(key string) func(s scraped) bool {
		return func(s scraped) bool { return s["liftstream_"+key+`{partition="0"}`] > 60 }
	}
	at := func(key string, n float64) func(s scraped) bool {
		return func(s scraped) bool { return s["liftstream_"+key] >= n }
	}
	for _, c := range []struct {
		name   string
		change func(o *Options)
		commit error // of transactions with scores, four times
		do     func(w *world) (undo func())
		later  bool // it shows two minutes after the stage has seen it
		shows  func(s scraped) bool
		want   []string
	}{
		{name: "all is well", do: func(w *world) func() {
			w.labelsAt(0, 20, time.Now())
			w.eventsAt(40, 20, time.Now())
			return nil
		}, shows: at(`labels_total{outcome="learnt"}`, 20), want: nil},
		{name: "an open transaction of events", do: func(w *world) func() {
			commit := w.upstream(w.event(40, 10))
			return commit
		}, shows: lag("held_seconds"), later: true, want: []string{"LiftstreamEventsHeld"}},
		{name: "an open transaction of labels", do: func(w *world) func() {
			commit := w.upstreamOf(w.Topics.Labels, txn.Record{Topic: w.Topics.Labels, Value: []byte("?"), Time: time.Now()})
			return commit
		}, shows: lag("labels_held_seconds"), later: true, want: []string{"LiftstreamLabelsHeld"}},
		{name: "bad messages", change: func(o *Options) { o.DeadShare = .05 }, do: func(w *world) func() {
			w.garbage(200)
			return nil
		}, shows: at(`paused{partition="0"}`, 1),
			want: []string{"LiftstreamNotReady", "LiftstreamBehind", "LiftstreamPaused", "LiftstreamDeadLetters",
				"LiftstreamPolicy"}},
		{name: "labels of others", do: func(w *world) func() {
			w.labelsAt(9000, 20, time.Now())
			return nil
		}, shows: at(`labels_total{outcome="unmatched"}`, 20), want: []string{"LiftstreamLabelsUnmatched"}},
		{name: "commits fail", commit: &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("no answer")},
			do: func(w *world) func() {
				w.eventsAt(40, 20, time.Now())
				return nil
			}, shows: at(`commits_total{outcome="aborted"}`, 4), want: []string{"LiftstreamCommitsFail"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := alone(t, 1)
			o, skew := weekly(w), &atomic.Int64{}
			if c.change != nil {
				c.change(&o)
			}
			o.Now = func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
			r, reg := w.watched(o)
			var left atomic.Int64
			commit := r.stage.commit
			r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
				if left.Add(-1) >= 0 {
					return c.commit
				}
				return commit(ctx, p, x)
			}
			w.eventsAt(0, 40, time.Now())
			r.start()
			w.caught(r)
			state := func() map[string]string {
				out := exposed(t, reg)
				out["liftstream_ready"] = "0"
				if r.stage.Status().Ready {
					out["liftstream_ready"] = "1"
				}
				return out
			}
			before := state()
			if c.commit != nil {
				left.Store(4)
			}
			undo := c.do(w)
			if c.later {
				r.await(t, "nobody sees the transaction", func(s Status) bool { return len(s.Held) == 1 })
				skew.Store(int64(2 * time.Minute))
			}
			shows(t, reg, "the condition does not show", c.shows)
			if c.want == nil || c.commit != nil {
				w.caught(r)
			}
			after := state()
			if undo != nil {
				undo()
			}
			if got := firing(t, before, after); !slices.Equal(slices.DeleteFunc(got, incidental), c.want) {
				t.Errorf("%v fire, want %v", got, c.want)
			}
			r.end(t)
		})
	}
}

// incidental are alerts that follow from the shortness of a test: it ends before there is a model, or a label.
func incidental(alert string) bool {
	return slices.Contains([]string{"LiftstreamUntrained", "LiftstreamNoLabels"}, alert)
}
