package stream

import (
	"context"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/local"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// reference is a second voice beside stream/replay: it takes the events of partition 0 into a state by hand, models
// where the journal has them.
type reference struct {
	t       *testing.T
	spec    *model.Spec
	part    *model.Partition
	journal []state.JournalEntry // not followed yet
	models  *state.Models
	decoder *codec.Decoder
	batch   model.Batch
	scores  model.Scores
}

func newReference(t *testing.T, w *world, o Options, journal []state.JournalEntry) *reference {
	t.Helper()
	r := &reference{t: t, spec: o.Spec, part: model.NewPartition(o.Spec, 0), journal: journal}
	var err error
	if r.decoder, err = codec.NewDecoder(o.Codec); err != nil {
		t.Fatal(err)
	}
	r.models = state.NewModels(w.Client, w.Topics.Model, o.Spec.Schema)
	for end := false; !end; {
		if end, err = r.models.Advance(context.Background(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// copied returns a copy of the state, without a journal.
func (r *reference) copied() *reference {
	r.t.Helper()
	out := &reference{t: r.t, spec: r.spec, decoder: r.decoder}
	var err error
	if out.part, err = model.RestorePartition(r.spec, r.part.Snapshot()); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// carry takes a state of another schema over.
func (r *reference) carry(part *model.Partition) {
	r.t.Helper()
	var err error
	if r.part, _, err = part.Carry(r.spec); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{local.Name, kernel.Name} {
		if n := r.part.Component(name).InputCount(); n != 1 {
			r.t.Errorf("%s offers %d inputs", name, n)
		}
	}
}

// swap follows the journal up to the event with that offset.
func (r *reference) swap(before int64) {
	r.t.Helper()
	for ; len(r.journal) > 0 && before >= r.journal[0].Events; r.journal = r.journal[1:] {
		version := r.journal[0].Model
		if version == r.part.ModelVersion() {
			continue
		}
		m, err := r.models.Under(version, r.spec.Schema)
		if err == nil {
			err = r.part.Swap(m)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// events takes one message.
func (r *reference) events(rec *txn.Record) {
	r.t.Helper()
	m := &codec.Message{Value: rec.Value, Offset: rec.Offset, Time: rec.Time.UnixNano(), Now: rec.Time.UnixNano()}
	if _, err := r.decoder.Decode(m, &r.batch, nil); err != nil {
		r.t.Fatal(err)
	}
	r.part.Events(&r.batch, &r.scores)
}

// newestSections are those of the newest snapshot of partition 0.
func newestSections(t *testing.T, w *world) map[string][]byte {
	t.Helper()
	log := state.NewLog()
	if err := log.Follow(context.Background(), w.Client, w.Topics.State, 0); err != nil {
		t.Fatal(err)
	}
	found, _ := log.Manifests()
	if len(found) == 0 {
		t.Fatal("there is no snapshot")
	}
	sections, err := log.Sections(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return sections
}
