package drift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"liftstream/model/wire"
)

// Format is the version of the binary form of a Watch, see FORMAT.md.
const Format = 1

// AppendBinary appends the whole watch. Its options are not part of it.
func (w *Watch) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, Format)
	for _, n := range []int{w.o.Reference, w.o.Window, w.o.Step, len(w.o.Features), len(w.o.Classes)} {
		b = wire.AppendUvarint(b, uint64(n))
	}
	b = w.labels.append(w.records.append(b))
	b = w.losses.append(b)
	b = wire.AppendUvarint(b, uint64(len(w.scored)))
	for _, s := range append(w.scored[:len(w.scored):len(w.scored)], w.filling) {
		b = wire.AppendFloat(wire.AppendFloat(b, s.n), s.loss)
	}
	b = w.appendHeld(b)
	b = w.pairs.append(w.given.append(b))
	b = wire.AppendUvarint(b, w.total)
	b = wire.AppendUvarint(b, uint64(len(w.found)))
	for _, f := range w.found {
		b = AppendFound(b, f)
	}
	return b
}

// AppendFound appends one alarm.
func AppendFound(b []byte, f Found) []byte {
	b = wire.AppendUvarint(b, f.Number)
	b = wire.AppendUvarint(b, uint64(f.Kind))
	b = wire.AppendString(b, f.Column)
	b = wire.AppendVarint(b, f.Records)
	return wire.AppendFloat(wire.AppendFloat(b, f.Value), f.Threshold)
}

// ReadFound is the inverse of AppendFound.
func ReadFound(r *wire.Reader) Found {
	return Found{Number: r.Uvarint(), Kind: AlarmKind(r.Int(int(OverExpectation))), Column: r.String(),
		Records: r.Varint(), Value: r.Float(), Threshold: r.Float()}
}

func (x *ring) append(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(4*len(x.v)))
	for i := range x.v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.v[(x.at+i)%len(x.v)]))
	}
	return b
}

func (x *ring) load(r *wire.Reader, most int) {
	all := words(r)
	if *x = (ring{}); len(all) > most {
		_ = r.Fail(errWatch)
	}
	for _, v := range all {
		p := math.Float32frombits(v)
		if x.v = append(x.v, p); !(p >= -1 && p <= 1) {
			_ = r.Fail(errWatch)
		}
	}
}

