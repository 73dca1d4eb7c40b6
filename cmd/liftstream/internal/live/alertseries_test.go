package live

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/stream/txn"
)

// expressions returns the expressions of the alerts by their names.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(deployed(t, "prometheus/alerts.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			out[r.Alert] = r.Expr
		}
	}
	return out
}

// begun returns a stage with a shadow, both of which have done nothing, and its metrics.
func begun(t *testing.T) (*Live, []*dto.MetricFamily) {
	t.Helper()
	st := small(t, "")
	client := txn.NewClient(txn.Config{Brokers: []string{"127.0.0.1:1"}})
	t.Cleanup(client.Close)
	l := New(st.Config, st, &cluster.Cluster{Client: client, Address: "127.0.0.1:1"}, Options{Log: zap.NewNop()})
	l.NewShadow(nil)
	families, err := l.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return l, families
}

// named is a matcher that names its values.
var named = regexp.MustCompile(`([a-z]+)=~?"([^"]*)"`)

// counterIn is a counter in an expression, with the rest of its matchers.
var counterIn = regexp.MustCompile(`(liftstream_[a-z_]+_total)(?:\{([^}]*)\})?`)

// lateSeries names the series of the counters of an expression that the families, by their names, lack. Of a matcher
// with = or =~ each value must be there, else any series of the counter.
func lateSeries(expr string, families map[string]*dto.MetricFamily) (faults []string) {
	for _, m := range counterIn.FindAllStringSubmatch(expr, -1) {
		family, values := families[m[1]], [][2]string{}
		for _, x := range named.FindAllStringSubmatch(m[2], -1) {
			for v := range strings.SplitSeq(x[2], "|") {
				values = append(values, [2]string{x[1], v})
			}
		}
		if len(family.GetMetric()) == 0 {
			faults = append(faults, m[1])
			continue
		}
		for _, v := range values {
			of := func(l *dto.LabelPair) bool { return l.GetName() == v[0] && l.GetValue() == v[1] }
			has := func(x *dto.Metric) bool { return slices.ContainsFunc(x.GetLabel(), of) }
			if !slices.ContainsFunc(family.GetMetric(), has) {
				faults = append(faults, m[1]+"{"+v[0]+`="`+v[1]+`"}`)
			}
		}
	}
	return faults
}

// TestSeriesOfAlertsBegin: a counter of an alert is there at 0 before it counts, since Prometheus sees no increase in a
// series that appears with its first count.
func TestSeriesOfAlertsBegin(t *testing.T) {
	families := map[string]*dto.MetricFamily{}
	_, all := begun(t)
	for _, f := range all {
		families[f.GetName()] = f
	}
	for alert, expr := range expressions(t) {
		for _, name := range lateSeries(expr, families) {
			t.Errorf("%s: a stage that begins has no %s: add it to stream/series.go begin", alert, name)
		}
	}
	got := lateSeries(`increase(liftstream_absent_total[5m]) + liftstream_labels_total{outcome=~"learnt|lost"}`, families)
	if want := []string{"liftstream_absent_total", `liftstream_labels_total{outcome="lost"}`}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestEveryAlertHasAPanel: the dashboard shows a metric of each alert, so that it can be looked at when it fires.
func TestEveryAlertHasAPanel(t *testing.T) {
	board := string(deployed(t, "grafana/liftstream.json"))
	name := regexp.MustCompile(`liftstream_[a-z_]+`)
	for alert, expr := range expressions(t) {
		shown := func(metric string) bool { return regexp.MustCompile(metric + `\b`).MatchString(board) }
		if !slices.ContainsFunc(name.FindAllString(expr, -1), shown) {
			t.Errorf("%s: no panel of deploy/grafana/liftstream.json has one of its metrics", alert)
		}
	}
}
