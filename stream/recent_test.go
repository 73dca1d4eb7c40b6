package stream

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// remembering are the options of a stage with features of former records and one of the own record, all handed on.
func (w *world) remembering(c *txn.Client) Options {
	o := w.options(c)
	s := *sample.Schema
	s.Features = append([]model.Feature{{Name: "size", Derived: "log(x)"}, {Name: "last", Derived: "since_last()"},
		{Name: "recent", Derived: "count(1s)"}, {Name: "as", Derived: "count(1s, c=a)"}}, s.Features...)
	o.Spec = sample.Spec()
	o.Spec.Schema, o.Spec.Scorecard = &s, propensity.New(propensity.Default(), &s)
	o.Spec.Options.Recency = &model.RecencyOptions{Bytes: 1 << 20, Features: []model.RecentFeature{
		{Feature: 1, Where: -1}, {Feature: 2, Window: int64(time.Second), Where: -1},
		{Feature: 3, Window: int64(time.Second), Where: 5, Level: "a"}}}
	o.Codec.Schema, o.Codec.Features, o.Codec.Recency = &s, codec.FeaturesAll, o.Spec.Options.Recency
	o.Codec.Derived = map[string]codec.Derivation{"size": {Function: codec.Log, Of: []codec.Derivation{{Column: "x"}}}}
	return o
}

// texts are those of columns over the messages of a partition, each row joined.
func texts(t testing.TB, records []txn.Record, columns ...string) (rows []string) {
	t.Helper()
	for _, r := range records {
		for tab, err := range codec.Tables(r.Value, 64<<20) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range tab.Rows() {
				row := ""
				for _, c := range columns {
					text, _ := tab.Text(tab.Column(c), i)
					row += text + " "
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// remembered are the rows that scores of a partition must hand on, by a slow program over its events.
func remembered(t testing.TB, events []txn.Record) (rows []string) {
	t.Helper()
	former := map[string][]int64{}
	for _, r := range events {
		at := r.Time.UnixNano()
		for tab, err := range codec.Tables(r.Value, 64<<20) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range tab.Rows() {
				text := func(name string) string {
					v, _ := tab.Text(tab.Column(name), i)
					return v
				}
				id, last := text("id"), ""
				count := func(key string) (n int) {
					for _, f := range former[key] {
						if f <= at && f > at-int64(time.Second) {
							n++
						}
					}
					return n
				}
				newest := int64(math.MinInt64)
				for _, f := range former[id] { // some are later: their ids are sent again with the times of then
					if f <= at {
						newest = max(newest, f)
					}
				}
				if newest > math.MinInt64 {
					last = string(model.AppendNumber(nil, float64(at-newest)/1e9, 64))
				}
				x, err := strconv.ParseFloat(text("x"), 64)
				if err != nil {
					t.Fatal(err)
				}
				size := ""
				if x > 0 {
					size = string(model.AppendNumber(nil, math.Log(x), 64))
				}
				rows = append(rows, fmt.Sprintf("%s %s %s %d %d ", id, size, last, count(id), count(id+" a")))
				former[id] = append(former[id], at)
				if text("c") == "a" {
					former[id+" a"] = append(former[id+" a"], at)
				}
			}
		}
	}
	return rows
}

// remembers compares the features of all scores with the slow program.
func (w *world) remembers() {
	w.T.Helper()
	again := 0
	for p := range w.N {
		got := texts(w.T, w.Records(w.Topics.Scores, p), "id", "size", "last", "recent", "as")
		want := remembered(w.T, w.Records(w.Topics.Events, p))
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				w.T.Fatalf("partition %d, record %d of %d: %q, want %q of %d", p, i, len(got), got[min(i, len(got)-1):][:1],
					want[min(i, len(want)-1):][:1], len(want))
			}
			if want[i][len(want[i])-5:] != " 0 0 " {
				again++
			}
		}
	}
	if again == 0 {
		w.T.Error("no id came again: the test tests nothing")
	}
}

// TestFormerRecordsOutliveTheStage: features of the own record and of former ones are those of a slow program over the
// events in the same run, after a restart, after a death, and after a takeover by another member. A replay finds the
// same states and scores, and a forgotten id is new.
func TestFormerRecordsOutliveTheStage(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(300, 20, true)
		w.again(200, 30)
		r := w.run(w.remembering(w.Client))
		w.caught(r)
		w.again(100, 20)
		w.caught(r)
		r.await(t, "it does not show its ids", func(s Status) bool {
			k := s.Partitions[0].Recency
			return k != nil && k.IDs >= 300 && k.Bytes > 0 && k.Evicted == 0
		})
		r.end(t)
		w.remembers()

		m := &streamtest.Mortal{}
		mortal := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second, Dial: m.Dial})
		defer mortal.Close()
		o := w.remembering(mortal)
		o.OnScores = slowly
		dying := w.run(o)
		w.Produce(600, 20, true)
		w.again(500, 20)
		dying.until(t, 300)
		m.Die()
		one := w.run(w.remembering(w.Client))
		two := w.run(w.remembering(w.Client))
		share(t, 1, one, two)
		w.again(300, 20)
		w.caught(one, two)
		one.end(t)
		w.again(100, 10)
		w.caught(two)
		two.end(t)
		w.remembers()
		clean(t, w.remembering(w.Client))

		gone := streamtest.RecordID(0, w.Next[0]-1)
		r = w.run(w.remembering(w.Client))
		f := w.forgetter()
		if _, err := f.Begin(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		order, err := f.Forget(t.Context(), []model.IDSum{model.SumID(gone)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := f.Await(t.Context(), order.Number, 4*time.Minute)
		if err != nil || len(answers) != 2 || answers[0].Found.Recency != 1 || answers[1].Found.Recency != 0 {
			t.Fatalf("%+v, %v", answers, err)
		}
		w.again(2, 2)
		w.caught(r)
		r.end(t)
		rows := texts(t, w.Records(w.Topics.Scores, 0), "id", "last", "recent")
		if got, known := rows[len(rows)-1], rows[len(rows)-2]; got != gone+"  0 " || known[len(known)-3:] == " 0 " {
			t.Errorf("a forgotten id has %q, one that was not forgotten %q", got, known)
		}
		clean(t, w.remembering(w.Client))
	})
}
