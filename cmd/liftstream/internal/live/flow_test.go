package live

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/stream"
)

// TestFlowIsThatOfTheMetrics: dead letters by reason, waiting records by partition, and the delays of the newest
// messages, or of all where none came lately.
func TestFlowIsThatOfTheMetrics(t *testing.T) {
	m := stream.NewMetrics(prometheus.NewRegistry())
	now := time.Unix(1000, 0)
	f := flow(m, func() time.Time { return now })
	if x := f(); x.Delay != nil || len(x.Dead) != 0 {
		t.Errorf("of nothing: %+v", x)
	}
	m.Dead.WithLabelValues("schema").Add(2)
	m.Dead.WithLabelValues("text").Add(5)
	m.WaitRecords.WithLabelValues("3").Set(7)
	m.Waiting.WithLabelValues("3").Set(1024)
	m.WaitOldest.WithLabelValues("3").Set(60)
	for range 100 {
		m.Latency.Observe(.3) // in a bucket of .25 to .5
	}
	now = now.Add(delayOver)
	x := f()
	if len(x.Dead) != 2 || x.Dead[0].Name != "text" || x.Dead[0].N != 5 {
		t.Errorf("dead letters %+v", x.Dead)
	}
	if w := x.Waiting[3]; len(x.Waiting) != 1 || w.Records != 7 || w.Bytes != 1024 || w.Oldest != 60 {
		t.Errorf("waiting %+v", x.Waiting)
	}
	within := func(want float64, got float64, slack float64) {
		t.Helper()
		if !(math.Abs(got-want) <= slack) {
			t.Errorf("a delay of %v, want %v", got, want)
		}
	}
	within(.375, float64(x.Delay.Half), 1e-9)
	within(.4975, float64(x.Delay.Most), 1e-9)
	for range 10 {
		m.Latency.Observe(2000) // beyond the last bound
	}
	now = now.Add(delayOver)
	x = f()
	if x.Delay.Messages != 10 || x.Delay.Over != 10 {
		t.Errorf("%d messages in %v s, want the 10 of the last 10 s", x.Delay.Messages, x.Delay.Over)
	}
	within(1200, float64(x.Delay.Half), 0)
	now = now.Add(delayOver)
	if x = f(); x.Delay.Messages != 110 || x.Delay.Over != 30 {
		t.Errorf("%d messages in %v s, want all 110 where none came lately", x.Delay.Messages, x.Delay.Over)
	}
}
