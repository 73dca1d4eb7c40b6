package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/stream/bootstrap"
	"liftstream/stream/committed"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// past is a history of n records for each partition of a world.
func past(t *testing.T, spec *model.Spec, partitions, n int, version int64) *evaluate.History {
	t.Helper()
	src := func(yield func(*model.Batch, error) bool) { yield(sample.Records(50_000_000, n*partitions), nil) }
	h, err := evaluate.Learn(t.Context(), spec, src, evaluate.Past{Partitions: partitions, Refit: 1000, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// bootstrapping are the options under which a state of the world is written.
func (w *world) bootstrapping(spec *model.Spec) bootstrap.Options {
	return bootstrap.Options{Client: w.Client, Name: w.Name, Topics: w.Topics, Spec: spec, Now: time.Now()}
}

// propensities are those of the positive class in the scores of a partition from row number from on, with the status
// of each and the model of its message.
func (w *world) propensities(partition, from int) (p []float64, status, models []string) {
	w.T.Helper()
	for _, r := range w.Records(w.Topics.Scores, partition) {
		for tab, err := range codec.Tables(r.Value, 64<<20) {
			if err != nil {
				w.T.Fatal(err)
			}
			for i := range tab.Rows() {
				if from > 0 {
					from--
					continue
				}
				v, _ := tab.Float(tab.Column("propensity_yes"), i)
				s, _ := tab.Text(tab.Column("status"), i)
				m, _ := tab.Int(tab.Column("model"), i)
				p, status, models = append(p, v), append(status, s), append(models, fmt.Sprint(m))
			}
		}
	}
	return p, status, models
}

// TestABootstrapServesTheFirstRecord: the first live records, in all partitions, get the scores that the same states
// give offline, to the last bit; a restart goes on, and verify replays from the state of the files.
func TestABootstrapServesTheFirstRecord(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		const live = 300
		w := newWorld(t, addr, 2)
		o := w.options(w.Client)
		o.FitEvery, o.Snapshot = time.Hour, time.Hour
		h := past(t, o.Spec, w.N, 1400, 0)
		if h.Model == nil {
			t.Fatal("the history has no model")
		}
		offline := make([]*model.Partition, w.N)
		for p := range offline {
			var err error
			if offline[p], err = model.RestorePartition(o.Spec, h.Partitions[p].Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
		starts, err := bootstrap.Write(t.Context(), w.bootstrapping(o.Spec), h.Partitions, h.Model)
		if err != nil || starts[0] != (state.Position{}) {
			t.Fatalf("%v, error %v", starts, err)
		}
		for round := range 2 { // the second one after a restart
			w.Produce(live, 50, true)
			r := w.run(o)
			w.caught(r)
			r.end(t)
			o.Metrics = w.options(w.Client).Metrics
			for p := range w.N {
				got, status, models := w.propensities(p, round*live)
				var want model.Scores
				offline[p].Events(sample.Records(p*1_000_000+round*live, live), &want)
				if len(got) != live {
					t.Fatalf("partition %d: %d scores", p, len(got))
				}
				for i := range got {
					if math.Float64bits(got[i]) != math.Float64bits(want.P[2*i+1]) || status[i] != "ok" ||
						models[i] != fmt.Sprint(h.Model.Version) {
						t.Fatalf("partition %d, live record %d: %v by model %s, %s, and offline %v", p, i, got[i], models[i], status[i],
							want.P[2*i+1])
					}
				}
			}
		}
		w.ExactlyOnce()
		found, err := verified(context.Background(), w.options(w.Client))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			if len(v.Problems) > 0 || v.Messages != 2*live/50 || !strings.Contains(v.Start, "from files") {
				t.Errorf("verify: %+v", v)
			}
		}
	})
}

// TestABootstrapKnowsTheEndsOfItsTopics: the done record of each partition says where its scores and its letters go on,
// also where the dead-letter topic has fewer partitions than the events, and so letters of several in one.
func TestABootstrapKnowsTheEndsOfItsTopics(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorldOfTwo(t, addr)
		ends := map[string][]int64{w.Topics.Events: {1, 2, 3}, w.Topics.Labels: {4, 0, 5}, w.Topics.Scores: {7, 6, 0},
			w.Topics.Dead: {8, 9}}
		for topic, all := range ends {
			for p, n := range all {
				for range n {
					if err := w.Client.Produce(t.Context(), []txn.Record{{Topic: topic, Partition: p, Value: []byte("x")}},
						txn.None); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		o := w.bootstrapping(sample.Spec())
		o.From = bootstrap.End
		h := past(t, o.Spec, w.N, 50, 0)
		if _, err := bootstrap.Write(t.Context(), o, h.Partitions, nil); err != nil {
			t.Fatal(err)
		}
		for p := range w.N {
			var got state.Done
			var err error
			// A real broker writes the end of a transaction into each partition some time after it has answered.
			streamtest.Eventually(t, 0, "no done record", func() bool {
				log := state.NewLog()
				if err := log.Follow(t.Context(), w.Client, w.Topics.State, p); err != nil {
					t.Fatal(err)
				}
				got, err = log.Done()
				return err != nil || got.Number > 0
			})
			events, labels := ends[w.Topics.Events][p], ends[w.Topics.Labels][p]
			want := state.Done{Number: got.Number, Events: events, EventsFrom: events, Answered: events, Labels: labels,
				LabelsFrom: labels, ScoresFrom: ends[w.Topics.Scores][p], DeadFrom: ends[w.Topics.Dead][p%2]}
			if err != nil || got != want {
				t.Errorf("partition %d: %+v, want %+v, error %v", p, got, want, err)
			}
		}
	})
}

// refusedBootstrap is the text with which a bootstrap is refused.
func refusedBootstrap(t *testing.T, o bootstrap.Options) string {
	t.Helper()
	_, err := bootstrap.Look(t.Context(), o)
	var refused *bootstrap.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v", err)
	}
	return err.Error()
}

// TestABootstrapTakesNoStateAway: it is refused while a member runs, where a state is, and where messages are of which
// nobody says whether they are in the files.
func TestABootstrapTakesNoStateAway(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		o.FitEvery = time.Hour
		b := w.bootstrapping(o.Spec)
		w.Produce(100, 50, true)
		if text := refusedBootstrap(t, b); !strings.Contains(text, "--from end") {
			t.Errorf("messages: %s", text)
		}
		r := w.run(o)
		w.caught(r)
		if text := refusedBootstrap(t, b); !strings.Contains(text, "stop them first") {
			t.Errorf("a member: %s", text)
		}
		r.end(t)
		if text := refusedBootstrap(t, b); !strings.Contains(text, "--replace "+w.Name) {
			t.Errorf("a state: %s", text)
		}
		other := b
		other.Name, other.Replace = w.Name+"-other", true
		if text := refusedBootstrap(t, other); !strings.Contains(text, "the state of the stage "+w.Name) {
			t.Errorf("the state of another stage: %s", text)
		}
		b.Replace = true
		plan, err := bootstrap.Look(t.Context(), b)
		if err != nil || plan.Starts[0].Events != w.Committed(0) || plan.Starts[0].Events == 0 {
			t.Errorf("%+v, committed is %d, error %v", plan, w.Committed(0), err)
		}
		if _, err := bootstrap.Write(t.Context(), b, nil, nil); !errors.As(err, new(*bootstrap.RefusedError)) {
			t.Errorf("no states for one partition: %v", err)
		}
	})
}

