package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// ErrModelTooOld is returned by Swap when the model ends before the tail begins, so that records in between would be
// missing from what the model restructures.
var ErrModelTooOld = errors.New("model is older than the tail")

// ErrModelForeign is returned when a model or a state was made under another schema or other options.
var ErrModelForeign = errors.New("made under another configuration")

// StateFormat is the version of the binary form of a Partition's state.
const StateFormat = 3

// oldestState is the oldest version that is read. It has neither the sum of squared weights, so that its records are
// taken to weigh 1, nor the lags of labels.
const oldestState = 2

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
	// Fingerprint names the schema and whatever else shapes states and models; both carry it, and others are refused.
	Fingerprint uint64
	// Frame names what of that is neither features nor classes: states of another schema can be carried over to this one
	// if it is the same.
	Frame            uint64
	Warmup           int   // labelled records before the first structure is built from the tail
	TailBytes        int64 // bound of the tail; at least 4,096 records are kept
	ReservoirRecords int
	ReservoirBytes   int64
	WaitBytes        int64 // bound of the room where records wait for their labels; 0 = unlabelled records do not wait
	WaitWindow       int64 // nanoseconds of record time after which a waiting record expires; 0 = never
	ExpireAs         int32 // class that an expired record is learnt as; Unlabelled = dropped
	Correct          bool  // a second label of the same record replaces the first
	Why              int   // reasons a score; negative = all, with the named terms
	Gate             float64
	Seed             uint64
}

// Section is one independently stored part of a Partition's state.
type Section struct {
	Name string
	// Version changes whenever the bytes do, within one process: a part of the same version need not be written again.
	Version uint64
	// Append appends the part's bytes. It must be called before the next command.
	Append func(b []byte) []byte
}

// Profiler is a Component that knows profiles.
type Profiler interface {
	// Profile returns the best known profile for the class that the row meets and that records held back from its search
	// bear out, and its lift on these; "" when it meets none. The text belongs to the component and stays valid.
	Profile(row Row, class int32) (text string, lift float64)
}

// Selector is a Component that knows which features matter for a record.
type Selector interface {
	// Select appends the features of the row's subspace, the most relevant first, and their relevance in nats; nothing
	// when no feature tells about the class there.
	Select(row Row, features []int32, relevance []float32) ([]int32, []float32)
}

// Reasoner is a Component that can have nothing to say of a record.
type Reasoner interface {
	// Reason says why the component has nothing to say of the row, in a word of a closed set that begins with the
	// component's name; "" when it has.
	Reason(row Row) string
}

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

// Losses counts what the state could not use: the metric liftstream_losses_total.
type Losses struct {
	UnknownClass uint64 // records whose label the configuration does not list: scored, not learnt
	Expired      uint64 // waiting records that left the room without a label
}

