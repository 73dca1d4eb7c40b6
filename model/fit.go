package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// fitParts fits every component on the evidence, side by side, and then the scorecard over their inputs. states
// gives each partition's snapshot. Where the evidence is strict, a component with too small a budget has no part.
func fitParts(
	ctx context.Context, spec *Spec, ev *Evidence, states States, previous *Model,
) (map[string][]byte, error) {
	all := ev
	ev = ev.labelled(ev.Class)
	if ev.Len() == 0 {
		return nil, ErrOneClass
	}
	out, left := make([][]byte, len(spec.Components)), make([]bool, len(spec.Components))
	own, whole := *ev, *all
	own.workers = newWorkers(spec.Options.Workers)
	whole.workers = own.workers
	ev = &own
	err := share(ctx, own.workers, len(out), true, func(ctx context.Context) func(i int) error {
		return func(i int) (err error) {
			of := ev
			if goalsOf(spec.Components[i]) != nil {
				of = &whole
			}
			if out[i], err = fitPart(ctx, spec.Components[i], *of, states, previous); errors.Is(err, ErrTooMuchWork) {
				left[i], err = true, nil
			}
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[string][]byte, len(out)+1)
	for i, f := range spec.Components {
		if !left[i] {
			parts[f.Name()] = out[i]
		}
	}
	own.workers = newWorkers(spec.Options.Workers)
	if parts[spec.Scorecard.Name()], err = fitScorecard(ctx, spec, *ev, states, previous, parts); err != nil {
		return nil, err
	}
	return parts, nil
}

// fitPart fits the part of one component.
func fitPart(
	ctx context.Context, f Factory, ev Evidence, states States, previous *Model,
) ([]byte, error) {
	part, err := f.Fit(ctx, ev.of(f.Name(), states), previous.part(f.Name()))
	if err != nil {
		return nil, fmt.Errorf("fitting %s: %w", f.Name(), err)
	}
	return part, nil
}

// fitScorecard fits the scorecard over the components with these parts.
func fitScorecard(
	ctx context.Context, spec *Spec, ev Evidence, states States, previous *Model,
	parts map[string][]byte,
) ([]byte, error) {
	name := spec.Scorecard.Name()
	in, err := offer(spec, &ev, parts)
	if err != nil {
		return nil, fmt.Errorf("fitting %s: %w", name, err)
	}
	of := ev.of(name, states)
	of.held = ev.held
	part, err := spec.Scorecard.Fit(ctx, of, in, previous.part(name))
	if err != nil {
		return nil, fmt.Errorf("fitting %s: %w", name, err)
	}
	return part, nil
}

// of returns the evidence with the states of one component.
func (e Evidence) of(name string, states States) *Evidence {
	e.component, e.held = name, nil
	if states != nil {
		e.States = ComponentStates{states, sectionOf(name)}
	}
	return &e
}

// part returns the part of a component; nil of no model, or of one that was made without the component.
func (m *Model) part(name string) []byte {
	if m == nil {
		return nil
	}
	return m.Parts[name]
}

// offer returns the inputs of components that serve these parts. A component without a part offers none.
func offer(spec *Spec, ev *Evidence, parts map[string][]byte) (*Offer, error) {
	components := make([]Component, len(spec.Components))
	in := &Offer{Blocks: make([]int, len(components))}
	for i, f := range spec.Components {
		components[i] = f.New(ev.Levels)
		if part, ok := parts[f.Name()]; ok {
			rb := &Rebase{Part: part, Self: nobody, Since: func(func(*Example) bool) {}}
			if err := components[i].Rebase(rb); err != nil {
				return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
			}
		}
		in.Blocks[i] = components[i].InputCount()
	}
	classes := len(spec.Schema.Classes)
	in.Keys = inputKeys(components)
	in.Inputs = func(row Row, dst []float64) { inputsOf(components, classes, row, dst) }
	excluding := func(otherwise func(c Component, row Row, dst []float64)) func(ex *Example, dst []float64) {
		return func(ex *Example, dst []float64) {
			at := 0
			for i, c := range components {
				n := in.Blocks[i] * classes
				if x, ok := c.(Excluder); ok && n > 0 {
					x.InputsWithout(ex, dst[at:at+n])
				} else {
					otherwise(c, ex.Row, dst[at:at+n])
				}
				at += n
			}
		}
	}
	in.Offset = excluding(func(c Component, row Row, dst []float64) {
		if len(dst) > 0 {
			c.Inputs(row, dst)
		}
	})
	if ev.Whole {
		in.Without = excluding(func(_ Component, _ Row, dst []float64) { clear(dst) })
	}
	return in, nil
}

// nobody is a partition that no model knows.
const nobody = -1

// inputsOf writes the inputs of the components for a row.
func inputsOf(components []Component, classes int, row Row, dst []float64) {
	at := 0
	for _, c := range components {
		if n := c.InputCount() * classes; n > 0 {
			c.Inputs(row, dst[at:at+n])
			at += n
		}
	}
}

// Fit makes the next model from the partitions' snapshots: it merges their samples in partition order and fits every
// factory. Compare says whether the model may serve; until then Info.Verdict is that of a model compared with nothing.
// previous is the serving model, nil before the first. states gives the results of Snapshot.
func Fit(ctx context.Context, spec *Spec, states States, previous *Model) (*Model, error) {
	return fit(ctx, spec, states, previous, false)
}

// ErrOneClass is returned by FitAnew when all labelled records are of one class.
var ErrOneClass = errors.New("all labelled records are of one class")

// FitAnew is Fit without the structure of the serving model, for the models of the cold start: cells that were cut from
// the first few hundred records are coarse.
func FitAnew(ctx context.Context, spec *Spec, states States, previous *Model) (*Model, error) {
	return fit(ctx, spec, states, previous, true)
}

func fit(
	ctx context.Context, spec *Spec, states States, previous *Model, anew bool,
) (*Model, error) {
	m := &Model{Version: 1, Fingerprint: spec.Options.Fingerprint, Levels: NewLevels(spec.Schema)}
	if previous != nil {
		m.Levels = previous.Levels.Clone()
		m.Version, m.Info.Previous = previous.Version+1, previous.Version
	}
	ev, members, err := gather(spec, states, m.Levels)
	if err != nil {
		return nil, err
	}
	m.Marks, m.Info.Records, m.Info.Verdict = marksOf(members), ev.Len(), noVerdict(spec.Options.Gate)
	for _, w := range ev.Weight {
		m.Info.Weight += w
	}
	ev.Work, ev.told = spec.Options.FitWork(anew && previous == nil), &tellings{by: map[int32]float64{}}
	ev.narrowed = &narrowings{texts: map[string]bool{}}
	if anew {
		if ev.oneClass() {
			return nil, ErrOneClass
		}
		ev.Models, previous = nil, nil
	}
	if m.Parts, err = fitParts(ctx, spec, ev, states, previous); err != nil {
		return nil, err
	}
	m.Parts[PartPercentile], m.Parts[PartPercentileFine] = percentilePart(members), percentileFinePart(members)
	m.Narrowed = ev.narrowed.all()
	return m, nil
}

// Renew returns the model with the counts that the partitions have by now: the structure and the fitted weights that
// Compare has compared stay, and the scorecard's counts become those of the states, so that no model begins with counts
// as old as its comparison took; so do the scores among which percentiles are ranks. Shares says how far that is.
func Renew(ctx context.Context, spec *Spec, m *Model, states States) (*Model, error) {
	out := *m
	out.Levels = m.Levels.Clone()
	ev, members, err := gather(spec, states, out.Levels)
	if err != nil {
		return nil, err
	}
	ev.Keep, ev.Work = true, spec.Options.FitWork(false)
	out.Shares, out.Parts = marksOf(members), maps.Clone(m.Parts)
	if out.Parts, err = renewGoals(ctx, spec, ev, states, m, out.Parts); err != nil {
		return nil, err
	}
	own := *ev.labelled(ev.Class)
	if out.Parts[spec.Scorecard.Name()], err = fitScorecard(ctx, spec, own, states, m, m.Parts); err != nil {
		return nil, err
	}
	out.Parts[PartPercentile], out.Parts[PartPercentileFine] = percentilePart(members), percentileFinePart(members)
	return &out, nil
}

func marksOf(members []member) map[int32]Mark {
	marks := map[int32]Mark{}
	for _, m := range members {
		marks[m.self] = Mark{Offset: m.next, Clock: m.clock}
	}
	return marks
}
