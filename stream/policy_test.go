package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func TestPoliciesOfLostInput(t *testing.T) {
	for _, c := range []struct {
		policy string
		change func(w *world)
	}{
		{"input_lost", func(w *world) { w.Produce(100, 10, true); w.deleteEvents(0, 15) }},
		{"topic_recreated", func(w *world) { w.recreateEvents(); w.Produce(50, 10, true) }},
	} {
		t.Run(c.policy, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.Produce(100, 10, true)
				r := w.run(w.options(w.Client))
				w.caught(r)
				r.end(t)
				before := len(w.IDs(0))
				c.change(w)
				o := w.options(w.Client)
				o.InputLost, o.TopicRecreated = committed.Fail, committed.Fail
				w.run(o).refuses(t, c.policy)
				if n := counted(o.Metrics.Policies.WithLabelValues(c.policy, "fail")); n != 1 {
					t.Errorf("counted %v times", n)
				}
				o = w.options(w.Client)
				o.InputLost, o.TopicRecreated = committed.Rebuild, committed.Rebuild
				r = w.run(o)
				w.caught(r)
				r.end(t)
				if n := counted(o.Metrics.Policies.WithLabelValues(c.policy, "rebuild")); n < 1 {
					t.Errorf("the rebuild was counted %v times", n)
				}
				if got := len(w.IDs(0)) - before; got != 50 {
					t.Errorf("%d records scored after the change, want 50", got)
				}
				found, err := verified(context.Background(), o)
				if err != nil || len(found[0].Problems) > 0 || found[0].Records != 50 || found[0].States == 0 ||
					found[0].Start != "the beginning" {
					t.Errorf("%v %+v", err, found)
				}
			})
		})
	}
}

func TestAddedPartitionsStopTheStage(t *testing.T) {
	t.Run("events", func(t *testing.T) { addedPartitions(t, func(w *world) string { return w.Topics.Events }) })
	t.Run("labels", func(t *testing.T) { addedPartitions(t, func(w *world) string { return w.Topics.Labels }) })
}

func addedPartitions(t *testing.T, topic func(w *world) string) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 10, true)
		o := w.options(w.Client)
		o.Patience = 6 * time.Second
		r := w.run(o)
		w.caught(r)
		part := kmsg.NewCreatePartitionsRequestTopic()
		part.Topic, part.Count = topic(w), 2
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.TimeoutMillis = 1, 5000
		req.Topics = append(req.Topics, part)
		w.admin(req)
		if err := r.fails(t, 20*time.Second); err == nil || !strings.Contains(err.Error(), "had 1 partitions and has 2 now") {
			t.Errorf("got %v", err)
		}
	})
}

func compressed(t *testing.T, raw []byte) []byte {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(raw, nil)
}

