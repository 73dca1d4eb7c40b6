package model

import (
	"cmp"
	"math"
	"slices"
)

// exchangeable returns the evidence as a fit sees it that gives no meaning to the order of the records: a function of
// the multiset of the records and of the seed alone, byte for byte.
//
//   - Learnt levels have their codes in the order of their texts, behind the fixed ones.
//   - Records stand in the order of Hash(seed, values, class and outcomes, k), k records of the same values and class,
//     those of smaller weight, being before it: a random order of the multiset, which the scale of the weights does not
//     move. Features of UseReport are not among these values, so that they have no say in a score; they only tell alike
//     records apart.
//   - The clock of a record is its place in this order, which tells it from others and says nothing of its age; its
//     time is 0.
//
// A feature of more than MaxLevels levels is the exception: its first MaxLevels levels keep codes of their own. NaN of
// any bits is one value, special codes apart.
func (e *Evidence) exchangeable() *Evidence {
	n := e.Len()
	levels, rc := e.Levels.sorted()
	out := newEvidence(e.Schema, levels, e.Seed)
	out.Exchangeable = true
	content := make([]uint64, n)
	for f, column := range e.Columns {
		out.Columns[f] = make([]float64, n)
		if e.Schema.Features[f].Use == UseReport {
			continue
		}
		for i, v := range column {
			content[i] = Hash(content[i], bitsOf(rc.Value(f, v)))
		}
	}
	for i := range content {
		content[i] = Hash(content[i], uint64(uint32(e.Class[i])), e.Seed)
		if o := e.outcomes(int32(i)); o != 0 {
			content[i] = Hash(content[i], uint64(o))
		}
	}
	values := func(use Use, a, b int32) int {
		for f, column := range e.Columns {
			if e.Schema.Features[f].Use != use {
				continue
			}
			if c := cmp.Compare(bitsOf(rc.Value(f, column[a])), bitsOf(rc.Value(f, column[b]))); c != 0 {
				return c
			}
		}
		return 0
	}
	same := func(a, b int32) int {
		if c := cmp.Compare(content[a], content[b]); c != 0 {
			return c
		}
		return cmp.Or(values(UseScore, a, b), cmp.Compare(e.Class[a], e.Class[b]),
			cmp.Compare(e.outcomes(a), e.outcomes(b)))
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(same(a, b), cmp.Compare(e.Weight[a], e.Weight[b]), values(UseReport, a, b))
	})
	type place struct {
		key    uint64
		record int32
	}
	places := make([]place, n)
	copies := uint64(0)
	for i, r := range order {
		if copies++; i == 0 || same(order[i-1], r) != 0 {
			copies = 0
		}
		places[i] = place{Hash(content[r], copies), r}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	out.Source = make([]int32, n)
	out.Class, out.Weight = make([]int32, n), make([]float64, n)
	if e.Outcomes != nil {
		out.Outcomes = make([]Outcomes, n)
	}
	out.Clock, out.Time, out.Partition = make([]float64, n), make([]int64, n), make([]int32, n)
	for i, p := range places {
		out.Source[i] = p.record
		out.Clock[i] = float64(i)
		out.Class[i], out.Weight[i] = e.Class[p.record], e.Weight[p.record]
		if e.Outcomes != nil {
			out.Outcomes[i] = e.Outcomes[p.record]
		}
		for f := range out.Columns {
			out.Columns[f][i] = rc.Value(f, e.Columns[f][p.record])
		}
	}
	return out
}

// outcomes are those of record i.
func (e *Evidence) outcomes(i int32) Outcomes {
	if e.Outcomes == nil {
		return 0
	}
	return e.Outcomes[i]
}

// bitsOf returns the bits of v, those of one NaN for all but special codes.
func bitsOf(v float64) uint64 {
	if v != v && SpecialOf(v) < 0 {
		v = math.NaN()
	}
	return math.Float64bits(v)
}

// sorted returns a table of the same levels with learnt codes in the order of the texts, and the recoding into it.
func (l *Levels) sorted() (*Levels, Recode) {
	out := NewLevels(l.schema)
	for f, names := range l.names {
		learnt := slices.Clone(names[len(out.names[f]):])
		slices.Sort(learnt)
		for _, t := range learnt {
			out.add(f, t)
		}
	}
	return out, out.Merge(l)
}