// TestABootstrapReplacesAState: the stage goes on behind its last score, or where it is told, with the state of the
// files alone; no event is scored twice unless it is told so, and verify takes former scores for no mistake.
func TestABootstrapReplacesAState(t *testing.T) {
	for _, from := range []bootstrap.From{bootstrap.Committed, bootstrap.First, bootstrap.End} {
		t.Run("from "+string(from), func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				o := w.options(w.Client)
				o.FitEvery = time.Hour
				former := past(t, o.Spec, 1, 200, 0)
				if _, err := bootstrap.Write(t.Context(), w.bootstrapping(o.Spec), former.Partitions, former.Model); err != nil {
					t.Fatal(err)
				}
				w.Produce(140, 20, true)
				r := w.run(o)
				w.caught(r)
				r.end(t)
				scored := w.Next[0]
				w.Produce(60, 20, true) // nobody reads them yet
				b := w.bootstrapping(o.Spec)
				b.Replace, b.From = true, from
				plan, err := bootstrap.Look(t.Context(), b)
				if err != nil || plan.Model != former.Model.Version {
					t.Fatalf("%+v, error %v", plan, err)
				}
				h := past(t, o.Spec, 1, 1400, plan.Model)
				if _, err := bootstrap.Write(t.Context(), b, h.Partitions, h.Model); err != nil {
					t.Fatal(err)
				}
				first := map[bootstrap.From]int{bootstrap.Committed: scored, bootstrap.First: 0, bootstrap.End: scored + 60}[from]
				w.Produce(100, 50, true)
				o = w.options(w.Client)
				o.FitEvery = time.Hour
				r = w.run(o)
				w.caught(r)
				r.end(t)
				got, _, _ := w.propensities(0, scored)
				var want model.Scores
				offline, err := model.RestorePartition(o.Spec, h.Partitions[0].Snapshot())
				if err != nil {
					t.Fatal(err)
				}
				offline.Events(sample.Records(first, w.Next[0]-first), &want)
				if len(got) != want.N {
					t.Fatalf("%d scores, want %d", len(got), want.N)
				}
				for i := range got {
					if math.Float64bits(got[i]) != math.Float64bits(want.P[2*i+1]) {
						t.Fatalf("record %d: %v, and offline %v", first+i, got[i], want.P[2*i+1])
					}
				}
				kept := map[string]bool{} // as a build sees the topic that does not know the record of a beginning
				for _, x := range w.Records(w.Topics.State, 0) {
					kept[string(x.Key)] = x.Value != nil
					if string(x.Key) == state.BootstrapKey && x.Value != nil && kept["manifest/0"] {
						t.Error("a snapshot of the former state stays")
					}
				}
				found, err := verified(context.Background(), w.options(w.Client))
				if err != nil || len(found[0].Problems) > 0 || found[0].Records != want.N {
					t.Errorf("verify: %+v, %v", found, err)
				}
			})
		})
	}
}

