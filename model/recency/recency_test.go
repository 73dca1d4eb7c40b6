package recency

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"liftstream/model/wire"
)

// slow is the exact program: it keeps all records.
type slow struct{ records map[key][]int64 }

func (s *slow) add(id ID, group int, at int64) {
	if s.records == nil {
		s.records = map[key][]int64{}
	}
	k := key{id, uint8(group)}
	s.records[k] = append(s.records[k], at)
}

func (s *slow) since(id ID, group int, at int64) (nanos uint64, ok bool) {
	nanos = math.MaxUint64
	for _, t := range s.records[key{id, uint8(group)}] {
		if t <= at {
			nanos, ok = min(nanos, uint64(at)-uint64(t)), true
		}
	}
	return nanos, ok
}

func (s *slow) count(id ID, group int, at, window int64) (n float64) {
	for _, t := range s.records[key{id, uint8(group)}] {
		if t <= at && uint64(at)-uint64(t) < uint64(window) {
			n++
		}
	}
	return n
}

func (s *slow) later(id ID, group int, at int64) (n float64) {
	for _, t := range s.records[key{id, uint8(group)}] {
		if t > at {
			n++
		}
	}
	return n
}

func idOf(i int) (id ID) {
	for k := range id {
		id[k] = byte(i >> (8 * (k % 4)) * (k + 1) * 37)
	}
	return id
}

func whole(s *Store) []byte {
	b := s.AppendHead(nil)
	for c := range Chunks {
		b = wire.AppendBytes(b, s.AppendChunk(nil, c))
	}
	return b
}

func restored(t testing.TB, b []byte) (*Store, error) {
	t.Helper()
	r := wire.NewReader(b)
	s, keys, err := ReadHead(r)
	if err != nil {
		return nil, err
	}
	for c, n := range keys {
		if err := s.LoadChunk(r.Bytes(), c, n); err != nil {
			return nil, err
		}
	}
	return s, r.Done()
}

const hour = int64(3600e9)

// TestAgainstTheSlowProgram: ids of few and of many records, in order and late, of equal times, with times of wild
// clocks; restored again and again. Counts of at most 16 records are exact, others within 1/32, both with the later
// ones of a record that comes late among the counted.
func TestAgainstTheSlowProgram(t *testing.T) {
	for _, c := range []struct {
		name    string
		ids     int
		step    int64 // mean time between records
		late    int64 // most by which a record comes late
		wild    float64
		records int
	}{
		{"few records of an id", 3000, hour / 60, 0, 0, 5000},
		{"many records of an id", 12, hour / 60, 0, 0, 5000},
		{"late ones", 300, hour / 60, 3 * hour, 0, 5000},
		{"wild clocks", 300, hour / 60, 0, .05, 5000},
		{"at one time", 100, 0, 0, 0, 2000},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(len(c.name))))
		s, exact := New(Options{Bytes: 1 << 30, Window: 48 * hour, Groups: []string{"", "visit"}}), &slow{}
		now, worst := 1700000000*int64(1e9), 0.0
		for i := range c.records {
			now += int64(rng.ExpFloat64() * float64(c.step))
			id, at := idOf(rng.IntN(c.ids)), now-int64(rng.Float64()*float64(c.late))
			groups := 2
			if rng.Float64() < c.wild {
				at, groups = rng.Int64N(4e18)-2e18, 0 // its own values are nothing to hold on to
			}
			for g := range groups {
				since, ok := s.Since(id, g, at)
				if want, wantOK := exact.since(id, g, at); ok != wantOK || ok && since != want {
					t.Fatalf("%s: record %d: %d, %v since the last one, want %d, %v", c.name, i, since, ok, want, wantOK)
				}
				for _, w := range []int64{hour, 10 * hour, 48 * hour} {
					got, want := s.Count(id, g, at, w), exact.count(id, g, at, w)
					known := want + exact.later(id, g, at)
					if known <= 16 && got != want {
						t.Fatalf("%s: record %d: count %v in %d hours, want %v", c.name, i, got, w/hour, want)
					}
					worst = max(worst, math.Abs(got-want)/max(known, 1))
				}
			}
			s.Add(id, 0, at, now)
			exact.add(id, 0, at)
			if i%3 == 0 {
				s.Add(id, 1, at, now)
				exact.add(id, 1, at)
			}
			if i%1249 == 0 {
				was := whole(s)
				back, err := restored(t, was)
				if err != nil || !bytes.Equal(whole(back), was) || back.Bytes() != s.Bytes() || back.Len() != s.Len() {
					t.Fatalf("%s: restored: %v", c.name, err)
				}
				s = back
			}
		}
		if worst > 1./32 {
			t.Errorf("%s: the largest error of a count is %v of it", c.name, worst)
		}
		if c.ids < 100 && worst == 0 {
			t.Errorf("%s: no count was ever inexact: the test tests nothing", c.name)
		}
	}
}

