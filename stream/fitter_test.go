package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// fitter is a trainer that is driven step by step, by a clock that the test moves. No task runs: the test writes the
// snapshots of the partitions.
type fitter struct {
	*trainer
	w     *world
	o     *Options
	now   time.Time
	slow  *lateness // the scorecard, whose fits end with their time while it is on
	parts []*model.Partition
	snaps []*state.Snapshotter
}

func newFitter(t *testing.T, partitions int, change func(o *Options)) *fitter {
	t.Helper()
	f := &fitter{w: alone(t, partitions), now: time.Unix(1_700_000_000, 0)}
	o := f.w.options(f.w.Client)
	o.Now, o.FitBudget, o.FitEvery = func() time.Time { return f.now }, time.Hour, time.Minute
	spec := *o.Spec
	f.slow = &lateness{ScorecardFactory: spec.Scorecard}
	spec.Scorecard, o.Spec = f.slow, &spec
	if change != nil {
		change(&o)
	}
	s := New(o)
	f.o, s.partitions = &s.o, partitions
	f.trainer = &trainer{s: s, packer: state.NewPacker(), began: f.now, cold: newColdStart(&o)}
	for p := range partitions {
		l := state.NewLog()
		l.Forgets = true
		f.logs = append(f.logs, l)
		f.parts = append(f.parts, model.NewPartition(o.Spec, int32(p)))
		f.snaps = append(f.snaps, state.NewSnapshotter())
	}
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { s.followModels(ctx) })
	t.Cleanup(func() { cancel(); following.Wait() })
	return f
}

// learns has a partition learn the next n records, and writes a snapshot of it.
func (f *fitter) learns(partition, n int) {
	f.w.T.Helper()
	var scores model.Scores
	f.parts[partition].Events(sample.Records(partition*1_000_000+f.w.Next[partition], n), &scores)
	f.w.Next[partition] += n
	f.saves(partition, f.o.Spec.Options.Fingerprint)
}

// saves writes a snapshot of a partition, made under a configuration of that fingerprint.
func (f *fitter) saves(partition int, fingerprint uint64) {
	f.w.T.Helper()
	p, s := f.parts[partition], f.snaps[partition]
	s.Start(p, fingerprint, state.Position{Events: p.NextOffset(), Model: p.ModelVersion()}, 0, state.Format)
	for whole := false; !whole; {
		var pieces []state.Change
		pieces, whole = s.Take(1 << 20)
		for _, c := range pieces {
			f.w.write(txn.Record{Topic: f.w.Topics.State, Partition: partition, Key: []byte(c.Key), Value: c.Value})
		}
	}
	s.Complete()
}

// serves has all partitions serve the newest model.
func (f *fitter) serves() {
	f.w.T.Helper()
	for _, p := range f.parts {
		if err := p.Swap(f.s.Serving()); err != nil {
			f.w.T.Fatal(err)
		}
	}
}

// works goes a step that has something to do, and waits that there was not.
func (f *fitter) works(what string) {
	f.w.T.Helper()
	if err := f.step(f.w.T.Context()); err != nil {
		f.w.T.Fatalf("%s: %v", what, err)
	}
}

// waits goes a step that finds too little to do.
func (f *fitter) waits(what string) {
	f.w.T.Helper()
	if err := f.step(f.w.T.Context()); !errors.Is(err, errNotYet) {
		f.w.T.Fatalf("%s: %v, want none to be due", what, err)
	}
}

// newest is the newest version in the model topic.
func (f *fitter) newest() int64 {
	v, _ := f.s.models.Head()
	return v
}

// fences makes the next publication fail, as that of a trainer whose partition has another owner.
func (f *fitter) fences() {
	f.w.T.Helper()
	var err error
	if f.producer, err = f.w.Client.NewProducer(f.w.T.Context(), f.o.Name+"-trainer", time.Minute); err == nil {
		_, err = f.w.Client.NewProducer(f.w.T.Context(), f.o.Name+"-trainer", time.Minute)
	}
	if err != nil {
		f.w.T.Fatal(err)
	}
}

