package model

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// gatherSpec has a nominal feature and others that are numbers.
func gatherSpec(features int) *Spec {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal}}, Classes: []string{"no", "yes"}}
	for f := 1; f < features; f++ {
		s.Features = append(s.Features, Feature{Name: fmt.Sprint("x", f)})
	}
	return &Spec{Schema: s, Options: Options{TailBytes: 1, ReservoirRecords: 100, ReservoirBytes: 1 << 20, Seed: 3}}
}

// learnt is a partition that has learnt records, without components.
func learnt(spec *Spec, n int32, count int) *Partition {
	p := &Partition{spec: spec, self: n, levels: NewLevels(spec.Schema), counts: newClassCounts(2),
		sample: newSample(spec, n), store: newPendingStore(0, 0), percent: newPercentile()}
	for _, text := range []string{fmt.Sprint("l", n), "both"} {
		p.levels.Code(0, text)
	}
	row := make(Row, len(spec.Schema.Features))
	for i := range count {
		h := Hash(uint64(n), uint64(i))
		row[0] = float64(h & 1)
		for f := 1; f < len(row); f++ {
			row[f] = float64(h>>40) + float64(f)
		}
		p.sample.push(&record{offset: int64(i), Example: Example{Row: row, Class: int32(h >> 1 & 1), Weight: 1,
			Clock: float64(i), Time: int64(i/4)*10 + int64(h>>8&63)}}) // ties, and times that go back
		p.clock++
	}
	return p
}

// sampleSections are the sections of a state that a fit reads beside those of the components.
func sampleSections(p *Partition) map[string][]byte {
	out := map[string][]byte{"core": p.appendCore(nil), "levels": p.levels.AppendBinary(nil),
		"percentile": p.percent.appendState(nil), "reservoir": p.sample.reservoir.appendState(nil)}
	for c := range p.sample.tail.version {
		out[tailName(c)] = p.sample.tail.appendChunk(nil, c)
	}
	return out
}

// weighed notes the size of the heap when a partition is about to be read.
type weighed struct {
	Held
	heap []int64
}

func (w *weighed) Read(partition int32, section string, use func(b []byte) error) error {
	if section == "levels" {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.heap = append(w.heap, int64(m.HeapAlloc))
	}
	return w.Held.Read(partition, section, use)
}

// TestGatherHoldsOnePartition: the memory of a fit, its records apart, does not grow with the number of partitions.
func TestGatherHoldsOnePartition(t *testing.T) {
	const partitions, records, features = 8, 4096, 40
	spec, w := gatherSpec(features), &weighed{Held: Held{}}
	for n := range int32(partitions) {
		w.Held[n] = sampleSections(learnt(spec, n, records))
	}
	ev, members, err := gather(spec, w, NewLevels(spec.Schema))
	if err != nil || ev.Len() != partitions*records {
		t.Fatal(err)
	}
	if grown, one := w.heap[partitions-1]-w.heap[1], int64(records*features*8); grown > one {
		t.Errorf("the heap grows by %d bytes over %d partitions of %d", grown, partitions-2, one)
	}
	runtime.KeepAlive(members)
}

// TestGatherMergesByTime: the records of a fit are the reservoirs, partition by partition, then the tails by their
// times, each in its own order, as a merge of all partitions at once has them.
func TestGatherMergesByTime(t *testing.T) {
	spec := gatherSpec(2)
	states, parts := Held{}, []*Partition{}
	for n, count := range []int{0, 4500, 9000, 4096} {
		p := learnt(spec, int32(n), count)
		states[int32(n)] = sampleSections(p)
		parts = append(parts, p)
	}
	got, members, err := gather(spec, states, NewLevels(spec.Schema))
	if err != nil || len(members) != len(parts) {
		t.Fatal(err, len(members))
	}

	want := newEvidence(spec.Schema, NewLevels(spec.Schema), spec.Options.Seed)
	recodes := make([]Recode, len(parts))
	for n, p := range parts {
		recodes[n] = want.Levels.Merge(p.levels)
		want.addReservoir(p.sample.reservoir, int32(n), recodes[n])
	}
	want.Recent = want.Len()
	at := make([]uint64, len(parts))
	for n, p := range parts {
		at[n] = p.sample.tail.first
	}
	for {
		best, oldest := -1, int64(0)
		for n, p := range parts {
			if q := p.sample.tail; at[n] < q.next && (best < 0 || q.time[at[n]%q.capacity] < oldest) {
				best, oldest = n, q.time[at[n]%q.capacity]
			}
		}
		if best < 0 {
			break
		}
		var r record
		parts[best].sample.tail.at(at[best], &r)
		at[best]++
		want.add(&r, 1, int32(best), recodes[best])
	}
	if got.Recent == 0 || got.Recent != want.Recent || got.Len() != want.Len() {
		t.Fatalf("%d records, %d of them of reservoirs; want %d and %d", got.Len(), got.Recent, want.Len(), want.Recent)
	}
	for f := range want.Columns {
		if !slices.Equal(got.Columns[f], want.Columns[f]) {
			t.Errorf("feature %d differs", f)
		}
	}
	if !slices.Equal(got.Class, want.Class) || !slices.Equal(got.Weight, want.Weight) ||
		!slices.Equal(got.Clock, want.Clock) || !slices.Equal(got.Time, want.Time) ||
		!slices.Equal(got.Partition, want.Partition) {
		t.Error("the records are not in the order of a merge")
	}
}

