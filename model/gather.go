package model

import (
	"fmt"
	"slices"
)

// member holds the parts of a partition's state that a fit keeps, apart from its records.
type member struct {
	*core
	records int                // that its state holds
	lag     float64            // sum of the lags of the records of its tail
	scores  map[int32][]bucket // its newest, by class
	steps   map[int32][]uint8  // of these, see stepsOf
}

// recordBytes is the size of a record in Evidence.
func recordBytes(features int) int64 { return int64(8*features + 36) }

// gather merges the samples of the states, coded by levels, to which it adds missing ones. It holds one section of one
// state at a time. Where the records of all partitions take more than Options.FitBytes, each partition gives its share
// of as many as do not: half of these are its newest, the others a sample of the older ones.
func gather(spec *Spec, states States, levels *Levels) (*Evidence, []member, error) {
	members := make([]member, 0, len(states.Partitions()))
	records, seen := 0, 0.
	bounds := newSample(spec, 0)
	for _, n := range states.Partitions() {
		m := member{}
		err := states.Read(n, "core", func(b []byte) (err error) {
			m.core, err = spec.readCore(b)
			return err
		})
		if err == nil && m.self != n {
			err = fmt.Errorf("its state is that of partition %d", m.self)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("partition %d: %w", n, err)
		}
		m.records = int(min(uint64(m.slots), bounds.tail.capacity)) + int(min(m.offered, uint64(bounds.reservoir.limit)))
		records += m.records
		seen += float64(m.seen)
		members = append(members, m)
	}
	ev := newEvidence(spec.Schema, levels, spec.Options.Seed)
	ev.Recodes, ev.Models = map[int32]Recode{}, map[int32]int64{}
	most := records
	if o := &spec.Options; o.FitBytes > 0 {
		most = min(most, max(int(o.FitBytes/recordBytes(len(spec.Schema.Features))), len(members)))
	}
	ev.grow(most)
	tails := make([]run, len(members))
	var reservoirs []run
	for i := range members {
		m := &members[i]
		read := func(section string, use func(b []byte) error) error { return states.Read(m.self, section, use) }
		first := ev.Len()
		into := newSample(spec, m.self)
		if most < records {
			into.narrow(max(int(float64(m.records)*float64(most)/float64(records)), 1))
		}
		old, err := m.addTo(ev, spec, read, into, m.share(seen))
		if err != nil {
			return nil, nil, fmt.Errorf("partition %d: %w", m.self, err)
		}
		reservoirs, tails[i] = append(reservoirs, run{first, first + old}), run{first + old, ev.Len()}
	}
	if ev.Len() == 0 {
		return nil, nil, fmt.Errorf("fitting: no labelled record")
	}
	ev.arrange(reservoirs, tails)
	for i := range members {
		ev.Lag += members[i].lag / max(1, float64(ev.Len()-ev.Recent))
	}
	return ev, members, nil
}

// share is the number of scores of the partition that a model carries.
func (m *member) share(seen float64) int {
	if seen > 0 {
		return int(percentileWindow * float64(m.seen) / seen)
	}
	return 0
}

// addTo appends the records of the partition to the evidence, the reservoir before the tail, and returns the number of
// those of the reservoir. It takes as many as the empty sample s has room for. scores is the number of scores to keep.
func (m *member) addTo(ev *Evidence, spec *Spec, read reader, s sample, scores int) (reservoir int, err error) {
	err = read("levels", func(b []byte) error {
		levels, err := spec.readLevels(b)
		if err == nil {
			ev.Recodes[m.self], ev.Models[m.self] = ev.Levels.Merge(levels), m.version
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	var q percentile
	err = read("percentile", func(b []byte) (err error) {
		q, err = m.restorePercentile(spec, b)
		return err
	})
	if err == nil {
		err = q.loadFine(read)
	}
	if err != nil {
		return 0, err
	}
	m.scores, m.steps = counted(q.newest(scores)), stepsOf(q.newest(scores))
	if err := m.restoreSample(spec, read, &s); err != nil {
		return 0, err
	}
	ev.addReservoir(s.reservoir, m.self, ev.Recodes[m.self])
	var r record
	for n := s.tail.first; n < s.tail.next; n++ {
		if s.tail.emptied(n) {
			continue
		}
		s.tail.at(n, &r)
		m.lag += float64(r.lag)
		ev.add(&r, 1, m.self, ev.Recodes[m.self])
	}
	return s.reservoir.Len(), nil
}

// run is a range of records of the evidence.
type run struct{ first, end int }

// arrange brings the records into the order of Evidence: the reservoirs, partition by partition, then the records of
// all tails in the order of their times; equal times in partition order. Each tail stays in its order.
func (e *Evidence) arrange(reservoirs, tails []run) {
	order := make([]int32, 0, e.Len())
	for _, s := range reservoirs {
		for i := s.first; i < s.end; i++ {
			order = append(order, int32(i))
		}
	}
	e.Recent = len(order)
	for {
		best := -1
		var oldest int64
		for k, s := range tails {
			if s.first == s.end {
				continue
			}
			if t := e.Time[s.first]; best < 0 || t < oldest {
				best, oldest = k, t
			}
		}
		if best < 0 {
			break
		}
		order = append(order, int32(tails[best].first))
		tails[best].first++
	}
	spare := make([]float64, 0, e.Len())
	for f := range e.Columns {
		e.Columns[f], spare = arranged(e.Columns[f], order, spare)
	}
	e.Weight, spare = arranged(e.Weight, order, spare)
	e.Clock, _ = arranged(e.Clock, order, spare)
	e.Class, _ = arranged(e.Class, order, nil)
	if e.Outcomes != nil {
		e.Outcomes, _ = arranged(e.Outcomes, order, nil)
	}
	e.Time, _ = arranged(e.Time, order, nil)
	e.Partition, _ = arranged(e.Partition, order, nil)
}

// arranged appends the values in that order to the emptied spare, and returns it and the old slice.
func arranged[T any](values []T, order []int32, spare []T) (out, old []T) {
	out = slices.Grow(spare[:0], len(order))
	for _, i := range order {
		out = append(out, values[i])
	}
	return out, values
}

// grow makes room for n records.
func (e *Evidence) grow(n int) {
	for f := range e.Columns {
		e.Columns[f] = slices.Grow(e.Columns[f], n)
	}
	e.Class, e.Weight, e.Clock = slices.Grow(e.Class, n), slices.Grow(e.Weight, n), slices.Grow(e.Clock, n)
	e.Time, e.Partition = slices.Grow(e.Time, n), slices.Grow(e.Partition, n)
}
