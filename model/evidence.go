package model

import (
	"fmt"
	"math"
	"slices"
)

// Evidence is the input of a Fit: labelled, coded, weighted records, oldest first, and the partitions' own states.
// It is read-only and may be shared by concurrent Fits.
type Evidence struct {
	Schema *Schema
	Levels *Levels // canonical codes of Columns
	// Columns[f][i] is the Row cell of feature f in record i.
	Columns [][]float64
	Class   []int32 // at least 0; Unlabelled of a record of which goals alone are known, which no other Fit sees
	// Outcomes has the classes of the goals, nil where none is known.
	Outcomes []Outcomes
	Weight   []float64 // record weight times the number of records that it stands for
	Clock    []float64 // Example.Clock of the record in its partition
	Time     []int64   // Example.Time
	// Partition is the input partition of each record.
	Partition []int32
	// Recent is the index from which the records are the tails, a contiguous run; before it they are the reservoirs.
	// 0 when every record is here.
	Recent int
	// Sampled[p] says that the reservoir of p is a sample of the records that left the tail; else it keeps all of them.
	Sampled map[int32]bool
	// Lag is the mean number of labelled records that a partition learnt between the score of a record and its label, of
	// the records of the tails; 0 where labels come with their records, as in files.
	Lag float64
	// States gives the state of this component in each partition, as AppendState wrote it, recoded lazily by the
	// component through Recodes; none for evidence read from files.
	States  ComponentStates
	Recodes map[int32]Recode
	// Models is the version of the Model under which each state in States was built.
	Models map[int32]int64
	Seed   uint64
	// Whole says that there are no other records to learn from, as with files. In a stream the weights of inputs are
	// learnt from earlier scores instead: a record left out of the past has neighbours of its own time, a record to
	// come has not.
	Whole bool
	// Exchangeable says that the order of the records has no meaning: they stand in one that is a function of their
	// multiset and the seed, Clock being the place in it and Time 0. A Fit treats none as older than another: nothing
	// fades from record to record. It gives the same bytes however the rows of a file are ordered.
	Exchangeable bool
	// Source is the number of each record in the order in which it was read, where that is another one; nil else.
	Source []int32
	// Keep asks a Fit to leave the structure and the fitted weights of previous as they are, and to bring only the
	// shares of the partitions up to date, as Renew does with a model that has passed the gate.
	Keep bool
	// Work is the budget of a Fit in steps, see Work; 0 = no bound. A Fit keeps within it by a rule that its page states:
	// it leaves out features (Strongest) or records, or takes the best answer so far.
	Work int64
	// Strict asks for all of the work or none: a Fit for which Work is too little returns ErrTooMuchWork.
	Strict bool

	held func(i int, p []float64) // see Foretold; nil = nobody asks

	component string      // whose Fit reads it
	narrowed  *narrowings // of the fit
	told      *tellings   // of the fit; nil = every component asks for itself
	workers   *workers    // of the fit; nil = each Share has as many as processors
}

func newEvidence(s *Schema, l *Levels, seed uint64) *Evidence {
	return &Evidence{Schema: s, Levels: l, Columns: make([][]float64, len(s.Features)), Seed: seed,
		Sampled: map[int32]bool{}}
}

// Len is the number of records.
func (e *Evidence) Len() int { return len(e.Class) }

// StandsFor reports whether record i stands for others as well, which are not here.
func (e *Evidence) StandsFor(i int) bool { return i < e.Recent && e.Sampled[e.Partition[i]] }

// RankError bounds, with probability 1-delta, how far the rank of a value among the records here, by weight, is from
// its rank among all records that the partitions have learnt, as a share of their weight W:
//
//	eps = sqrt(ln(2/delta)/2 sum_s w_s^2) / W
//
// with the weights w_s of the records that stand for others. Of one partition that has sampled everything this is the
// inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Ann. Probab. 18, 1990) for n kept records,
// sqrt(ln(2/delta)/(2n)), and holds for all values at once, so for all cut points; records of the tails add to W
// without error; and of several partitions, each a sample by itself, the sum is that of Hoeffding's inequality (1963,
// theorem 2 and section 6), and holds for each value. It is 0 when every record is here. among chooses records, such as
// records with all features of a set; nil means all. Records that weigh more than others widen the bound by their
// squares.
func (e *Evidence) RankError(among func(i int) bool, delta float64) float64 {
	var total, square float64
	for i, w := range e.Weight {
		if among != nil && !among(i) {
			continue
		}
		total += w
		if e.StandsFor(i) {
			square += w * w
		}
	}
	if square == 0 {
		return 0
	}
	return min(math.Sqrt(math.Log(2/delta)/2*square)/total, 1)
}

