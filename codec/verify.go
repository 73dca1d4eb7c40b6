package codec

// A message of a file is verified whole, also the parts that nobody reads: damage there tells of damage in the values,
// which have no checksum. Other readers refuse such files too. The rules are those of the verifier of flatbuffers:
// every reference stays inside, numbers lie at multiples of their size, and texts end with a zero byte.

// holding is how a field of a table holds its value.
type holding uint8

const (
	aScalar holding = iota
	aText           // a reference to bytes with a zero behind them
	aList           // a reference to a vector of scalars or structs
	aTable          // a reference to a table
	aTables         // a reference to a vector of references to tables
	aHeader         // a reference to the header of a message, whose kind the field before tells
	aType           // a reference to the type of a field, whose kind the field before tells
)

// slot is a field of a table. size is in bytes, of a scalar or of an element of a list.
type slot struct {
	how  holding
	size int
	of   shape
}

// shape names the fields of a table.
type shape uint8

const (
	shapeMessage shape = iota
	shapeFooter
	shapeSchema
	shapeField
	shapeKeyValue
	shapeDictionary
	shapeRecords
	shapeDictionaryBatch
	shapeCompression
	shapeEmpty // Null, Binary, Utf8, Bool, List, Struct and their like
	shapeInt
	shapeUnit // one enumeration: FloatingPoint, Date, Interval, Duration
	shapeDecimal
	shapeTime
	shapeTimestamp
	shapeUnion
	shapeSize // one number: FixedSizeBinary, FixedSizeList
	shapeMap
)

// shapes lists the fields of the tables of Arrow's File.fbs, Message.fbs and Schema.fbs, in their order.
var shapes = [...][]slot{
	shapeMessage: {{how: aScalar, size: 2}, {how: aScalar, size: 1}, {how: aHeader}, {how: aScalar, size: 8},
		{how: aTables, of: shapeKeyValue}},
	shapeFooter: {{how: aScalar, size: 2}, {how: aTable, of: shapeSchema}, {how: aList, size: 24}, {how: aList, size: 24},
		{how: aTables, of: shapeKeyValue}},
	shapeSchema: {{how: aScalar, size: 2}, {how: aTables, of: shapeField}, {how: aTables, of: shapeKeyValue},
		{how: aList, size: 8}},
	shapeField: {{how: aText}, {how: aScalar, size: 1}, {how: aScalar, size: 1}, {how: aType},
		{how: aTable, of: shapeDictionary}, {how: aTables, of: shapeField}, {how: aTables, of: shapeKeyValue}},
	shapeKeyValue: {{how: aText}, {how: aText}},
	shapeDictionary: {{how: aScalar, size: 8}, {how: aTable, of: shapeInt}, {how: aScalar, size: 1},
		{how: aScalar, size: 2}},
	shapeRecords: {{how: aScalar, size: 8}, {how: aList, size: 16}, {how: aList, size: 16},
		{how: aTable, of: shapeCompression}, {how: aList, size: 8}},
	shapeDictionaryBatch: {{how: aScalar, size: 8}, {how: aTable, of: shapeRecords}, {how: aScalar, size: 1}},
	shapeCompression:     {{how: aScalar, size: 1}, {how: aScalar, size: 1}},
	shapeInt:             {{how: aScalar, size: 4}, {how: aScalar, size: 1}},
	shapeUnit:            {{how: aScalar, size: 2}},
	shapeDecimal:         {{how: aScalar, size: 4}, {how: aScalar, size: 4}, {how: aScalar, size: 4}},
	shapeTime:            {{how: aScalar, size: 2}, {how: aScalar, size: 4}},
	shapeTimestamp:       {{how: aScalar, size: 2}, {how: aText}},
	shapeUnion:           {{how: aScalar, size: 2}, {how: aList, size: 4}},
	shapeSize:            {{how: aScalar, size: 4}},
	shapeMap:             {{how: aScalar, size: 1}},
}

// kinds gives the table of a type by its kind; other kinds have an empty one.
var kinds = map[byte]shape{
	flatInt: shapeInt, flatFloat: shapeUnit, flatDecimal: shapeDecimal, flatDate: shapeUnit, flatTime: shapeTime,
	flatTimestamp: shapeTimestamp, flatInterval: shapeUnit, flatUnion: shapeUnion, flatFixedSizeBinary: shapeSize,
	flatFixedSizeList: shapeSize, flatMap: shapeMap, flatDuration: shapeUnit,
}

var headers = map[byte]shape{
	headerSchema: shapeSchema, headerDictionary: shapeDictionaryBatch, headerRecords: shapeRecords,
}

const maxTables = 128 // nested in one another

// verifier verifies a flatbuffer.
type verifier struct {
	flat
	tables int // left; a damaged buffer may name a table again and again
}

// verified reports whether a flatbuffer of this shape is sound in all its parts.
func verified(b []byte, of shape) bool {
	w := verifier{flat: flat{b: b}, tables: 8 * len(b)}
	w.table(w.root(), of, maxTables)
	return !w.bad
}

// VerifiedFooter reports whether the flatbuffer of the footer of an Arrow file is sound in all its parts.
func VerifiedFooter(b []byte) bool { return verified(b, shapeFooter) }

func (w *verifier) fail(when bool) bool {
	w.bad = w.bad || when
	return w.bad
}

func (w *verifier) table(t int, of shape, depth int) {
	w.tables--
	if w.fail(depth == 0 || w.tables < 0 || t%4 != 0 || !w.in(t, 4)) {
		return
	}
	v := t - int(int32(w.u32(t)))
	if w.fail(v%2 != 0 || !w.in(v, 4)) {
		return
	}
	if n := w.u16(v); w.fail(n%2 != 0 || n < 4 || !w.in(v, n)) {
		return
	}
	kind := byte(0) // of the header or type that follows
	for i, s := range shapes[of] {
		p := 0
		if e := w.entry(t, i); e != 0 && w.u16(e) != 0 {
			p = t + w.u16(e)
		}
		if p == 0 {
			kind = 0
			continue
		}
		if s.how == aScalar {
			w.fail(p%s.size != 0 || !w.in(p, s.size))
			if kind = 0; s.size == 1 {
				kind = w.u8(p)
			}
			continue
		}
		if w.fail(p%4 != 0) {
			return
		}
		w.value(w.ref(p), s, kind, depth)
	}
}

// value verifies the value of a field at p.
func (w *verifier) value(p int, s slot, kind byte, depth int) {
	if w.bad {
		return
	}
	switch s.how {
	case aText:
		n := w.elements(p, 1)
		w.fail(w.u8(p+4+n) != 0)
	case aList:
		w.elements(p, s.size)
	case aTable:
		w.table(p, s.of, depth-1)
	case aTables:
		n := w.elements(p, 4)
		for i := 0; i < n && !w.bad; i++ {
			w.table(w.ref(p+4+4*i), s.of, depth-1)
		}
	case aHeader:
		if of, ok := headers[kind]; ok {
			w.table(p, of, depth-1)
		}
	case aType:
		of, ok := kinds[kind]
		if !ok {
			of = shapeEmpty
		}
		if kind != 0 {
			w.table(p, of, depth-1)
		}
	}
}

// elements returns the number of elements of the vector at p.
func (w *verifier) elements(p, size int) int {
	if w.fail(p%4 != 0) {
		return 0
	}
	n := int(w.u32(p))
	if w.fail(!w.in(p+4, 0) || n > (len(w.b)-p-4)/size) {
		return 0
	}
	return n
}