// lost goes a step whose publication fails.
func (f *fitter) lost(what string) {
	f.w.T.Helper()
	f.fences()
	if err := f.step(f.w.T.Context()); txn.KindOf(err) != txn.Fenced {
		f.w.T.Fatalf("%s: %v, want a producer that is fenced", what, err)
	}
}

// fits counts the fits by outcome.
func (f *fitter) fits() map[string]float64 { return byLabel(f.o.Metrics.Fits) }

// A fit that was given up for its time is made again at once, with less work: the first one and a later one. No record
// need come, and no time need pass.
func TestAFitThatTookTooLongIsMadeAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		initial bool
	}{{"the first model", false}, {"a later one", true}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFitter(t, 1, func(o *Options) {
				if c.initial {
					o.Initial = fromFiles(t, o.Spec)
				}
			})
			want := int64(1)
			if c.initial {
				f.works("the model of files")
				f.serves()
				want = 0
			}
			f.learns(0, 900)
			before := f.newest()
			f.slow.on.Store(true)
			f.o.FitBudget = 20 * time.Millisecond
			for range 2 {
				f.waits("a fit that takes too long")
			}
			f.slow.on.Store(false)
			f.o.FitBudget = time.Hour
			f.works("the fit after it")
			if got := f.newest() - before; got != want || (f.waiting != nil) != c.initial {
				t.Errorf("%d models published, a model waits %v", got, f.waiting != nil)
			}
			if n := f.fits()["failed"]; n != 2 {
				t.Errorf("%v fits failed", n)
			}
		})
	}
}

// TestAPublicationThatFailsIsMadeAgain: the model of the cold start, and a compared one with its verdict, are not
// fitted anew, and are published once.
func TestAPublicationThatFailsIsMadeAgain(t *testing.T) {
	f := newFitter(t, 1, nil)
	f.learns(0, 900)
	f.lost("the first model")
	if n := f.newest(); n != 0 {
		t.Fatalf("model %d is there", n)
	}
	f.works("the publication after it")
	f.waits("nothing new has come")
	if n := observed(t, f.o.Metrics.FitTime); f.newest() != 1 || n != 1 || f.fits()["published"] != 1 || f.s.fits.Load() != 1 {
		t.Fatalf("%d fits, %v, model %d", n, f.fits(), f.newest())
	}
	f.serves()
	f.learns(0, 900)
	f.works("the second fit")
	f.learns(0, 200)
	f.lost("the second model")
	if f.waiting == nil || f.s.models.Verdict() != nil {
		t.Fatalf("waiting %v, verdict %v", f.waiting, f.s.models.Verdict())
	}
	f.works("the comparison after it")
	v := f.s.models.Verdict()
	if v == nil || v.Number != 1 || v.Version != 2 || v.Previous != 1 || f.newest() != 2 || f.waiting != nil {
		t.Errorf("verdict %+v, model %d", v, f.newest())
	}
	if n := observed(t, f.o.Metrics.FitTime); n != 2 || f.fits()["published"] != 2 || f.s.fits.Load() != 2 {
		t.Errorf("%d fits, %v", n, f.fits())
	}
	// The next one counts from this verdict on, and not before its time.
	f.serves()
	f.learns(0, 790)
	f.now = f.now.Add(f.o.FitEvery)
	f.waits("790 of 800 records")
	f.learns(0, 20)
	f.now = f.now.Add(-time.Second)
	f.waits("a second too early")
	f.now = f.now.Add(time.Second)
	f.works("800 records and fit.every")
	if f.waiting == nil {
		t.Error("no model waits")
	}
}

