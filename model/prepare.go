package model

import (
	"bytes"
	"iter"
	"sync/atomic"
)

// preparedValues is the number of values, records times features, from which on a swap that must learn them is worth
// preparing: some 16 ms of work.
const preparedValues = 1 << 16

// mostRounds bounds how often a preparation takes up the records that came meanwhile.
const mostRounds = 8

// Prepared is the first Swap of a partition, prepared beside its records: the components of the model learn copies of
// the records since its mark, while the partition goes on with commands. Swap then has only the newest records to
// learn, and leaves the partition as Partition.Swap would, byte for byte, so that a replay needs to know nothing of it.
//
// Before its first model a partition keeps no counts for its components (Partition.learn), so each of them is made of
// the model and of the records alone. A later Swap keeps live counts, and is not prepared.
type Prepared struct {
	p       *Partition
	m       *Model
	move    move
	moves   []*moving
	records *tail   // of the present round; nil = those of the partition
	from    float64 // clock of the first record of the present round
	to      float64 // clock of the partition when the round began
	time    int64   // stream time of the partition when the preparation began
	edits   uint64
	rounds  int
	marks   [2]float64
	last    bool // the round is the last one: it is part of Swap
	failed  bool
	ended   atomic.Bool
}

// moving is the Rebase of one component, which stops where it has learnt the records of a round.
type moving struct {
	rb   *Rebase
	mark float64
	read bool // Since was asked
	over bool // the Rebase has returned
	next func() (struct{}, bool)
	stop func()
	err  error
}

// Prepare begins the preparation of p.Swap(m); nil = it is not worth one, or cannot be prepared. It copies the records
// since the mark, up to the bytes of the tail.
func Prepare(p *Partition, m *Model) *Prepared {
	mark := p.marked(m.Marks)
	if p.trained || mark == 0 || p.scorer.powers.goals != nil || accepts(p, m) != nil || !longSwap(p, mark) {
		return nil
	}
	shares := mark
	if m.Shares != nil {
		shares = p.marked(m.Shares)
	}
	x := &Prepared{p: p, m: m, from: min(mark, shares), time: p.time.now, edits: p.sample.tail.edits,
		marks: [2]float64{mark, shares}}
	var err error
	if x.move, err = moveTo(p, m); err != nil {
		return nil // Swap says why
	}
	for i, c := range x.move.all() {
		part, ok := m.Parts[p.spec.name(i)]
		if !ok && i < len(x.move.components) {
			continue
		}
		one := &moving{mark: mark, rb: &Rebase{Part: part, Self: p.self}}
		if i == len(x.move.components) {
			one.mark = shares
		}
		x.now(one.rb)
		x.begin(c, one)
		x.moves = append(x.moves, one)
	}
	x.round()
	return x
}

func longSwap(p *Partition, since float64) bool {
	return (p.clock-since)*float64(len(p.spec.Schema.Features)) >= preparedValues
}

// now gives a Rebase the clocks and the levels of the partition as they are.
func (x *Prepared) now(rb *Rebase) {
	rb.Clock, rb.Time, rb.Recode = x.p.clock, x.p.time.now, x.move.recode
}

// begin makes the Rebase of a component one that returns to its caller after each round.
func (x *Prepared) begin(c Component, one *moving) {
	one.next, one.stop = iter.Pull(func(pause func(struct{}) bool) {
		one.rb.Since = func(yield func(ex *Example) bool) {
			x.failed = x.failed || one.read // a second time: the records of the first rounds have gone
			one.read = true
			for x.each(one.mark, yield) && !x.last && pause(struct{}{}) {
			}
		}
		one.err = c.Rebase(one.rb)
		one.over = true
	})
}

// each yields the records of the round from a mark on. It reports whether all of them were wanted.
func (x *Prepared) each(mark float64, yield func(ex *Example) bool) bool {
	records, all := x.records, true
	if records == nil {
		records = x.p.sample.tail
	}
	records.since(max(mark, x.from), x.move.recode, func(ex *Example) bool {
		all = !x.ended.Load() && (ex.Class < 0 || yield(ex))
		return all
	})
	return all
}

