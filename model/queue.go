package model

import "slices"

// entryQueue is the entries of a pending store by their numbers, in order of arrival. It is cut into parts of
// pendingChunk places, all but the newest packed (parts.go). An entry of the open part is the entry itself, one of a
// sealed part is a copy: a change of either becomes part of the queue by update.
type entryQueue struct {
	coded   []bool         // features with levels
	bytes   int64          // of all but the memories of scores
	scores  int64          // bytes of these
	first   uint64         // number of the oldest entry
	next    uint64         // number of the next one
	live    int            // entries
	gone    int            // records that have left and are packed still
	parts   []*pendingPart // from that of first on; nil = all gaps
	lows    []place        // of the first entry of each part, or one before it
	last    place          // of the newest entry
	mixed   bool           // places do not ascend
	ids     idIndex
	cohorts bool              // Options.closes
	match   Match             // see siblings.go
	older   map[uint64]uint64 // likewise; nil = only one record bears an id
	edits   uint64            // number of the last change of a part
	packer  columnPacker
	free    []*waiting
	buffers []packed // free memory for waiting.pending: an entry without one holds none
	lately  [16]lately
	turn    int        // of these, the next to give its place to another
	folded  []*waiting // room for fold
	lent    waiting    // by lend
}

type place struct {
	offset int64
	row    int32
}

// waiting is one record in the pending store.
type waiting struct {
	record
	number  uint64
	id      string // "" = none
	lost    bool   // labels of that id do not mean this record, which lost it to another one
	pending packed // the memory of its score; empty once learnt
	numbers int32  // in pending
	// learnt says that Class, Clock and Time are those it was learnt with. Of a record that is not, Class is that of the
	// label that waits for the end of its window, Unlabelled, or passedOver.
	learnt bool
	since  int64 // stream time of its arrival, 0 = it had not begun
}

// bears reports whether labels may mean the record by its id.
func (w *waiting) bears() bool { return w.id != "" && !w.lost }

// size is the number of bytes that an entry of the open part is reckoned to take, apart from the memory of its score.
func (w *waiting) size() int64 { return int64(8*len(w.Row)+2*len(w.id)) + 200 }

// scoreSize is that of the memory of its score.
func (w *waiting) scoreSize() int64 { return scoreSize(w.pending) }

func scoreSize(p packed) int64 {
	if len(p) == 0 {
		return 0
	}
	return int64(9*len(p)) + scoreBytes // the allocator rounds up, by a ninth byte at most
}

// memories is the number of memories of scores.
func (s *entryQueue) memories() (n int) {
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		if n += len(p.scores); p.open == nil {
			continue
		}
		for _, w := range p.open {
			if w != nil && len(w.pending) > 0 {
				n++
			}
		}
	}
	return n
}

// part returns the part of a number, nil where it is all gaps, or the number is none of an entry.
func (s *entryQueue) part(n uint64) *pendingPart {
	if k := n/pendingChunk - s.first/pendingChunk; n >= s.first && k < uint64(len(s.parts)) {
		return s.parts[k]
	}
	return nil
}

// at returns the entry of that number, nil where it is a gap.
func (s *entryQueue) at(n uint64) *waiting {
	p, i := s.part(n), int(n%pendingChunk)
	switch {
	case p == nil || !p.alive.has(i):
		return nil
	case p.open != nil:
		return p.open[i]
	}
	return p.entry(s.columnsOf(p, true), n, i)
}

// lend is at for an entry that the caller wants no longer than until the next call; it must be there.
func lend(s *entryQueue, n uint64) *waiting {
	p, i := s.part(n), int(n%pendingChunk)
	if p.open != nil {
		return p.open[i]
	}
	p.entryTo(&s.lent, s.columnsOf(p, true), n, i)
	return &s.lent
}

// each calls do with the entries, oldest first, until it returns false.
func (s *entryQueue) each(do func(w *waiting) bool) {
	for k, p := range s.parts {
		if p != nil && !s.eachOf(p, (s.first/pendingChunk+uint64(k))*pendingChunk, do) {
			return
		}
	}
}

// eachOf is each for one part, whose places begin at number from.
func (s *entryQueue) eachOf(p *pendingPart, from uint64, do func(w *waiting) bool) bool {
	var c partColumns
	if p.open == nil {
		_ = p.read(&c, len(s.coded), false)
	}
	alive := p.alive
	for i := alive.next(0); i < pendingChunk; i = alive.next(i + 1) {
		var w *waiting
		if p.open != nil {
			w = p.open[i]
		} else {
			w = p.entry(&c, from+uint64(i), i)
		}
		if !do(w) {
			return false
		}
	}
	return true
}

