package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"liftstream/model"
	"liftstream/model/propensity"
)

// Base returns the Spec with the base component alone, the others say nothing: a model of Spec serves under it, and its
// scores are those of the scorecard without their inputs. The goals are there too: they have none of those inputs.
func (s *Stage) Base() *model.Spec {
	spec := *s.Spec
	spec.Components = slices.Clone(spec.Components)
	for i, f := range spec.Components {
		keep := func(x component) bool { return (x.base || x.beside) && x.name == f.Name() }
		if !keep(goalsComponent) && !slices.ContainsFunc(components, keep) {
			spec.Components[i] = mute{f, s.Spec.Contribution(i)}
		}
	}
	return &spec
}

// Additive returns the scorecard of a partition of Base as a sum of effects.
func Additive(p *model.Partition) (*propensity.Additive, error) {
	return propensity.AdditiveOf(p.Component(propensity.Name).(*propensity.Scorecard))
}

// Unportable adds the name of the model, and the remedy of one that belongs to another configuration, to an error.
func Unportable(name string, err error) error {
	if errors.Is(err, model.ErrModelForeign) {
		return Foreign(name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// mute is a component that offers no inputs and keeps no state.
type mute struct {
	model.Factory
	contribution model.Contribution
}

func (m mute) Contribution() model.Contribution { return m.contribution }

func (m mute) New(*model.Levels) model.Component { return silence{} }

func (m mute) Fit(context.Context, *model.Evidence, []byte) ([]byte, error) { return nil, nil }

type silence struct{}

func (silence) Learn(*model.Example)        {}
func (silence) Retract(*model.Example)      {}
func (silence) InputCount() int             { return 0 }
func (silence) Inputs(model.Row, []float64) {}
func (silence) AppendState(b []byte) []byte { return b }
func (silence) LoadState([]byte) error      { return nil }
func (silence) Rebase(*model.Rebase) error  { return nil }
