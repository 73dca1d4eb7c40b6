package model

import (
	"context"
	"errors"
)

// ErrModelTooOld is returned by Swap when the model's offset for the partition lies before what the tail still holds and
// the model's structure needs those records.
var ErrModelTooOld = errors.New("model is older than the tail")

// ErrModelForeign is returned by Swap when the model was made under another schema or other options.
var ErrModelForeign = errors.New("model was made under another configuration")

// Spec is what a stage is made of: the schema, the components, and the sizes. It is immutable and shared by all
// partitions and by the trainer.
type Spec struct {
	Schema     *Schema
	Scorecard  Factory // its New returns a Scorecard
	Components []Factory
	Options    Options
}

// Options are the sizes and choices of a Partition and of Fit.
type Options struct {
	Warmup           int   // labelled records before the first structure is built from the tail
	TailBytes        int64 // bound of the tail
	ReservoirRecords int
	ReservoirBytes   int64
	WaitBytes        int64 // bound of the room where records wait for their labels; 0 = unlabelled records do not wait
	WaitWindow       int64 // nanoseconds after which a waiting record expires
	ExpireAs         int32 // class that an expired record is learnt as, Unlabelled = dropped
	Correct          bool  // a second label of the same record replaces the first
	Why              int   // reasons a score; -1 = all, with the named terms
	Gate             float64
	Seed             uint64
}

// Section is one independently stored part of a Partition's state.
type Section struct {
	Name string
	Data []byte
}

// Partition is the deterministic state machine of one input partition (DESIGN, first section): three commands, and
// nothing else, move it. It is not safe for concurrent use.
type Partition struct{}

// LabelCounts says what became of labels.
type LabelCounts struct {
	Learnt, Corrected, Repeated, Unmatched, Expired int
}

// NewPartition returns the empty state of an input partition.
func NewPartition(spec *Spec, partition int32) *Partition { panic("being written") }

// Events scores the batch into out and then learns it, row by row: each record is scored before it or a later one is
// learnt. out is valid until the next call.
func (p *Partition) Events(b *Batch, out *Scores) {}

// Labels learns late labels.
func (p *Partition) Labels(l *Labels) (c LabelCounts) { return }

// Swap makes m the serving model.
func (p *Partition) Swap(m *Model) error { return nil }

// ModelVersion is the version of the serving model; 0 before the first published one.
func (p *Partition) ModelVersion() int64 { return 0 }

// Levels is the level table with which Scores of this partition are rendered.
func (p *Partition) Levels() *Levels { return nil }

// NextOffset is the offset after the last message that Events saw; -1 before the first.
func (p *Partition) NextOffset() int64 { return -1 }

// Labelled is the number of labelled records learnt so far: the partition's clock.
func (p *Partition) Labelled() float64 { return 0 }

// Sections appends the whole state in independent parts. Their names are stable.
func (p *Partition) Sections() []Section { return nil }

// RestorePartition rebuilds a partition from Sections. serving is the model whose version the state names (ask
// SectionsModel), nil for version 0.
func RestorePartition(spec *Spec, partition int32, sections []Section, serving *Model) (*Partition, error) {
	return nil, nil
}

// SectionsModel returns the version of the model under which the sections were written.
func SectionsModel(sections []Section) (int64, error) { return 0, nil }

// Fit makes a new model from the partitions' states: it merges them in partition order, fits every factory, and compares
// the result with the serving model on the newest labelled slice. previous is the serving model, nil before the first;
// models returns an older model by version, for states that still run under it. accepted is false when the gate
// refused the result, which is returned all the same.
func Fit(ctx context.Context, spec *Spec, states map[int32][]Section, previous *Model, models func(version int64) *Model) (m *Model, accepted bool, err error) {
	return nil, false, nil
}