// TestAFitKeepsToItsBytes: of partitions that hold more records than a fit may, each gives the same part: the newest
// half, and a sample that stands for the others.
func TestAFitKeepsToItsBytes(t *testing.T) {
	const features = 3
	for _, c := range []struct{ most, want, recent int }{{20_000, 9096, 8096}, {9096, 9096, 8096}, {1310, 1309, 655},
		{2, 4, 2}} {
		spec := gatherSpec(features)
		spec.Options.ReservoirRecords = 1000
		spec.Options.FitBytes = int64(c.most) * recordBytes(features)
		states := Held{0: sampleSections(learnt(spec, 0, 9000)), 1: sampleSections(learnt(spec, 1, 4000))}
		ev, members, err := gather(spec, states, NewLevels(spec.Schema))
		if err != nil {
			t.Fatal(err)
		}
		recent := ev.Len() - ev.Recent
		var all float64
		newest := map[int32]float64{}
		for i, w := range ev.Weight {
			all += w
			newest[ev.Partition[i]] = max(newest[ev.Partition[i]], ev.Clock[i])
		}
		if ev.Len() != c.want || recent != c.recent || all < 12999 || all > 13001 || newest[0] != 8999 || newest[1] != 3999 {
			t.Errorf("%d records at most: %d, %d of them newest ones, which stand for %v; newest %v", c.most, ev.Len(), recent,
				all, newest)
		}
		if members[0].clock != 9000 {
			t.Error("the mark is not that of the state")
		}
	}
}

// TestAModelCarriesAWindowOfScores, shared out over the partitions like the records that they have seen, and of each
// the newest ones.
func TestAModelCarriesAWindowOfScores(t *testing.T) {
	spec := gatherSpec(2)
	states, seen := Held{}, []uint64{600_000, 300_000, 100_000, 0}
	for n, s := range seen {
		p := learnt(spec, int32(n), 10)
		p.seen = s
		for i := range 90_000 {
			rate := .9 // of the newest 60,000, 30,000 and 10,000
			if i < 90_000-int(s/10) {
				rate = .1
			}
			p.percent.rank(1, rate)
		}
		states[int32(n)] = sampleSections(p)
	}
	_, members, err := gather(spec, states, NewLevels(spec.Schema))
	if err != nil {
		t.Fatal(err)
	}
	part, err := readPercentilePart(percentilePart(members), 2)
	if err != nil || len(part) != len(seen) {
		t.Fatalf("%d partitions, %v", len(part), err)
	}
	for n, s := range seen {
		want := []bucket{{scoredOf(.9, 0).bucket, int32(s / 10)}}
		if s == 0 {
			want = nil
		}
		if got := part[int32(n)][1]; !slices.Equal(got, want) {
			t.Errorf("partition %d carries %v, want %v", n, got, want)
		}
	}
	// A partition ranks among those of the others and so many of its own as there is room for.
	q := newPercentile()
	for range 90_000 {
		q.rank(1, .1)
	}
	q.rebase(part, evenly(part), 0)
	if q.limit != percentileWindow-40_000 || len(q.ring) != q.limit || q.of(1).n != percentileWindow {
		t.Errorf("it keeps %d of %d own scores, and ranks among %d", len(q.ring), q.limit, q.of(1).n)
	}
	if r := q.rank(1, .5); r != .6 || q.of(1).n != percentileWindow {
		t.Errorf("%v of %d scores lie below, want .6", r, q.of(1).n)
	}
}

// TestGatherTellsHowLateLabelsCome: Lag is the mean over the records of all tails, the older records of reservoirs left
// out.
func TestGatherTellsHowLateLabelsCome(t *testing.T) {
	spec, states, sum, n := gatherSpec(3), Held{}, 0., 0.
	for self, count := range map[int32]int{0: 5000, 2: 700} {
		p := learnt(spec, self, count)
		for i := range p.sample.tail.lag {
			p.sample.tail.lag[i] = int32(i%7) + 10*self
			sum += float64(p.sample.tail.lag[i])
			n++
		}
		states[self] = sampleSections(p)
	}
	ev, _, err := gather(spec, &states, NewLevels(spec.Schema))
	if err != nil {
		t.Fatal(err)
	}
	if d := ev.Lag - sum/n; d > 1e-9 || d < -1e-9 || sum == 0 {
		t.Errorf("a lag of %v, want %v", ev.Lag, sum/n)
	}
}