// TestAHistoryIsSmall: 60,000 records of an id take few spans, in order and of one time, and those of a wild clock
// do not stay in its way.
func TestAHistoryIsSmall(t *testing.T) {
	for _, step := range []int64{0, 1, hour} {
		s := New(Options{Bytes: 1 << 30, Window: 1 << 60, Groups: []string{""}})
		for i := range int64(60_000) {
			s.Add(idOf(1), 0, 1+i*step, 1+i*step)
		}
		if n := (s.Bytes() - KeyBytes) / SpanBytes; n > 400 {
			t.Errorf("steps of %d: %d spans", step, n)
		}
		want := 6e4
		if step > 0 {
			want = min(want, float64((int64(1)<<60)/step))
		}
		if n := s.Count(idOf(1), 0, 59_999*step+1, 1<<60); math.Abs(n-want) > want/32 {
			t.Errorf("steps of %d: %v records", step, n)
		}
	}
	s := New(Options{Bytes: 1 << 30, Groups: []string{""}})
	for i := range int64(100) {
		s.Add(idOf(1), 0, i*hour+1, i*hour+1)
	}
	if n := (s.Bytes() - KeyBytes) / SpanBytes; n != newest {
		t.Errorf("without a window %d spans stay", n)
	}
	s.Add(idOf(1), 0, 1<<62, 99*hour+1)
	if since, ok := s.Since(idOf(1), 0, 100*hour+1); !ok || since != uint64(hour) {
		t.Errorf("after a record of the far future: %d, %v", since, ok)
	}
}

// TestEviction: the store keeps its bound, and lets the ids of the oldest last records by stream time go, of any times
// of their own, and of equal ones the smallest hashes.
func TestEviction(t *testing.T) {
	const room = 256
	o := Options{Bytes: room * (KeyBytes + SpanBytes), Groups: []string{""}}
	s := New(o)
	for i := range 3 * room {
		at := int64(i+1) * hour
		if i%5 == 0 {
			at = 1 << 62 // a wild clock does not keep its id
		}
		s.Add(idOf(i), 0, at, int64(i+1)*hour)
		if s.Bytes() > o.Bytes {
			t.Fatalf("%d bytes of %d", s.Bytes(), o.Bytes)
		}
	}
	if s.Len() < room*15/16 || s.Evicted() != uint64(3*room-s.Len()) {
		t.Errorf("%d ids stay, %d were evicted", s.Len(), s.Evicted())
	}
	for i := range 3 * room {
		if there := s.find(idOf(i), 0) != nil; there != (i >= 3*room-s.Len()) {
			t.Errorf("id %d of %d is there: %v", i, 3*room, there)
		}
	}
	// Before stream time begins all are equal, and any order of them leaves the same ids.
	var first []byte
	for seed := range uint64(3) {
		s := New(o)
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(room + 1) {
			s.Add(idOf(i), 0, 5, 0)
		}
		if b := whole(s); first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Errorf("seed %d: another order leaves other bytes", seed)
		}
	}
}

// TestOrderOfOtherIds: records of one time in another order leave the same bytes.
func TestOrderOfOtherIds(t *testing.T) {
	var first []byte
	for seed := range uint64(4) {
		s := New(Options{Bytes: 1 << 20, Window: hour, Groups: []string{""}})
		rng := rand.New(rand.NewPCG(seed, 1))
		for k := range int64(20) {
			for _, i := range rng.Perm(50) {
				if i%7 != int(k%7) {
					s.Add(idOf(i), 0, k*hour/8+1, k*hour/8+1)
				}
			}
		}
		if b := whole(s); first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Errorf("seed %d: other bytes", seed)
		}
	}
}

// TestForgottenIds are in no group, as if they had never come.
func TestForgottenIds(t *testing.T) {
	o := Options{Bytes: 1 << 20, Groups: []string{"", "x"}}
	a, b := New(o), New(o)
	for i := range 40 {
		for g := range 2 {
			a.Add(idOf(i), g, int64(i)+1, int64(i)+1)
			if i != 7 && i != 8 {
				b.Add(idOf(i), g, int64(i)+1, int64(i)+1)
			}
		}
	}
	if n := a.Forget([]ID{idOf(7), idOf(8), idOf(99)}); n != 2 || !bytes.Equal(whole(a), whole(b)) {
		t.Errorf("%d forgotten", n)
	}
}