func (m *Monitor) append(b []byte) []byte {
	b = wire.AppendVarint(b, m.records)
	b = wire.AppendUvarint(b, uint64(m.model))
	b = wire.AppendVarint(b, int64(m.since))
	b = wire.AppendUvarint(b, uint64(4*m.held*len(m.columns)))
	for k := range m.columns { // by column, since equal values lie side by side
		for i := m.held; i > 0; i-- {
			b = binary.LittleEndian.AppendUint32(b, m.value(k, i))
		}
	}
	for k := range m.columns {
		c := &m.columns[k]
		b = wire.AppendBool(wire.AppendBool(b, c.raised[0]), c.raised[1])
		if b = wire.AppendBool(b, c.bins > 0); c.bins == 0 {
			continue
		}
		b = wire.AppendUvarint(b, uint64(4*(c.bins-1)))
		for _, x := range c.cuts {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		for _, x := range c.levels {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		b = wire.AppendFloats(b, c.ref)
		b = wire.AppendFloats(b, c.gone[:])
	}
	return b
}

var errWatch = errors.New("numbers that no watch has")

// words reads a list of 32-bit numbers.
func words(r *wire.Reader) []uint32 {
	raw := r.Bytes()
	if len(raw)%4 != 0 {
		_ = r.Fail(errWatch)
	}
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return out
}

// valid reports whether v can be a value of the column.
func (c *watched) valid(v uint32) bool {
	x := math.Float32frombits(v)
	return v == missing || c.Kind == Levels || !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0)
}

func (m *Monitor) load(r *wire.Reader) {
	m.records, m.model = r.Varint(), r.Int(m.rows())
	m.since = int(r.Varint())
	all := words(r)
	n := len(m.columns)
	m.held = len(all) / max(n, 1)
	if m.records < 0 || m.since < -1 || m.since > m.o.Window || len(all)%max(n, 1) != 0 || m.held > m.rows() ||
		int64(m.held) > m.records || m.model > m.held || m.since >= 0 && m.held < m.o.Reference {
		_ = r.Fail(errWatch)
	}
	if r.Err() != nil {
		return
	}
	m.ring, m.at = make([]uint32, len(all)), m.held%m.rows()
	for i, v := range all {
		k := i / m.held
		if !m.columns[k].valid(v) {
			_ = r.Fail(errWatch)
		}
		m.ring[i%m.held*n+k] = v
	}
	for k := range m.columns {
		c := &m.columns[k]
		c.raised = [2]bool{r.Bool(), r.Bool()}
		if known := r.Bool(); known {
			c.load(r, m.o.Reference)
		} else if !c.OfModel && m.since >= 0 {
			_ = r.Fail(errWatch)
		}
	}
}

func (c *watched) load(r *wire.Reader, reference int) {
	at := words(r)
	if c.Kind == Levels {
		c.levels = at
	}
	for i, v := range at {
		if c.Kind == Numbers {
			c.cuts = append(c.cuts, math.Float32frombits(v))
		}
		if !c.valid(v) || v == missing || i > 0 && c.order(at[i-1], v) >= 0 {
			_ = r.Fail(errWatch)
		}
	}
	c.bins, c.ref = len(at)+1, r.Floats()
	r.FloatsInto(c.gone[:])
	total := c.gone[1]
	for _, x := range c.ref {
		if !(x >= 0) {
			_ = r.Fail(errWatch)
		}
		total += x
	}
	if len(c.ref) != c.bins || !(c.gone[0] >= 0 && c.gone[1] >= 0) || total != float64(reference) {
		_ = r.Fail(errWatch)
	}
}

func (b *block) numbers() []*float64 {
	n := []*float64{&b.n, &b.loss, &b.square, &b.expected, &b.own, &b.ownLoss, &b.ownSquare}
	for j := range tilts {
		n = append(n, &b.up[j], &b.down[j])
	}
	return n
}

func (l *losses) append(b []byte) []byte {
	b = wire.AppendFloat(wire.AppendFloat(b, l.expect), l.variance)
	for _, x := range l.raised {
		b = wire.AppendBool(b, x)
	}
	b = wire.AppendUvarint(b, uint64(len(l.closed)))
	for i := range l.closed {
		for _, x := range l.closed[i].numbers() {
			b = wire.AppendFloat(b, *x)
		}
	}
	for _, x := range l.filling.numbers() {
		b = wire.AppendFloat(b, *x)
	}
	return b
}

func (l *losses) load(r *wire.Reader) {
	l.expect, l.variance = r.Float(), r.Float()
	for i := range l.raised {
		l.raised[i] = r.Bool()
	}
	blocks := make([]block, r.Int(max(l.o.Reference/l.o.Step, 1))+1)
	for i := range blocks {
		for _, x := range blocks[i].numbers() {
			if *x = r.Float(); math.IsNaN(*x) || math.IsInf(*x, 0) {
				_ = r.Fail(errWatch)
			}
		}
	}
	l.closed, l.filling = blocks[:len(blocks)-1], blocks[len(blocks)-1]
	if math.IsInf(l.expect, 0) || !(l.variance >= 0) || !(l.filling.n >= 0 && l.filling.n < float64(l.o.Step)) {
		_ = r.Fail(errWatch)
	}
}

func (w *Watch) appendHeld(b []byte) []byte {
	h, k := &w.held, len(w.o.Classes)
	b = wire.AppendUvarint(b, h.first)
	b = wire.AppendUvarint(b, w.served)
	b = wire.AppendUvarint(b, uint64(h.n))
	before := place{}
	for i := range h.n {
		s := h.slot(i)
		b = wire.AppendVarint(b, h.at[s].offset-before.offset)
		b = wire.AppendVarint(b, int64(h.at[s].row))
		before = h.at[s]
		for _, x := range h.p[s*k : (s+1)*k] {
			b = wire.AppendUvarint(b, uint64(math.Float32bits(x)))
		}
	}
	return b
}

func (w *Watch) loadHeld(r *wire.Reader) {
	h, k := &w.held, len(w.o.Classes)
	h.first, w.served, h.n = r.Uvarint(), r.Uvarint(), r.Int(h.top)
	if r.Err() != nil || h.first >= 1<<62 || h.n > r.Rest() {
		_ = r.Fail(errWatch)
		return
	}
	size := min(h.top, int(h.first%uint64(h.top))+h.n)
	if h.n > 0 && h.slot(h.n-1) < h.slot(0) {
		size = h.top
	}
	h.at, h.p = make([]place, size), make([]float32, size*k)
	before := place{}
	for i := range h.n {
		s := h.slot(i)
		h.at[s] = place{before.offset + r.Varint(), int32(r.Varint())}
		if i > 0 && h.at[s].compare(before) <= 0 {
			_ = r.Fail(errWatch)
		}
		before = h.at[s]
		for c := range k {
			x := math.Float32frombits(uint32(r.Uvarint()))
			if h.p[s*k+c] = x; !(x >= 0 && x <= 1) {
				_ = r.Fail(errWatch)
			}
		}
		if r.Err() != nil {
			return
		}
	}
}

// Load makes an empty watch that of AppendBinary. Bytes of other options, and damaged ones, give an error; then the
// watch is of no more use.
func (w *Watch) Load(b []byte) error {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != Format {
		return fmt.Errorf("format %d, this build reads %d", f, Format)
	}
	var of [5]int
	for i := range of {
		of[i] = r.Int(math.MaxInt32)
	}
	if r.Err() == nil && of != [5]int{w.o.Reference, w.o.Window, w.o.Step, len(w.o.Features), len(w.o.Classes)} {
		return errors.New("a watch of other options")
	}
	w.records.load(r)
	w.labels.load(r)
	w.losses.load(r)
	steps := make([]promised, r.Int(max(w.o.Reference/w.o.Step, 1))+1)
	for i := range steps {
		s := &steps[i]
		if s.n, s.loss = r.Float(), r.Float(); !(s.n >= 0 && s.n <= float64(w.o.Step) && s.loss >= 0 && s.loss < 1e9) {
			_ = r.Fail(errWatch)
		}
	}
	w.scored, w.filling = steps[:len(steps)-1], steps[len(steps)-1]
	w.loadHeld(r)
	w.given.load(r, w.o.Reference)
	w.pairs.load(r, w.o.Reference)
	w.total = r.Uvarint()
	w.found = make([]Found, r.Int(KeptAlarms))
	for i := range w.found {
		if w.found[i] = ReadFound(r); w.found[i].Number != w.total-uint64(len(w.found)-1-i) {
			_ = r.Fail(errWatch)
		}
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("decoding a watch: %w", err)
	}
	return nil
}
