package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// mismatch waits for the end of a stage by a *topics.MismatchError that names all words.
func (r *running) mismatch(t *testing.T, words ...string) {
	t.Helper()
	err := r.fails(t, 40*time.Second)
	var m *topics.MismatchError
	if !errors.As(err, &m) {
		t.Fatalf("got %v, want a mismatch", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}

// beside returns a second world at the same broker, under the name of the first.
func (w *world) beside(addr string) *world {
	v := newWorld(w.T, addr, w.N)
	v.Name = w.Name
	return v
}

// Two stages of one name would read half of their topics each.
func TestTwoStagesOfOneNameAndOtherTopics(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		v := w.beside(addr)
		w.Produce(200, 10, true)
		one := w.run(w.options(w.Client))
		w.caught(one)
		v.run(v.options(v.Client)).mismatch(t, w.Name, w.Topics.Events, v.Topics.Events, w.Topics.Scores, v.Topics.Scores)
		if n := one.stage.Status().Generation; n != 1 {
			t.Errorf("the stage that runs was disturbed: generation %d", n)
		}
		o := w.options(v.Client) // one topic is enough
		o.Topics.Scores = v.Topics.Scores
		w.run(o).mismatch(t, w.Topics.Scores, v.Topics.Scores)
		two := w.run(w.options(w.Client)) // a second member of the stage is none
		share(t, 1, one, two)
		w.Produce(200, 10, true)
		w.caught(one, two)
		one.end(t)
		two.end(t)
		w.ExactlyOnce()
		v.Produce(50, 10, true)
		alone := v.run(v.options(v.Client)) // with topics of its own, and afterwards, nothing is mixed
		v.caught(alone)
		alone.end(t)
		v.ExactlyOnce()
	})
}

// At once neither finds the other in the group beforehand.
func TestTwoStagesOfOneNameThatStartAtOnce(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		v := w.beside(addr)
		w.Produce(200, 10, true)
		v.Produce(200, 10, true)
		one, two := w.run(w.options(w.Client)), v.run(v.options(v.Client))
		serves, other := w, v
		select {
		case err := <-one.ended:
			one.ended <- err
			one.mismatch(t, w.Topics.Events, v.Topics.Events)
			one, serves, other = two, v, w
		case err := <-two.ended:
			two.ended <- err
			two.mismatch(t, w.Topics.Events, v.Topics.Events)
		case <-time.After(streamtest.Patience):
			t.Fatal("both go on")
		}
		serves.caught(one)
		one.end(t)
		serves.ExactlyOnce()
		for p := range other.N {
			if n := len(other.IDs(p)); n > 0 {
				t.Errorf("partition %d: the refused stage has scored %d records", p, n)
			}
		}
	})
}

// A killed member of other topics stays in the group for a while, and keeps nobody out for longer.
func TestAKilledStageOfOtherTopicsIsWaitedFor(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		v := w.beside(addr)
		w.Produce(20, 10, true)
		m := &streamtest.Mortal{}
		o := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second}))
		o.Grace, o.Patience = time.Second, 2*time.Second
		r := w.run(o)
		w.caught(r)
		m.Die()
		r.stop()
		<-r.ended
		v.Produce(20, 10, true)
		r = v.run(v.options(v.Client))
		v.caught(r)
		r.end(t)
		v.ExactlyOnce()
	})
}

// The state of one stage must not become that of another one.
func TestStatesKnowTheirStage(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w, v *world, o *Options)
		policy bool // topic_recreated decides
	}{
		{"other events", func(w, v *world, o *Options) { o.Topics.Events = v.Topics.Events }, true},
		{"other labels", func(w, v *world, o *Options) { o.Topics.Labels = v.Topics.Labels }, true},
		{"another name", func(w, v *world, o *Options) { o.Name = v.Name }, false},
		{"another name and other events", func(w, v *world, o *Options) {
			o.Name, o.Topics.Events, o.Topics.Scores = v.Name, v.Topics.Events, v.Topics.Scores
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
				w.Produce(100, 10, false)
				w.SendLabels(0, 50)
				r := w.run(w.options(w.Client))
				w.caught(r)
				learnt(t, r, 50)
				r.end(t)
				v.Produce(300, 10, true) // more than the state has read
				v.SendLabels(0, 10)
				o := w.options(v.Client) // it knows the topics of both
				c.change(w, v, &o)
				if c.policy {
					err := w.run(o).fails(t, 30*time.Second)
					var p *PolicyError
					if !errors.As(err, &p) || p.Policy != "topic_recreated" || !strings.Contains(err.Error(), w.Topics.Events) ||
						!strings.Contains(err.Error(), o.Topics.Events) || !strings.Contains(err.Error(), o.Topics.Labels) {
						t.Errorf("got %v", err)
					}
				} else {
					o.TopicRecreated, o.InputLost = committed.Rebuild, committed.Rebuild
					w.run(o).mismatch(t, w.Name, o.Name, w.Topics.Events, o.Topics.Events, w.Topics.State)
				}
				r = w.run(w.options(w.Client)) // nothing was lost
				w.Produce(100, 10, false)
				w.caught(r)
				r.end(t)
				w.ExactlyOnce()
			})
		})
	}
}