// TestCarriedOver: groups keep their ids by name, and the ids without room leave.
func TestCarriedOver(t *testing.T) {
	old := New(Options{Bytes: 1 << 20, Window: hour, Groups: []string{"", "x", "y"}})
	for i := range 40 {
		for g := range 3 {
			old.Add(idOf(i), g, int64(i*(g+1))+1, int64(i)+1)
		}
	}
	s := New(Options{Bytes: 100 * (KeyBytes + SpanBytes), Window: 2 * hour, Groups: []string{"z", "y", ""}})
	s.Carry(old)
	if s.Len() != 80 || s.Bytes() != 80*(KeyBytes+SpanBytes) {
		t.Errorf("%d ids of %d bytes", s.Len(), s.Bytes())
	}
	if since, _ := s.Since(idOf(9), 1, 100); since != 100-28 {
		t.Errorf("%d since the last y", since)
	}
	small := New(Options{Bytes: 16 * (KeyBytes + SpanBytes), Groups: []string{""}})
	if small.Carry(old); small.Len() != 15 || small.Evicted() != 25 || small.find(idOf(39), 0) == nil {
		t.Errorf("%d ids, %d evicted", small.Len(), small.Evicted())
	}
}

// TestHostileBytesNoPanic: each byte changed, and each length, gives an error or a store that goes on.
func TestHostileBytesNoPanic(t *testing.T) {
	s := New(Options{Bytes: 1 << 16, Window: hour, Groups: []string{"", "x"}})
	for i := range 100 {
		s.Add(idOf(i%9), i%2, int64(i)*hour/20+1, int64(i)*hour/20+1)
	}
	good := whole(s)
	for i := range good {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(good)
			bad[i] ^= flip
			goOn(t, bad)
		}
		goOn(t, good[:i])
	}
}

func goOn(t testing.TB, b []byte) {
	s, err := restored(t, b)
	if err != nil {
		return
	}
	again, err := restored(t, whole(s))
	if err != nil || !bytes.Equal(whole(again), whole(s)) {
		t.Fatalf("its own bytes are refused: %v", err)
	}
	for i := range 20 {
		at := int64(i) * hour
		if n := s.Count(idOf(i), 0, at, hour); n != n || n < 0 {
			t.Fatalf("count %v", n)
		}
		s.Since(idOf(i), 0, at)
		s.Add(idOf(i), 0, at, at)
	}
}

func FuzzStore(f *testing.F) {
	s := New(Options{Bytes: 1 << 16, Window: hour, Groups: []string{"", "x"}})
	f.Add(whole(s))
	for i := range 100 {
		s.Add(idOf(i%9), i%2, int64(i)*hour/20+1, int64(i)*hour/20+1)
	}
	f.Add(whole(s))
	f.Fuzz(func(t *testing.T, b []byte) { goOn(t, b) })
}

// TestExtremeTimes do not overflow.
func TestExtremeTimes(t *testing.T) {
	s, exact := New(Options{Bytes: 1 << 20, Window: 1 << 60, Groups: []string{""}}), &slow{}
	times := []int64{math.MinInt64, math.MaxInt64, -1, 1, 0, math.MaxInt64, math.MinInt64, 5}
	for i, at := range times {
		a, okA := s.Since(idOf(1), 0, at)
		b, okB := exact.since(idOf(1), 0, at)
		if n, m := s.Count(idOf(1), 0, at, 1<<60), exact.count(idOf(1), 0, at, 1<<60); a != b && okB || okA != okB || n != m {
			t.Error(fmt.Sprint(i, at, a, okA, b, okB, n, m))
		}
		s.Add(idOf(1), 0, at, 0)
		exact.add(idOf(1), 0, at)
	}
	if back, err := restored(t, whole(s)); err != nil || !bytes.Equal(whole(back), whole(s)) {
		t.Errorf("restored: %v", err)
	}
}

