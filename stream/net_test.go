package stream

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/stream/internal/sample"
	"liftstream/stream/orders"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// netWorld is a stage whose topics are written down at the end. Each step waits for the step before, and so equal steps
// give equal topics.
type netWorld struct {
	*world
	t     *testing.T
	f     modeltest.Figures
	spec  *model.Spec
	codec codec.Options
}

func newNetWorld(t *testing.T, addr string) *netWorld {
	n := &netWorld{world: newWorld(t, addr, 2), t: t, spec: sample.Spec()}
	o := &n.spec.Options
	o.DedupWindow, o.DedupBytes = int64(50*time.Millisecond), 1<<20
	o.WaitWindow, o.CorrectFor = int64(600*time.Millisecond), int64(600*time.Millisecond)
	o.Control, o.Interval, o.FalseAlarms = model.Control{Share: .3, Seed: 2}, .8, .2
	n.codec = n.Codec()
	n.codec.Dedup, n.codec.Control, n.codec.Interval = true, true, true
	n.codec.Features = codec.FeaturesAll
	return n
}

// options are those of a process that fits no model of its own, and writes a snapshot at its end alone.
func (n *netWorld) options(c *txn.Client) Options {
	o := n.world.options(c)
	o.Spec, o.Codec, o.Snapshot, o.FitEvery, o.FitRecords = n.spec, n.codec, time.Hour, time.Hour, 1<<40
	return o
}

// settled waits until events and labels are committed to their ends.
func (n *netWorld) settled(rs ...*running) {
	n.t.Helper()
	n.caught(rs...)
	streamtest.Eventually(n.t, time.Minute, "labels are not committed", func() bool {
		got, err := n.Client.ConsumerGroup(n.Name).Offsets(context.Background(), n.Topics.Labels, []int{0, 1})
		if err != nil {
			return false
		}
		for p := range n.N {
			if _, end := n.Bounds(n.Topics.Labels, p); max(got[p].Offset, 0) < end {
				return false
			}
		}
		return true
	})
}

// at is the time of a message, by its number.
func (n *netWorld) at(i int) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(i)) }

// give gives an order and waits until all partitions serve the version.
func (n *netWorld) give(r *running, v orders.Verb, version int64, learning bool, serves int64) {
	n.t.Helper()
	n.order(n.t, v, version, learning)
	r.serve(n.t, serves)
	r.await(n.t, "the order is not seen", func(s Status) bool {
		return s.Order != nil && s.Order.Verb == string(v)
	})
}

// learns waits until the state of each partition has obeyed the order that learning stops or goes on.
func (n *netWorld) learns(on state.Switch) {
	n.t.Helper()
	newest := func(p int) (newest state.Switch) {
		for _, r := range n.Records(n.Topics.State, p) {
			if strings.HasPrefix(string(r.Key), "obeyed/") {
				_, o, err := state.DecodeObeyed(r.Value, state.Format)
				if err != nil {
					n.t.Fatal(err)
				}
				if o.Learning != state.Unchanged {
					newest = o.Learning
				}
			}
		}
		return newest
	}
	streamtest.Eventually(n.t, time.Minute, "learning is not as ordered", func() bool {
		return newest(0) == on && newest(1) == on
	})
}

