package stream

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestFreshRecordsAreThoseSinceTheLastVerdict: of this configuration, or since the last fit of this trainer; and all of
// a partition that began anew.
func TestFreshRecordsAreThoseSinceTheLastVerdict(t *testing.T) {
	files := &model.Model{Fingerprint: 9}
	marked := func(clock float64) *model.Model {
		return &model.Model{Fingerprint: 9, Marks: map[int32]model.Mark{0: {Clock: clock}, 1: {Clock: 100}}}
	}
	for _, c := range []struct {
		name     string
		previous *model.Model
		verdict  *state.GateVerdict
		tried    map[int32]float64
		want     float64
	}{
		{"no model", nil, nil, nil, 3500},
		{"a model of files", files, nil, nil, 3500},
		{"a model of the cold start", marked(600), nil, nil, 3500},
		{"a compared one", marked(900), nil, nil, 2500},
		{"a verdict", marked(900), &state.GateVerdict{Fingerprint: 9, Clocks: map[int32]float64{0: 2000}}, nil, 1500},
		{"of another configuration", marked(900), &state.GateVerdict{Fingerprint: 8, Clocks: map[int32]float64{0: 2000}}, nil,
			2500},
		{"a fit that came to nothing", marked(900), &state.GateVerdict{Fingerprint: 9, Clocks: map[int32]float64{0: 2000}},
			map[int32]float64{0: 2900, 1: 500}, 100},
		{"a partition that began anew", marked(900), nil, map[int32]float64{0: 3001, 1: 400}, 3100},
	} {
		o := Options{Spec: sample.Spec(), FitRecords: 1000}
		f := &trainer{s: &Stage{o: o, models: verdictTopic(t, c.verdict)}, tried: c.tried, cold: newColdStart(&o)}
		snaps := map[int32]*state.Manifest{0: {Labelled: 3000}, 1: {Labelled: 500}}
		if got := f.fresh(snaps, c.previous); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// verdictTopic is a log of a model topic with a verdict, nil = without.
func verdictTopic(t *testing.T, v *state.GateVerdict) *state.Models {
	t.Helper()
	if v == nil {
		return state.NewModels(nil, "models", sample.Schema)
	}
	c := streamtest.NewTopic(t, "models")
	m := state.NewModels(c, "models", sample.Schema)
	v.Number = 1
	err := c.Produce(t.Context(), []txn.Record{m.Pronounce(v, time.Unix(1, 0), state.Format)}, txn.None)
	for end := false; err == nil && !end; {
		end, err = m.Advance(t.Context(), time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestVersionsThatARestartNeeds are those of both snapshots, and of the journal since the older one; of all the journal
// where there is no snapshot. The next version comes after them, also where the model topic holds fewer.
func TestVersionsThatARestartNeeds(t *testing.T) {
	entry := func(l *state.Log, number uint64, model int64) {
		e := state.JournalEntry{Number: number, Position: state.Position{Events: int64(number), Model: model}}
		l.Apply([]byte(state.JournalKey(number)), e.Encode())
	}
	manifest := func(l *state.Log, number, journal uint64, version int64) {
		m := &state.Manifest{Number: number, Journal: journal, Position: state.Position{Model: version}}
		l.Apply([]byte(m.Key()), m.Encode())
	}
	both, journal, none := state.NewLog(), state.NewLog(), state.NewLog()
	manifest(both, 7, 6, 5)
	manifest(both, 6, 4, 2)
	entry(both, 4, 3)
	entry(both, 5, 4)
	entry(both, 6, 8)
	entry(journal, 0, 11)
	entry(journal, 1, 12)
	f := &trainer{s: &Stage{models: state.NewModels(nil, "", sample.Schema)}, logs: []*state.Log{both, journal, none}}
	want := map[int64]bool{5: true, 2: true, 3: true, 4: true, 8: true, 0: true, 11: true, 12: true}
	if got := f.needed(); !maps.Equal(got, want) {
		t.Errorf("needed %v, want %v", got, want)
	}
	if v, err := f.nextVersion(); err != nil || v != 13 {
		t.Errorf("the next version is %d, %v", v, err)
	}
	manifest(none, 1, 0, state.MaxNumber-1)
	if v, err := f.nextVersion(); err == nil {
		t.Errorf("the next version is %d", v)
	}
}

// The work of fits that end in time grows eightfold while they leave something out, up to all of it.
func TestWorkGrowsWhileAFitLeavesSomethingOut(t *testing.T) {
	all, narrow := &model.Model{}, &model.Model{Narrowed: []string{"x"}}
	for _, c := range []struct {
		m          *model.Model
		work, want int64
	}{
		{all, 1 << 30, 0}, {narrow, 1 << 30, 1 << 33}, {narrow, model.StageWork/8 - 1, model.StageWork - 8},
		{narrow, model.StageWork / 8, 0}, {all, 1 << 26, 0},
	} {
		f := &trainer{work: 7}
		if f.afford(c.m, c.work, 0); f.work != c.want {
			t.Errorf("%d left out after %d steps: the next fit has %d, want %d", len(c.m.Narrowed), c.work, f.work, c.want)
		}
	}
}

// TestWhenAModelOfTheColdStartIsDue: after the warm-up, and whenever its records have grown to AfterCold, until there
// are enough for a model that is compared.
func TestWhenAModelOfTheColdStartIsDue(t *testing.T) {
	o := &Options{Spec: sample.Spec(), FitRecords: 1000} // a warm-up of 50, and a compared model of 800
	of := func(clocks ...float64) *model.Model {
		m := &model.Model{Marks: map[int32]model.Mark{}}
		for p, n := range clocks {
			m.Marks[int32(p)] = model.Mark{Clock: n}
		}
		return m
	}
	for _, c := range []struct {
		name     string
		labelled []float64
		serving  int64 // version that the first partition serves
		previous *model.Model
		tried    float64
		want     bool
		early    bool // previous is one of the cold start
	}{
		{"no record", nil, 0, nil, 0, false, false},
		{"before the warm-up", []float64{20, 29}, 0, nil, 0, false, false},
		{"the warm-up", []float64{20, 30}, 0, nil, 0, true, false},
		{"an attempt that failed", []float64{50, 34}, 0, nil, 60, false, false},
		{"enough after it", []float64{50, 35}, 0, nil, 60, true, false},
		{"another configuration's model is served", []float64{20, 30}, 3, nil, 0, false, false},
		{"not yet enough", []float64{50, 34}, 1, of(40, 20), 0, false, true},
		{"enough", []float64{50, 35}, 1, of(40, 20), 0, true, true},
		{"enough, but tried", []float64{50, 35}, 1, of(40, 20), 61, false, true},
		{"enough for a compared one", []float64{400, 400}, 1, of(200, 200), 0, false, true},
		{"nearly enough", []float64{400, 399}, 1, of(200, 199), 0, true, true},
		{"many more, without a model", []float64{4000, 4000}, 0, nil, 0, true, false},
		{"beside a compared one", []float64{4000, 4000}, 1, of(400, 400), 0, false, false},
		{"beside one of files", []float64{60, 60}, 1, of(), 0, false, false},
	} {
		cold, snaps := newColdStart(o), map[int32]*state.Manifest{}
		for p, n := range c.labelled {
			snaps[int32(p)] = &state.Manifest{Labelled: n}
		}
		if c.serving > 0 {
			snaps[0].Model = c.serving
		}
		cold.tried = c.tried
		if got := cold.due(snaps, c.previous); got != c.want {
			t.Errorf("%s: due %v", c.name, got)
		}
		if got := cold.early(c.previous); got != c.early || cold.running(c.previous) != (c.early || c.previous == nil) {
			t.Errorf("%s: early %v, running %v", c.name, got, cold.running(c.previous))
		}
	}
	if c := newColdStart(&Options{Spec: sample.Spec(), FitRecords: 20}); c.warmup != 16 || c.limit != 16 {
		t.Errorf("with fewer records than the warm-up: %+v", c)
	}
}

// TestTheTrainersTroubleIsTold after three failures one after the other, at once where waiting does not help, and no
// longer when a step succeeds.
func TestTheTrainersTroubleIsTold(t *testing.T) {
	sick := &txn.Error{Kind: txn.Environment, Err: errors.New("away")}
	denied := &txn.Error{Kind: txn.Denied, Err: errors.New("not allowed")}
	for _, c := range []struct {
		name  string
		steps []error
		told  bool
	}{
		{"two failures", []error{sick, sick}, false}, {"three", []error{sick, sick, sick}, true},
		{"a success between", []error{sick, sick, nil, sick, sick}, false},
		{"nothing to do between", []error{sick, sick, errNotYet, sick}, false},
		{"a missing right", []error{denied}, true}, {"it is given", []error{denied, nil}, false},
		{"another owner", []error{sick, sick, sick, &txn.Error{Kind: txn.Fenced, Err: errors.New("fenced")}}, false},
	} {
		s := &Stage{o: Options{Metrics: NewMetrics(prometheus.NewRegistry())}}
		f, failed := &trainer{s: s}, 0.
		for _, err := range c.steps {
			f.tell(t.Context(), err)
			if err == sick || err == denied {
				failed++
			}
		}
		shown := written(t, s.o.Metrics.TrainerFailing).GetGauge().GetValue() == 1
		if (s.untrained != "") != c.told || shown != c.told || counted(s.o.Metrics.TrainerErrors) != failed {
			t.Errorf("%s: %q, the metric %v, %v errors", c.name, s.untrained, shown, counted(s.o.Metrics.TrainerErrors))
		}
	}
}

// Each feature or record that the newest model leaves out is named with its version.
func TestTheStatusNamesAllThatAModelLeavesOut(t *testing.T) {
	got := leftOut(&model.Model{Version: 7, Narrowed: []string{"a", "b"}})
	if !slices.Equal(got, []string{"model 7: a", "model 7: b"}) {
		t.Errorf("%q", got)
	}
}
