package model

import (
	"fmt"
	"slices"
)

// columns of a packed part before those of the features.
const (
	colOffset = iota
	colRow
	colClass
	colLearnt
	colClock
	colWeight
	colTime
	colSince
	ownColumns
)

// partColumns are the columns of a sealed part.
type partColumns struct {
	ids   textColumn
	own   [ownColumns]column
	row   []column // none = not read
	state [2]int   // where the bytes of the columns from colClass on begin, and where those of the rows begin
}

// brief holds the values that tell the records of an id apart.
type brief struct {
	class       int32
	learnt      bool
	time, since int64
}

func (w *waiting) brief() brief { return brief{w.Class, w.learnt, w.Time, w.since} }

// pack writes the entries, none of which is nil, as columns: the places, the ids, the other values of their own, the
// rows. coded[f] says that feature f has levels.
func (k *columnPacker) pack(b []byte, entries []*waiting, coded []bool) []byte {
	b = k.packInts(b, entries, func(w *waiting) int64 { return w.offset })
	b = k.packInts(b, entries, func(w *waiting) int64 { return int64(w.row) })
	k.texts = k.texts[:0]
	for _, w := range entries {
		k.texts = append(k.texts, w.id)
	}
	b = k.appendTexts(b, k.texts)
	clear(k.texts)
	b = k.packState(b, entries)
	for f := range entries[0].Row {
		k.floats = k.floats[:0]
		for _, w := range entries {
			k.floats = append(k.floats, w.Row[f])
		}
		if f < len(coded) && coded[f] {
			b = k.appendCodes(b, k.floats)
		} else {
			b = k.appendFloats(b, k.floats)
		}
	}
	return append(b, make([]byte, columnEnd)...)
}

// packState writes the columns that a label or the end of a window changes.
func (k *columnPacker) packState(b []byte, entries []*waiting) []byte {
	b = k.packInts(b, entries, func(w *waiting) int64 { return w.stored() })
	b = k.packInts(b, entries, func(w *waiting) int64 {
		if w.learnt {
			return 1
		}
		return 0
	})
	k.floats = k.floats[:0]
	for _, w := range entries {
		k.floats = append(k.floats, w.Clock)
	}
	b = k.appendFloats(b, k.floats)
	for i, w := range entries {
		k.floats[i] = w.Weight
	}
	b = k.appendFloats(b, k.floats)
	b = k.packInts(b, entries, func(w *waiting) int64 { return w.Time })
	return k.packInts(b, entries, func(w *waiting) int64 { return w.since - w.Time })
}

func (k *columnPacker) packInts(b []byte, entries []*waiting, of func(w *waiting) int64) []byte {
	k.ints = k.ints[:0]
	for _, w := range entries {
		k.ints = append(k.ints, of(w))
	}
	return k.appendInts(b, k.ints)
}

// read reads all columns of a part into c. Those of a part of this process are sound; check is for bytes from outside.
func (p *pendingPart) read(c *partColumns, features int, check bool) error {
	if err := p.readOwn(c, check); err != nil {
		return err
	}
	return p.readRows(c, features, check)
}

// readOwn reads the columns but those of the rows.
func (p *pendingPart) readOwn(c *partColumns, check bool) (err error) {
	b, n := p.packed, p.kept.count(pendingChunk)
	c.row = c.row[:0]
	for k := range c.own {
		if k == colClass {
			if c.ids, b, err = readTexts(b, n, check); err != nil {
				return fmt.Errorf("ids: %w", err)
			}
			c.state[0] = len(p.packed) - len(b)
		}
		if c.own[k], b, err = readColumn(b, n, check); err != nil {
			return fmt.Errorf("column %d: %w", k, err)
		}
		if whole := c.own[k].kind == columnInts; check && whole != (k != colClock && k != colWeight) {
			return fmt.Errorf("column %d is of kind %d", k, c.own[k].kind)
		}
	}
	c.state[1] = len(p.packed) - len(b)
	return nil
}

// readRows reads the columns of the rows after readOwn.
func (p *pendingPart) readRows(c *partColumns, features int, check bool) (err error) {
	b, n := p.packed[c.state[1]:], p.kept.count(pendingChunk)
	c.row = grow(c.row, features)
	for f := range c.row {
		if c.row[f], b, err = readColumn(b, n, check); err != nil {
			return fmt.Errorf("feature %d: %w", f, err)
		}
	}
	if check && len(b) != columnEnd {
		return fmt.Errorf("%d bytes behind the columns", len(b))
	}
	return nil
}

// columnsOf returns the columns of a sealed part, those of the rows only where rows is set. They are valid until the
// next call, or the next change of a part. The parts that were read last keep them: records of one id are often near.
func (s *entryQueue) columnsOf(p *pendingPart, rows bool) *partColumns {
	c := p.columns
	if c == nil {
		at := &s.lately[s.turn]
		s.turn = (s.turn + 1) % len(s.lately)
		if at.part != nil {
			at.part.columns = nil
		}
		at.part, c = p, &at.columns
		_ = p.readOwn(c, false)
		p.columns = c
	}
	if rows && len(c.row) == 0 {
		_ = p.readRows(c, len(s.coded), false)
	}
	return c
}

