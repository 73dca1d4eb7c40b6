package state

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/txn"
)

// TestAPublicationDeletesTheOldVersionsThatNothingNeeds: a version stays while it is among the newest, or a snapshot or
// a journal needs it; of one that goes every chunk goes.
func TestAPublicationDeletesTheOldVersionsThatNothingNeeds(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int64
		needed  map[int64]bool
		gone    []int64
	}{
		{"nothing is needed", KeptVersions + 3, nil, []int64{1, 2, 3}},
		{"a snapshot needs an old one", KeptVersions + 3, map[int64]bool{2: true}, []int64{1, 3}},
		{"all are needed", KeptVersions + 3, map[int64]bool{1: true, 2: true, 3: true}, nil},
		{"one too many", KeptVersions + 1, nil, []int64{1}},
		{"as many as are kept", KeptVersions, nil, nil},
		{"the first one", 1, nil, nil},
		{"a version that is not there is needed", KeptVersions + 2, map[int64]bool{99: true}, []int64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewModels(nil, "models", sample.Schema)
			for v := range c.version - 1 {
				l.apply(versionKey(v+1), Seal((&Blob{Chunks: 2}).AppendBinary([]byte{byte(v + 1)}), 1))
			}
			m := &model.Model{Version: c.version, Levels: model.NewLevels(sample.Schema)}
			deleted := map[string]bool{}
			for _, r := range published(t)(l.Publication(NewPacker(), m, c.needed, time.Time{}, 1)) {
				if r.Topic != "models" {
					t.Errorf("key %q goes to the topic %q", r.Key, r.Topic)
				}
				if r.Value == nil {
					deleted[string(r.Key)] = true
				}
			}
			if len(deleted) != 3*len(c.gone) {
				t.Errorf("%d keys are deleted, want %d: %v", len(deleted), 3*len(c.gone), deleted)
			}
			for v := range c.version {
				for _, key := range []string{versionKey(v), modelChunkKey(v, 0), modelChunkKey(v, 1)} {
					if deleted[key] != slices.Contains(c.gone, v) {
						t.Errorf("%s: deleted %v", key, deleted[key])
					}
				}
			}
		})
	}
}

// TestKeepBoundsTheVersions by number and by bytes, the new one included; the first bound that is met holds.
func TestKeepBoundsTheVersions(t *testing.T) {
	held := map[int64]Blob{}
	for v := int64(1); v <= 6; v++ {
		held[v] = Blob{Packed: 10}
	}
	for _, c := range []struct {
		keep Keep
		size int
		gone []int64
	}{
		{Keep{}, 10, nil}, {Keep{Versions: 6}, 10, []int64{1}}, {Keep{Versions: 2}, 10, []int64{1, 2, 3, 4, 5}},
		{Keep{Bytes: 70}, 10, nil}, {Keep{Bytes: 69}, 10, []int64{1}}, {Keep{Bytes: 70}, 31, []int64{1, 2, 3}},
		{Keep{Bytes: 5}, 10, []int64{1, 2, 3, 4, 5, 6}}, {Keep{Versions: 4, Bytes: 69}, 10, []int64{1, 2, 3}},
		{Keep{Versions: 4, Bytes: 25}, 10, []int64{1, 2, 3, 4, 5}},
	} {
		if got := c.keep.beyond(held, 7, c.size); !slices.Equal(got, c.gone) {
			t.Errorf("%+v and %d bytes: %v go, want %v", c.keep, c.size, got, c.gone)
		}
	}
}

// TestAVersionThatIsWrittenAnewIsReadAnew: the topic was restored, or made anew and read from its start.
func TestAVersionThatIsWrittenAnewIsReadAnew(t *testing.T) {
	l := NewModels(nil, "models", sample.Schema)
	for fingerprint := range uint64(3) {
		m := &model.Model{Version: 4, Fingerprint: fingerprint, Levels: model.NewLevels(sample.Schema)}
		for _, r := range published(t)(l.Publication(NewPacker(), m, nil, time.Time{}, 1)) {
			l.apply(string(r.Key), r.Value)
		}
		if got, err := l.Get(4); err != nil || got.Fingerprint != fingerprint {
			t.Errorf("got %+v, %v, want the fingerprint %d", got, err, fingerprint)
		}
	}
}

// TestChunksOfAnotherValueAreRefused: each chunk is whole and there are as many bytes, but the blob speaks of others.
func TestChunksOfAnotherValueAreRefused(t *testing.T) {
	random := func(seed uint64) []byte { // takes as many bytes packed with each seed
		b := make([]byte, 3*chunkBytes)
		for i := range b {
			b[i] = byte(model.Hash(seed, uint64(i)))
		}
		return b
	}
	p := NewPacker()
	one, two := random(1), random(2)
	blob, frames := p.pack(one, 1)
	other, others := p.pack(two, 1)
	if other.Packed != blob.Packed || other.Chunks != blob.Chunks || other.Length != blob.Length || blob.Chunks < 3 {
		t.Fatalf("blobs %+v and %+v: the test would say nothing", blob, other)
	}
	for name, c := range map[string]struct {
		chunks [][]byte
		whole  bool
	}{
		"its own":                    {frames, true},
		"those of another value":     {others, false},
		"one of another value":       {[][]byte{frames[0], others[1], frames[2], frames[len(frames)-1]}[:len(frames)], false},
		"in another order":           {append([][]byte{frames[1], frames[0]}, frames[2:]...), false},
		"the last one is not there":  {frames[:len(frames)-1], false},
		"the first one stands twice": {append([][]byte{frames[0], frames[0]}, frames[2:]...), false},
	} {
		got, err := unpack(blob, 1, func(i int) []byte {
			if i >= len(c.chunks) {
				return nil
			}
			return c.chunks[i]
		})
		if (err == nil) != c.whole || c.whole && !bytes.Equal(got, one) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// published returns the records of a publication that must succeed.
func published(t *testing.T) func([]txn.Record, error) []txn.Record {
	return func(r []txn.Record, err error) []txn.Record {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}
