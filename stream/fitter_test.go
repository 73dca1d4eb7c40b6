package stream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
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
	label func(y int32) int32 // of the records to come; nil = theirs
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
	b := sample.Records(partition*1_000_000+f.w.Next[partition], n)
	for i, y := range b.Label {
		if f.label != nil {
			b.Label[i] = f.label(y)
		}
	}
	f.parts[partition].Events(b, &scores)
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
	if n := observed(t, f.o.Metrics.FitTime); f.newest() != 1 || n != 1 || f.fits()["published"] != 1 ||
		f.s.fits.Load() != 1 {
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
	f.learns(0, 200)
	f.works("the third model")
	if v := f.s.models.Verdict(); v.Number != 2 || v.Version != 3 || v.Previous != 2 {
		t.Errorf("verdict %+v", v)
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

// TestPartitionsOfAnotherConfigurationAreWaitedFor: they are about to be carried over. After a while the model
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
