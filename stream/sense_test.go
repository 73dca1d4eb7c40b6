package stream

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/orders"
	"liftstream/stream/replay"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

func inverted(y int32) int32 { return 1 - y }

// second has the trainer publish two models of honest labels, and the partition serve the second one.
func second(t *testing.T) *fitter {
	t.Helper()
	f := newFitter(t, 1, func(o *Options) {
		spec := *o.Spec
		spec.Options.Gate = 5 // so that the gate refuses none
		o.Spec = &spec
	})
	f.learns(0, 900)
	f.works("the first model")
	f.serves()
	f.learns(0, 900)
	f.works("the second fit")
	f.learns(0, 200)
	f.works("the second model")
	if v := f.s.models.Verdict(); v == nil || !v.Accepted() || f.newest() != 2 {
		t.Fatalf("verdict %+v, model %d", v, f.newest())
	}
	f.serves()
	return f
}

// again has the trainer fit to the next n records and judge the model on 200 more. It returns the verdict.
func (f *fitter) again(n int) *state.GateVerdict {
	f.w.T.Helper()
	f.learns(0, n)
	f.now = f.now.Add(f.o.FitEvery)
	f.works("a fit")
	f.learns(0, 200)
	f.works("its verdict")
	return f.s.models.Verdict()
}

// TestModelsOfInvertedLabelsAreRefused up to model.InvertedFor records, though the gate lets each model pass, and by a
// trainer that begins anew as well. The refusal says why. Honest labels are fitted on after them.
func TestModelsOfInvertedLabelsAreRefused(t *testing.T) {
	f := second(t)
	f.label = inverted
	for since, anew := 0., false; since < model.InvertedFor; since += 6200 {
		if anew {
			f.trainer = &trainer{s: f.s, packer: state.NewPacker(), logs: f.logs, began: f.now, cold: newColdStart(f.o)}
		}
		anew = !anew
		v := f.again(6000)
		if v.Reason != model.Inverted || v.Accepted() || v.Version != 0 || v.Previous != 2 || v.Since != since ||
			!strings.HasPrefix(v.Note, "labels look inverted: log-loss") || f.newest() != 2 {
			t.Fatalf("after %v: %+v, model %d", since, v, f.newest())
		}
		if n := f.fits()["refused"]; n != since/6200+1 || f.s.refusals.Load() != uint64(n) {
			t.Errorf("%v are counted as refused", n)
		}
	}
	if v := f.again(6000); v.Reason == model.Inverted || f.newest() != 3 {
		t.Errorf("after model.InvertedFor: %+v, model %d", v, f.newest())
	}
	f.serves()
	if v := f.again(900); v.Reason == model.Inverted {
		t.Errorf("of the new sense: %+v", v)
	}
	f = second(t)
	f.learns(0, 950)
	f.now = f.now.Add(f.o.FitEvery)
	f.works("a fit")
	f.label = inverted
	f.learns(0, 100)
	f.waits("a verdict on 100 records")
	f.label = nil
	f.learns(0, 30)
	f.label = inverted
	f.learns(0, 70)
	f.works("a verdict that sees few of them")
	if f.newest() != 3 {
		t.Fatalf("%+v, model %d", f.s.models.Verdict(), f.newest())
	}
	f.serves()
	for range 2 { // model 3 has learnt inverted labels itself
		if v := f.again(900); v.Reason != model.Inverted || v.Previous != 3 {
			t.Fatalf("%+v", v)
		}
	}
	f.label = nil
	if v := f.again(6000); !v.Accepted() || f.newest() != 4 {
		t.Errorf("after the labels are right again: %+v, model %d", v, f.newest())
	}
	f.serves()
	f.label = inverted // the refusals beside model 3 do not count for model 4
	if v := f.again(6000); v.Reason != model.Inverted || v.Previous != 4 || v.Since != 0 {
		t.Errorf("inverted once more: %+v", v)
	}
}

