package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// Forgotten counts the findings of Forget.
type Forgotten struct {
	Waiting    int // records of the pending store, learnt ones that a label may still correct among them
	Tail       int // records of the tail
	Reservoir  int // records of the reservoir
	Counts     int // records of these whose counts were taken back
	Prototypes int // records that others are compared with
	Sieve      int // entries of the sieve
	Remains    int // records that had left the pending store, and of which its columns still held the values
	Recency    int // ids of the recency, each once for all conditions; former builds add them to Sieve
}

// Add adds the counts of another partition.
func (f *Forgotten) Add(o Forgotten) {
	for i, n := range o.Counted() {
		*f.Counted()[i] += *n
	}
}

// Counted returns the counts, in an order that never changes.
func (f *Forgotten) Counted() []*int {
	return []*int{&f.Waiting, &f.Tail, &f.Reservoir, &f.Counts, &f.Prototypes, &f.Sieve, &f.Remains, &f.Recency}
}

// Any reports whether anything was found.
func (f Forgotten) Any() bool { return f != (Forgotten{}) }

// Forgetter is a Component that keeps records of a fit, to compare others with, in each partition those of all.
type Forgetter interface {
	// Keys returns the keys of the example among them, by which all partitions know it under the same Model; none where it
	// is not among them.
	Keys(ex *Example) []uint64
	// Forget takes the records of these keys out, and returns their number.
	Forget(keys []uint64) int
}

// KeepsRecords reports whether a component of the Spec is a Forgetter: its models then hold records.
func KeepsRecords(s *Spec) bool {
	return slices.ContainsFunc(s.Components, func(f Factory) bool { return keepsRecords(s, f) })
}

func keepsRecords(s *Spec, f Factory) bool {
	_, ok := f.New(NewLevels(s.Schema)).(Forgetter)
	return ok
}

// MayHoldRecords reports whether a part of the model is that of a Forgetter, or of a component that the Spec lacks, as
// of one that is off by now: nobody tells whether that one keeps records.
func MayHoldRecords(s *Spec, m *Model) bool {
	known := map[string]bool{PartPercentile: true, PartPercentileFine: true, PartMisfit: true}
	if s.Scorecard != nil {
		known[s.Scorecard.Name()] = true
	}
	for _, f := range s.Components {
		known[f.Name()] = !keepsRecords(s, f)
	}
	for name := range m.Parts {
		if !known[name] {
			return true
		}
	}
	return false
}

// Erasure is an order to forget.
type Erasure struct {
	Number uint64 // counts the orders, from 1
	IDs    []IDSum
	// Keys are those of the records of the ids that other partitions have found, see Forgetter.
	Keys []uint64
}

// Forget takes all records of the ids out of the state (MODEL.md 10): out of the pending store, the tail, the
// reservoir, the prototypes that components keep, the sieve and the recency. A labelled record whose row is still here
// is also taken back from all counts, as a correction takes it back: exactly where weights are whole numbers and
// nothing fades, else to 1e-12 of the total weight. The weights and the calibration of the scorecard, and the sums of
// the misfit, the uplift, the watch for drift and the percentiles keep its share: in them no record can be told from
// another. Counts of a record whose row has left stay. The clock of the partition stays: an emptied record of weight 0
// holds its place in the tail.
//
// It returns the keys of the prototypes, which the other partitions are to forget by an order of their own. An order
// whose number is not above Obeyed changes nothing.
func Forget(p *Partition, o *Erasure) (found Forgotten, keys []uint64) {
	if o.Number <= p.forgot {
		return found, nil
	}
	p.forgot = o.Number
	f := forgetting{p: p, sums: map[IDSum]bool{}, who: map[uint64]bool{}, taken: map[learning]bool{},
		known: map[learning]bool{}, places: map[place]bool{}}
	for _, id := range o.IDs {
		f.sums[id], f.who[id.who()] = true, true
	}
	if len(o.IDs) > 0 {
		f.look()
		f.waiting()
		f.tail()
		f.reservoir()
	}
	for i := range f.learnt { // the tail and the reservoir have let them go
		if w := &f.learnt[i]; !f.taken[learningOf(w)] {
			f.takeBack(w)
		}
	}
	f.found.Sieve, f.found.Recency = p.Sieve.forget(f.sums), p.Recency.forget(o.IDs)
	if keys := slices.Concat(o.Keys, f.keys); len(keys) > 0 {
		for _, c := range p.scorer.all() {
			if x, ok := c.(Forgetter); ok {
				f.found.Prototypes += x.Forget(keys)
			}
		}
	}
	p.rec = record{}
	return f.found, f.keys
}

// Obeyed is the number of the newest order to forget that the state has obeyed, 0 = none.
func Obeyed(p *Partition) uint64 { return p.forgot }

