package replay_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// filled returns a world with 40 messages of events without labels, and two of labels, and options to replay them.
func filled(t *testing.T) (*streamtest.World, replay.Options) {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w := streamtest.NewWorld(t, b.Addr(), 1)
	w.Produce(400, 10, false)
	w.SendLabels(0, 100)
	w.SendLabels(100, 100)
	return w, replay.Options{Client: w.Client, Events: w.Topics.Events, Labels: w.Topics.Labels, Spec: sample.Spec(),
		Codec: w.Codec(), Models: state.NewModels(w.Client, w.Topics.Model, sample.Schema)}
}

func machine(t *testing.T, o replay.Options) *replay.Machine {
	t.Helper()
	m, err := replay.New(o)
	if err != nil {
		t.Fatal(err)
	}
	m.Begin(state.Position{})
	return m
}

// snapshotOf returns a log with a snapshot of the machine's state.
func snapshotOf(m *replay.Machine) (*state.Log, *state.Manifest) {
	log, s := state.NewLog(), state.NewSnapshotter()
	s.Start(m.Part, 9, m.At, m.Journal, 1)
	for whole := false; !whole; {
		var pieces []state.Change
		pieces, whole = s.Take(1 << 20)
		for _, c := range pieces {
			log.Apply([]byte(c.Key), c.Value)
		}
	}
	found, _ := log.Manifests()
	return log, found[0]
}

func same(t *testing.T, name string, a, b *replay.Machine) {
	t.Helper()
	want := a.Part.Snapshot()
	for section, got := range b.Part.Snapshot() {
		if !bytes.Equal(got, want[section]) {
			t.Errorf("%s: section %s differs", name, section)
		}
	}
	if a.At != b.At || a.Journal != b.Journal {
		t.Errorf("%s: at %+v and %+v, journal %d and %d", name, a.At, b.At, a.Journal, b.Journal)
	}
}

