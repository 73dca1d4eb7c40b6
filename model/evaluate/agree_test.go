package evaluate

import (
	"math"
	"testing"

	"liftstream/model"
)

// follower compares each model that was given a verdict with the one that served, again, on the records after the
// verdict.
type follower struct {
	d        *driver
	t        testing.TB
	records  int64
	model    *model.Model
	states   model.Held
	verdict  FitVerdict
	outcomes []outcome
}

// outcome is a verdict and the same comparison on the records after it.
type outcome struct {
	FitVerdict
	after model.Verdict
}

func (f *follower) onVerdict(m *model.Model, states model.Held, v FitVerdict) {
	f.finish()
	m, err := model.Renew(f.t.Context(), f.d.methods[0].Spec, m, states) // as it is, or would have been, published
	if err != nil {
		f.t.Error(err)
		return
	}
	f.model, f.states, f.verdict = m, states, v
}

func (f *follower) sink(*Record) error {
	if f.model != nil && f.d.run.Learnt >= f.verdict.Learnt+f.records {
		f.finish()
	}
	return nil
}

func (f *follower) finish() {
	if f.model == nil {
		return
	}
	after, err := model.Compare(f.t.Context(), f.d.methods[0].Spec, f.model, f.states, f.d.states(0), int(f.records))
	if err != nil {
		f.t.Error(err)
	}
	f.outcomes = append(f.outcomes, outcome{f.verdict, after})
	f.model = nil
}

// agreement counts the verdicts after which new and serving model clearly differ, and those of them with the same sign.
type agreement struct{ same, clear int }

// add counts a verdict if at least that many records after it differ by more than .002.
func (a *agreement) add(x *outcome, records int) {
	if x.after.Records < records || !(math.Abs(x.after.Difference()) > .002) {
		return
	}
	a.clear++
	if x.Difference()*x.after.Difference() > 0 {
		a.same++
	}
}

// following runs a stage and follows each verdict.
func following(t testing.TB, s *model.Schema, src Source, spec *model.Spec, opt Options, records int64) []outcome {
	t.Helper()
	f := &follower{t: t, records: records}
	d := newDriver(s, []Method{Stage(MethodAll, spec)}, opt, f.sink)
	f.d, d.onVerdict = d, f.onVerdict
	if err := d.drive(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	f.finish()
	for i := range f.outcomes {
		x := &f.outcomes[i]
		t.Logf("%d: %s %+.4f [%+.4f, %+.4f] on %d; next %d: %+.4f [%+.4f, %+.4f]", x.FitVerdict.Learnt, x.Reason,
			x.Difference(), x.Low, x.High, x.Records,
			x.after.Records, x.after.Difference(), x.after.Low, x.after.High)
	}
	return f.outcomes
}

// moving is a stream of n records whose features change their scale every 7,000 records, so that the cells of the
// serving model no longer fit.
func moving(n int) Source {
	return func(yield func(*model.Batch, error) bool) {
		const size = 500
		for a := 0; a < n; a += size {
			b := &model.Batch{N: size, Offset: int64(a / size), Columns: make([]model.Column, 3)}
			for i := a; i < a+size; i++ {
				scale := []float64{1, 30, .2, 5, 300}[i/7000%5]
				x, y := 2*uniform(5, i, 1)-1, 2*uniform(5, i, 2)-1
				z := 2*math.Sin(4*x) + 2*math.Cos(5*y)
				var class int32
				if uniform(5, i, 3) < 1/(1+math.Exp(-z)) {
					class = 1
				}
				for f, v := range []float64{scale * x, scale * y, uniform(5, i, 4)} {
					b.Columns[f].Float = append(b.Columns[f].Float, v)
				}
				b.Label, b.Row = append(b.Label, class), append(b.Row, int32(i-a))
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestSureVerdictsHoldForTheRecordsAfter: on a stream that changes at known places, in one partition, with late labels,
// and in four partitions, nine of ten verdicts whose interval leaves out 0 have the sign of the following 2,000 records
// wherever these differ by more than .002; there are at least ten such verdicts. Of all verdicts on this stream that is
// so in 10 of 13, on bank, adult, telco and elec2 in 26 of 32: where the interval holds 0, the records after can go
// either way.
func TestSureVerdictsHoldForTheRecordsAfter(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	s := &model.Schema{
		Features: []model.Feature{{Name: "x"}, {Name: "y"}, {Name: "noise"}}, Classes: []string{"no", "yes"}, Positive: 1,
	}
	var all, sure agreement
	for _, opt := range []Options{{Refit: 5000}, {Refit: 5000, Delay: 1000}, {Refit: 5000, Partitions: 4}} {
		for _, x := range following(t, s, moving(42_000), stageSpec(s), opt, 2000) {
			all.add(&x, 2000)
			if x.Low > 0 || x.High < 0 {
				sure.add(&x, 2000)
			}
		}
	}
	t.Logf("all %+v, sure ones %+v", all, sure)
	if sure.clear < 10 || 10*sure.same < 9*sure.clear {
		t.Errorf("%d of %d sure verdicts have the sign of the records after them", sure.same, sure.clear)
	}
}
