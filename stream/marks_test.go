package stream

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model/wire"
	"liftstream/stream/embedded"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// alone is a broker of its own with the topics of a stage.
func alone(t *testing.T, partitions int) *world {
	t.Helper()
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return newWorld(t, b.Addr(), partitions)
}

// byLabel reads counters or gauges of one label, without the counters that are 0.
func byLabel(c prometheus.Collector) map[string]float64 {
	out, metrics := map[string]float64{}, make(chan prometheus.Metric, 100)
	c.Collect(metrics)
	close(metrics)
	for x := range metrics {
		var m dto.Metric
		if x.Write(&m) == nil && !idle(&m) {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// log reads the state topic of partition 0.
func (o outputs) log() *state.Log {
	o.T.Helper()
	l := state.NewLog()
	if err := l.Follow(context.Background(), o.Client, o.Topics.State, 0); err != nil {
		o.T.Fatal(err)
	}
	return l
}

// write puts a record into a topic.
func (f feeder) write(r txn.Record) {
	f.T.Helper()
	if err := f.Client.Produce(context.Background(), []txn.Record{r}, txn.None); err != nil {
		f.T.Fatal(err)
	}
}

// TestEachOutcomeOfALabelIsCounted by the metric of labels.
func TestEachOutcomeOfALabelIsCounted(t *testing.T) {
	w := alone(t, 1)
	w.Produce(200, 100, false)
	o := w.options(w.Client)
	r := w.run(o)
	w.caught(r)
	want := map[string]float64{}
	for _, step := range []struct {
		from, n int
		outcome string
	}{{0, 150, "learnt"}, {0, 40, "repeated"}, {9000, 7, "unmatched"}, {150, 50, "learnt"}} {
		w.SendLabels(step.from, step.n)
		want[step.outcome] += float64(step.n)
		problem := fmt.Sprintf("labels %v, want %v", byLabel(o.Metrics.Labels), want)
		streamtest.Eventually(t, 20*time.Second, problem, func() bool { return maps.Equal(byLabel(o.Metrics.Labels), want) })
	}
	r.end(t)
}

// TestTheJournalIsNeverUsedUpBeforeASnapshot: where snapshots are due by time only after an hour, one is written when a
// quarter of the ring of the journal has filled since the last. Labels fill it: a record for each transaction that has
// some.
func TestTheJournalIsNeverUsedUpBeforeASnapshot(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it makes more than a thousand transactions one by one")
	}
	w := alone(t, 1)
	w.Produce(100, 100, false)
	o := w.options(w.Client)
	o.Snapshot, o.Commit, o.FitEvery = time.Hour, time.Millisecond, time.Hour
	r := w.run(o)
	w.caught(r)
	found, _ := w.log().Manifests()
	if len(found) > 1 {
		t.Fatalf("%d snapshots by time: the test would say nothing", len(found))
	}
	const most = state.JournalRing/4 + 100
	for end, sent := uint64(0), 0; end < most; sent++ {
		w.SendLabels(sent%100, 1)
		if sent%100 == 0 {
			end = w.log().JournalEnd()
		}
	}
	streamtest.Eventually(t, 20*time.Second, "a snapshot at a quarter of the ring", func() bool {
		found, _ = w.log().Manifests()
		return len(found) > 0 && found[0].Journal >= state.JournalRing/4
	})
	r.end(t)
}

// TestASnapshotWhoseManifestNamesAnotherModelIsRefused: the state says by which model it scores, and the one before
// serves in its place.
func TestASnapshotWhoseManifestNamesAnotherModelIsRefused(t *testing.T) {
	w := alone(t, 1)
	w.Produce(2000, 50, true)
	o := w.options(w.Client)
	r := w.run(o)
	w.caught(r)
	r.await(t, "no model was taken over", func(s Status) bool { return s.Partitions[0].Model > 0 })
	w.Produce(300, 10, true)
	w.caught(r)
	streamtest.Eventually(t, 20*time.Second, "two snapshots under the model", func() bool {
		found, _ := w.log().Manifests()
		return len(found) == 2 && found[0].Model > 0
	})
	r.end(t)
	found, problems := w.log().Manifests()
	if len(found) != 2 || len(problems) > 0 {
		t.Fatalf("%d snapshots, %v", len(found), problems)
	}
	forged := *found[0]
	forged.Model++
	w.write(txn.Record{Topic: w.Topics.State, Key: []byte(forged.Key()), Value: forged.Encode(), Time: time.UnixMilli(1)})
	core, logs := observer.New(zap.ErrorLevel)
	o.Log = zap.New(core)
	r = w.run(o)
	w.Produce(300, 10, true)
	w.caught(r)
	r.end(t)
	refused := logs.FilterMessage("snapshot refused").All()
	says := fmt.Sprintf("model %d", forged.Model)
	if len(refused) != 1 || !strings.Contains(fmt.Sprint(refused[0].ContextMap()["error"]), says) {
		t.Errorf("refused snapshots: %v", logs.All())
	}
	w.ExactlyOnce()
}

// TestARefusedModelIsNotTriedAgain: a version that cannot be read is refused once, not at each transaction.
func TestARefusedModelIsNotTriedAgain(t *testing.T) {
	w := alone(t, 1)
	absent := (&state.Blob{Chunks: 1, Packed: 9, Length: 9}).AppendBinary(wire.AppendUvarint(nil, 5))
	w.write(txn.Record{Topic: w.Topics.Model, Key: []byte("version/5"), Value: state.Seal(absent, 1)})
	o := w.options(w.Client)
	o.FitRecords, o.FitEvery = 1<<40, time.Hour
	r := w.run(o)
	for range 4 {
		w.Produce(50, 10, true)
		w.caught(r)
	}
	r.end(t)
	if n := counted(o.Metrics.Restores.WithLabelValues("model_refused")); n != 1 {
		t.Errorf("the model was refused %v times", n)
	}
}

// TestANewTrainerKnowsTheRecordsOfTheServingModel: without a verdict in the topic, as builds before the gate left it,
// the marks of the model say which records are not new.
func TestANewTrainerKnowsTheRecordsOfTheServingModel(t *testing.T) {
	w := alone(t, 1)
	w.Produce(1000, 50, true)
	o := w.options(w.Client)
	o.FitRecords, o.Initial = 1000, fromFiles(t, o.Spec)
	r := w.run(o)
	w.caught(r)
	r.fitted(t, o.Metrics)
	w.Produce(400, 50, true)
	r.await(t, "no model was taken over", func(s Status) bool { return s.Partitions[0].Model == 2 })
	r.end(t)
	forgotten := map[string]bool{}
	for _, x := range w.Records(w.Topics.Model, 0) {
		if strings.HasPrefix(string(x.Key), "verdict/") {
			forgotten[string(x.Key)] = true
		}
	}
	for key := range forgotten {
		w.write(txn.Record{Topic: w.Topics.Model, Key: []byte(key)})
	}
	if len(forgotten) == 0 {
		t.Fatal("there is no verdict to forget: the test would say nothing")
	}
	o.Metrics = NewMetrics(prometheus.NewRegistry())
	r = w.run(o)
	w.caught(r)
	time.Sleep(10 * o.FitEvery)
	if n := observed(t, o.Metrics.FitTime); n > 0 {
		t.Errorf("a new trainer fits %d times the records that the serving model has seen", n)
	}
	w.Produce(1000, 50, true)
	r.fitted(t, o.Metrics)
	r.end(t)
}

// TestBytesGivenAtTheMomentOfCancellationAreReturned: a caller that gives up while it is served leaves nothing behind.
func TestBytesGivenAtTheMomentOfCancellationAreReturned(t *testing.T) {
	for range 50 {
		b := newBudget(10)
		if err := b.Acquire(context.Background(), 10); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan error)
		go func() { gone <- b.Acquire(ctx, 7) }()
		streamtest.Eventually(t, time.Second, "the second waits", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.waiting) == 1
		})
		b.mu.Lock()
		cancel() // it wakes up, and cannot look at the queue yet
		time.Sleep(2 * time.Millisecond)
		b.used -= 10
		b.admit()
		b.mu.Unlock()
		if err := <-gone; err == nil {
			b.Charge(-7) // it was served first
		}
		if n := b.inUse(); n != 0 {
			t.Fatalf("%d bytes are still in use", n)
		}
	}
}
