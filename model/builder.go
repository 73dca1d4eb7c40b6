package model

import (
	"context"
	"fmt"
)

// Builder collects evidence from files, where every labelled row is seen.
type Builder struct {
	spec  *Spec
	coder coder
	seen  []bool // by class
	n     int    // rows with a class
	time  streamTime
	rows  *Evidence // in their order
	mixed *Evidence // without an order; nil when it must be made anew
}

// NewBuilder returns an empty builder.
func NewBuilder(spec *Spec) *Builder {
	levels := NewLevels(spec.Schema)
	b := &Builder{spec: spec, coder: newCoder(spec.Schema), seen: make([]bool, len(spec.Schema.Classes))}
	b.rows = newEvidence(spec.Schema, levels, spec.Options.Seed)
	b.rows.Sampled[0] = false
	return b
}

// Add takes the labelled rows of a batch; the batch may be reused afterwards.
func (x *Builder) Add(b *Batch) {
	x.mixed = nil
	x.coder.start(b)
	for i := range b.N {
		x.coder.code(x.rows.Levels, b, i)
		rec := record{Example: b.example(i, x.coder.row, float64(x.rows.Len()))}
		began := x.time.now != 0
		if x.time.observe(rec.Time) && !began {
			for k, t := range x.rows.Time {
				x.rows.Time[k] = min(t, x.time.now)
			}
		}
		rec.Time = x.time.of(rec.Time)
		if goals := b.Outcomes != nil && listed(b.Outcomes[i]) && rec.Weight > 0; !x.Takes(b, i) && !goals {
			continue
		}
		if rec.Outcomes, _ = rec.Outcomes.Listed(); rec.Class >= 0 {
			x.seen[rec.Class] = true
			x.n++
		} else {
			rec.Class = Unlabelled
		}
		x.rows.add(&rec, 1, 0, nil)
	}
}

// Takes reports whether Add takes row i of a batch for the label: it has a class and a weight, and
// Options.Control.Learn names it. A row without a class is taken for its goals alone, and is not in Evidence. No score
// tells the chance of an untreated one, so that its weight is its own.
func (x *Builder) Takes(b *Batch, i int) bool {
	if b.Label[i] < 0 || b.Weight != nil && b.Weight[i] <= 0 {
		return false
	}
	c, t := &x.spec.Options.Control, b.treatment(i)
	switch {
	case c.Learn == LearnAll:
		return true
	case t == Treated:
		return false
	}
	return c.Learn == LearnUntreated && t == Untreated || c.Of(b, i)
}

// Len is the number of labelled rows taken, those of goals alone left out.
func (x *Builder) Len() int { return x.n }

// Classes is the number of different classes among the rows taken.
func (x *Builder) Classes() (n int) {
	for _, seen := range x.seen {
		if seen {
			n++
		}
	}
	return n
}

// Evidence is all rows taken so far, in their order. It must not be changed, and is valid until the next Add.
func (x *Builder) Evidence() *Evidence { return x.rows.labelled(x.rows.Class) }

// Exchangeable is the evidence of Fit: the rows taken so far, in an order without meaning; see Evidence.Exchangeable.
// It must not be changed, and is valid until the next Add.
func (x *Builder) Exchangeable() *Evidence {
	mixed := x.exchangeable()
	return mixed.labelled(mixed.Class)
}

func (x *Builder) exchangeable() *Evidence {
	if x.mixed == nil {
		x.mixed = x.rows.exchangeable()
	}
	return x.mixed
}

// Fit makes model 1 of all rows, which are exchangeable: their order has no influence, and the counts of every
// half-life are those of all rows. It has seen nothing of any input partition, and so marks none.
func (x *Builder) Fit(ctx context.Context) (*Model, error) { return x.fit(ctx, x.exchangeable) }

// FitAsOfEnd makes model 1 of all rows as a stage would have it that has learnt them in their order: short half-lives,
// calibration and mixture speak of the last rows.
func (x *Builder) FitAsOfEnd(ctx context.Context) (*Model, error) {
	return x.fit(ctx, func() *Evidence { return x.rows })
}

func (x *Builder) fit(ctx context.Context, evidence func() *Evidence) (*Model, error) {
	if err := x.spec.Check(); err != nil {
		return nil, fmt.Errorf("fitting: %w", err)
	}
	if x.Len() == 0 {
		return nil, fmt.Errorf("fitting: no labelled record")
	}
	if x.Classes() < 2 {
		return nil, fmt.Errorf("fitting: each labelled record (%d) is of one class", x.Len())
	}
	ev := evidence()
	whole := *ev
	whole.Whole, whole.Work = true, FileWork
	var held foretold
	if x.spec.Options.Interval > 0 {
		held = newForetold(len(x.spec.Schema.Classes))
		whole.held = held.take
	}
	parts, err := fitParts(ctx, x.spec, &whole, nil, nil)
	if err != nil {
		return nil, err
	}
	o := &x.spec.Options
	m := &Model{Version: 1, Fingerprint: o.Fingerprint, Levels: ev.Levels.Clone(), Parts: parts, Marks: map[int32]Mark{}}
	m.Info = Info{Records: ev.Len(), Verdict: noVerdict(o.Gate), Exchangeable: ev.Exchangeable}
	for _, w := range ev.Weight {
		m.Info.Weight += w
	}
	if x.spec.Options.Interval > 0 {
		if m.Parts[PartMisfit], err = misfitPart(x.spec, m, ev.labelled(ev.Class), &held); err != nil {
			return nil, err
		}
	}
	return m, nil
}
