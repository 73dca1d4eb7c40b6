package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.yaml.in/yaml/v3"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model/groups"
	"liftstream/stream"
)

// deployed reads a file of the folder deploy.
func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recorder notes the collectors that are registered.
type recorder struct {
	prometheus.Registerer
	all []prometheus.Collector
}

func (r *recorder) MustRegister(cs ...prometheus.Collector) { r.all = append(r.all, cs...) }

// exported are the names of all metrics of a process, with the names of their labels.
func exported(t *testing.T) map[string]string {
	t.Helper()
	l, families := begun(t)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	out := map[string]string{"up": "{}"}
	for _, f := range families {
		out[f.GetName()] = "{}"
	}
	r := &recorder{}
	stream.NewMetrics(r)
	goals := newGoalMetrics(page.NewGoalTally([]string{"clicks"}))
	r.MustRegister(stream.Collector(l.Stage), newGroupMetrics(&groups.Tally{}), goals)
	desc := regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: (\{.*?\})`)
	for _, c := range r.all {
		ch := make(chan *prometheus.Desc, 100)
		c.Describe(ch)
		close(ch)
		for d := range ch {
			m := desc.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("%s cannot be read", d)
			}
			out[m[1]] = m[2]
		}
	}
	return out
}

var (
	metricName = regexp.MustCompile(`liftstream_[a-z_]+(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`([a-z]+)(?:=~|!=|=)"([^"]*)"`)
)

// known fails where an expression names a metric that no stage has, or one of its labels.
func known(t *testing.T, where, expr string, metrics map[string]string) (names int) {
	t.Helper()
	for _, m := range metricName.FindAllStringSubmatch(expr, -1) {
		name, _, _ := strings.Cut(m[0], "{")
		labels, ok := metrics[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(name, suffix); cut && !ok {
				labels, ok = metrics[base]
			}
		}
		if !ok {
			t.Errorf("%s: no stage exports %s", where, name)
		}
		for _, x := range matcher.FindAllStringSubmatch(m[1], -1) {
			own := strings.Split(strings.Trim(labels, "{}"), ",")
			if !strings.Contains(","+strings.Join(own, ",")+",", ","+x[1]+",") && !strings.Contains("job instance le", x[1]) {
				t.Errorf("%s: %s has the labels %s, not %s", where, name, labels, x[1])
			}
		}
		names++
	}
	return names
}

// TestAlerts: each alert speaks of metrics that a stage exports and has a section of the runbook and two cases of
// alerts_test.yaml, which promtool runs in .ci/run.
func TestAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
				Labels      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(deployed(t, "prometheus/alerts.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	cases, runbook := string(deployed(t, "prometheus/alerts_test.yaml")), string(deployed(t, "RUNBOOK.md"))
	metrics := exported(t)
	sections, alerts := strings.Count(runbook, "\n## Liftstream"), 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts++
			if known(t, r.Alert, r.Expr, metrics) == 0 {
				t.Errorf("%s names no metric", r.Alert)
			}
			if !strings.Contains(runbook, "\n## "+r.Alert+"\n") {
				t.Errorf("%s has no section of the runbook", r.Alert)
			}
			if want := "deploy/RUNBOOK.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: its runbook is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			for _, name := range []string{"fires", "does not fire"} {
				if !strings.Contains(cases, "- name: "+r.Alert+" "+name+"\n") {
					t.Errorf("no case says that %s %s", r.Alert, name)
				}
			}
		}
	}
	if alerts < 20 || sections != alerts {
		t.Errorf("%d alerts, %d sections of the runbook", alerts, sections)
	}
	known(t, "alerts_test.yaml", cases, metrics)
	for _, m := range regexp.MustCompile("`liftstream_[a-z_]+`").FindAllString(runbook, -1) {
		known(t, "RUNBOOK.md", m, metrics)
	}
}

// TestDashboard: each query of the dashboard speaks of metrics that a stage exports.
func TestDashboard(t *testing.T) {
	var board struct {
		Title  string
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana/liftstream.json"), &board); err != nil {
		t.Fatal(err)
	}
	metrics, ids := exported(t), map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("%s: a second panel %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: %d queries, columns %d to %d of 24", p.Title, len(p.Targets), p.GridPos.X, p.GridPos.X+p.GridPos.W)
		}
		for _, q := range p.Targets {
			if known(t, p.Title, q.Expr, metrics) == 0 {
				t.Errorf("%s: %q names no metric", p.Title, q.Expr)
			}
		}
	}
	if board.Title == "" || board.UID == "" || len(ids) < 15 {
		t.Errorf("dashboard %q, %q of %d panels", board.Title, board.UID, len(ids))
	}
}
