package codec

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// nodeCost is the memory of Arrow's objects for one column of one batch.
const nodeCost = 512

// loader makes arrays from the frames of a stream. It follows every length and every offset before an array is made, so
// that any value of an array may be looked at afterwards.
type loader struct {
	inflater
	account account
	values  map[int64]*array.Data // of the dictionaries, by id
	exact   bool                  // an announced number of nulls that is not the true one is damage, as in files

	batch
}

// batch is the metadata of the frame in hand, and its buffers.
type batch struct {
	fb                                 flat
	nodes, nNodes                      int
	variadic, nVariadic                int
	buffers                            [][]byte // plain, each at an aligned place
	nextNode, nextBuffer, nextVariadic int
	err                                *MessageError
}

// open reads the metadata of a frame and makes its buffers.
func (l *loader) open(f *frame) *MessageError {
	l.batch = batch{fb: flat{b: f.meta}, buffers: l.buffers[:0]}
	fb := &l.fb
	table := fb.ref(fb.field(fb.root(), messageHeader))
	if f.kind == headerDictionary {
		table = fb.ref(fb.field(table, dictBatchData))
	}
	if table == 0 || fb.bad {
		return dead(ReasonDamaged, "a batch without a header")
	}
	l.nodes, l.nNodes = fb.vector(fb.field(table, batchNodes), 16)
	buffers, n := fb.vector(fb.field(table, batchBuffers), 16)
	l.variadic, l.nVariadic = fb.vector(fb.field(table, batchVariadic), 8)
	compression := fb.ref(fb.field(table, batchCompression))
	if fb.bad {
		return dead(ReasonDamaged, "a batch's metadata")
	}
	codec, err := method(fb, compression)
	if err != nil {
		return err
	}
	total := int64(0)
	for i := range n {
		off, size := fb.i64(buffers+16*i), fb.i64(buffers+16*i+8)
		if off < 0 || size < 0 || off > int64(len(f.body)) || size > int64(len(f.body))-off {
			return dead(ReasonDamaged, "buffer %d spans bytes %d + %d of a body of %d", i, off, size, len(f.body))
		}
		plain := size
		if compression != 0 && size > 0 {
			var ok bool
			if plain, ok = plainSize(codec, f.body[off:off+size]); !ok {
				return dead(ReasonDamaged, "compressed buffer %d of %d bytes announces %d", i, size, plain)
			}
		}
		if !l.account.take(plain + 8 + 32) { // its place, and the list of buffers
			return l.account.refusal()
		}
		total += (plain + 7) &^ 7
	}
	body := make([]byte, total)
	for i := range n {
		off, size := fb.i64(buffers+16*i), fb.i64(buffers+16*i+8)
		src := f.body[off : off+size]
		if compression == 0 || size == 0 {
			l.buffers = append(l.buffers, body[:size:size])
			copy(body, src)
			body = body[(size+7)&^7:]
			continue
		}
		plain, _ := plainSize(codec, src)
		dst := body[:plain:plain]
		if err := l.unpack(codec, dst, src); err != nil {
			return dead(ReasonDamaged, "compressed buffer %d: %w", i, err)
		}
		l.buffers = append(l.buffers, dst)
		body = body[(plain+7)&^7:]
		if !l.account.running() {
			return l.account.refusal()
		}
	}
	return nil
}

// record makes the record of a batch frame.
func (l *loader) record(s *stream, f *frame) (arrow.Record, *MessageError) {
	if err := l.open(f); err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, len(s.columns))
	for i, nd := range s.columns {
		d := l.load(nd)
		if l.err != nil {
			return nil, l.named(s.schema.Field(i).Name)
		}
		if int64(d.Len()) != f.rows {
			return nil, &MessageError{Reason: ReasonDamaged, Column: s.schema.Field(i).Name,
				Err: dead(ReasonDamaged, "%d values, the batch has %d rows", d.Len(), f.rows).Err}
		}
		cols[i] = array.MakeFromData(d)
	}
	if err := l.close(); err != nil {
		return nil, err
	}
	return array.NewRecord(s.schema, cols, f.rows), nil
}

