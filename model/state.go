package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model/wire"
)

// StateFormat is the version of the binary form of a Partition's state.
const StateFormat = 4

// beforeStreamTime is the last version in which the time of a state was the largest that any record had told.
const beforeStreamTime = 3

// oldestState is the oldest version that is read. It has neither the sum of squared weights, so that its records are
// taken to weigh 1, nor the lags of labels.
const oldestState = 2

// Section is one independently stored part of a Partition's state.
type Section struct {
	Name string
	// Version changes whenever the bytes do, within one process: a part of the same version need not be written again.
	Version uint64
	// Append appends the part's bytes. It must be called before the next command.
	Append func(b []byte) []byte
}

// Sections returns the whole state in independent parts with stable names. Reading them changes nothing.
func (p *Partition) Sections() []Section {
	p.edits++ // parts without a version of their own count as changed at every look
	s := []Section{
		{"core", p.edits, p.appendCore},
		{SectionSchema, 1, p.spec.appendOrigin},
		{SectionLevels, p.edits, p.levels.AppendBinary},
		{"percentile", p.edits, p.percent.appendState},
		{"reservoir", p.sample.reservoir.version, p.sample.reservoir.appendState},
	}
	for i, c := range p.scorer.all() {
		s = append(s, Section{sectionOf(p.spec.name(i)), p.edits, c.AppendState})
	}
	for c, version := range p.sample.tail.version {
		s = append(s, Section{tailName(c), version, func(b []byte) []byte { return p.sample.tail.appendChunk(b, c) }})
	}
	lo, hi := p.store.chunks()
	for c := lo; c < hi; c++ {
		s = append(s, Section{pendingName(c), p.store.version[c], func(b []byte) []byte { return p.store.appendChunk(b, c) }})
	}
	if p.Sieve != nil {
		s = append(s, p.Sieve.sections(p.edits)...)
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
	b = wire.AppendFloats(b, p.counts.sum)
	b = wire.AppendFloat(b, p.counts.square)
	b = wire.AppendUvarint(b, p.lost.UnknownClass)
	b = wire.AppendUvarint(b, p.lost.Expired)
	b = wire.AppendUvarint(b, p.sample.tail.capacity)
	b = wire.AppendUvarint(b, p.sample.tail.first)
	b = wire.AppendUvarint(b, p.sample.tail.next)
	b = wire.AppendUvarint(b, uint64(len(p.sample.tail.class)))
	b = wire.AppendUvarint(b, p.sample.reservoir.seen)
	b = wire.AppendUvarint(b, p.store.first)
	b = wire.AppendUvarint(b, p.store.next())
	return p.time.append(b)
}

// componentSections begins the name of a section of a component.
const componentSections = "model/"

func sectionOf(component string) string { return componentSections + component }

// made reports whether a state was made by exactly the components of the Spec.
func (s *Spec) made(sections map[string][]byte) bool {
	n := 0
	for name := range sections {
		if strings.HasPrefix(name, componentSections) {
			n++
		}
	}
	for i := range len(s.Components) + 1 {
		if _, ok := sections[sectionOf(s.name(i))]; !ok {
			return false
		}
	}
	return n == len(s.Components)+1
}

// head is the beginning of the section "core".
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
	p, err := newPartition(spec, head.self)
	if err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	p.trained, p.version = head.trained, head.version
	p.clock, p.seen, p.next = head.clock, r.Uvarint(), r.Varint()
	r.FloatsInto(p.counts.sum)
	if head.format > oldestState {
		p.counts.square = r.Float()
	} else {
		for _, c := range p.counts.sum {
			p.counts.square += c
		}
	}
	p.lost = Losses{r.Uvarint(), r.Uvarint()}
	capacity, first, next, slots := r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Int(math.MaxInt32)
	offered := r.Uvarint()
	pendingFirst, pendingNext := r.Uvarint(), r.Uvarint()
	var newest int64
	if head.format > beforeStreamTime {
		p.time = readStreamTime(r)
	} else {
		newest = r.Varint()
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("restoring state: decoding core: %w", err)
	}
	lr := wire.NewReader(sections[SectionLevels])
	levels, err := DecodeLevels(spec.Schema, lr)
	if err == nil {
		err = lr.Done()
	}
	if err != nil {
		return nil, fmt.Errorf("restoring state: decoding levels: %w", err)
	}
	levels.spell(spec.Options.Spelling)
	p.levels = levels
	if p.Sieve, err = loadSieve(sections); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	components, scorecard, err := newComponents(spec, levels)
	if err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	for i, c := range append(slices.Clone(components), Component(scorecard)) {
		name := p.spec.name(i)
		b, ok := sections[sectionOf(name)]
		if !ok && i < len(components) {
			continue // the state was made without it: it stays empty until the next model
		}
		if err := c.LoadState(b); err != nil {
			return nil, fmt.Errorf("restoring state: decoding %s: %w", name, err)
		}
	}
	p.scorer = newScorer(spec, components, scorecard)
	pending := len(p.scorer.pending)
	if !spec.made(sections) {
		pending = noPending
	}
	section := func(name string) []byte { return sections[name] }
	n, classes := len(spec.Schema.Features), len(spec.Schema.Classes)
	for _, err := range []error{
		p.sample.reservoir.load(sections["reservoir"], offered, n, classes), // before loadTail, which may add to it
		p.sample.loadTail(head.format, capacity, first, next, slots, classes, section),
		p.percent.load(head.format, sections["percentile"], classes, spec.Schema.Positive),
		p.store.load(head.format, pendingFirst, pendingNext, n, classes, pending, section),
	} {
		if err != nil {
			return nil, fmt.Errorf("restoring state: %w", err)
		}
	}
	if err := checkRecords(spec.Schema, p.clock, &p.sample, p.store); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if head.format <= beforeStreamTime {
		heal(p, newest)
	}
	return p, nil
}

// checkRecords checks the indices of tables: level codes, and clocks.
func checkRecords(schema *Schema, clock float64, s *sample, store *pendingStore) error {
	if !schema.possible(nil, clock) {
		return fmt.Errorf("clock %v", clock)
	}
	if err := s.check(schema); err != nil {
		return err
	}
	for i, w := range store.entries {
		if w != nil && !schema.possible(w.Row, w.Clock) {
			return fmt.Errorf("the pending store holds an impossible record %d", i)
		}
	}
	return nil
}

// possible reports whether a record can have this row and clock: no infinity, codes of levels, and a clock of at most
// 2^53, up to which a float64 counts exactly.
func (s *Schema) possible(row []float64, clock float64) bool {
	for f, v := range row {
		code := math.IsNaN(v) || v >= 0 && v <= MaxLevels && v == math.Trunc(v)
		if math.IsInf(v, 0) || s.Features[f].Kind != Continuous && !code {
			return false
		}
	}
	return clock >= 0 && clock <= 1<<53
}
