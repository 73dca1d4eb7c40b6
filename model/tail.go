package model

import (
	"fmt"
	"slices"
	"strconv"

	"liftstream/model/wire"
)

// tailChunk is the number of records in one stored part of the tail: only parts that changed are written again.
const tailChunk = 4096

// record is one learnt example with its position, as the tail and the reservoir keep it.
type record struct {
	Example
	offset int64
	row    int32
	// thinned says that the memory of its score was dropped: counts learn it, weights do not. Only the pending store
	// keeps it.
	thinned bool
	lag     int32  // labelled records that were learnt between its score and its label; not kept by the reservoir
	who     uint64 // of its id, see IDSum.who; 0 = it has none, or none is known
}

// tail is a byte-bounded ring of the last learnt examples, in the order of their clocks, which are consecutive.
// Records are stored by number: record n lies in slot n mod capacity.
type tail struct {
	features int
	capacity uint64
	first    uint64      // number of the oldest record held
	next     uint64      // number of the next record
	rows     [][]float64 // of each stored part: one that is full is never copied again
	class    []int32
	outcomes []Outcomes
	weight   []float64
	clock    []float64
	time     []int64
	offset   []int64
	row      []int32
	lag      []int32
	who      []uint64
	version  []uint64 // of each stored part
	edits    uint64   // of records after they came: corrections, emptied ones, other codes
	goals    int
	stored   []int64 // room for the classes of a part
}

func newTail(features int, bytes int64) *tail {
	per := int64(8*features + 4 + 8 + 8 + 8 + 8 + 4 + 4)
	n := uint64(max(bytes/per, tailChunk))
	n -= n % tailChunk
	return &tail{features: features, capacity: n}
}

func (t *tail) len() int { return int(t.next - t.first) }

// push appends a record and returns the one that fell out, if any; its row is valid until the next push.
func (t *tail) push(r *record, out *record) (evicted bool) {
	i := int(t.next % t.capacity)
	if t.next-t.first == t.capacity {
		t.at(t.first, out)
		t.first++
		evicted = true
	}
	if i < len(t.class) {
		copy(t.cells(i), r.Row)
		t.class[i], t.outcomes[i] = r.Class, r.Outcomes
		t.weight[i], t.clock[i], t.time[i] = r.Weight, r.Clock, r.Time
		t.offset[i], t.row[i], t.lag[i], t.who[i] = r.offset, r.row, r.lag, r.who
	} else {
		if len(t.class) == cap(t.class) {
			t.grow()
		}
		t.addRow(r.Row)
		t.class = append(t.class, r.Class)
		t.outcomes = append(t.outcomes, r.Outcomes)
		t.weight = append(t.weight, r.Weight)
		t.clock = append(t.clock, r.Clock)
		t.time = append(t.time, r.Time)
		t.offset = append(t.offset, r.offset)
		t.row = append(t.row, r.row)
		t.lag = append(t.lag, r.lag)
		t.who = append(t.who, r.who)
	}
	t.touch(i)
	t.next++
	return evicted
}

// grow makes room for as many records again as there are, up to the capacity: append would add a quarter, and copy each
// record four times until the tail is full.
func (t *tail) grow() {
	n := int(min(uint64(max(len(t.class), 64)), t.capacity-uint64(len(t.class))))
	t.class, t.outcomes = slices.Grow(t.class, n), slices.Grow(t.outcomes, n)
	t.weight, t.clock, t.time = slices.Grow(t.weight, n), slices.Grow(t.clock, n), slices.Grow(t.time, n)
	t.offset, t.row = slices.Grow(t.offset, n), slices.Grow(t.row, n)
	t.lag, t.who = slices.Grow(t.lag, n), slices.Grow(t.who, n)
}

// cells are the values of a slot that has been filled.
func (t *tail) cells(slot int) []float64 {
	at := slot % tailChunk * t.features
	return t.rows[slot/tailChunk][at : at+t.features]
}

