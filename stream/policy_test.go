package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

func counted(c prometheus.Counter) float64 {
	var m dto.Metric
	if c.Write(&m) != nil {
		return -1
	}
	return m.GetCounter().GetValue()
}

// admin sends the broker a request that the stage itself never makes.
func (w *world) admin(req kmsg.Request) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.brokers[0])
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err == nil {
		_, err = readFrame(conn)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) deleteEvents(partition int, before int64) {
	w.deleteRecords(w.topics.Events, partition, before)
}

func (w *world) deleteRecords(topic string, partition int, before int64) {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = int32(partition), before
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 1, 5000
	req.Topics = append(req.Topics, t)
	w.admin(req)
}

func (w *world) recreateEvents() {
	w.recreate(w.topics.Events)
	clear(w.next)
}

func (w *world) recreate(topic string) {
	specs := topics.Specs(w.topics, w.n, 1, 4<<20)
	spec := specs[slices.IndexFunc(specs, func(s txn.TopicSpec) bool { return s.Name == topic })]
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 3, 5000
	req.TopicNames = []string{topic}
	w.admin(req)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		made, err := w.client.CreateTopics(context.Background(), spec)
		if err == nil && made[0] {
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("creating the topic anew: %v", err)
		}
	}
	w.client.Close() // its producer has a past in the topic that is gone
	w.client = txn.NewClient(txn.Config{Brokers: w.brokers})
	w.t.Cleanup(w.client.Close)
}

// fails waits for the end of a stage and returns its error.
func (r *running) fails(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(within):
		t.Fatalf("the stage goes on: %+v", r.stage.Status())
		return nil
	}
}

func TestPoliciesOfLostInput(t *testing.T) {
	for _, c := range []struct {
		policy string
		change func(w *world)
	}{
		{"input_lost", func(w *world) { w.produce(100, 10, true); w.deleteEvents(0, 15) }},
		{"topic_recreated", func(w *world) { w.recreateEvents(); w.produce(50, 10, true) }},
	} {
		t.Run(c.policy, func(t *testing.T) {
			brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				w.produce(100, 10, true)
				r := w.run(w.options(w.client))
				w.caught(r)
				r.end(t)
				before := len(w.ids(0))
				c.change(w)
				o := w.options(w.client)
				o.InputLost, o.TopicRecreated = committed.Fail, committed.Fail
				var p *PolicyError
				if err := w.run(o).fails(t, 20*time.Second); !errors.As(err, &p) || p.Policy != c.policy ||
					!strings.Contains(err.Error(), "policy."+c.policy) {
					t.Fatalf("got %v", err)
				}
				if n := counted(o.Metrics.Policies.WithLabelValues(c.policy, "fail")); n != 1 {
					t.Errorf("counted %v times", n)
				}
				o = w.options(w.client)
				o.InputLost, o.TopicRecreated = committed.Rebuild, committed.Rebuild
				r = w.run(o)
				w.caught(r)
				r.end(t)
				if n := counted(o.Metrics.Policies.WithLabelValues(c.policy, "rebuild")); n < 1 {
					t.Errorf("the rebuild was counted %v times", n)
				}
				if got := len(w.ids(0)) - before; got != 50 {
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
	t.Run("events", func(t *testing.T) { addedPartitions(t, func(w *world) string { return w.topics.Events }) })
	t.Run("labels", func(t *testing.T) { addedPartitions(t, func(w *world) string { return w.topics.Labels }) })
}

func addedPartitions(t *testing.T, topic func(w *world) string) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 10, true)
		o := w.options(w.client)
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
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(2000, 50, true)
		r := w.run(w.options(w.client))
		w.caught(r)
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
		for _, topic := range []string{w.topics.State, w.topics.Model} {
			for _, key := range []string{"", "x", "journal/0", "journal/9999", "journal/x", "manifest/0", "manifest/7", "part/tail/0/0/9999999", "part/", "version/x", "version/0",
				"version/-3", "version/12", "model/12/0", "model/x/y"} {
				put(topic, key, []byte("\x01foreign"))
				put(topic, key, state.Seal([]byte{}, 1))
			}
		}
		put(w.topics.State, "manifest/1", hostile.Encode())
		put(w.topics.State, "part/x0/0/0", state.Seal(zeros, 1))
		put(w.topics.State, state.JournalKey(journal.Number), journal.Encode())
		put(w.topics.Model, "version/77", huge)
		put(w.topics.Model, "model/77/0", state.Seal(zeros, 1))
		put(w.topics.Model, "version/9223372036854775807", huge)
		if err := w.client.Produce(context.Background(), out, txn.None); err != nil {
			t.Fatal(err)
		}
		w.produce(2000, 50, true)
		o := w.options(w.client)
		r = w.run(o)
		w.caught(r)
		w.exactlyOnce()
		// It may be the second already when somebody looks.
		for deadline := time.Now().Add(2 * time.Minute); r.stage.Status().Model < 78; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no model is published over a foreign one: %+v", r.stage.Status())
			}
		}
		w.produce(100, 50, true)
		w.caught(r)
		r.end(t)
		if s := r.stage.Status(); s.Model > 78+int64(s.Fits) { // one may be published and not counted when the stage ends
			t.Errorf("model %d serves after %d fits", s.Model, s.Fits)
		}
		if n := counted(o.Metrics.Restores.WithLabelValues("damaged")); n != 1 {
			t.Errorf("%v restores from damaged states", n)
		}
		// What the stage has written since is its own again.
		o = w.options(w.client)
		r = w.run(o)
		w.caught(r)
		if n := counted(o.Metrics.Restores.WithLabelValues("snapshot")); n != 1 {
			t.Errorf("%v restores from a snapshot", n)
		}
		r.end(t)
	})
}

