package model

import (
	"context"
	"math"
)

// Component is one model that learns from a partition's stream: lift tables, local subspaces, the kernel. It holds the
// live state of one partition under the structure of the serving Model.
//
// All methods of one Component are called from one goroutine. A Row or Example belongs to the caller and may be reused
// when the method returns. Two components that saw the same calls hold, and append, the same bytes. The result does not
// depend on how rows were batched. NaN in a Row means missing; an Example of weight zero changes nothing.
type Component interface {
	// Learn adds a labelled record.
	Learn(ex *Example)
	// Retract takes back exactly what Learn added for the same Example: Learn then Retract restores every count,
	// exactly for integer weights without decay, to 1e-12 of the total weight otherwise.
	Retract(ex *Example)
	// InputCount is the number of inputs that the component offers to the scorecard under the current structure.
	InputCount() int
	// Inputs writes InputCount() x classes log-lifts (nats; 0 = says nothing), input by input, into dst. It is pure.
	Inputs(row Row, dst []float64)
	// AppendState appends the component's state in its own binary form.
	AppendState(b []byte) []byte
	// LoadState replaces the state by what AppendState wrote. Hostile bytes give an error, never a panic; after an error
	// the component must be dropped.
	LoadState(b []byte) error
	// Rebase moves the component to the structure of a new Model (MODEL.md 2).
	Rebase(rb *Rebase) error
}

// Excluder is a Component that can say what it would of a record that it was fitted on, had the record not been there,
// so that the weights of its inputs can be learnt from the same records.
type Excluder interface {
	// InputsWithout writes what Inputs would of the record of the example.
	InputsWithout(ex *Example, dst []float64)
}

// Keyed is a Component whose inputs are known by what they are. The inputs of the others are known by their numbers.
type Keyed interface {
	// InputKeys appends a key for each input that the component offers, none below FirstKey: inputs of equal keys speak of
	// the same thing, whatever model, partition, number or schema they have.
	InputKeys(dst []uint64) []uint64
}

// FirstKey is the lowest key of an input that is known by what it is. Input j of a component that is not Keyed has key
// 1 + j.
const FirstKey = 1 << 32

// inputKeys returns the keys of the inputs that the components offer.
func inputKeys(components []Component) [][]uint64 {
	keys := make([][]uint64, len(components))
	for i, c := range components {
		if k, ok := c.(Keyed); ok {
			keys[i] = k.InputKeys(nil)
			continue
		}
		for j := range c.InputCount() {
			keys[i] = append(keys[i], uint64(1+j))
		}
	}
	return keys
}

// Rebase is what a component is given when a Model starts to serve.
type Rebase struct {
	// Part is the component's part of the Model, as its Fit returned it; it aliases the Model and must not be changed.
	Part []byte
	// Self is the input partition whose state the component holds.
	Self int32
	// Recode maps the level codes under which the state was built to the Model's.
	Recode Recode
	// Clock is the partition's labelled-record clock now.
	Clock float64
	// Since yields, oldest first, the labelled examples (recoded) that the partition learnt after the Model's offset
	// for it: what a table of new structure must learn on top of the Model's share for Self. A table whose structure did
	// not change keeps its own counts and must not learn them again.
	Since func(yield func(ex *Example) bool)
}

// Factory makes one kind of component or scorecard, and is the one place where its structure is searched.
type Factory interface {
	// Name keys the part in snapshots and models; it is stable for ever.
	Name() string
	// New returns an empty component that offers nothing until its first Rebase.
	New(levels *Levels) Component
	// Fit searches the structure on the evidence and returns the component's part of a Model. previous is the part of
	// the serving Model, nil when there is none, as after a change of the schema, when Evidence.Serving is what is left of
	// it; Fit starts from it and keeps what need not change, so that live counts carry over. It obeys ctx, may run while
	// other components learn, and gives the same bytes for the same evidence.
	Fit(ctx context.Context, ev *Evidence, previous []byte) ([]byte, error)
}

// Remark is what is to be known of a part besides that it was made.
type Remark struct {
	Outcome string // from a closed set, for metrics
	Text    string // for people
	Trouble bool   // somebody should know
}

// Remarker is a Factory that has something to say about the parts that its Fit returns.
type Remarker interface {
	// Remark is about a part, nil bytes excepted.
	Remark(part []byte) (Remark, error)
}

