package model

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"liftstream/model/wire"
)

// waits admits a record of one feature.
func waits(r *pendingStore, offset int64, id string) {
	r.admit(&record{Example: Example{Row: Row{float64(offset)}, Class: Unlabelled, Weight: 1}, offset: offset}, id, nil,
		false, 0)
}

// oneNumber is the schema of the records of waits, and memories the length of those of their scores.
var oneNumber = &Schema{Features: []Feature{{Name: "x", Kind: Continuous}}, Classes: []string{"a", "b"}, Positive: 1}

const memories = 3

// restored writes the sections of the store and reads the bytes with load.
func restored(t *testing.T, r *pendingStore) *pendingStore {
	t.Helper()
	return restoredOf(t, r, oneNumber)
}

func restoredOf(t *testing.T, r *pendingStore, schema *Schema) *pendingStore {
	t.Helper()
	parts := map[string][]byte{}
	for _, s := range r.sections() {
		parts[s.Name] = s.Append(nil)
	}
	n := newPendingStore(r.limit, r.window)
	n.match, n.cohorts, n.keep = r.match, r.cohorts, r.keep
	if r.older != nil {
		n.older = map[uint64]uint64{}
	}
	n.lost, n.level, n.seed, n.coded = r.lost, r.level, r.seed, slices.Clone(r.coded)
	read := func(name string, use func([]byte) error) error { return use(parts[name]) }
	err := n.load(StateFormat, r.first, r.next, schema, memories, slices.Collect(maps.Keys(parts)), read)
	if err != nil {
		t.Fatal(err)
	}
	again := map[string][]byte{}
	for _, s := range n.sections() {
		again[s.Name] = s.Append(nil)
	}
	if !maps.EqualFunc(parts, again, bytes.Equal) {
		t.Error("a restored store is written otherwise")
	}
	return n
}

// TestRestoredRoomFindsWhatTheLiveOneDoes: a label by id means the newest record of that id. When that has left, an
// older one of the same id does not take its place, in a restored store either.
func TestRestoredRoomFindsWhatTheLiveOneDoes(t *testing.T) {
	r := newPendingStore(1<<20, 0)
	for i, id := range []string{"x", "y", "x", ""} {
		waits(r, int64(i), id)
	}
	for _, store := range []*pendingStore{r, restored(t, r)} {
		if w := store.find("x", place{}, true); w == nil || w.offset != 2 {
			t.Fatalf("x is %+v, want the record at 2", w)
		}
	}
	r.remove(r.find("x", place{}, true))
	for name, store := range map[string]*pendingStore{"live": r, "restored": restored(t, r)} {
		if w := store.find("x", place{}, true); w != nil {
			t.Errorf("%s: a second label of x would be learnt as that of the record at %d", name, w.offset)
		}
		if w := store.find("", place{0, 0}, false); w == nil || w.offset != 0 {
			t.Errorf("%s: by its place the older record is %+v", name, w)
		}
		if store.held() != r.held() || store.find("y", place{}, true) == nil {
			t.Errorf("%s: %d bytes, want %d", name, store.held(), r.held())
		}
	}
}

// TestStoreIsBounded: one record without a label does not hold the places of all records that come and go behind it.
func TestStoreIsBounded(t *testing.T) {
	r := newPendingStore(1<<20, 0)
	waits(r, 0, "first")
	const n = 20 * pendingChunk
	versions := map[string]uint64{} // hash of the bytes by name and version
	for i := int64(1); i <= n; i++ {
		waits(r, i, fmt.Sprint("c", i))
		if i%9 != 0 {
			r.remove(r.find(fmt.Sprint("c", i), place{}, true))
		}
		if i%9 == 8 && i > 800 {
			r.remove(r.find("", place{(i - 800) / 9 * 9, 0}, false))
		}
		for r.overdue(0) != nil {
			t.Fatal("a record expires")
		}
		if i%7 != 0 {
			continue
		}
		for _, s := range r.sections() {
			h := fnv.New64()
			h.Write(s.Append(nil))
			key := fmt.Sprint(s.Name, "/", s.Version)
			if was, ok := versions[key]; ok && was != h.Sum64() {
				t.Fatalf("after %d records: %s are other bytes", i, key)
			}
			versions[key] = h.Sum64()
		}
	}
	if places := r.next - r.first; places > 5*pendingChunk || len(r.parts) > 7 || cap(r.parts) > 32 || r.bytes > 200_000 {
		t.Errorf("%d places in %d parts, %d bytes, for %d records", places, len(r.parts), r.bytes, r.live)
	}
	two := restored(t, r)
	for name, store := range map[string]*pendingStore{"live": r, "restored": two} {
		if store.live != r.live || store.held() != r.held() {
			t.Errorf("%s: %d records, %d bytes; want %d and %d", name, store.live, store.held(), r.live, r.held())
		}
		for _, i := range []int64{0, n - 2} {
			if i%9 == 0 || i == 0 {
				if w := store.find("", place{i, 0}, false); w == nil || w.Row[0] != float64(i) {
					t.Errorf("%s: record %d is %+v", name, i, w)
				}
			}
		}
		if w := store.find("first", place{}, true); w == nil || w.offset != 0 {
			t.Errorf("%s: the first record is %+v", name, w)
		}
	}
}

