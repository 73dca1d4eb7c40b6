package model

import (
	"errors"
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// ErrModelTooOld is returned by Swap when the model ends before the tail begins, so that records in between would be
// missing from the tables of the new structure.
var ErrModelTooOld = errors.New("model is older than the tail")

// Swap makes m the serving model: structure is the model's, counts are the model's and this partition's own since the
// model's mark. A model that is refused (ErrModelTooOld, ErrModelForeign, or damaged) changes nothing.
func (p *Partition) Swap(m *Model) error {
	if err := accepts(p, m); err != nil {
		return err
	}
	if err := p.rebase(m, false); err != nil {
		return fmt.Errorf("swapping to model %d: %w", m.Version, err)
	}
	p.version, p.trained = m.Version, true
	refitted(p, &m.Info.Verdict)
	return nil
}

// accepts returns the error by which a model cannot serve.
func accepts(p *Partition, m *Model) error {
	if m.Fingerprint != p.spec.Options.Fingerprint {
		return fmt.Errorf("swapping to model %d: %w", m.Version, ErrModelForeign)
	}
	t := p.sample.tail
	if t.len() > 0 && t.clock[t.first%t.capacity] > p.marked(m.Marks) {
		return fmt.Errorf("swapping to model %d: %w", m.Version, ErrModelTooOld)
	}
	return nil
}

// Return makes m serve as it was published: structure, counts and weights are the model's alone, and the counts of this
// partition since the model's mark are forgotten. So m may be of any age, as a former version or a model of files. The
// records of the tail and the reservoir, the class counts and the records that wait for their labels stay. A model that
// is refused (ErrModelForeign, or damaged) changes nothing. by is the number of the order to return, 0 where none says
// so; the state then holds it (Returned).
func Return(p *Partition, m *Model, by uint64) error {
	if m.Fingerprint != p.spec.Options.Fingerprint {
		return fmt.Errorf("returning to model %d: %w", m.Version, ErrModelForeign)
	}
	if err := p.rebase(m, true); err != nil {
		return fmt.Errorf("returning to model %d: %w", m.Version, err)
	}
	p.version, p.trained, p.given = m.Version, true, max(p.given, by)
	refitted(p, nil)
	return nil
}

// Returned is the number of the newest order to return that the partition has obeyed, 0 where it knows none: a version
// that serves when an order names it serves as it was published only after that.
func Returned(p *Partition) uint64 { return p.given }

// sectionReturned is the section of a state that has obeyed an order to return, returnedFormat the version of its form.
const (
	sectionReturned = "returned"
	returnedFormat  = 1
)

func appendReturned(b []byte, number uint64) []byte {
	return wire.AppendUvarint(wire.AppendUvarint(b, returnedFormat), number)
}

func loadReturned(names []string, read reader) (number uint64, err error) {
	if !slices.Contains(names, sectionReturned) {
		return 0, nil
	}
	err = read(sectionReturned, func(b []byte) error {
		r := wire.NewReader(b)
		if format := r.Uvarint(); r.Err() == nil && format != returnedFormat {
			return fmt.Errorf("format %d, this build reads %d", format, returnedFormat)
		}
		number = r.Uvarint()
		return r.Done()
	})
	if err != nil {
		return 0, fmt.Errorf("decoding %s: %w", sectionReturned, err)
	}
	return number, nil
}

// marked is the clock up to which marks have seen this partition. A mark that lies ahead is of another history, as that
// of a state which is lost: the model knows none of the records of this one.
func (p *Partition) marked(marks map[int32]Mark) float64 {
	if clock := marks[p.self].Clock; clock <= p.clock {
		return clock
	}
	return 0
}

// move has the parts of a partition that another model replaces.
type move struct {
	levels     *Levels
	recode     Recode // of the partition's levels
	components []Component
	scorecard  Scorecard
}

// all returns the components, the scorecard behind them.
func (to *move) all() []Component {
	return append(slices.Clone(to.components), Component(to.scorecard))
}

// moveTo returns the levels of a model and the partition, and empty components under them.
func moveTo(p *Partition, m *Model) (to move, err error) {
	to.levels = m.Levels.Clone()
	to.recode = to.levels.Merge(p.levels)
	to.components, to.scorecard, err = newComponents(p.spec, to.levels)
	return to, err
}

// rebase moves copies of the components to the model, so that an error leaves the partition as it was. anew says that
// the components begin without a state and learn nothing on top of the model.
func (p *Partition) rebase(m *Model, anew bool) error {
	to, err := moveTo(p, m)
	if err != nil {
		return err
	}
	moved := to.all()
	for i, c := range p.scorer.all() {
		name := p.spec.name(i)
		part, ok := m.Parts[name]
		if !ok && i < len(to.components) {
			continue // the model was made without it: it stays empty until the next one
		}
		if !ok {
			return fmt.Errorf("model has no part %q", name)
		}
		if !anew {
			if err := loadToRebase(moved[i], c.AppendState(nil)); err != nil {
				return fmt.Errorf("copying %s: %w", name, err)
			}
		}
		mark := p.marked(m.Marks)
		if i == len(to.components) && m.Shares != nil {
			mark = p.marked(m.Shares)
		}
		_, goals := c.(GoalScorer)
		since := func(mark float64) func(yield func(ex *Example) bool) {
			return func(yield func(ex *Example) bool) {
				if anew {
					return
				}
				p.sample.tail.since(mark, to.recode, func(ex *Example) bool { return ex.Class < 0 && !goals || yield(ex) })
			}
		}
		rb := &Rebase{Part: part, Self: p.self, Recode: to.recode, Clock: p.clock, Time: p.time.now, Since: since(mark)}
		if anew && mark > 0 {
			rb.Ahead = p.clock - mark
		}
		if goals && m.Shares != nil {
			mark = p.marked(m.Shares)
			rb.shares = since(mark)
			if anew && mark > 0 {
				rb.aheadOfShares = p.clock - mark
			}
		}
		rb.unknown = anew || mark == 0
		if err := moved[i].Rebase(rb); err != nil {
			return fmt.Errorf("rebasing %s: %w", name, err)
		}
	}
	return install(p, m, &to)
}

// install has the partition serve the components, which were moved to the model. An error leaves it as it was.
func install(p *Partition, m *Model, to *move) error {
	scores, steps, err := readPercentileParts(m, len(p.counts.sum))
	if err != nil {
		return err
	}
	misfit, err := p.misfit.adopt(m, p.clock)
	if err != nil {
		return err
	}
	p.misfit = misfit
	p.percent.rebase(scores, steps, p.self)
	p.sample.recode(to.recode)
	p.store.recode(to.recode)
	p.levels = to.levels
	p.scorer = newScorer(p.spec, to.components, to.scorecard)
	return nil
}
