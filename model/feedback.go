package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// Treatment says whether a record was treated before its outcome was known, as by a call.
type Treatment int8

// Values of Treatment.
const (
	TreatmentUnknown Treatment = iota
	Untreated
	Treated
)

// Learn says from which records a partition learns where users treat some of them (MODEL.md 7).
type Learn uint8

const (
	// LearnAll learns from each record as it comes: scores foretell the outcome under the policy of the users.
	LearnAll Learn = iota
	// LearnControl learns from the control share alone.
	LearnControl
	// LearnUntreated learns from untreated records, each with the inverse of the chance that a record of its score is one.
	LearnUntreated
)

// untreatedBins is the number of cells of the log-odds, .25 wide, from -6 to 6.
const untreatedBins = 49

// untreatedMemory is the number of newest records of a cell that its chance is of: a policy may change.
const untreatedMemory = 200

// untreatedPrior is the number of untreated records with which a cell begins.
const untreatedPrior = 2

// untreatedShare is the chance to be untreated by the propensity of the positive class, as counts that fade.
type untreatedShare struct {
	known, untreated [untreatedBins]float64 // records whose treatment is known, and those of them without
}

// bin is the cell of a propensity. NaN counts as 0.
func (u *untreatedShare) bin(p float64) int {
	if !(p > 0) {
		return 0
	}
	return int(math.Round(4*min(max(math.Log(p/(1-p)), -6), 6))) + untreatedBins/2
}

// chance is that of a record of a cell to be untreated, at least the given share of records that nobody treats.
func (u *untreatedShare) chance(bin int, least float64) float64 {
	return max((u.untreated[bin]+untreatedPrior)/(u.known[bin]+untreatedPrior), least)
}

// add counts a record whose treatment is known.
func (u *untreatedShare) add(bin int, t Treatment) {
	const keep = 1 - 1./untreatedMemory
	u.known[bin] = keep*u.known[bin] + 1
	u.untreated[bin] *= keep
	if t == Untreated {
		u.untreated[bin]++
	}
}

// arrive gives a record that was scored the weight with which it waits for its label: under LearnControl 0 outside of
// the control share.
func arrive(p *Partition, rec *record, id string) {
	c := &p.spec.Options.Control
	if c.Learn == LearnControl && !c.Holds(id, p.self, rec.offset, rec.row) {
		rec.Weight = 0
	}
}

// weigh gives a record whose label has come the weight with which it is learnt, and has its treatment counted unless
// the state is still. prob has the propensities of its score, nil = the partition's own as of now. If a treatment is
// not known, a record of the control share counts as untreated, and any other weighs 0 under LearnUntreated. A record
// that has waited since before LearnControl was set weighs 0 outside of the share.
func weigh(p *Partition, rec *record, id string, t Treatment, prob []float64) {
	c := &p.spec.Options.Control
	if rec.Weight <= 0 {
		return
	}
	held := (t == TreatmentUnknown || c.Learn == LearnControl) && c.Holds(id, p.self, rec.offset, rec.row)
	if t == TreatmentUnknown && held {
		t = Untreated
	}
	chance := 1.
	if c.tells() && t != TreatmentUnknown {
		chance = count(p, rec, t, prob)
	}
	switch {
	case c.Learn != LearnAll && t == Treated, c.Learn == LearnUntreated && t == TreatmentUnknown,
		c.Learn == LearnControl && !held:
		rec.Weight = 0
	case c.Learn == LearnUntreated:
		rec.Weight = min(rec.Weight/chance, MaxWeight)
	}
}

// count counts a record whose treatment is known, unless the state is still, and returns the chance that a record of
// its score is untreated.
func count(p *Partition, rec *record, t Treatment, prob []float64) float64 {
	if prob == nil {
		prob = rescore(p, rec.Row)
	}
	positive := max(p.spec.Schema.Positive, 0)
	bin := p.untreated.bin(prob[positive])
	chance := p.untreated.chance(bin, p.spec.Options.Control.Share)
	if p.still {
		return chance
	}
	if p.uplift != nil {
		p.uplift.learn(rec.Row, p.levels, int(rec.Class) == positive, prob[positive], t, 1-chance, rec.Weight)
	}
	p.untreated.add(bin, t)
	return chance
}

// rescore returns the propensities of a row by the partition as it is, until the next call. It overwrites the memory of
// the last score.
func rescore(p *Partition, row Row) []float64 {
	p.again = grow(p.again, len(p.spec.Schema.Classes))
	if p.trained {
		p.scorer.propensities(row, p.again)
	} else {
		p.counts.rates(p.spec.Options.BaseRates, p.again)
	}
	return p.again
}

// sectionUntreated is the name of the section of the chances to be untreated. A state of LearnAll or LearnControl
// without uplift has none, so that its bytes are those of builds that do not know the section.
const sectionUntreated = "untreated"

// untreatedFormat is the version of the binary form of that section.
const untreatedFormat = 1

func (u *untreatedShare) append(b []byte) []byte {
	b = wire.AppendUvarint(b, untreatedFormat)
	b = wire.AppendFloats(b, u.known[:])
	return wire.AppendFloats(b, u.untreated[:])
}

func (u *untreatedShare) read(b []byte) error {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != untreatedFormat {
		return fmt.Errorf("format %d, this build reads %d", f, untreatedFormat)
	}
	r.FloatsInto(u.known[:])
	r.FloatsInto(u.untreated[:])
	if err := r.Done(); err != nil {
		return err
	}
	for i, n := range u.known {
		if m := u.untreated[i]; !(m >= 0 && m <= n && n <= untreatedMemory+1e-6) {
			return fmt.Errorf("%v of %v records in cell %d", m, n, i)
		}
	}
	return nil
}

// load reads the section of a state, where both the state and the options have it; else the counts begin anew.
func (u *untreatedShare) load(o *Options, names []string, read reader) error {
	if !o.Control.tells() || !slices.Contains(names, sectionUntreated) {
		return nil
	}
	if err := read(sectionUntreated, u.read); err != nil {
		return fmt.Errorf("decoding %s: %w", sectionUntreated, err)
	}
	return nil
}