// TestModelsOfOneSidedLabelsAreRefused: for 10,000 records no label says "yes", as where the labels are lost and
// on_expiry makes them "no".
func TestModelsOfOneSidedLabelsAreRefused(t *testing.T) {
	f := second(t)
	f.label = func(int32) int32 { return 0 }
	for range 5 {
		if v := f.again(2000); v.Reason != model.Inverted || f.newest() != 2 ||
			!strings.HasPrefix(v.Note, "labels look one-sided: none of the newest 2000 labelled records is of the class") {
			t.Fatalf("%+v, model %d", v, f.newest())
		}
	}
	f.label = nil
	if v := f.again(6000); !v.Accepted() || f.newest() != 3 {
		t.Errorf("after the labels are back: %+v, model %d", v, f.newest())
	}
}

// TestAModelOfTheFirstRecordsIsRefusedForInvertedLabels, too: it has no verdict of the gate.
func TestAModelOfTheFirstRecordsIsRefusedForInvertedLabels(t *testing.T) {
	f := newFitter(t, 1, func(o *Options) { o.FitRecords = 50_000 })
	f.learns(0, 900)
	f.works("the first model")
	f.serves()
	f.label = inverted
	f.learns(0, 1000)
	f.waits("a model of twice the records")
	v := f.s.models.Verdict()
	if v == nil || v.Reason != model.Inverted || v.Previous != 1 || f.newest() != 1 || f.ready != nil {
		t.Errorf("%+v, model %d", v, f.newest())
	}
	f.waits("before there are enough records for the next one")
	if n := f.fits()["refused"]; n != 1 || f.s.models.Verdict().Number != 1 {
		t.Errorf("%v refused", n)
	}
}

// TestTrustHasInvertedLabelsFittedOn: at once, without further records, and until a model is published. Without a
// refusal there is nothing to trust.
func TestTrustHasInvertedLabelsFittedOn(t *testing.T) {
	f := second(t)
	trust := orders.Options{Client: f.w.Client, Name: f.w.Name, Topic: f.w.Topics.Model,
		Fingerprint: f.o.Spec.Options.Fingerprint, Verb: orders.Trust, Who: "the test", Now: f.now}
	if _, err := orders.Give(t.Context(), trust); err == nil || !strings.Contains(err.Error(), "nothing to trust") {
		t.Errorf("without a refusal: %v", err)
	}
	f.label = inverted
	if v := f.again(1500); v.Reason != model.Inverted {
		t.Fatalf("%+v", v)
	}
	f.now = f.now.Add(f.o.FitEvery)
	f.waits("a fit of judged records")
	if _, err := orders.Give(t.Context(), trust); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, time.Minute, "the order is not read", f.s.models.Trusted)
	f.works("the fit of trusted records")
	f.learns(0, 200)
	f.works("its verdict")
	if v := f.s.models.Verdict(); !v.Accepted() || f.newest() != 3 || f.s.models.Trusted() {
		t.Errorf("%+v, model %d", v, f.newest())
	}
	f.serves()
	f.label = nil // the inverse of the trusted sense
	if v := f.again(1500); v.Reason != model.Inverted || f.newest() != 3 {
		t.Errorf("the order outlives its model: %+v", v)
	}
}

// TestFitsThatComeToNothingAreListed with their reason: a fit that takes too long, records of one class, a model that
// cannot be compared. None of them delays the next fit.
func TestFitsThatComeToNothingAreListed(t *testing.T) {
	f := newFitter(t, 1, nil)
	listed := func(number uint64, why string) {
		t.Helper()
		v := f.s.models.Verdict()
		if v == nil || v.Number != number || v.Reason != model.Failed || v.Version != 0 || v.Accepted() ||
			!strings.Contains(v.Note, why) || v.Labelled() == 0 {
			t.Errorf("%+v, want number %d and %q", v, number, why)
		}
	}
	f.label = func(int32) int32 { return 1 }
	f.learns(0, 400)
	f.waits("a model of one class")
	listed(1, "of one class")
	f.label = nil
	f.learns(0, 500)
	f.slow.on.Store(true)
	f.o.FitBudget = 20 * time.Millisecond
	f.waits("a fit that takes too long")
	listed(2, "longer than 20ms (fit.budget)")
	f.slow.on.Store(false)
	f.o.FitBudget = time.Hour
	f.works("the first model")
	f.serves()
	f.learns(0, 900)
	f.works("the second fit")
	f.parts[0], f.w.Next[0] = model.NewPartition(f.o.Spec, 0), 0
	f.learns(0, 100)
	f.works("a partition that began anew")
	listed(3, "cannot be compared: "+model.ErrAnotherHistory.Error())
	if f.newest() != 1 || f.waiting != nil {
		t.Errorf("model %d", f.newest())
	}
	f.learns(0, 1900) // 2,000, of which a model of 900 is taken to know 900
	f.now = f.now.Add(f.o.FitEvery)
	f.works("the fit after it")
	if f.waiting == nil {
		t.Error("a fit that came to nothing delays the next one")
	}
}

