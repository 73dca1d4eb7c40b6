package model

// passedOver is the class of a waiting record that has no label and never takes Options.ExpireAs, since a label of its
// id was for another record.
const passedOver = UnknownClass

// closes reports whether labels wait for the end of the window of their records, MODEL.md 3.2.
func (o *Options) closes() bool { return o.WaitBytes > 0 && o.WaitWindow > 0 && o.ExpireAs >= 0 }

// newStore returns an empty pending store.
func (o *Options) newStore() *pendingStore {
	s := newPendingStore(o.WaitBytes, o.WaitWindow)
	s.match = o.Match
	if s.cohorts = o.closes(); s.cohorts && o.Correct {
		s.keep = o.CorrectFor
	}
	if s.cohorts || s.match == MatchAll {
		s.older = map[uint64]uint64{}
	}
	return s
}

// answered notes that w has a label: no other record of its id that waits takes Options.ExpireAs.
func answered(s *entryQueue, w *waiting) {
	if !s.cohorts || !w.bears() {
		return
	}
	n, ok := s.number(w.id, place{}, true)
	for ; ok; n, ok = s.older[n] {
		if n != w.number {
			passOverAt(s, n)
		}
	}
}

// comeLate passes over w, which has just come, where a record of its id before it has its label: with MatchFirst labels
// mean that one.
func comeLate(s *entryQueue, w *waiting) {
	for n, ok := s.older[w.number]; ok; n, ok = s.older[n] {
		x, o := w.brief(), s.brief(n)
		if (o.learnt || o.class >= 0) && o.came() <= x.came() {
			if passOver(s, w) {
				s.update(w)
			}
			return
		}
	}
}

// passOver lets a record that waits without a label leave without a class, and reports whether it does from now on.
func passOver(s *entryQueue, w *waiting) bool {
	over := s.cohorts && !w.learnt && w.Class == Unlabelled
	if over {
		w.Class = passedOver
	}
	return over
}

// passOverAt is passOver for the entry of a number.
func passOverAt(s *entryQueue, n uint64) {
	if x := s.brief(n); x.learnt || x.class != Unlabelled {
		return
	}
	if w := s.at(n); passOver(s, w) {
		s.update(w)
	}
}

// shut learns a record whose window has closed, by its label or as Options.ExpireAs.
func shut(p *Partition, w *waiting) {
	if w.Class < 0 {
		p.lost.Expired++
	}
	if p.still || w.Class == passedOver {
		class := w.Class
		if class == Unlabelled {
			class = p.spec.Options.ExpireAs
			weigh(p, &w.record, w.id, TreatmentUnknown, nil)
		}
		if class >= 0 {
			told(p, &w.record, class)
		}
		p.store.remove(w)
		return
	}
	if w.Class < 0 {
		w.Class = p.spec.Options.ExpireAs
		weigh(p, &w.record, w.id, TreatmentUnknown, nil)
		p.closed++
	}
	w.Time, w.who = p.time.of(w.Time), whoOf(p, w.id)
	p.learn(&w.record, p.scorer.usable(w))
	if p.spec.Options.Correct {
		p.store.markLearnt(w)
	} else {
		p.store.remove(w)
	}
}
