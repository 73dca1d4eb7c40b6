package model

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"liftstream/model/wire"
)

// pendingChunk is the number of places in one part of the pending store.
const pendingChunk = 1024

// marks has a bit for each place of a part.
type marks [pendingChunk / 64]uint64

func (m *marks) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }
func (m *marks) set(i int)      { m[i/64] |= 1 << (i % 64) }
func (m *marks) clear(i int)    { m[i/64] &^= 1 << (i % 64) }

// count is the number of marks before place i.
func (m *marks) count(i int) (n int) {
	for _, w := range m[:i/64] {
		n += bits.OnesCount64(w)
	}
	if i%64 != 0 {
		n += bits.OnesCount64(m[i/64] << (64 - i%64))
	}
	return n
}

// next is the first marked place from i on, pendingChunk where there is none.
func (m *marks) next(i int) int {
	for ; i < pendingChunk; i = (i/64 + 1) * 64 {
		if w := m[i/64] >> (i % 64); w != 0 {
			return i + bits.TrailingZeros64(w)
		}
	}
	return pendingChunk
}

// pendingPart is pendingChunk places of the pending store. The newest part is open: its entries stand by themselves.
// All others are sealed: their records are packed in columns, and later changes stand beside them, until there are so
// many that columns are packed anew.
type pendingPart struct {
	open   *[pendingChunk]*waiting // nil = sealed
	packed []byte                  // the columns of the records in kept
	kept   marks                   // in packed
	alive  marks                   // have an entry
	// nameless entries of a sealed part have lost their id to another one, and thinned ones the memory of their score.
	nameless, thinned marks
	revised           []revision    // by place
	edited            marks         // the places of these
	scores            []scoreMemory // of a sealed part, by place
	room              int           // memories that the array of scores has room for, its cut front among it
	named             int           // entries in the index of ids
	live              int           // entries
	high              place         // the last of its entries, gone ones included
	size              int64         // bytes of all but scores, of a sealed part
	left              int           // gone, of a sealed part
	version           uint64        // of the entries
	scoresVersion     uint64
	columns           *partColumns // as they were read last; nil = not, or too long ago
}

// revision is a change of a packed record.
type revision struct {
	weight   float64
	clock    float64
	time     int64
	class    int32
	outcomes Outcomes
	at       int16
	learnt   bool
}

// scoreMemory is the memory of the score of a waiting record.
type scoreMemory struct {
	at      int
	numbers int32
	packed  packed
}

// Bytes that are reckoned for a part, a revision, and the memory of a score beside its numbers.
const (
	partBytes     = 900
	revisionBytes = 40
	scoreBytes    = 48
)

// mostChanges is the number of revisions after which those columns of a part are packed anew that they change.
const mostChanges = 192

// sparse reports whether so much of a packed part belongs to records that have left that the part is packed anew: a
// quarter of its records.
func (p *pendingPart) sparse() bool {
	return p.gone() >= max(mostChanges, p.kept.count(pendingChunk)/4)
}

// gone is the number of records of a packed part that have left.
func (p *pendingPart) gone() (n int) {
	for i := range p.kept {
		n += bits.OnesCount64(p.kept[i] &^ p.alive[i])
	}
	return n
}

// reckon returns the bytes that a sealed part is reckoned to take.
func (p *pendingPart) reckon() int64 {
	return partBytes + int64(len(p.packed)+len(p.packed)/16+revisionBytes*len(p.revised)+idBytes*p.named)
}

func (p *pendingPart) revision(i int) (int, bool) { return p.edited.count(i), p.edited.has(i) }

func (p *pendingPart) score(i int) (int, bool) {
	if len(p.scores) == 0 || p.scores[0].at >= i { // and leave so
		return 0, len(p.scores) > 0 && p.scores[0].at == i
	}
	return slices.BinarySearchFunc(p.scores, i, func(m scoreMemory, i int) int { return cmp.Compare(m.at, i) })
}

