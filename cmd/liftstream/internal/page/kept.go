package page

import "liftstream/model"

// kept is a record of the lists of a partition: one that this process has scored, or one of the past. It becomes text
// when somebody looks: most leave their list before that.
type kept struct {
	entry
	past *Record // nil = it is the entry
}

// of makes it record i of a batch, in the memory of the record that it was before. Nothing of it belongs to the batch.
func (k *kept) of(schema *model.Schema, partition int32, b *model.Batch, s *model.Scores, l *model.Levels, i int) {
	k.past = nil
	k.fill(schema, partition, b, s, l, i)
}

// shown writes it for people.
func (k *kept) shown(s *model.Schema) Record {
	if k.past != nil {
		return *k.past
	}
	return k.record(s)
}

// rank is its place in the call list.
func (k *kept) rank(b *Board) float64 {
	if k.past != nil {
		return b.rank(k.past.Propensity, k.past.Lift, k.past.BaseRate)
	}
	return b.rank(k.p[k.target], finite(k.lift), k.base)
}

// wants reports whether a record of that rank is among the block's best; NaN never is.
func (b *Board) wants(p *part, rank float64) bool {
	best := p.calls[0]
	return rank == rank && (len(best) < callsKept || rank > best[callsKept-1].rank(b))
}

// offer returns the place of a record of that rank among the block's best. The last of them leaves it its memory.
func (b *Board) offer(p *part, rank float64) *kept {
	best := p.calls[0]
	if n := len(best); n < cap(best) {
		best = best[:min(n+1, callsKept)] // that of an earlier block
	} else if n < callsKept {
		best = append(best, kept{})
	}
	at := len(best) - 1
	spare := best[at]
	for ; at > 0 && best[at-1].rank(b) < rank; at-- {
		best[at] = best[at-1]
	}
	best[at] = spare
	p.calls[0] = best
	return &best[at]
}

// newest returns the place of the newest record. The oldest of the list leaves it its memory.
func (p *part) newest() *kept {
	if len(p.last) < Kept {
		p.last = append(p.last, kept{})
		return &p.last[len(p.last)-1]
	}
	at := p.lastAt
	p.lastAt = (p.lastAt + 1) % Kept
	return &p.last[at]
}