// addRow adds the values of the first slot that has not been filled. The room of a part doubles until the part is full:
// all rows in one piece, which doubles, would be copied between two records, tens of milliseconds at a million values.
func (t *tail) addRow(row Row) {
	c := len(t.class) / tailChunk
	if c == len(t.rows) {
		t.rows = append(t.rows, nil)
	}
	part := t.rows[c]
	if len(part)+t.features > cap(part) {
		most := int(min(t.capacity-uint64(c)*tailChunk, tailChunk)) * t.features
		grown := make([]float64, len(part), min(max(2*len(part), 64*t.features), most))
		copy(grown, part)
		part = grown
	}
	t.rows[c] = append(part, row...)
}

func (t *tail) touch(slot int) {
	c := slot / tailChunk
	for len(t.version) <= c {
		t.version = append(t.version, 0)
	}
	t.version[c]++
}

// at copies record n into r, reusing r.Row.
func (t *tail) at(n uint64, r *record) {
	i := int(n % t.capacity)
	r.Row = append(r.Row[:0], t.cells(i)...)
	r.Class, r.Outcomes = t.class[i], t.outcomes[i]
	r.Weight, r.Clock, r.Time = t.weight[i], t.clock[i], t.time[i]
	r.offset, r.row, r.lag, r.who = t.offset[i], t.row[i], t.lag[i], t.who[i]
}

// relabel corrects the class and the outcomes of the record with that clock, and reports whether it is still held.
func (t *tail) relabel(clock float64, class int32, o Outcomes) bool {
	if t.len() == 0 {
		return false
	}
	oldest := t.clock[t.first%t.capacity]
	if clock < oldest || clock >= oldest+float64(t.len()) {
		return false
	}
	i := int((t.first + uint64(clock-oldest)) % t.capacity)
	t.class[i], t.outcomes[i] = class, o
	t.touch(i)
	t.edits++
	return true
}

// since yields the records whose clock is at least clock, oldest first, recoded.
func (t *tail) since(clock float64, recode Recode, yield func(ex *Example) bool) {
	var r record
	for n := t.first; n < t.next; n++ {
		if t.clock[n%t.capacity] < clock || t.emptied(n) {
			continue
		}
		t.at(n, &r)
		for f := range r.Row {
			r.Row[f] = recode.Value(f, r.Row[f])
		}
		if !yield(&r.Example) {
			return
		}
	}
}

// copied returns a tail with copies of the records whose clock is at least clock.
func (t *tail) copied(clock float64) *tail {
	from := t.next
	for from > t.first && t.clock[(from-1)%t.capacity] >= clock {
		from--
	}
	n := t.next - from
	c := &tail{features: t.features, capacity: max(n, 1), next: n}
	c.class, c.outcomes = make([]int32, 0, n), make([]Outcomes, 0, n)
	c.weight, c.clock, c.time = make([]float64, 0, n), make([]float64, 0, n), make([]int64, 0, n)
	c.offset, c.row, c.lag, c.who = make([]int64, n), make([]int32, n), make([]int32, n), make([]uint64, n)
	for ; from < t.next; from++ {
		i := int(from % t.capacity)
		c.addRow(t.cells(i))
		c.class, c.outcomes = append(c.class, t.class[i]), append(c.outcomes, t.outcomes[i])
		c.weight, c.clock, c.time = append(c.weight, t.weight[i]), append(c.clock, t.clock[i]), append(c.time, t.time[i])
	}
	return c
}

// learntSince returns the first n records with a class of the tail from that clock on, emptied ones left out. before is
// the tail of an earlier state of the same partition, which ends at the clock.
func (t *tail) learntSince(clock float64, before *tail, n int) ([]record, error) {
	if t.len() == 0 || t.clock[t.first%t.capacity] > clock {
		return nil, ErrModelTooOld
	}
	at := t.first + uint64(clock-t.clock[t.first%t.capacity])
	if at > t.first && before.len() > 0 {
		var a, b record
		t.at(at-1, &a)
		before.at(before.next-1, &b)
		known := !t.emptied(at-1) && !before.emptied(before.next-1)
		if known && (a.offset != b.offset || a.row != b.row || a.Time != b.Time) {
			return nil, ErrAnotherHistory
		}
	}
	out := make([]record, 0, n)
	for ; at < t.next && len(out) < n; at++ {
		if t.emptied(at) || t.class[at%t.capacity] < 0 {
			continue
		}
		var r record
		t.at(at, &r)
		out = append(out, r)
	}
	return out, nil
}

