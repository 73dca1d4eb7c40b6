package model

// awaits reports whether a goal of the record, or its class beside goals, is still unknown.
func awaits(p *Partition, ex *Example) bool {
	g := p.scorer.powers.goals
	return g != nil && (ex.Class < 0 || !ex.Outcomes.all(g.Goals()))
}

// answerGoals is answer where a record has goals: a label tells the class, some of the goals, or both. The first label
// has the record learnt. A goal that a later one tells first is learnt with the memory of the record's score, as of
// now; another class of a known goal is a correction.
func answerGoals(p *Partition, w *waiting, class int32, o Outcomes, t Treatment, c *LabelCounts) {
	correct := p.spec.Options.Correct
	if !w.learnt {
		w.Class, w.Outcomes, w.Time, w.who = class, o, p.time.of(w.Time), whoOf(p, w.id)
		weigh(p, &w.record, w.id, t, nil)
		p.learn(&w.record, p.scorer.usable(w))
		c.Learnt++
		keep(p, w)
		return
	}
	was := w.Example
	known := func(k int) bool { return was.Outcomes.Of(k) >= 0 }
	fresh := o.only(func(k int) bool { return !known(k) })
	other := o.only(func(k int) bool { return known(k) && correct && was.Outcomes.Of(k) != o.Of(k) })
	if was.Class >= 0 && class >= 0 && class != was.Class && correct {
		p.correct(w, class)
	}
	if other != 0 && w.Weight > 0 {
		g, ex := p.scorer.powers.goals, w.Example
		ex.Outcomes = was.Outcomes.only(func(k int) bool { return other.Of(k) >= 0 })
		g.Retract(&ex)
		ex.Outcomes = other
		g.Learn(&ex)
	}
	added := fresh != 0 || was.Class < 0 && class >= 0
	if added {
		tellMore(p, w, class, fresh)
	}
	switch {
	case added:
		c.Learnt++
	case other != 0 || w.Class != was.Class:
		c.Corrected++
	default:
		c.Repeated++
		return
	}
	for k := range MaxGoals {
		if v := o.Of(k); v >= 0 && (fresh|other).Of(k) >= 0 {
			w.Outcomes = w.Outcomes.With(k, v)
		}
	}
	if w.Class < 0 {
		w.Class = class
	}
	p.sample.relabel(&w.record, w.Class, w.Outcomes)
	keep(p, w)
}

// tellMore learns the first news of a label about a record that is learnt already: its class, where none was known, and
// fresh, its goals. It does not move the clock.
func tellMore(p *Partition, w *waiting, class int32, fresh Outcomes) {
	ex := w.Example
	ex.Outcomes, ex.Clock = fresh, p.clock
	if w.Class >= 0 {
		class = Unlabelled
	}
	if ex.Class = class; class >= 0 {
		told(p, &w.record, class)
	}
	if ex.Weight <= 0 {
		return
	}
	own, aims := p.scorer.split(p.scorer.usable(w))
	counts := w.thinned && own == nil
	if p.trained && class >= 0 {
		p.scorer.learn(&ex, own, counts)
	}
	p.scorer.powers.goals.LearnGoals(&ex, aims, counts)
	if class >= 0 {
		begin(p, p.counts.add(class, ex.Weight))
	}
}

// keep leaves a record in the pending store as long as something of it is unknown or may be corrected.
func keep(p *Partition, w *waiting) {
	switch {
	case awaits(p, &w.Example):
		p.store.markKnown(w)
	case p.spec.Options.Correct:
		p.store.markLearnt(w)
	default:
		p.store.remove(w)
	}
}