// TestAFullStoreLosesLittleAtOnce: where the store is full, a record that comes has at most a quarter of a packed part
// leave, in a restored store too.
func TestAFullStoreLosesLittleAtOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newPendingStore(230_000, 0)
		most, gone, least := 0, 0, math.MaxInt
		for i := range int64(20 * pendingChunk) {
			waits(r, i*i, "") // an id would free its own bytes
			n := 0
			for r.evict() != nil {
				n++
			}
			if gone += n; gone > 0 {
				most, least = max(most, n), min(least, r.live)
			}
			if r.held() > r.limit {
				t.Fatalf("after %d records: %d bytes", i+1, r.held())
			}
			if restart && i%1700 == 0 {
				r = restored(t, r)
			}
		}
		if most > pendingChunk/4 || gone < 2*pendingChunk || gone+r.live != 20*pendingChunk {
			t.Errorf("restart %v: %d left at once, %d in all; %d are there, never fewer than %d", restart, most, gone,
				r.live, least)
		}
	}
}

// TestAFullStoreKeepsNoRoomForThoseThatLeft: a fifth of the records gets its label, too few for a part to be packed
// anew by itself. The first record that leaves for want of room does so when hardly any room is held for these, in a
// restored store at the same record.
func TestAFullStoreKeepsNoRoomForThoseThatLeft(t *testing.T) {
	var at [2]int64
	for restart := range 2 {
		r := newPendingStore(400_000, 0)
		for i := int64(0); ; i++ {
			waits(r, i*i, "")
			if r.evict() != nil {
				at[restart] = i
				break
			}
			if back := i - 900; back > 0 && back%5 == 0 {
				r.remove(r.find("", place{back * back, 0}, false))
			}
			if restart > 0 && i%1700 == 0 {
				r = restored(t, r)
			}
		}
		gone := 0
		for k, p := range r.parts {
			if p != nil && p.open == nil && k > 0 {
				gone += p.kept.count(pendingChunk) - p.live
			}
		}
		if gone > r.live/squeezed+pendingChunk/5 || r.live < 8*pendingChunk {
			t.Errorf("restart %d: the first record leaves with %d records in the store and room for %d that left", restart,
				r.live, gone)
		}
	}
	if at[0] != at[1] {
		t.Errorf("the first record leaves at record %d, and %d of a restored store", at[0], at[1])
	}
}

// TestRoomKeepsIdsAlone: ids come as parts of one text of their batch, which must not live on in the one record that
// waits.
func TestRoomKeepsIdsAlone(t *testing.T) {
	all := strings.Repeat("0123456789", 1000)
	r := newPendingStore(1<<20, 0)
	waits(r, 0, all[50:60])
	if kept := r.at(0).id; kept != all[50:60] || unsafe.StringData(kept) == unsafe.StringData(all[50:60]) {
		t.Errorf("the id %q is kept inside the text of its batch", kept)
	}
}

// TestLearntRecordsKeepNoMemoryOfScores: bytes that are not counted are not held, and free buffers are used again.
func TestLearntRecordsKeepNoMemoryOfScores(t *testing.T) {
	r := newPendingStore(1<<20, 0)
	pending := []float64{1, 2, 3}
	one := record{Example: Example{Row: Row{1}, Class: Unlabelled, Weight: 1}}
	r.admit(&one, "a", pending, false, 0)
	w := r.find("a", place{}, true)
	buffer := &w.pending[0]
	was := r.held()
	r.markLearnt(w)
	if cap(w.pending) != 0 || r.scores != 0 || r.held() != was-9*4-scoreBytes { // three numbers, and their word
		t.Errorf("the learnt record keeps %d numbers, %d bytes of %d", cap(w.pending), r.held(), was)
	}
	one.offset = 1
	r.admit(&one, "b", pending, false, 0)
	w = r.find("b", place{}, true)
	if &w.pending[0] != buffer {
		t.Error("what the learnt record gave back is not used")
	}
	r.remove(w)
	one.offset = 2
	r.admit(&one, "c", nil, true, 0)
	if w := r.find("c", place{}, true); cap(w.pending) != 0 {
		t.Errorf("a record that was learnt at once keeps %d numbers", cap(w.pending))
	}
}

