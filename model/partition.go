package model

import (
	"errors"
	"math"
	"slices"
)

// ErrModelForeign is returned when a model or a state was made under another schema or other options.
var ErrModelForeign = errors.New("made under another configuration")

// Partition is the deterministic state machine of one input partition (MODEL.md 1): three commands, Events,
// Labels and Swap, and nothing else, move it. It reads no clock and no random source. It is not safe for concurrent
// use.
type Partition struct {
	spec *Spec
	self int32

	levels     *Levels
	components []Component
	scorecard  Scorecard
	profiler   Profiler
	selector   Selector
	reasoner   Reasoner
	trained    bool
	version    int64 // of the serving model

	clock  float64
	seen   uint64
	next   int64 // event offset after the last message
	counts []float64
	square float64 // sum of the squared weights in counts
	lost   Losses

	tail      *tail
	reservoir *reservoir
	percent   percentile
	room      *room

	row     Row
	inputs  []float64
	pending []float64
	codes   [][]uint32 // batch-local level -> state level + 1, 0 = not looked up yet
	reasons []Reason
	order   []ranked
	rec     record // the record being taken in; a field, for what goes through an interface would move to the heap
	out     record
	edits   uint64
}

// NewPartition returns the empty state of an input partition.
func NewPartition(spec *Spec, partition int32) *Partition {
	n := len(spec.Schema.Features)
	p := &Partition{
		spec: spec, self: partition, levels: NewLevels(spec.Schema), next: -1,
		counts:    make([]float64, len(spec.Schema.Classes)),
		tail:      newTail(n, spec.Options.TailBytes),
		reservoir: newReservoir(n, spec.Options.ReservoirRecords, spec.Options.ReservoirBytes),
		room:      newRoom(spec.Options.WaitBytes, spec.Options.WaitWindow),
		row:       make(Row, n), codes: make([][]uint32, n), percent: newPercentile(),
	}
	p.install(newComponents(spec, p.levels))
	return p
}

func newComponents(spec *Spec, levels *Levels) ([]Component, Scorecard) {
	c := make([]Component, len(spec.Components))
	for i, f := range spec.Components {
		c[i] = f.New(levels)
	}
	return c, spec.Scorecard.New(levels).(Scorecard)
}

func (p *Partition) install(c []Component, s Scorecard) {
	p.components, p.scorecard, p.profiler, p.selector, p.reasoner = c, s, nil, nil, nil
	inputs := 0
	for _, x := range c {
		inputs += x.InputCount()
		if q, ok := x.(Profiler); ok {
			p.profiler = q
		}
		if q, ok := x.(Selector); ok {
			p.selector = q
		}
		if q, ok := x.(Reasoner); ok {
			p.reasoner = q
		}
	}
	s.SetInputs(inputKeys(c))
	p.inputs = make([]float64, inputs*len(p.spec.Schema.Classes))
	p.pending = make([]float64, s.PendingLen())
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

// Waiting is the number of bytes in the room where records wait for their labels: the metric liftstream_waiting_bytes.
func (p *Partition) Waiting() int64 { return p.room.bytes }

// Losses counts what could not be used.
func (p *Partition) Losses() Losses { return p.lost }

// Component returns the live component of that factory name, nil when there is none.
func (p *Partition) Component(name string) Component {
	for i, f := range p.spec.Components {
		if f.Name() == name {
			return p.components[i]
		}
	}
	if p.spec.Scorecard.Name() == name {
		return p.scorecard
	}
	return nil
}

// Events scores the batch into out and learns it, row by row: each record is scored before it or a later one is
// learnt. out is valid until the next call. An empty batch only moves NextOffset.
func (p *Partition) Events(b *Batch, out *Scores) {
	out.Reset(b.N, len(p.spec.Schema.Classes))
	out.Model = p.version
	for f := range p.codes {
		p.codes[f] = grow(p.codes[f], len(b.Columns[f].Levels))
	}
	for i := range b.N {
		p.code(b, i)
		p.event(b, i, out)
	}
	p.next = b.Offset + 1
}

// Row returns the values of the last record that Events was given; the next call overwrites them.
func (p *Partition) Row() Row { return p.row }

// code writes record i of the batch into p.row.
func (p *Partition) code(b *Batch, i int) {
	for f := range p.row {
		c := &b.Columns[f]
		if c.Float != nil {
			v := c.Float[i]
			if math.IsInf(v, 0) {
				v = math.NaN()
			}
			p.row[f] = v
			continue
		}
		l := c.Code[i]
		if l == MissingCode {
			p.row[f] = math.NaN()
			continue
		}
		if p.codes[f][l] == 0 {
			p.codes[f][l] = p.levels.Code(f, c.Levels[l]) + 1
		}
		p.row[f] = float64(p.codes[f][l] - 1)
	}
}

func (p *Partition) all() []Component { return append(slices.Clone(p.components), p.scorecard) }

func (p *Partition) factory(i int) Factory {
	if i < len(p.spec.Components) {
		return p.spec.Components[i]
	}
	return p.spec.Scorecard
}