// ObeyedBy is Obeyed of a state by its section SectionForgot, nil where it has none.
func ObeyedBy(section []byte) (uint64, error) {
	if section == nil {
		return 0, nil
	}
	r := wire.NewReader(section)
	if format := r.Uvarint(); r.Err() == nil && format != forgotFormat {
		return 0, fmt.Errorf("format %d, this build reads %d", format, forgotFormat)
	}
	number := r.Uvarint()
	return number, r.Done()
}

// forgetting is a call of Forget.
type forgetting struct {
	p      *Partition
	sums   map[IDSum]bool
	who    map[uint64]bool
	known  map[learning]bool // the learnt records of the ids
	places map[place]bool    // of these
	learnt []record          // of the pending store
	taken  map[learning]bool // no count has these any more
	found  Forgotten
	keys   []uint64 // of the prototypes that these are
}

// learning tells a learnt record of a partition from all others. Its place alone does not: those of files count anew.
type learning struct {
	place
	clock float64
}

func learningOf(r *record) learning { return learning{place{r.offset, r.row}, r.Clock} }

// look takes note of the learnt records of the ids: that of a former build may have no id any more in the pending
// store.
func (f *forgetting) look() {
	t := f.p.sample.tail
	for n := t.first; n < t.next; n++ {
		if i := n % t.capacity; f.who[t.who[i]] {
			f.know(learning{place{t.offset[i], t.row[i]}, t.clock[i]})
		}
	}
	for i := range f.p.sample.reservoir.items {
		if x := &f.p.sample.reservoir.items[i]; f.who[x.who] {
			f.know(learningOf(&x.record))
		}
	}
}

func (f *forgetting) know(x learning) { f.known[x], f.places[x.place] = true, true }

// waiting takes the records of the ids out of the pending store. Parts whose columns hold one are packed anew, also
// where it has left the store before: its values would stay in them.
func (f *forgetting) waiting() {
	s := f.p.store
	var gone []*waiting
	var dirty []uint64 // a number of each part to pack
	for k, part := range s.parts {
		if part == nil {
			continue
		}
		from := (s.first/pendingChunk + uint64(k)) * pendingChunk
		held := false
		entriesOf(&s.entryQueue, part, from, func(w *waiting, alive bool) {
			known := w.learnt && f.known[learningOf(&w.record)]
			if !alive { // how it was learnt may have left the part with it; another record of its place loses nothing
				known = f.places[place{w.offset, w.row}]
			}
			if (w.id == "" || !f.sums[SumID(w.id)]) && !known {
				return
			}
			held = true
			if alive {
				moved := *w
				moved.Row = slices.Clone(w.Row)
				gone = append(gone, &moved)
			} else {
				f.found.Remains++
				if !f.places[place{w.offset, w.row}] {
					forgetFirst(f.p, w.Row)
				}
			}
		})
		if held && part.open == nil {
			dirty = append(dirty, from)
		}
	}
	s.head, s.front = waiting{}, front{}
	s.pinned = true
	for _, w := range gone {
		if f.found.Waiting++; w.learnt {
			f.learnt = append(f.learnt, w.record)
			f.know(learningOf(&w.record))
		} else {
			forgetFirst(f.p, w.Row)
		}
		s.remove(s.at(w.number))
	}
	for _, from := range dirty {
		part := s.part(max(from, s.first))
		if part == nil || part.open != nil || part.live == 0 || from < s.first-s.first%pendingChunk {
			continue
		}
		var entries []*waiting
		s.eachOf(part, from, func(w *waiting) bool {
			entries = append(entries, w)
			return true
		})
		s.pack(part, entries)
	}
	s.pinned = false
	s.settle()
	s.free, s.lent = nil, waiting{} // entries that are used again hold their rows
}

// entriesOf calls do with the records whose values a part holds, those among them that have left or lost their id.
func entriesOf(s *entryQueue, part *pendingPart, from uint64, do func(w *waiting, alive bool)) {
	if part.open != nil {
		for i := part.alive.next(0); i < pendingChunk; i = part.alive.next(i + 1) {
			do(part.open[i], true)
		}
		return
	}
	var c partColumns
	_ = part.read(&c, len(s.coded), false)
	for i := part.kept.next(0); i < pendingChunk; i = part.kept.next(i + 1) {
		w := part.entry(&c, from+uint64(i), i)
		do(w, part.alive.has(i))
	}
}

// tail empties the records of the ids in the tail.
func (f *forgetting) tail() {
	t := f.p.sample.tail
	for n := t.first; n < t.next; n++ {
		i := n % t.capacity
		at := learning{place{t.offset[i], t.row[i]}, t.clock[i]}
		if t.emptied(n) || !f.means(t.who[i], at) {
			continue
		}
		var r record
		t.at(n, &r)
		f.takeBack(&r)
		t.empty(int(i))
		f.found.Tail++
	}
}