func TestForeignValuesInStateAndModelTopicsDoNoHarm(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(2000, 50, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.published(r, 1) // so that the next one is compared with a serving one
		r.end(t)
		huge := state.Seal(
			(&state.Blob{Chunks: 4000, Packed: 1 << 30, Length: 1 << 30}).AppendBinary(wire.AppendUvarint(nil, 77)),
			1,
		)
		zeros := compressed(t, make([]byte, 64<<20))
		hostile := &state.Manifest{Number: state.MaxNumber - 1, Fingerprint: 9, Journal: 1 << 60}
		for i := range 3000 {
			hostile.Sections = append(
				hostile.Sections,
				state.Stored{Name: fmt.Sprint("x", i), Blob: state.Blob{Chunks: 1, Packed: len(zeros), Length: 64 << 20}},
			)
		}
		journal := state.JournalEntry{
			Number:   1 << 60,
			Position: state.Position{Events: 1 << 60, Labels: 1 << 60, Model: 1 << 60},
		}
		var out []txn.Record
		put := func(topic, key string, value []byte) {
			out = append(out, txn.Record{Topic: topic, Key: []byte(key), Value: value})
		}
		for _, topic := range []string{w.Topics.State, w.Topics.Model} {
			for _, key := range []string{"", "x", "journal/0", "journal/9999", "journal/x", "manifest/0", "manifest/7",
				"part/tail/0/0/9999999", "part/", "version/x", "version/0",
				"version/-3", "version/12", "model/12/0", "model/x/y"} {
				put(topic, key, []byte("\x01foreign"))
				put(topic, key, state.Seal([]byte{}, 1))
			}
		}
		put(w.Topics.State, "manifest/1", hostile.Encode())
		put(w.Topics.State, "part/x0/0/0", state.Seal(zeros, 1))
		put(w.Topics.State, state.JournalKey(journal.Number), journal.Encode())
		put(w.Topics.Model, "version/77", huge)
		put(w.Topics.Model, "model/77/0", state.Seal(zeros, 1))
		put(w.Topics.Model, "version/9223372036854775807", huge)
		if err := w.Client.Produce(context.Background(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		w.Produce(2000, 50, true)
		o := w.options(w.Client)
		r = w.run(o)
		w.caught(r)
		w.ExactlyOnce()
		w.published(r, 78) // over a foreign one; it may be the second already when somebody looks
		w.Produce(100, 50, true)
		w.caught(r)
		r.end(t)
		if s := r.stage.Status(); s.Model > 78+int64(s.Fits) { // one may be published and not counted when the stage ends
			t.Errorf("model %d serves after %d fits", s.Model, s.Fits)
		}
		if n := counted(o.Metrics.Restores.WithLabelValues("damaged")); n != 1 {
			t.Errorf("%v restores from damaged states", n)
		}
		// The values written since are those of the stage again.
		o = w.options(w.Client)
		r = w.run(o)
		w.caught(r)
		if n := counted(o.Metrics.Restores.WithLabelValues("snapshot")); n != 1 {
			t.Errorf("%v restores from a snapshot", n)
		}
		r.end(t)
	})
}

func TestRebalanceKeepsTheStatesThatStay(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(500, 20, true)
		o := w.options(w.Client)
		one := w.run(o)
		w.caught(one)
		two := w.run(w.options(w.Client))
		share(t, 1, one, two)
		w.Produce(500, 20, true)
		w.caught(one, two)
		if n := counted(o.Metrics.Restores.WithLabelValues("kept")); n != 1 {
			t.Errorf("%v states were kept, want 1", n)
		}
		two.end(t)
		one.end(t)
		w.ExactlyOnce()
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems)+len(found[1].Problems) > 0 {
			t.Errorf("%v %+v", err, found)
		}
	})
}

func TestLabelsOfABacklogWaitForTheirRecords(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(3000, 50, false)
		w.SendLabels(0, 1500)
		w.SendLabels(1500, 1500)
		o := w.options(w.Client)
		o.OnScores = slowly // several transactions before the end
		r := w.run(o)
		w.caught(r)
		r.await(t, "the 3000 labels are not learnt", func(s Status) bool { return s.Partitions[0].Labelled == 3000 })
		r.end(t)
	})
}

// Labels that wait for their records must leave bytes for these.
func TestWaitingLabelsDoNotKeepTheirRecordsOut(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		for i := range 60 { // several answers
			if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events,
				Value: w.Message(0, 50*i, 50, false), Time: time.UnixMilli(1_700_000_000_000 + int64(50*i)),
				Headers: []txn.Header{{Key: "padding", Value: make([]byte, 20<<10)}}}}, txn.None); err != nil {
				t.Fatal(err)
			}
		}
		w.Next[0] = 3000
		for i := range 3 { // small in the topic, and larger in memory than the whole budget in flight
			w.SendLabels(1000*i, 1000, txn.Header{Key: "padding", Value: make([]byte, 2<<20)})
		}
		o := w.options(w.Client)
		o.InFlight, o.OnScores = 1<<20, slowly
		r := w.run(o)
		learnt(t, r, 3000)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		if n := r.stage.budget.inUse(); n != 0 {
			t.Errorf("%d bytes are still paid for", n)
		}
	})
}

