package model

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// draw returns a number below n that depends on its arguments alone.
func draw(n uint64, of ...uint64) int { return int(Hash(1, of...) % n) }

// TestColumnsKeepEveryBit packs columns of all kinds, reads each value by itself, and counts the bits that they take.
func TestColumnsKeepEveryBit(t *testing.T) {
	odd := math.Float64frombits(0x7ff8dead00000001)
	for _, c := range []struct {
		name  string
		kind  byte
		bits  float64 // a value, at most
		value func(i int) float64
	}{
		{"one value", columnDecimal, 1, func(int) float64 { return 7 }},
		{"missing", columnDecimal, 1, func(int) float64 { return math.NaN() }},
		{"whole numbers", columnDecimal, 8, func(i int) float64 { return float64(i%120 - 20) }},
		{"with missing ones", columnDecimal, 8, func(i int) float64 {
			return []float64{math.NaN(), float64(i % 100)}[min(draw(9, uint64(i)), 1)]
		}},
		{"hundreds", columnDecimal, 8, func(i int) float64 { return float64(100 * (i % 50)) }},
		{"money", columnDecimal, 18, func(i int) float64 { return float64(draw(99999, uint64(i))) / 100 }},
		{"six digits", columnDecimal, 21, func(i int) float64 { return float64(draw(999999, uint64(i))) / 1e6 }},
		{"a few long ones", columnList, 8, func(i int) float64 { return math.Sqrt(float64(i%8) + 2) }},
		{"a zero below zero", columnList, 2, func(i int) float64 { return []float64{math.Copysign(0, -1), 0, 1}[i%3] }},
		{"another NaN", columnList, 2, func(i int) float64 { return []float64{odd, math.NaN(), 1}[i%3] }},
		{"far apart", columnList, 2, func(i int) float64 { return []float64{1e300, -1e300, 5e-324}[i%3] }},
		{"any", columnRaw, 64, func(i int) float64 { return math.Float64frombits(Hash(3, uint64(i)) >> 2) }},
	} {
		for _, n := range []int{1, 2, 63, 1024} {
			v := make([]float64, n)
			for i := range v {
				v[i] = c.value(i)
			}
			var k columnPacker
			b := append(k.appendFloats([]byte{1, 2, 3}, v), make([]byte, columnEnd)...)
			got, rest, err := readColumn(b[3:], n, true)
			if err != nil || len(rest) != columnEnd {
				t.Fatalf("%s, %d values: %v, %d bytes behind", c.name, n, err, len(rest))
			}
			for i := range v {
				if math.Float64bits(got.float(i)) != math.Float64bits(v[i]) {
					t.Fatalf("%s, %d values: value %d is %v, want %v", c.name, n, i, got.float(i), v[i])
				}
			}
			if bits := 8 * float64(len(b)-3-columnEnd) / float64(n); n == 1024 && (got.kind != c.kind || bits > c.bits+1) {
				t.Errorf("%s: kind %d, %.2f bits a value; want %d and %v", c.name, got.kind, bits, c.kind, c.bits)
			}
			for cut := range len(b) - 3 { // a column that is cut short gives an error
				if _, _, err := readColumn(b[3:3+cut], n, true); err == nil {
					t.Fatalf("%s: %d bytes of %d are a column of %d values", c.name, cut, len(b)-3, n)
				}
			}
		}
	}
	for _, v := range [][]int64{{}, {math.MinInt64, math.MaxInt64, 0}, {math.MinInt64, 0}, {5, 5 + 3e9, 5 + 9e9},
		{1, 2, 4}, {-7}} {
		var k columnPacker
		b := append(k.appendInts(nil, v), make([]byte, columnEnd)...)
		got, _, err := readColumn(b, len(v), true)
		for i := range v {
			if err != nil || got.int(i) != v[i] {
				t.Errorf("%d: value %d is %d: %v", v, i, got.int(i), err)
			}
		}
	}
}

