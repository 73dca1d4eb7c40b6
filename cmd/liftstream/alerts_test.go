package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/stream/streamtest"
)

// TestAlertsOfAProcess: a running process is brought into the conditions of those alerts that speak of it as a whole,
// and Prometheus' rules over its /metrics tell which of them fire. stream/alert_test.go has the others.
func TestAlertsOfAProcess(t *testing.T) {
	long(t)
	streamtest.Promtool(t)
	w, end, again := returning(t)
	scrape := func(run *background) streamtest.Scrape {
		t.Helper()
		return streamtest.Scraped(metrics(t, run), time.Now())
	}
	fires := func(condition string, before, after streamtest.Scrape, want ...string) {
		t.Helper()
		got := streamtest.Firing(t, "../../deploy/prometheus/alerts.yaml", before, after)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q fire, want %q", condition, got, want)
		}
	}
	shows := func(run *background, series ...string) {
		t.Helper()
		eventually(t, strings.Join(series, ", "), func() bool {
			text := metrics(t, run)
			return !slices.ContainsFunc(series, func(s string) bool { return !strings.Contains(text, "\n"+s+"\n") })
		})
	}

	run := start(t, "run", "-c", w.file)
	w.await(435)
	shows(run, "liftstream_ready 1", "liftstream_model_version 1", `liftstream_lag_messages{partition="0"} 0`)
	well := scrape(run)
	fires("all is well", well, scrape(run))
	end()
	shows(run, "liftstream_ready 0")
	fires("the brokers are away", well, scrape(run), "LiftstreamNotReady")
	again()
	shows(run, "liftstream_ready 1")
	if status := run.stop(t); status != cli.StatusDone {
		t.Fatalf("run ends with status %d\n%s", status, run.err.String())
	}
	fires("the process has ended", well, streamtest.Scrape{At: time.Now()}, "LiftstreamAbsent")

	beside := spawn(t, buildBinary(t), "run", "-c", w.file, "--shadow", "/no/such/file.yaml")
	eventually(t, "the end of a shadow that cannot start", func() bool {
		return len(beside.says("shadow has ended", false)) > 0
	})
	page := beside.says("serving", false)[0].Page
	var after streamtest.Scrape
	eventually(t, "the metric of the shadow", func() bool {
		_, text := fetched(t, page+"metrics")
		after = streamtest.Scraped(text, time.Now())
		return after.Series["liftstream_shadow_up"] == "0" && after.Series["liftstream_ready"] == "1"
	})
	fires("the shadow does not start", well, after, "LiftstreamShadowDown")
}