// TestAModelIsComparedOnAsManyRecordsAsConfigured: neither on fewer, however long it waits, nor later than that. Only
// the first one of a configuration, which has come beside a carried-over structure, waits for a while alone.
func TestAModelIsComparedOnAsManyRecordsAsConfigured(t *testing.T) {
	for _, c := range []struct {
		name    string
		first   bool
		came    int
		later   time.Duration
		verdict bool
	}{
		{"a later one, all but one", false, 199, 1000 * time.Minute, false},
		{"a later one, all", false, 200, 0, true},
		{"the first one", true, 199, 10*time.Minute - 1, false},
		{"the first one after ten times fit.every", true, 199, 10 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFitter(t, 1, func(o *Options) { o.Initial = fromFiles(t, o.Spec) })
			f.works("the model of files")
			f.serves()
			f.learns(0, 900)
			f.now = f.now.Add(time.Hour) // the trainer has run for long
			f.works("the fit")
			f.waiting.first = c.first
			f.learns(0, c.came)
			f.now = f.now.Add(c.later)
			if !c.verdict {
				f.waits("the comparison")
				return
			}
			f.works("the comparison")
			if v := f.s.models.Verdict(); v == nil || v.Records != c.came || v.Clocks[0] != float64(900+c.came) {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// A model that cannot be compared is replaced: the next one is fitted to the same records, none need come.
func TestAModelThatIsDroppedIsFittedAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(f *fitter)
	}{
		{"the partition has another history", func(f *fitter) {
			f.parts[0], f.w.Next[0] = model.NewPartition(f.o.Spec, 0), 0
			before := f.snaps[0]
			f.snaps[0] = state.NewSnapshotter() // its sections are none of the former ones
			f.snaps[0].Last, f.snaps[0].Before = before.Last, before.Before
			f.serves()
			f.learns(0, 850)
		}},
		{"its snapshot is damaged", func(f *fitter) {
			f.learns(0, 200)
			part := "part/" + f.snaps[0].Last.Sections[0].Name + "/"
			for _, slot := range []string{"0/0", "1/0", "2/0"} {
				f.w.write(txn.Record{Topic: f.w.Topics.State, Key: []byte(part + slot), Value: []byte("damage")})
			}
			f.works("the model is dropped")
			f.snaps[0] = state.NewSnapshotter()
			f.saves(0, 9) // number 1: both manifests name it
			f.saves(0, 9)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFitter(t, 1, func(o *Options) { o.Initial = fromFiles(t, o.Spec) })
			f.works("the model of files")
			f.serves()
			f.learns(0, 900)
			f.works("the fit")
			first := f.waiting
			f.now = f.now.Add(f.o.FitEvery)
			c.damage(f)
			for range 2 {
				if f.waiting == first || f.waiting == nil {
					f.works("a step")
				}
			}
			if f.waiting == nil || f.waiting == first || f.fits()["dropped"] != 1 {
				t.Errorf("the same model waits %v, %v", f.waiting == first, f.fits())
			}
		})
	}
}

// TestPartitionsOfAnotherConfigurationAreWaitedFor: they are about to be carried over. After policy's patience the model
// is made without them, and of the states of this configuration alone.
func TestPartitionsOfAnotherConfigurationAreWaitedFor(t *testing.T) {
	f := newFitter(t, 2, nil)
	f.learns(0, 900)
	f.learns(1, 900)
	f.saves(1, 8)
	f.saves(1, 8)
	f.now = f.now.Add(f.o.Patience - 1)
	f.waits("partition 1 is of another configuration")
	f.now = f.now.Add(1)
	f.works("the first model after the patience")
	m := f.s.Serving()
	if m == nil || m.Marks[0].Clock != 900 || len(m.Marks) != 1 {
		t.Fatalf("marks %v", m.Marks)
	}
}

// TestNoModelIsMadeOfAnotherStagesState, nor on top of a model that was made under another configuration.
func TestNoModelIsMadeOfAnotherStagesState(t *testing.T) {
	f := newFitter(t, 1, nil)
	m := fromFiles(t, sample.Spec())
	m.Version, m.Fingerprint = 4, 8
	records, err := f.s.models.Publication(state.NewPacker(), m, nil, f.now, state.Format)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		f.w.write(r)
	}
	f.learns(0, 900)
	owner := state.Owner{Stage: "other", Events: "e"}
	f.w.write(txn.Record{Topic: f.w.Topics.State, Key: []byte(state.OwnerKey), Value: owner.Encode()})
	f.waits("the state of another stage")
	owner.Stage = f.o.Name
	f.w.write(txn.Record{Topic: f.w.Topics.State, Key: []byte(state.OwnerKey), Value: owner.Encode()})
	f.works("the first model of this configuration")
	if m := f.s.Serving(); m == nil || m.Version != 5 || m.Info.Previous != 0 || m.Fingerprint != 9 {
		t.Errorf("%+v", m)
	}
}

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
// where there is no snapshot. The next version comes after them, whatever the model topic holds.
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

// TestAFitThatTakesTooLongGetsLessWork, down to the least, and the first one twice the time, six times; then it has
// failed.
func TestAFitThatTakesTooLongGetsLessWork(t *testing.T) {
	for _, c := range []struct {
		name  string
		first bool
		work  []int64 // of each fit, 0 = all of it
		time  []time.Duration
	}{
		{"the first", true, []int64{0, 1 << 27, 1 << 26, 1 << 26, 1 << 26, 1 << 26, 1 << 26}, []time.Duration{1, 2, 4, 8, 16,
			32}},
		{"a later one", false, []int64{0, 1 << 33, 1 << 30, 1 << 27}, []time.Duration{1, 1, 1}},
	} {
		core, logs := observer.New(zap.WarnLevel)
		f := &trainer{s: &Stage{o: Options{Spec: sample.Spec(), Metrics: NewMetrics(prometheus.NewRegistry()),
			Log: zap.New(core), Now: time.Now, FitBudget: 1}}}
		for i, work := range c.work {
			m, err := f.bounded(t.Context(), c.first, func(ctx context.Context, s *model.Spec) (*model.Model, error) {
				if s.Options.Work != work {
					t.Errorf("%s: fit %d has %d steps, want %d", c.name, i, s.Options.Work, work)
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if last := i == len(c.work)-1; errors.Is(err, errLessWork) == last || m != nil || last && err != nil {
				t.Errorf("%s: fit %d gives %v, %v", c.name, i, m, err)
			}
		}
		var times []time.Duration
		for _, e := range logs.FilterMessageSnippet("took longer than fit.budget").All() {
			times = append(times, e.ContextMap()["budget"].(time.Duration))
		}
		if !slices.Equal(times, c.time) {
			t.Errorf("%s: times %v, want %v", c.name, times, c.time)
		}
		if n := byLabel(f.s.o.Metrics.Fits)["failed"]; n != float64(len(c.work)) {
			t.Errorf("%s: %v failed fits are counted", c.name, n)
		}
		// With less work it ends in time: the work stays as it is, though something is left out.
		kept := f.work
		if _, err := f.bounded(t.Context(), c.first, func(context.Context, *model.Spec) (*model.Model, error) {
			return &model.Model{Narrowed: []string{"x"}}, nil
		}); err != nil || f.work != kept {
			t.Errorf("%s: the next fit has %d steps, want %d; %v", c.name, f.work, kept, err)
		}
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
		if f.afford(c.m, c.work); f.work != c.want {
			t.Errorf("%d left out after %d steps: the next fit has %d, want %d", len(c.m.Narrowed), c.work, f.work, c.want)
		}
	}
}

// TestWhenAModelOfTheColdStartIsDue: after the warm-up, and at each doubling of its records, until there are enough for
// a model that is compared.
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
		{"an attempt that failed", []float64{60, 59}, 0, nil, 60, false, false},
		{"twice its records", []float64{60, 60}, 0, nil, 60, true, false},
		{"another configuration's model is served", []float64{20, 30}, 3, nil, 0, false, false},
		{"not yet doubled", []float64{60, 59}, 1, of(40, 20), 0, false, true},
		{"doubled", []float64{60, 60}, 1, of(40, 20), 0, true, true},
		{"doubled, but tried", []float64{60, 60}, 1, of(40, 20), 61, false, true},
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
