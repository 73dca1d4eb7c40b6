package model

import (
	"fmt"

	"liftstream/model/wire"
)

// goalsState and goalsPart are the versions of the binary forms of the goals (stream/state/FORMAT.md).
const (
	goalsState = 1
	goalsPart  = 1
)

// AppendState appends the state of every goal.
func (g *goals) AppendState(b []byte) []byte {
	b = wire.AppendUvarint(b, goalsState)
	b = wire.AppendFloat(wire.AppendUvarint(b, uint64(len(g.all))), g.classed)
	for k := range g.all {
		x := &g.all[k]
		b = wire.AppendBool(b, x.structured)
		b = wire.AppendFloat(wire.AppendFloat(b, x.seen[0]), x.seen[1])
		for _, c := range x.scorer.all() {
			b = wire.AppendBytes(b, c.AppendState(nil))
		}
	}
	return b
}

// LoadState reads the bytes of AppendState.
func (g *goals) LoadState(b []byte) error {
	r := wire.NewReader(b)
	if err := readGoals(r, goalsState, len(g.all)); err != nil {
		return err
	}
	if g.classed = r.Float(); r.Err() == nil && !(g.classed >= 0 && g.classed <= 1<<53) {
		return fmt.Errorf("%v records with a class", g.classed)
	}
	for k := range g.all {
		x := &g.all[k]
		x.structured = r.Bool()
		x.seen = [2]float64{r.Float(), r.Float()}
		if r.Err() == nil && !(x.seen[0] >= 0 && x.seen[1] >= 0 && x.seen[0]+x.seen[1] <= maxWeights) {
			return fmt.Errorf("goal %d: weights %v", k, x.seen)
		}
		for i, c := range x.scorer.all() {
			state := r.Bytes()
			if r.Err() != nil {
				return r.Err()
			}
			if err := c.LoadState(state); err != nil {
				return fmt.Errorf("goal %d: decoding %s: %w", k, x.spec.name(i), err)
			}
		}
		x.scorer = newScorer(x.spec, x.components, x.scorecard)
	}
	return r.Done()
}

// maxWeights bounds the sum of weights of records in a state.
const maxWeights = 1 << 53 * MaxWeight

// readGoals reads the head of a state or a part.
func readGoals(r *wire.Reader, format uint64, goals int) error {
	if f := r.Uvarint(); r.Err() == nil && f != format {
		return fmt.Errorf("format %d, this build reads %d", f, format)
	}
	if n := r.Int(MaxGoals); r.Err() == nil && n != goals {
		return fmt.Errorf("%d goals where %d should be", n, goals)
	}
	return r.Err()
}

// appendPart appends the parts of every goal, nil = none.
func (f *goalsFactory) appendPart(parts []map[string][]byte) []byte {
	b := wire.AppendUvarint(nil, goalsPart)
	b = wire.AppendUvarint(b, uint64(len(parts)))
	for _, p := range parts {
		b = wire.AppendUvarint(b, uint64(len(p)))
		for _, name := range sortedKeys(p) {
			b = wire.AppendBytes(wire.AppendString(b, name), p[name])
		}
	}
	return b
}

// readPart reads the bytes of appendPart; of nil no goal has a part.
func (f *goalsFactory) readPart(b []byte) ([]map[string][]byte, error) {
	parts := make([]map[string][]byte, len(f.specs))
	if b == nil {
		return parts, nil
	}
	r := wire.NewReader(b)
	if err := readGoals(r, goalsPart, len(f.specs)); err != nil {
		return nil, err
	}
	for k, spec := range f.specs {
		n := r.Int(len(spec.Components) + 1)
		for range n {
			name, part := r.String(), r.Bytes()
			if parts[k] == nil {
				parts[k] = map[string][]byte{}
			}
			parts[k][name] = part
		}
		if _, ok := parts[k][spec.Scorecard.Name()]; r.Err() == nil && (n > 0) != ok {
			return nil, fmt.Errorf("goal %d has no part %q", k, spec.Scorecard.Name())
		}
	}
	return parts, r.Done()
}

// goalStates are the states of one goal, cut out of those of all goals.
type goalStates struct {
	of   ComponentStates
	goal int
	spec *Spec
	n    int
}

func (f *goalsFactory) statesOf(ev *Evidence, goal int) States {
	if ev.States.of == nil {
		return nil
	}
	return goalStates{ev.States, goal, f.specs[goal], len(f.specs)}
}

// Partitions are the partitions that have a state, ascending.
func (s goalStates) Partitions() []int32 { return s.of.Partitions() }

// Sections are the names of the states of the components, the scorecard last.
func (s goalStates) Sections(int32) (names []string) {
	for i := range len(s.spec.Components) + 1 {
		names = append(names, sectionOf(s.spec.name(i)))
	}
	return names
}

// Read calls use with the state of a component of the goal, nil where the partition has none.
func (s goalStates) Read(partition int32, section string, use func(b []byte) error) error {
	return s.of.Read(partition, func(b []byte) error {
		if len(b) == 0 {
			return use(nil)
		}
		r := wire.NewReader(b)
		if err := readGoals(r, goalsState, s.n); err != nil {
			return err
		}
		_ = r.Float()
		names := s.Sections(partition)
		for k := range s.goal + 1 {
			_, _, _ = r.Bool(), r.Float(), r.Float()
			for _, name := range names {
				if state := r.Bytes(); r.Err() == nil && k == s.goal && name == section {
					return use(state)
				}
			}
		}
		if r.Err() != nil {
			return r.Err()
		}
		return use(nil)
	})
}

// CarryState carries the state of each goal over, component by component.
func (f *goalsFactory) CarryState(c *Change, state []byte) (out []byte, inputs []int, err error) {
	r := wire.NewReader(state)
	if err := readGoals(r, goalsState, len(f.specs)); err != nil {
		return nil, nil, err
	}
	out = wire.AppendUvarint(wire.AppendUvarint(out, goalsState), uint64(len(f.specs)))
	out = wire.AppendFloat(out, r.Float())
	for k, spec := range f.specs {
		from := *c.From
		from.Classes, from.Positive = spec.Schema.Classes, spec.Schema.Positive
		own := Change{From: &from, To: spec.Schema, Feature: c.Feature}
		out = wire.AppendBool(out, r.Bool())
		out = wire.AppendFloat(out, r.Float())
		out = wire.AppendFloat(out, r.Float())
		for i := range len(spec.Components) + 1 {
			old, carrier := r.Bytes(), spec.carrier(i)
			if r.Err() != nil {
				return nil, nil, r.Err()
			}
			if carrier == nil {
				return nil, nil, fmt.Errorf("goal %d: %s cannot be carried over", k, spec.name(i))
			}
			moved, inputs, err := carrier.CarryState(&own, old)
			if err != nil {
				return nil, nil, fmt.Errorf("goal %d: %s: %w", k, spec.name(i), err)
			}
			out, own.Inputs = wire.AppendBytes(out, moved), append(own.Inputs, inputs)
		}
	}
	return out, nil, r.Done()
}