// cutScore takes a memory out; the list keeps little more room than it needs.
func (p *pendingPart) cutScore(k int) {
	p.room = max(p.room, cap(p.scores))
	if k == 0 { // where records leave in the order of their arrival
		p.scores[0] = scoreMemory{}
		p.scores = p.scores[1:]
	} else {
		p.scores = slices.Delete(p.scores, k, k+1)
	}
	if p.room > 2*len(p.scores)+16 {
		p.scores = slices.Clip(slices.Clone(p.scores))
		p.room = len(p.scores)
	}
}

// placed returns the newest entry at a place, by its number in the part, -1 where there is none. ordered says that the
// places ascend.
func (p *pendingPart) placed(at place, ordered bool) int {
	if p.open != nil {
		for i := pendingChunk - 1; i >= 0; i-- {
			if w := p.open[i]; w != nil && w.offset == at.offset && w.row == at.row {
				return i
			}
		}
		return -1
	}
	n := p.kept.count(pendingChunk)
	offsets, b, _ := readColumn(p.packed, n, false)
	rows, _, _ := readColumn(b, n, false)
	compare := func(k int) int {
		return place{offsets.int(k), int32(rows.int(k))}.compare(at)
	}
	k := n - 1
	if ordered {
		lo, hi := 0, n // the last that is not behind
		for lo < hi {
			if m := (lo + hi) / 2; compare(m) <= 0 {
				lo = m + 1
			} else {
				hi = m
			}
		}
		k = lo - 1
	}
	for ; k >= 0; k-- {
		c := compare(k)
		if c == 0 {
			if i := p.kept.nth(k); p.alive.has(i) {
				return i
			}
		} else if ordered {
			return -1
		}
	}
	return -1
}

// nth is the place of mark n.
func (m *marks) nth(n int) int {
	for i, w := range m {
		if c := bits.OnesCount64(w); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			w &= w - 1
		}
		return 64*i + bits.TrailingZeros64(w)
	}
	return pendingChunk
}

