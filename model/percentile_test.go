package model

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// naive ranks p among scores of its class.
func naive(window []scored, class int32, p float64) float32 {
	var below, same, n float32
	b, fine := percentileBucket(p)
	for _, x := range window {
		if int32(x.class) != class {
			continue
		}
		switch n++; {
		case x.bucket < b || x.bucket == b && x.fine < fine:
			below++
		case x.bucket == b && x.fine == fine:
			same++
		}
	}
	if n == 0 {
		return .5
	}
	return (below + same/2) / n
}

func scoredOf(p float64, class int32) scored {
	b, fine := percentileBucket(p)
	return scored{b, uint16(class), fine}
}

func score(i, what int) (int32, float64) {
	u := float64(Hash(3, uint64(i), uint64(what))>>11) / (1 << 53)
	return int32(Hash(4, uint64(i), uint64(what)) % 3), .001 + .998*u
}

// modelOf is a model with the scores of the members alone.
func modelOf(of []member) *Model {
	return &Model{Parts: map[string][]byte{PartPercentile: percentilePart(of), PartPercentileFine: percentileFinePart(of)}}
}

// members are the partitions as gather keeps them.
func members(parts ...*Partition) (out []member) {
	seen := 0.
	for _, p := range parts {
		seen += float64(p.seen)
	}
	for _, p := range parts {
		m := member{core: &core{head: head{self: p.self}, seen: p.seen}}
		m.scores, m.steps = counted(p.percent.newest(m.share(seen))), stepsOf(p.percent.newest(m.share(seen)))
		out = append(out, m)
	}
	return out
}

// TestPercentilesAreOfOneClassAndAllPartitions: each rank is that among the own newest scores and those of the others
// that the last model carries, of the same class, before and after a model and a restart.
func TestPercentilesAreOfOneClassAndAllPartitions(t *testing.T) {
	parts := []*Partition{}
	for n, count := range []int{300, 150_000, 50_000} {
		p := &Partition{self: int32(n), percent: newPercentile(), seen: uint64(count)}
		for i := range count {
			c, v := score(i, n)
			p.percent.rank(c, v)
		}
		parts = append(parts, p)
	}
	part, fine, err := readPercentileParts(modelOf(members(parts...)), 3)
	if err != nil {
		t.Fatal(err)
	}
	var window []scored // of partition 0: the model's scores of the others
	for _, p := range parts[1:] {
		window = append(window, p.percent.newest(int(percentileWindow*float64(p.seen)/200_300))...)
	}
	q := &parts[0].percent
	q.rebase(part, fine, 0)
	if q.limit != percentileWindow-len(window) || q.limit < 100 || q.limit > 300 {
		t.Fatalf("%d own scores beside %d", q.limit, len(window))
	}
	own := make([]scored, 0, 1000)
	for i := range 300 {
		c, v := score(i, 0)
		own = append(own, scoredOf(v, c))
	}
	for i := 300; i < 1000; i++ {
		c, v := score(i, 0)
		v = math.Sqrt(v) // the own ones drift away
		if i%50 == 0 {
			if i%100 == 0 { // the others are ranks in a window that has gone on since the last restart
				restart(t, q)
			}
			all := slices.Concat(window, own[max(0, len(own)-q.limit):])
			if got, want := q.rank(c, v), naive(all, c, v); got != want {
				t.Fatalf("score %d: rank %v, want %v", i, got, want)
			}
		} else {
			q.rank(c, v)
		}
		own = append(own, scoredOf(v, c))
	}
	if size := len(q.ring); size != q.limit {
		t.Errorf("%d own scores, %d may be kept", size, q.limit)
	}
	if n := testing.AllocsPerRun(100, func() { q.rank(1, .3) }); n != 0 {
		t.Errorf("%v allocations a score", n)
	}
}