// memory returns the memory of the score of a record, nil where it has none, in the memory of dst where that suffices.
func (w *waiting) memory(dst []float64) []float64 {
	if len(w.pending) == 0 {
		return nil
	}
	dst = grow(dst, int(w.numbers))
	w.pending.unpack(dst)
	return dst
}

// append puts an entry at the end of the queue.
func (s *entryQueue) append(w *waiting) {
	w.number = s.next
	i, at := int(w.number%pendingChunk), place{w.offset, w.row}
	p := s.open(at)
	if w.bears() {
		meet(s, w)
	}
	if w.bears() {
		bear(s, w)
		p.named++
	}
	if s.live == 0 {
		s.mixed = false
	} else if at.compare(s.last) < 0 {
		s.mixed = true
	}
	s.last, p.high = at, at
	p.open[i] = w
	p.alive.set(i)
	p.live++
	s.live++
	s.bytes += w.size()
	s.scores += w.scoreSize()
	s.touch(p)
	s.touchScores(p)
	s.step()
}

// gap puts a gap at the end of the queue.
func (s *entryQueue) gap() {
	s.open(s.last)
	s.step()
}

// open returns the part of the next number, for an entry at that place.
func (s *entryQueue) open(at place) *pendingPart {
	k := int(s.next/pendingChunk - s.first/pendingChunk)
	for len(s.parts) <= k {
		s.parts, s.lows = append(s.parts, nil), append(s.lows, at)
	}
	if s.parts[k] == nil {
		s.parts[k] = &pendingPart{open: new([pendingChunk]*waiting)}
	}
	return s.parts[k]
}

// step goes on to the next number, and seals a part that is full.
func (s *entryQueue) step() {
	s.next++
	if s.next%pendingChunk == 0 {
		s.seal(s.next - 1)
	}
}

// touch takes note of a change of the entries of a part, and touchScores of the memories of their scores.
func (s *entryQueue) touch(p *pendingPart) {
	s.edits++
	p.version = s.edits
}

func (s *entryQueue) touchScores(p *pendingPart) {
	s.edits++
	p.scoresVersion = s.edits
}

// seal packs the open part of number n; its entries may be used again for others.
func (s *entryQueue) seal(n uint64) {
	p := s.part(n)
	entries := make([]*waiting, 0, p.live)
	for i := p.alive.next(0); i < pendingChunk; i = p.alive.next(i + 1) {
		w := p.open[i]
		entries = append(entries, w)
		s.bytes -= w.size()
		if w.thinned {
			p.thinned.set(i)
		}
		if len(w.pending) > 0 {
			p.scores = append(p.scores, scoreMemory{i, w.numbers, w.pending})
		}
	}
	p.open = nil
	if len(entries) == 0 {
		s.parts[n/pendingChunk-s.first/pendingChunk] = nil
		return
	}
	s.pack(p, entries)
	for _, w := range entries {
		w.pending = nil // the part has it
		s.recycle(w)
	}
}

// pack packs the entries of a part anew.
func (s *entryQueue) pack(p *pendingPart, entries []*waiting) {
	if s.coded == nil {
		s.coded = make([]bool, len(entries[0].Row))
	}
	p.kept, p.nameless, p.revised, p.edited, p.columns = p.alive, marks{}, nil, marks{}, nil
	for _, w := range entries {
		if w.lost {
			p.nameless.set(int(w.number % pendingChunk))
		}
	}
	s.packer.out = s.packer.pack(s.packer.out[:0], entries, s.coded)
	p.packed = slices.Clone(s.packer.out)
	s.resize(p)
	s.touch(p)
}

// resize brings the bytes of the store up to date after a change of a sealed part.
func (s *entryQueue) resize(p *pendingPart) {
	size, gone := p.reckon(), p.gone()
	s.bytes, s.gone = s.bytes+size-p.size, s.gone+gone-p.left
	p.size, p.left = size, gone
}

// changed takes note of a change of a sealed part, and packs it anew, or some of its columns, after many. The oldest
// part is left as it is, since it is about to go; evict packs it.
func (s *entryQueue) changed(p *pendingPart, n uint64) {
	s.touch(p)
	if len(p.revised) >= mostChanges {
		foldState(s, p)
	}
	if n/pendingChunk == s.first/pendingChunk || !p.sparse() {
		s.resize(p)
		return
	}
	repack(s, p, n)
}

// repack packs the entries that are left of the sealed part of number n.
func repack(s *entryQueue, p *pendingPart, n uint64) {
	entries := make([]*waiting, 0, p.live)
	s.eachOf(p, n-n%pendingChunk, func(w *waiting) bool {
		entries = append(entries, w)
		return true
	})
	s.pack(p, entries)
}