// The next generation knows the open work of the one before: dead letters that are there already, waiting labels.
func TestRebalanceKeepsWhatIsNotDoneYet(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		w.Produce(1500, 50, false)
		w.Send(w.Topics.Events, "no event")
		w.Produce(1500, 50, false)
		w.SendLabels(0, 3000)
		o := w.options(w.Client)
		o.Commit = 500 * time.Millisecond
		var torn, disturbed atomic.Bool
		var other atomic.Pointer[running]
		o.OnScores = func(int32, *model.Batch, *model.Scores, *model.Levels) {
			takeovers := 0.
			for _, n := range byLabel(o.Metrics.Restores) {
				takeovers += n
			}
			switch {
			case takeovers < 2: // before the torn transaction, or in the attempt that it fails
			case disturbed.CompareAndSwap(false, true):
				other.Store(w.run(w.options(w.Client)))
				for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					if d, err := w.Client.ConsumerGroup(w.Name).Describe(ctx); err == nil && d.State == "PreparingRebalance" {
						break
					}
				}
				time.Sleep(1500 * time.Millisecond) // several signs of life
			default:
				time.Sleep(20 * time.Millisecond) // several transactions before the end
			}
		}
		r := w.prepared(o)
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if !writes(x, w.Topics.Dead) || torn.Load() {
				return p.Commit(ctx, x)
			}
			torn.Store(true)
			return tear(ctx, p, x, &w.Topics, inDead)
		}
		r.start()
		kept := o.Metrics.Restores.WithLabelValues("kept")
		r.await(t, "it does not go on", func(s Status) bool {
			return other.Load() != nil && counted(kept) > 0 && len(s.Partitions) == 1 && s.Partitions[0].Offset >= 61
		})
		learnt(t, r, 3000)
		if n := counted(kept); n != 1 {
			t.Errorf("the state was kept %v times", n)
		}
		r.end(t)
		other.Load().end(t)
		w.ExactlyOnce()
		if l := w.DeadLetters(); len(l) != 1 || l[w.Topics.Events+" 30"] != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}

// A state topic that was made anew has not lost the state in silence.
func TestStateTopicMadeAnewIsAPolicy(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(500, 10, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		w.recreate(w.Topics.State)
		w.Produce(500, 10, true)
		w.run(w.options(w.Client)).refuses(t, "topic_recreated")
		o := w.options(w.Client)
		o.TopicRecreated = committed.Rebuild
		r = w.run(o)
		w.caught(r)
		r.end(t)
		if n := counted(o.Metrics.Policies.WithLabelValues("topic_recreated", "rebuild")); n != 1 {
			t.Errorf("counted %v times", n)
		}
		w.ExactlyOnce() // records scored before are learnt only
	})
}

func TestAReplayByTheJournalFetchesOnce(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		o.FitRecords, o.Snapshot, o.Commit = 1<<40, time.Hour, time.Millisecond
		w.Produce(100, 10, true)
		r := w.run(o)
		w.caught(r) // its only snapshot is behind it
		const rounds = 80
		for i := range rounds {
			w.Produce(10, 10, false)
			w.caught(r)
			w.SendLabels(100+10*i, 10)
			learnt(t, r, float64(110+10*i))
		}
		entries := len(journalOf(t, w))
		if entries < rounds {
			t.Fatalf("%d journal records", entries)
		}
		r.stage.commit = func(context.Context, *txn.Producer, txn.Transaction) error {
			return &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("dead")}
		}
		r.stop()
		<-r.ended

		s := newStrikes(1, func() {})
		o = w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: s.dial}))
		defer o.Client.Close()
		o.FitRecords = 1 << 40
		r = w.run(o)
		w.caught(r)
		learnt(t, r, 100+10*rounds)
		s.mu.Lock()
		n := s.seen[kmsg.Fetch]
		s.mu.Unlock()
		if n > rounds/2 {
			t.Errorf("%d fetches for %d journal records", n, entries)
		}
		r.end(t)
	})
}