// compare orders places as they come in the topic.
func (a place) compare(b place) int {
	if c := cmp.Compare(a.offset, b.offset); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// append appends the part without the memories of scores, in the form of format pendingFormat.
func (p *pendingPart) append(b []byte, k *columnPacker, coded []bool) []byte {
	b = wire.AppendUvarint(b, pendingFormat)
	sealed := p
	if p.open != nil {
		var entries []*waiting
		sealed = &pendingPart{kept: p.alive, alive: p.alive}
		for i := p.alive.next(0); i < pendingChunk; i = p.alive.next(i + 1) {
			w := p.open[i]
			entries = append(entries, w)
			if w.thinned {
				sealed.thinned.set(i)
			}
			if w.lost {
				sealed.nameless.set(i)
			}
		}
		sealed.packed = k.pack(nil, entries, coded)
	}
	for _, m := range []*marks{&sealed.kept, &sealed.alive, &sealed.nameless, &sealed.thinned} {
		for _, w := range m {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	b = wire.AppendUvarint(b, uint64(len(sealed.revised)))
	for _, r := range sealed.revised {
		b = wire.AppendBool(wire.AppendUvarint(b, uint64(r.at)), r.learnt)
		ex := Example{Class: r.class, Outcomes: r.outcomes}
		b = wire.AppendFloat(wire.AppendFloat(wire.AppendVarint(b, ex.stored()), r.weight), r.clock)
		b = wire.AppendVarint(b, r.time)
	}
	return wire.AppendBytes(b, sealed.packed)
}

// appendScores appends the memories of the scores of the part.
func (p *pendingPart) appendScores(b []byte) []byte {
	scores := p.scores
	if p.open != nil {
		scores = nil
		for i, w := range p.open {
			if w != nil && len(w.pending) > 0 {
				scores = append(scores, scoreMemory{i, w.numbers, w.pending})
			}
		}
	}
	b = wire.AppendUvarint(b, pendingFormat)
	b = wire.AppendUvarint(b, uint64(len(scores)))
	for _, m := range scores {
		b = wire.AppendUvarint(wire.AppendUvarint(b, uint64(m.at)), uint64(m.numbers))
		b = wire.AppendUvarint(b, uint64(len(m.packed)))
		for _, w := range m.packed {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	return b
}

// loadPart reads the bytes of pendingPart.append, and checks every record. coded says which features have levels, goals
// how many goals there are.
func loadPart(b []byte, schema *Schema, coded []bool, goals int) (*pendingPart, error) {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != pendingFormat {
		return nil, fmt.Errorf("format %d, this build reads %d", f, pendingFormat)
	}
	p := &pendingPart{}
	for _, m := range []*marks{&p.kept, &p.alive, &p.nameless, &p.thinned} {
		for i, w := 0, r.Take(pendingChunk/8); i < len(w)/8; i++ {
			m[i] = binary.LittleEndian.Uint64(w[8*i:])
		}
	}
	for n := r.Int(pendingChunk); n > 0 && r.Err() == nil; n-- {
		v := revision{at: int16(r.Int(pendingChunk - 1)), learnt: r.Bool()}
		v.class, v.outcomes = unstored(r.Varint())
		v.weight, v.clock, v.time = r.Float(), r.Float(), r.Varint()
		if n := len(p.revised); n > 0 && p.revised[n-1].at >= v.at || !p.alive.has(int(v.at)) {
			r.Fail(fmt.Errorf("revision of record %d", v.at))
		}
		p.revised = append(p.revised, v)
		p.edited.set(int(v.at))
	}
	p.packed = slices.Clone(r.Bytes())
	if err := r.Done(); err != nil {
		return nil, err
	}
	for i := range p.kept {
		if (p.alive[i]|p.nameless[i])&^p.kept[i] != 0 || p.thinned[i]&^p.alive[i] != 0 {
			return nil, fmt.Errorf("records that are not there")
		}
	}
	if p.alive == (marks{}) {
		return nil, fmt.Errorf("a part without records")
	}
	var c partColumns
	if err := p.read(&c, len(schema.Features), true); err != nil {
		return nil, err
	}
	for f := range c.row {
		if (c.row[f].kind == columnCodes) != (f < len(coded) && coded[f]) {
			return nil, fmt.Errorf("feature %d is of kind %d", f, c.row[f].kind)
		}
	}
	for i := p.alive.next(0); i < pendingChunk; i = p.alive.next(i + 1) {
		w := p.entry(&c, 0, i)
		if w.Class < UnknownClass || int(w.Class) >= len(schema.Classes) || w.learnt && !w.known() ||
			!w.Outcomes.valid(goals) ||
			!schema.possible(w.Row, w.Clock) {
			return nil, fmt.Errorf("record %d does not fit the schema", i)
		}
		p.high = place{w.offset, w.row}
		p.live++
	}
	return p, nil
}

// loadScores reads the bytes of pendingPart.appendScores; scores are of pending numbers each, noPending = they are of
// other components, and none is kept.
func (p *pendingPart) loadScores(b []byte, pending int) error {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != pendingFormat {
		return fmt.Errorf("format %d, this build reads %d", f, pendingFormat)
	}
	for n := r.Int(pendingChunk); n > 0 && r.Err() == nil; n-- {
		m := scoreMemory{at: r.Int(pendingChunk - 1), numbers: int32(r.Int(1 << 30))}
		words := r.Take(8 * r.Int(r.Rest()/8))
		for ; len(words) > 0; words = words[8:] {
			m.packed = append(m.packed, binary.LittleEndian.Uint64(words))
		}
		if n := len(p.scores); n > 0 && p.scores[n-1].at >= m.at || !p.alive.has(m.at) || !m.packed.holds(int(m.numbers)) {
			r.Fail(fmt.Errorf("memory of the score of record %d", m.at))
		}
		if pending == noPending {
			continue
		}
		if int(m.numbers) > pending || m.numbers == 0 {
			r.Fail(fmt.Errorf("record %d does not fit the schema", m.at))
		}
		if r.Err() != nil {
			break
		}
		if int(m.numbers) < pending { // of a former build: memories grow at their end
			numbers := make([]float64, pending)
			m.packed.unpack(numbers[:m.numbers])
			for i := int(m.numbers); i < pending; i++ {
				numbers[i] = math.NaN()
			}
			m.packed, m.numbers = pack(nil, numbers), int32(pending)
		}
		p.scores = append(p.scores, m)
	}
	return r.Done()
}
