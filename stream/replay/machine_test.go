package replay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// purse is a budget that refuses to wait: its owner would wait for itself.
type purse struct {
	limit, used, most int64
	charged           func() // called at each charge, where set
}

func (p *purse) take(n int64) {
	p.used += n
	p.most = max(p.most, p.used)
}

func (p *purse) Try(n int64) bool {
	if p.used > 0 && p.used+n > p.limit {
		return false
	}
	p.take(n)
	return true
}

func (p *purse) Acquire(_ context.Context, n int64) error {
	if !p.Try(n) {
		return fmt.Errorf("%d bytes are held, %d of %d are asked for", p.used, n, p.limit)
	}
	return nil
}

func (p *purse) Charge(n int64) {
	p.take(n)
	if p.charged != nil {
		p.charged()
	}
}

// TestAReplayPaysForItsMessages: it holds no more than its budget and one answer, waits for no bytes that it holds
// itself, takes each message once, and gives all bytes back.
func TestAReplayPaysForItsMessages(t *testing.T) {
	w, o := filled(t)
	whole := int64(0)
	for _, r := range append(w.Records(w.Topics.Events, 0), w.Records(w.Topics.Labels, 0)...) {
		whole += int64(len(r.Value))
	}
	for _, share := range []int64{1, whole / 5, whole} {
		b := &purse{limit: share}
		o.Budget = func(string) (replay.Budget, int64) { return b, share }
		m := machine(t, o)
		var events, labels []int64
		m.EachEvents = func(r *txn.Record) error { events = append(events, r.Offset); return nil }
		m.EachLabels = func(r *txn.Record) error { labels = append(labels, r.Offset); return nil }
		for i := range int64(10) {
			if err := errors.Join(m.EventsTo(t.Context(), 4*(i+1)), m.LabelsTo(t.Context(), i/5+1)); err != nil {
				t.Fatalf("share %d: %v", share, err)
			}
		}
		if len(events) != 40 || !slices.IsSorted(events) || events[39] != 39 || !slices.Equal(labels, []int64{0, 1}) {
			t.Errorf("share %d: events %v, labels %v", share, events, labels)
		}
		if b.most > 2*(share+whole) || b.used < 0 {
			t.Errorf("share %d: %d bytes were held, %d are now", share, b.most, b.used)
		}
		m.EachEvents = nil
		m.Forget()
		if b.used != 0 {
			t.Errorf("share %d: %d bytes are still held", share, b.used)
		}
	}
}

// TestAReplayThatIsSetBackReadsFromThere, and not from its fetches ahead.
func TestAReplayThatIsSetBackReadsFromThere(t *testing.T) {
	_, o := filled(t)
	m := machine(t, o)
	var taken []int64
	m.EachEvents = func(r *txn.Record) error { taken = append(taken, r.Offset); return nil }
	for _, c := range []struct{ from, to int64 }{{0, 10}, {3, 6}, {30, 33}, {6, 8}, {8, 9}} {
		taken = nil
		m.Begin(state.Position{Events: c.from})
		if err := m.EventsTo(t.Context(), c.to); err != nil {
			t.Fatal(err)
		}
		if len(taken) != int(c.to-c.from) || taken[0] != c.from || m.At.Events != c.to {
			t.Errorf("from %d to %d: %v, at %d", c.from, c.to, taken, m.At.Events)
		}
	}
}

