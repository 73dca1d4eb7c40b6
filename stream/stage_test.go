package stream

import (
	"context"
	"errors"
	"fmt"
	"liftstream/stream/committed"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/verify"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// world is a broker with the topics of one stage.
type world struct {
	t       testing.TB
	brokers []string
	topics  topics.Names
	client  *txn.Client
	n       int // partitions
	next    []int
	name    string
}

// brokers runs f on every broker that is there: always the embedded one, and a real one when LIFTSTREAM_KAFKA names it.
func brokers(t *testing.T, f func(t *testing.T, addr string)) {
	t.Run("embedded", func(t *testing.T) {
		b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		f(t, b.Addr())
	})
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("LIFTSTREAM_KAFKA")
		if addr == "" {
			t.Skip("NOT RUN ON A REAL KAFKA: set LIFTSTREAM_KAFKA to the address of one (deploy/kafka.sh starts it)")
		}
		f(t, addr)
	})
}

func newWorld(t testing.TB, addr string, partitions int) *world {
	t.Helper()
	return newWorldAt(t, txn.Config{Brokers: strings.Split(addr, ",")}, partitions)
}

// newWorldAt reaches its broker as cfg says. The topics have a replica at each of up to three addresses.
func newWorldAt(t testing.TB, cfg txn.Config, partitions int) *world {
	t.Helper()
	name := fmt.Sprintf("t%d", time.Now().UnixNano())
	w := &world{t: t, brokers: cfg.Brokers, n: partitions, next: make([]int, partitions), name: name, topics: topics.Names{
		Events: name + "-events", Scores: name + "-scores", Labels: name + "-labels", State: name + "-state", Model: name + "-model", Dead: name + "-dead",
	}}
	w.client = txn.NewClient(cfg)
	t.Cleanup(w.client.Close)
	if _, err := w.client.CreateTopics(context.Background(), topics.Specs(w.topics, partitions, min(len(cfg.Brokers), 3), 4<<20)...); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) codec() codec.Options {
	return codec.Options{Schema: sample.Schema, ID: "id", Label: "y"}
}

func (w *world) options(c *txn.Client) Options {
	return Options{
		Name: w.name, Spec: sample.Spec(), Codec: w.codec(), Client: c, Topics: w.topics, Commit: 20 * time.Millisecond,
		Snapshot: 300 * time.Millisecond, SnapshotRate: 8 << 20, InFlight: 8 << 20, Grace: 10 * time.Second, Session: 6 * time.Second,
		FitEvery: 200 * time.Millisecond, FitRecords: 1000, FitBudget: 10 * time.Second, Policies: committed.Policies{SchemaChanged: committed.Rebuild},
		Log: zaptest.NewLogger(
			w.t,
			zaptest.Level(zap.WarnLevel),
		), Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now,
	}
}

// message encodes records [from, from+n) of a partition; labelled says whether they carry their class.
func (w *world) message(partition, from, n int, labelled bool) []byte {
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64},
			{Name: "c", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String, Nullable: true},
			{Name: "extra", Type: arrow.PrimitiveTypes.Float64}},
		nil,
	)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	x := sample.Records(partition*1_000_000+from, n)
	for i := range n {
		b.Field(4).(*array.Float64Builder).Append(float64(i % 7)) // a column that most configurations ignore
		b.Field(0).(*array.StringBuilder).Append(recordID(partition, from+i))
		b.Field(1).(*array.Float64Builder).Append(x.Columns[0].Float[i])
		b.Field(2).(*array.StringBuilder).Append(x.Columns[1].Levels[x.Columns[1].Code[i]])
		if labelled {
			b.Field(3).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		} else {
			b.Field(3).AppendNull()
		}
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func recordID(partition, i int) string { return fmt.Sprintf("p%d-%06d", partition, i) }

// produce sends the next n records to every partition, rows a message.
func (w *world) produce(n, rows int, labelled bool) {
	w.t.Helper()
	for p := range w.n {
		var out []txn.Record
		for i := 0; i < n; i += rows {
			k := min(rows, n-i)
			out = append(
				out,
				txn.Record{
					Topic:     w.topics.Events,
					Partition: p,
					Key:       []byte(fmt.Sprint("key", p)),
					Value:     w.message(p, w.next[p], k, labelled),
					Time: time.UnixMilli(
						1_700_000_000_000 + int64(w.next[p]),
					),
					Headers: []txn.Header{{Key: "trace", Value: []byte("7")}},
				},
			)
			w.next[p] += k
		}
		if err := w.client.Produce(context.Background(), out, txn.Lz4); err != nil {
			w.t.Fatal(err)
		}
	}
}

// patiently repeats what only reads while leaders move or are missing.
func (w *world) patiently(f func() error) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if k := txn.KindOf(err); k != txn.Environment && k != txn.Unknown || time.Now().After(deadline) {
			w.t.Fatal(err)
		}
	}
}

