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
	if len(p.percent.ring)+len(p.percent.others) > 0 {
		s = append(s, Section{sectionFine, p.edits, p.percent.appendFine})
	}
	for i, c := range p.scorer.all() {
		s = append(s, Section{sectionOf(p.spec.name(i)), p.edits, c.AppendState})
	}
	for c, version := range p.sample.tail.version {
		s = append(s, Section{tailName(c), version, func(b []byte) []byte { return p.sample.tail.appendChunk(b, c) }})
	}
	s = append(s, p.sample.idSections()...)
	s = append(s, p.store.sections()...)
	if p.still {
		s = append(s, Section{sectionStill, p.edits, func(b []byte) []byte { return wire.AppendUvarint(b, stillFormat) }})
	}
	if p.given > 0 {
		s = append(s, Section{sectionReturned, p.edits, func(b []byte) []byte { return appendReturned(b, p.given) }})
	}
	if p.forgot > 0 {
		s = append(s, Section{SectionForgot, p.edits, func(b []byte) []byte { return appendForgot(b, p.forgot) }})
	}
	if h := waitingHeadOf(p); h != (waitingHead{}) {
		s = append(s, Section{sectionWaiting, p.edits, h.append})
	}
	if p.spec.Options.Control.tells() {
		s = append(s, Section{sectionUntreated, p.edits, p.untreated.append})
	}
	if p.uplift != nil {
		s = append(s, Section{sectionUplift, p.edits, p.uplift.append})
	}
	if p.misfit != nil {
		s = append(s, Section{sectionMisfit, p.edits, p.misfit.append})
	}
	if p.watch != nil {
		s = append(s, Section{sectionWatch, p.edits, p.watch.AppendBinary})
	}
	if p.Sieve != nil {
		s = append(s, p.Sieve.sections(p.edits)...)
	}
	if p.Recency != nil {
		s = append(s, p.Recency.sections(p.edits)...)
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
	b = wire.AppendUvarint(b, p.store.next)
	return p.time.append(b)
}

// componentSections begins the name of a section of a component.
const componentSections = "model/"

func sectionOf(component string) string { return componentSections + component }

