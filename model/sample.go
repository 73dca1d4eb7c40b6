package model

import "fmt"

// sample holds the learnt records of a partition: the newest in the tail, and a sample of the records that left it in
// the reservoir.
type sample struct {
	seed      uint64
	self      int32 // the partition
	tail      *tail
	reservoir *reservoir
	out       record // leaves the tail; a field, so that its row is used again
}

func newSample(spec *Spec, partition int32) sample {
	n, o := len(spec.Schema.Features), &spec.Options
	s := sample{
		seed: o.Seed, self: partition, tail: newTail(n, o.TailBytes),
		reservoir: newReservoir(n, o.ReservoirRecords, o.ReservoirBytes),
	}
	s.tail.goals, s.reservoir.goals = spec.goals(), spec.goals()
	return s
}

// narrow bounds an empty sample to so many records: half of them for the tail.
func (s *sample) narrow(records int) {
	newest := max((records+1)/2, 1)
	s.tail.capacity, s.reservoir.limit = uint64(newest), max(records-newest, 1)
}

// push adds the newest record; the reservoir is offered the one that leaves the tail for it.
func (s *sample) push(r *record) {
	if s.tail.push(r, &s.out) && s.out.Weight > 0 { // else it was emptied
		s.reservoir.add(&s.out, s.key(&s.out))
	}
}

// key decides whether the reservoir keeps the record.
func (s *sample) key(r *record) uint64 {
	return Hash(s.seed, uint64(s.self), uint64(r.offset), uint64(r.row))
}

// relabel corrects the class and the outcomes of a record, if it is still here.
func (s *sample) relabel(r *record, class int32, o Outcomes) {
	if !s.tail.relabel(r.Clock, class, o) {
		s.reservoir.relabel(s.key(r), class, o)
	}
}

func (s *sample) recode(rc Recode) {
	s.tail.recode(rc)
	s.reservoir.recode(rc)
}

// carry takes over the records of another schema.
func (s *sample) carry(old *sample, c *Change) {
	s.reservoir.carry(old.reservoir, c)
	var r record
	var row Row
	for k := old.tail.first; k < old.tail.next; k++ {
		old.tail.at(k, &r)
		row = c.Row(r.Row, row)
		moved := r
		moved.Row = row
		s.push(&moved)
	}
}

// evidence returns the records as Evidence, without states, for a first fit.
func (s *sample) evidence(spec *Spec, levels *Levels) *Evidence {
	e := newEvidence(spec.Schema, levels, spec.Options.Seed)
	e.addReservoir(s.reservoir, s.self, nil)
	e.Recent = e.Len()
	var r record
	for n := s.tail.first; n < s.tail.next; n++ {
		if s.tail.emptied(n) {
			continue
		}
		s.tail.at(n, &r)
		e.add(&r, 1, s.self, nil)
	}
	return e
}

// loadTail reads a tail that may have been written under another bound. The reservoir has been read: a shorter tail
// adds to it.
func (s *sample) loadTail(
	format, capacity, first, next uint64, slots, classes int, read reader,
) error {
	if capacity == s.tail.capacity {
		return s.tail.load(format, first, next, slots, classes, read)
	}
	if capacity == 0 || capacity > 1<<40 {
		return fmt.Errorf("tail of %d records", capacity)
	}
	old := &tail{features: s.tail.features, capacity: capacity, goals: s.tail.goals}
	if err := old.load(format, first, next, slots, classes, read); err != nil {
		return err
	}
	var r record
	for n := old.first; n < old.next; n++ {
		old.at(n, &r)
		s.push(&r)
	}
	return nil
}

// check returns an error for a record that no partition of the schema can hold. Clocks are consecutive in the tail.
func (s *sample) check(schema *Schema) error {
	t := s.tail
	for i, clock := range t.clock {
		if !schema.possible(t.cells(i), clock) {
			return fmt.Errorf("the tail holds an impossible record in slot %d", i)
		}
	}
	for k := t.first; k < t.next; k++ {
		want := t.clock[t.first%t.capacity] + float64(k-t.first)
		if t.clock[k%t.capacity] != want {
			return fmt.Errorf("record %d of the tail has clock %v, want %v", k, t.clock[k%t.capacity], want)
		}
	}
	for i := range s.reservoir.items {
		if x := &s.reservoir.items[i]; !schema.possible(x.Row, x.Clock) {
			return fmt.Errorf("the reservoir holds an impossible record %d", i)
		}
	}
	return nil
}