func TestHostileRingsNoPanic(t *testing.T) {
	looked := 0
	err := newPendingStore(1, 0).load(StateFormat, math.MaxUint64-10, math.MaxUint64-1, oneNumber, 0, nil,
		func(_ string, use func([]byte) error) error {
			if looked++; looked > 3 {
				t.Fatal("the end of the store is never reached")
			}
			return use(nil)
		})
	if err == nil {
		t.Error("a store at the end of the numbers is accepted")
	}
	one := newTail(1, 0)
	var out record
	one.push(&record{Example: Example{Row: Row{1}, Weight: 1}}, &out)
	chunk := one.appendChunk(nil, 0)
	for _, ring := range [][2]uint64{{5, 6}, {0, 5}, {1, 1}, {math.MaxUint64, math.MaxUint64}} {
		tail := newTail(1, 0)
		read := func(_ string, use func([]byte) error) error { return use(chunk) }
		if err := tail.load(StateFormat, ring[0], ring[1], 1, 2, read); err == nil {
			t.Errorf("a tail of one slot with the records %d to %d is accepted", ring[0], ring[1])
		}
	}
}

// TestLongLevelsStayText: the text of a level is published, and must be UTF-8 wherever it is cut.
func TestLongLevelsStayText(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal}}, Classes: []string{"a", "b"}}
	for shift := range 4 {
		l := NewLevels(s)
		long := strings.Repeat("x", shift) + strings.Repeat("€", 400)
		code := l.Code(0, long)
		cut := l.Names(0)[code]
		if !utf8.ValidString(cut) || len(cut) > MaxLevelBytes || len(cut) < MaxLevelBytes-2 ||
			!strings.HasPrefix(long, cut) {
			t.Errorf("the text is cut to %d bytes that end in %q", len(cut), cut[len(cut)-3:])
		}
		if again := l.Code(0, cut); again != code || l.Code(0, long+"!") != code {
			t.Errorf("the cut text has the code %d, the whole one %d", again, code)
		}
		if other := l.Code(0, long[:300]); other == code || l.Code(0, long[:300]+"!") == other {
			t.Errorf("texts of 300 bytes are not told apart")
		}
		if _, err := DecodeLevels(s, wire.NewReader(l.AppendBinary(nil))); err != nil {
			t.Error(err)
		}
	}
}

// TestPlacesOutOfOrderAreFoundAfterARestore: places that begin anew, as those of a topic that was made anew do, stand
// in a packed part in no order, also where the record that broke it has left.
func TestPlacesOutOfOrderAreFoundAfterARestore(t *testing.T) {
	r := newPendingStore(1<<30, 0)
	for i := range int64(2 * pendingChunk) {
		waits(r, pendingChunk+i, "")
		if i == pendingChunk/2-12 {
			waits(r, 5, "")
		}
	}
	r.remove(r.find("", place{5, 0}, false))
	for name, store := range map[string]*pendingStore{"live": r, "restored": restored(t, r)} {
		for i := range int64(2 * pendingChunk) {
			if w := store.find("", place{pendingChunk + i, 0}, false); w == nil || w.offset != pendingChunk+i {
				t.Fatalf("%s: record %d is %+v", name, i, w)
			}
		}
	}
}

// TestAPartWhoseRecordsAllLeftIsRefused: no store writes one, and its bytes would be held for ever.
func TestAPartWhoseRecordsAllLeftIsRefused(t *testing.T) {
	r := newPendingStore(1<<30, 0)
	for i := range int64(pendingChunk) {
		waits(r, i, "")
	}
	b := r.sections()[0].Append(nil)
	if _, err := loadPart(b, oneNumber, r.coded, 0); err != nil {
		t.Fatal(err)
	}
	clear(b[1+pendingChunk/8:][:pendingChunk/8]) // none waits any more
	if _, err := loadPart(b, oneNumber, r.coded, 0); err == nil {
		t.Error("a part without a record that waits is read")
	}
}

// TestMemoriesThatWentLeaveNoRoomBehind: learnt records are kept for corrections within the bytes of the store's own
// reckoning, also where all of them had a memory of their score.
func TestMemoriesThatWentLeaveNoRoomBehind(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const parts = 100
	r := newPendingStore(1<<40, 0).of(oneNumber, 7, 0)
	for i := range int64(parts * pendingChunk) {
		rec := record{Example: Example{Row: Row{float64(i % 9)}, Class: Unlabelled, Weight: 1}, offset: i}
		r.admit(&rec, "", []float64{1, 2, 3}, false, 0)
		if i -= pendingChunk; i >= 0 {
			w := r.find("", place{i, 0}, false)
			w.Class = 1
			r.markLearnt(w)
		}
	}
	if took := heap() - before; r.memories() != pendingChunk || took > 4*r.held() {
		t.Errorf("%d memories are left, and %d bytes taken, of which the store knows %d", r.memories(), took, r.held())
	}
	runtime.KeepAlive(r)
}
