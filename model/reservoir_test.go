package model

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"testing"
)

// sketched is one partition's tail and reservoir of a single number, and all the numbers that went in.
type sketched struct {
	tail *tail
	res  *reservoir
	all  []float64
}

func newSketched(limit int) *sketched {
	return &sketched{tail: newTail(1, 1), res: newReservoir(1, limit, 1<<40)}
}

func (s *sketched) push(seed uint64, partition int32, v float64) {
	var out record
	rec := &record{Example: Example{Row: Row{v}, Weight: 1, Clock: float64(len(s.all))}, offset: int64(len(s.all))}
	if s.tail.push(rec, &out) {
		s.res.add(&out, Hash(seed, uint64(partition), uint64(out.offset), 0))
	}
	s.all = append(s.all, v)
}

// evidenceOf gathers the evidence of partitions as Fit does.
func evidenceOf(parts []*sketched) *Evidence {
	ev := newEvidence(&Schema{Features: make([]Feature, 1)}, nil, 1)
	for p, s := range parts {
		ev.addReservoir(s.res, int32(p), nil)
	}
	ev.Recent = ev.Len()
	for p, s := range parts {
		var r record
		for n := s.tail.first; n < s.tail.next; n++ {
			s.tail.at(n, &r)
			ev.add(&r, 1, int32(p), nil)
		}
	}
	return ev
}

// rankErrors returns how far the weighted quantiles of the evidence are, by rank among all numbers, at the worst.
func rankErrors(ev *Evidence, all []float64) float64 {
	order := make([]int, ev.Len())
	total := 0.0
	for i := range order {
		order[i] = i
		total += ev.Weight[i]
	}
	v := ev.Columns[0]
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	all = slices.Clone(all)
	slices.Sort(all)
	worst, at, sum := 0.0, 0, 0.0
	for q := 1; q < 20; q++ {
		p := float64(q) / 20
		for at < len(order)-1 && sum+ev.Weight[order[at]] < p*total {
			sum += ev.Weight[order[at]]
			at++
		}
		cut := v[order[at]]
		below, _ := slices.BinarySearch(all, cut)
		upTo, _ := slices.BinarySearch(all, math.Nextafter(cut, math.Inf(1)))
		n := float64(len(all))
		worst = max(worst, float64(below)/n-p, p-float64(upTo)/n)
	}
	return worst
}

// TestRankError: of 20 streams of each kind - ascending, of few values, drifting, in any order, each partition of its
// own range - in partitions of unequal length, the quantiles of the samples lie within the bound of RankError,
// by their rank among all records, and the bound is small enough to be worth something.
func TestRankError(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	gauss := func(seed uint64, i int) float64 {
		u := func(what uint64) float64 { return (float64(Hash(seed, uint64(i), what)>>12) + .5) / (1 << 52) }
		return math.Sqrt(-2*math.Log(u(0))) * math.Cos(2*math.Pi*u(1))
	}
	kinds := map[string]func(seed uint64, p, i, n int) float64{
		"ascending":  func(_ uint64, _, i, n int) float64 { return float64(i) / float64(n) },
		"descending": func(_ uint64, _, i, n int) float64 { return -float64(i) / float64(n) },
		"ties":       func(seed uint64, _, i, _ int) float64 { return math.Floor(math.Abs(2 * gauss(seed, i))) },
		"trend":      func(seed uint64, p, i, n int) float64 { return gauss(seed+uint64(p), i) + 6*float64(i)/float64(n) },
		"any order":  func(seed uint64, p, i, _ int) float64 { return gauss(seed+uint64(p), i) },
		"own ranges": func(seed uint64, p, i, _ int) float64 { return gauss(seed, i) + 3*float64(p) },
	}
	for name, draw := range kinds {
		for _, partitions := range []int{1, 5} {
			const limit = 1000
			worst, share, bound := 0.0, 0.0, 0.0
			for seed := range uint64(20) {
				var parts []*sketched
				var all []float64
				for p := range partitions {
					s := newSketched(limit)
					n := 8000 + 10000*((p+int(seed))%3)
					for i := range n {
						s.push(seed, int32(p), draw(seed*100, p, i, n))
					}
					parts = append(parts, s)
					all = append(all, s.all...)
				}
				ev := evidenceOf(parts)
				total := 0.0
				for _, w := range ev.Weight {
					total += w
				}
				if math.Abs(total-float64(len(all))) > 1e-6 {
					t.Fatalf("%s: the sample stands for %v of %d records", name, total, len(all))
				}
				bound = ev.RankError(nil, .001)
				got := rankErrors(ev, all)
				worst, share = max(worst, got), max(share, got/bound)
				if got > bound {
					t.Errorf("%s, %d partitions, seed %d: rank error %.4f, the bound is %.4f", name, partitions, seed, got, bound)
				}
				if most := math.Sqrt(math.Log(2000) / (2 * limit)); bound > most {
					t.Errorf("%s: bound %.4f of %d records kept in each partition, want at most %.4f", name, bound, limit, most)
				}
			}
			t.Logf("%-10s %d partitions: greatest rank error %.4f, at most %.2f of the bound, such as %.4f", name, partitions,
				worst, share, bound)
		}
	}
}