// round begins a round with the records up to now.
func (x *Prepared) round() {
	x.rounds++
	x.records, x.to = x.p.sample.tail.copied(x.from), x.p.clock
}

// Learn learns the records of the round. It touches nothing that commands of the partition touch, so it may run beside
// them.
func (x *Prepared) Learn() {
	for _, one := range x.moves {
		if !x.step(one) {
			return
		}
	}
}

// step has a component learn the records of the round. It reports whether the preparation can go on.
func (x *Prepared) step(one *moving) bool {
	defer func() {
		if r := recover(); r != nil {
			x.failed = true // Swap, which is not prepared then, tells
		}
	}()
	if x.failed || x.ended.Load() {
		return false
	}
	if !one.over {
		one.next()
	}
	x.failed = x.failed || one.err != nil || one.rb.ofNow
	return !x.failed
}

// More begins another round, between two commands, where so many records have come that Swap would be long. It reports
// whether it did: then Learn is to be called once more.
func (x *Prepared) More() bool {
	if x.rounds >= mostRounds || !x.stands() || !longSwap(x.p, x.to) || !x.meetLevels() {
		return false
	}
	x.from = x.to
	x.round()
	return true
}

// stands reports whether nothing has happened to the partition that the preparation does not know.
func (x *Prepared) stands() bool {
	p := x.p
	return !x.failed && !x.ended.Load() && !p.trained && p.sample.tail.edits == x.edits && accepts(p, x.m) == nil &&
		p.marked(x.m.Marks) == x.marks[0] && (x.m.Shares == nil || p.marked(x.m.Shares) == x.marks[1]) &&
		(x.time == 0) == (p.time.now == 0)
}

// Swap makes the model serve, between two commands. It reports whether it did; where it did not, the partition is as it
// was, and Partition.Swap is to be called. The preparation has ended in either case.
func (x *Prepared) Swap() bool {
	defer x.End()
	p := x.p
	if !x.stands() || !x.meetLevels() {
		return false
	}
	x.records, x.from, x.last = nil, x.to, true
	for _, one := range x.moves {
		x.now(one.rb)
		if !x.step(one) || !one.over {
			return false
		}
	}
	if install(p, x.m, &x.move) != nil {
		return false
	}
	p.version, p.trained = x.m.Version, true
	refitted(p, &x.m.Info.Verdict)
	return true
}

// meetLevels adds the levels that the partition has met meanwhile. It reports whether the others have their codes
// still, and whether a Rebase that began with the former codes knows as much: it may ask whether any code changes.
func (x *Prepared) meetLevels() bool {
	want := x.m.Levels.Clone()
	recode := want.Merge(x.p.levels)
	x.move.levels.Merge(x.p.levels)
	if !bytes.Equal(want.AppendBinary(nil), x.move.levels.AppendBinary(nil)) ||
		recode.Identity() != x.move.recode.Identity() {
		return false
	}
	for f, codes := range x.move.recode {
		for old, c := range codes {
			if recode[f][old] != c {
				return false
			}
		}
	}
	x.move.recode = recode
	return true
}

// Interrupt makes a Learn that runs end soon; any goroutine may call it.
func (x *Prepared) Interrupt() { x.ended.Store(true) }

// End ends the preparation when no Learn runs.
func (x *Prepared) End() {
	x.Interrupt()
	for _, one := range x.moves {
		x.quietly(one.stop)
	}
	x.moves = nil
}

func (x *Prepared) quietly(stop func()) {
	defer func() { _ = recover() }() // of a component that cannot end early; its state is dropped
	stop()
}

// DependsOnNow says that the result of the Rebase depends on Clock or Time in a way that a later Clock or Time changes,
// other than by Since. It is then not prepared beside the records.
func (rb *Rebase) DependsOnNow() { rb.ofNow = true }