// TestAReplayThatIsInterruptedSaysSo: its state belongs to no position.
func TestAReplayThatIsInterruptedSaysSo(t *testing.T) {
	w, o := filled(t)
	for name, run := range map[string]func(ctx context.Context, m *replay.Machine) error{
		"events": func(ctx context.Context, m *replay.Machine) error { return m.EventsTo(ctx, 40) },
		"labels": func(ctx context.Context, m *replay.Machine) error { return m.LabelsTo(ctx, 2) },
	} {
		ctx, stop := context.WithCancel(t.Context())
		b := &purse{limit: 1 << 20}
		paid := 0
		b.charged = func() {
			if paid++; paid == 2 { // the answer is there, and none of its messages is taken
				stop()
			}
		}
		o.Budget = func(string) (replay.Budget, int64) { return b, 1 << 20 }
		m := machine(t, o)
		if err := run(ctx, m); !errors.Is(err, context.Canceled) || m.Done != nil {
			t.Errorf("%s: %v, at %+v", name, err, m.At)
		}
		stop()
	}
	// Within a message, too: the end comes after the messages were fetched.
	w.Produce(12_000, 12_000, true)
	w.SendLabels(0, 12_000)
	for name, run := range map[string]func(ctx context.Context, m *replay.Machine) error{
		"events": func(ctx context.Context, m *replay.Machine) error { return m.EventsTo(ctx, 41) },
		"labels": func(ctx context.Context, m *replay.Machine) error { return m.LabelsTo(ctx, 3) },
	} {
		ctx := &ending{Context: t.Context()}
		b, paid := &purse{limit: 4 << 20}, 0
		b.charged = func() { paid++; ctx.fetched = paid == 2 }
		o.Budget = func(string) (replay.Budget, int64) { return b, 4 << 20 }
		m := machine(t, o)
		m.At = state.Position{Events: 40, Labels: 2}
		if err := run(ctx, m); !errors.Is(err, replay.ErrInterrupted) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s within a message: %v", name, err)
		}
	}
	failed := errors.New("by the test")
	o.Budget = nil
	m := machine(t, o)
	taken := 0
	m.EachEvents = func(*txn.Record) error { taken++; return failed }
	m.EachLabels = m.EachEvents
	for name, err := range map[string]error{"events": m.EventsTo(t.Context(), 40), "labels": m.LabelsTo(t.Context(), 2)} {
		if !errors.Is(err, failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if taken != 2 {
		t.Errorf("%d messages were taken after an error", taken-2)
	}
}

// ending is a context that ends at the second look after the messages were fetched.
type ending struct {
	context.Context
	fetched bool
	looks   int
}

func (e *ending) Err() error {
	if !e.fetched {
		return nil
	}
	if e.looks++; e.looks > 1 {
		return context.Canceled
	}
	return nil
}

// TestRowsOfALongMessageAreCountedOn from one slice to the next.
func TestRowsOfALongMessageAreCountedOn(t *testing.T) {
	w, o := filled(t)
	const n = codec.ChunkRows + 12_000
	r := &txn.Record{Value: w.Message(0, 0, n, true)}
	m := machine(t, o)
	last, asked := 0, 0
	if _, err := m.TakeEvents(r, func(row int) bool {
		if row < last || row >= n {
			t.Errorf("row %d after row %d", row, last)
		}
		last = row
		asked++
		return true
	}); err != nil || m.Part.Labelled() != n {
		t.Fatalf("%v, %v records are learnt", err, m.Part.Labelled())
	}
	if last <= codec.ChunkRows || asked < 4 {
		t.Errorf("asked %d times, the last time at row %d", asked, last)
	}
	stop := last
	m = machine(t, o)
	if _, err := m.TakeEvents(r, func(row int) bool { return row < stop }); !errors.Is(err, replay.ErrInterrupted) ||
		m.Part.Labelled() != float64(stop) {
		t.Errorf("%v, %v records are learnt, want %d", err, m.Part.Labelled(), stop)
	}
}

// TestScoresOfSiftedRecordsKeepTheirIds: the columns that scores repeat leave their duplicates out, too.
func TestScoresOfSiftedRecordsKeepTheirIds(t *testing.T) {
	w, o := filled(t)
	spec := *o.Spec
	spec.Options.DedupWindow, spec.Options.DedupBytes = int64(time.Hour), 1<<20
	o.Spec, o.Codec.Dedup = &spec, true
	m := machine(t, o)
	scored := func(from, n int) (ids []string) {
		t.Helper()
		if _, err := m.ReadEvents(&txn.Record{Value: w.Message(0, from, n, true), Time: time.Unix(5, 0)}); err != nil {
			t.Fatal(err)
		}
		m.Sift()
		m.BeginScores(0)
		var out []byte
		if err := m.Score(nil, func(b *model.Batch, at int) (err error) {
			out, err = m.AppendScores(out, b, at)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		parts, lost := m.ScoreParts()
		if len(lost) > 0 {
			t.Fatal(lost)
		}
		for _, p := range parts {
			for tab, err := range codec.Tables(out[p.Start:p.End], 0) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range tab.Rows() {
					id, _ := tab.Text(tab.Column("id"), i)
					ids = append(ids, id)
				}
			}
		}
		m.Release()
		return ids
	}
	for _, c := range []struct{ from, n, first, last int }{{10, 5, 10, 15}, {8, 4, 8, 10}, {0, 30, 0, 8},
		{0, 40, 30, 40}} {
		var want []string
		for i := c.first; i < c.last; i++ {
			want = append(want, streamtest.RecordID(0, i))
		}
		got := scored(c.from, c.n)
		if c.from == 0 && c.n == 30 { // those after the known ones, too
			for i := 15; i < 30; i++ {
				want = append(want, streamtest.RecordID(0, i))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("records %d to %d: scores of %v, want %v", c.from, c.from+c.n, got, want)
		}
	}
}

// TestModelsOfAnotherSchemaAreReadUnderIt alone.
func TestModelsOfAnotherSchemaAreReadUnderIt(t *testing.T) {
	w, o := filled(t)
	other := *sample.Schema
	other.Features = append([]model.Feature{{Name: "extra", Kind: model.Continuous}}, other.Features...)
	spec, columns := *sample.Spec(), o.Codec
	spec.Schema, columns.Schema = &other, &other
	spec.Scorecard = propensity.New(propensity.Default(), &other)
	b := &replay.Schema{Spec: &spec, Codec: columns}
	was := machine(t, replay.Options{Client: w.Client, Events: o.Events, Labels: o.Labels, Spec: &spec, Codec: columns,
		Models: o.Models})
	if err := errors.Join(was.EventsTo(t.Context(), 20), was.LabelsTo(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	fitted, err := model.FitAnew(t.Context(), &spec, model.Held{0: was.Part.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, o, fitted)
	m := machine(t, o)
	if err := m.Under(b, func() error { m.Begin(state.Position{}); return m.Swap(1) }); err != nil || m.At.Model != 1 {
		t.Errorf("under its schema: %v, model %d", err, m.At.Model)
	}
	var lost *state.ModelError
	m.Begin(state.Position{})
	if err := m.Swap(1); !errors.As(err, &lost) || lost.Version != 1 || m.At.Model != 0 || m.Part.ModelVersion() != 0 {
		t.Errorf("under the machine's own: %v, model %d", err, m.At.Model)
	}
	if err := m.Swap(2); !errors.As(err, &lost) || lost.Version != 2 {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestALoadedStateGoesOnWithItsJournal.
func TestALoadedStateGoesOnWithItsJournal(t *testing.T) {
	_, o := filled(t)
	a := machine(t, o)
	e := state.JournalEntry{Number: 6, Position: state.Position{Events: 12, Labels: 1}}
	if err := a.Follow(t.Context(), e); err != nil || a.Journal != 7 {
		t.Fatalf("%v, journal %d", err, a.Journal)
	}
	log, manifest := snapshotOf(a)
	sections, err := log.Sections(manifest)
	if err != nil {
		t.Fatal(err)
	}
	b := machine(t, o)
	if err := b.Load(manifest, sections); err != nil {
		t.Fatal(err)
	}
	same(t, "a loaded state", a, b)
	delete(sections, "core")
	c := machine(t, o)
	if err := c.Load(manifest, sections); err == nil || c.At != (state.Position{}) || c.Part == nil {
		t.Errorf("half a state: %v, at %+v", err, c.At)
	}
	// No label is committed yet: the journal says so by 0.
	none := state.NewLog()
	none.Apply([]byte(state.JournalKey(0)), state.JournalEntry{Position: state.Position{Events: 5}}.Encode())
	found, err := replay.Entries(none, 0, state.Position{}, state.Position{Events: 5, Labels: -1})
	if err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestSkipsAreOfOneTopic: a skip of an event passes no label by that has its offset, and the other way round.
func TestSkipsAreOfOneTopic(t *testing.T) {
	w, o := filled(t)
	event, label := w.Records(w.Topics.Events, 0)[1], w.Records(w.Topics.Labels, 0)[1]
	for _, c := range []struct {
		stage        string
		named        *txn.Record
		events, late bool // passed by
		offset       int64
	}{
		{codec.StageEvents, &event, true, false, 1}, {codec.StageLabels, &label, false, true, 1},
		{codec.StageEvents, &label, false, false, 1}, {codec.StageLabels, &event, false, false, 1},
		{codec.StageEvents, &event, false, false, 2}, {codec.StageEvents, &event, false, false, 0},
	} {
		s := state.Skip{Stage: c.stage, Offset: c.offset, Why: "why"}
		s.Name(c.named.Value, c.named.Time, true)
		o.Skips = []state.Skip{s}
		m := machine(t, o)
		skipped := func(err error) bool {
			var e *codec.MessageError
			return errors.As(err, &e) && e.Reason == codec.ReasonSkipped
		}
		_, errEvent := m.ReadEvents(&event)
		_, errLabel := m.ReadLabels(&label)
		if skipped(errEvent) != c.events || skipped(errLabel) != c.late {
			t.Errorf("%s %d: %v, %v", c.stage, c.offset, errEvent, errLabel)
		}
	}
}

// TestTheTimeOfAJudgementIsTold for each message: the one of the past where there is one, else the reader's own.
func TestTheTimeOfAJudgementIsTold(t *testing.T) {
	w, o := filled(t)
	records := w.Records(w.Topics.Events, 0)
	m := machine(t, o)
	m.Judged = state.Judgements{{EventsFrom: 1, EventsTo: 3, Now: 77}}
	for _, c := range []struct{ offset, now, want int64 }{{0, 5, 5}, {1, 5, 77}, {2, 0, 77}, {3, 0, 0}, {4, 6, 6},
		{5, 0, 0}} {
		m.Now = c.now
		if _, err := m.ReadEvents(&records[c.offset]); err != nil || m.By != c.want {
			t.Errorf("event %d was judged by %d, want %d: %v", c.offset, m.By, c.want, err)
		}
	}
	if _, err := m.ReadEvents(&txn.Record{Offset: 9}); !errors.Is(err, replay.ErrTombstone) {
		t.Errorf("a message without a value: %v", err)
	}
	if _, err := m.ReadLabels(&txn.Record{Offset: 9}); !errors.Is(err, replay.ErrTombstone) {
		t.Errorf("a message of labels without a value: %v", err)
	}
}

// TestAMessageThatIsNotDecodedIsNotUntimely, whatever the message before it was: a tombstone, a message that an
// operator has passed by, and one that the broker's batch does not give are refused for no time, so no journal has a
// judgement of them.
func TestAMessageThatIsNotDecodedIsNotUntimely(t *testing.T) {
	w, o := filled(t)
	o.Codec.Future = 5 * time.Minute
	event, label := w.Records(w.Topics.Events, 0)[1], w.Records(w.Topics.Labels, 0)[1]
	for _, stage := range []string{codec.StageEvents, codec.StageLabels} {
		untimely, passed := event, w.Records(w.Topics.Events, 0)[0]
		if stage == codec.StageLabels {
			untimely, passed = label, w.Records(w.Topics.Labels, 0)[0]
		}
		skip := state.Skip{Stage: stage, Offset: passed.Offset, Why: "why"}
		skip.Name(passed.Value, passed.Time, true)
		o.Skips = []state.Skip{skip}
		for name, next := range map[string]txn.Record{"a tombstone": {Offset: 7}, "a skip": passed,
			"an unread message": {Offset: 8, Unread: &txn.UnreadError{}}} {
			m := machine(t, o)
			read := m.ReadEvents
			if stage == codec.StageLabels {
				read = m.ReadLabels
			}
			m.Now = event.Time.Add(-time.Hour).UnixNano()
			if _, err := read(&untimely); err == nil || !m.Untimely {
				t.Fatalf("%s: a message of the next hour: untimely %v, %v", stage, m.Untimely, err)
			}
			if _, err := read(&next); err == nil || m.Untimely {
				t.Errorf("%s: %s is untimely %v, as the message before, %v", stage, name, m.Untimely, err)
			}
		}
	}
}
