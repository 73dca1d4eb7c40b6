package stream

import (
	"context"
	"testing"
	"time"

	"liftstream/stream/embedded"
	"liftstream/stream/state"
)

func TestSnapshotsKeepToTheirShareOfWhatWasRead(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	o := w.options(w.Client)
	o.Snapshot, o.SnapshotShare, o.FitEvery = time.Millisecond, 0.1, time.Hour
	o.Commit = time.Millisecond
	r := w.run(o)
	read := 0.0
	for range 20 {
		w.Produce(2000, 10, true)
		w.caught(r)
	}
	for _, e := range w.Records(w.Topics.Events, 0) {
		read += float64(len(e.Key) + len(e.Value))
	}
	var log state.Log
	wrote := counted(o.Metrics.StateBytes)
	last := func() (n float64) {
		log = *state.NewLog()
		if err := log.Follow(context.Background(), w.Client, w.Topics.State, 0); err != nil {
			t.Fatal(err)
		}
		found, _ := log.Manifests()
		for _, s := range found[0].Sections {
			n += float64(s.Packed)
		}
		return n
	}()
	if wrote > 0.1*read+last || wrote == 0 {
		t.Errorf("%v bytes of state were written, %v were read; the last snapshot has %v", wrote, read, last)
	}
	r.end(t)
}
