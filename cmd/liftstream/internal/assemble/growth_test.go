//go:build unix

package assemble

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"liftstream/model"
)

// grown is the size of a drawn stream. Features are numbers; levels, if any, are those of one more feature.
type grown struct{ features, levels, classes, partitions, rows, records int }

// growths are the curves of deploy/bench/GROWTH.md: each row changes one size.
var growths = []grown{
	{10, 0, 2, 1, 50, 1600}, {100, 0, 2, 1, 50, 1600}, {300, 0, 2, 1, 50, 1600}, {1000, 0, 2, 1, 50, 1600},
	{3000, 0, 2, 1, 50, 800},
	{10, 0, 10, 1, 50, 1600}, {10, 0, 30, 1, 50, 1600}, {10, 0, 100, 1, 50, 1600},
	{10, 100, 2, 1, 50, 1600}, {10, 1000, 2, 1, 50, 1600}, {10, 100_000, 2, 1, 50, 1600},
	{10, 100_000, 2, 1, 10_000, 30_000},
	{10, 0, 2, 1, 1, 1600}, {10, 0, 2, 1, 100, 1600}, {10, 0, 2, 1, 10_000, 20_000},
	{10, 0, 2, 4, 50, 1600}, {10, 0, 2, 16, 50, 1600}, {10, 0, 2, 64, 50, 1600},
}

func (g grown) name() string {
	return fmt.Sprintf("features=%d/levels=%d/classes=%d/partitions=%d/rows=%d", g.features, g.levels, g.classes,
		g.partitions, g.rows)
}

func (g grown) config() string {
	var y strings.Builder
	y.WriteString("name: x\nfit: {warmup: 400}\nrecord:\n  label: {column: y, classes: [c0")
	for c := 1; c < g.classes; c++ {
		fmt.Fprintf(&y, ", c%d", c)
	}
	y.WriteString("]}\n  features:\n")
	for f := range g.features {
		fmt.Fprintf(&y, "    - {name: x%d, kind: continuous}\n", f)
	}
	if g.levels > 0 {
		y.WriteString("    - {name: level, kind: nominal}\n")
	}
	return y.String()
}

// share is a number from 0 to 1 that is drawn for these places.
func share(places ...uint64) float64 { return float64(model.Hash(2, places...)>>11) / (1 << 53) }

// batch draws records: four numbers tell about the class, two others do together, and so does the level.
func (g grown) batch(partition, from, n int) *model.Batch {
	b := &model.Batch{N: n, Offset: int64(from), Columns: make([]model.Column, g.features)}
	var level model.Column
	for i := from; i < from+n; i++ {
		at := uint64(i*g.partitions + partition)
		for f := range b.Columns {
			b.Columns[f].Float = append(b.Columns[f].Float, float64(int(1000*share(1, at, uint64(f)))))
		}
		z := -1.
		for k, effect := range []float64{1.2, -.8, 1, .6} {
			z += effect * (2*share(1, at, uint64(k*g.features/4)) - 1)
		}
		if (share(1, at, 1) > .5) == (share(1, at, 3) > .5) {
			z += 2
		}
		if g.levels > 0 {
			l := uint64(float64(g.levels) * share(2, at) * share(2, at))
			z += 2*share(3, l) - 1
			level.Code = append(level.Code, uint32(len(level.Levels)))
			level.Levels = append(level.Levels, fmt.Sprint("level ", l))
		}
		y := int((z+3.5)/7*float64(g.classes) + 2*share(4, at) - 1)
		b.Label = append(b.Label, int32(min(max(y, 0), g.classes-1)))
		b.Row, b.Time = append(b.Row, int32(i-from)), append(b.Time, int64(at)*1e6)
	}
	if g.levels > 0 {
		b.Columns = append(b.Columns, level)
	}
	return b
}

// spent is the processor time of the process so far.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak runs f and returns the most bytes of the heap that were in use meanwhile.
func peak(f func()) (most uint64) {
	read := func() {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		most = max(most, s[0].Value.Uint64())
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			read()
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(over)
	<-ended
	return most
}

// BenchmarkGrowth measures how the work of a stage grows with the sizes of its stream, without Kafka and in processor
// time, so that a busy machine measures the same: a record, the longest the loop is held by one message (by model 0
// above all), the copy of a snapshot, the first and the last fit of the cold start, the swap to it, the bytes of the
// state and of the heap during a fit. Other sizes: -bench 'Growth/features=300/'.
func BenchmarkGrowth(b *testing.B) {
	for _, g := range growths {
		b.Run(g.name(), func(b *testing.B) {
			for b.Loop() {
				g.measure(b)
			}
		})
	}
}

func (g grown) measure(b *testing.B) {
	a := stage(b, g.config())
	parts := make([]*model.Partition, g.partitions)
	for n := range parts {
		parts[n] = model.NewPartition(a.Spec, int32(n))
	}
	var out model.Scores
	var learning, longest, first, last, swap, snapshot time.Duration
	var heap uint64
	var previous *model.Model
	size, due := 0, 400
	for at := 0; at < g.records; at += g.rows {
		for n, p := range parts {
			batch := g.batch(n, at, min(g.rows, g.records-at))
			began := spent()
			p.Events(batch, &out)
			took := spent() - began
			learning, longest = learning+took, max(longest, took)
		}
		if (at+g.rows)*g.partitions < due && at+g.rows < g.records {
			continue
		}
		due = 2 * (at + g.rows) * g.partitions
		states := model.Held{}
		began := spent()
		for n, p := range parts {
			states[int32(n)] = p.Snapshot()
		}
		snapshot, size = (spent()-began)/time.Duration(g.partitions), 0
		for _, s := range states[0] {
			size += len(s)
		}
		began = spent()
		heap = max(heap, peak(func() {
			m, err := model.FitAnew(b.Context(), a.Spec, states, previous)
			if err != nil {
				b.Fatal(err)
			}
			m.Version, previous = 1, m
		}))
		if last = spent() - began; first == 0 {
			first = last
		}
		began = spent()
		for _, p := range parts {
			if err := p.Swap(previous); err != nil {
				b.Fatal(err)
			}
		}
		swap = (spent() - began) / time.Duration(g.partitions)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	b.ReportMetric(float64(learning.Microseconds())/float64(g.records*g.partitions), "µs/record")
	b.ReportMetric(ms(longest), "message-ms")
	b.ReportMetric(ms(snapshot), "snapshot-ms")
	b.ReportMetric(first.Seconds(), "first-fit-s")
	b.ReportMetric(last.Seconds(), "last-fit-s")
	b.ReportMetric(ms(swap), "swap-ms")
	b.ReportMetric(float64(size)/1e6, "state-MB")
	b.ReportMetric(float64(heap)/1e6, "fit-heap-MB")
	b.ReportMetric(0, "ns/op")
}