func TestRebalanceKeepsTheStatesThatStay(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.produce(500, 20, true)
		o := w.options(w.client)
		one := w.run(o)
		w.caught(one)
		two := w.run(w.options(w.client))
		for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if a, b := one.stage.Status(), two.stage.Status(); a.Ready && b.Ready && len(a.Partitions) == 1 &&
				len(b.Partitions) == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v\n%+v", one.stage.Status(), two.stage.Status())
			}
		}
		w.produce(500, 20, true)
		w.caught(one, two)
		if n := counted(o.Metrics.Restores.WithLabelValues("kept")); n != 1 {
			t.Errorf("%v states were kept, want 1", n)
		}
		two.end(t)
		one.end(t)
		w.exactlyOnce()
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems)+len(found[1].Problems) > 0 {
			t.Errorf("%v %+v", err, found)
		}
	})
}

func TestLabelsOfABacklogWaitForTheirRecords(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(3000, 50, false)
		w.labels(0, 1500)
		w.labels(1500, 1500)
		o := w.options(w.client)
		o.OnScores = slowly // several transactions before the end
		r := w.run(o)
		w.caught(r)
		for deadline := time.Now().Add(20 * time.Second); r.stage.Status().Partitions[0].Labelled != 3000; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%v of 3000 labels were learnt", r.stage.Status().Partitions[0].Labelled)
			}
		}
		r.end(t)
	})
}

// swallowing is a network that can lose everything that is sent.
type swallowing struct{ lost atomic.Bool }

func (s *swallowing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return swallowed{c, s}, err
}

type swallowed struct {
	net.Conn
	s *swallowing
}

func (c swallowed) Write(b []byte) (int, error) {
	if c.s.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestStopWithoutBrokersSaysWhatWasNotFlushed(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.produce(20_000, 20, true)
		s := &swallowing{}
		o := w.options(txn.NewClient(txn.Config{Brokers: w.brokers, Dial: s.dial}))
		o.OnScores, o.Grace = slowly, 4*time.Second
		r := w.run(o)
		r.until(t, 500)
		s.lost.Store(true)
		r.stop()
		began := time.Now()
		err := r.fails(t, 20*time.Second)
		if took := time.Since(began); took > o.Grace+time.Second { // no measure of speed: the promise is the grace period
			t.Errorf("it took %v to stop, the grace period is %v", took, o.Grace)
		}
		if err == nil || !strings.Contains(err.Error(), "partition 0 was not flushed beyond offset") ||
			!strings.Contains(err.Error(), "partition 1 was not flushed beyond offset") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSickBrokersAreWaitedForAndThenGivenUp(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(1000, 20, true)
		s := &swallowing{}
		o := w.options(txn.NewClient(txn.Config{Brokers: w.brokers, Dial: s.dial, Timeout: 500 * time.Millisecond}))
		o.Patience, o.Grace = 4*time.Second, 2*time.Second
		r := w.run(o)
		w.caught(r)
		s.lost.Store(true)
		waited := false
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if st := r.stage.Status(); !st.Ready && strings.Contains(strings.Join(st.Waiting, " "), "i/o timeout") ||
				strings.Contains(strings.Join(st.Waiting, " "), "without an answer") {
				waited = true
			}
			select {
			case err := <-r.done:
				if err == nil || !strings.Contains(err.Error(), "giving up after 4s") {
					t.Errorf("got %v", err)
				}
				if !waited {
					t.Error("it never said what it waits for")
				}
				return
			default:
			}
			if time.Now().After(deadline) {
				t.Fatalf("it waits for ever: %+v", r.stage.Status())
			}
		}
	})
}