// reservoir takes the records of the ids out of the reservoir.
func (f *forgetting) reservoir() {
	r := f.p.sample.reservoir
	for i := range r.items {
		if x := &r.items[i]; f.means(x.who, learningOf(&x.record)) {
			f.takeBack(&x.record)
			f.found.Reservoir++
		}
	}
	r.forget(func(x *record) bool { return f.means(x.who, learningOf(x)) })
}

// means reports whether a learnt record is one of the ids: by its own, or because the pending store has its id.
func (f *forgetting) means(who uint64, at learning) bool {
	if who != 0 {
		return f.who[who]
	}
	return f.known[at]
}

// takeBack takes a learnt record out of all counts, and notes its keys.
func (f *forgetting) takeBack(r *record) {
	p := f.p
	f.taken[learningOf(r)] = true
	forgetFirst(p, r.Row)
	if !(r.Weight > 0) || r.Class < 0 && r.Outcomes == 0 {
		return
	}
	f.found.Counts++
	if g := p.scorer.powers.goals; g != nil && !p.trained {
		g.Retract(&r.Example)
	}
	if p.trained {
		for _, c := range p.scorer.knowing(&r.Example) {
			c.Retract(&r.Example)
			if x, ok := c.(Forgetter); ok {
				f.keys = append(f.keys, x.Keys(&r.Example)...)
			}
		}
	}
	if r.Class >= 0 {
		p.counts.sum[r.Class] = max(p.counts.sum[r.Class]-r.Weight, 0)
		p.counts.square = max(p.counts.square-r.Weight*r.Weight, 0)
	}
}

// forgetFirst takes a scored record out of the first values of the uplift and the misfit.
func forgetFirst(p *Partition, row Row) {
	if p.uplift != nil {
		p.uplift.forget(row)
	}
	if p.misfit != nil {
		p.misfit.forget(row)
	}
}

// forget takes the values of a row out of those of the first records, of which the cuts are not made yet. Equal numbers
// tell it; without a continuous feature no row is told from another.
func (c *fewCells) forget(row Row) {
	n := len(c.of)
next:
	for k := 0; n > 0 && k+n <= len(c.first); k += n {
		numbers := 0
		for i, f := range c.of {
			if c.schema.Features[f].Kind != Continuous {
				continue
			}
			if numbers++; math.Float64bits(c.first[k+i]) != math.Float64bits(row[f]) {
				continue next
			}
		}
		if numbers > 0 {
			c.first = slices.Delete(c.first, k, k+n)
			return
		}
	}
}

// emptied reports whether record n was emptied: the tail holds no record of weight 0 else.
func (t *tail) emptied(n uint64) bool { return !(t.weight[n%t.capacity] > 0) }

// empty leaves nothing of the record in a slot but its clock: clocks are consecutive.
func (t *tail) empty(i int) {
	row := t.cells(i)
	for f := range row {
		row[f] = math.NaN()
	}
	t.class[i], t.outcomes[i] = 0, 0
	t.weight[i], t.time[i], t.offset[i], t.row[i], t.lag[i], t.who[i] = 0, 0, 0, 0, 0, 0
	t.touch(i)
	t.edits++
}

// forget takes out the matching records. Each of the others stands for all offered ones still: the next offered record
// may take the free place with any key.
func (r *reservoir) forget(is func(x *record) bool) {
	before := len(r.items)
	r.items = slices.DeleteFunc(r.items, func(x reserved) bool { return is(&x.record) })
	gone := before - len(r.items)
	if gone == 0 {
		return
	}
	if r.seen -= uint64(gone); len(r.items) == 0 {
		r.seen = 0
	}
	r.order()
	r.version++
}

// forget takes the entries of the ids out, and returns their number.
func (s *Sieve) forget(ids map[IDSum]bool) (found int) {
	if s == nil {
		return 0
	}
	for i := range s.entries {
		if e := &s.entries[i]; ids[e.id] {
			delete(s.index, e.id)
			e.id = IDSum{} // of no id; it leaves with its time
			s.touch(s.first + uint64(i))
			found++
		}
	}
	return found
}

// SectionForgot is the name of the section of a state that has obeyed an order to forget.
const SectionForgot = "forgot"

// forgotFormat is the version of the binary form of that section.
const forgotFormat = 1

// appendForgot appends that section.
func appendForgot(b []byte, number uint64) []byte {
	return wire.AppendUvarint(wire.AppendUvarint(b, forgotFormat), number)
}

// loadForgot reads the number of the newest order that a state has obeyed.
func loadForgot(names []string, read reader) (number uint64, err error) {
	if !slices.Contains(names, SectionForgot) {
		return 0, nil
	}
	err = read(SectionForgot, func(b []byte) (err error) {
		number, err = ObeyedBy(b)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("decoding %s: %w", SectionForgot, err)
	}
	return number, nil
}