// bounds are the first offset and the last stable one of a partition.
func (w *world) bounds(topic string, partition int) (start, end int64) {
	w.t.Helper()
	w.patiently(func() (err error) {
		start, end, err = w.client.Bounds(context.Background(), topic, partition)
		return err
	})
	return start, end
}

// records reads a partition of a topic, read committed, to its end.
func (w *world) records(topic string, partition int) (out []txn.Record) {
	w.t.Helper()
	ctx := context.Background()
	var at, end int64
	for high := int64(-1); high != end; time.Sleep(5 * time.Millisecond) { // a broker writes a transaction's markers after it has answered
		w.patiently(func() error {
			h, err := w.client.ListOffsets(ctx, topic, []int{partition}, txn.HighWatermark)
			high = h[partition]
			return err
		})
		at, end = w.bounds(topic, partition)
	}
	for at < end {
		w.patiently(func() error {
			f, err := w.client.Fetch(ctx, topic, partition, at, 4<<20, time.Second)
			if err == nil {
				out, at = append(out, f.Records...), f.Next
			}
			return err
		})
	}
	return out
}

// ids returns the ids of the scores of a partition, in the order of the topic.
func (w *world) ids(partition int) (ids []string) {
	w.t.Helper()
	for _, r := range w.records(w.topics.Scores, partition) {
		for tab, err := range codec.Tables(r.Value, 0) {
			if err != nil {
				w.t.Fatal(err)
			}
			c := tab.Column("id")
			for i := range tab.Rows() {
				id, _ := tab.Text(c, i)
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// exactlyOnce compares the scores with what was produced.
func (w *world) exactlyOnce() {
	w.t.Helper()
	for p := range w.n {
		got := w.ids(p)
		for i := range max(len(got), w.next[p]) {
			if i >= len(got) || i >= w.next[p] || got[i] != recordID(p, i) {
				at := "(end)"
				if i < len(got) {
					at = got[i]
				}
				w.t.Fatalf(
					"partition %d: score %d is %s, want %s; %d scores of %d records",
					p,
					i,
					at,
					recordID(p, i),
					len(got),
					w.next[p],
				)
			}
		}
	}
}

// running is a stage in the background.
type running struct {
	stage *Stage
	begin func()
	stop  context.CancelFunc
	done  chan error
}

func (w *world) run(o Options) *running {
	r := w.prepared(o)
	r.begin()
	return r
}

// prepared is a stage that does not run yet.
func (w *world) prepared(o Options) *running {
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	r := &running{stage: New(o), stop: cancel, done: make(chan error, 1)}
	r.begin = func() { go func() { r.done <- r.stage.Run(ctx) }() }
	return r
}

// caught waits until the stages together have committed everything that was produced.
func (w *world) caught(rs ...*running) {
	w.t.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	for time.Now().Before(deadline) {
		n := 0
		for p := range w.n {
			_, end := w.bounds(w.topics.Events, p)
			for _, r := range rs {
				for _, s := range r.stage.Status().Partitions {
					if int(s.Partition) == p && s.Offset >= end {
						n++
					}
				}
			}
		}
		if n >= w.n {
			return
		}
		for _, r := range rs {
			select {
			case err := <-r.done:
				w.t.Fatalf("stage ended: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for _, r := range rs {
		w.t.Errorf("%+v", r.stage.Status())
	}
	w.t.Fatal("not caught up in time")
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			t.Fatalf("stopping: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("did not stop")
	}
}

func TestEachRecordIsScoredOnceAndInOrder(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 3)
		w.produce(3000, 100, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		w.exactlyOnce()
		for p := range w.n {
			in, out := w.records(w.topics.Events, p), w.records(w.topics.Scores, p)
			for i := range in {
				if string(in[i].Key) != string(out[i].Key) || !in[i].Time.Equal(out[i].Time) {
					t.Fatalf(
						"partition %d message %d: key %q time %v became key %q time %v",
						p,
						i,
						in[i].Key,
						in[i].Time,
						out[i].Key,
						out[i].Time,
					)
				}
				if h := out[i].Headers[0]; h.Key != "trace" || string(h.Value) != "7" {
					t.Fatalf("header of the event is not on its score: %v", out[i].Headers)
				}
			}
		}
		r.end(t)
	})
}

func TestStateAndModelsCarryTheTimeOfTheClock(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	w.produce(2000, 100, true)
	o := w.options(w.client)
	o.Now = func() time.Time { return time.Now().Add(-1000 * time.Hour) }
	r := w.run(o)
	w.caught(r)
	for deadline := time.Now().Add(20 * time.Second); r.stage.Status().Model == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no model was published")
		}
	}
	r.end(t)
	for _, topic := range []string{w.topics.State, w.topics.Model} {
		all := w.records(topic, 0)
		if len(all) == 0 {
			t.Errorf("%s is empty", topic)
		}
		for _, x := range all {
			if age := o.Now().Sub(x.Time); age < 0 || age > time.Hour {
				t.Errorf("%s: %s has the time %v", topic, x.Key, x.Time)
			}
		}
	}
}

func TestStopInTheMiddleAndStartAgain(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.produce(20_000, 50, true)
		for range 3 {
			o := w.options(w.client)
			o.OnScores = slowly
			r := w.run(o)
			r.until(t, 1500) // of 20,000 a partition
			r.end(t)
		}
		r := w.run(w.options(w.client))
		w.caught(r)
		w.exactlyOnce()
		r.end(t)
	})
}

// slowly keeps a stage from being done before it is disturbed.
func slowly(int32, *model.Batch, *model.Scores, *model.Levels) { time.Sleep(2 * time.Millisecond) }

// until waits until the stage has scored that many records.
func (r *running) until(t *testing.T, records uint64) {
	t.Helper()
	for {
		var n uint64
		for _, p := range r.stage.Status().Partitions {
			n += p.Scored
		}
		if n >= records {
			return
		}
		select {
		case err := <-r.done:
			t.Fatalf("stage ended after %d records: %v", n, err)
		case <-time.After(time.Millisecond):
		}
	}
}

// mortal is a network whose process can die: all connections break at once and none can be opened.
type mortal struct {
	mu    sync.Mutex
	conns []net.Conn
	dead  atomic.Bool
}

func (m *mortal) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if m.dead.Load() {
		return nil, errors.New("dead")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		m.mu.Lock()
		m.conns = append(m.conns, c)
		m.mu.Unlock()
	}
	return c, err
}