func TestScoresThatDoNotFitTheirTopicStopTheStageByName(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		small := topics.Specs(w.topics, 1, 1, 4<<20)[1]
		small.Name, small.Configs = w.name+"-small", map[string]string{"max.message.bytes": "2000"}
		if _, err := w.client.CreateTopics(context.Background(), small); err != nil {
			t.Fatal(err)
		}
		w.produce(100, 50, true)
		o := w.options(w.client)
		o.Topics.Scores = small.Name
		if err := w.run(o).fails(t, 20*time.Second); txn.KindOf(err) != txn.TooLarge ||
			!strings.Contains(err.Error(), small.Name) {
			t.Errorf("got %v", err)
		}
		w.produce(100, 50, true)
		r := w.run(w.options(w.client)) // a topic that takes them: nothing was passed over
		w.caught(r)
		w.exactlyOnce()
		r.end(t)
	})
}

// Labels that wait for their records must leave room for these.
func TestWaitingLabelsDoNotKeepTheirRecordsOut(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		for i := range 60 { // several answers
			if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Events, Value: w.message(0, 50*i, 50, false), Time: time.UnixMilli(1_700_000_000_000 + int64(50*i)),
				Headers: []txn.Header{{Key: "padding", Value: make([]byte, 20<<10)}}}}, txn.None); err != nil {
				t.Fatal(err)
			}
		}
		w.next[0] = 3000
		for i := range 3 { // small in the topic, and larger than all that may be in flight in memory
			w.labels(1000*i, 1000, txn.Header{Key: "padding", Value: make([]byte, 2<<20)})
		}
		o := w.options(w.client)
		o.InFlight, o.OnScores = 1<<20, slowly
		r := w.run(o)
		for deadline := time.Now().Add(60 * time.Second); len(r.stage.Status().Partitions) == 0 || r.stage.Status().Partitions[0].Labelled != 3000; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it waits for ever: %+v", r.stage.Status())
			}
		}
		w.caught(r)
		r.end(t)
		w.exactlyOnce()
		if n := r.stage.budget.inUse(); n != 0 {
			t.Errorf("%d bytes are still paid for", n)
		}
	})
}

// deaf is a network that can refuse to carry fetches.
type deaf struct{ on atomic.Bool }

func (d *deaf) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return deafened{c, d}, err
}

type deafened struct {
	net.Conn
	d *deaf
}

func (c deafened) Write(b []byte) (int, error) {
	if c.d.on.Load() && len(b) > 6 && b[4] == 0 && b[5] == 1 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// Troubles far apart are not one that lasts, though nothing is there to be committed in between.
func TestPatienceBeginsAnewForAnIdlePartition(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 20, true)
		d := &deaf{}
		c := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: d.dial})
		defer c.Close()
		o := w.options(c)
		o.Patience = 3 * time.Second
		r := w.run(o)
		w.caught(r)
		await := func(ready bool) {
			t.Helper()
			for deadline := time.Now().Add(30 * time.Second); r.stage.Status().Ready != ready; time.Sleep(5 * time.Millisecond) {
				select {
				case err := <-r.done:
					t.Fatal(err)
				default:
				}
				if time.Now().After(deadline) {
					t.Fatalf("%+v", r.stage.Status())
				}
			}
		}
		for range 2 {
			d.on.Store(true)
			await(false)
			d.on.Store(false)
			await(true)
			time.Sleep(o.Patience + time.Second)
		}
		r.end(t)
	})
}

// What a generation leaves undone is known to the next one: dead letters that are there already, and labels that wait.
func TestRebalanceKeepsWhatIsNotDoneYet(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		w.produce(1500, 50, false)
		if err := w.client.Produce(ctx, []txn.Record{{Topic: w.topics.Events, Value: []byte("no event")}}, txn.None); err != nil {
			t.Fatal(err)
		}
		w.produce(1500, 50, false)
		w.labels(0, 3000)
		o := w.options(w.client)
		o.Commit = 500 * time.Millisecond
		var torn, disturbed atomic.Bool
		var other atomic.Pointer[running]
		o.OnScores = func(int32, *model.Batch, *model.Scores, *model.Levels) {
			switch {
			case !torn.Load():
			case disturbed.CompareAndSwap(false, true):
				other.Store(w.run(w.options(w.client)))
				for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					if d, err := w.client.DescribeGroup(ctx, w.name); err == nil && d.State == "PreparingRebalance" {
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
			dead := slices.DeleteFunc(slices.Clone(x.Records), func(r txn.Record) bool { return r.Topic != w.topics.Dead })
			if len(dead) == 0 || torn.Load() {
				return p.Commit(ctx, x)
			}
			torn.Store(true)
			if err := p.Commit(ctx, txn.Transaction{Records: dead}); err != nil {
				return err
			}
			return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Reason: "by the test", Err: errors.New("torn")}
		}
		r.begin()
		for deadline := time.Now().Add(40 * time.Second); other.Load() == nil || r.stage.Status().Partitions[0].Offset < 61; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", r.stage.Status())
			}
		}
		time.Sleep(2 * o.Commit) // the labels follow
		if n := counted(o.Metrics.Restores.WithLabelValues("kept")); n != 1 {
			t.Errorf("the state was kept %v times", n)
		}
		if l := r.stage.Status().Partitions[0].Labelled; l != 3000 {
			t.Errorf("%v of 3000 labels were learnt", l)
		}
		r.end(t)
		other.Load().end(t)
		w.exactlyOnce()
		if l := w.letters(); len(l) != 1 || l[w.topics.Events+" 30"] != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}

