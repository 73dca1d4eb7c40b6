package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"liftstream/stream/committed"
	"liftstream/stream/internal/sample"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/propensity"
	"liftstream/stream/txn"
)

// changedSchema is sample.Schema with another order, a new feature in front and a new class.
var changedSchema = &model.Schema{
	Features: []model.Feature{
		{Name: "extra", Kind: model.Continuous},
		{Name: "c", Kind: model.Nominal},
		{Name: "x", Kind: model.Continuous},
	},
	Classes: []string{"no", "yes", "maybe"}, Positive: 1,
}

// under makes o that of another schema.
func under(o Options, s *model.Schema, fingerprint uint64) Options {
	o.Under = func(s *model.Schema, fingerprint uint64) (*model.Spec, codec.Options, error) {
		spec := sample.Spec()
		spec.Schema, spec.Options.Fingerprint, spec.Options.Frame = s, fingerprint, 77
		p := propensity.Default()
		p.Blocks = []propensity.Block{
			{Term: model.TermSets, Inputs: lift.MaxEntered},
			{Term: model.TermLocal, Inputs: 1},
			{Term: model.TermKernel, Inputs: 1},
		}
		k := kernel.Default()
		k.Triples, k.Gamma1, k.Gamma2 = 200, .1, .1
		spec.Scorecard = propensity.New(p, s)
		spec.Components = []model.Factory{
			lift.New(lift.Options{Quantiles: 4, Enter: true, Sets: lift.SetOptions{Min: 1, Max: 2, Top: 9}}, s),
			local.New(local.Options{Theta: .1, Prototypes: 64}, s),
			kernel.New(k, s),
		}
		return spec, codec.Options{Schema: s, ID: "id", Label: "y"}, nil
	}
	var err error
	if o.Spec, o.Codec, err = o.Under(s, fingerprint); err != nil {
		panic(err)
	}
	return o
}

// answer is the local part's answer to a record, and the common one to its class.
type answer struct {
	status, subspace string
	yes              float64
}

// locally reads that of a message of scores.
func locally(t *testing.T, value []byte) (out []answer) {
	t.Helper()
	for tab, err := range codec.Tables(value, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range tab.Rows() {
			var row struct {
				Status    string
				Subspace  []string
				Relevance []float32
				Yes       float64 `json:"propensity_yes"`
			}
			if err := json.Unmarshal(tab.AppendJSON(nil, i), &row); err != nil {
				t.Fatal(err)
			}
			out = append(out, answer{row.Status, fmt.Sprint(row.Subspace, row.Relevance), row.Yes})
		}
	}
	return out
}

func answerOf(s *model.Scores, schema *model.Schema, i int) answer {
	from := int32(0)
	if i > 0 {
		from = s.SubspaceEnd[i-1]
	}
	var names []string
	for _, f := range s.Subspace[from:s.SubspaceEnd[i]] {
		names = append(names, schema.Features[f].Name)
	}
	return answer{s.Status[i].String(), fmt.Sprint(names, s.Relevance[from:s.SubspaceEnd[i]]), s.P[i*s.Classes+1]}
}

