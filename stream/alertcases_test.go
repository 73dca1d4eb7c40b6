package stream

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// healthy are conditions of no alert.
var healthy = []condition{
	{name: "all is well", do: func(x *provoked) {
		x.labelsAt(0, 20, x.now())
		x.events(40, 20, false)
	}, shows: at(`labels_total{outcome="learnt"}`, 20)},
}

// conditionsOfTopics are those of events, labels, brokers and the group.
var conditionsOfTopics = []condition{
	{name: "bad messages, and the partition pauses", options: func(x *provoked) { x.o.DeadShare = .05 },
		do:    func(x *provoked) { x.garbage(200) },
		shows: at(`paused{partition="0"}`, 1), unfinished: true,
		want: []string{"LiftstreamNotReady", "LiftstreamBehind", "LiftstreamPaused", "LiftstreamDeadLetters",
			"LiftstreamPolicy"}},
	{name: "a sender whose clock is wild", do: func(x *provoked) {
		for range 20 {
			x.eventsAt(40, 20, x.now().Add(48*time.Hour))
		}
	}, shows: at(`dead_letters_total{reason="future"}`, 20), want: []string{"LiftstreamDeadLetters"}},
	{name: "a partition of a process that nobody scrapes", world: func(t *testing.T) *world { return alone(t, 2) },
		do: func(x *provoked) {
			other := x.run(x.options(x.Client))
			share(x.t, 1, x.r, other)
			x.undo = func() { other.end(x.t) }
		}, unfinished: true, shows: func(s scraped) bool {
			return s[`liftstream_partition_running{partition="0"}`]+s[`liftstream_partition_running{partition="1"}`] == 1
		}, want: []string{"LiftstreamPartitionUnowned"}},
	{name: "a takeover that lasts", options: mortal, do: stopInTakeover,
		unfinished: true, shows: at(`restore_remaining_messages{partition="0",topic="events"}`, 1),
		want: []string{"LiftstreamNotReady", "LiftstreamRestoring"}},
	{name: "events that come late", do: func(x *provoked) {
		x.labelsAt(0, 20, x.now())
		x.eventsAt(x.Next[0], 20, x.now().Add(-10*time.Minute))
	}, shows: at(`labelled_records{partition="0"}`, 320), want: []string{"LiftstreamSlow"}},
	{name: "an open transaction of events", do: func(x *provoked) {
		x.undo = x.upstream(x.event(x.Next[0], 10))
		x.isHeld()
	}, unfinished: true, shows: at(`held_seconds{partition="0"}`, 61), want: []string{"LiftstreamEventsHeld"}},
	{name: "an open transaction of labels", do: func(x *provoked) {
		x.undo = x.upstreamOf(x.Topics.Labels, txn.Record{Topic: x.Topics.Labels, Value: []byte("?"), Time: x.now()})
		x.isHeld()
	}, shows: at(`labels_held_seconds{partition="0"}`, 61), want: []string{"LiftstreamLabelsHeld"}},
	{name: "commits fail", do: func(x *provoked) {
		x.wrong = &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("no answer")}
		x.fails.Store(4)
		x.labelsAt(0, 20, x.now())
		x.events(20, 20, false)
	}, shows: func(s scraped) bool {
		return at(`commits_total{outcome="aborted"}`, 4)(s) && at(`labelled_records{partition="0"}`, 320)(s)
	}, want: []string{"LiftstreamCommitsFail"}},
	{name: "labels of others", do: func(x *provoked) {
		x.labelsAt(9000, 20, x.now())
	}, shows: at(`labels_total{outcome="unmatched"}`, 20), want: []string{"LiftstreamLabelsUnmatched"}},
	{name: "no labels", do: func(x *provoked) {
		x.events(20, 20, false)
	}, shows: at("event_to_score_seconds", 1), want: []string{"LiftstreamNoLabels"}},
	{name: "labels that do not come in time", options: func(x *provoked) {
		x.o.Spec.Options.WaitWindow = int64(5 * time.Second)
	}, do: func(x *provoked) {
		x.events(20, 20, false)
		x.ahead.Add(int64(8 * time.Second))
		x.events(60, 20, true)
	}, shows: at(`losses_total{reason="expired"}`, 20), want: []string{"LiftstreamLabelsLost"}},
	{name: "no room for waiting records", options: func(x *provoked) { x.o.Spec.Options.WaitBytes = 16 << 10 },
		do: func(x *provoked) {
			x.events(2000, 100, false)
			x.events(20, 20, true)
		}, shows: at(`losses_total{reason="evicted"}`, 300), want: []string{"LiftstreamLabelsLost"}},
}

// isHeld waits until the stage sees that it is held, and lets two minutes pass.
func (x *provoked) isHeld() {
	x.t.Helper()
	x.r.await(x.t, "nobody sees the transaction", func(s Status) bool { return len(s.Held) == 1 })
	x.ahead.Add(int64(2 * time.Minute))
}

// fetching is a connection of a stage, whose fetches wait while held says so.
type fetching struct {
	net.Conn
	held    func() bool
	release <-chan struct{}
}

func (c fetching) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == byte(kmsg.Fetch) && c.held() {
		<-c.release
	}
	return c.Conn.Write(b)
}

// mortal lets the stage be killed before it writes a snapshot.
func mortal(x *provoked) {
	m := &streamtest.Mortal{}
	x.dialled(m.Dial)
	x.dies, x.o.Snapshot, x.o.Instance = m.Die, 24*time.Hour, "pod-0"
}