func (m *mortal) die() {
	m.dead.Store(true)
	m.cut()
}

// cut ends the connections; new ones can be opened.
func (m *mortal) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		_ = c.Close()
	}
}

func TestSuddenDeathLosesAndDoublesNothing(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		for i := range uint64(5) {
			w.produce(1500, 30, true)
			m := &mortal{}
			c := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: m.dial, Timeout: 2 * time.Second, ClientID: w.name})
			o := w.options(c)
			o.Grace, o.OnScores, o.Instance = time.Second, slowly, w.name
			r := w.run(o)
			// Death comes a while after it began to work: the position is the seed's, not the clock's.
			r.until(t, 100+model.Hash(i, 1)%2000)
			m.die()
			r.stop()
			c.Close()
		}
		o := w.options(w.client)
		o.Instance = w.name
		r := w.run(o)
		w.caught(r)
		w.exactlyOnce()
		for deadline := time.Now().Add(20 * time.Second); r.stage.Status().Model == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no model was published in the whole run")
			}
		}
		r.end(t)
	})
}

func TestStateAfterRestartIsTheOneOfAnUninterruptedRun(t *testing.T) {
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	o := w.options(w.client)
	o.FitEvery = time.Hour // one model at the first chance, none later
	for range 3 {
		w.produce(3000, 40, true)
		m := &mortal{}
		c := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: m.dial, Timeout: 2 * time.Second, ClientID: w.name})
		o := o
		o.Client, o.Grace, o.Instance = c, time.Second, w.name
		r := w.run(o)
		w.caught(r)
		m.die()
		r.stop()
	}
	o.Instance = w.name
	r := w.run(o)
	w.caught(r)
	// A model that was fitted in this run waits for records that it has not learnt.
	for range 100 {
		if r.stage.Status().Partitions[0].Model > 0 {
			break
		}
		w.produce(200, 40, true)
		w.caught(r)
		time.Sleep(300 * time.Millisecond) // a snapshot
	}
	if r.stage.Status().Partitions[0].Model == 0 {
		t.Fatal("no model was taken over")
	}
	r.end(t)
	log := state.NewLog()
	if err := log.Follow(context.Background(), w.client, w.topics.State, 0); err != nil {
		t.Fatal(err)
	}
	found, _ := log.Manifests()
	if len(found) == 0 {
		t.Fatal("no snapshot after a graceful stop")
	}
	got, err := log.Sections(found[0])
	if err != nil {
		t.Fatal(err)
	}
	// The reference: the same commands in one go, models where the journal has them.
	p := model.NewPartition(o.Spec, 0)
	dec, err := codec.NewDecoder(w.codec())
	if err != nil {
		t.Fatal(err)
	}
	models := state.NewModels(w.client, w.topics.Model, sample.Schema)
	for end := false; !end; {
		if end, err = models.Advance(context.Background(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	swaps := journalOf(t, w)
	swap := func(before int64) { // those that come before the event with that offset
		for len(swaps) > 0 && before >= swaps[0].Events {
			if swaps[0].Model != p.ModelVersion() {
				m, err := models.Get(swaps[0].Model)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Swap(m); err != nil {
					t.Fatal(err)
				}
			}
			swaps = swaps[1:]
		}
	}
	var batch model.Batch
	var s model.Scores
	for _, rec := range w.records(w.topics.Events, 0) {
		swap(rec.Offset)
		if _, err := dec.Decode(&codec.Message{Value: rec.Value, Offset: rec.Offset, Time: rec.Time.UnixNano(), Now: rec.Time.UnixNano()}, &batch, nil); err != nil {
			t.Fatal(err)
		}
		p.Events(&batch, &s)
	}
	swap(1 << 60)
	if p.ModelVersion() == 0 {
		t.Error("no model was swapped in: the journal was not put to use")
	}
	want := p.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if string(want[name]) != string(got[name]) {
			t.Errorf("section %s differs: %d and %d bytes", name, len(want[name]), len(got[name]))
		}
	}
}

// journalOf returns every journal record that was ever written, compacted or not.
func journalOf(t *testing.T, w *world) (out []state.JournalEntry) {
	t.Helper()
	for _, r := range w.records(w.topics.State, 0) {
		if len(r.Key) > 8 && string(r.Key[:8]) == "journal/" {
			e, err := state.DecodeJournal(r.Value, state.Format)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

func TestBadMessagesGoToDeadLettersAndTheStageGoesOn(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(100, 50, true)
		good := w.message(0, 0, 10, true)
		bad := []txn.Record{
			{Topic: w.topics.Events, Key: []byte("k"), Value: []byte("not arrow at all")},
			{Topic: w.topics.Events, Value: good[:len(good)/2]},
			{Topic: w.topics.Events, Value: nil},
		}
		if err := w.client.Produce(context.Background(), bad, txn.None); err != nil {
			t.Fatal(err)
		}
		w.produce(100, 50, true)
		r := w.run(w.options(w.client))
		w.caught(r)
		w.exactlyOnce()
		dead := w.records(w.topics.Dead, 0)
		if len(dead) != len(bad) {
			t.Fatalf("%d dead letters of %d bad messages", len(dead), len(bad))
		}
		for i, d := range dead {
			h := map[string]string{}
			for _, x := range d.Headers {
				h[x.Key] = string(x.Value)
			}
			if string(d.Value) != string(bad[i].Value) || h["reason"] == "" || h["topic"] != w.topics.Events ||
				h["offset"] != fmt.Sprint(2+i) ||
				h["partition"] != "0" ||
				h["error"] == "" ||
				h["first_seen"] == "" ||
				h["stage"] != "events" {
				t.Errorf("dead letter %d: %v", i, h)
			}
		}
		r.end(t)
	})
}

func TestLateLabelsAreLearntAndSurviveARestart(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.produce(500, 100, true)
		w.produce(500, 100, false)
		r := w.run(w.options(w.client))
		w.caught(r)
		s := arrow.NewSchema(
			[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}},
			nil,
		)
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		x := sample.Records(0, 1000)
		for i := 500; i < 1000; i++ {
			b.Field(0).(*array.StringBuilder).Append(recordID(0, i))
			b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		}
		v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Labels, Value: v}}, txn.None); err != nil {
			t.Fatal(err)
		}
		learnt := func(r *running, want float64) {
			t.Helper()
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				st := r.stage.Status()
				if len(st.Partitions) == 1 && st.Partitions[0].Labelled == want {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%+v, want %v labelled", st, want)
				}
			}
		}
		learnt(r, 1000)
		r.end(t)
		r = w.run(w.options(w.client))
		w.caught(r)
		learnt(r, 1000)
		r.end(t)
	})
}