func TestChangedSchemaCarriesTheStateOver(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		ctx := context.Background()
		w := newWorld(t, addr, 1)
		was := under(w.options(w.Client), sample.Schema, 9)
		w.Produce(4000, 40, true)
		m := &streamtest.Mortal{}
		c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: w.Name})
		o := was
		o.Client, o.Grace, o.Instance = c, time.Second, w.Name
		o.Snapshot = 500 * time.Millisecond
		r := w.run(o)
		w.caught(r)
		r.await(t, "no model was taken over", func(s Status) bool { return s.Partitions[0].Model > 0 })
		w.Produce(1000, 40, true) // after the snapshot, some of it
		w.caught(r)
		m.Die()
		r.stop()
		<-r.done
		c.Close()
		w.Produce(1000, 40, true)

		// It stops where it is told to.
		next := under(w.options(w.Client), changedSchema, 10)
		o = next
		o.SchemaChanged, o.Instance = committed.Fail, w.Name
		var p *PolicyError
		if err := w.run(o).fails(t, 30*time.Second); !errors.As(err, &p) || p.Policy != "schema_changed" {
			t.Fatalf("got %v", err)
		}
		// That has ended the transactions that the old stage left open, so now it is known where the old schema ends.
		change, err := w.Client.CommittedOffset(ctx, w.Name, w.Topics.Events, 0)
		if err != nil {
			t.Fatal(err)
		}
		old := len(journalOf(t, w))
		// It dies before the first snapshot of the new schema is there: nothing has happened.
		o = next
		o.Metrics, o.Patience, o.Grace = w.options(w.Client).Metrics, 300*time.Millisecond, time.Second
		r = w.prepared(o)
		r.stage.commit = func(context.Context, *txn.Producer, txn.Transaction) error {
			return &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("dead")}
		}
		r.begin()
		if err := r.fails(t, 30*time.Second); !strings.Contains(err.Error(), "dead") {
			t.Fatal(err)
		}
		if n := counted(o.Metrics.Restores.WithLabelValues("carried")); n == 0 {
			t.Error("it was not carried over at all")
		}

		o = next
		o.FitRecords = 6500 // the records so far are answered before there is a model of the new schema
		r = w.prepared(o)
		send, written := r.stage.commit, false
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			for _, rec := range x.Records {
				if rec.Topic == w.Topics.Scores && !written {
					t.Error("something is scored under the new schema before there is a snapshot of it")
				}
				written = written || strings.HasPrefix(string(rec.Key), "manifest/")
			}
			return send(ctx, p, x)
		}
		r.begin()
		w.caught(r)
		if n := counted(o.Metrics.Restores.WithLabelValues("carried")); n != 1 {
			t.Errorf("%v states were carried over", n)
		}
		if n := counted(o.Metrics.Policies.WithLabelValues("schema_changed", "carried")); n != 1 {
			t.Errorf("counted %v times", n)
		}
		if n := counted(o.Metrics.Records.WithLabelValues("untrained")); n != 0 {
			t.Errorf("%v scores know nothing", n)
		}
		if n := counted(o.Metrics.Records.WithLabelValues("degraded")); n != 0 {
			t.Errorf("%v scores are degraded", n)
		}
		before := r.stage.Status().Partitions[0].Model
		w.Produce(1000, 40, true)
		r.await(t, "no model of the new schema was taken over",
			func(s Status) bool { return s.Partitions[0].Model != before })
		w.Produce(1000, 40, true)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()

		verdicts, err := verified(ctx, o)
		if err != nil || len(verdicts[0].Problems) > 0 || verdicts[0].Messages == 0 {
			t.Errorf("verify: %v %+v", err, verdicts)
		}

		// The reference: the old commands under the old schema, the change, the new ones under the new.
		ref := model.NewPartition(was.Spec, 0)
		dec, err := codec.NewDecoder(was.Codec)
		if err != nil {
			t.Fatal(err)
		}
		models := state.NewModels(w.Client, w.Topics.Model, sample.Schema)
		for end := false; !end; {
			if end, err = models.Advance(ctx, 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		swaps := journalOf(t, w)
		now, swaps, later := was.Spec, swaps[:old], swaps[old:]
		// Beside it, one that goes on under the old schema: until the first model of the new schema, its local part and that
		// of the carried state say the same of a record.
		var uncarried *model.Partition
		var same model.Scores
		olddec, err := codec.NewDecoder(was.Codec)
		if err != nil {
			t.Fatal(err)
		}
		answers, compared := w.Records(w.Topics.Scores, 0), 0
		swap := func(before int64) {
			for len(swaps) > 0 && before >= swaps[0].Events {
				if e := swaps[0]; e.Model != ref.ModelVersion() {
					m, err := models.Under(e.Model, now.Schema)
					if err == nil {
						err = ref.Swap(m)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				swaps = swaps[1:]
			}
		}
		var batch model.Batch
		var s model.Scores
		for i, rec := range w.Records(w.Topics.Events, 0) {
			if rec.Offset >= change && now == was.Spec {
				swap(change)
				if len(swaps) > 0 {
					t.Fatalf("the old schema ends at event %d and has a journal record at %d", change, swaps[0].Events)
				}
				if uncarried, err = model.RestorePartition(was.Spec, ref.Snapshot()); err != nil {
					t.Fatal(err)
				}
				if ref, _, err = ref.Carry(next.Spec); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{local.Name, kernel.Name} {
					if n := ref.Component(name).InputCount(); n != 1 {
						t.Errorf("%s offers %d inputs", name, n)
					}
				}
				if dec, err = codec.NewDecoder(next.Codec); err != nil {
					t.Fatal(err)
				}
				now, swaps = next.Spec, later
			}
			swap(rec.Offset)
			if _, err := dec.Decode(&codec.Message{Value: rec.Value, Offset: rec.Offset, Time: rec.Time.UnixNano(),
				Now: rec.Time.UnixNano()}, &batch, nil); err != nil {
				t.Fatal(err)
			}
			ref.Events(&batch, &s)
			if uncarried == nil || ref.ModelVersion() != uncarried.ModelVersion() {
				continue
			}
			if _, err := olddec.Decode(&codec.Message{Value: rec.Value, Offset: rec.Offset, Time: rec.Time.UnixNano(),
				Now: rec.Time.UnixNano()}, &batch, nil); err != nil {
				t.Fatal(err)
			}
			uncarried.Events(&batch, &same)
			for k, got := range locally(t, answers[i].Value) {
				if want := answerOf(&s, next.Spec.Schema, k); got != want {
					t.Fatalf("event %d, record %d: %+v, the reference says %+v", rec.Offset, k, got, want)
				}
				if want := answerOf(&same, was.Spec.Schema, k); got.status != want.status || got.subspace != want.subspace {
					t.Fatalf("event %d, record %d: %+v, the old schema says %+v", rec.Offset, k, got, want)
				}
				compared++
			}
		}
		if compared < 1000 {
			t.Errorf("%d records were answered by what was carried over", compared)
		}
		swap(1 << 60)
		log := state.NewLog()
		if err := log.Follow(ctx, w.Client, w.Topics.State, 0); err != nil {
			t.Fatal(err)
		}
		found, _ := log.Manifests()
		got, err := log.Sections(found[0])
		if err != nil {
			t.Fatal(err)
		}
		want := ref.Snapshot()
		for name := range want {
			if !bytes.Equal(want[name], got[name]) {
				t.Errorf("section %s is not that of the reference", name)
			}
		}
		// And back again.
		w.Produce(100, 20, true)
		back := under(w.options(w.Client), sample.Schema, 9)
		r = w.run(back)
		w.caught(r)
		r.end(t)
		restores := counted(back.Metrics.Restores.WithLabelValues("schema_changed"))
		if n := restores + counted(back.Metrics.Policies.WithLabelValues("schema_changed", "rebuild")); n == 0 {
			t.Error("a class less is a state anew, and that is counted")
		}
		w.ExactlyOnce()
	})
}

// The share of the read bytes does not bound the snapshot without which nothing is read: a first attempt that failed
// has written, and nothing is read before the second.
func TestTheSnapshotOfACarriedStateWaitsForNoInput(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(500, 50, true)
		r := w.run(under(w.options(w.Client), sample.Schema, 9))
		w.caught(r)
		r.end(t)
		w.Produce(500, 50, true)
		o := under(w.options(w.Client), changedSchema, 10)
		o.SnapshotShare = 0.1
		r = w.prepared(o)
		send, failed := r.stage.commit, false
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			if !failed {
				failed = true
				return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("by the test")}
			}
			return send(ctx, p, x)
		}
		r.begin()
		r.await(t, "it waits for ever", func(s Status) bool { return len(s.Partitions) > 0 && s.Partitions[0].Offset >= 20 })
		r.end(t)
		w.ExactlyOnce()
	})
}

