package state

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/model/wire"
	"liftstream/stream/internal/sample"
)

// TestTopicsOfFormat1AreReadForEver reads the values of both topics as an earlier build has written them. The bytes of
// the components inside are held by their own packages. LIFTSTREAM_GOLDEN=write makes the file anew: right for a format
// that no release has written, and for no other.
func TestTopicsOfFormat1AreReadForEver(t *testing.T) {
	name := filepath.Join("testdata", "format-1", "topics.bin")
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		writeTopics(t, name)
	}
	readTopics(t, sample.Spec(), name, true, true)
}

// TestTopicsBeforeTheGateAreRead: states of format 2 and models of format 1 (model.StateFormat, model.ModelFormat) are
// read as this build would have written them for the same records. They lack three things: how late labels were, of
// which class a score's percentile is, how a model was compared.
func TestTopicsBeforeTheGateAreRead(t *testing.T) {
	spec, o := sample.Spec(), propensity.Default()
	o.HalfLives = []model.HalfLife{{Records: 20}, {Records: 200}, {Records: 2000}, {}} // the default of then
	spec.Scorecard = propensity.New(o, sample.Schema)
	readTopics(t, spec, filepath.Join("testdata", "format-1", "topics-state2.bin"), false, false)
}

// TestTopicsBeforeStreamTimeAreRead: a state of format 3 tells the largest time of all records.
func TestTopicsBeforeStreamTimeAreRead(t *testing.T) {
	readTopics(t, sample.Spec(), filepath.Join("testdata", "format-1", "topics-state3.bin"), false, true)
}

// TestTopicsBeforeTheLastLayerAreRead: a scorecard's state of format 3 does not know its recent residuals, and the
// memories of waiting records lack them.
func TestTopicsBeforeTheLastLayerAreRead(t *testing.T) {
	readTopics(t, sample.Spec(), filepath.Join("testdata", "format-1", "topics-scorecard3.bin"), false, true)
}

// TestTopicsBeforeTheStepsAreRead: states and models do not know how scores lie in a bucket of the percentiles.
func TestTopicsBeforeTheStepsAreRead(t *testing.T) {
	readTopics(t, sample.Spec(), filepath.Join("testdata", "format-1", "topics-percentile.bin"), false, true)
}

// applied reads the records of a golden file as those of a state topic and of a model topic.
func applied(t *testing.T, raw []byte) (*Log, *Models) {
	t.Helper()
	log, models := NewLog(), NewModels(nil, "models", sample.Schema)
	r := wire.NewReader(raw)
	for n := r.Int(1 << 20); n > 0 && r.Err() == nil; n-- {
		key, value := r.String(), r.Bytes()
		log.Apply([]byte(key), value)
		models.apply(key, value)
	}
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	return log, models
}

// TestTopicsOfRoomsAreRead: the sections room/N held the waiting records one after the other, each with the memory of
// its score. They are read as this build writes the same records.
func TestTopicsOfRoomsAreRead(t *testing.T) {
	old := readTopics(t, sample.Spec(), filepath.Join("testdata", "format-1", "topics-room.bin"), false, true)
	now := readTopics(t, sample.Spec(), filepath.Join("testdata", "format-1", "topics-percentile.bin"), false, true)
	for name := range now {
		if !bytes.Equal(old[name], now[name]) {
			t.Errorf("section %s is another one", name)
		}
	}
	if len(old) != len(now) || now["pending/0"] == nil || old["room/0"] != nil {
		t.Errorf("sections %v, want %v", slices.Sorted(maps.Keys(old)), slices.Sorted(maps.Keys(now)))
	}
}

func readTopics(t *testing.T, spec *model.Spec, name string, same, gated bool) map[string][]byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	state, models := applied(t, raw)
	found, problems := state.Manifests()
	if len(found) != 1 || len(problems) != 0 || found[0].Format != 1 || found[0].Events != 700 {
		t.Fatalf("%+v %v", found, problems)
	}
	sections, err := state.Sections(found[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.RestorePartition(spec, sections)
	if err != nil {
		t.Fatal(err)
	}
	written := p.Snapshot()
	for name, now := range written {
		if same && !bytes.Equal(now, sections[name]) {
			t.Errorf("section %s is written otherwise: that is another format", name)
		}
	}
	if e, err := state.Journal(3); err != nil || len(e) != 1 || e[0].Model != 1 {
		t.Errorf("journal %+v %v", e, err)
	}
	m, err := models.Get(1)
	if err != nil {
		t.Fatal(err)
	}
	if gated != (m.Info.Verdict.Gate == spec.Options.Gate) {
		t.Errorf("verdict %+v", m.Info.Verdict)
	}
	if err := p.Swap(m); err != nil {
		t.Error(err)
	}
	if back, err := model.RestorePartition(spec, p.Snapshot()); err != nil || back.Labelled() != p.Labelled() {
		t.Errorf("written again: %v", err)
	}
	return written
}

func writeTopics(t *testing.T, name string) {
	t.Helper()
	p := model.NewPartition(sample.Spec(), 0)
	var out model.Scores
	for i := range 14 {
		b := sample.Records(50*i, 50)
		b.Offset = int64(50*i + 49)
		p.Events(b, &out)
	}
	values := map[string][]byte{}
	s := NewSnapshotter()
	s.Start(p, 9, Position{Events: 700}, 3, 1)
	for done := false; !done; {
		var pieces []Change
		pieces, done = s.Take(1 << 20)
		for _, c := range pieces {
			values[c.Key] = c.Value
		}
	}
	e := JournalEntry{Number: 3, Position: Position{Events: 700, Model: 1}, Format: 1}
	values[JournalKey(3)] = e.Encode()
	m, err := model.Fit(context.Background(), sample.Spec(), model.Held{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range published(t)(NewModels(nil, "", sample.Schema).Publication(NewPacker(), m, nil, time.Time{}, 1)) {
		values[string(r.Key)] = r.Value
	}
	b := wire.AppendUvarint(nil, uint64(len(values)))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b = wire.AppendBytes(wire.AppendString(b, k), values[k])
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
