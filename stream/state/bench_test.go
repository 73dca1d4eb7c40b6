package state

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// wideSpec has sixteen features, as a bank record does, and a state of about the given bytes.
func wideSpec(tail int64) *model.Spec {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for f := range 8 {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("x", f), Kind: model.Continuous},
			model.Feature{Name: fmt.Sprint("c", f), Kind: model.Nominal})
	}
	return &model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s), Options: model.Options{
		Fingerprint: 9, Warmup: 500, TailBytes: tail, ReservoirRecords: 65536, ReservoirBytes: 64 << 20, Correct: true,
		Why: 5, ExpireAs: model.Unlabelled, Gate: 1, Seed: 1,
	}}
}

func wide(from, n int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 16), Offset: int64(from)}
	for f := range b.Columns {
		if f%2 == 1 {
			b.Columns[f].Levels = []string{"a", "b", "c", "d"}
		}
		for i := from; i < from+n; i++ {
			h := model.Hash(uint64(f), uint64(i))
			if f%2 == 1 {
				b.Columns[f].Code = append(b.Columns[f].Code, uint32(h&3))
			} else {
				b.Columns[f].Float = append(b.Columns[f].Float, float64(h>>40)/(1<<24))
			}
		}
	}
	for i := from; i < from+n; i++ {
		b.Label = append(b.Label, int32(model.Hash(77, uint64(i))&1))
		b.Time = append(b.Time, int64(i))
	}
	return b
}

func filled(b testing.TB, spec *model.Spec, records int) *model.Partition {
	b.Helper()
	p := model.NewPartition(spec, 0)
	var s model.Scores
	for i := 0; i < records; i += 10_000 {
		p.Events(wide(i, 10_000), &s)
	}
	return p
}

// BenchmarkSnapshot takes snapshots of a state of about 50 MB, all of it changed: how long a record waits while the
// state is copied (begin-ms), and at most while a transaction's share of it is compressed (take-ms). Each is the
// shortest of the rounds, since other work on the machine only lengthens it.
func BenchmarkSnapshot(b *testing.B) {
	p := filled(b, wideSpec(40<<20), 400_000)
	begin := time.Hour
	var takes []time.Duration // by number of the transaction
	bytes := 0
	for b.Loop() {
		s := NewSnapshotter()
		at := time.Now()
		s.Start(p, 9, Position{Events: 1}, 0, 1)
		begin = min(begin, time.Since(at))
		bytes = 0
		for _, r := range s.raw {
			bytes += len(r.bytes)
		}
		for i, done := 0, false; !done; i++ {
			at := time.Now()
			_, done = s.Take(800 << 10) // a tenth of a second at 8 MiB/s
			if took := time.Since(at); i < len(takes) {
				takes[i] = min(takes[i], took)
			} else {
				takes = append(takes, took)
			}
		}
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
	b.ReportMetric(begin.Seconds()*1e3, "begin-ms")
	b.ReportMetric(slices.Max(takes).Seconds()*1e3, "take-ms")
}

// BenchmarkRestore rebuilds the state of a partition that has learnt a million records, with 64 monitored sets, from
// its sections in the state topic.
func BenchmarkRestore(b *testing.B) {
	spec := wideSpec(32 << 20)
	sets := lift.Options{Quantiles: 5, Sets: lift.SetOptions{Min: 1, Max: 2, Top: 64}}
	spec.Components = []model.Factory{lift.New(sets, spec.Schema)}
	p := filled(b, spec, 1_000_000)
	s := NewSnapshotter()
	s.Start(p, 9, Position{Events: 1}, 0, 1)
	log := NewLog()
	for done := false; !done; {
		var pieces []Change
		pieces, done = s.Take(1 << 30)
		for _, c := range pieces {
			log.Apply([]byte(c.Key), c.Value)
		}
	}
	found, _ := log.Manifests()
	bytes := 0
	start := modeltest.Processor()
	for b.Loop() {
		sections, err := log.Sections(found[0])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := model.RestorePartition(spec, sections); err != nil {
			b.Fatal(err)
		}
		bytes = 0
		for _, raw := range sections {
			bytes += len(raw)
		}
	}
	b.ReportMetric((modeltest.Processor()-start).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(bytes)/1e6, "MB")
}