// TestNothingIsPublishedOfInvertedLabels: a running stage whose gate lets every model pass refuses those of inverted
// labels, and says so.
func TestNothingIsPublishedOfInvertedLabels(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		spec := *o.Spec
		spec.Options.Gate = 5
		o.Spec, o.Snapshot = &spec, 50*time.Millisecond
		r := w.run(o)
		w.Produce(2000, 50, true)
		w.caught(r)
		w.published(r, 1)
		refused := func() (n int) {
			for _, v := range r.stage.models.Verdicts() {
				if v.Reason == model.Inverted {
					n++
				}
			}
			return n
		}
		w.Invert = true
		sent := 0
		send := func(n int) {
			w.Produce(n, 100, true)
			w.caught(r)
			sent += n
		}
		r.await(t, "no model is refused", func(Status) bool {
			if refused() > 0 {
				return true
			}
			if sent < model.InvertedFor/2 {
				send(500)
			}
			return false
		})
		serves := r.stage.Status().Model
		for sent < 10_000 {
			send(500)
		}
		if s := r.stage.Status(); s.Model != serves {
			t.Errorf("model %d is published after %d, of inverted labels", s.Model, serves)
		}
		r.await(t, "the refusal is not counted", func(s Status) bool { return s.Refused > 0 })
		if n := counted(o.Metrics.Verdicts.WithLabelValues("inverted")); n == 0 {
			t.Error("no metric of inverted labels")
		}
		r.end(t)
		w.ExactlyOnce()
	})
}

// TestARollbackScoresByTheModelAsPublished: the scores after it are those of a partition that has the model and nothing
// else, bit for bit, also after a restart.
func TestARollbackScoresByTheModelAsPublished(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		o.Initial = fromFiles(t, o.Spec)
		r := w.run(o)
		r.serve(t, 1)
		w.Invert = true
		w.Produce(2000, 50, true)
		w.caught(r)
		file := fromFiles(t, o.Spec)
		if _, err := orders.Give(t.Context(), orders.Options{Client: w.Client, Name: w.Name, Topic: w.Topics.Model,
			Fingerprint: file.Fingerprint, Verb: orders.Publish, Model: file, Who: "the test", Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		r.await(t, "the partition serves no second model", func(s Status) bool { // else the wait for the first would see it
			return s.Serving > 1 && len(s.Partitions) > 0 && s.Partitions[0].Model == s.Serving
		})
		w.order(t, orders.Freeze, 0, true)
		r.await(t, "learning goes on", func(Status) bool {
			return gauge(r.stage.o.Metrics.Frozen.WithLabelValues("learning")) == 1
		})
		w.order(t, orders.Rollback, 1, false)
		r.serve(t, 1)
		check := func() {
			t.Helper()
			w.Produce(100, 100, false)
			w.caught(r)
			m, err := r.stage.models.Get(1)
			if err != nil {
				t.Fatal(err)
			}
			p := model.NewPartition(o.Spec, 0)
			if err := model.Return(p, m, 0); err != nil {
				t.Fatal(err)
			}
			want := expected(t, w, o, p)
			all := w.Records(w.Topics.Scores, 0)
			last := all[len(all)-1]
			if got := propensities(t, last.Value); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("propensities\n%s, want\n%s", got[:5], want[:5])
			}
			for _, h := range last.Headers {
				if h.Key == scores.HeaderModel && string(h.Value) != "1" {
					t.Errorf("of model %s", h.Value)
				}
			}
		}
		check()
		r.end(t)
		r = w.run(w.options(w.Client))
		check()
		r.end(t)
	})
}