// unname notes that the entry of number n has lost its id: labels of the id do not mean it from now on. It keeps the id
// for an order to forget.
func (s *entryQueue) unname(n uint64) {
	p, i := s.part(n), int(n%pendingChunk)
	p.named--
	if p.open != nil {
		p.open[i].lost = true
		s.touch(p)
		return
	}
	p.nameless.set(i)
	s.changed(p, n)
}

// number is find for the number of the entry.
func (s *entryQueue) number(id string, at place, byID bool) (n uint64, ok bool) {
	if byID {
		if id == "" {
			return 0, false
		}
		return s.ids.find(id, s.first, s.is(id))
	}
	k := len(s.parts) - 1
	if !s.mixed {
		lo, hi := 0, len(s.lows) // the last part that does not begin behind it
		for lo < hi {
			if m := (lo + hi) / 2; s.lows[m].compare(at) <= 0 {
				lo = m + 1
			} else {
				hi = m
			}
		}
		k = lo - 1
	}
	for ; k >= 0; k-- {
		p := s.parts[k]
		if p != nil {
			if i := p.placed(at, !s.mixed); i >= 0 {
				return (s.first/pendingChunk+uint64(k))*pendingChunk + uint64(i), true
			}
		}
		if !s.mixed && s.lows[k].compare(at) < 0 {
			break
		}
	}
	return 0, false
}

// dropScore drops the memory of the score of entry i of a part.
func dropScore(s *entryQueue, p *pendingPart, i int) {
	var memory packed
	if p.open != nil {
		memory, p.open[i].pending, p.open[i].numbers = p.open[i].pending, nil, 0
	} else if k, ok := p.score(i); ok {
		memory = p.scores[k].packed
		p.cutScore(k)
	}
	if len(memory) > 0 {
		s.scores -= scoreSize(memory)
		s.spare(memory)
		s.touchScores(p)
	}
}

// advance moves first to the oldest entry, or to the end.
func (s *entryQueue) advance() {
	for s.first < s.next {
		p := s.part(s.first)
		i := pendingChunk
		if p != nil {
			i = p.alive.next(int(s.first % pendingChunk))
		}
		from := s.first - s.first%pendingChunk
		if i < pendingChunk {
			s.first = from + uint64(i)
			return
		}
		if from+pendingChunk > s.next {
			s.first = s.next
			return
		}
		s.first = from + pendingChunk
		s.parts, s.lows = s.parts[1:], s.lows[1:]
	}
}

// recycle keeps the memory of an entry for others; its values stay as they are until the next admit.
func (s *entryQueue) recycle(w *waiting) {
	s.spare(w.pending)
	if len(s.free) < pendingChunk {
		s.free = append(s.free, w)
	}
}

func (s *entryQueue) spare(pending packed) {
	if cap(pending) > 0 && len(s.buffers) < pendingChunk {
		s.buffers = append(s.buffers, pending)
	}
}

// update makes Class, Outcomes, Weight, Clock, Time and learnt of an entry those of w, which was got from the store.
func (s *entryQueue) update(w *waiting) {
	p, i := s.part(w.number), int(w.number%pendingChunk)
	if p.open != nil {
		s.touch(p)
		return
	}
	r := revision{w.Weight, w.Clock, w.Time, w.Class, w.Outcomes, int16(i), w.learnt}
	if k, ok := p.revision(i); ok {
		p.revised[k] = r
	} else {
		p.revised = slices.Insert(p.revised, k, r)
		p.edited.set(i)
	}
	s.changed(p, w.number)
}

// forget takes an entry out of its part and of the index.
func (s *entryQueue) forget(w *waiting) {
	p, i := s.part(w.number), int(w.number%pendingChunk)
	if w.bears() {
		unlink(s, w.number, w.id)
		p.named--
	}
	s.scores -= w.scoreSize()
	s.live--
	p.live--
	p.alive.clear(i)
	p.thinned.clear(i)
	if p.open != nil {
		s.bytes -= w.size()
		p.open[i] = nil
		s.touch(p)
		s.touchScores(p)
		s.recycle(w)
		return
	}
	if k, ok := p.score(i); ok {
		s.spare(p.scores[k].packed)
		p.cutScore(k)
		s.touchScores(p)
	}
	if k, ok := p.revision(i); ok {
		p.revised = slices.Delete(p.revised, k, k+1)
		p.edited.clear(i)
	}
	if p.live > 0 {
		s.changed(p, w.number)
		return
	}
	s.bytes, s.gone = s.bytes-p.size, s.gone-p.left
	s.parts[w.number/pendingChunk-s.first/pendingChunk] = nil
}