// Before returns the structure from which a Fit starts. part reads it from previous, the part of the serving Model;
// where there is none, state reads it from the state of the first partition that a published model serves: where that
// model is not at hand, since it was made under another schema, its remains lie there. The zero T means that the Fit
// starts from nothing.
func Before[T any](e *Evidence, previous []byte, part, state func(b []byte) (T, error)) (before T, err error) {
	if previous != nil {
		if before, err = part(previous); err != nil {
			return before, fmt.Errorf("reading the previous part: %w", err)
		}
		return before, nil
	}
	for _, n := range e.States.Partitions() {
		if e.Models[n] <= 0 {
			continue
		}
		found := false
		err := e.States.Read(n, func(b []byte) (err error) {
			if found = len(b) > 0; found {
				before, err = state(b)
			}
			return err
		})
		if err != nil {
			return before, fmt.Errorf("reading the state of partition %d: %w", n, err)
		}
		if found {
			break
		}
	}
	return before, nil
}

// Parties are the partitions of the evidence, of its records and of its states, ascending.
func (e *Evidence) Parties() []int32 {
	partitions := append(slices.Clone(e.Partition), e.States.Partitions()...)
	slices.Sort(partitions)
	return slices.Compact(partitions)
}

// Visit calls visit with each partition that has a state, ascending, and a component that is loaded from it, or as
// empty returns it where the state is empty. The codes of the component are those of the state: Recodes has the way to
// Levels.
// Its Mover, where it is one, has loaded it. visit must keep no more of a component than its Fit needs.
func Visit[C Component](e *Evidence, empty func() C, visit func(partition int32, c C) error) error {
	for _, n := range e.States.Partitions() {
		c := empty()
		err := e.States.Read(n, func(b []byte) error {
			if len(b) == 0 {
				return nil
			}
			return loadToRebase(c, b)
		})
		if err != nil {
			return fmt.Errorf("reading the state of partition %d: %w", n, err)
		}
		if err := visit(n, c); err != nil {
			return err
		}
	}
	return nil
}

// Foretells reports whether anybody asks for Foretold.
func (e *Evidence) Foretells() bool { return e.held != nil }

// Foretold takes note of the propensities, by class, that the Fit of a scorecard without states has foretold for record
// i before it learnt the record, or from the others alone. p is not kept.
func (e *Evidence) Foretold(i int, p []float64) {
	if e.held != nil {
		e.held(i, p)
	}
}

// Row copies record i into dst, which must have one cell a feature.
func (e *Evidence) Row(i int, dst Row) {
	for f := range e.Columns {
		dst[f] = e.Columns[f][i]
	}
}

func (e *Evidence) add(r *record, standsFor float64, partition int32, rc Recode) {
	for f := range e.Columns {
		e.Columns[f] = append(e.Columns[f], rc.Value(f, r.Row[f]))
	}
	e.Class = append(e.Class, r.Class)
	if r.Outcomes != 0 || e.Outcomes != nil {
		for len(e.Outcomes) < len(e.Class)-1 {
			e.Outcomes = append(e.Outcomes, 0)
		}
		e.Outcomes = append(e.Outcomes, r.Outcomes)
	}
	e.Weight = append(e.Weight, r.Weight*standsFor)
	e.Clock = append(e.Clock, r.Clock)
	e.Time = append(e.Time, r.Time)
	e.Partition = append(e.Partition, partition)
}

func (e *Evidence) addReservoir(r *reservoir, partition int32, rc Recode) {
	e.Sampled[partition] = !r.whole()
	r.sample(func(rec *record, standsFor float64) { e.add(rec, standsFor, partition, rc) })
}
