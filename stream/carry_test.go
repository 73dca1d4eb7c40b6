package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/propensity"
	"liftstream/stream/committed"
	"liftstream/stream/internal/sample"
	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
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
			{Name: "lift", Inputs: lift.MaxEntered, Fitted: true},
			{Name: "local", Inputs: 1},
			{Name: "kernel", Inputs: 1},
		}
		k := kernel.Default()
		k.Triples, k.Gamma1, k.Gamma2, k.Input = 200, .1, .1, kernel.Sum
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
		w := newWorld(t, addr, 1)
		x := &schemaChange{world: w, t: t,
			was: under(w.options(w.Client), sample.Schema, 9), next: under(w.options(w.Client), changedSchema, 10)}
		x.oldStageDies()
		x.stopsWhereItIsTold()
		x.diesBeforeTheFirstSnapshot()
		x.carriesOver()
		x.isTheReference()
		x.goesBack()
	})
}

// schemaChange is a partition whose configuration changes from one schema to another.
type schemaChange struct {
	*world
	t         *testing.T
	was, next Options
	change    int64 // event offset at which the old schema ends
	journal   int   // records of the journal before
}

// oldStageDies leaves events behind that the old stage has not seen.
func (x *schemaChange) oldStageDies() {
	m := &streamtest.Mortal{}
	o := x.was
	o.Client = txn.NewClient(txn.Config{Brokers: x.Brokers, Dial: m.Dial, Timeout: 2 * time.Second, ClientID: x.Name})
	defer o.Client.Close()
	o.Grace, o.Instance, o.Snapshot = time.Second, x.Name, 500*time.Millisecond
	x.Produce(4000, 40, true)
	r := x.run(o)
	x.caught(r)
	r.await(x.t, "no model was taken over", func(s Status) bool { return s.Partitions[0].Model > 0 })
	x.Produce(1000, 40, true) // after the snapshot, some of it
	x.caught(r)
	m.Die()
	r.stop()
	<-r.ended
	x.Produce(1000, 40, true)
}

// stopsWhereItIsTold ends the transactions that the old stage left open, so then it is known where the old schema ends.
func (x *schemaChange) stopsWhereItIsTold() {
	o := x.next
	o.SchemaChanged, o.Instance = committed.Fail, x.Name
	x.run(o).refuses(x.t, "schema_changed")
	x.change = x.Committed(0)
	x.journal = len(journalOf(x.t, x.world))
}

// diesBeforeTheFirstSnapshot of the new schema is there: nothing has happened.
func (x *schemaChange) diesBeforeTheFirstSnapshot() {
	o := x.next
	o.Metrics, o.Patience, o.Grace = x.options(x.Client).Metrics, 300*time.Millisecond, time.Second
	r := x.prepared(o)
	r.stage.commit = func(context.Context, *txn.Producer, txn.Transaction) error {
		return &txn.Error{Op: "EndTxn", Kind: txn.Environment, Err: errors.New("dead")}
	}
	r.start()
	if err := r.fails(x.t, 30*time.Second); !strings.Contains(err.Error(), "dead") {
		x.t.Fatal(err)
	}
	if n := counted(o.Metrics.Restores.WithLabelValues("carried")); n == 0 {
		x.t.Error("it was not carried over at all")
	}
}

func (x *schemaChange) carriesOver() {
	o := x.next
	o.FitRecords = 7500 // no model of the new schema is fitted to the 6,000 records so far, only to 6,500 and more
	r := x.prepared(o)
	send, written := r.stage.commit, false
	r.stage.commit = func(ctx context.Context, p *txn.Producer, tx txn.Transaction) error {
		for _, rec := range tx.Records {
			if rec.Topic == x.Topics.Scores && !written {
				x.t.Error("something is scored under the new schema before there is a snapshot of it")
			}
			written = written || strings.HasPrefix(string(rec.Key), "manifest/")
		}
		return send(ctx, p, tx)
	}
	r.start()
	x.caught(r)
	for _, c := range []struct {
		what    string
		counter prometheus.Counter
		want    float64
	}{
		{"states carried over", o.Metrics.Restores.WithLabelValues("carried"), 1},
		{"policies", o.Metrics.Policies.WithLabelValues("schema_changed", "carried"), 1},
		{"scores that know nothing", o.Metrics.Records.WithLabelValues("untrained"), 0},
		{"degraded scores", o.Metrics.Records.WithLabelValues("degraded"), 0},
	} {
		if n := counted(c.counter); n != c.want {
			x.t.Errorf("%s: %v, want %v", c.what, n, c.want)
		}
	}
	before := r.stage.Status().Partitions[0].Model
	x.Produce(1000, 40, true)
	r.await(x.t, "no model of the new schema was taken over",
		func(s Status) bool { return s.Partitions[0].Model != before })
	x.Produce(1000, 40, true)
	x.caught(r)
	r.end(x.t)
	x.ExactlyOnce()
	verdicts, err := verified(context.Background(), o)
	if err != nil || len(verdicts[0].Problems) > 0 || verdicts[0].Messages == 0 {
		x.t.Errorf("verify: %v %+v", err, verdicts)
	}
}