// TestASpanThatTheWindowCuts counts by half: at either end of the window, and where it is longer than the window.
func TestASpanThatTheWindowCuts(t *testing.T) {
	for _, c := range []struct {
		name       string
		at, window int64
		want       float64
	}{
		{"all of it", 500, 300, 10},
		{"all, at the last record", 400, 200, 10},
		{"all but the first record", 400, 199, 5}, // the first lies a window away, which is outside
		{"its newer end", 500, 150, 5},
		{"its older end", 300, 150, 5},
		{"its middle", 300, 50, 5},
		{"the first record alone", 201, 50, 5},
		{"nothing of it, which is older", 500, 100, 0},
		{"nothing of it, which is newer", 200, 100, 0},
	} {
		s, id := New(Options{Bytes: 1 << 20, Window: 1000, Groups: []string{""}}), idOf(1)
		k := key{id, 0}
		s.keys[k.chunk()][k] = &history{spans: []span{{201, 400, 10}}}
		if got := s.Count(id, 0, c.at, c.window); got != c.want {
			t.Errorf("%s: %v records in the %d before %d, want %v", c.name, got, c.window, c.at, c.want)
		}
	}
}

// TestSinceBesideAndWithinASpan: the last record at or before a time, of a span of several the first one.
func TestSinceBesideAndWithinASpan(t *testing.T) {
	s, id := New(Options{Bytes: 1 << 20, Window: 1000, Groups: []string{""}}), idOf(1)
	k := key{id, 0}
	s.keys[k.chunk()][k] = &history{spans: []span{{100, 100, 1}, {201, 400, 10}, {500, 500, 1}}}
	for at, want := range map[int64]uint64{100: 0, 150: 50, 200: 100, 201: 0, 300: 99, 400: 0, 450: 50, 500: 0, 510: 10} {
		if got, ok := s.Since(id, 0, at); !ok || got != want {
			t.Errorf("at %d: %d since the last record, %v, want %d", at, got, ok, want)
		}
	}
	if got, ok := s.Since(id, 0, 99); ok {
		t.Errorf("before the first record: %d since the last one", got)
	}
}