func TestTwoMembersShareThePartitions(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 4)
		w.produce(1000, 20, true)
		one := w.run(w.options(w.client))
		w.caught(one)
		two := w.run(w.options(w.client))
		for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			a, b := one.stage.Status(), two.stage.Status()
			if a.Ready && b.Ready && len(a.Partitions) == 2 && len(b.Partitions) == 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v\n%+v", a, b)
			}
		}
		w.produce(1000, 20, true)
		w.caught(one, two)
		one.end(t)
		w.produce(1000, 20, true)
		w.caught(two)
		w.exactlyOnce()
		two.end(t)
	})
}

func TestPoliciesStopWithAClearSentence(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	w.produce(100, 10, true)
	r := w.run(w.options(w.client))
	w.caught(r)
	r.end(t)
	o := w.options(w.client)
	spec := *o.Spec
	spec.Options.Fingerprint++
	o.Spec, o.SchemaChanged = &spec, committed.Fail
	r = w.run(o)
	var p *PolicyError
	select {
	case err := <-r.done:
		if !errors.As(err, &p) || p.Policy != "schema_changed" {
			t.Errorf("another configuration: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a changed configuration did not stop the stage")
	}
	o.SchemaChanged = committed.Rebuild
	w.produce(100, 10, true)
	r = w.run(o)
	w.caught(r)
	w.exactlyOnce()
	if st := r.stage.Status().Partitions[0]; st.Labelled != 200 {
		t.Errorf("rebuilt state learnt %v of 200 records", st.Labelled)
	}
	r.end(t)
	found, err := verified(context.Background(), o)
	if err != nil || len(found[0].Problems) > 0 || found[0].Records != 100 || found[0].States == 0 ||
		found[0].Start != "the beginning" {
		t.Errorf("%v %+v", err, found)
	}
}

func TestVerifyFindsNothingAfterDeathsAndFindsWhatWasChanged(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		for i := range uint64(3) {
			w.produce(1200, 30, i == 0)
			if i > 0 {
				w.labels(1200*int(i), 1000)
			}
			m := &mortal{}
			c := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: m.dial, Timeout: 2 * time.Second, ClientID: w.name})
			o := w.options(c)
			o.Grace, o.OnScores, o.Instance, o.FitRecords = time.Second, slowly, w.name, 300
			r := w.run(o)
			r.until(t, 600+model.Hash(i, 7)%1500)
			m.die()
			r.stop()
			<-r.done
			c.Close()
		}
		o := w.options(w.client)
		o.Instance = w.name
		r := w.run(o)
		w.caught(r)
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			p := r.stage.Status().Partitions
			if p[0].Model > 0 && p[1].Model > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no model was taken over: %+v", r.stage.Status())
			}
		}
		r.end(t)
		w.exactlyOnce()
		found, err := verified(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			t.Logf("%+v", v)
			if len(v.Problems) > 0 || v.Records != 3600 || v.States < 2 || v.Swaps == 0 || v.Labels == 0 {
				t.Errorf("%+v", v)
			}
		}
		forged := w.records(w.topics.Scores, 0)[0]
		if err := w.client.Produce(context.Background(), []txn.Record{forged}, txn.None); err != nil {
			t.Fatal(err)
		}
		if found, err = verified(context.Background(), o); err != nil || len(found[0].Problems) != 1 ||
			len(found[1].Problems) != 0 {
			t.Errorf("a score was repeated: %v %+v", err, found)
		}
		spec := *o.Spec
		spec.Options.Warmup++ // another way to begin: nothing fits any more
		o.Spec = &spec
		if found, err = verified(context.Background(), o); err != nil || len(found[1].Problems) == 0 {
			t.Errorf("replayed under another configuration: %v %+v", err, found)
		}
	})
}

