package model

import (
	"fmt"
	"math"

	"liftstream/model/wire"
)

// goalsState and goalsPart are the versions of the binary forms of the goals (stream/state/FORMAT.md).
const (
	goalsState = 2
	goalsPart  = 2
)

// goalPart is the part of one goal in a model.
type goalPart struct {
	parts  map[string][]byte // of the components and the scorecard, nil = it has no structure
	shares []goalShare       // of a goal without a structure, by partition ascending
}

// goalShare has the weights of the records of each class of a goal that one partition has learnt.
type goalShare struct {
	partition int32
	seen      [2]float64
}

// AppendState appends the state of every goal.
func (g *goals) AppendState(b []byte) []byte {
	b = wire.AppendUvarint(b, goalsState)
	b = wire.AppendFloat(wire.AppendUvarint(b, uint64(len(g.all))), g.classed)
	for k := range g.all {
		x := &g.all[k]
		b = wire.AppendBool(b, x.structured)
		b = appendWeights(appendWeights(b, x.seen), x.others)
		for _, c := range x.scorer.all() {
			b = wire.AppendBytes(b, c.AppendState(nil))
		}
	}
	return b
}

// LoadState reads the bytes of AppendState.
func (g *goals) LoadState(b []byte) error {
	r := wire.NewReader(b)
	format, err := readGoals(r, goalsState, len(g.all))
	if err != nil {
		return err
	}
	if g.classed = r.Float(); r.Err() == nil && !(g.classed >= 0 && g.classed <= 1<<53) {
		return fmt.Errorf("%v records with a class", g.classed)
	}
	for k := range g.all {
		x := &g.all[k]
		if x.structured, x.seen, x.others, err = readGoal(r, format); err != nil {
			return fmt.Errorf("goal %d: %w", k, err)
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

// readGoals reads the head of a state or a part, and returns its format: newest or one before it.
func readGoals(r *wire.Reader, newest uint64, goals int) (format uint64, err error) {
	if format = r.Uvarint(); r.Err() == nil && (format < 1 || format > newest) {
		return 0, fmt.Errorf("format %d, this build reads 1 to %d", format, newest)
	}
	if n := r.Int(MaxGoals); r.Err() == nil && n != goals {
		return 0, fmt.Errorf("%d goals where %d should be", n, goals)
	}
	return format, r.Err()
}

func appendWeights(b []byte, w [2]float64) []byte {
	return wire.AppendFloat(wire.AppendFloat(b, w[0]), w[1])
}

func readWeights(r *wire.Reader) (w [2]float64, err error) {
	w = [2]float64{r.Float(), r.Float()}
	if r.Err() == nil && !(w[0] >= 0 && w[1] >= 0 && w[0]+w[1] <= maxWeights) {
		return w, fmt.Errorf("weights %v", w)
	}
	return w, r.Err()
}

// readGoal reads what stands before the components of a goal in a state. Format 1 has no weights of other partitions.
func readGoal(r *wire.Reader, format uint64) (structured bool, seen, others [2]float64, err error) {
	structured = r.Bool()
	if seen, err = readWeights(r); err == nil && format > 1 {
		others, err = readWeights(r)
	}
	return structured, seen, others, err
}

// readSeen reads the weights of a goal out of a state, and reports whether they are its counts: no structure has any.
func (f *goalsFactory) readSeen(b []byte, goal int, seen *[2]float64) (found bool, err error) {
	if len(b) == 0 {
		return false, nil
	}
	r := wire.NewReader(b)
	format, err := readGoals(r, goalsState, len(f.specs))
	if err != nil {
		return false, err
	}
	_ = r.Float()
	for k, spec := range f.specs[:goal+1] {
		structured, weights, _, err := readGoal(r, format)
		if err != nil {
			return false, err
		}
		if k == goal && !structured {
			*seen = weights
			return true, nil
		}
		for range len(spec.Components) + 1 {
			_ = r.Bytes()
		}
	}
	return false, r.Err()
}

// appendPart appends the parts of every goal.
func (f *goalsFactory) appendPart(goals []goalPart) []byte {
	b := wire.AppendUvarint(nil, goalsPart)
	b = wire.AppendUvarint(b, uint64(len(goals)))
	for i := range goals {
		p := goals[i].parts
		b = wire.AppendUvarint(b, uint64(len(p)))
		for _, name := range sortedKeys(p) {
			b = wire.AppendBytes(wire.AppendString(b, name), p[name])
		}
		if len(p) > 0 {
			continue
		}
		b = wire.AppendUvarint(b, uint64(len(goals[i].shares)))
		for _, x := range goals[i].shares {
			b = appendWeights(wire.AppendUvarint(b, uint64(uint32(x.partition))), x.seen)
		}
	}
	return b
}

// readPart reads the bytes of appendPart; of nil no goal has a part.
func (f *goalsFactory) readPart(b []byte) ([]goalPart, error) {
	if b == nil {
		return make([]goalPart, len(f.specs)), nil
	}
	most := 0
	for _, spec := range f.specs {
		most = max(most, len(spec.Components)+1)
	}
	goals, err := readGoalParts(b, len(f.specs), most)
	if err != nil {
		return nil, err
	}
	for k, spec := range f.specs {
		if _, ok := goals[k].parts[spec.Scorecard.Name()]; (goals[k].parts != nil) != ok {
			return nil, fmt.Errorf("goal %d has no part %q", k, spec.Scorecard.Name())
		}
	}
	return goals, nil
}

// readGoalParts reads the part of that number of goals, each of at most so many components with the scorecard.
func readGoalParts(b []byte, number, most int) ([]goalPart, error) {
	goals := make([]goalPart, number)
	r := wire.NewReader(b)
	format, err := readGoals(r, goalsPart, number)
	if err != nil {
		return nil, err
	}
	for k := range goals {
		n := r.Int(most)
		for range n {
			name, part := r.String(), r.Bytes()
			if goals[k].parts == nil {
				goals[k].parts = map[string][]byte{}
			}
			goals[k].parts[name] = part
		}
		if n > 0 || format == 1 || r.Err() != nil {
			continue
		}
		if goals[k].shares, err = readShares(r); err != nil {
			return nil, fmt.Errorf("goal %d: %w", k, err)
		}
	}
	return goals, r.Done()
}

// GoalIn is what a model has of a goal: the parts of its components and of its scorecard by their names or, without a
// structure, the weights of the records of each class that all partitions have learnt.
type GoalIn struct {
	Parts map[string][]byte
	Seen  [2]float64
}

// componentsMost bounds the components of a goal without a Spec.
const componentsMost = 64

// GoalsIn returns the goals of a model, in their order; none where it was made without goals.
func GoalsIn(m *Model) ([]GoalIn, error) {
	b := m.part(GoalsName)
	if b == nil {
		return nil, nil
	}
	head := wire.NewReader(b)
	head.Uvarint() // the format: readGoalParts checks it
	n := head.Int(MaxGoals)
	if head.Err() != nil {
		return nil, head.Err()
	}
	parts, err := readGoalParts(b, n, componentsMost)
	if err != nil {
		return nil, err
	}
	goals := make([]GoalIn, n)
	for k := range goals {
		goals[k].Parts = parts[k].parts
		for _, x := range parts[k].shares {
			goals[k].Seen[0] += x.seen[0]
			goals[k].Seen[1] += x.seen[1]
		}
	}
	return goals, nil
}

// shareBytes is the least number of bytes of a share.
const shareBytes = 1 + 2*8

func readShares(r *wire.Reader) (shares []goalShare, err error) {
	for range r.Int(r.Rest() / shareBytes) {
		x := goalShare{partition: int32(r.Int(math.MaxInt32))}
		if n := len(shares); r.Err() == nil && n > 0 && x.partition <= shares[n-1].partition {
			return nil, fmt.Errorf("partition %d stands behind %d", x.partition, shares[n-1].partition)
		}
		if x.seen, err = readWeights(r); err != nil {
			return nil, err
		}
		shares = append(shares, x)
	}
	return shares, r.Err()
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
		format, err := readGoals(r, goalsState, s.n)
		if err != nil {
			return err
		}
		_ = r.Float()
		names := s.Sections(partition)
		for k := range s.goal + 1 {
			if _, _, _, err := readGoal(r, format); err != nil {
				return err
			}
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
	format, err := readGoals(r, goalsState, len(f.specs))
	if err != nil {
		return nil, nil, err
	}
	out = wire.AppendUvarint(wire.AppendUvarint(out, goalsState), uint64(len(f.specs)))
	out = wire.AppendFloat(out, r.Float())
	for k, spec := range f.specs {
		from := *c.From
		from.Classes, from.Positive = spec.Schema.Classes, spec.Schema.Positive
		own := Change{From: &from, To: spec.Schema, Feature: c.Feature}
		structured, seen, others, err := readGoal(r, format)
		if err != nil {
			return nil, nil, fmt.Errorf("goal %d: %w", k, err)
		}
		out = appendWeights(appendWeights(wire.AppendBool(out, structured), seen), others)
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