// TestPercentilesAreSharesOfScores: among scores of any one distribution percentiles are uniform; a score above 90 % of
// the others has .9; equal scores have .5. The order of the scores in the window, and each of them twice, change
// nothing.
func TestPercentilesAreSharesOfScores(t *testing.T) {
	uniform := func(i int) float64 { return (float64(Hash(5, uint64(i))>>12) + .5) / (1 << 52) }
	for name, of := range map[string]func(u float64) float64{
		"rare":   func(u float64) float64 { return .02 * u * u },
		"even":   func(u float64) float64 { return u },
		"frauds": func(u float64) float64 { return 1 - .001*u },
	} {
		q := newPercentile()
		const n = 40_000
		var tenths [10]int
		for i := range n {
			r := q.rank(1, of(uniform(i)))
			if i >= n/2 {
				tenths[min(int(10*r), 9)]++
			}
		}
		for k, c := range tenths {
			if c < n/20*9/10 || c > n/20*11/10 {
				t.Errorf("%s: %d of %d percentiles in tenth %d", name, c, n/2, k)
			}
		}
		shuffled, doubled := newPercentile(), newPercentile()
		for i := range n {
			shuffled.rank(1, of(uniform((i*7919+13)%n)))
			doubled.rank(1, of(uniform(i)))
			doubled.rank(1, of(uniform(i)))
		}
		for _, u := range []float64{.01, .1, .5, .9, .99} {
			want := naive(q.ring, 1, of(u))
			higher := u
			if of(.1) > of(.9) {
				higher = 1 - u
			}
			if math.Abs(float64(want)-higher) > .01 {
				t.Errorf("%s: the quantile %v has percentile %v", name, higher, want)
			}
			if got := shuffled.rank(1, of(u)); math.Abs(float64(got-want)) > 1e-3 {
				t.Errorf("%s: percentile %v of %v, in another order %v", name, want, u, got)
			}
			if got := doubled.rank(1, of(u)); math.Abs(float64(got-want)) > 1e-3 {
				t.Errorf("%s: percentile %v of %v, twice %v", name, want, u, got)
			}
		}
	}
	q := newPercentile()
	for range 100 {
		if r := q.rank(0, .2); r != .5 {
			t.Fatalf("equal scores have the percentile %v", r)
		}
	}
}

// restart puts a restored window in the place of q.
func restart(t *testing.T, q *percentile) {
	t.Helper()
	state := q.appendState(nil)
	back := newPercentile()
	if err := back.load(StateFormat, state, 3, -1); err != nil || !bytes.Equal(back.appendState(nil), state) {
		t.Fatalf("restored otherwise: %v", err)
	}
	fine := q.appendFine(nil)
	read := func(_ string, use func(b []byte) error) error { return use(fine) }
	if err := back.loadFine(read); err != nil || !bytes.Equal(back.appendFine(nil), fine) {
		t.Fatalf("restored otherwise: %v", err)
	}
	*q = back
}

// TestStatesWithPercentilesOfAnyClass: format 2 did not say of which class a score was; with a positive class there was
// one.
func TestStatesWithPercentilesOfAnyClass(t *testing.T) {
	old := []byte{1, 6, 10, 0, 20, 0, 30, 0} // at 1, three buckets
	for positive, want := range map[int]int{-1: 0, 2: 3} {
		q := newPercentile()
		if err := q.load(2, old, 3, positive); err != nil || len(q.ring) != want {
			t.Fatalf("%v: %d scores, want %d", err, len(q.ring), want)
		}
		if want > 0 && (q.ring[0] != scored{20, 2, 128} || q.ring[2] != scored{10, 2, 128}) {
			t.Errorf("%v", q.ring)
		}
	}
}

// evenly gives the scores of a model without steps some.
func evenly(part map[int32]map[int32][]bucket) map[int32]map[int32][]uint8 {
	out := map[int32]map[int32][]uint8{}
	for p, lists := range part {
		out[p] = evenSteps(lists)
	}
	return out
}

func FuzzPercentiles(f *testing.F) {
	q := newPercentile()
	for i := range 50 {
		q.rank(score(i, 0))
	}
	f.Add(q.appendState(nil), percentilePart(members(&Partition{percent: q, seen: 50})))
	f.Fuzz(func(t *testing.T, state, part []byte) {
		q := newPercentile()
		if q.load(StateFormat, state, 3, 1) != nil {
			return
		}
		if scores, err := readPercentilePart(part, 3); err == nil {
			q.rebase(scores, evenly(scores), 1)
		}
		if r := q.rank(2, .7); !(r >= 0 && r <= 1) {
			t.Errorf("rank %v", r)
		}
	})
}