// lately is a part that keeps its columns.
type lately struct {
	part    *pendingPart
	columns partColumns
}

// brief returns the brief of the entry of that number, which must be there.
func (s *entryQueue) brief(n uint64) brief {
	p, i := s.part(n), int(n%pendingChunk)
	if p.open != nil {
		return p.open[i].brief()
	}
	return p.brief(s.columnsOf(p, false), i)
}

// brief is that of the entry at place i of a sealed part.
func (p *pendingPart) brief(c *partColumns, i int) brief {
	k := p.kept.count(i)
	class, _ := unstored(c.own[colClass].int(k))
	x := brief{class: class, learnt: c.own[colLearnt].int(k) != 0, time: c.own[colTime].int(k)}
	x.since = c.own[colSince].int(k) + x.time
	if p.edited.has(i) {
		r := &p.revised[p.edited.count(i)]
		x.class, x.learnt, x.time = r.class, r.learnt, r.time
	}
	return x
}

// is compares an id with that of the entry of a number.
func (s *entryQueue) is(id string) func(n uint64) bool {
	return func(n uint64) bool {
		p, i := s.part(n), int(n%pendingChunk)
		switch {
		case p == nil || !p.alive.has(i):
			return false
		case p.open != nil:
			return p.open[i].id == id && !p.open[i].lost
		}
		return !p.nameless.has(i) && s.columnsOf(p, false).ids.is(p.kept.count(i), id)
	}
}

// entry returns the entry at place i of a sealed part, a copy that is valid as long as the caller wants it.
func (p *pendingPart) entry(c *partColumns, number uint64, i int) *waiting {
	w := &waiting{}
	p.entryTo(w, c, number, i)
	return w
}

// entryTo is entry into w, whose row it writes over.
func (p *pendingPart) entryTo(w *waiting, c *partColumns, number uint64, i int) {
	k, row := p.kept.count(i), w.Row
	*w = waiting{number: number}
	w.offset, w.row = c.own[colOffset].int(k), int32(c.own[colRow].int(k))
	w.id, w.lost = c.ids.text(k), p.nameless.has(i)
	w.Class, w.Outcomes = unstored(c.own[colClass].int(k))
	w.learnt = c.own[colLearnt].int(k) != 0
	w.Clock, w.Weight = c.own[colClock].float(k), c.own[colWeight].float(k)
	w.Time = c.own[colTime].int(k)
	w.since = c.own[colSince].int(k) + w.Time
	w.Row = grow(row, len(c.row))
	for f := range c.row {
		w.Row[f] = c.row[f].float(k)
	}
	if at, ok := p.revision(i); ok {
		p.revised[at].change(w)
	}
	if at, ok := p.score(i); ok {
		w.pending, w.numbers = p.scores[at].packed, p.scores[at].numbers
	}
	w.thinned = p.thinned.has(i)
}

// ascends reports whether the places of the records in the columns ascend, those of gone ones among them.
func (p *pendingPart) ascends(c *partColumns) bool {
	at := func(k int) place { return place{c.own[colOffset].int(k), int32(c.own[colRow].int(k))} }
	for k := p.kept.count(pendingChunk) - 1; k > 0; k-- {
		if at(k).compare(at(k-1)) < 0 {
			return false
		}
	}
	return true
}

// unlearntOf is the place of the first entry of a part from place i on that is not learnt, and since when it waits;
// pendingChunk where there is none.
func unlearntOf(s *entryQueue, p *pendingPart, i int) (at int, since int64) {
	for i = p.alive.next(i); i < pendingChunk; i = p.alive.next(i + 1) {
		var x brief
		if p.open != nil {
			x = p.open[i].brief()
		} else {
			x = p.brief(s.columnsOf(p, false), i)
		}
		if !x.learnt {
			return i, x.since
		}
	}
	return pendingChunk, 0
}

// foldState packs the columns anew that the revisions of a part change.
func foldState(s *entryQueue, p *pendingPart) {
	c, n := s.columnsOf(p, false), p.kept.count(pendingChunk)
	for len(s.folded) < n {
		s.folded = append(s.folded, new(waiting))
	}
	entries := s.folded[:n]
	for k, w := range entries {
		w.Class, w.Outcomes = unstored(c.own[colClass].int(k))
		w.learnt = c.own[colLearnt].int(k) != 0
		w.Clock, w.Weight = c.own[colClock].float(k), c.own[colWeight].float(k)
		w.Time = c.own[colTime].int(k)
		w.since = c.own[colSince].int(k) + w.Time
	}
	for i := range p.revised {
		p.revised[i].change(entries[p.kept.count(int(p.revised[i].at))])
	}
	out := append(s.packer.out[:0], p.packed[:c.state[0]]...)
	out = append(s.packer.packState(out, entries), p.packed[c.state[1]:]...)
	s.packer.out = out
	p.packed, p.revised, p.edited, p.columns = slices.Clone(out), nil, marks{}, nil
}

// change makes the values of a revision those of an entry.
func (r *revision) change(w *waiting) {
	w.Class, w.Outcomes, w.learnt = r.class, r.outcomes, r.learnt
	w.Weight, w.Clock, w.Time = r.weight, r.clock, r.time
}
