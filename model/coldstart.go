package model

import (
	"context"
	"math"
)

// coldGrowth is the factor from the labelled records of a model of the cold start to those of the next one (MODEL.md
// 5).
const coldGrowth = math.Sqrt2

// AfterCold is the number of labelled records at which the model after one of n records is made, while a stage starts
// cold.
func AfterCold(n float64) float64 { return math.Ceil(coldGrowth * n) }

// coldDoublings bounds how often model 0 is refined.
const coldDoublings = 4

// coldStart tells when a partition that no published model serves makes model 0 from its own records, or refines it.
// warmup is Options.Warmup, and clock the number of records learnt.
type coldStart struct{ warmup int }

// makes reports whether a partition without a structure tries to make one: at the end of the warm-up, at the first
// record of a class after it, and, as a fit can fail, at every multiple of it.
func (s coldStart) makes(clock float64, first bool) bool {
	n := float64(max(s.warmup, 1))
	return clock >= n && (first || math.Mod(clock, n) == 0)
}

// refines reports whether the clock is the warm-up doubled once or up to coldDoublings times: then the partition fits
// model 0 again, since cells cut from the first few hundred records are coarse.
func (s coldStart) refines(clock float64) bool {
	for k := 1; k <= coldDoublings; k++ {
		if clock == float64(s.warmup<<k) {
			return true
		}
	}
	return false
}

// begin makes model 0, or refines it, where it is time to: first says that the record just learnt is the first of its
// class. The clock of a stage with goals also counts records without a class, so that it tells nothing of the label.
func begin(p *Partition, first bool) {
	if p.version != 0 || p.counts.seen() < 2 {
		return
	}
	clock, cold := p.clock, coldStart{p.spec.Options.Warmup}
	if g := p.scorer.powers.goals; g != nil {
		clock = g.Classed()
	}
	if !p.trained && cold.makes(clock, first) || p.trained && cold.refines(clock) {
		p.ownModel()
	}
}

// ownModel builds model 0, or refines it, from the tail. It runs between two records, so that its work is bounded by
// LoopWork: a component that needs more has no part until the trainer's first model, and where the scorecard does,
// nothing changes. Nor does a fit that fails change anything.
func (p *Partition) ownModel() {
	records := p.sample.tail.len() + p.sample.reservoir.Len()
	if e, ok := p.spec.Scorecard.(Estimator); ok && e.Steps(records) > LoopWork {
		return // as the scorecard would say after the components have fitted
	}
	var states States
	if p.trained {
		own := map[string][]byte{}
		for i, c := range p.scorer.all() {
			own[sectionOf(p.spec.name(i))] = c.AppendState(nil)
		}
		states = Held{p.self: own}
	}
	ev := p.sample.evidence(p.spec, p.levels)
	ev.Work, ev.Strict = LoopWork, true
	parts, err := fitParts(context.Background(), p.spec, ev, states, nil)
	if err != nil {
		return
	}
	m := &Model{Fingerprint: p.spec.Options.Fingerprint, Levels: p.levels.Clone(), Parts: parts,
		Marks: map[int32]Mark{p.self: {Clock: p.clock}}}
	if p.rebase(m, false) == nil {
		p.trained = true
		refitted(p, nil)
	}
}