// TestATornTransactionIsMadeWholeUnderItsOwnSchema kills a stage in a transaction that is committed in part, and starts
// the next one with a feature that no message of then has.
func TestATornTransactionIsMadeWholeUnderItsOwnSchema(t *testing.T) {
	for name, kept := range map[string]int{"without dead letters": 1 | 2 | 8, "in the scores alone": 2} {
		t.Run(name, func(t *testing.T) {
			streamtest.Brokers(t, func(t *testing.T, addr string) {
				w := newWorld(t, addr, 1)
				o := under(w.options(w.Client), sample.Schema, 9)
				w.Produce(400, 10, true)
				r := w.run(o)
				w.caught(r)
				r.end(t)
				w.Produce(200, 10, true)
				w.Send(w.Topics.Events, "no event")
				w.Produce(200, 10, true)
				r = w.prepared(o)
				send, torn := r.stage.commit, make(chan struct{}, 1)
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					dead := &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("dead")}
					if len(torn) > 0 {
						return dead
					}
					if !slices.ContainsFunc(x.Records, func(rec txn.Record) bool { return rec.Topic == w.Topics.Dead }) {
						return send(ctx, p, x)
					}
					bit := map[string]int{w.Topics.State: 1, w.Topics.Scores: 2, w.Topics.Dead: 4}
					x.Records = slices.DeleteFunc(
						slices.Clone(x.Records),
						func(rec txn.Record) bool { return kept&bit[rec.Topic] == 0 },
					)
					if kept&8 == 0 {
						x.Offsets = nil
					}
					if err := send(ctx, p, x); err != nil {
						return err
					}
					torn <- struct{}{}
					return dead
				}
				r.begin()
				streamtest.Eventually(t, 30*time.Second, "nothing was torn", func() bool { return len(torn) > 0 })
				r.stop()
				<-r.done

				with := *sample.Schema
				with.Features = append([]model.Feature{{Name: "brand", Kind: model.Nominal}}, sample.Schema.Features...)
				o = under(w.options(w.Client), &with, 10)
				r = w.run(o)
				w.caught(r)
				r.end(t)
				if n := counted(o.Metrics.Restores.WithLabelValues("carried")); n != 1 {
					t.Errorf("%v states were carried over", n)
				}
				// Each message is scored or a dead letter, once.
				answers := map[int64]int{}
				for _, rec := range w.Records(w.Topics.Scores, 0) {
					of, err := scores.EventOf(&rec)
					if err != nil {
						t.Fatal(err)
					}
					answers[of]++
				}
				for letter, n := range w.Letters() {
					of, err := strconv.ParseInt(strings.TrimPrefix(letter, w.Topics.Events+" "), 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					answers[of] += n
				}
				_, end, err := w.Client.Bounds(context.Background(), w.Topics.Events, 0)
				if err != nil {
					t.Fatal(err)
				}
				for of := range end {
					if answers[of] != 1 {
						t.Errorf("event %d has %d answers", of, answers[of])
					}
				}
			})
		})
	}
}
