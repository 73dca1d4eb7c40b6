package stream

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func TestEachRecordIsScoredOnceAndInOrder(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 3)
		w.Produce(3000, 100, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.ExactlyOnce()
		for p := range w.N {
			in, out := w.Records(w.Topics.Events, p), w.Records(w.Topics.Scores, p)
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
	w.Produce(2000, 100, true)
	o := w.options(w.Client)
	o.Now = func() time.Time { return time.Now().Add(-1000 * time.Hour) }
	r := w.run(o)
	w.caught(r)
	r.await(t, "no model was published", func(s Status) bool { return s.Model > 0 })
	r.end(t)
	for _, topic := range []string{w.Topics.State, w.Topics.Model} {
		all := w.Records(topic, 0)
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
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(20_000, 50, true)
		for range 3 {
			o := w.options(w.Client)
			o.OnScores = slowly
			r := w.run(o)
			r.until(t, 1500) // of 20,000 a partition
			r.end(t)
		}
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.ExactlyOnce()
		r.end(t)
	})
}

func TestSuddenDeathLosesAndDoublesNothing(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		for i := range uint64(5) {
			w.Produce(1500, 30, true)
			m := &streamtest.Mortal{}
			c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: w.Name})
			o := w.options(c)
			o.Grace, o.OnScores, o.Instance = time.Second, slowly, w.Name
			r := w.run(o)
			// Death comes a while after it began to work: the position is the seed's, not the clock's.
			r.until(t, float64(100+model.Hash(i, 1)%2000))
			m.Die()
			r.stop()
			c.Close()
		}
		o := w.options(w.Client)
		o.Instance = w.Name
		r := w.run(o)
		w.caught(r)
		w.ExactlyOnce()
		r.await(t, "no model was published in the whole run", func(s Status) bool { return s.Model > 0 })
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
	o := w.options(w.Client)
	o.FitEvery = time.Hour // one model at the first chance, none later
	for range 3 {
		w.Produce(3000, 40, true)
		m := &streamtest.Mortal{}
		c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: w.Name})
		o := o
		o.Client, o.Grace, o.Instance = c, time.Second, w.Name
		r := w.run(o)
		w.caught(r)
		m.Die()
		r.stop()
	}
	o.Instance = w.Name
	r := w.run(o)
	w.caught(r)
	w.published(r, 1)
	r.await(t, "no model was taken over", func(s Status) bool { return s.Partitions[0].Model > 0 })
	r.end(t)
	got := newestSections(t, w)
	ref := newReference(t, w, o, journalOf(t, w))
	for _, rec := range w.Records(w.Topics.Events, 0) {
		ref.swap(rec.Offset)
		ref.events(&rec)
	}
	ref.swap(1 << 60)
	if ref.part.ModelVersion() == 0 {
		t.Error("no model was swapped in: the journal was not put to use")
	}
	want := ref.part.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if string(want[name]) != string(got[name]) {
			t.Errorf("section %s differs: %d and %d bytes", name, len(want[name]), len(got[name]))
		}
	}
}

func TestLateLabelsAreLearntAndSurviveARestart(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(500, 100, true)
		w.Produce(500, 100, false)
		r := w.run(w.options(w.Client))
		w.caught(r)
		s := arrow.NewSchema(
			[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}},
			nil,
		)
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		x := sample.Records(0, 1000)
		for i := 500; i < 1000; i++ {
			b.Field(0).(*array.StringBuilder).Append(streamtest.RecordID(0, i))
			b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		}
		v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Labels, Value: v}},
			txn.None); err != nil {
			t.Fatal(err)
		}
		learnt(t, r, 1000)
		r.end(t)
		r = w.run(w.options(w.Client))
		w.caught(r)
		learnt(t, r, 1000)
		r.end(t)
	})
}

func TestTwoMembersShareThePartitions(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 4)
		w.Produce(1000, 20, true)
		one := w.run(w.options(w.Client))
		w.caught(one)
		two := w.run(w.options(w.Client))
		share(t, 2, one, two)
		w.Produce(1000, 20, true)
		w.caught(one, two)
		one.end(t)
		w.Produce(1000, 20, true)
		w.caught(two)
		w.ExactlyOnce()
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
	w.Produce(100, 10, true)
	r := w.run(w.options(w.Client))
	w.caught(r)
	r.end(t)
	o := w.options(w.Client)
	spec := *o.Spec
	spec.Options.Fingerprint++
	o.Spec, o.SchemaChanged = &spec, committed.Fail
	w.run(o).refuses(t, "schema_changed")
	o.SchemaChanged = committed.Rebuild
	w.Produce(100, 10, true)
	r = w.run(o)
	w.caught(r)
	w.ExactlyOnce()
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
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		for i := range uint64(3) {
			w.Produce(1200, 30, i == 0)
			if i > 0 {
				w.SendLabels(1200*int(i), 1000)
			}
			m := &streamtest.Mortal{}
			c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: w.Name})
			o := w.options(c)
			o.Grace, o.OnScores, o.Instance, o.FitRecords = time.Second, slowly, w.Name, 300
			r := w.run(o)
			r.until(t, float64(600+model.Hash(i, 7)%1500))
			m.Die()
			r.stop()
			<-r.ended
			c.Close()
		}
		o := w.options(w.Client)
		o.Instance = w.Name
		r := w.run(o)
		w.caught(r)
		r.await(t, "no model was taken over", func(s Status) bool {
			return s.Partitions[0].Model > 0 && s.Partitions[1].Model > 0
		})
		r.end(t)
		w.ExactlyOnce()
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
		forged := w.Records(w.Topics.Scores, 0)[0]
		if err := w.Client.Produce(context.Background(), []txn.Record{forged}, txn.None); err != nil {
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

func TestAbortedRecordsStayHiddenHoweverSmallTheAnswers(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		ctx := context.Background()
		send := func(c *txn.Client, from int) error {
			p, err := c.NewProducer(ctx, w.Name, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			return p.Commit(
				ctx,
				txn.Transaction{
					Records: []txn.Record{{Topic: w.Topics.Scores, Key: []byte("k"), Value: w.Message(0, from, 1000, true)}},
				},
			)
		}
		m := &streamtest.Mortal{}
		dies := func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := m.Dial(ctx, network, address)
			return streamtest.Endless(c), err
		}
		broken := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: dies, Timeout: 2 * time.Second})
		defer broken.Close()
		if err := send(broken, 5000); err == nil {
			t.Fatal("a transaction without an end was committed")
		}
		for i := range 3 {
			if err := send(w.Client, i*1000); err != nil {
				t.Fatal(err)
			}
		}
		at, end, err := w.Client.Bounds(ctx, w.Topics.Scores, 0)
		if err != nil {
			t.Fatal(err)
		}
		// An EndTxn is answered before its markers are written: the last stable offset comes a moment later.
		n := 0
		for deadline := time.Now().Add(30 * time.Second); (n < 3 || at < end) && time.Now().Before(deadline); {
			f, err := w.Client.Fetch(ctx, w.Topics.Scores, 0, at, 1000, 100*time.Millisecond)
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