// recode rewrites the level codes of all records held.
func (t *tail) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	t.edits++
	for i := range t.class {
		row := t.cells(i)
		for f := range row {
			row[f] = rc.Value(f, row[f])
		}
	}
	for c := range t.version {
		t.version[c]++
	}
}

func tailName(c int) string { return "tail/" + strconv.Itoa(c) }

// appendChunk appends stored part c: the slots from c*tailChunk on that have been filled.
func (t *tail) appendChunk(b []byte, c int) []byte {
	lo, hi := c*tailChunk, min((c+1)*tailChunk, len(t.class))
	b = wire.AppendFloats(b, t.rows[c])
	if len(t.stored) < hi-lo {
		t.stored = make([]int64, tailChunk)
	}
	for i := range hi - lo {
		ex := Example{Class: t.class[lo+i], Outcomes: t.outcomes[lo+i]}
		t.stored[i] = ex.stored()
	}
	b = wire.AppendInts(b, t.stored[:hi-lo])
	b = wire.AppendFloats(b, t.weight[lo:hi])
	b = wire.AppendFloats(b, t.clock[lo:hi])
	b = wire.AppendInts(b, t.time[lo:hi])
	b = wire.AppendInts(b, t.offset[lo:hi])
	b = wire.AppendInts(b, t.row[lo:hi])
	return wire.AppendInts(b, t.lag[lo:hi])
}

// load reads the parts that the section "core" announced: slots filled, and the ring's ends. Parts of format 2 do not
// say how long a label took; the records then count as scored when they were learnt.
func (t *tail) load(format, first, next uint64, slots, classes int, read reader) error {
	if slots > int(t.capacity) || uint64(slots) != min(next, t.capacity) || first != next-uint64(slots) {
		return fmt.Errorf("tail of %d records in %d slots does not fit %d: memory.tail changed", next-first, slots,
			t.capacity)
	}
	for c := 0; c*tailChunk < slots; c++ {
		err := read(tailName(c), func(b []byte) error {
			return t.loadChunk(b, format, min(tailChunk, slots-c*tailChunk), classes)
		})
		if err == nil {
			err = read(idsName(strconv.Itoa(c)), func(b []byte) (err error) {
				t.who, err = appendWho(t.who, b, len(t.class)-len(t.who))
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("decoding %s: %w", tailName(c), err)
		}
	}
	t.first, t.next = first, next
	return nil
}

// loadChunk reads the next n slots.
func (t *tail) loadChunk(b []byte, format uint64, n, classes int) error {
	r := wire.NewReader(b)
	rows, class, weight, clock := r.Floats(), wire.Ints[int64](r), r.Floats(), r.Floats()
	time, offset, row := wire.Ints[int64](r), wire.Ints[int64](r), wire.Ints[int32](r)
	lag := make([]int32, len(row))
	if format >= 3 {
		lag = wire.Ints[int32](r)
	}
	if err := r.Done(); err != nil {
		return err
	}
	if len(rows) != n*t.features || len(class) != n || len(weight) != n || len(clock) != n || len(time) != n ||
		len(offset) != n || len(row) != n || len(lag) != n {
		return fmt.Errorf("%d records where %d should be", len(class), n)
	}
	for _, y := range class {
		if !isStored(y, classes, t.goals) {
			return fmt.Errorf("class %d", y)
		}
		c, o := unstored(y)
		t.class, t.outcomes = append(t.class, c), append(t.outcomes, o)
	}
	for _, n := range lag {
		if n < 0 {
			return fmt.Errorf("a label %d records before its score", -n)
		}
	}
	t.rows = append(t.rows, rows)
	t.weight, t.clock = append(t.weight, weight...), append(t.clock, clock...)
	t.time, t.offset, t.row = append(t.time, time...), append(t.offset, offset...), append(t.row, row...)
	t.lag = append(t.lag, lag...)
	t.version = append(t.version, 1)
	return nil
}
