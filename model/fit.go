package model

import (
	"context"
	"fmt"
	"maps"
	"math"

	"golang.org/x/sync/errgroup"
)

func newEvidence(s *Schema, l *Levels, seed uint64) *Evidence {
	return &Evidence{Schema: s, Levels: l, Columns: make([][]float64, len(s.Features)), Seed: seed, Sampled: map[int32]bool{}}
}

func (e *Evidence) add(r *record, standsFor float64, partition int32, rc Recode) {
	for f := range e.Columns {
		e.Columns[f] = append(e.Columns[f], rc.Value(f, r.Row[f]))
	}
	e.Class = append(e.Class, r.Class)
	e.Weight = append(e.Weight, r.Weight*standsFor)
	e.Clock = append(e.Clock, r.Clock)
	e.Time = append(e.Time, r.Time)
	e.Partition = append(e.Partition, partition)
}

func (e *Evidence) addReservoir(r *reservoir, partition int32, rc Recode) {
	e.Sampled[partition] = !r.whole()
	r.sample(func(rec *record, standsFor float64) { e.add(rec, standsFor, partition, rc) })
}

// Builder collects evidence from files, where every labelled row is seen.
type Builder struct {
	p         *Partition
	ev, mixed *Evidence // of the rows taken so far, in their order and in none; nil when it must be made anew
}

// NewBuilder returns an empty builder.
func NewBuilder(spec *Spec) *Builder {
	b := &Builder{p: NewPartition(spec, 0)}
	b.p.tail = newTail(len(spec.Schema.Features), math.MaxInt64/2)
	b.p.trained = false
	return b
}

// Add takes the labelled rows of a batch; the batch may be reused afterwards.
func (x *Builder) Add(b *Batch) {
	p := x.p
	x.ev, x.mixed = nil, nil
	for f := range p.codes {
		p.codes[f] = grow(p.codes[f], len(b.Columns[f].Levels))
	}
	for i := range b.N {
		p.code(b, i)
		rec := &record{Example: Example{Row: p.row, Class: b.Label[i], Weight: 1, Clock: p.clock}, offset: b.Offset, row: int32(i)}
		if b.Weight != nil {
			rec.Weight = min(b.Weight[i], MaxWeight)
		}
		if b.Time != nil {
			rec.Time = b.Time[i]
		}
		if rec.Class < 0 || rec.Weight <= 0 {
			continue
		}
		p.counts[rec.Class] += rec.Weight
		p.square += rec.Weight * rec.Weight
		p.clock++
		p.tail.push(rec, &p.out)
	}
}

// Len is the number of labelled rows taken.
func (x *Builder) Len() int { return x.p.tail.len() }

// Classes is the number of different classes among the rows taken.
func (x *Builder) Classes() int { return x.p.classesSeen() }

// Evidence is all rows taken so far, in their order. It must not be changed, and is valid until the next Add.
func (x *Builder) Evidence() *Evidence {
	if x.ev == nil {
		x.ev = x.p.evidence()
	}
	return x.ev
}

// Exchangeable is what Fit sees: the rows taken so far, in an order that says nothing; Evidence.Exchangeable says how.
// It must not be changed, and is valid until the next Add.
func (x *Builder) Exchangeable() *Evidence {
	if x.mixed == nil {
		x.mixed = x.p.evidence().exchangeable()
	}
	return x.mixed
}

// Fit makes model 1 of all rows, which are exchangeable: their order has no influence, and the counts of every
// half-life are those of all rows. It has seen nothing of any input partition, and so marks none.
func (x *Builder) Fit(ctx context.Context) (*Model, error) { return x.fit(ctx, x.Exchangeable) }

// FitAsOfEnd makes model 1 of all rows as a stage would have it that has learnt them in their order: short half-lives,
// calibration and mixture speak of the last rows.
func (x *Builder) FitAsOfEnd(ctx context.Context) (*Model, error) { return x.fit(ctx, x.Evidence) }