// TestALostStateOfFilesIsNotReplacedInSilence: no topic has the records of the files, so a damaged state is the policy
// input_lost.
func TestALostStateOfFilesIsNotReplacedInSilence(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		h := past(t, o.Spec, 1, 200, 0)
		if _, err := bootstrap.Write(t.Context(), w.bootstrapping(o.Spec), h.Partitions, h.Model); err != nil {
			t.Fatal(err)
		}
		damaged := txn.Record{Topic: w.Topics.State, Key: []byte("part/core/0/0"), Value: []byte("damaged")}
		if err := w.Client.Produce(t.Context(), []txn.Record{damaged}, txn.None); err != nil {
			t.Fatal(err)
		}
		w.Produce(50, 50, true)
		r := w.run(o)
		if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "200 records of files") {
			t.Fatalf("the stage ends with %v", err)
		}
		o = w.options(w.Client)
		o.Policies.InputLost = committed.Rebuild
		r = w.run(o)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		found, err := verified(context.Background(), w.options(w.Client))
		if err != nil || len(found[0].Problems) > 0 || found[0].Start != "the beginning" {
			t.Errorf("verify: %+v, %v", found, err)
		}
	})
}

// TestABootstrapThatEndsHalfWay says how far it has come; the open transaction hides no state, and the same command
// writes the states that are missing.
func TestABootstrapThatEndsHalfWay(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		o := w.options(w.Client)
		h := past(t, o.Spec, w.N, 200, 0)
		var ending atomic.Int64 // transactions that may still end
		torn := txn.NewClient(txn.Config{Brokers: w.Brokers, Timeout: 2 * time.Second,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return &ended{c, &ending}, nil
			}})
		defer torn.Close()
		b := w.bootstrapping(o.Spec)
		ending.Store(2) // that of the model, and that of the first partition
		b.Client = torn
		var partly *bootstrap.PartlyError
		if _, err := bootstrap.Write(t.Context(), b, h.Partitions, h.Model); !errors.As(err, &partly) || partly.Done != 1 ||
			partly.All != 2 || !strings.Contains(err.Error(), "1 of 2 partitions have their states") {
			t.Fatalf("the command ends with %v", err)
		}
		b.Client = w.Client
		if _, err := bootstrap.Look(t.Context(), b); err == nil {
			t.Error("what is there is not seen")
		}
		b.Replace = true
		again := past(t, o.Spec, w.N, 200, h.Model.Version)
		if _, err := bootstrap.Write(t.Context(), b, again.Partitions, again.Model); err != nil {
			t.Fatal(err)
		}
		w.Produce(100, 50, true)
		r := w.run(o)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		found, err := verified(context.Background(), w.options(w.Client))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			if len(v.Problems) > 0 || !strings.Contains(v.Start, "from files") {
				t.Errorf("verify: %+v", v)
			}
		}
	})
}

// ended is a connection that ends where a transaction would, after so many have ended.
type ended struct {
	net.Conn
	left *atomic.Int64
}

func (c *ended) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 26 && c.left.Add(-1) < 0 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestABootstrapBeginsWhereTheGroupDoes: an offset that an operator has set before the first start says where the stage
// begins, of labels too, and a place that the command names goes before it.
func TestABootstrapBeginsWhereTheGroupDoes(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		w.Produce(60, 20, true) // three messages
		w.SendLabels(0, 20)
		w.setOffset(w.Topics.Events, 2, "")
		w.setOffset(w.Topics.Labels, 1, "")
		b := w.bootstrapping(o.Spec)
		for from, want := range map[bootstrap.From]state.Position{bootstrap.Committed: {Events: 2, Labels: 1},
			bootstrap.First: {}, bootstrap.End: {Events: 3, Labels: 1}} {
			b.From = from
			plan, err := bootstrap.Look(t.Context(), b)
			if err != nil || plan.Starts[0] != want {
				t.Errorf("from %q: %+v, %v; want %+v", from, plan, err, want)
			}
		}
		b.From = bootstrap.Committed
		h := past(t, o.Spec, 1, 200, 0)
		if _, err := bootstrap.Write(t.Context(), b, h.Partitions, h.Model); err != nil {
			t.Fatal(err)
		}
		r := w.run(o)
		w.caught(r)
		r.end(t)
		if ids := w.IDs(0); len(ids) != 20 || ids[0] != streamtest.RecordID(0, 40) {
			t.Errorf("scored are %q", ids)
		}
	})
}
