package streamtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Scrape is one scrape of a stage: each series, buckets included, by its name with its labels.
type Scrape struct {
	At     time.Time // by the clock of Prometheus
	Series map[string]string
}

// Exposed reads a registry as Prometheus does.
func Exposed(t testing.TB, g prometheus.Gatherer, at time.Time) Scrape {
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
	return Scraped(text.String(), at)
}

// Scraped reads the text that a stage answers at /metrics.
func Scraped(text string, at time.Time) Scrape {
	s := Scrape{at, map[string]string{}}
	for line := range strings.Lines(text) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			s.Series[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return s
}

// Promtool is the promtool of a test, which is skipped where there is none.
func Promtool(t *testing.T) string {
	t.Helper()
	tool := os.Getenv("LIFTSTREAM_PROMTOOL")
	if tool == "" {
		t.Skip("SKIPPED, NOT CHECKED: LIFTSTREAM_PROMTOOL names no promtool")
	}
	return tool
}

// Alerts are the names of the alerts in a file of rules, in its order.
func Alerts(t testing.TB, rules string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			names = append(names, name)
		}
	}
	return names
}

// steady is how long the series stand at the scrape before in Firing; step is the time between two samples there.
const (
	steady = 30 * time.Minute
	step   = 5 * time.Minute
)

// Firing has promtool tell which alerts of a file of rules fire where the series stand at before for half an hour, and
// then at after for 30 hours. Counts go on to rise every five minutes as much as between the two, and a time stays as
// long ago at the scrape after as it was.
func Firing(t *testing.T, rules string, before, after Scrape) (names []string) {
	t.Helper()
	rules, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	all := Alerts(t, rules)
	var y strings.Builder
	fmt.Fprintf(&y, "rule_files: [%q]\nevaluation_interval: %v\ntests:\n  - interval: %v\n    input_series:\n", rules,
		step, step)
	for _, name := range slices.Sorted(maps.Keys(after.Series)) {
		base, _, _ := strings.Cut(name, "{")
		series := strings.Replace(name, "{", `{job="bank",`, 1)
		if base == name {
			series += `{job="bank"}`
		}
		fmt.Fprintf(&y, "      - series: '%s'\n        values: '%s'\n", series, values(t, base, name, before, after))
	}
	y.WriteString("    promql_expr_test:\n      - expr: vector(4711)\n        eval_time: 30h\n")
	for _, name := range all {
		fmt.Fprintf(&y, "      - expr: count(ALERTS{alertname=%q,alertstate=\"firing\"}) + 4711\n", name)
		y.WriteString("        eval_time: 30h\n")
	}
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(y.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// Each case expects nothing, so promtool shows a firing alert as one that it got, and the vector always.
	out, err := exec.Command(Promtool(t), "test", "rules", file).CombinedOutput()
	shown := string(out)
	if err == nil || !strings.Contains(shown, " 4.711E+03") {
		t.Fatalf("promtool does not show what fires: %v: %s", err, out)
	}
	for _, name := range all {
		if strings.Contains(shown, `alertname="`+name+`"`) || strings.Contains(shown, `alertname=\"`+name+`\"`) {
			names = append(names, name)
		}
	}
	return names
}

// values are the samples of a series in promtool's notation.
func values(t testing.TB, base, name string, before, after Scrape) string {
	t.Helper()
	number := func(s Scrape) (x float64) {
		if _, err := fmt.Sscan(s.Series[name], &x); err != nil {
			t.Fatalf("%s is %q: %v", name, s.Series[name], err)
		}
		if strings.HasSuffix(base, "_timestamp_seconds") {
			x += (steady - time.Duration(after.At.UnixNano())).Seconds()
		}
		return x
	}
	from, to, samples := 0., number(after), int(steady/step)
	first := fmt.Sprintf("_x%d", samples)
	if _, ok := before.Series[name]; ok {
		from = number(before)
		first = fmt.Sprintf("%v+0x%d", from, samples)
	}
	rise := 0.
	for _, rises := range []string{"_total", "_bucket", "_count", "_sum", "labelled_records"} {
		if strings.HasSuffix(base, rises) {
			rise = max(to-from, 0) // another process counts anew
		}
	}
	return fmt.Sprintf("%s %v+%vx380", first, to, rise)
}
