package stream

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"

	"liftstream/codec"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// eventsAt sends records [from, from+n) of partition 0 as one message of that timestamp. It reports false where the
// broker refuses the timestamp.
func (f feeder) eventsAt(from, n int, at time.Time) bool {
	f.T.Helper()
	f.Next[0] = max(f.Next[0], from+n)
	return f.taken(txn.Record{Topic: f.Topics.Events, Value: f.Message(0, from, n, false), Time: at})
}

// labelsAt sends the labels of these records as one message, each the other class where Invert says so.
func (f feeder) labelsAt(from, n int, at time.Time) bool {
	f.T.Helper()
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	x := sample.Records(from, n)
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(streamtest.RecordID(0, from+i))
		y := x.Label[i]
		if f.Invert {
			y = 1 - y
		}
		b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[y])
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		f.T.Fatal(err)
	}
	return f.taken(txn.Record{Topic: f.Topics.Labels, Value: v, Time: at})
}

// taken reports whether the broker takes a record.
func (f feeder) taken(r txn.Record) bool {
	f.T.Helper()
	err := f.Client.Produce(context.Background(), []txn.Record{r}, txn.None)
	if err != nil && txn.KindOf(err) == txn.Invalid {
		return false // Kafka 4 takes no timestamp that is more than an hour ahead, unless the topic says so
	}
	if err != nil {
		f.T.Fatal(err)
	}
	return true
}

// weekly are the options of a stage whose records wait for a week.
func weekly(w *world) Options {
	o := w.options(w.Client)
	o.Spec = sample.Spec()
	o.Spec.Options.WaitWindow, o.Spec.Options.WaitBytes = int64(7*24*time.Hour), 16<<20
	o.Codec.Future, o.Codec.Past = 5*time.Minute, 40*365*24*time.Hour
	return o
}

var wildClocks = []struct {
	name   string
	at     func(now time.Time) time.Time
	reason codec.Reason // of a dead letter; "" = the message is taken
}{
	{"none", func(time.Time) time.Time { return time.Time{} }, ""},
	{"two days ahead", func(now time.Time) time.Time { return now.Add(48 * time.Hour) }, codec.ReasonFuture},
	{"30 days ahead", func(now time.Time) time.Time { return now.Add(720 * time.Hour) }, codec.ReasonFuture},
	{"1970", func(time.Time) time.Time { return time.UnixMilli(5) }, codec.ReasonPast},
	{"1960", func(time.Time) time.Time { return time.UnixMilli(-315619200000) }, codec.ReasonPast},
	{"two years ago", func(now time.Time) time.Time { return now.AddDate(-2, 0, 0) }, ""},
	{"microseconds", func(now time.Time) time.Time { return time.UnixMilli(now.UnixMicro()) }, codec.ReasonFuture},
	{"largest", func(time.Time) time.Time { return time.UnixMilli(math.MaxInt64) }, codec.ReasonFuture},
	{"smallest", func(time.Time) time.Time { return time.UnixMilli(math.MinInt64) }, codec.ReasonPast},
}

// TestOneWildClockDisturbsNobody: one message of a wild timestamp, of events or of labels, before or among 2,000 to
// 4,000 records (800 under -short) whose labels come later. All other records are scored and all other labels learnt, a
// restart comes to the same state, also one that replays the journal after a death, and so does a replay of everything.
func TestOneWildClockDisturbsNobody(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for i, c := range wildClocks {
			for _, labels := range []bool{false, true} {
				for _, first := range []bool{false, true} {
					if testing.Short() && (labels != (i&1 > 0) || first != (i&2 > 0)) {
						continue
					}
					n := 2000
					switch {
					case testing.Short():
						n = 800
					case !first && i%3 != 2:
						n = 4000
					}
					w := newWorld(t, addr, 1)
					testWildClock(t, w, n, labels, first, first && i%3 == 1, c.name, c.at, c.reason)
				}
			}
		}
	})
}

// testWildClock: the stage dies in the middle, after which the group waits for its session to end, or is restarted.
func testWildClock(
	t *testing.T, w *world, n int, labels, first, dies bool, name string, at func(time.Time) time.Time,
	reason codec.Reason,
) {
	const rows = 100
	now := time.Now()
	o := weekly(w)
	wild := 0
	if !first {
		wild = n / 2
	}
	refused := false
	send := func(from, to int) {
		for i := from; i < to; i += rows {
			stamp := now.Add(time.Duration(i) * time.Microsecond)
			if i == wild && !labels {
				if !w.eventsAt(i, rows, at(now)) {
					refused = w.eventsAt(i, rows, stamp)
				}
				continue
			}
			w.eventsAt(i, rows, stamp)
		}
	}
	late := func(from, to int) {
		for i := from; i < to; i += rows {
			stamp := now.Add(time.Second + time.Duration(i)*time.Microsecond)
			if i == wild && labels {
				if !w.labelsAt(i, rows, at(now)) {
					refused = w.labelsAt(i, rows, stamp)
				}
				continue
			}
			w.labelsAt(i, rows, stamp)
		}
	}
	send(0, n/2)
	var net streamtest.Mortal
	o.Client = txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: net.Dial})
	t.Cleanup(o.Client.Close)
	if dies {
		o.Snapshot = time.Hour // the next run replays everything by the journal
	}
	r := w.run(o)
	w.caught(r)
	late(0, n/4)
	send(n/2, n)
	late(n/4, n/2)
	if dies {
		w.caught(r)
		net.Die()
		r.stop()
		<-r.ended
	} else {
		r.end(t)
	}
	again := weekly(w)
	again.Metrics = NewMetrics(prometheus.NewRegistry())
	r = w.run(again)
	w.caught(r)
	late(n/2, n)
	want := n
	if reason != "" && !refused {
		want -= rows
	}
	r.await(t, name+": not all labels are learnt", func(s Status) bool {
		return len(s.Partitions) == 1 && s.Partitions[0].Labelled >= float64(want)
	})
	if got := r.stage.Status().Partitions[0].Labelled; got != float64(want) {
		t.Errorf("%s: %v records learnt, want %d", name, got, want)
	}
	r.end(t)
	for k, o := range []Options{o, again} {
		if lost := counted(o.Metrics.Losses.WithLabelValues("expired")); lost != 0 {
			t.Errorf("%s, run %d: %v records expired", name, k, lost)
		}
	}
	letters := map[string]int{}
	for _, l := range w.Records(w.Topics.Dead, 0) {
		for _, h := range l.Headers {
			if h.Key == codec.DeadReason {
				letters[string(h.Value)]++
			}
		}
	}
	if want == n && len(letters) > 0 || want < n && (len(letters) != 1 || letters[string(reason)] != 1) {
		t.Errorf("%s on labels %v, first %v: dead letters %v, want one of %q", name, labels, first, letters, reason)
	}
	verdicts, err := verified(context.Background(), again)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if len(v.Problems) > 0 || v.Records == 0 {
			t.Errorf("%s on labels %v, first %v: the replay differs: %v", name, labels, first, v.Problems)
		}
	}
}
