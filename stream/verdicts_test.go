package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
)

// verdict waits until the stage knows a verdict of at least that number.
func (r *running) verdict(t *testing.T, number uint64) *state.GateVerdict {
	t.Helper()
	r.await(t, "no verdict", func(s Status) bool { return s.Verdict != nil && s.Verdict.Number >= number })
	return r.stage.Status().Verdict
}

// fitted waits until a model waits for its verdict.
func (r *running) fitted(t *testing.T, m *Metrics) {
	t.Helper()
	r.await(t, "no fit", func(Status) bool { return observed(t, m.FitTime) > 0 })
}

func observed(t *testing.T, h prometheus.Histogram) uint64 {
	t.Helper()
	return written(t, h).GetHistogram().GetSampleCount()
}

func written(t *testing.T, m prometheus.Metric) *dto.Metric {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// TestTheTrainerComparesOnLaterRecords: beside a model of files, which ends the cold start, the next one is made of 900
// records, waits, and is compared on the records after them; the verdict is in the model, beside it in the
// topic, and in the metrics, and Compare says the same of the states.
func TestTheTrainerComparesOnLaterRecords(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		o.FitEvery = time.Hour // the first model waits for ten hours, a second one is not fitted
		o.Initial = fromFiles(t, o.Spec)
		o.FitRecords = 1125 // so it is fitted to all 900, wherever snapshots fall, and compared on 225
		w.Produce(900, 50, true)
		r := w.run(o)
		w.caught(r)
		r.fitted(t, o.Metrics)
		if v := r.stage.Status().Verdict; v != nil || r.stage.Status().Model != 1 {
			t.Fatalf("verdict %+v before any record came to compare on", v)
		}
		w.Produce(200, 50, true)
		r.await(t, "the metric does not say that 200 of 225 records have come", func(Status) bool {
			waits := byLabel(o.Metrics.Candidate)
			return waits["came"] == 200 && waits["needed"] == 225
		})
		w.Produce(400, 50, true)
		v := r.verdict(t, 1)
		w.caught(r)
		r.await(t, "the metric says that a model waits after its verdict",
			func(Status) bool { return len(byLabel(o.Metrics.Candidate)) == 0 })
		if v.Records != model.Compared(o.FitRecords) || v.Version != 2 || v.Previous != 1 || !v.Accepted() ||
			v.Clocks[0] < 1125 {
			t.Errorf("verdict %+v", v)
		}
		m, err := r.stage.models.Get(2)
		if err != nil {
			t.Fatal(err)
		}
		if m.Marks[0].Clock != 900 || m.Shares[0].Clock != v.Clocks[0] || !bytes.Equal(m.Info.Verdict.AppendBinary(nil),
			v.AppendBinary(nil)) {
			t.Errorf("model marks %v, shares %v, verdict %+v", m.Marks, m.Shares, m.Info.Verdict)
		}
		if n := counted(o.Metrics.Verdicts.WithLabelValues(v.Reason.String())); n != 1 {
			t.Errorf("%v verdicts counted", n)
		}
		if x := written(t, o.Metrics.Gate.WithLabelValues("difference")).GetGauge().GetValue(); x != v.Difference() {
			t.Errorf("difference %v, want %v", x, v.Difference())
		}
		r.end(t)
		// The same records give the same verdict: with any snapshots the comparison begins at 900 and takes 225.
		p := model.NewPartition(o.Spec, 0)
		initial := *o.Initial
		initial.Version = 1
		if err := p.Swap(&initial); err != nil {
			t.Fatal(err)
		}
		feedTo := func(from, to int) {
			var out model.Scores
			for i := from; i < to; i += 50 {
				m, err := replay.New(replay.Options{Spec: o.Spec, Codec: o.Codec})
				if err != nil {
					t.Fatal(err)
				}
				recs := w.Records(w.Topics.Events, 0)
				if _, err := m.ReadEvents(&recs[i/50]); err == nil {
					p.Events(&m.Batch, &out)
				}
			}
		}
		feedTo(0, 900)
		from := model.Held{0: p.Snapshot()}
		c, err := model.Fit(context.Background(), o.Spec, from, &initial)
		if err != nil {
			t.Fatal(err)
		}
		feedTo(900, 1500)
		again, err := model.Compare(context.Background(), o.Spec, c, from, model.Held{0: p.Snapshot()},
			model.Compared(o.FitRecords))
		if err != nil || !bytes.Equal(again.AppendBinary(nil), v.AppendBinary(nil)) {
			t.Errorf("%v: %+v, the stage said %+v", err, again, v.Verdict)
		}
		found, err := verified(context.Background(), w.options(w.Client))
		if err != nil || len(found[0].Problems) > 0 || found[0].Swaps != 2 {
			t.Errorf("verify: %v %+v", err, found)
		}
	})
}

