package stream

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// answered returns the offsets of the events that a stage has answered in partition 0 of the scores topic.
func (w *world) answered(t *testing.T) (offsets []int64) {
	t.Helper()
	for _, r := range w.Records(w.Topics.Scores, 0) {
		if scores.NameOf(&r) != w.Name {
			continue
		}
		of, err := scores.EventOf(&r)
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, of)
	}
	return offsets
}

// events returns the offsets of the events in partition 0.
func (w *world) events() (offsets []int64) {
	for _, r := range w.Records(w.Topics.Events, 0) {
		offsets = append(offsets, r.Offset)
	}
	return offsets
}

// Two stages of different names that write into one topic of scores: the second one is refused, unless the
// configuration accepts it. Then each answers its events once, also where the other one's answers lie behind its own.
func TestTwoStagesWithOneTopicOfScores(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
		v.Topics.Scores = w.Topics.Scores
		w.Produce(100, 10, true)
		one := w.run(w.options(w.Client))
		w.caught(one)
		err := v.run(v.options(v.Client)).fails(t, 30*time.Second)
		var p *PolicyError
		if !errors.As(err, &p) || p.Policy != "topic_shared" {
			t.Fatalf("got %v", err)
		}
		for _, word := range []string{w.Name, v.Name, w.Topics.Scores, "topics.scores", "accept"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not name %s", err, word)
			}
		}
		one.end(t)
		one = w.run(accepted(w, w.Client))
		for range 3 {
			m := &streamtest.Mortal{}
			o := accepted(v, txn.NewClient(txn.Config{Brokers: v.Brokers, Dial: m.Dial, Timeout: 2 * time.Second,
				ClientID: v.Name}))
			o.Instance, o.Grace, o.Patience, o.Snapshot = v.Name, time.Second, 2*time.Second, time.Hour
			v.Produce(30, 10, true)
			two := v.run(o)
			v.caught(two)
			w.Produce(200, 10, true) // its offsets are far beyond the other one's
			w.caught(one)
			m.Die()
			two.stop()
			<-two.ended
		}
		one.end(t)
		one = w.run(accepted(w, w.Client))
		v.Produce(50, 10, true)
		two := v.run(accepted(v, v.Client))
		v.caught(two)
		w.caught(one)
		two.end(t)
		one.end(t)
		for _, x := range []*world{w, v} {
			if got, want := x.answered(t), x.events(); !slices.Equal(got, want) {
				t.Errorf("stage %s has answered %v of %v", x.Name, got, want)
			}
		}
	})
}

// accepted returns options that accept another stage's records in the same topics.
func accepted(x *world, c *txn.Client) Options {
	o := x.options(c)
	o.TopicShared = true
	return o
}

// Two stages that start at once on an empty topic of scores find nothing of each other. The first one that sees the
// other one's scores says so and is not ready, and goes on.
func TestAStageWhoseTopicOfScoresGetsASecondWriter(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
		v.Topics.Scores = w.Topics.Scores
		o := w.options(w.Client)
		o.Patience = 3 * time.Second // it looks every tenth of a second
		one := w.run(o)
		w.Produce(10, 10, true)
		w.caught(one)
		two := v.run(accepted(v, v.Client))
		v.Produce(10, 10, true)
		v.caught(two)
		var st Status
		streamtest.Eventually(t, 30*time.Second, "the second stage is not shown", func() bool {
			st = one.stage.Status()
			return slices.ContainsFunc(st.Waiting, func(text string) bool {
				return strings.Contains(text, v.Name) && strings.Contains(text, w.Topics.Scores)
			})
		})
		if st.Ready || !st.Live {
			t.Errorf("ready %v, live %v", st.Ready, st.Live)
		}
		two.end(t)
		w.Produce(10, 10, true)
		w.caught(one)
		streamtest.Eventually(t, 30*time.Second, "the first stage is not ready again", func() bool {
			return one.stage.Status().Ready
		})
		one.end(t)
	})
}

// The versions of two trainers would take each other's numbers.
func TestTwoStagesWithOneTopicOfModels(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
		v.Topics.Model = w.Topics.Model
		w.Produce(2000, 100, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.published(r, 1)
		v.Produce(50, 10, true)
		v.run(v.options(v.Client)).mismatch(t, w.Name, v.Name, w.Topics.Model, "topics.model", "policy.topic_shared")
		r.end(t)
		o := v.options(v.Client)
		o.TopicShared = true
		r = v.run(o)
		v.caught(r)
		r.end(t)
		v.ExactlyOnce()
	})
}

// Dead letters of several stages may lie in one topic, of one topic of events too: each stage knows its own.
func TestTwoStagesWithOneTopicOfDeadLetters(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
		v.Topics.Dead, v.Topics.Events = w.Topics.Dead, w.Topics.Events
		w.Produce(20, 10, true)
		w.Send(w.Topics.Events, "no event", "nor this")
		for range 2 { // the second start reads the letters of both
			for _, x := range []*world{w, v} {
				m := &streamtest.Mortal{}
				o := x.options(txn.NewClient(txn.Config{Brokers: x.Brokers, Dial: m.Dial, Timeout: 2 * time.Second,
					ClientID: x.Name}))
				o.Instance, o.Grace, o.Patience = x.Name, time.Second, 2*time.Second
				r := x.run(o)
				x.caught(r)
				m.Die()
				r.stop()
				<-r.ended
			}
		}
		if n := len(w.Records(w.Topics.Dead, 0)); n != 4 {
			t.Errorf("%d dead letters of two messages that two stages have read", n)
		}
	})
}
