package model

import (
	"context"
	"fmt"
	"maps"
	"math"

	"golang.org/x/sync/errgroup"
)

// gateRecords bounds the newest labelled slice of each partition on which a new model is compared with the serving one.
const gateRecords = 2000

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
	p  *Partition
	ev *Evidence // of the rows taken so far; nil when it must be made anew
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
	x.ev = nil
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
		p.clock++
		p.tail.push(rec, &p.out)
	}
}

// Len is the number of labelled rows taken.
func (x *Builder) Len() int { return x.p.tail.len() }

// Evidence is what Fit sees: all rows taken so far. It must not be changed, and is valid until the next Add.
func (x *Builder) Evidence() *Evidence {
	if x.ev == nil {
		x.ev = x.p.evidence()
	}
	return x.ev
}

// Fit makes model 1 of all rows. It has seen nothing of any input partition, and so marks none.
func (x *Builder) Fit(ctx context.Context) (*Model, error) {
	if x.Len() == 0 {
		return nil, fmt.Errorf("fitting: no labelled record")
	}
	if x.p.classesSeen() < 2 {
		return nil, fmt.Errorf("fitting: all %d labelled records are of one class", x.Len())
	}
	ev := x.Evidence()
	whole := *ev
	whole.Whole = true
	parts, err := fitParts(ctx, x.p.spec, &whole, nil, nil)
	if err != nil {
		return nil, err
	}
	m := &Model{Version: 1, Fingerprint: x.p.spec.Options.Fingerprint, Levels: x.p.levels.Clone(), Parts: parts, Marks: map[int32]Mark{}}
	m.Info = Info{Records: ev.Len(), GateNew: math.NaN(), GateOld: math.NaN()}
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

// Fit makes the next model from the partitions' snapshots: it merges their samples in partition order, fits every
// factory, and compares the result with the serving structure on the newest labelled slice of each partition. If that is
// worse by more than Options.Gate, the scorecard keeps its structure and only the other parts are new.
// previous is the serving model, nil before the first. accepted is false when the gate refused the result, which is
// returned all the same. states[p] is what Snapshot returned, or the same parts read back.
func Fit(ctx context.Context, spec *Spec, states map[int32]map[string][]byte, previous *Model) (m *Model, accepted bool, err error) {
	order := sortedKeys(states)
	parts := make([]*Partition, len(order))
	levels := NewLevels(spec.Schema)
	m = &Model{Version: 1, Fingerprint: spec.Options.Fingerprint, Marks: map[int32]Mark{}}
	if previous != nil {
		levels = previous.Levels.Clone()
		m.Version, m.Info.Previous = previous.Version+1, previous.Version
	}
	ev := newEvidence(spec.Schema, levels, spec.Options.Seed)
	ev.Recodes, ev.Models = map[int32]Recode{}, map[int32]int64{}
	for i, n := range order {
		p, err := RestorePartition(spec, states[n])
		if err != nil {
			return nil, false, fmt.Errorf("partition %d: %w", n, err)
		}
		if p.self != n {
			return nil, false, fmt.Errorf("partition %d: its state is that of partition %d", n, p.self)
		}
		parts[i] = p
		ev.Recodes[n], ev.Models[n] = levels.Merge(p.levels), p.version
		m.Marks[n] = Mark{Offset: p.next, Clock: p.clock}
		ev.addReservoir(p.reservoir, n, ev.Recodes[n])
	}
	ev.Recent = ev.Len()
	mergeTails(ev, parts)
	if ev.Len() == 0 {
		return nil, false, fmt.Errorf("fitting: no labelled record")
	}
	m.Levels = levels
	m.Info.Records = ev.Len()
	for _, w := range ev.Weight {
		m.Info.Weight += w
	}
	if m.Parts, err = fitParts(ctx, spec, ev, states, previous); err != nil {
		return nil, false, err
	}
	if m.Info.GateNew, m.Info.GateOld, err = gate(spec, m, states); err != nil {
		return nil, false, err
	}
	if m.within(spec.Options.Gate) {
		return m, true, nil
	}
	// Cells that fit all records better can serve the newest ones worse; the other parts need not wait for that. What is
	// merged from other partitions also looks worse on records that the own counts have just learnt, so it is held
	// against neither side.
	kept := *m
	kept.Parts = maps.Clone(m.Parts)
	ev.Keep = true
	if kept.Parts[spec.Scorecard.Name()], err = fitScorecard(ctx, spec, *ev, states, previous, m.Parts); err != nil {
		return nil, false, err
	}
	kept.Info.Kept = true
	if kept.Info.GateNew, kept.Info.GateOld, err = gate(spec, &kept, states); err != nil {
		return nil, false, err
	}
	if m.Info.GateNew <= kept.Info.GateNew+spec.Options.Gate {
		return m, m.within(mergeGate * spec.Options.Gate), nil
	}
	return &kept, kept.within(mergeGate * spec.Options.Gate), nil
}

// mergeGate is how many times wider the gate is for a model whose structure is no worse than the serving one's.
const mergeGate = 10

// within reports whether the model is worse than the serving one by at most limit; NaN, nothing to compare with, is.
func (m *Model) within(limit float64) bool { return !(m.Info.GateNew > m.Info.GateOld+limit) }

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

// gate returns the log-losses of the new and the serving structure on the newest records of every partition that serves
// already, NaN when there is none. Both have learnt these records.
func gate(spec *Spec, m *Model, states map[int32]map[string][]byte) (after, before float64, err error) {
	var weight float64
	for _, n := range sortedKeys(states) {
		p, err := RestorePartition(spec, states[n])
		if err != nil {
			return 0, 0, fmt.Errorf("partition %d: %w", n, err)
		}
		if !p.trained {
			continue
		}
		loss, w := p.newest()
		before, weight = before+loss, weight+w
		if err := p.rebase(m); err != nil {
			return 0, 0, fmt.Errorf("comparing with the serving model: partition %d: %w", n, err)
		}
		loss, _ = p.newest()
		after += loss
	}
	if weight == 0 {
		return math.NaN(), math.NaN(), nil
	}
	return after / weight, before / weight, nil
}

// newest returns the log-loss and the weight of the newest records, at most a quarter of the tail, as the partition
// would score them now.
func (p *Partition) newest() (loss, weight float64) {
	prob := make([]float64, len(p.counts))
	var r record
	for n := p.tail.next - min(uint64(p.tail.len()/4), gateRecords); n < p.tail.next; n++ {
		p.tail.at(n, &r)
		p.fill(r.Row)
		p.scorecard.Score(r.Row, p.inputs, p.pending, prob)
		loss -= r.Weight * math.Log(max(prob[r.Class], 1e-12))
		weight += r.Weight
	}
	return loss, weight
}