// LabelCounts says what became of labels.
type LabelCounts struct {
	Learnt    int
	Corrected int
	Repeated  int // the record has that class already, or corrections are off
	Unmatched int // no such record in the room
	Misrouted int // the label names another partition
	Unknown   int // class outside the configuration
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

func (p *Partition) event(b *Batch, i int, out *Scores) {
	p.seen++
	p.score(out, i)

	rec := &p.rec
	*rec = record{Example: Example{Row: p.row, Class: b.Label[i], Weight: 1, Clock: p.clock}, offset: b.Offset, row: int32(i)}
	if b.Weight != nil {
		rec.Weight = min(b.Weight[i], MaxWeight)
	}
	if b.Time != nil {
		rec.Time = b.Time[i]
	}
	if b.Row != nil {
		rec.row = b.Row[i]
	}
	if rec.Class == UnknownClass {
		p.lost.UnknownClass++
	}
	pending := p.pending
	if !p.trained {
		pending = nil
	}
	waits := p.spec.Options.WaitBytes > 0 && rec.Class != UnknownClass
	if rec.Class >= 0 {
		p.learn(rec, pending)
		waits = waits && p.spec.Options.Correct
		pending = nil
	}
	if waits {
		id := ""
		if b.ID != nil {
			id = b.ID[i]
		}
		p.room.admit(rec, id, pending, rec.Class >= 0)
		p.expire()
	}
}

// expire lets overdue records out of the room, as the configuration says.
func (p *Partition) expire() {
	for w := p.room.overdue(); w != nil; w = p.room.overdue() {
		if w.learnt {
			continue
		}
		p.lost.Expired++
		if p.spec.Options.ExpireAs >= 0 {
			w.Class = p.spec.Options.ExpireAs
			p.learn(&w.record, p.usable(w))
		}
	}
}

// usable returns what was remembered of a waiting record when it was scored, nil when that was before there was a
// structure. It outlives a change of cells: inputs are log-lifts by feature and horizon, whatever cells they came from.
func (p *Partition) usable(w *waiting) []float64 {
	if len(w.pending) != len(p.pending) {
		return nil
	}
	return w.pending
}

// learn adds one labelled record to everything; pending nil means that the inputs are computed now. The record comes
// with the clock at which it was scored.
func (p *Partition) learn(rec *record, pending []float64) {
	rec.lag = int32(min(max(p.clock-rec.Clock, 0), math.MaxInt32))
	rec.Clock = p.clock
	if rec.Weight <= 0 {
		return
	}
	if p.trained {
		if !p.scorecard.Remembers(pending) {
			p.fill(rec.Row)
		}
		for _, c := range p.components {
			c.Learn(&rec.Example)
		}
		p.scorecard.LearnScored(&rec.Example, p.inputs, pending)
	}
	first := p.counts[rec.Class] == 0
	p.counts[rec.Class] += rec.Weight
	p.square += rec.Weight * rec.Weight
	p.clock++
	if p.tail.push(rec, &p.out) {
		p.reservoir.add(&p.out, p.key(&p.out))
	}
	if p.version == 0 && p.classesSeen() > 1 && (!p.trained && p.warm(first) || p.trained && p.doubled()) {
		p.ownModel()
	}
}

// warm reports whether a partition without a structure tries to make one: at the end of the warm-up, at the first
// record of a class after it, and, as a fit can fail, at every multiple of it.
func (p *Partition) warm(first bool) bool {
	n := float64(max(p.spec.Options.Warmup, 1))
	return p.clock >= n && (first || math.Mod(p.clock, n) == 0)
}

// key decides whether the reservoir keeps the record.
func (p *Partition) key(r *record) uint64 {
	return Hash(p.spec.Options.Seed, uint64(p.self), uint64(r.offset), uint64(r.row))
}

// doubled reports whether the clock is the warm-up doubled once or up to coldDoublings times: the moments at which a
// partition that no published model serves yet looks at its own tail again, since cells cut from the first few hundred
// records are coarse.
func (p *Partition) doubled() bool {
	for k := 1; k <= coldDoublings; k++ {
		if p.clock == float64(p.spec.Options.Warmup<<k) {
			return true
		}
	}
	return false
}

func (p *Partition) classesSeen() (n int) {
	for _, c := range p.counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// fill computes the components' inputs of a row.
func (p *Partition) fill(row Row) {
	inputsOf(p.components, len(p.spec.Schema.Classes), row, p.inputs)
}

// ownModel builds model 0, or refines it, from the tail. A fit that fails changes nothing.
func (p *Partition) ownModel() {
	var states map[int32]map[string][]byte
	if p.trained {
		own := map[string][]byte{}
		for i, c := range p.all() {
			own["model/"+p.factory(i).Name()] = c.AppendState(nil)
		}
		states = map[int32]map[string][]byte{p.self: own}
	}
	parts, err := fitParts(context.Background(), p.spec, p.evidence(), states, nil)
	if err != nil {
		return
	}
	m := &Model{Fingerprint: p.spec.Options.Fingerprint, Levels: p.levels.Clone(), Parts: parts, Marks: map[int32]Mark{p.self: {Clock: p.clock}}}
	if p.rebase(m) == nil {
		p.trained = true
	}
}

// evidence is the partition's own sample, without states: what a first fit sees.
func (p *Partition) evidence() *Evidence {
	e := newEvidence(p.spec.Schema, p.levels, p.spec.Options.Seed)
	e.addReservoir(p.reservoir, p.self, nil)
	e.Recent = e.Len()
	var r record
	for n := p.tail.first; n < p.tail.next; n++ {
		p.tail.at(n, &r)
		e.add(&r, 1, p.self, nil)
	}
	return e
}

// minRelevance is the share of the largest contribution below which a feature is not part of the record's subspace
// where no component selects one.
const minRelevance = 0.2

// coldDoublings bounds how often model 0 is refined.
const coldDoublings = 4

// score writes the score of p.row into entry i.
func (p *Partition) score(out *Scores, i int) {
	classes := len(p.spec.Schema.Classes)
	prob := out.P[i*classes : (i+1)*classes]
	defer func() {
		out.SubspaceEnd[i] = int32(len(out.Subspace))
		out.WhyEnd[i] = int32(len(out.Why))
	}()
	if !p.trained {
		var n float64
		for _, c := range p.counts {
			n += c
		}
		unit := Unit(n, p.square)
		best := int32(0)
		for c := range prob {
			prob[c] = (p.counts[c] + unit) / (n + unit*float64(classes))
			if prob[c] > prob[best] {
				best = int32(c)
			}
		}
		out.Status[i], out.Segment[i], out.Target[i] = StatusUntrained, best, best
		if p.spec.Schema.Positive >= 0 {
			out.Target[i] = int32(p.spec.Schema.Positive)
		}
		out.BaseRate[i], out.Lift[i], out.ProfileLift[i] = prob[out.Target[i]], 1, math.NaN()
		return
	}
	p.fill(p.row)
	p.scorecard.Score(p.row, p.inputs, p.pending, prob)
	segment, target, top := int32(0), int32(p.spec.Schema.Positive), math.Inf(-1)
	for c := range prob {
		if prob[c] > prob[segment] {
			segment = int32(c)
		}
		if p.spec.Schema.Positive < 0 {
			if l := prob[c] / p.scorecard.BaseRate(int32(c)); l > top {
				target, top = int32(c), l
			}
		}
	}
	out.Segment[i], out.Target[i] = segment, target
	out.BaseRate[i] = p.scorecard.BaseRate(target)
	out.Lift[i] = prob[target] / out.BaseRate[i]
	out.Percentile[i] = p.percent.rank(target, prob[target])
	out.ProfileLift[i] = math.NaN()
	if p.profiler != nil {
		if text, lift := p.profiler.Profile(p.row, target); text != "" {
			out.Profile[i], out.ProfileLift[i] = text, lift
		}
	}
	p.explain(out, target)
	if p.allMissing() {
		out.Status[i], out.Reason[i] = StatusDegraded, ReasonAllMissing
	} else if p.reasoner != nil {
		if reason := p.reasoner.Reason(p.row); reason != "" {
			out.Status[i], out.Reason[i] = StatusDegraded, reason
		}
	}
}

// ReasonAllMissing is the reason of a degraded score of a record without a single value, whatever else there is to say.
// With what a Reasoner gives it is the closed set of reasons: those of the local part are its constants Reason....
const ReasonAllMissing = "all_missing"

func (p *Partition) allMissing() bool {
	for f, v := range p.row {
		if p.spec.Schema.Features[f].Use == UseScore && !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// explain appends the record's reasons and its subspace: what the Selector says, which can be nothing. Where no
// component is one, as in evaluations without it, the subspace is the features whose contribution to the target reaches
// minRelevance of the largest one, and relevance that ratio.
func (p *Partition) explain(out *Scores, target int32) {
	p.reasons = p.scorecard.Explain(p.row, p.pending, target, p.reasons[:0])
	features := p.reasons
	for n := len(features); n > 0 && features[n-1].Feature < 0; n-- {
		features = features[:n-1]
	}
	terms := p.reasons[len(features):]
	// Insertion sort of what is small: a few dozen entries, no allocation, and equal effects stay in configuration order.
	p.order = p.order[:0]
	for i := range features {
		x := ranked{math.Abs(features[i].Effect), int32(i)}
		p.order = append(p.order, x)
		at := i
		for ; at > 0 && p.order[at-1].size < x.size; at-- {
			p.order[at] = p.order[at-1]
		}
		p.order[at] = x
	}
	if p.selector != nil {
		out.Subspace, out.Relevance = p.selector.Select(p.row, out.Subspace, out.Relevance)
	} else if len(features) > 0 && p.order[0].size > 0 {
		for _, x := range p.order {
			rel := x.size / p.order[0].size
			if rel < minRelevance {
				break
			}
			out.Subspace = append(out.Subspace, features[x.at].Feature)
			out.Relevance = append(out.Relevance, float32(rel))
		}
	}
	why := len(features)
	if w := p.spec.Options.Why; w >= 0 {
		why, terms = min(w, why), nil
	}
	for _, x := range p.order[:why] {
		out.Why = append(out.Why, features[x.at])
	}
	out.Why = append(out.Why, terms...)
}

// ranked is a reason's place by the size of its effect.
type ranked struct {
	size float64
	at   int32
}

// Labels learns late labels: of the newest record with that id, or of the record at that position. A class of
// Unlabelled is ignored. Labels of records that are not in the room are counted, not kept.
func (p *Partition) Labels(l *Labels) (c LabelCounts) {
	for i := range l.N {
		class := l.Class[i]
		if class < 0 {
			if class == UnknownClass {
				c.Unknown++
			}
			continue
		}
		var w *waiting
		if l.ID != nil {
			w = p.room.find(l.ID[i], place{}, true)
		} else {
			if l.Partition[i] != p.self {
				c.Misrouted++
				continue
			}
			w = p.room.find("", place{l.Offset[i], l.Row[i]}, false)
		}
		switch {
		case w == nil:
			c.Unmatched++
		case !w.learnt:
			w.Class = class
			p.learn(&w.record, p.usable(w))
			c.Learnt++
			p.settle(w)
		case w.Class == class || !p.spec.Options.Correct:
			c.Repeated++
		default:
			p.correct(w, class)
			c.Corrected++
		}
	}
	if l.Time != nil {
		for _, t := range l.Time[:l.N] {
			p.room.newest = max(p.room.newest, t)
		}
	}
	p.expire()
	return c
}

// settle keeps a record that was learnt from the room as long as it may be corrected, without what only scoring needs.
func (p *Partition) settle(w *waiting) {
	if !p.spec.Options.Correct {
		p.room.remove(w)
		return
	}
	p.room.settle(w)
}

// correct replaces the class that a record was learnt with, in the counts with the weight of its position and in the
// sample; the scorecard's weights, a path of gradient steps, keep what they learnt.
func (p *Partition) correct(w *waiting, class int32) {
	if w.Weight > 0 {
		if p.trained {
			for _, c := range p.all() {
				c.Retract(&w.Example)
			}
		}
		p.counts[w.Class] -= w.Weight
		w.Class = class
		if p.trained {
			for _, c := range p.all() {
				c.Learn(&w.Example)
			}
		}
		p.counts[class] += w.Weight
		if !p.tail.relabel(w.Clock, class) {
			p.reservoir.relabel(p.key(&w.record), class)
		}
	}
	w.Class = class
}

func (p *Partition) all() []Component { return append(slices.Clone(p.components), p.scorecard) }

// Swap makes m the serving model: structure is the model's, counts are the model's and this partition's own since the
// model's mark. A model that is refused (ErrModelTooOld, ErrModelForeign, or damaged) changes nothing.
func (p *Partition) Swap(m *Model) error {
	if m.Fingerprint != p.spec.Options.Fingerprint {
		return fmt.Errorf("swapping to model %d: %w", m.Version, ErrModelForeign)
	}
	if p.tail.len() > 0 && p.tail.clock[p.tail.first%p.tail.capacity] > p.marked(m.Marks) {
		return fmt.Errorf("swapping to model %d: %w", m.Version, ErrModelTooOld)
	}
	if err := p.rebase(m); err != nil {
		return fmt.Errorf("swapping to model %d: %w", m.Version, err)
	}
	p.version, p.trained = m.Version, true
	return nil
}

// marked is the clock up to which marks have seen this partition. A mark that lies ahead is of another history, as that
// of a state which is lost: of what this one has learnt the model knows nothing.
func (p *Partition) marked(marks map[int32]Mark) float64 {
	if clock := marks[p.self].Clock; clock <= p.clock {
		return clock
	}
	return 0
}

// rebase moves copies of the components to the model, so that an error leaves the partition as it was.
func (p *Partition) rebase(m *Model) error {
	levels := m.Levels.Clone()
	rc := levels.Merge(p.levels)
	components, scorecard := newComponents(p.spec, levels)
	moved := append(slices.Clone(components), Component(scorecard))
	for i, c := range p.all() {
		name := p.factory(i).Name()
		part, ok := m.Parts[name]
		if !ok {
			return fmt.Errorf("model has no part %q", name)
		}
		if err := moved[i].LoadState(c.AppendState(nil)); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
		mark := p.marked(m.Marks)
		if i == len(components) && m.Shares != nil {
			mark = p.marked(m.Shares)
		}
		rb := &Rebase{Part: part, Self: p.self, Recode: rc, Clock: p.clock, Since: func(yield func(ex *Example) bool) {
			p.tail.since(mark, rc, yield)
		}}
		if err := moved[i].Rebase(rb); err != nil {
			return fmt.Errorf("rebasing %s: %w", name, err)
		}
	}
	scores, err := readPercentilePart(m.Parts[PartPercentile], len(p.counts))
	if err != nil {
		return err
	}
	p.percent.rebase(scores, p.self)
	p.tail.recode(rc)
	p.reservoir.recode(rc)
	p.room.recode(rc)
	p.levels = levels
	p.install(components, scorecard)
	return nil
}

func (p *Partition) factory(i int) Factory {
	if i < len(p.spec.Components) {
		return p.spec.Components[i]
	}
	return p.spec.Scorecard
}

// Sections returns the whole state in independent parts with stable names. Reading them changes nothing.
func (p *Partition) Sections() []Section {
	p.edits++ // parts without a version of their own count as changed at every look
	s := []Section{
		{"core", p.edits, p.appendCore},
		{SectionSchema, 1, p.spec.appendOrigin},
		{"levels", p.edits, p.levels.AppendBinary},
		{"percentile", p.edits, p.percent.appendState},
		{"reservoir", p.reservoir.version, p.reservoir.appendState},
	}
	for i, c := range p.all() {
		s = append(s, Section{"model/" + p.factory(i).Name(), p.edits, c.AppendState})
	}
	for c := range p.tail.version {
		s = append(s, Section{tailName(c), p.tail.version[c], func(b []byte) []byte { return p.tail.appendChunk(b, c) }})
	}
	lo, hi := p.room.chunks()
	for c := lo; c < hi; c++ {
		s = append(s, Section{roomName(c), p.room.version[c], func(b []byte) []byte { return p.room.appendChunk(b, c) }})
	}
	return s
}

// Snapshot returns the bytes of all Sections by name.
func (p *Partition) Snapshot() map[string][]byte {
	m := map[string][]byte{}
	for _, s := range p.Sections() {
		m[s.Name] = s.Append(nil)
	}
	return m
}

func (p *Partition) appendCore(b []byte) []byte {
	b = wire.AppendUvarint(b, StateFormat)
	b = wire.AppendUvarint(b, p.spec.Options.Fingerprint)
	b = wire.AppendVarint(b, int64(p.self))
	b = wire.AppendBool(b, p.trained)
	b = wire.AppendVarint(b, p.version)
	b = wire.AppendFloat(b, p.clock)
	b = wire.AppendUvarint(b, p.seen)
	b = wire.AppendVarint(b, p.next)
	b = wire.AppendFloats(b, p.counts)
	b = wire.AppendFloat(b, p.square)
	b = wire.AppendUvarint(b, p.lost.UnknownClass)
	b = wire.AppendUvarint(b, p.lost.Expired)
	b = wire.AppendUvarint(b, p.tail.capacity)
	b = wire.AppendUvarint(b, p.tail.first)
	b = wire.AppendUvarint(b, p.tail.next)
	b = wire.AppendUvarint(b, uint64(len(p.tail.class)))
	b = wire.AppendUvarint(b, p.reservoir.seen)
	b = wire.AppendUvarint(b, p.room.first)
	b = wire.AppendUvarint(b, p.room.next())
	return wire.AppendVarint(b, p.room.newest)
}

// head is what the section "core" begins with.
type head struct {
	format, fingerprint uint64
	self                int32
	trained             bool
	version             int64
	clock               float64
}

func readHead(r *wire.Reader) (h head, err error) {
	if h.format = r.Uvarint(); r.Err() == nil && (h.format < oldestState || h.format > StateFormat) {
		return h, fmt.Errorf("format %d, this build reads %d to %d", h.format, oldestState, StateFormat)
	}
	h.fingerprint, h.self = r.Uvarint(), int32(r.Varint())
	h.trained, h.version, h.clock = r.Bool(), r.Varint(), r.Float()
	if err := r.Err(); err != nil {
		return h, fmt.Errorf("decoding core: %w", err)
	}
	return h, nil
}

// RestorePartition rebuilds a partition from the bytes of its Sections. Foreign or damaged ones give an error.
func RestorePartition(spec *Spec, sections map[string][]byte) (*Partition, error) {
	r := wire.NewReader(sections["core"])
	head, err := readHead(r)
	if err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if head.fingerprint != spec.Options.Fingerprint {
		return nil, fmt.Errorf("restoring state: %w", ErrModelForeign)
	}
	p := NewPartition(spec, head.self)
	p.trained, p.version = head.trained, head.version
	p.clock, p.seen, p.next = head.clock, r.Uvarint(), r.Varint()
	r.FloatsInto(p.counts)
	if head.format > oldestState {
		p.square = r.Float()
	} else {
		for _, c := range p.counts {
			p.square += c
		}
	}
	p.lost = Losses{r.Uvarint(), r.Uvarint()}
	capacity, first, next, slots := r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Int(math.MaxInt32)
	offered := r.Uvarint()
	roomFirst, roomNext, newest := r.Uvarint(), r.Uvarint(), r.Varint()
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("restoring state: decoding core: %w", err)
	}
	lr := wire.NewReader(sections["levels"])
	levels, err := DecodeLevels(spec.Schema, lr)
	if err == nil {
		err = lr.Done()
	}
	if err != nil {
		return nil, fmt.Errorf("restoring state: decoding levels: %w", err)
	}
	p.levels = levels
	components, scorecard := newComponents(spec, levels)
	for i, c := range append(slices.Clone(components), Component(scorecard)) {
		name := p.factory(i).Name()
		if err := c.LoadState(sections["model/"+name]); err != nil {
			return nil, fmt.Errorf("restoring state: decoding %s: %w", name, err)
		}
	}
	p.install(components, scorecard)
	section := func(name string) []byte { return sections[name] }
	n, classes := len(spec.Schema.Features), len(spec.Schema.Classes)
	for _, err := range []error{
		p.reservoir.load(sections["reservoir"], offered, n, classes), // before the tail, a shorter one of which adds to it
		p.loadTail(head.format, capacity, first, next, slots, section),
		p.percent.load(head.format, sections["percentile"], classes, spec.Schema.Positive),
		p.room.load(roomFirst, roomNext, newest, n, classes, len(p.pending), section),
	} {
		if err != nil {
			return nil, fmt.Errorf("restoring state: %w", err)
		}
	}
	if err := p.checkRecords(); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	return p, nil
}

// checkRecords checks what tables are indexed by: level codes, and clocks, which are consecutive in the tail.
func (p *Partition) checkRecords() error {
	valid := func(row []float64, clock float64) bool {
		for f, v := range row {
			if math.IsInf(v, 0) || p.spec.Schema.Features[f].Kind != Continuous && !(math.IsNaN(v) || v >= 0 && v <= MaxLevels && v == math.Trunc(v)) {
				return false
			}
		}
		return clock >= 0 && clock <= 1<<53
	}
	if !valid(nil, p.clock) {
		return fmt.Errorf("clock %v", p.clock)
	}
	n := p.tail.features
	for i, clock := range p.tail.clock {
		if !valid(p.tail.rows[i*n:(i+1)*n], clock) {
			return fmt.Errorf("the tail holds an impossible record in slot %d", i)
		}
	}
	for k := p.tail.first; k < p.tail.next; k++ {
		if want := p.tail.clock[p.tail.first%p.tail.capacity] + float64(k-p.tail.first); p.tail.clock[k%p.tail.capacity] != want {
			return fmt.Errorf("record %d of the tail has clock %v, want %v", k, p.tail.clock[k%p.tail.capacity], want)
		}
	}
	for i := range p.reservoir.items {
		if x := &p.reservoir.items[i]; !valid(x.Row, x.Clock) {
			return fmt.Errorf("the reservoir holds an impossible record %d", i)
		}
	}
	for i, w := range p.room.entries {
		if w != nil && !valid(w.Row, w.Clock) {
			return fmt.Errorf("the room holds an impossible record %d", i)
		}
	}
	return nil
}

// loadTail reads a tail that may have been written under another bound.
func (p *Partition) loadTail(format, capacity, first, next uint64, slots int, section func(string) []byte) error {
	if capacity == p.tail.capacity {
		return p.tail.load(format, first, next, slots, len(p.counts), section)
	}
	if capacity == 0 || capacity > 1<<40 {
		return fmt.Errorf("tail of %d records", capacity)
	}
	old := &tail{features: p.tail.features, capacity: capacity}
	if err := old.load(format, first, next, slots, len(p.counts), section); err != nil {
		return err
	}
	var r record
	for n := old.first; n < old.next; n++ {
		old.at(n, &r)
		if p.tail.push(&r, &p.out) {
			p.reservoir.add(&p.out, p.key(&p.out))
		}
	}
	return nil
}