// verified replays the topics of a stage and compares.
func verified(ctx context.Context, o Options) ([]verify.Verdict, error) {
	return verify.Verify(
		ctx,
		verify.Options{Name: o.Name, Spec: o.Spec, Codec: o.Codec, Client: o.Client, Topics: o.Topics},
	)
}

// labels sends the classes of records [from, from+n) of every partition.
func (w *world) labels(from, n int, headers ...txn.Header) {
	w.t.Helper()
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}},
		nil,
	)
	for p := range w.n {
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		x := sample.Records(p*1_000_000+from, n)
		for i := range n {
			b.Field(0).(*array.StringBuilder).Append(recordID(p, from+i))
			b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		}
		v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
		b.Release()
		if err != nil {
			w.t.Fatal(err)
		}
		at := time.UnixMilli(1_700_000_000_000 + int64(from+n))
		if err := w.client.Produce(context.Background(), []txn.Record{{Topic: w.topics.Labels, Partition: p, Value: v, Time: at, Headers: headers}}, txn.Lz4); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestAbortedRecordsStayHiddenHoweverSmallTheAnswers(t *testing.T) {
	brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		send := func(c *txn.Client, from int) error {
			p, err := c.NewProducer(ctx, w.name, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			return p.Commit(
				ctx,
				txn.Transaction{
					Records: []txn.Record{{Topic: w.topics.Scores, Key: []byte("k"), Value: w.message(0, from, 1000, true)}},
				},
			)
		}
		m := &mortal{}
		dies := func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := m.dial(ctx, network, address)
			return endless{c}, err
		}
		broken := txn.NewClient(txn.Config{Brokers: w.brokers, Dial: dies, Timeout: 2 * time.Second})
		defer broken.Close()
		if err := send(broken, 5000); err == nil {
			t.Fatal("a transaction without an end was committed")
		}
		for i := range 3 {
			if err := send(w.client, i*1000); err != nil {
				t.Fatal(err)
			}
		}
		at, end, err := w.client.Bounds(ctx, w.topics.Scores, 0)
		if err != nil {
			t.Fatal(err)
		}
		// An EndTxn is answered before its markers are written: the last stable offset comes a moment later.
		n := 0
		for deadline := time.Now().Add(30 * time.Second); (n < 3 || at < end) && time.Now().Before(deadline); {
			f, err := w.client.Fetch(ctx, w.topics.Scores, 0, at, 1000, 100*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			n, at = n+len(f.Records), f.Next
		}
		if n != 3 {
			t.Errorf("%d records are visible, 3 were committed", n)
		}
	})
}

// endless is a connection that ends where a transaction would.
type endless struct{ net.Conn }

func (c endless) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 26 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}
