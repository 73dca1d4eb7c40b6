package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// partLosses are records of one partition with the losses of a model.
type partLosses struct {
	partition int32
	since     []classLosses // newest ones since the model
	before    []classLosses // as many just before it, as far as the tail has them
	last      []int64       // latest time of any record up to the last learnt one of a class, since the model
}

// read scores the newest take records of a partition, of n since the model m, and take before these n. The partition
// that scores them is empty but for the model.
func (x *partLosses) read(ctx context.Context, spec *Spec, m *Model, state stored, take, n uint64) error {
	p, err := newPartition(spec, state.partition)
	if err != nil {
		return err
	}
	if err := Return(p, m, 0); err != nil {
		return err
	}
	levels, s, err := state.sample(spec)
	if err != nil {
		return err
	}
	rc := p.levels.Merge(levels)
	prob := make([]float64, len(spec.Schema.Classes))
	losses := func(from, to uint64) (all []classLosses, err error) { // so many records before the end
		var r record
		for at := s.tail.next - min(from, uint64(s.tail.len())); at+to < s.tail.next; at++ {
			if at%256 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if s.tail.emptied(at) || s.tail.class[at%s.tail.capacity] < 0 {
				continue
			}
			s.tail.at(at, &r)
			for f, v := range r.Row {
				r.Row[f] = rc.Value(f, v)
			}
			p.scorer.propensities(r.Row, prob)
			l := classLosses{time: r.Time, class: r.Class, weight: r.Weight, loss: make([]float64, len(prob))}
			for c, q := range prob {
				l.loss[c] = -math.Log(max(q, leastLoss))
			}
			all = append(all, l)
		}
		return all, nil
	}
	if x.since, err = losses(take, 0); err != nil {
		return err
	}
	if x.before, err = losses(n+take, n); err != nil {
		return err
	}
	x.last = latest(nil, len(prob))
	newest := int64(math.MinInt64)
	for at := s.tail.next - min(n, uint64(s.tail.len())); at < s.tail.next; at++ {
		if k := at % s.tail.capacity; s.tail.class[k] >= 0 && !s.tail.emptied(at) {
			newest = max(newest, s.tail.time[k])
			x.last[s.tail.class[k]] = newest
		}
	}
	return nil
}

// latest returns the latest time of the records of each class; math.MinInt64 = there is none.
func latest(all []classLosses, classes int) []int64 {
	last := slices.Repeat([]int64{math.MinInt64}, classes)
	for i := range all {
		last[all[i].class] = max(last[all[i].class], all[i].time)
	}
	return last
}

// turned is that of package function turned for the labels of this partition, of which there must be leastSense before
// the model and since. A partition of which the model told less than its base rates from the start has a population
// that the model does not know: its labels are not inverted.
func (x *partLosses) turned(classes []string) (Sense, bool) {
	if min(len(x.since), len(x.before)) < leastSense {
		return Sense{}, false
	}
	if s := senseOf(x.before, len(classes)); s.Loss > s.Rates {
		return Sense{}, false
	}
	slices.SortStableFunc(x.since, func(a, b classLosses) int { return cmp.Compare(a.time, b.time) })
	s, found := turned(x.since, classes, x.last)
	s.Of = fmt.Sprintf(" of partition %d", x.partition) + s.Of
	return s, found
}

// turned looks for labels that look inverted or one-sided: all of these records, which stand in the order of their
// times, or the newest half of them, quarter and so on. last has, for each class, the latest time of any record that
// was learnt before its last one. It reports whether it found any.
func turned(all []classLosses, classes []string, last []int64) (Sense, bool) {
	for ; ; all = all[len(all)/2:] {
		s := senseOf(all, len(classes))
		s.cease(all, classes, last)
		if s.Inverted() {
			return s, true
		}
		if len(all) < 2*leastSense {
			return Sense{}, false
		}
	}
}

// cease looks for a class of which there is no record, where the model as published expects leastCeased among at least
// leastSense. A record of the class that was learnt behind one that is newer than the oldest of these says that its
// labels come at other times, as where those of one class come hours later. Of more than two classes one may well cease
// for a while, as they do on covtype.
func (s *Sense) cease(all []classLosses, classes []string, last []int64) {
	if len(all) < leastSense || len(classes) != 2 {
		return
	}
	expected := make([]float64, len(classes))
	for i := range all {
		for c, l := range all[i].loss {
			expected[c] += math.Exp(-l)
		}
	}
	for c, at := range latest(all, len(classes)) {
		if at == math.MinInt64 && last[c] <= all[0].time && expected[c] >= leastCeased && expected[c] > s.Expected {
			s.Ceased, s.Expected = classes[c], expected[c]
		}
	}
}