func (x *Builder) fit(ctx context.Context, evidence func() *Evidence) (*Model, error) {
	if x.Len() == 0 {
		return nil, fmt.Errorf("fitting: no labelled record")
	}
	if x.p.classesSeen() < 2 {
		return nil, fmt.Errorf("fitting: all %d labelled records are of one class", x.Len())
	}
	ev := evidence()
	whole := *ev
	whole.Whole = true
	parts, err := fitParts(ctx, x.p.spec, &whole, nil, nil)
	if err != nil {
		return nil, err
	}
	m := &Model{Version: 1, Fingerprint: x.p.spec.Options.Fingerprint, Levels: ev.Levels.Clone(), Parts: parts, Marks: map[int32]Mark{}}
	m.Info = Info{Records: ev.Len(), Verdict: noVerdict(x.p.spec.Options.Gate), Exchangeable: ev.Exchangeable}
	for _, w := range ev.Weight {
		m.Info.Weight += w
	}
	return m, nil
}

// fitParts fits every component on the evidence, side by side, and then the scorecard over what they say. states holds
// each partition's snapshot.
func fitParts(ctx context.Context, spec *Spec, ev *Evidence, states map[int32]map[string][]byte, previous *Model) (map[string][]byte, error) {
	out := make([][]byte, len(spec.Components))
	g, within := errgroup.WithContext(ctx)
	for i, f := range spec.Components {
		g.Go(func() (err error) {
			out[i], err = fitPart(within, f, *ev, states, previous)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	parts := make(map[string][]byte, len(out)+1)
	for i, f := range spec.Components {
		parts[f.Name()] = out[i]
	}
	var err error
	if parts[spec.Scorecard.Name()], err = fitScorecard(ctx, spec, *ev, states, previous, parts); err != nil {
		return nil, err
	}
	return parts, nil
}

func fitPart(ctx context.Context, f Factory, ev Evidence, states map[int32]map[string][]byte, previous *Model) ([]byte, error) {
	if states != nil {
		ev.States = statesOf(states, f.Name())
	}
	var before []byte
	if previous != nil {
		before = previous.Parts[f.Name()]
	}
	part, err := f.Fit(ctx, &ev, before)
	if err != nil {
		return nil, fmt.Errorf("fitting %s: %w", f.Name(), err)
	}
	return part, nil
}

// fitScorecard fits the scorecard over the components whose parts are given.
func fitScorecard(ctx context.Context, spec *Spec, ev Evidence, states map[int32]map[string][]byte, previous *Model, parts map[string][]byte) ([]byte, error) {
	components := make([]Component, len(spec.Components))
	ev.Blocks = make([]int, len(components))
	for i, f := range spec.Components {
		components[i] = f.New(ev.Levels)
		rb := &Rebase{Part: parts[f.Name()], Self: nobody, Since: func(func(*Example) bool) {}}
		if err := components[i].Rebase(rb); err != nil {
			return nil, fmt.Errorf("fitting %s: reading %s: %w", spec.Scorecard.Name(), f.Name(), err)
		}
		ev.Blocks[i] = components[i].InputCount()
	}
	ev.Keys = inputKeys(components)
	ev.Inputs = func(row Row, dst []float64) { inputsOf(components, len(spec.Schema.Classes), row, dst) }
	excluding := func(otherwise func(c Component, row Row, dst []float64)) func(ex *Example, dst []float64) {
		return func(ex *Example, dst []float64) {
			at := 0
			for i, c := range components {
				n := ev.Blocks[i] * len(spec.Schema.Classes)
				if x, ok := c.(Excluder); ok && n > 0 {
					x.InputsWithout(ex, dst[at:at+n])
				} else {
					otherwise(c, ex.Row, dst[at:at+n])
				}
				at += n
			}
		}
	}
	ev.Offset = excluding(func(c Component, row Row, dst []float64) {
		if len(dst) > 0 {
			c.Inputs(row, dst)
		}
	})
	if ev.Whole {
		ev.Without = excluding(func(_ Component, _ Row, dst []float64) { clear(dst) })
	}
	return fitPart(ctx, spec.Scorecard, ev, states, previous)
}

// nobody is a partition that no model knows.
const nobody = -1

// inputsOf writes what the components say of a row.
func inputsOf(components []Component, classes int, row Row, dst []float64) {
	at := 0
	for _, c := range components {
		if n := c.InputCount() * classes; n > 0 {
			c.Inputs(row, dst[at:at+n])
			at += n
		}
	}
}

// Fit makes the next model from the partitions' snapshots: it merges their samples in partition order and fits every
// factory. Whether the model may serve is for Judge to say; until then Info.Verdict is that of a model compared with
// nothing. previous is the serving model, nil before the first. states[p] is what Snapshot returned, or the same parts
// read back.
func Fit(ctx context.Context, spec *Spec, states map[int32]map[string][]byte, previous *Model) (*Model, error) {
	m := &Model{Version: 1, Fingerprint: spec.Options.Fingerprint, Levels: NewLevels(spec.Schema)}
	if previous != nil {
		m.Levels = previous.Levels.Clone()
		m.Version, m.Info.Previous = previous.Version+1, previous.Version
	}
	ev, parts, err := gather(spec, states, m.Levels)
	if err != nil {
		return nil, err
	}
	m.Marks, m.Info.Records, m.Info.Verdict = marksOf(parts), ev.Len(), noVerdict(spec.Options.Gate)
	for _, w := range ev.Weight {
		m.Info.Weight += w
	}
	if m.Parts, err = fitParts(ctx, spec, ev, states, previous); err != nil {
		return nil, err
	}
	m.Parts[PartPercentile] = percentilePart(parts)
	return m, nil
}

// Renew returns the model with what the partitions have learnt by now: the structure and the fitted weights that Judge
// has compared stay, and the scorecard's counts become those of the states, so that no model begins with counts as old
// as its comparison took; so do the scores among which percentiles are ranks. Shares says how far that is.
func Renew(ctx context.Context, spec *Spec, m *Model, states map[int32]map[string][]byte) (*Model, error) {
	out := *m
	out.Levels = m.Levels.Clone()
	ev, parts, err := gather(spec, states, out.Levels)
	if err != nil {
		return nil, err
	}
	ev.Keep = true
	out.Shares, out.Parts = marksOf(parts), maps.Clone(m.Parts)
	if out.Parts[spec.Scorecard.Name()], err = fitScorecard(ctx, spec, *ev, states, m, m.Parts); err != nil {
		return nil, err
	}
	out.Parts[PartPercentile] = percentilePart(parts)
	return &out, nil
}

func marksOf(parts []*Partition) map[int32]Mark {
	marks := map[int32]Mark{}
	for _, p := range parts {
		marks[p.self] = Mark{Offset: p.next, Clock: p.clock}
	}
	return marks
}

// gather merges the samples of the states, coded by levels, to which it adds what they lack.
func gather(spec *Spec, states map[int32]map[string][]byte, levels *Levels) (*Evidence, []*Partition, error) {
	order := sortedKeys(states)
	parts := make([]*Partition, len(order))
	ev := newEvidence(spec.Schema, levels, spec.Options.Seed)
	ev.Recodes, ev.Models = map[int32]Recode{}, map[int32]int64{}
	for i, n := range order {
		p, err := RestorePartition(spec, states[n])
		if err != nil {
			return nil, nil, fmt.Errorf("partition %d: %w", n, err)
		}
		if p.self != n {
			return nil, nil, fmt.Errorf("partition %d: its state is that of partition %d", n, p.self)
		}
		parts[i] = p
		ev.Recodes[n], ev.Models[n] = levels.Merge(p.levels), p.version
		ev.addReservoir(p.reservoir, n, ev.Recodes[n])
	}
	ev.Recent = ev.Len()
	mergeTails(ev, parts)
	if ev.Len() == 0 {
		return nil, nil, fmt.Errorf("fitting: no labelled record")
	}
	return ev, parts, nil
}

func statesOf(states map[int32]map[string][]byte, factory string) map[int32][]byte {
	out := map[int32][]byte{}
	for p, s := range states {
		out[p] = s["model/"+factory]
	}
	return out
}

// mergeTails appends the records of all tails in the order of their times; equal times in partition order.
func mergeTails(ev *Evidence, parts []*Partition) {
	at := make([]uint64, len(parts))
	for i, p := range parts {
		at[i] = p.tail.first
	}
	var r record
	for {
		best := -1
		var oldest int64
		for i, p := range parts {
			if at[i] == p.tail.next {
				continue
			}
			if t := p.tail.time[at[i]%p.tail.capacity]; best < 0 || t < oldest {
				best, oldest = i, t
			}
		}
		if best < 0 {
			return
		}
		parts[best].tail.at(at[best], &r)
		at[best]++
		ev.add(&r, 1, parts[best].self, ev.Recodes[parts[best].self])
	}
}
