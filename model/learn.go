package model

import (
	"math"
	"slices"
)

// Losses counts records that the state could not learn.
type Losses struct {
	UnknownClass uint64 // records whose label the configuration does not list: scored, not learnt
	Expired      uint64 // waiting records whose label did not come within the window
	Evicted      uint64 // waiting records that left the pending store before that, because it was full
	Thinned      uint64 // memories of scores that left it for that: their records teach counts and no weights
}

// LabelCounts counts labels by their fate.
type LabelCounts struct {
	Learnt    int
	Waiting   int // it is learnt when the window of its record has closed
	Corrected int
	Repeated  int // the record has that class already, or corrections are off
	Unmatched int // no such record in the pending store
	Misrouted int // the label names another partition
	Unknown   int // class outside the configuration
	Still     int // learning is off: the record leaves the pending store without a class
}

func (p *Partition) event(b *Batch, i int, out *Scores) {
	p.seen++
	if b.Time != nil {
		tell(p, b.Time[i])
	}
	scoreRecord(p, out, i)

	rec := &p.rec
	*rec = record{Example: b.example(i, p.row, p.clock), offset: b.Offset, row: int32(i)}
	if b.Row != nil {
		rec.row = b.Row[i]
	}
	known, unlisted := rec.Outcomes.Listed()
	rec.Outcomes = known
	if rec.Class == UnknownClass || unlisted {
		p.lost.UnknownClass++
	}
	if p.scorer.powers.goals != nil {
		rec.Class = max(rec.Class, Unlabelled) // labels of the goals may come
	}
	id := ""
	if b.ID != nil {
		id = b.ID[i]
	}
	arrive(p, rec, id)
	watched(p, b, i, out)
	pending := p.scorer.memory
	if !p.trained {
		pending = nil
	}
	if rec.known() {
		weigh(p, rec, id, b.treatment(i), out.P[i*out.Classes:(i+1)*out.Classes])
	}
	learns := rec.known() && !p.store.cohorts
	if p.still && learns {
		if rec.Class >= 0 {
			told(p, rec, rec.Class)
		}
		p.expire()
		return
	}
	waits := p.spec.Options.WaitBytes > 0 && rec.Class != UnknownClass
	if learns {
		rec.Time, rec.who = p.time.of(rec.Time), whoOf(p, id)
		p.learn(rec, pending)
		more := awaits(p, &rec.Example)
		if waits = waits && (p.spec.Options.Correct || more); !more {
			pending = nil
		}
	}
	if waits {
		p.store.admit(rec, id, pending, learns, p.time.now)
		p.expire()
	}
}

// scoreRecord writes the score of the record in p.row into entry i. Beside out it moves the scores among which
// percentiles rank, and the values that cut cells for uplift and interval. Peek takes these back.
func scoreRecord(p *Partition, out *Scores, i int) {
	if p.trained {
		p.scorer.score(p.row, &p.percent, out, i)
	} else {
		scoreUntrained(p.spec, &p.counts, out, i)
	}
	if p.uplift != nil {
		p.uplift.meet(p.row, p.levels)
		out.Uplift = append(out.Uplift, p.uplift.score(p.row, p.levels))
	}
	if p.spec.Options.Effects {
		appendEffects(p, out)
	}
	if p.misfit != nil {
		out.Intervals, out.IntervalLevel = append(out.Intervals, intervalOf(p, out, i)), p.spec.Options.Interval
	}
	if x := p.scorer.powers.observer; x != nil {
		out.Unusual = append(out.Unusual, x.Unusual(p.row))
	}
	if g := p.scorer.powers.goals; g != nil {
		n := len(out.Goals)
		out.Goals = slices.Grow(out.Goals, g.Goals())[:n+g.Goals()]
		g.ScoreGoals(p.row, p.scorer.aims, out.Goals[n:])
		out.GoalFitted = g.AppendFitted(out.GoalFitted)
		if p.spec.Options.GoalReasons {
			g.ExplainGoals(p.row, p.scorer.aims, &p.spec.Options, out)
		}
		if p.spec.Options.Effects {
			g.AppendGoalEffects(p.row, p.scorer.aims, out)
		}
	}
	out.SubspaceEnd[i], out.WhyEnd[i] = int32(len(out.Subspace)), int32(len(out.Why))
}

// tell takes note of the time of a record or label.
func tell(p *Partition, t int64) {
	before := p.time.now
	if !p.time.observe(t) {
		return
	}
	p.store.passGap(before, p.time.now)
	if before == 0 {
		notAhead(p) // until now times were taken as they came
	}
}

// expire learns the records whose windows have closed, and takes overdue ones out of the pending store. Then records
// leave that are too many for its bound, unlearnt, with a label or without: of the records of their time, only those
// with a label are sure of their class before the window closes.
func (p *Partition) expire() {
	if p.store.cohorts {
		for w := p.store.closing(p.time.now); w != nil; w = p.store.closing(p.time.now) {
			shut(p, w)
		}
	}
	for w := p.store.overdue(p.time.now); w != nil; w = p.store.overdue(p.time.now) {
		if !w.learnt {
			p.lost.Expired++
		}
	}
	for w := p.store.evict(); w != nil; w = p.store.evict() {
		if !w.learnt {
			p.lost.Evicted++
		}
	}
}