// publish publishes a model of files.
func (n *netWorld) publish(r *running, from int, serves int64) {
	n.t.Helper()
	b := model.NewBuilder(n.spec)
	b.Add(sample.Records(from, 900))
	m, err := b.Fit(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := orders.Give(n.t.Context(), orders.Options{Client: n.Client, Name: n.Name, Topic: n.Topics.Model,
		Fingerprint: m.Fingerprint, Verb: orders.Publish, Model: m, Who: "the test", Now: time.Now()}); err != nil {
		n.t.Fatal(err)
	}
	r.serve(n.t, serves)
}

// masked replaces the name of the stage, which differs from run to run.
func (n *netWorld) masked(text string) string { return strings.ReplaceAll(text, n.Name, "NAME") }

// topic writes the messages of a topic down: headers, and the rows of its tables or its text.
func (n *netWorld) topic(name, topic string, partition int) {
	n.t.Helper()
	for i, r := range n.Records(topic, partition) {
		id := fmt.Sprintf("%s %d #%d", name, partition, i)
		line := []any{string(r.Key)}
		if topic == n.Topics.Scores {
			line = append(line, r.Time.UnixMilli())
		}
		for _, h := range r.Headers {
			if value := n.masked(string(h.Value)); h.Key != codec.DeadFirstSeen {
				line = append(line, h.Key+": "+value)
			}
		}
		n.f.Add(id, line...)
		text := false
		for tab, err := range codec.Tables(r.Value, 64<<20) {
			if err != nil {
				text = true
				break
			}
			for row := range tab.Rows() {
				if topic == n.Topics.Scores && (i*7+row)%9 > 0 && row != tab.Rows()-1 {
					continue
				}
				n.f.Add(fmt.Sprint(id, " row ", row), string(tab.AppendJSON(nil, row)))
			}
		}
		if text {
			n.f.Add(id+" value", string(r.Value))
		}
	}
}

// models writes the model topic down.
func (n *netWorld) models() {
	n.t.Helper()
	p, err := state.ReadPublished(n.t.Context(), n.Client, n.Topics.Model)
	if err != nil {
		n.t.Fatal(err)
	}
	p.Serve(n.spec.Options.Fingerprint)
	n.f.Add("serving", p.Serving)
	for _, v := range p.Versions {
		n.f.Add("version", v.Version, v.Bytes, v.Model.Version, fmt.Sprint(v.Model.Marks), v.Model.Info.Records,
			v.Model.Info.Weight, v.Model.Info.Previous, v.Model.Info.Verdict.Reason, v.Err)
	}
	for _, o := range p.Orders {
		n.f.Add("order", o.Number, o.Verb, o.Serve, o.Until, o.Return, o.Frozen, o.Still, o.Client, o.Why)
	}
	for _, v := range p.Verdicts {
		n.f.Add("verdict", v.Number, v.Version, v.Previous, fmt.Sprint(v.Clocks), v.Reason, v.Note)
	}
	for i, a := range p.Alarms {
		n.f.JSON(n.t, fmt.Sprint("alarms ", i), a.Found)
	}
}

// state writes the newest snapshot of a partition down, as a partition that is restored from it.
func (n *netWorld) state(name string, partition int) {
	n.t.Helper()
	l := state.NewLog()
	if err := l.Follow(n.t.Context(), n.Client, n.Topics.State, partition); err != nil {
		n.t.Fatal(err)
	}
	found, problems := l.Manifests()
	if len(problems) > 0 || len(found) == 0 {
		n.t.Fatalf("%s: %d snapshots, %v", name, len(found), problems)
	}
	newest := slices.MaxFunc(found, func(a, b *state.Manifest) int { return int(a.Events - b.Events) })
	sections, err := l.Sections(newest)
	if err != nil {
		n.t.Fatal(err)
	}
	p, err := model.RestorePartition(n.spec, sections)
	if err != nil {
		n.t.Fatal(err)
	}
	id := fmt.Sprintf("%s %d", name, partition)
	n.f.Add(id, newest.Events, newest.Labels, newest.Fingerprint)
	n.f.Inside(id, p, "model.Spec", "model.Schema", "model.coder", "model.Row", "model.idIndex")
}

// status writes the counts of a process down, once it tells of all labels. The figures of drift are not among them:
// when they are taken depends on where transactions end.
func (n *netWorld) status(name string, r *running, labelled float64) {
	r.await(n.t, "the labelled records are not told", func(s Status) bool { return allLabelled(s) == labelled })
	s := r.stage.Status()
	n.f.Add(name, s.Model, s.Serving, s.Fits, s.Refused)
	for _, p := range s.Partitions {
		n.f.Add(fmt.Sprint(name, " ", p.Partition), p.Phase, p.Offset, p.Labelled, p.Dead, p.UnknownClass, p.Expired,
			p.Model, p.Trained)
	}
}

// TestNetOfAStage holds the topics of a stage that has everything at once: late labels that come twice or fit nothing,
// messages that cannot be read, tombstones, duplicates, orders on models and learning, a skipped message, a restart, a
// death, and a takeover by two (CONTRIBUTING.md 4.3).
func TestNetOfAStage(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		n := newNetWorld(t, addr)
		n.order(t, orders.Freeze, 0, false) // before the first snapshot, which may be fitted at once
		n.Produce(200, 20, true)
		r := n.run(n.options(n.Client))
		n.settled(r)
		n.Produce(100, 20, false)
		n.settled(r)
		n.SendLabels(210, 60)
		n.settled(r)
		n.SendLabels(200, 30) // some of them again
		n.SendLabels(5000, 5) // of no record
		n.settled(r)
		for i, topic := range []string{n.Topics.Events, n.Topics.Labels} {
			n.taken(txn.Record{Topic: topic, Key: []byte("bad"), Value: []byte("not Arrow"), Time: n.at(300)})
			n.taken(txn.Record{Topic: topic, Partition: 1, Key: []byte("gone"), Time: n.at(300)})
			n.taken(txn.Record{Topic: topic, Partition: 1 - i, Value: []byte("{}"), Time: n.at(301),
				Headers: []txn.Header{{Key: "trace", Value: []byte("8")}}})
			n.settled(r)
		}
		n.publish(r, 5_000_000, 1)
		n.Produce(60, 20, true)
		n.settled(r)
		n.again(40, 20)
		n.settled(r)
		n.publish(r, 6_000_000, 2)
		n.Produce(40, 13, true)
		n.settled(r)
		n.give(r, orders.Rollback, 1, false, 1)
		n.Produce(40, 20, false)
		n.settled(r)
		n.give(r, orders.Pin, 2, false, 2)
		n.Produce(20, 20, true)
		n.settled(r)
		n.give(r, orders.Freeze, 0, true, 2)
		n.learns(state.Off)
		n.Produce(30, 10, true)
		n.settled(r)
		n.give(r, orders.Freeze, 0, false, 2)
		n.learns(state.On)
		n.status("frozen", r, 390+390)
		r.end(t)
		n.idle(t)
		n.state("first", 0)
		n.Produce(40, 10, true)
		_, end := n.Bounds(n.Topics.Events, 0)
		if err := n.skipped(n.options(n.Client), codec.StageEvents, end-2, false); err != nil {
			t.Fatal(err)
		}

		net := &streamtest.Mortal{}
		r = n.run(n.options(txn.NewClient(txn.Config{Brokers: n.Brokers, Dial: net.Dial})))
		n.settled(r)
		n.SendLabels(400, 20)
		n.settled(r)
		n.give(r, orders.Unpin, 0, false, 2)
		net.Die()
		r.stop()
		<-r.ended
		n.idle(t)
		one, two := n.run(n.options(n.Client)), n.run(n.options(n.Client))
		share(t, 1, one, two)
		n.Produce(60, 20, true)
		n.settled(one, two)
		n.Produce(20, 20, false)
		n.settled(one, two)
		two.end(t)
		n.settled(one)
		n.SendLabels(n.Next[0]-20, 10)
		n.settled(one)
		n.status("end", one, 510+520)
		one.end(t)
		n.idle(t)

		for p := range n.N {
			n.topic("scores", n.Topics.Scores, p)
			n.state("state", p)
		}
		n.topic("dead", n.Topics.Dead, 0)
		n.models()
		agrees(t, n.options(n.Client))
		n.f.Golden(t, filepath.Join("testdata", "net", "stage.txt"))
	})
}