func (l *loader) named(column string) *MessageError {
	if l.err.Reason == ReasonDamaged {
		l.err.Column = column
	}
	return l.err
}

// close reports nodes and buffers that no column has.
func (l *loader) close() *MessageError {
	if l.nextNode != l.nNodes || l.nextBuffer != len(l.buffers) {
		return dead(ReasonDamaged, "%d nodes and %d buffers, the schema has %d and %d", l.nNodes, len(l.buffers), l.nextNode,
			l.nextBuffer)
	}
	return nil
}

// dictionary takes in a dictionary frame.
func (l *loader) dictionary(s *stream, f *frame) *MessageError {
	if err := l.open(f); err != nil {
		return err
	}
	fb := &l.fb
	table := fb.ref(fb.field(fb.root(), messageHeader))
	id := int64(0)
	if p := fb.field(table, dictBatchID); p != 0 {
		id = fb.i64(p)
	}
	p := fb.field(table, dictBatchDelta)
	delta := p != 0 && fb.u8(p) != 0
	dict := s.dicts[id]
	if dict == nil || fb.bad {
		return dead(ReasonDamaged, "a dictionary of number %d, and no column that has it", id)
	}
	d := l.load(dict.values)
	if l.err != nil {
		return l.err
	}
	if err := l.close(); err != nil {
		return err
	}
	old := l.values[id]
	if !delta || old == nil {
		l.values[id] = d
		return nil
	}
	if !l.account.take(dataSize(old) + dataSize(d)) {
		return l.account.refusal()
	}
	whole, err := array.Concatenate([]arrow.Array{array.MakeFromData(old), array.MakeFromData(d)}, memory.DefaultAllocator)
	if err != nil {
		return dead(ReasonDamaged, "adding to a dictionary: %w", err)
	}
	l.values[id] = whole.Data().(*array.Data)
	return nil
}

// dataSize is the number of bytes in the buffers of d, without its dictionary.
func dataSize(d arrow.ArrayData) int64 {
	n := int64(nodeCost)
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += dataSize(c)
	}
	return n
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = dead(ReasonDamaged, format, args...)
	}
}

// buffer is the next buffer of the batch, which holds at least so many bytes.
func (l *loader) buffer(least int64) []byte {
	if l.nextBuffer >= len(l.buffers) {
		l.fail("%d buffers, the schema needs more", len(l.buffers))
		return nil
	}
	b := l.buffers[l.nextBuffer]
	if int64(len(b)) < least {
		l.fail("buffer %d has %d bytes, %d are needed", l.nextBuffer, len(b), least)
		return nil
	}
	l.nextBuffer++
	return b
}

// load makes the array of the next node, which is nd. After an error the result is nil.
func (l *loader) load(nd *node) *array.Data {
	if l.nextNode >= l.nNodes {
		l.fail("%d nodes, the schema has more", l.nNodes)
		return nil
	}
	if !l.account.take(nodeCost) {
		l.err = l.account.refusal()
		return nil
	}
	at := l.nodes + 16*l.nextNode
	n, nulls := l.fb.i64(at), l.fb.i64(at+8)
	if n < 0 || n > maxRows || nulls < 0 || nulls > n {
		l.fail("node %d has %d values, %d of them null", l.nextNode, n, nulls)
		return nil
	}
	l.nextNode++
	if nd.typ.ID() == arrow.NULL {
		return array.NewData(nd.typ, int(n), []*memory.Buffer{nil}, nil, int(n), 0)
	}
	raw := make([][]byte, 1, 3)
	if nd.validity {
		raw[0] = l.bitmap(n, &nulls)
	} else {
		nulls = 0
	}
	for _, bits := range nd.bits {
		raw = append(raw, l.buffer(needed(n, bits)))
	}
	if nd.widen.to > 0 && l.err == nil {
		raw[1] = l.widen(raw[1], n, nd.widen)
	}
	if nd.views {
		raw = l.views(raw)
	}
	if l.err != nil {
		return nil
	}
	var children []arrow.ArrayData
	for _, c := range nd.children {
		d := l.load(c)
		if l.err != nil {
			return nil
		}
		children = append(children, d)
	}
	v := values{int(n), raw, children}
	dict := (*array.Data)(nil)
	if nd.dict != nil {
		if dict = l.values[nd.dict.id]; dict == nil {
			l.fail("the dictionary of number %d is absent", nd.dict.id)
			return nil
		}
	}
	if !l.sound(nd, &v, dict) {
		l.fail("a value lies outside its buffer")
		return nil
	}
	if arrow.IsUnion(nd.typ.ID()) {
		l.pad(raw)
	}
	buffers := make([]*memory.Buffer, len(raw))
	for i, b := range raw {
		if b != nil || i > 0 {
			buffers[i] = memory.NewBufferBytes(b)
		}
	}
	if dict != nil {
		return array.NewDataWithDictionary(nd.typ, int(n), buffers, int(nulls), 0, dict)
	}
	return array.NewData(nd.typ, int(n), buffers, children, int(nulls), 0)
}