// TestImpossibleBytesAreRefused: each rule of the binary form by itself, beside bytes that keep all of them.
func TestImpossibleBytesAreRefused(t *testing.T) {
	type record struct {
		id    int
		spans []span
	}
	one := []span{{5, 5, 1}}
	chunk := func(records ...record) (b []byte) {
		for _, r := range records {
			id := ID{1: byte(r.id)}
			b = wire.AppendVarint(wire.AppendUvarint(append(b, id[:]...), 0), 7)
			b = wire.AppendUvarint(b, uint64(len(r.spans)))
			at := int64(7)
			for _, x := range r.spans {
				b = wire.AppendUvarint(wire.AppendVarint(b, x.newest-at), uint64(x.n))
				if at = x.newest; x.n > 1 {
					b = wire.AppendUvarint(b, uint64(x.newest)-uint64(x.oldest))
				}
			}
		}
		return b
	}
	room := Options{Bytes: 2 * (KeyBytes + SpanBytes), Groups: []string{""}}
	for _, c := range []struct {
		name  string
		n     uint64
		chunk int
		bytes []byte
		ok    bool
	}{
		{"two ids", 2, 0, chunk(record{1, one}, record{2, one}), true},
		{"spans in order", 1, 0, chunk(record{1, []span{{5, 5, 1}, {5, 9, 2}}}), true},
		{"the most records", 1, 0, chunk(record{1, []span{{5, 9, 1 << 53}}}), true},
		{"one id more than there is room for", 3, 0, chunk(record{1, one}, record{2, one}, record{3, one}), false},
		{"ids out of order", 2, 0, chunk(record{2, one}, record{1, one}), false},
		{"an id twice", 2, 0, chunk(record{1, one}, record{1, one}), false},
		{"another chunk", 1, 1, chunk(record{1, one}), false},
		{"no span", 1, 0, chunk(record{1, nil}), false},
		{"a span without records", 1, 0, chunk(record{1, []span{{5, 5, 0}}}), false},
		{"too many records", 1, 0, chunk(record{1, []span{{5, 9, 1<<53 + 1}}}), false},
		{"a span that ends before it begins", 1, 0, chunk(record{1, []span{{9, 5, 2}}}), false},
		{"spans out of order", 1, 0, chunk(record{1, []span{{9, 9, 1}, {5, 5, 1}}}), false},
		{"an id less", 2, 0, chunk(record{1, one}), false},
		{"an id more", 1, 0, chunk(record{1, one}, record{2, one}), false},
	} {
		if err := New(room).LoadChunk(c.bytes, c.chunk, c.n); (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	head := func(format, bytes, window uint64, groups ...string) []byte {
		b := wire.AppendUvarint(wire.AppendUvarint(wire.AppendUvarint(nil, format), bytes), window)
		b = wire.AppendUvarint(wire.AppendStrings(b, groups), 0)
		for range Chunks {
			b = wire.AppendUvarint(b, 0)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		ok    bool
	}{
		{"the largest", head(1, math.MaxInt64, math.MaxInt64/2, ""), true},
		{"another format", head(2, 100, 100, ""), false},
		{"too many bytes", head(1, math.MaxInt64+1, 100, ""), false},
		{"too long a window", head(1, 100, math.MaxInt64/2+1, ""), false},
		{"no groups", head(1, 100, 100), false},
	} {
		r := wire.NewReader(c.bytes)
		s, _, err := ReadHead(r)
		if err == nil {
			err = r.Done()
		}
		if (err == nil) != c.ok || c.ok && (s.o.Bytes != math.MaxInt64 || s.o.Window != math.MaxInt64/2) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// TestAStoreServesItsOwnSettings and no others.
func TestAStoreServesItsOwnSettings(t *testing.T) {
	own := Options{Bytes: 1 << 20, Window: hour, Groups: []string{"", "x"}}
	s := New(own)
	for name, o := range map[string]Options{
		"other bytes":      {Bytes: 1 << 21, Window: hour, Groups: own.Groups},
		"another window":   {Bytes: 1 << 20, Window: 2 * hour, Groups: own.Groups},
		"other groups":     {Bytes: 1 << 20, Window: hour, Groups: []string{"", "y"}},
		"fewer groups":     {Bytes: 1 << 20, Window: hour, Groups: []string{""}},
		"groups otherwise": {Bytes: 1 << 20, Window: hour, Groups: []string{"x", ""}},
	} {
		if s.Serves(o) {
			t.Errorf("%s are served", name)
		}
	}
	if !s.Serves(Options{Bytes: 1 << 20, Window: hour, Groups: []string{"", "x"}}) {
		t.Error("its own settings are not served")
	}
}

// TestAStoreIsFilledUp: an id leaves when the bound is passed, and not when it is reached.
func TestAStoreIsFilledUp(t *testing.T) {
	s := New(Options{Bytes: 32 * (KeyBytes + SpanBytes), Groups: []string{""}})
	for i := range 32 {
		s.Add(idOf(i), 0, int64(i)+1, int64(i)+1)
	}
	if s.Len() != 32 || s.Evicted() != 0 {
		t.Errorf("%d ids of 32, %d evicted", s.Len(), s.Evicted())
	}
	if s.Add(idOf(32), 0, 40, 40); s.Len() != 30 || s.Evicted() != 3 {
		t.Errorf("one more: %d ids of 33, %d evicted", s.Len(), s.Evicted())
	}
}

// TestAChunkThatChangesGetsAnotherVersion, by each way in which it changes: else a snapshot would keep the old bytes.
func TestAChunkThatChangesGetsAnotherVersion(t *testing.T) {
	type seen struct {
		version uint64
		bytes   []byte
	}
	var last [Chunks]seen
	s := New(Options{Bytes: 40 * (KeyBytes + SpanBytes), Window: hour, Groups: []string{"", "x"}})
	look := func(s *Store, step string) (changed int) {
		t.Helper()
		for c := range last {
			_, version := s.Chunk(c)
			b := s.AppendChunk(nil, c)
			if !bytes.Equal(b, last[c].bytes) {
				if changed++; version == last[c].version {
					t.Errorf("%s: chunk %d has other bytes and the same version", step, c)
				}
			}
			last[c] = seen{version, b}
		}
		return changed
	}
	for i := range 30 {
		if s.Add(idOf(i), i%2, int64(i)+1, int64(i)+1); look(s, "an id") != 1 {
			t.Fatalf("id %d leaves its chunk as it was", i)
		}
	}
	if s.Add(idOf(4), 0, 3, 40); look(s, "a late record of an id that is known") != 1 {
		t.Fatal("a late record changes nothing")
	}
	if n := s.Forget([]ID{idOf(3), idOf(8), idOf(1000)}); n != 2 || look(s, "an order to forget") == 0 {
		t.Fatalf("%d ids are forgotten", n)
	}
	for i := 30; s.Evicted() == 0; i++ {
		s.Add(idOf(i), 0, 100, 100)
		look(s, "eviction")
	}
	next := New(Options{Bytes: 1 << 20, Window: hour, Groups: []string{"x"}})
	last = [Chunks]seen{}
	if next.Carry(s); look(next, "a carry-over") == 0 {
		t.Fatal("nothing is carried over")
	}
}