// isTheReference compares with a reference: the old commands under the old schema, the change, the new ones under the
// new. Beside it goes one on under the old schema: until the first model of the new schema, its local part and that of
// the carried state say the same of a record.
func (x *schemaChange) isTheReference() {
	t := x.t
	journal := journalOf(t, x.world)
	ref := newReference(t, x.world, x.was, journal[:x.journal])
	var uncarried *reference
	answers, compared := x.Records(x.Topics.Scores, 0), 0
	for i, rec := range x.Records(x.Topics.Events, 0) {
		if rec.Offset >= x.change && uncarried == nil {
			ref.swap(x.change)
			if len(ref.journal) > 0 {
				t.Fatalf("the old schema ends at event %d and has a journal record at %d", x.change, ref.journal[0].Events)
			}
			part := ref.part
			uncarried, ref = ref.copied(), newReference(t, x.world, x.next, journal[x.journal:])
			ref.carry(part)
		}
		ref.swap(rec.Offset)
		ref.events(&rec)
		if uncarried == nil || ref.part.ModelVersion() != uncarried.part.ModelVersion() {
			continue
		}
		uncarried.events(&rec)
		for k, got := range locally(t, answers[i].Value) {
			if want := answerOf(&ref.scores, x.next.Spec.Schema, k); got != want {
				t.Fatalf("event %d, record %d: %+v, the reference says %+v", rec.Offset, k, got, want)
			}
			want := answerOf(&uncarried.scores, x.was.Spec.Schema, k)
			if got.status != want.status || got.subspace != want.subspace {
				t.Fatalf("event %d, record %d: %+v, the old schema says %+v", rec.Offset, k, got, want)
			}
			compared++
		}
	}
	if compared < 1000 {
		t.Errorf("the carried state has answered %d records", compared)
	}
	ref.swap(1 << 60)
	got := newestSections(t, x.world)
	for name, want := range ref.part.Snapshot() {
		if !bytes.Equal(want, got[name]) {
			t.Errorf("section %s is not that of the reference", name)
		}
	}
}

// goesBack takes the old schema again, whose classes are fewer.
func (x *schemaChange) goesBack() {
	x.Produce(100, 20, true)
	back := under(x.options(x.Client), sample.Schema, 9)
	r := x.run(back)
	x.caught(r)
	r.end(x.t)
	restores := counted(back.Metrics.Restores.WithLabelValues("schema_changed"))
	if n := restores + counted(back.Metrics.Policies.WithLabelValues("schema_changed", "rebuild")); n == 0 {
		x.t.Error("a class less is a state anew, and that is counted")
	}
	x.ExactlyOnce()
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
		r.start()
		r.await(t, "it waits for ever", func(s Status) bool { return len(s.Partitions) > 0 && s.Partitions[0].Offset >= 20 })
		r.end(t)
		w.ExactlyOnce()
	})
}

// TestATornTransactionIsMadeWholeUnderItsOwnSchema kills a stage in a transaction that is committed in part, and starts
// the next one with a feature that no message of then has.
func TestATornTransactionIsMadeWholeUnderItsOwnSchema(t *testing.T) {
	for name, parts := range map[string]int{"without dead letters": inState | inScores | inGroup,
		"in the scores alone": inScores} {
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
				torn := make(chan struct{}, 1)
				r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
					if len(torn) > 0 {
						return &txn.Error{Op: "EndTxn", Kind: txn.Unknown, Err: errors.New("dead")}
					}
					if !writes(x, w.Topics.Dead) {
						return p.Commit(ctx, x)
					}
					err := tear(ctx, p, x, &w.Topics, parts)
					torn <- struct{}{}
					return err
				}
				r.start()
				streamtest.Eventually(t, 30*time.Second, "nothing was torn", func() bool { return len(torn) > 0 })
				r.stop()
				<-r.ended

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
				for letter, n := range w.DeadLetters() {
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
