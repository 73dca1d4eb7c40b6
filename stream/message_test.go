package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestALongMessageIsGivenUp: it goes on while nothing has ended, for a while after the end, and not beyond; it is shown
// after some seconds.
func TestALongMessageIsGivenUp(t *testing.T) {
	now := time.Unix(0, 0)
	wide := &model.Spec{Schema: &model.Schema{Features: make([]model.Feature, sliceWork)}} // a slice is a row
	s := &Stage{o: Options{Now: func() time.Time { return now }, Spec: wide}}
	x := &task{s: s, owned: owned{m: &replay.Machine{}}}
	ctx, end := context.WithCancel(t.Context())
	rows := 0
	var shown []string
	x.during(ctx, "events", &txn.Record{Offset: 7}, 3*time.Second, func(more func(row int) bool) {
		for ; more(rows); rows++ {
			shown = append(shown, x.board.message.long(now))
			now = now.Add(time.Second)
			if rows == 9 {
				end()
			}
		}
	})
	// Ended after row 9; it is noticed at row 10, and three seconds later it is enough.
	if rows != 13 {
		t.Errorf("given up at row %d", rows)
	}
	long := x.board.message.long(now)
	if shown[4] != "" || shown[6] != "a long message: offset 7 of events, row 6, for 6s" || long != "" {
		t.Errorf("shown %q, afterwards %q", shown, long)
	}
	s.hurry.Store(true)
	x.during(ctx, "events", &txn.Record{}, time.Hour, func(more func(row int) bool) {
		if more(0) {
			t.Error("it goes on although the grace period is half over")
		}
	})
}

// tripwire is a component without inputs that calls trip at each record that it learns.
type tripwire struct{ trip func() }

func (*tripwire) Name() string                        { return "tripwire" }
func (f *tripwire) New(*model.Levels) model.Component { return &tripped{f.trip} }
func (*tripwire) Fit(context.Context, *model.Evidence, []byte) ([]byte, error) {
	return []byte{1}, nil
}

type tripped struct{ trip func() }

func (w *tripped) Learn(*model.Example)      { w.trip() }
func (*tripped) Retract(*model.Example)      {}
func (*tripped) InputCount() int             { return 0 }
func (*tripped) Inputs(model.Row, []float64) {}
func (*tripped) AppendState(b []byte) []byte { return append(b, 1) }
func (*tripped) LoadState([]byte) error      { return nil }
func (*tripped) Rebase(*model.Rebase) error  { return nil }

// TestAMessageThatIsGivenUpIsDoneAgain: a stage that ends within a message commits the messages before it, says nothing
// of unflushed work, and the next one scores the message once.
func TestAMessageThatIsGivenUpIsDoneAgain(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		var r *running
		var learnt, stopAt, late atomic.Int64
		spec := *o.Spec
		spec.Components = append(slices.Clone(spec.Components), &tripwire{func() {
			if n := learnt.Add(1); stopAt.Load() > 0 && n == stopAt.Load() {
				late.Store(1)
				r.stop()
			}
		}})
		o.Spec, o.Snapshot, o.FitEvery, o.FitRecords = &spec, time.Hour, time.Hour, 1<<40
		o.Now = func() time.Time { // every look at the clock after the end lies beyond all patience
			if late.Load() > 0 {
				return time.Now().Add(time.Duration(late.Add(1)) * time.Minute)
			}
			return time.Now()
		}
		w.Produce(300, 50, true)
		r = w.run(o)
		w.caught(r)
		stopAt.Store(learnt.Load() + 5000)
		w.Produce(15000, 15000, true)
		if err := <-r.ended; err != nil {
			t.Errorf("the stage ends with %v", err)
		}
		if at := w.Committed(0); at != 6 || learnt.Load() >= stopAt.Load()+9000 {
			t.Errorf("committed up to offset %d, %d records learnt after the end", at, learnt.Load()-stopAt.Load())
		}
		stopAt.Store(0)
		w.Produce(50, 50, true)
		o.Now, o.Metrics = time.Now, NewMetrics(prometheus.NewRegistry())
		r = w.run(o)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		if found, err := verified(context.Background(), o); err != nil || len(found[0].Problems) > 0 {
			t.Errorf("verify: %v %+v", err, found)
		}
	})
}

// TestTheTakeoverGivesALongMessageUp at once: the message is there the next time.
func TestTheTakeoverGivesALongMessageUp(t *testing.T) {
	w := alone(t, 1)
	w.Produce(100, 50, true)
	m, err := replay.New(replay.Options{Client: w.Client, Events: w.Topics.Events, Spec: w.options(w.Client).Spec,
		Codec: w.Codec()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	m.Begin(m.At)
	taken := 0
	m.EachEvents = func(r *txn.Record) error {
		_, err := m.TakeEvents(r, func(int) bool { taken++; return false })
		return err
	}
	if err := m.EventsTo(ctx, 2); !errors.Is(err, replay.ErrInterrupted) || taken != 1 {
		t.Errorf("%v after %d slices", err, taken)
	}
}

// refuseTrainer has the brokers let no trainer publish.
func refuseTrainer(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.InitProducerID), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		in := request.(*kmsg.InitProducerIDRequest)
		if in.TransactionalID == nil || !strings.HasSuffix(*in.TransactionalID, "-trainer") {
			return nil, nil, false
		}
		out := in.ResponseKind().(*kmsg.InitProducerIDResponse)
		out.ErrorCode = 53 // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
		return out, nil, true
	})
}

// TestATrainerWithoutRightsIsSeen: on /readyz, which Status answers, and as a metric; scores go on.
func TestATrainerWithoutRightsIsSeen(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := newWorldAt(t, txn.Config{Brokers: cluster.ListenAddrs()}, 1)
	refuseTrainer(cluster)
	o := w.options(w.Client)
	r := w.run(o)
	w.Produce(300, 50, true)
	w.caught(r)
	r.await(t, "the trainer's trouble is not shown", func(s Status) bool {
		return !s.Ready && strings.Contains(strings.Join(s.Waiting, "\n"), "no new model is published")
	})
	if counted(o.Metrics.TrainerErrors) == 0 || written(t, o.Metrics.TrainerFailing).GetGauge().GetValue() != 1 {
		t.Errorf("%v errors counted", counted(o.Metrics.TrainerErrors))
	}
	r.end(t)
}