// Scores and dead letters may go to other topics: these hold nothing of the last transaction, which is not told again.
func TestOutputThatGoesElsewhere(t *testing.T) {
	for _, again := range []bool{false, true} { // the same topic made anew, or another one
		t.Run(map[bool]string{false: "other topics", true: "topics made anew"}[again], func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w, v := newWorld(t, addr, 1), newWorld(t, addr, 1)
				w.Produce(600, 10, true)
				r := w.run(w.options(w.Client))
				w.caught(r)
				r.end(t)
				w.recreateEvents() // so that the next transactions begin behind the first scores
				w.Produce(100, 10, true)
				w.Send(w.Topics.Events, "no event")
				o := w.options(w.Client)
				o.TopicRecreated = committed.Rebuild
				r = w.run(o)
				w.caught(r)
				r.end(t)
				if again {
					w.recreate(w.Topics.Scores)
					w.recreate(w.Topics.Dead)
				} else {
					w.Topics.Scores, w.Topics.Dead = v.Topics.Scores, v.Topics.Dead
				}
				w.Produce(50, 10, true)
				for i := range 4 {
					m := &streamtest.Mortal{}
					o := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second,
						ClientID: w.Name}))
					o.Instance, o.Grace, o.Patience, o.Snapshot = w.Name, time.Second, 2*time.Second, time.Hour
					r = w.run(o)
					w.caught(r)
					m.Die()
					r.stop()
					<-r.ended
					if n := len(w.IDs(0)); n != 50 {
						t.Errorf("run %d: %d scores in the topic of 50 records since", i, n)
					}
				}
				for message, n := range w.DeadLetters() {
					if n > 1 {
						t.Errorf("message %s has %d dead letters", message, n)
					}
				}
			})
		})
	}
}

// Letters that retention has taken were written: they are not written again.
func TestDeadLettersThatExpiredAreNotWrittenAgain(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(50, 10, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.Send(w.Topics.Events, "no event", "nor this")
		w.caught(r)
		r.end(t)
		if n := len(w.DeadLetters()); n != 2 {
			t.Fatalf("%d dead letters", n)
		}
		_, end := w.Bounds(w.Topics.Dead, 0)
		w.deleteRecords(w.Topics.Dead, 0, end)
		for range 2 {
			r = w.run(w.options(w.Client))
			w.caught(r)
			r.end(t)
			if l := w.DeadLetters(); len(l) != 0 {
				t.Errorf("dead letters were written again: %v", l)
			}
		}
		w.Send(w.Topics.Events, "nor that")
		r = w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		if l := w.DeadLetters(); len(l) != 1 {
			t.Errorf("dead letters: %v", l)
		}
	})
}

// The journal names a model that the topic does not hold any more.
func TestModelsThatAreLost(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(2000, 100, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.published(r, 1)
		m := r.stage.Serving()
		r.end(t)

		v := newWorld(t, addr, 1)
		v.Produce(500, 100, true)
		early := v.options(v.Client)
		early.FitRecords = 1 << 40 // no model before the last snapshot
		r = v.run(early)
		v.caught(r)
		r.end(t)
		net := &streamtest.Mortal{}
		o := v.options(txn.NewClient(txn.Config{Brokers: v.Brokers, Dial: net.Dial, Timeout: 2 * time.Second,
			ClientID: v.Name}))
		o.Initial, o.Snapshot, o.Grace, o.Patience = m, time.Hour, time.Second, 2*time.Second
		o.FitRecords = 1 << 40
		r = v.run(o)
		r.await(t, "the model does not serve", func(s Status) bool {
			v.Produce(20, 10, true)
			v.caught(r)
			return r.stage.Status().Partitions[0].Model > 0
		})
		streamtest.Eventually(t, 30*time.Second, "the change of the model is not committed", func() bool {
			return slices.ContainsFunc(journalOf(t, v), func(e state.JournalEntry) bool { return e.Model > 0 })
		})
		net.Die()
		r.stop()
		<-r.ended
		v.recreate(v.Topics.Model)
		o = v.options(v.Client)
		o.Instance = v.Name
		o.InputLost, o.TopicRecreated, o.SchemaChanged = committed.Rebuild, committed.Rebuild, committed.Rebuild
		v.run(o).refuses(t, "model_lost")
		o = v.options(v.Client)
		o.ModelLost = committed.Rebuild
		r = v.run(o)
		v.Produce(100, 100, true)
		v.caught(r)
		r.end(t)
		if n := counted(o.Metrics.Policies.WithLabelValues("model_lost", "rebuild")); n != 1 {
			t.Errorf("counted %v times", n)
		}
		v.ExactlyOnce()
		r = v.run(v.options(v.Client)) // the decision stays
		v.Produce(100, 100, true)
		v.caught(r)
		r.end(t)
		v.ExactlyOnce()
		if found, err := verified(context.Background(), v.options(v.Client)); err != nil || len(found[0].Problems) > 0 {
			t.Errorf("%v %+v", err, found)
		}
	})
}

// A topic of models that was made anew numbers its versions after the serving ones.
func TestModelsOfATopicMadeAnewServe(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(2000, 100, true)
		r := w.run(w.options(w.Client))
		w.caught(r)
		w.published(r, 2)
		serving := func() (v int64) {
			r.await(t, "no model serves", func(s Status) bool {
				v = s.Partitions[0].Model
				return v >= 1
			})
			return v
		}
		serving()
		r.end(t)
		before := r.stage.Status().Partitions[0].Model
		w.recreate(w.Topics.Model)
		r = w.run(w.options(w.Client))
		r.await(t, "no new model serves", func(s Status) bool {
			w.Produce(40, 20, true)
			w.caught(r)
			return r.stage.Status().Partitions[0].Model > before
		})
		if fits := r.stage.Status().Fits; fits > 2 {
			t.Errorf("only the model of fit %d serves", fits)
		}
		r.end(t)
		w.ExactlyOnce()
	})
}
