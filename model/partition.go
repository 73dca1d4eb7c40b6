package model

import (
	"errors"

	"liftstream/model/drift"
)

// ErrModelForeign is returned when a model or a state was made under another schema or other options.
var ErrModelForeign = errors.New("made under another configuration")

// Partition is the deterministic state machine of one input partition (MODEL.md 1): three commands, Events,
// Labels and Swap, and two that follow a person's order, Return and SetLearning, and nothing else, move it. It reads no
// clock and no random source. It is not safe for concurrent use.
type Partition struct {
	// Sieve leaves duplicates out of the batches before Events; nil = nothing does.
	Sieve *Sieve
	// Recency fills the features of former records before Events; nil = there are none.
	Recency *Recency

	spec *Spec
	self int32

	levels  *Levels
	scorer  scorer
	terms   []string
	trained bool
	version int64  // of the serving model
	still   bool   // nothing is learnt, see SetLearning
	given   uint64 // number of the newest order to return that was obeyed, see Return
	forgot  uint64 // number of the newest order to forget that was obeyed, see Forget
	watch   *drift.Watch

	clock  float64
	seen   uint64
	next   int64 // event offset after the last message
	counts classCounts
	lost   Losses
	closed uint64 // see ExpiryLearnt
	time   streamTime

	sample  sample
	percent percentile
	store   *pendingStore

	untreated untreatedShare
	uplift    *uplift   // nil = it is not estimated
	misfit    *misfit   // nil = no interval is asked for
	again     []float64 // result of rescore

	coder coder
	row   Row    // of coder
	text  []byte // the id in hand
	rec   record // the record being taken in; a field: passed through an interface, a variable would move to the heap
	edits uint64
}

// NewPartition returns the empty state of an input partition. It panics on a Spec that Check refuses.
func NewPartition(spec *Spec, partition int32) *Partition {
	p, err := newPartition(spec, partition)
	if err != nil {
		panic("model: " + err.Error())
	}
	return p
}

func newPartition(spec *Spec, partition int32) (*Partition, error) {
	p := &Partition{
		spec: spec, self: partition, levels: NewLevels(spec.Schema), next: -1,
		counts: newClassCounts(len(spec.Schema.Classes)),
		sample: newSample(spec, partition),
		store:  spec.Options.newStore().of(spec.Schema, spec.Options.Seed, partition),
		Sieve:  newSieve(&spec.Options), Recency: NewRecency(spec.Schema, spec.Options.Recency),
		watch: newWatch(spec),
		coder: newCoder(spec.Schema), percent: newPercentile(), terms: spec.terms(),
	}
	p.levels.spell(spec.Options.Spelling)
	p.store.goals = spec.goals()
	p.row = p.coder.row
	if spec.Options.Control.Uplift {
		p.uplift = newUplift(spec.Schema)
	}
	if spec.Options.Interval > 0 {
		p.misfit = newMisfit(spec.Schema)
	}
	components, scorecard, err := newComponents(spec, p.levels)
	if err != nil {
		return nil, err
	}
	p.scorer = newScorer(spec, components, scorecard)
	return p, nil
}

// newComponents returns empty components, and checks that no two have the same power.
func newComponents(spec *Spec, levels *Levels) ([]Component, Scorecard, error) {
	components := make([]Component, len(spec.Components))
	for i, f := range spec.Components {
		components[i] = f.New(levels)
	}
	if _, err := powersOf(spec, components); err != nil {
		return nil, nil, err
	}
	return components, spec.Scorecard.New(levels), nil
}

// Index is the number of the input partition.
func (p *Partition) Index() int32 { return p.self }

// ModelVersion is the version of the serving model; 0 before the first published one.
func (p *Partition) ModelVersion() int64 { return p.version }

// Trained reports whether scores are more than base rates.
func (p *Partition) Trained() bool { return p.trained }

// Levels is the level table with which Scores of this partition are rendered. It is valid until the next command.
func (p *Partition) Levels() *Levels { return p.levels }

// NextOffset is the offset after the last message that Events saw; -1 before the first.
func (p *Partition) NextOffset() int64 { return p.next }

// Labelled is the number of labelled records learnt so far: the partition's clock.
func (p *Partition) Labelled() float64 { return p.clock }

// Seen is the number of records that Events saw.
func (p *Partition) Seen() uint64 { return p.seen }

// Waiting is the number of bytes in the pending store, which Options.WaitBytes bounds.
func (p *Partition) Waiting() int64 { return p.store.held() }

// Losses counts records that could not be learnt.
func (p *Partition) Losses() Losses {
	lost := p.lost
	lost.Thinned = p.store.lost
	return lost
}

// ExpiryLearnt counts the records of Losses.Expired that were taken as Options.ExpireAs, and so are not lost. A state
// does not keep the number: a restored one begins at 0.
func ExpiryLearnt(p *Partition) uint64 { return p.closed }

// Component returns the live component of that factory name, nil when there is none.
func (p *Partition) Component(name string) Component {
	for i, f := range p.spec.Components {
		if f.Name() == name {
			return p.scorer.components[i]
		}
	}
	if p.spec.Scorecard.Name() == name {
		return p.scorer.scorecard
	}
	return nil
}

// Events scores the batch into out and learns it, row by row: each record is scored before it or a later one is
// learnt. out is valid until the next call. An empty batch only moves NextOffset.
func (p *Partition) Events(b *Batch, out *Scores) { EventsWhile(p, b, out, nil) }

// EventsWhile is p.Events, but it asks before each row whether to go on, with the number of the row. It returns false
// where it was told not to: the partition has learnt a part of the batch, and must be dropped.
func EventsWhile(p *Partition, b *Batch, out *Scores, more func(row int) bool) bool {
	out.Reset(b.N, len(p.spec.Schema.Classes))
	out.Model, out.Terms = p.version, p.terms
	p.spec.Options.Control.flag(b, out)
	p.coder.start(b)
	for i := range b.N {
		if more != nil && !more(i) {
			return false
		}
		p.coder.code(p.levels, b, i)
		p.event(b, i, out)
	}
	p.next = b.Offset + 1
	return true
}

// Row returns the values of the last record that Events was given; the next call overwrites them.
func (p *Partition) Row() Row { return p.row }