// TestARollbackReachesAPartitionThatTookNoLaterModel: it has learnt inverted labels on top of the version to which the
// rollback goes, and returns to it all the same, once. It learns on from there, also over a restart.
func TestARollbackReachesAPartitionThatTookNoLaterModel(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		options := func() Options {
			o := w.options(w.Client)
			o.FitEvery = time.Hour
			return o
		}
		first := options()
		first.Initial = fromFiles(t, first.Spec)
		r := w.run(first)
		r.serve(t, 1)
		w.Invert = true
		w.Produce(2000, 50, true)
		w.caught(r)
		r.end(t)
		m, err := r.stage.models.Get(1)
		if err != nil {
			t.Fatal(err)
		}
		later := *m
		later.Version = 2
		records, err := r.stage.models.Publication(state.NewPacker(), &later, nil, time.Now(), state.Format)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Client.Produce(t.Context(), records, txn.None); err != nil {
			t.Fatal(err)
		}
		w.order(t, orders.Rollback, 1, false)
		w.order(t, orders.Freeze, 0, false)
		scored := func() (got, want string) {
			t.Helper()
			w.Produce(100, 100, false)
			w.caught(r)
			p := model.NewPartition(first.Spec, 0)
			if err := model.Return(p, m, 0); err != nil {
				t.Fatal(err)
			}
			want = strings.Join(expected(t, w, first, p), " ")
			all := w.Records(w.Topics.Scores, 0)
			return strings.Join(propensities(t, all[len(all)-1].Value), " "), want
		}
		r = w.run(options())
		if got, want := scored(); got != want {
			t.Errorf("propensities\n%.60s, want\n%.60s", got, want)
		}
		w.Produce(2000, 50, true)
		w.caught(r)
		r.end(t)
		r = w.run(options())
		if got, want := scored(); got == want {
			t.Error("the state has returned a second time, after a restart")
		}
		r.end(t)
		clean(t, options())
	})
}

// expected are the texts of the propensities that p gives the records of the last message of partition 0.
func expected(t *testing.T, w *world, o Options, p *model.Partition) (out []string) {
	t.Helper()
	m, err := replay.New(replay.Options{Spec: o.Spec, Codec: o.Codec})
	if err != nil {
		t.Fatal(err)
	}
	all := w.Records(w.Topics.Events, 0)
	if _, err := m.ReadEvents(&all[len(all)-1]); err != nil {
		t.Fatal(err)
	}
	var s model.Scores
	p.Events(&m.Batch, &s)
	for i := range m.Batch.N {
		out = append(out, strconv.FormatFloat(s.P[2*i+1], 'g', -1, 64))
	}
	return out
}

// propensities are the texts of a column of scores.
func propensities(t *testing.T, value []byte) (out []string) {
	t.Helper()
	for x, err := range codec.Tables(value, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Rows() {
			text, _ := x.Text(x.Column("propensity_yes"), i)
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return out
}

// TestAPausedPartitionObeysOrders: a partition under the breaker's pause serves the ordered version and stops learning
// without a message, and serves another one after a restart.
func TestAPausedPartitionObeysOrders(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		options := func() Options {
			o := w.options(w.Client)
			o.DeadShare, o.Initial, o.FitEvery = .05, fromFiles(t, o.Spec), time.Hour
			return o
		}
		o := options()
		r := w.run(o)
		w.Produce(300, 20, true)
		w.caught(r)
		file := fromFiles(t, o.Spec)
		if _, err := orders.Give(t.Context(), orders.Options{Client: w.Client, Name: w.Name, Topic: w.Topics.Model,
			Fingerprint: file.Fingerprint, Verb: orders.Publish, Model: file, Who: "the test", Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		r.await(t, "no second model", func(s Status) bool { return s.Serving > 1 })
		w.garbage(30)
		paused := func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].Phase == Paused }
		r.await(t, "it does not pause", paused)
		w.order(t, orders.Pin, 1, false)
		r.await(t, "it does not serve the pinned version", func(s Status) bool {
			return paused(s) && s.Partitions[0].Model == 1
		})
		w.order(t, orders.Freeze, 0, true)
		r.await(t, "it goes on learning", func(s Status) bool {
			return paused(s) && gauge(o.Metrics.Frozen.WithLabelValues("learning")) == 1
		})
		r.end(t)
		w.order(t, orders.Unpin, 0, false)
		o = options()
		r = w.run(o)
		r.await(t, "the restarted one does not obey", func(s Status) bool {
			return paused(s) && s.Partitions[0].Model == s.Serving && s.Serving > 1
		})
		r.end(t)
	})
}