// dialled has the stage open its connections so.
func (x *provoked) dialled(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	x.o.Client = txn.NewClient(txn.Config{Brokers: x.Brokers, ClientID: "pod-0", Dial: dial})
	x.t.Cleanup(x.o.Client.Close)
}

// stopInTakeover kills the stage before it has a snapshot, and begins the next one, which cannot fetch the messages
// that it has to replay.
func stopInTakeover(x *provoked) {
	x.events(200, 20, false) // labels would have the cold start write a snapshot
	x.caught(x.r)
	x.dies()
	x.r.stop()
	release := make(chan struct{})
	replays := func() bool {
		s := x.r.stage
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range s.tasks {
			t.board.mu.Lock()
			remaining := t.board.ages.events
			t.board.mu.Unlock()
			if remaining > 0 {
				return true
			}
		}
		return false
	}
	x.dialled(func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return fetching{c, replays, release}, err
	})
	x.prepare()
	x.r.start()
	x.undo = func() { close(release) }
}

// nothing sends n records without any value.
func (x *provoked) nothing(n int) {
	x.t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "c", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(streamtest.RecordID(0, x.Next[0]+i))
		b.Field(1).AppendNull()
		b.Field(2).AppendNull()
		b.Field(3).(*array.StringBuilder).Append("no")
	}
	x.Next[0] += n
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		x.t.Fatal(err)
	}
	if !x.taken(txn.Record{Topic: x.Topics.Events, Value: v, Time: x.now()}) {
		x.t.Fatal("the broker refuses the records")
	}
}

// failing is a factory whose fits of a running stage end with their context alone, once it fails.
type failing struct {
	model.ScorecardFactory
	fails *atomic.Bool
}

func (f failing) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	if _, live := ctx.Deadline(); live && f.fails.Load() {
		return nil, errors.New("the fit fails")
	}
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

// withoutRights is a broker that lets no trainer publish.
func withoutRights(t *testing.T) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	refuseTrainer(cluster)
	return newWorldAt(t, txn.Config{Brokers: cluster.ListenAddrs()}, 1)
}

// watchful has the alarms of drift come soon.
func watchful(x *provoked) { x.o.Spec.Options.FalseAlarms = .01 }

// conditionsOfLearning are those of models, fits and drift.
var conditionsOfLearning = []condition{
	{name: "no model", untrained: true, do: func(x *provoked) {
		x.labelsAt(0, 20, x.now())
		x.events(20, 20, false)
	}, shows: at(`labels_total{outcome="learnt"}`, 20), want: []string{"LiftstreamUntrained"}},
	{name: "records without values", do: func(x *provoked) { x.nothing(20) },
		shows: at(`records_total{status="degraded"}`, 20), want: []string{"LiftstreamDegraded"}},
	{name: "a trainer without rights", world: withoutRights, untrained: true, do: func(x *provoked) {
		x.events(300, 20, true)
	}, shows: at("trainer_failing", 1),
		want: []string{"LiftstreamNotReady", "LiftstreamTrainerFails"}},
	{name: "fits that fail", options: func(x *provoked) {
		fails := &atomic.Bool{}
		x.o.Spec.Scorecard = failing{x.o.Spec.Scorecard, fails}
		x.begin = func() { fails.Store(true) }
	}, do: func(x *provoked) { x.events(1200, 100, true) }, shows: at(`fits_total{outcome="failed"}`, 1),
		want: []string{"LiftstreamFitsFail"}},
	{name: "models that are worse", options: func(x *provoked) { x.o.Spec.Options.Gate = -10 }, do: func(x *provoked) {
		refused := func(n uint64) {
			x.r.await(x.t, "no verdict", func(s Status) bool {
				if s.Refused >= n {
					return true
				}
				x.events(100, 50, true)
				x.caught(x.r)
				return false
			})
		}
		refused(1) // until then the cold start may publish models, by as many records as the trainer happens to see
		x.prior = x.scrape()
		refused(2)
	}, shows: at(`gate_verdicts_total{reason="worse"}`, 2), want: []string{"LiftstreamGateRefuses"}},
	{name: "labels that are inverted", options: func(x *provoked) { x.o.Spec.Options.Gate = 5 }, do: func(x *provoked) {
		x.events(1700, 50, true)
		x.Invert = true
		x.r.await(x.t, "no model is refused", func(s Status) bool {
			if s.Refused > 0 {
				return true
			}
			x.events(500, 50, true)
			x.caught(x.r)
			return false
		})
	}, shows: at(`gate_verdicts_total{reason="inverted"}`, 1), want: []string{"LiftstreamLabelsInverted"}},
	{name: "scores that are wrong", options: watchful, do: func(x *provoked) {
		from := x.Next[0]
		x.events(2000, 100, false)
		x.caught(x.r)
		x.Invert = true
		x.labelsAt(from, 2000, x.now())
	}, shows: at(`drift_alarms_total{kind="over_promise"}`, 1), want: []string{"LiftstreamScoresWorse"},
		may: []string{"LiftstreamLabelsInverted", "LiftstreamDrift"}},
	{name: "a model of last week", options: func(x *provoked) {
		x.ahead.Store(-int64(8 * 24 * time.Hour))
		x.begin = func() { x.ahead.Store(0) }
	}, do: func(x *provoked) { x.events(20, 20, true) }, shows: at("event_to_score_seconds", 1),
		want: []string{"LiftstreamModelOld"}},
	{name: "labels that end", options: watchful, do: func(x *provoked) {
		x.events(3000, 50, true)
		x.caught(x.r)
		x.events(1000, 50, false)
	}, shows: at(`drift_alarms_total{kind="missing"}`, 1), want: []string{"LiftstreamDrift"}},
}