// A state topic that was made anew has not lost the state in silence.
func TestStateTopicMadeAnewIsAPolicy(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(500, 10, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		r.end(t)
		w.recreate(w.topics.State)
		w.produce(500, 10, true)
		var p *PolicyError
		if err := w.run(w.options(w.client)).fails(t, 20*time.Second); !errors.As(err, &p) || p.Policy != "topic_recreated" {
			t.Fatalf("got %v", err)
		}
		o := w.options(w.client)
		o.TopicRecreated = committed.Rebuild
		r = w.run(o)
		w.caught(r)
		r.end(t)
		if n := counted(o.Metrics.Policies.WithLabelValues("topic_recreated", "rebuild")); n != 1 {
			t.Errorf("counted %v times", n)
		}
		w.exactlyOnce() // what was scored before is learnt only
	})
}

func TestStopTellsItsCauseBesideWhatWasNotFlushed(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.produce(20_000, 20, true)
		o := w.options(w.client)
		o.OnScores = slowly
		r := w.prepared(o)
		inside := make(chan struct{}) // partition 1 is in a transaction that will fail once the stage stops
		var once sync.Once
		send := r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			scored := slices.ContainsFunc(x.Records, func(r txn.Record) bool { return r.Topic == w.topics.Scores })
			switch {
			case !scored:
			case strings.HasSuffix(p.ID(), "-0"):
				<-inside
				return &txn.Error{Op: "Produce", Kind: txn.Denied, Err: errors.New("the cause")}
			default:
				once.Do(func() { close(inside) })
				for deadline := time.Now().Add(20 * time.Second); !r.stage.stopping() && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("by the test")}
			}
			return send(ctx, p, x)
		}
		r.begin()
		err := r.fails(t, 30*time.Second)
		if txn.KindOf(err) != txn.Denied || !strings.Contains(err.Error(), "the cause") ||
			!strings.Contains(err.Error(), "partition 1 was not flushed beyond offset") {
			t.Errorf("got %v", err)
		}
	})
}

// without is a network that can refuse to carry fetches of a topic.
type without struct {
	topic string
	on    atomic.Bool
}

func (w *without) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return lacking{c, w}, err
}

type lacking struct {
	net.Conn
	w *without
}

func (c lacking) Write(b []byte) (int, error) {
	if c.w.on.Load() && len(b) > 6 && b[4] == 0 && b[5] == 1 && bytes.Contains(b, []byte(c.w.topic)) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// A partition that waits for models which cannot be read says so, and does not wait for ever.
func TestModelsThatCannotBeReadAreWaitedForAndThenGivenUp(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 20, true)
		d := &without{topic: w.topics.Model}
		c := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: d.dial})
		defer c.Close()
		o := w.options(c)
		o.Patience, o.FitEvery = 3*time.Second, time.Hour
		r := w.prepared(o)
		var fail atomic.Bool
		send := r.stage.commit
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if fail.CompareAndSwap(true, false) {
				return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("by the test")}
			}
			return send(ctx, p, x)
		}
		r.begin()
		w.caught(r)
		d.on.Store(true)
		time.Sleep(1200 * time.Millisecond) // what is under way is answered
		if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Model, Key: []byte("no model"), Value: []byte("x")}}, txn.None); err != nil {
			t.Fatal(err)
		}
		fail.Store(true)
		w.produce(100, 20, true)
		if err := r.fails(t, 30*time.Second); err == nil || !strings.Contains(err.Error(), "giving up after 3s") ||
			!strings.Contains(err.Error(), "model topic") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAReplayByTheJournalFetchesOnce(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.client)
		o.FitRecords, o.Snapshot, o.Commit = 1<<40, time.Hour, time.Millisecond
		w.produce(100, 10, true)
		r := w.run(o)
		w.caught(r) // its only snapshot is behind it
		const rounds = 80
		for i := range rounds {
			w.produce(10, 10, false)
			w.caught(r)
			w.labels(100+10*i, 10)
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
		<-r.done

		s := newStrikes(1, func() {})
		o = w.options(txn.NewClient(txn.Config{Brokers: w.brokers, Dial: s.dial}))
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