// Evidence is what a Fit sees: labelled, coded, weighted records, oldest first, and the partitions' own states.
// It is read-only and may be shared by concurrent Fits.
type Evidence struct {
	Schema *Schema
	Levels *Levels // canonical codes of Columns
	// Columns[f][i] is the Row cell of feature f in record i.
	Columns [][]float64
	Class   []int32   // at least 0
	Weight  []float64 // record weight times the number of records that it stands for
	Clock   []float64 // Example.Clock of the record in its partition
	Time    []int64   // Example.Time
	// Partition is the input partition of each record.
	Partition []int32
	// Recent is the index from which the records are the tails, a contiguous run; before it they are the reservoirs.
	// 0 when every record is here.
	Recent int
	// Sampled holds the partitions whose reservoir is a sample of what left the tail; that of the others is all of it.
	Sampled map[int32]bool
	// States holds, for each partition, the state of this component as AppendState wrote it, recoded lazily by the
	// component through Recodes; nil for evidence read from files.
	States  map[int32][]byte
	Recodes map[int32]Recode
	// Models is the version of the Model under which each state in States was built.
	Models map[int32]int64
	Seed   uint64
	// What follows is for the scorecard alone. Blocks says how many inputs each of the new components offers, Keys which
	// (see Keyed), nil when their numbers say it. The functions write those of a row, as Component.Inputs does, and those
	// of a record of the evidence as they would be had it not been there, as an Excluder says: Without has 0 of the
	// others, Offset what they say of the row. What a component learnt from these very records repeats their classes, so
	// that weights can be learnt from Without only. Inputs and Offset are nil when nothing is known of them, Without when
	// not Whole.
	Blocks  []int
	Keys    [][]uint64
	Inputs  func(row Row, dst []float64)
	Without func(ex *Example, dst []float64)
	Offset  func(ex *Example, dst []float64)
	// Whole says that the records are all that there is to learn from, as from files. In a stream the weights of inputs
	// are learnt from scores that were made before: records left out in turn have neighbours of their own time, those that
	// come have not.
	Whole bool
	// Exchangeable says that the order of the records has no meaning: they stand in one that is a function of their
	// multiset and the seed, Clock being the place in it and Time 0. A Fit treats none as older than another: nothing
	// fades from record to record. It gives the same bytes however the rows of a file are ordered.
	Exchangeable bool
	// Source is the number of each record in the order in which it was read, where that is another one; nil else.
	Source []int32
	// Keep asks a Fit to leave the structure and the fitted weights of previous as they are, and to bring only what the
	// partitions have learnt up to date: what Renew does with a model that has passed the gate.
	Keep bool
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
// those that have all features of a set; nil means all. Records that weigh more than others widen the bound by their
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

// Serving returns the state of the first partition that a published model serves; nil when there is none. Where that
// model is not at hand, since it was made under another schema, what is left of it lies there.
func (e *Evidence) Serving() (partition int32, state []byte) {
	partition = -1
	for n, v := range e.Models {
		if v > 0 && len(e.States[n]) > 0 && (partition < 0 || n < partition) {
			partition = n
		}
	}
	return partition, e.States[partition]
}

// Row copies record i into dst, which must have one cell a feature.
func (e *Evidence) Row(i int, dst Row) {
	for f := range e.Columns {
		dst[f] = e.Columns[f][i]
	}
}

// Scorecard joins the inputs of all components into calibrated propensities. It is a Component whose scores depend on
// the order in which it learns; the same rules hold.
type Scorecard interface {
	Component
	// SetInputs is told the keys of the inputs that each of the Spec's components offers, in their order (see Keyed),
	// whenever these may have changed: before the first Score and after every Rebase. What the scorecard has learnt of an
	// input belongs to its key.
	SetInputs(keys [][]uint64)
	// PendingLen is the length of what Score must remember of a record for its Learn, in float64s.
	PendingLen() int
	// Score writes the calibrated propensity of every class into p (sum 1, each in (0, 1)) and what LearnScored needs
	// into pending. inputs holds the components' inputs, input by input, classes innermost. It changes nothing.
	Score(row Row, inputs, pending, p []float64)
	// Remembers reports whether LearnScored can learn from pending alone, so that its inputs need not be there.
	Remembers(pending []float64) bool
	// LearnScored learns a record with the inputs as they were when it was scored. Where pending does not hold them they
	// are computed now, from inputs.
	LearnScored(ex *Example, inputs, pending []float64)
	// Explain appends the contributions to the calibrated log-odds of the class target, for the record for which pending
	// was filled: one Reason a feature, in schema order, then the named terms. They sum to ln(p/(1-p)) to 1e-9.
	Explain(row Row, pending []float64, target int32, dst []Reason) []Reason
	// BaseRate is the never-forgetting rate of the class.
	BaseRate(class int32) float64
}