// learn adds one labelled record to everything; pending nil means that the inputs are computed now. The record comes
// with the clock at which it was scored.
func (p *Partition) learn(rec *record, pending []float64) {
	rec.lag = int32(min(max(p.clock-rec.Clock, 0), math.MaxInt32))
	rec.Clock = p.clock
	if rec.Class >= 0 {
		told(p, rec, rec.Class)
	}
	if rec.Weight <= 0 {
		return
	}
	counts := rec.thinned && pending == nil
	if p.trained {
		if p.misfit != nil && rec.Class >= 0 {
			learnMisfit(p, rec)
		}
		if own, _ := p.scorer.split(pending); rec.Class >= 0 {
			p.scorer.learn(&rec.Example, own, counts)
		}
	}
	if g := p.scorer.powers.goals; g != nil {
		_, aims := p.scorer.split(pending)
		g.LearnGoals(&rec.Example, aims, counts)
	}
	first := rec.Class >= 0 && p.counts.add(rec.Class, rec.Weight)
	p.clock++
	p.sample.push(rec)
	if rec.Class >= 0 {
		begin(p, first)
	}
}

// Labels learns late labels: of the records of that id that Options.Match says, or of the record at that position. A
// class of Unlabelled is ignored. Labels of records that are not in the pending store are counted, not kept. A label
// counts once, by the first of the records that it means.
func (p *Partition) Labels(l *Labels) (c LabelCounts) {
	c, _ = LabelsWhile(p, l, nil)
	return c
}

// LabelsWhile is p.Labels, but it asks as EventsWhile does.
func LabelsWhile(p *Partition, l *Labels, more func(row int) bool) (c LabelCounts, all bool) {
	for i := range l.N {
		if more != nil && !more(i) {
			return c, false
		}
		takeLabel(p, l, i, &c)
	}
	if l.Time != nil {
		for _, t := range l.Time[:l.N] {
			tell(p, t)
		}
	}
	p.expire()
	return c, true
}

// takeLabel takes label i, and counts it.
func takeLabel(p *Partition, l *Labels, i int, c *LabelCounts) {
	class := l.Class[i]
	outcomes, unlisted := l.outcomes(i).Listed()
	if class < 0 && outcomes == 0 {
		if class == UnknownClass || unlisted {
			c.Unknown++
		}
		return
	}
	class = max(class, Unlabelled) // a text that is no class tells nothing, and the goals beside it count
	if l.ID != nil {
		found := meant(p.store, l.ID[i])
		if len(found) == 0 {
			c.Unmatched++
		}
		p.store.pinned = true
		for _, n := range found {
			// The records before it may have changed it, or let the partition make a model of its own.
			answer(p, p.store.at(n), class, outcomes, l.treatment(i), c)
			c = &LabelCounts{}
		}
		p.store.pinned = false
		p.store.settle()
		return
	}
	if l.Partition[i] != p.self {
		c.Misrouted++
		return
	}
	if w := p.store.find("", place{l.Offset[i], l.Row[i]}, false); w != nil {
		answer(p, w, class, outcomes, l.treatment(i), c)
	} else {
		c.Unmatched++
	}
}

// answer gives a record of the pending store its label, and counts it.
func answer(p *Partition, w *waiting, class int32, o Outcomes, t Treatment, c *LabelCounts) {
	answered(&p.store.entryQueue, w)
	if p.scorer.powers.goals != nil && !p.still {
		answerGoals(p, w, class, o, t, c)
		return
	}
	correct := p.spec.Options.Correct
	switch {
	case !w.learnt && p.store.cohorts:
		switch was := w.Class; {
		case was < 0:
			w.Class = class
			weigh(p, &w.record, w.id, t, nil)
			p.store.update(w)
			c.Waiting++
		case was != class && correct:
			w.Class = class
			p.store.update(w)
			c.Corrected++
		default:
			c.Repeated++
		}
	case p.still:
		c.Still++
		if !w.learnt {
			if class >= 0 {
				weigh(p, &w.record, w.id, t, nil)
				told(p, &w.record, class)
			}
			p.store.remove(w)
		}
	case !w.learnt:
		w.Class, w.Time, w.who = class, p.time.of(w.Time), whoOf(p, w.id)
		weigh(p, &w.record, w.id, t, nil)
		p.learn(&w.record, p.scorer.usable(w))
		c.Learnt++
		if correct {
			p.store.markLearnt(w)
		} else {
			p.store.remove(w)
		}
	case w.Class == class || !correct:
		c.Repeated++
	default:
		p.correct(w, class)
		c.Corrected++
	}
}

// Awaits reports whether all records that the labels name are in the pending store. A label that can never name one,
// such as one of another partition, counts as if its record were there.
func Awaits(p *Partition, l *Labels) bool {
	for i := range l.N {
		found := true
		if l.ID != nil {
			_, found = p.store.number(l.ID[i], place{}, true)
		} else if l.Partition[i] == p.self {
			_, found = p.store.number("", place{l.Offset[i], l.Row[i]}, false)
		}
		if !found {
			return false
		}
	}
	return true
}

// correct replaces the class that a record was learnt with, in the counts with the weight of its position and in the
// sample; the scorecard's weights, a path of gradient steps, stay as they are.
func (p *Partition) correct(w *waiting, class int32) {
	if w.Weight > 0 {
		if p.trained {
			for _, c := range p.scorer.ofClass() {
				c.Retract(&w.Example)
			}
		}
		p.counts.sum[w.Class] -= w.Weight
		was := w.Class
		w.Class = class
		if p.trained {
			if c, ok := p.scorer.scorecard.(Corrector); ok && p.store.cohorts {
				p.scorer.fill(w.Row)
				c.Correct(&w.Example, was, p.scorer.inputs)
			}
			for _, c := range p.scorer.ofClass() {
				c.Learn(&w.Example)
			}
		}
		p.counts.sum[class] += w.Weight
		p.sample.relabel(&w.record, class, w.Outcomes)
	}
	w.Class = class
	p.store.update(w)
}