// TestCodesKeepCellsAndAreRecoded: cells of features with levels, further ones included, come back exactly, and
// another table of levels changes the list of the column alone.
func TestCodesKeepCellsAndAreRecoded(t *testing.T) {
	v := make([]float64, 500)
	for i := range v {
		v[i] = []float64{math.NaN(), 0, 1, MaxLevels - 1, MaxLevels, Cell(MaxLevels + 1), Cell(MaxLevels + MostFurther),
			Cell(MaxLevels + 77777)}[draw(8, uint64(i))]
	}
	var k columnPacker
	b := append(k.appendCodes(nil, v), make([]byte, columnEnd)...)
	c, _, err := readColumn(b, len(v), true)
	if err != nil || len(b) > 8*codeEntry+500*3/8+1+4+columnEnd {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	rc := Recode{make([]uint32, MaxLevels)}
	for i := range rc[0] {
		rc[0][i] = uint32(i)
	}
	if c.recode(rc, 0) {
		t.Error("the same codes change a column")
	}
	rc[0][0], rc[0][1] = 1, 0
	if !c.recode(rc, 0) {
		t.Error("other codes change nothing")
	}
	for i, x := range v {
		if want := rc.Value(0, x); c.float(i) != want && !(math.IsNaN(want) && math.IsNaN(c.float(i))) {
			t.Fatalf("cell %d is %v, want %v", i, c.float(i), want)
		}
	}
}

func TestTextsComeBack(t *testing.T) {
	uuid := func(i int) string {
		h := fmt.Sprintf("%016x%016x", Hash(1, uint64(i)), Hash(2, uint64(i)))
		return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	}
	for _, c := range []struct {
		name string
		kind byte
		each float64 // bytes of a text, at most
		text func(i int) string
	}{
		{"none", textsNone, 0.1, func(int) string { return "" }},
		{"numbers", textsNumbered, 1.5, func(i int) string { return fmt.Sprint("customer-", 700000+i) }},
		{"numbers of one prefix that ends in a digit", textsNumbered, 2.2, func(i int) string {
			return fmt.Sprint("c10", i)
		}},
		{"numbers, some without", textsNumbered, 1.5, func(i int) string {
			return []string{"", fmt.Sprint(1 + i)}[min(draw(5, uint64(i)), 1)]
		}},
		{"numbers, the first without", textsNumbered, 2.6, func(i int) string {
			return []string{"", fmt.Sprint("customer-", 700000+i)}[min(i, 1)]
		}},
		{"no number", textsEven, 1.6, func(i int) string { return fmt.Sprintf("a%03d", i%1000) }},
		{"the longest numbers", textsNumbered, 8.1, func(i int) string {
			return fmt.Sprint(999999999999999999 - uint64(i)*1e14)
		}},
		{"longer numbers", textsEven, 10.1, func(i int) string {
			return new(big.Int).Add(big.NewInt(1e18), new(big.Int).SetUint64(Hash(1, uint64(i))/4)).String()
		}},
		{"hexadecimal", textsEven, 16.1, uuid},
		{"capitals", textsEven, 33, func(i int) string { return strings.ToUpper(uuid(i)) }},
		{"any", textsOf, 30, func(i int) string { return strings.Repeat("é", draw(20, uint64(i))) + "x" }},
	} {
		for _, n := range []int{1, 2, 1024} {
			v := make([]string, n)
			for i := range v {
				v[i] = c.text(i)
			}
			var k columnPacker
			b := append(k.appendTexts(nil, v), make([]byte, columnEnd)...)
			got, rest, err := readTexts(b, n, true)
			if err != nil || len(rest) != columnEnd {
				t.Fatalf("%s, %d texts: %v, %d bytes behind", c.name, n, err, len(rest))
			}
			for i := range v {
				if got.text(i) != v[i] || !got.is(i, v[i]) {
					t.Fatalf("%s, %d texts: text %d is %q, want %q", c.name, n, i, got.text(i), v[i])
				}
				for _, other := range []string{"", v[i] + "0", v[i][:max(len(v[i])-1, 0)], v[0], v[n-1]} {
					if got.is(i, other) != (other == v[i]) {
						t.Fatalf("%s, %d texts: text %d is %q and not %q", c.name, n, i, v[i], other)
					}
				}
			}
			if each := float64(len(b)) / float64(n); n == 1024 && (got.kind != c.kind || each > c.each) {
				t.Errorf("%s: kind %d, %.2f bytes each; want %d and %v", c.name, got.kind, each, c.kind, c.each)
			}
			for cut := range len(b) - columnEnd {
				if _, _, err := readTexts(b[:cut], n, true); err == nil {
					t.Fatalf("%s: %d bytes of %d are %d texts", c.name, cut, len(b), n)
				}
			}
		}
	}
}

// TestIndexFindsWhatIsThere drives the index of ids beside a map, with numbers on both sides of 2^32.
func TestIndexFindsWhatIsThere(t *testing.T) {
	x := newIDIndex()
	low := uint64(1<<32 - 3000)
	want, ids := map[string]uint64{}, map[uint64]string{}
	is := func(id string) func(uint64) bool { return func(n uint64) bool { return ids[n] == id } }
	for i := range uint64(20_000) {
		id := fmt.Sprint("c", draw(4000, i))
		n, ok := x.find(id, low, is(id))
		if w, there := want[id]; ok != there || ok && n != w {
			t.Fatalf("step %d: %s has %d (%v), want %d (%v)", i, id, n, ok, w, there)
		}
		switch k := draw(3, i, 1); {
		case ok && k > 0:
			x.remove(id, low, is(id))
			delete(want, id)
			delete(ids, n)
		case ok:
			x.move(id, low+i, low, is(id))
			delete(ids, n)
			want[id], ids[low+i] = low+i, id
		default:
			x.add(id, low+i)
			want[id], ids[low+i] = low+i, id
		}
	}
	used, slots := 0, 0
	for k := range x.tables {
		used, slots = used+x.tables[k].used, slots+len(x.tables[k].tags)
	}
	if used != len(want) || used == 0 || slots > 4*used+64*idTables {
		t.Errorf("%d ids, want %d", used, len(want))
	}
}

// keptEntry is an entry of the list that a store is compared with.
type keptEntry struct {
	record
	id     string
	lost   bool
	since  int64
	learnt bool
	memory []float64
}

// TestStoreIsAListOfRecords drives a store through some thousand records beside a plain list: admission, ids that come
// again, labels by id and place, corrections, removals, expiry, other levels, restoring. Every few steps all entries
// are compared, bit by bit. With seed 3 all records of an id bear it.
func TestStoreIsAListOfRecords(t *testing.T) {
	for seed := range uint64(4) {
		driveStore(t, seed)
	}
}

// storeDrive is a store and the plain list beside it.
type storeDrive struct {
	*testing.T
	schema *Schema
	s      *pendingStore
	list   []*keptEntry
	seed   uint64
	all    bool   // all records of an id bear it
	stay   uint64 // one record in so many stays for long
	step   uint64
}

func driveStore(t *testing.T, seed uint64) {
	schema := &Schema{Features: []Feature{{Name: "x", Kind: Continuous}, {Name: "job", Kind: Nominal},
		{Name: "y", Kind: Continuous}}, Classes: []string{"a", "b"}, Positive: 1}
	d := &storeDrive{T: t, schema: schema, s: newPendingStore(1<<40, 1000).of(schema, 7, 0), seed: seed, all: seed == 3,
		stay: []uint64{30, 200, 3, 200}[seed]}
	if d.all {
		d.s.match, d.s.older = MatchAll, map[uint64]uint64{}
	}
	for ; d.step < 9000; d.step++ {
		switch u := draw(20, seed, d.step); {
		case u < 12:
			d.admit()
		case u < 18:
			d.label(u < 14)
		case d.step%40 == 0:
			d.recode()
		}
		d.expire()
		if d.step%500 == 499 {
			d.restore()
		}
	}
	if d.s.first < pendingChunk {
		t.Fatal("no part has come and gone: the test would say nothing")
	}
}

// wrong ends the test.
func (d *storeDrive) wrong(format string, values ...any) {
	d.Helper()
	d.Fatalf("seed %d, step %d: "+format, append([]any{d.seed, d.step}, values...)...)
}

func (d *storeDrive) draw(n, salt uint64) int { return draw(n, d.seed, d.step, salt) }

func (d *storeDrive) leave(k int) { d.list = slices.Delete(d.list, k, k+1) }

func (d *storeDrive) index(w *waiting) int {
	return slices.IndexFunc(d.list, func(e *keptEntry) bool { return e.offset == w.offset && e.row == w.row })
}

func (d *storeDrive) compare(w *waiting, e *keptEntry) {
	d.Helper()
	memory := w.memory(nil)
	if w.offset != e.offset || w.row != e.row || w.id != e.id || w.lost != e.lost ||
		w.since != e.since || w.learnt != e.learnt ||
		w.Class != e.Class || w.Weight != e.Weight || w.Clock != e.Clock || w.Time != e.Time || w.thinned ||
		!slices.Equal(memory, e.memory) || len(w.Row) != 3 || w.Row[0] != e.Row[0] || w.Row[1] != e.Row[1] ||
		math.Float64bits(w.Row[2]) != math.Float64bits(e.Row[2]) {
		d.wrong("the store has %+v, want %+v", w, e)
	}
}

func (d *storeDrive) admit() {
	step := d.step
	e := &keptEntry{since: int64(step)}
	e.record = record{Example: Example{Class: Unlabelled, Weight: float64(1 + d.draw(2, 1)), Clock: float64(step / 3),
		Time: int64(d.draw(1e9, 2))}, offset: int64(step / 10), row: int32(step % 10)}
	e.Row = Row{float64(d.draw(1000, 3)) / 8, float64(d.draw(40, 4)), math.NaN()}
	if step%3 == 0 {
		e.Row[2] = float64(Hash(2, step)) / 7
	}
	if k := d.draw(10, 5); k > 0 {
		e.id = fmt.Sprint("c", d.draw(uint64(600*k), 6))
		for _, o := range d.list {
			if o.id == e.id && !d.all {
				o.lost = true
			}
		}
	}
	if d.draw(3, 7) > 0 {
		e.memory = []float64{float64(step), 0, -1}
	}
	d.list = append(d.list, e)
	d.s.admit(&e.record, e.id, e.memory, false, int64(step))
}

// label finds a record by id or place and answers it: it is corrected, learnt or removed.
func (d *storeDrive) label(byID bool) {
	id := fmt.Sprint("c", d.draw(2000, 8))
	at := place{int64(d.step/10) - int64(d.draw(d.stay*10, 9)), int32(d.draw(10, 10))}
	k := d.sought(id, at, byID)
	w := d.s.find(id, at, byID)
	if (w == nil) != (k < 0) {
		d.wrong("%q, %v: found %+v, want entry %d", id, at, w, k)
	}
	if w == nil {
		return
	}
	d.compare(w, d.list[k])
	now, clock := int64(d.step), float64(d.step)
	switch e := d.list[k]; {
	case e.learnt:
		e.Class, e.Weight = 1-e.Class, e.Weight+.5
		w.Class, w.Weight = e.Class, e.Weight
		d.s.update(w)
	case d.draw(d.stay, 11) == 0:
		e.Class, e.learnt, e.memory, e.Time, e.Clock = 1, true, nil, now, clock
		w.Class, w.Time, w.Clock = 1, now, clock
		d.s.markLearnt(w)
	default:
		d.s.remove(w)
		d.leave(k)
	}
}

// sought is the place in the list of the record that a label means, -1 where there is none. It compares the records
// that bear the id.
func (d *storeDrive) sought(id string, at place, byID bool) int {
	k := -1
	var bear []*keptEntry // the last first
	for i, e := range d.list {
		if e.id == id && !e.lost {
			bear = slices.Insert(bear, 0, e)
		}
		if byID && e.id == id && !e.lost || !byID && e.offset == at.offset && e.row == at.row {
			k = i
		}
	}
	same := func(n uint64, e *keptEntry) bool {
		w := d.s.at(n)
		return w.offset == e.offset && w.row == e.row && d.s.brief(n) == w.brief()
	}
	if found := meant(d.s, id); !slices.EqualFunc(found, bear, same) {
		d.wrong("%d records bear %s, want %d", len(found), id, len(bear))
	}
	return k
}

func (d *storeDrive) recode() {
	rc := Recode{nil, make([]uint32, 40), nil}
	for i := range rc[1] {
		rc[1][i] = uint32((i + 7) % 40)
	}
	d.s.recode(rc)
	for _, e := range d.list {
		e.Row[1] = rc.Value(1, e.Row[1])
	}
}

func (d *storeDrive) expire() {
	now := int64(d.step)
	for w := d.s.overdue(now); w != nil; w = d.s.overdue(now) {
		if now-d.list[0].since <= 1000 || d.index(w) != 0 {
			d.wrong("record %d leaves", d.index(w))
		}
		d.compare(w, d.list[0])
		d.leave(0)
	}
	if len(d.list) > 0 && now-d.list[0].since > 1000 || d.s.evict() != nil || d.s.live != len(d.list) {
		d.wrong("%d records, want %d", d.s.live, len(d.list))
	}
}

// restore compares all entries and goes on with a restored store.
func (d *storeDrive) restore() {
	k := 0
	d.s.each(func(w *waiting) bool {
		d.compare(w, d.list[k])
		k++
		return true
	})
	if k != len(d.list) {
		d.wrong("%d of %d records", k, len(d.list))
	}
	r := restoredOf(d.T, d.s, d.schema)
	if r.held() != d.s.held() || r.live != d.s.live || r.first != d.s.first {
		d.wrong("restored %d bytes, want %d", r.held(), d.s.held())
	}
	d.s = r
}

// TestMemoriesGoBeforeRows: a store that is too small drops memories of scores, chosen by the place of their records
// and not by their age, before any row; the eighth that they have for themselves goes last. Labels then teach counts.
func TestMemoriesGoBeforeRows(t *testing.T) {
	memory := make([]float64, memories)
	for i := range memory {
		memory[i] = float64(i + 1)
	}
	const n = 40 * pendingChunk
	s := newPendingStore(1<<21, 0).of(oneNumber, 7, 0)
	evicted := 0
	for i := range int64(n) {
		rec := record{Example: Example{Row: Row{float64(i % 100)}, Class: Unlabelled, Weight: 1}, offset: i}
		s.admit(&rec, "", memory, false, 0)
		for w := s.evict(); w != nil; w = s.evict() {
			evicted++
		}
		if s.held() > s.limit {
			t.Fatalf("after %d records: %d bytes of %d", i, s.held(), s.limit)
		}
	}
	if s.live != n || evicted != 0 || s.level < 1 || s.lost == 0 || s.lost != uint64(n-s.memories()) {
		t.Errorf("%d records, %d evicted, level %d, %d memories dropped of %d", s.live, evicted, s.level, s.lost, n)
	}
	var have [4]int // by quarter of the queue
	k := 0
	s.each(func(w *waiting) bool {
		if (len(w.pending) > 0) == w.thinned || w.thinned == s.remembers(w) {
			t.Fatalf("record %d: %d words, thinned %v", w.number, len(w.pending), w.thinned)
		}
		if !w.thinned {
			have[k*4/n]++
		}
		k++
		return true
	})
	mean := float64(s.memories()) / 4
	for q, x := range have {
		if math.Abs(float64(x)-mean) > 5*math.Sqrt(mean) {
			t.Errorf("quarter %d of the queue has %d memories of %d: age decides", q, x, s.memories())
		}
	}
	restoredOf(t, s, oneNumber)
	for s.live > 0 { // the level falls for records to come
		if s.pop(); s.live%(8*pendingChunk) == 300 { // in the middle of a part, records without a memory gone
			restoredOf(t, s, oneNumber)
		}
	}
	if s.evict(); s.held() != 0 || s.scores != 0 {
		t.Errorf("an empty store holds %d bytes, level %d", s.held(), s.level)
	}
	for range 10 {
		s.evict()
	}
	if s.level != 0 {
		t.Errorf("an empty store drops memories, level %d", s.level)
	}
}