// made reports whether a state of these sections was made by exactly the components of the Spec.
func (s *Spec) made(names []string) bool {
	n := 0
	for _, name := range names {
		if strings.HasPrefix(name, componentSections) {
			n++
		}
	}
	for i := range len(s.Components) + 1 {
		if !slices.Contains(names, sectionOf(s.name(i))) {
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

// core is the section "core".
type core struct {
	head
	seen                      uint64
	next                      int64
	counts                    classCounts
	lost                      Losses
	capacity, first, end      uint64 // of the tail
	slots                     int
	offered                   uint64 // to the reservoir
	pendingFirst, pendingNext uint64
	time                      streamTime
	newest                    int64 // up to beforeStreamTime, in place of time
}

// readCore reads the section "core" of a state of this configuration.
func (s *Spec) readCore(b []byte) (*core, error) {
	r := wire.NewReader(b)
	c := &core{counts: newClassCounts(len(s.Schema.Classes))}
	var err error
	if c.head, err = readHead(r); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if c.fingerprint != s.Options.Fingerprint {
		return nil, fmt.Errorf("restoring state: %w", ErrModelForeign)
	}
	c.seen, c.next = r.Uvarint(), r.Varint()
	r.FloatsInto(c.counts.sum)
	if c.format > oldestState {
		c.counts.square = r.Float()
	} else {
		for _, n := range c.counts.sum {
			c.counts.square += n
		}
	}
	c.lost = Losses{UnknownClass: r.Uvarint(), Expired: r.Uvarint()}
	c.capacity, c.first, c.end, c.slots = r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Int(math.MaxInt32)
	c.offered = r.Uvarint()
	c.pendingFirst, c.pendingNext = r.Uvarint(), r.Uvarint()
	if c.format > beforeStreamTime {
		c.time = readStreamTime(r)
	} else {
		c.newest = r.Varint()
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("restoring state: decoding core: %w", err)
	}
	if !s.Schema.possible(nil, c.clock) {
		return nil, fmt.Errorf("restoring state: clock %v", c.clock)
	}
	return c, nil
}

// readLevels reads the section "levels".
func (s *Spec) readLevels(b []byte) (*Levels, error) {
	r := wire.NewReader(b)
	levels, err := DecodeLevels(s.Schema, r)
	if err == nil {
		err = r.Done()
	}
	if err != nil {
		return nil, fmt.Errorf("restoring state: decoding levels: %w", err)
	}
	levels.spell(s.Options.Spelling)
	return levels, nil
}

// reader calls use with the bytes of a section, which belong to use until it returns.
type reader func(section string, use func(b []byte) error) error

// restoreSample reads the records of a state that was made under s into an empty sample, section by section.
func (c *core) restoreSample(s *Spec, read reader, out *sample) error {
	n, classes := len(s.Schema.Features), len(s.Schema.Classes)
	var ids []byte
	err := read(idsName(idsReservoir), func(b []byte) error {
		ids = slices.Clone(b)
		return nil
	})
	if err == nil {
		err = read("reservoir", func(b []byte) error { // before loadTail, which may add to it
			return out.reservoir.load(b, ids, c.offered, n, classes)
		})
	}
	if err == nil {
		err = out.loadTail(c.format, c.capacity, c.first, c.end, c.slots, classes, read)
	}
	if err == nil {
		err = out.check(s.Schema)
	}
	if err != nil {
		return fmt.Errorf("restoring state: %w", err)
	}
	return nil
}

// restorePercentile reads the section "percentile".
func (c *core) restorePercentile(s *Spec, b []byte) (percentile, error) {
	q := newPercentile()
	if err := q.load(c.format, b, len(s.Schema.Classes), s.Schema.Positive); err != nil {
		return q, fmt.Errorf("restoring state: %w", err)
	}
	return q, nil
}

// RestorePartition rebuilds a partition from the bytes of its Sections. Foreign or damaged ones give an error.
func RestorePartition(spec *Spec, sections map[string][]byte) (*Partition, error) {
	return stored{Held{0: sections}, 0}.restore(spec)
}

// restorePartition rebuilds a partition from the sections of these names.
func restorePartition(spec *Spec, names []string, read reader) (*Partition, error) {
	var c *core
	err := read("core", func(b []byte) (err error) {
		c, err = spec.readCore(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	p, err := newPartition(spec, c.self)
	if err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	p.trained, p.version, p.clock, p.seen, p.next = c.trained, c.version, c.clock, c.seen, c.next
	p.counts, p.lost, p.time = c.counts, c.lost, c.time
	err = read(SectionLevels, func(b []byte) (err error) {
		p.levels, err = spec.readLevels(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.Sieve, err = loadSieve(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.given, err = loadReturned(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.Recency, err = loadRecency(spec, names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.forgot, err = loadForgot(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.still, err = loadStill(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if err := p.untreated.load(&spec.Options, names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if err := p.uplift.load(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if err := p.misfit.load(names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.watch, err = loadWatch(spec, names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if p.scorer, err = loadScorer(spec, p.levels, names, read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if err := c.restoreSample(spec, read, &p.sample); err != nil {
		return nil, err
	}
	err = read("percentile", func(b []byte) (err error) {
		p.percent, err = c.restorePercentile(spec, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.percent.loadFine(read); err != nil {
		return nil, fmt.Errorf("restoring state: %w", err)
	}
	if err := c.restoreStore(p, names, read); err != nil {
		return nil, err
	}
	if c.format <= beforeStreamTime {
		heal(p, c.newest)
	}
	return p, nil
}

// loadScorer reads the sections of the components. Those of a component without one stay empty until the next model.
func loadScorer(spec *Spec, levels *Levels, names []string, read reader) (s scorer, err error) {
	components, scorecard, err := newComponents(spec, levels)
	if err != nil {
		return s, err
	}
	for i, c := range append(slices.Clone(components), Component(scorecard)) {
		name := spec.name(i)
		if i < len(components) && !slices.Contains(names, sectionOf(name)) {
			continue
		}
		if err := read(sectionOf(name), c.LoadState); err != nil {
			return s, fmt.Errorf("decoding %s: %w", name, err)
		}
	}
	return newScorer(spec, components, scorecard), nil
}

// possible reports whether a record can have this row and clock: no infinity, codes of levels, and a clock of at most
// 2^53, up to which a float64 counts exactly.
func (s *Schema) possible(row []float64, clock float64) bool {
	for f, v := range row {
		code := math.IsNaN(v) || v >= 0 && v <= MaxLevels && v == math.Trunc(v) ||
			s.Features[f].Kind == Nominal && len(s.Features[f].Levels) == 0 && furtherCell(v)
		if math.IsInf(v, 0) || s.Features[f].Kind != Continuous && !code {
			return false
		}
	}
	return clock >= 0 && clock <= 1<<53
}
