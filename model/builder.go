package model

import (
	"context"
	"fmt"
	"math"
)

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
