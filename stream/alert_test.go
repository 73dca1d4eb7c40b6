package stream

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// alertRules are the alerts of a stage.
const alertRules = "../deploy/prometheus/alerts.yaml"

// condition is one into which a stage is brought, with the alerts that then fire.
type condition struct {
	name       string
	world      func(t *testing.T) *world // nil = an embedded broker and one partition
	options    func(x *provoked)
	untrained  bool // it begins before there is a model
	do         func(x *provoked)
	unfinished bool // its events are not all processed
	shows      func(s scraped) bool
	want       []string
	may        []string // fire beside them, as the trainer's times fall
}

// provoked is a stage in a condition.
type provoked struct {
	*world
	t     *testing.T
	o     Options
	r     *running
	reg   *prometheus.Registry
	ahead atomic.Int64      // by which its clock is ahead of the clock of Prometheus
	fails atomic.Int64      // commits that are still to fail
	wrong error             // of these
	undo  func()            // nil = nothing has to be undone
	dies  func()            // cuts the stage off from its broker
	begin func()            // of the condition, behind the scrape before it
	prior streamtest.Scrape // before the condition
}

// now is the time of the stage's clock.
func (x *provoked) now() time.Time { return time.Now().Add(time.Duration(x.ahead.Load())) }

// prepare makes the stage of the options, which does not run yet.
func (x *provoked) prepare() {
	x.r, x.reg = x.watched(x.o)
	commit := x.r.stage.commit
	x.r.stage.commit = func(ctx context.Context, p *txn.Producer, y txn.Transaction) error {
		if x.fails.Add(-1) >= 0 {
			return x.wrong
		}
		return commit(ctx, p, y)
	}
}

// trains has the stage learn until it serves a model.
func (x *provoked) trains() {
	x.t.Helper()
	x.events(300, 20, true)
	x.caught(x.r)
	x.r.await(x.t, "no model serves", func(s Status) bool {
		return s.Model > 0 && len(s.Partitions) > 0 && s.Partitions[0].Model == s.Model
	})
}

// events sends the next n records of partition 0, rows a message, by the stage's clock. No two messages are of the same
// time, since stream time begins with the fourth one.
func (x *provoked) events(n, rows int, labelled bool) {
	x.t.Helper()
	var out []txn.Record
	for at := x.now().Add(-time.Duration(n/rows) * time.Millisecond); n > 0; n -= rows {
		at = at.Add(time.Millisecond)
		out = append(out, txn.Record{Topic: x.Topics.Events, Value: x.Message(0, x.Next[0], rows, labelled), Time: at})
		x.Next[0] += rows
	}
	if err := x.Client.Produce(x.t.Context(), out, txn.None); err != nil {
		x.t.Fatal(err)
	}
}

// scrape reads the series as Prometheus does. liftstream_ready is a metric of the process around the stage, see package
// live.
func (x *provoked) scrape() streamtest.Scrape {
	x.t.Helper()
	s := streamtest.Exposed(x.t, x.reg, time.Now())
	s.Series["liftstream_ready"] = "0"
	if x.r.stage.Status().Ready {
		s.Series["liftstream_ready"] = "1"
	}
	return s
}

// TestAlertsFire: a stage is brought into the conditions of which alerts speak, and the alerts fire over the metrics
// that it has then, by the rules themselves, and no others. A stage that works as it should raises none.
func TestAlertsFire(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: the conditions take a minute")
	}
	streamtest.Promtool(t)
	for _, c := range slices.Concat(healthy, conditionsOfTopics, conditionsOfLearning) {
		t.Run(c.name, func(t *testing.T) {
			x := &provoked{t: t}
			if x.world = alone(t, 1); c.world != nil {
				x.world = c.world(t)
			}
			x.o = weekly(x.world)
			x.o.Now = x.now
			if c.options != nil {
				c.options(x)
			}
			x.prepare()
			x.r.start()
			if x.events(40, 20, false); !c.untrained {
				x.trains()
			}
			x.caught(x.r)
			x.prior = x.scrape()
			if x.begin != nil {
				x.begin()
			}
			c.do(x)
			if !c.unfinished {
				x.caught(x.r)
			}
			shows(t, x.reg, "the condition does not show", c.shows)
			after := x.scrape()
			if x.undo != nil {
				x.undo()
			}
			got := streamtest.Firing(t, alertRules, x.prior, after)
			got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(c.may, name) })
			if !slices.Equal(got, c.want) {
				t.Errorf("%v fire, want %v", got, c.want)
			}
			x.r.end(t)
		})
	}
}

// elsewhere are the alerts of conditions that a stage of this package cannot have, by the test that provokes them.
var elsewhere = map[string]string{
	"LiftstreamAbsent":     "TestAlertsOfAProcess of cmd/liftstream",
	"LiftstreamShadowDown": "TestAlertsOfAProcess of cmd/liftstream",
}

// TestEveryAlertIsProvoked by a condition.
func TestEveryAlertIsProvoked(t *testing.T) {
	provoked := map[string]bool{}
	for _, c := range slices.Concat(healthy, conditionsOfTopics, conditionsOfLearning) {
		for _, name := range c.want {
			provoked[name] = true
		}
	}
	for _, name := range streamtest.Alerts(t, alertRules) {
		if !provoked[name] && elsewhere[name] == "" {
			t.Errorf("no condition provokes %s: add one to stream/alertcases_test.go", name)
		}
	}
}

// at tells whether a series has reached n.
func at(key string, n float64) func(s scraped) bool {
	return func(s scraped) bool { return s["liftstream_"+key] >= n }
}
