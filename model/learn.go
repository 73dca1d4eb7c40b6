package model

import (
	"context"
	"math"
)

// Losses counts records that the state could not learn.
type Losses struct {
	UnknownClass uint64 // records whose label the configuration does not list: scored, not learnt
	Expired      uint64 // waiting records that left the pending store without a label
}

// LabelCounts counts labels by their fate.
type LabelCounts struct {
	Learnt    int
	Corrected int
	Repeated  int // the record has that class already, or corrections are off
	Unmatched int // no such record in the pending store
	Misrouted int // the label names another partition
	Unknown   int // class outside the configuration
}

func (p *Partition) event(b *Batch, i int, out *Scores) {
	p.seen++
	p.score(out, i)

	rec := &p.rec
	*rec = record{Example: b.example(i, p.row, p.clock), offset: b.Offset, row: int32(i)}
	if b.Row != nil {
		rec.row = b.Row[i]
	}
	if rec.Class == UnknownClass {
		p.lost.UnknownClass++
	}
	pending := p.pending
	if !p.trained {
		pending = nil
	}
	waits := p.spec.Options.WaitBytes > 0 && rec.Class != UnknownClass
	if rec.Class >= 0 {
		p.learn(rec, pending)
		waits = waits && p.spec.Options.Correct
		pending = nil
	}
	if waits {
		id := ""
		if b.ID != nil {
			id = b.ID[i]
		}
		p.store.admit(rec, id, pending, rec.Class >= 0)
		p.expire()
	}
}

// expire takes overdue records out of the pending store, as the configuration says.
func (p *Partition) expire() {
	for w := p.store.overdue(); w != nil; w = p.store.overdue() {
		if w.learnt {
			continue
		}
		p.lost.Expired++
		if p.spec.Options.ExpireAs >= 0 {
			w.Class = p.spec.Options.ExpireAs
			p.learn(&w.record, p.usable(w))
		}
	}
}

// usable returns the memory of the score of a waiting record, nil when that was before there was a
// structure. It outlives a change of cells: inputs are log-lifts by feature and horizon, and not by cell.
func (p *Partition) usable(w *waiting) []float64 {
	if len(w.pending) != len(p.pending) {
		return nil
	}
	return w.pending
}

// learn adds one labelled record to everything; pending nil means that the inputs are computed now. The record comes
// with the clock at which it was scored.
func (p *Partition) learn(rec *record, pending []float64) {
	rec.lag = int32(min(max(p.clock-rec.Clock, 0), math.MaxInt32))
	rec.Clock = p.clock
	if rec.Weight <= 0 {
		return
	}
	if p.trained {
		if !p.scorecard.Remembers(pending) {
			p.fill(rec.Row)
		}
		for _, c := range p.components {
			c.Learn(&rec.Example)
		}
		p.scorecard.LearnScored(&rec.Example, p.inputs, pending)
	}
	first := p.counts[rec.Class] == 0
	p.counts[rec.Class] += rec.Weight
	p.square += rec.Weight * rec.Weight
	p.clock++
	if p.tail.push(rec, &p.out) {
		p.reservoir.add(&p.out, p.key(&p.out))
	}
	if p.version == 0 && p.classesSeen() > 1 && (!p.trained && p.warm(first) || p.trained && p.doubled()) {
		p.ownModel()
	}
}

// warm reports whether a partition without a structure tries to make one: at the end of the warm-up, at the first
// record of a class after it, and, as a fit can fail, at every multiple of it.
func (p *Partition) warm(first bool) bool {
	n := float64(max(p.spec.Options.Warmup, 1))
	return p.clock >= n && (first || math.Mod(p.clock, n) == 0)
}

// key decides whether the reservoir keeps the record.
func (p *Partition) key(r *record) uint64 {
	return Hash(p.spec.Options.Seed, uint64(p.self), uint64(r.offset), uint64(r.row))
}

// doubled reports whether the clock is the warm-up doubled once or up to coldDoublings times: the moments at which a
// partition that no published model serves yet looks at its own tail again, since cells cut from the first few hundred
// records are coarse.
func (p *Partition) doubled() bool {
	for k := 1; k <= coldDoublings; k++ {
		if p.clock == float64(p.spec.Options.Warmup<<k) {
			return true
		}
	}
	return false
}

// coldDoublings bounds how often model 0 is refined.
const coldDoublings = 4

func (p *Partition) classesSeen() (n int) {
	for _, c := range p.counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// ownModel builds model 0, or refines it, from the tail. A fit that fails changes nothing.
func (p *Partition) ownModel() {
	var states map[int32]map[string][]byte
	if p.trained {
		own := map[string][]byte{}
		for i, c := range p.all() {
			own[sectionOf(p.spec.name(i))] = c.AppendState(nil)
		}
		states = map[int32]map[string][]byte{p.self: own}
	}
	parts, err := fitParts(context.Background(), p.spec, p.evidence(), states, nil)
	if err != nil {
		return
	}
	m := &Model{Fingerprint: p.spec.Options.Fingerprint, Levels: p.levels.Clone(), Parts: parts,
		Marks: map[int32]Mark{p.self: {Clock: p.clock}}}
	if p.rebase(m) == nil {
		p.trained = true
	}
}

// Labels learns late labels: of the newest record with that id, or of the record at that position. A class of
// Unlabelled is ignored. Labels of records that are not in the pending store are counted, not kept.
func (p *Partition) Labels(l *Labels) (c LabelCounts) {
	for i := range l.N {
		class := l.Class[i]
		if class < 0 {
			if class == UnknownClass {
				c.Unknown++
			}
			continue
		}
		var w *waiting
		if l.ID != nil {
			w = p.store.find(l.ID[i], place{}, true)
		} else {
			if l.Partition[i] != p.self {
				c.Misrouted++
				continue
			}
			w = p.store.find("", place{l.Offset[i], l.Row[i]}, false)
		}
		switch {
		case w == nil:
			c.Unmatched++
		case !w.learnt:
			w.Class = class
			p.learn(&w.record, p.usable(w))
			c.Learnt++
			if p.spec.Options.Correct {
				p.store.markLearnt(w)
			} else {
				p.store.remove(w)
			}
		case w.Class == class || !p.spec.Options.Correct:
			c.Repeated++
		default:
			p.correct(w, class)
			c.Corrected++
		}
	}
	if l.Time != nil {
		for _, t := range l.Time[:l.N] {
			p.store.newest = max(p.store.newest, t)
		}
	}
	p.expire()
	return c
}

// correct replaces the class that a record was learnt with, in the counts with the weight of its position and in the
// sample; the scorecard's weights, a path of gradient steps, stay as they are.
func (p *Partition) correct(w *waiting, class int32) {
	if w.Weight > 0 {
		if p.trained {
			for _, c := range p.all() {
				c.Retract(&w.Example)
			}
		}
		p.counts[w.Class] -= w.Weight
		w.Class = class
		if p.trained {
			for _, c := range p.all() {
				c.Learn(&w.Example)
			}
		}
		p.counts[class] += w.Weight
		if !p.tail.relabel(w.Clock, class) {
			p.reservoir.relabel(p.key(&w.record), class)
		}
	}
	w.Class = class
}
