package model_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/wire"
)

// waitingSpec is the specification of the golden files of the pending store.
func waitingSpec() *model.Spec {
	return newSpec(func(o *model.Options) { o.WaitBytes = 1 << 24 })
}

// longWaiting makes the partition of the golden files: 400 records learnt at once, 1,100 that wait, 100 of them learnt
// late and 30 corrected, 10 of an id that is there already.
func longWaiting() *model.Partition {
	p := model.NewPartition(waitingSpec(), 0)
	feed(p, 0, 400, 50, nil)
	feed(p, 400, 1490, 50, func(b *model.Batch) { withhold(b, 1) })
	feed(p, 1490, 1500, 10, func(b *model.Batch) {
		withhold(b, 1)
		copy(b.ID, rows(500, 10).ID)
	})
	b := rows(600, 100)
	p.Labels(&model.Labels{N: 100, Class: b.Label, ID: b.ID})
	flip := slices.Clone(b.Label[:30])
	for i := range flip {
		flip[i] = 1 - flip[i]
	}
	p.Labels(&model.Labels{N: 30, Class: flip, ID: b.ID[:30]})
	return p
}

func writeSections(t *testing.T, file string, sections map[string][]byte) {
	t.Helper()
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		b = wire.AppendBytes(wire.AppendString(b, name), sections[name])
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readSections(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]byte{}
	for r := wire.NewReader(b); r.Rest() > 0 && r.Err() == nil; {
		name := r.String()
		sections[name] = r.Bytes()
	}
	return sections
}

// TestGoldenPendingStores reads a pending store of each format: room-4.gz was written by a build of format 4, whose
// sections room/N held rows and memories as they were, pending-1.gz by the first that packed them. Both hold the same
// records, and labels find them.
func TestGoldenPendingStores(t *testing.T) {
	const packed = "testdata/pending-1.gz"
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		writeSections(t, packed, longWaiting().Snapshot())
	}
	for _, file := range []string{"testdata/room-4.gz", packed} {
		sections := readSections(t, file)
		p, err := model.RestorePartition(waitingSpec(), sections)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		now := p.Snapshot()
		for name, b := range sections {
			of := strings.HasPrefix(name, "pending/") || strings.HasPrefix(name, "scores/") || name == "waiting"
			if of && !bytes.Equal(b, now[name]) {
				t.Errorf("%s: section %s is written otherwise: that is another format", file, name)
			}
		}
		if now["pending/1"] == nil || now["scores/1"] == nil || now["room/1"] != nil {
			t.Errorf("%s: sections %v", file, slices.Sorted(maps.Keys(now)))
		}
		if w := model.WaitsOf(p); w.Records != 1500 || w.Kept != 1 || w.Scores == 0 || p.Labelled() != 500 {
			t.Errorf("%s: %+v, %v learnt", file, w, p.Labelled())
		}
		if q := clone(t, waitingSpec(), p); !bytes.Equal(state(q), state(p)) {
			t.Errorf("%s: the state that is read back is another one", file)
		}
		b := rows(500, 300)
		want := model.LabelCounts{Learnt: 200, Corrected: 30, Repeated: 70}
		if c := p.Labels(&model.Labels{N: 300, Class: b.Label, ID: b.ID}); c != want {
			t.Errorf("%s: labels %+v, want %+v", file, c, want)
		}
		old := &model.Labels{N: 1, Class: []int32{0}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{505}}
		if c := p.Labels(old); c.Learnt != 1 {
			t.Errorf("%s: label of a place whose id a newer record has: %+v", file, c)
		}
	}
}