// widening says how many bits the whole numbers of a buffer have, and how many they are to have; 0 = as they are.
type widening struct {
	from, to int64
	signed   bool
}

// widen returns the whole numbers of a buffer, the lowest byte first, with more bits.
func (l *loader) widen(b []byte, n int64, w widening) []byte {
	from, to := int(w.from/8), int(w.to/8)
	if !l.account.take(n * int64(to)) {
		l.err = l.account.refusal()
		return nil
	}
	wide := make([]byte, int(n)*to)
	for i := range int(n) {
		v := wide[to*i : to*(i+1)]
		copy(v, b[from*i:from*(i+1)])
		if w.signed && v[from-1] >= 1<<7 {
			for k := from; k < to; k++ {
				v[k] = 0xff
			}
		}
	}
	return wide
}

// pad gives the buffers of a union room behind their end: Arrow's writer of one row reads beyond it.
func (l *loader) pad(raw [][]byte) {
	for i, b := range raw {
		if b != nil && l.account.take(2*int64(len(b))) {
			raw[i] = append(make([]byte, 0, 2*len(b)), b...)
		}
	}
}

// needed is the number of bytes of n values of so many bits.
func needed(n, bits int64) int64 {
	switch {
	case n == 0 || bits == anySize:
		return 0
	case bits == offsets32:
		return 4 * (n + 1)
	case bits == offsets64:
		return 8 * (n + 1)
	}
	return (n*bits + 7) / 8
}

// bitmap is the next buffer as a bitmap of n values, nil when none of them is null. nulls becomes their true number:
// the number that the message announces would go into the scores.
func (l *loader) bitmap(n int64, nulls *int64) []byte {
	if *nulls == 0 {
		l.buffer(0)
		return nil
	}
	b := l.buffer((n + 7) / 8)
	if l.err != nil {
		return nil
	}
	announced := *nulls
	*nulls = n - int64(bitutil.CountSetBits(b, 0, int(n)))
	if l.exact && *nulls != announced {
		l.fail("%d values are null, the batch says %d", *nulls, announced)
		return nil
	}
	if *nulls == 0 {
		return nil
	}
	return b
}

// views adds the data buffers of a view type.
func (l *loader) views(raw [][]byte) [][]byte {
	if l.nextVariadic >= l.nVariadic {
		l.fail("%d counts of view buffers, the schema needs more", l.nVariadic)
		return raw
	}
	k := l.fb.i64(l.variadic + 8*l.nextVariadic)
	l.nextVariadic++
	if k < 0 || k > int64(len(l.buffers)-l.nextBuffer) {
		l.fail("%d view buffers, %d are left", k, len(l.buffers)-l.nextBuffer)
		return raw
	}
	for range k {
		raw = append(raw, l.buffer(0))
	}
	return raw
}