// TestRefusedModelsLeaveTheirVerdict: a gate below every difference refuses all; their verdicts are in the topic, at
// most keptVerdicts of them, and a trainer that begins anew counts on from there.
func TestRefusedModelsLeaveTheirVerdict(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		spec := *o.Spec
		spec.Options.Gate = -10
		o.Spec, o.FitEvery, o.Snapshot = &spec, time.Second, 20*time.Millisecond
		o.Initial = fromFiles(t, o.Spec)
		w.Produce(900, 50, true)
		r := w.run(o)
		w.caught(r)
		r.fitted(t, o.Metrics)
		w.Produce(600, 50, true)
		v := r.verdict(t, 1)
		if v.Accepted() || v.Reason != model.Worse || v.Version != 0 || r.stage.Status().Model != 1 {
			t.Errorf("%+v, model %d", v, r.stage.Status().Model)
		}
		r.await(t, "the refusal is not counted", func(s Status) bool { return s.Refused > 0 }) // the topic tells of it before
		r.end(t)
		if n := r.stage.refusals.Load(); n != 1 || counted(o.Metrics.Fits.WithLabelValues("refused")) != 1 {
			t.Errorf("%d refused", n)
		}
		o = w.options(w.Client)
		o.Spec, o.FitEvery, o.Snapshot = &spec, time.Second, 20*time.Millisecond
		r = w.run(o)
		w.caught(r)
		time.Sleep(300 * time.Millisecond)
		if n := observed(t, o.Metrics.FitTime); n != 0 {
			t.Errorf("%d fits without new records", n)
		}
		w.Produce(900, 50, true)
		w.caught(r)
		r.fitted(t, o.Metrics)
		w.Produce(600, 50, true)
		if v := r.verdict(t, 2); v.Number != 2 || v.Version != 0 {
			t.Errorf("%+v", v)
		}
		r.end(t)
		p, err := state.ReadPublished(context.Background(), w.Client, w.Topics.Model)
		if err != nil {
			t.Fatal(err)
		}
		all := p.Verdicts
		if len(all) != 2 || all[0].Number != 1 || all[1].Number != 2 {
			t.Errorf("%+v", all)
		}
	})
}

// TestTheFirstModelIsNotKeptWaiting: it serves at once, without a comparison, and has no verdict.
func TestTheFirstModelIsNotKeptWaiting(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		w.Produce(950, 50, true)
		r := w.run(o)
		r.await(t, "no model was taken over", func(s Status) bool { return s.Fits > 0 && s.Model > 0 })
		if v := r.stage.Status().Verdict; v != nil {
			t.Errorf("%+v", v)
		}
		r.end(t)
	})
}

// TestAModelWhoseRecordsAreGoneIsDropped: the tail no longer reaches back to the snapshot that the model was made of,
// so another one is fitted, and that one gets its verdict.
func TestAModelWhoseRecordsAreGoneIsDropped(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		spec := *o.Spec
		spec.Options.TailBytes = 1 // 4,096 records
		o.Spec, o.FitEvery, o.Snapshot = &spec, time.Second, 2*time.Second
		o.Initial = fromFiles(t, o.Spec)
		w.Produce(900, 50, true)
		r := w.run(o)
		w.caught(r)
		r.fitted(t, o.Metrics)
		w.Produce(6000, 6000, true) // one message, so no snapshot falls among them
		w.caught(r)
		r.await(t, "not dropped", func(Status) bool { return counted(o.Metrics.Fits.WithLabelValues("dropped")) > 0 })
		r.await(t, "no second fit", func(Status) bool { return observed(t, o.Metrics.FitTime) >= 2 })
		w.Produce(600, 50, true)
		r.await(t, "no verdict", func(s Status) bool { return s.Verdict != nil && s.Verdict.Reason != model.Failed })
		if v := r.stage.Status().Verdict; v.Records != model.Compared(o.FitRecords) {
			t.Errorf("%+v", v)
		}
		if v := r.stage.models.Verdicts()[0]; v.Reason != model.Failed || !strings.Contains(v.Note, "older than the tail") {
			t.Errorf("the dropped one is listed as %+v", v)
		}
		r.end(t)
	})
}

// The status of a stage whose first model was compared with nothing can be written and read as JSON.
func TestVerdictAsJSON(t *testing.T) {
	nan := math.NaN()
	v := &state.GateVerdict{Number: 3, Version: 2, Clocks: map[int32]float64{1: 5},
		Verdict: model.Verdict{Reason: model.NothingToCompare, New: nan, Old: nan, Gate: .005, Low: nan, High: nan}}
	b, err := json.Marshal(Status{Verdict: v})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"New":null`) || !strings.Contains(string(b), `"Reason":"nothing_to_compare"`) {
		t.Errorf("%s", b)
	}
	var s Status
	err = json.Unmarshal(b, &s)
	if err != nil || s.Verdict.Number != 3 || s.Verdict.Gate != .005 || s.Verdict.Clocks[1] != 5 {
		t.Errorf("%+v, %v", s.Verdict, err)
	}
}