// TestReservoirsMerge: the smallest keys of several reservoirs are the reservoir of all streams, in any order.
func TestReservoirsMerge(t *testing.T) {
	const limit = 300
	for seed := range uint64(20) {
		union := newReservoir(1, limit, 1<<40)
		var kept []reserved
		var seen uint64
		var backwards []record
		var keys []uint64
		for p := range 5 {
			own := newReservoir(1, limit, 1<<40)
			for i := range 200 + 400*p {
				rec := record{Example: Example{Row: Row{float64(p*10000 + i)}, Weight: 1, Clock: float64(i)}, offset: int64(i)}
				key := Hash(seed, uint64(p), uint64(i), 0)
				own.add(&rec, key)
				union.add(&rec, key)
				backwards, keys = append(backwards, rec), append(keys, key)
			}
			kept, seen = append(kept, own.items...), seen+own.seen
		}
		order := func(a, b reserved) int { return cmp.Compare(a.key, b.key) }
		slices.SortFunc(kept, order)
		same := func(what string, got []reserved) {
			t.Helper()
			want := slices.Clone(union.items)
			slices.SortFunc(want, order)
			if !slices.EqualFunc(got, want, func(a, b reserved) bool { return a.key == b.key && a.Row[0] == b.Row[0] }) {
				t.Fatalf("seed %d: %s is not the sketch of the union", seed, what)
			}
		}
		same("the merge", kept[:limit])
		if seen != union.seen {
			t.Fatalf("%d records seen, the union saw %d", seen, union.seen)
		}
		turned := newReservoir(1, limit, 1<<40)
		for i := len(backwards) - 1; i >= 0; i-- {
			turned.add(&backwards[i], keys[i])
		}
		slices.SortFunc(turned.items, order)
		same("the stream backwards", turned.items)
		// A smaller limit keeps the smallest, as if it had been so from the start.
		short, small := newReservoir(1, 100, 1<<40), newReservoir(1, 100, 1<<40)
		if err := short.load(union.appendState(nil), nil, union.seen, 1, 1); err != nil {
			t.Fatal(err)
		}
		for i := range backwards {
			small.add(&backwards[i], keys[i])
		}
		slices.SortFunc(short.items, order)
		slices.SortFunc(small.items, order)
		if !slices.EqualFunc(short.items, small.items, func(a, b reserved) bool { return a.key == b.key }) ||
			short.seen != small.seen {
			t.Fatalf("seed %d: a reservoir read back into a smaller one differs", seed)
		}
	}
}

// TestWholeReservoirIsExact: while nothing was dropped, nothing is an estimate.
func TestWholeReservoirIsExact(t *testing.T) {
	s := newSketched(1000)
	for i := range 5000 {
		s.push(1, 0, float64(i))
	}
	ev := evidenceOf([]*sketched{s})
	if ev.Len() != 5000 || ev.StandsFor(0) || ev.RankError(nil, .01) != 0 || rankErrors(ev, s.all) > 1e-3 {
		t.Errorf("%d records, rank error %v", ev.Len(), ev.RankError(nil, .01))
	}
}

// TestARecordThatIsNotKeptLeavesTheReservoirAsItIs: a snapshot writes the section anew only when its records are
// others.
func TestARecordThatIsNotKeptLeavesTheReservoirAsItIs(t *testing.T) {
	r := newReservoir(1, 10, 1<<40)
	changes := 0
	for i := range uint64(1000) {
		before, version := r.appendState(nil), r.version
		r.add(&record{Example: Example{Row: Row{float64(i)}, Weight: 1, Clock: float64(i)}, offset: int64(i)}, Hash(7, i))
		if same := bytes.Equal(before, r.appendState(nil)); same != (r.version == version) {
			t.Fatalf("record %d: the section is the same: %v, its version %d after %d", i, same, r.version, version)
		}
		if r.version != version {
			changes++
		}
	}
	// 10 + 10 (H(1000) - H(10)) = 55.6 on average.
	if changes < 30 || changes > 90 || r.seen != 1000 {
		t.Errorf("%d changes, %d records seen", changes, r.seen)
	}
}
