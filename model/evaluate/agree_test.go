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
	states   map[int32]map[string][]byte
	verdict  FitVerdict
	outcomes []outcome
}

// outcome is a verdict and what came after it.
type outcome struct {
	FitVerdict
	after model.Verdict
}

func (f *follower) judged(m *model.Model, states map[int32]map[string][]byte, v FitVerdict) {
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
	after, err := model.Judge(f.t.Context(), f.d.methods[0].Spec, f.model, f.states, f.d.states(0), int(f.records))
	if err != nil {
		f.t.Error(err)
	}
	f.outcomes = append(f.outcomes, outcome{f.verdict, after})
	f.model = nil
}

// agreement counts the verdicts whose interval leaves out 0 and after which new and serving model differ by more than
// .002 on that many records, and those of them whose sign was the same.
func agreement(all []outcome, records int) (same, clear int) {
	for i := range all {
		x := &all[i]
		if sure := x.Low > 0 || x.High < 0; sure && x.after.Records == records && math.Abs(x.after.Difference()) > .002 {
			clear++
			if x.Difference()*x.after.Difference() > 0 {
				same++
			}
		}
	}
	return same, clear
}

// following runs a stage and follows each verdict.
func following(t testing.TB, s *model.Schema, src Source, spec *model.Spec, opt Options, records int64) []outcome {
	t.Helper()
	f := &follower{t: t, records: records}
	d := newDriver(s, []Method{Stage(MethodAll, spec)}, opt, f.sink)
	f.d, d.judged = d, f.judged
	if err := d.drive(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	f.finish()
	for i := range f.outcomes {
		x := &f.outcomes[i]
		t.Logf("%d: %s %+.4f [%+.4f, %+.4f] on %d; next %d: %+.4f [%+.4f, %+.4f]", x.FitVerdict.Learnt, x.Reason, x.Difference(), x.Low, x.High, x.Records,
			x.after.Records, x.after.Difference(), x.after.Low, x.after.High)
	}
	return f.outcomes
}

// TestSureVerdictsHoldForTheRecordsAfter: on the stream of bank, with its drift, in one partition and in six, a verdict
// whose interval leaves out 0 has the sign of what the next 2,000 records say, wherever they say something. Of all
// verdicts on bank, adult, telco and elec2 that is so in 26 of 32: where the interval holds 0, the records after can go
// either way. At present no verdict on bank is sure where the records after say something: the test checks nothing
// until one is.
func TestSureVerdictsHoldForTheRecordsAfter(t *testing.T) {
	s, src := bank(t)
	same, clear := 0, 0
	for _, opt := range []Options{{Refit: 5000}, {Refit: 5000, Delay: 1000}, {Refit: 5000, Partitions: 6}} {
		a, b := agreement(following(t, s, src, stageSpec(s), opt, 2000), 2000)
		same, clear = same+a, clear+b
		t.Logf("%+v: %d of %d", opt, a, b)
	}
	if 10*same < 9*clear {
		t.Errorf("%d of %d verdicts have the sign of what followed", same, clear)
	}
}