func TestTheOrderOfTheJournalIsTheOrderOfTheState(t *testing.T) {
	_, o := filled(t)
	// The labels of 100 records come after the first 50: those of the others meet no record.
	first := state.JournalEntry{Number: 0, Position: state.Position{Events: 5, Labels: 1}}
	second := state.JournalEntry{Number: 1, Position: state.Position{Events: 30, Labels: 2}}
	var fetches int
	o.Progress = func(string, int64, int64) { fetches++ }
	a := machine(t, o)
	if err := a.Follow(t.Context(), first, second); err != nil {
		t.Fatal(err)
	}
	if a.At != second.Position || a.Journal != 2 || a.Part.Labelled() != 150 {
		t.Errorf("at %+v, journal %d, %v labelled", a.At, a.Journal, a.Part.Labelled())
	}
	if fetches > 4 {
		t.Errorf("%d fetches of two short topics", fetches)
	}

	b := machine(t, o)
	if err := b.Follow(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	log, manifest := snapshotOf(b)
	e := second
	log.Apply([]byte(state.JournalKey(1)), e.Encode())
	c := machine(t, o)
	entries, err := c.Restore(log, manifest, second.Position)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	same(t, "a restored state", b, c)
	if err := c.Follow(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	same(t, "its journal", a, c)

	late := machine(t, o)
	if err := errors.Join(late.EventsTo(t.Context(), 30), late.LabelsTo(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	if late.Part.Labelled() != 200 {
		t.Errorf("labels after all events: %v are learnt", late.Part.Labelled())
	}
}

func TestARefusedSnapshotLeavesTheMachineAsItWas(t *testing.T) {
	_, o := filled(t)
	m := machine(t, o)
	if err := m.EventsTo(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	was := *m
	log, manifest := snapshotOf(m)
	to := state.Position{Events: 40}
	for _, c := range []struct {
		name, want string
		change     func(m *state.Manifest)
		to         state.Position
	}{
		{"a number that no stage counts to", "not those of a stage", func(m *state.Manifest) { m.Number = state.MaxNumber },
			to},
		{"another model", "model 0", func(m *state.Manifest) { m.Model = 3 }, to},
		{"fewer events", "event", func(m *state.Manifest) { m.Events = 5 }, to},
		{"a section that is not there", "not there", func(m *state.Manifest) {
			m.Sections = append(m.Sections, state.Stored{Name: "other", Blob: state.Blob{Chunks: 1, Length: 1}})
		}, to},
		{"a journal that goes beyond the committed offset", "journal record 0", func(m *state.Manifest) {},
			state.Position{Events: 30}},
	} {
		e := state.JournalEntry{Number: 0, Position: state.Position{Events: 35}}
		log.Apply([]byte(state.JournalKey(0)), e.Encode())
		x := *manifest
		c.change(&x)
		if _, err := m.Restore(log, &x, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if m.Part != was.Part || m.At != was.At || m.Journal != was.Journal {
			t.Errorf("%s: the machine has moved", c.name)
		}
	}
}

func TestUnderAnotherSchemaForAWhile(t *testing.T) {
	w, o := filled(t)
	m := machine(t, o)
	other := *sample.Schema
	other.Features = append([]model.Feature{{Name: "brand", Kind: model.Nominal}}, other.Features...)
	spec := *o.Spec
	spec.Schema = &other
	columns := o.Codec
	columns.Schema = &other
	event := w.Records(w.Topics.Events, 0)[0]
	width := func() int {
		if _, err := m.ReadEvents(&event); err != nil {
			return 0
		}
		return len(m.Batch.Columns)
	}
	before, within := width(), -1
	failed := errors.New("by the test")
	err := m.Under(&replay.Schema{Spec: &spec, Codec: columns}, func() error { within = width(); return failed })
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	if after := width(); before != 2 || within == before || after != before {
		t.Errorf("%d columns, %d under the other schema, %d afterwards", before, within, after)
	}
	err = m.Under(nil, func() error { within = width(); return nil })
	if err != nil || within != before {
		t.Errorf("%d columns under its own schema, %v", within, err)
	}
	err = m.Under(&replay.Schema{Spec: &spec, Codec: codec.Options{}}, func() error { t.Error("run"); return nil })
	if err == nil {
		t.Error("columns that make no decoder are taken")
	}
	if width() != before {
		t.Error("they stay")
	}
}

func TestMessagesThatCannotBeReadMoveNothing(t *testing.T) {
	_, o := filled(t)
	m := machine(t, o)
	before := m.Part.Snapshot()
	bad := &txn.Record{Value: []byte("not arrow"), Offset: 3}
	if _, err := m.TakeEvents(bad, nil); err == nil || m.IsEvent(bad) {
		t.Error("an event")
	}
	if c, _, err := m.TakeLabels(bad, nil); err == nil || c != (model.LabelCounts{}) {
		t.Errorf("labels: %+v", c)
	}
	for name, raw := range m.Part.Snapshot() {
		if !bytes.Equal(raw, before[name]) {
			t.Errorf("section %s has moved", name)
		}
	}
}

// TestTheLabelsOfAJournalRecordComeBeforeItsModel, as the transaction that wrote the record has learnt them before it
// took the model.
func TestTheLabelsOfAJournalRecordComeBeforeItsModel(t *testing.T) {
	_, o := filled(t)
	first := machine(t, o)
	if err := errors.Join(first.EventsTo(t.Context(), 15), first.LabelsTo(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	m, err := model.FitAnew(t.Context(), o.Spec, model.Held{0: first.Part.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, o, m)
	entry := state.JournalEntry{Position: state.Position{Events: 30, Labels: 2, Model: 1}}
	got, want, other := machine(t, o), machine(t, o), machine(t, o)
	if err := errors.Join(got.Follow(t.Context(), entry), want.EventsTo(t.Context(), 30), want.LabelsTo(t.Context(), 2),
		want.Swap(1), other.EventsTo(t.Context(), 30), other.Swap(1), other.LabelsTo(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	want.Journal = 1
	same(t, "the state", want, got)
	if a, b := want.Part.Snapshot(), other.Part.Snapshot(); maps.EqualFunc(a, b, bytes.Equal) {
		t.Error("the order makes no difference: the test says nothing")
	}
}

// TestEachTopicIsJudgedByItsOwnTimes: a replay judges a message of labels by the time that the transaction of this
// message had, and not by the time for the event of the same offset.
func TestEachTopicIsJudgedByItsOwnTimes(t *testing.T) {
	w, o := filled(t)
	o.Codec.Future = 5 * time.Minute
	event, label := w.Records(w.Topics.Events, 0)[1], w.Records(w.Topics.Labels, 0)[1]
	for _, c := range []struct {
		name         string
		events, late time.Duration // of the judgement after the message; below -o.Codec.Future it refuses the message
	}{{"both in time", 0, 0}, {"the event refused", -time.Hour, 0}, {"the label refused", 0, -time.Hour},
		{"both refused", -time.Hour, -time.Hour}} {
		m := machine(t, o)
		m.Judged = state.Judgements{
			{Number: 0, EventsTo: 2, Now: event.Time.Add(c.events).UnixNano()},
			{Number: 1, EventsFrom: 2, EventsTo: 2, LabelsTo: 2, Now: label.Time.Add(c.late).UnixNano()},
		}
		_, err := m.ReadEvents(&event)
		if refused := m.Untimely; refused != (c.events < 0) || (err != nil) != refused {
			t.Errorf("%s: the event refused %v, %v", c.name, refused, err)
		}
		_, err = m.ReadLabels(&label)
		if refused := m.Untimely; refused != (c.late < 0) || (err != nil) != refused {
			t.Errorf("%s: the label refused %v, %v", c.name, refused, err)
		}
	}
}

// publish writes a model into its topic and reads that to its end.
func publish(t *testing.T, o replay.Options, m *model.Model) {
	t.Helper()
	published, err := o.Models.Publication(state.NewPacker(), m, nil, time.Now(), state.Format)
	if err == nil {
		err = o.Client.Produce(t.Context(), published, txn.None)
	}
	for end := false; err == nil && !end; {
		end, err = o.Models.Advance(t.Context(), time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}
