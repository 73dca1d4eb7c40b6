package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
	"liftstream/model/modeltest"
)

var messageReasons = []Reason{ReasonEmpty, ReasonNotArrow, ReasonTruncated, ReasonTrailing, ReasonDamaged, ReasonCRC,
	ReasonRows, ReasonSchema, ReasonTooLarge, ReasonPanic}

// seeds are valid messages with their decoders.
func seeds(t testing.TB) []struct {
	name  string
	o     Options
	value []byte
} {
	e := expected(t)
	colors := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "color", Kind: model.Nominal}}}, Label: "class"}
	bank := encodeStream(t, []arrow.Record{bankRecord(2), bankRecord(1)})
	types := typesOptions(e)
	types.Time, types.ID = "t_text", "l_string_view_long"
	return []struct {
		name  string
		o     Options
		value []byte
	}{
		{"bank", bankOptions(), bank},
		{"bank lz4", bankOptions(), encodeStream(t, []arrow.Record{bankRecord(3)}, ipc.WithLZ4())},
		{"bank zstd", bankOptions(), encodeStream(t, []arrow.Record{bankRecord(3)}, ipc.WithZstd())},
		{"dictionary", colors, testdata(t, "dictionary.arrows")},
		{"dictionary zstd", colors, testdata(t, "dictionary_zstd.arrows")},
		{"types", types, testdata(t, "types.arrows")},
		{"labels", Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, Label: "class"},
			testdata(t, "labels.arrows")},
		{"derived", derivedBank(), bank},
	}
}

// survive decodes any bytes in every way and checks the rules that hold for all of them.
func survive(t testing.TB, d *Decoder, e *ScoreEncoder, value []byte, b *model.Batch, l *model.Labels, c *Carry) {
	t.Helper()
	check := func(n int, bad []RowError, err error) {
		t.Helper()
		if err != nil {
			var m *MessageError
			if !errors.As(err, &m) || !slices.Contains(messageReasons, m.Reason) {
				t.Fatalf("untyped error %v", err)
			}
			if n != 0 {
				t.Fatalf("%d rows beside the error %v", n, err)
			}
			return
		}
		for i := range bad {
			if i > 0 && bad[i-1].Row >= bad[i].Row {
				t.Fatalf("bad rows out of order: %v", bad)
			}
			d.AppendRow(nil, bad[i].Row)
		}
	}
	bad, err := d.Decode(&Message{Value: value, Now: 1}, b, c)
	check(b.N, bad, err)
	if err == nil {
		for f := range b.Columns {
			col := &b.Columns[f]
			if len(col.Float)+len(col.Code) != b.N {
				t.Fatalf("column %d has %d values of %d", f, len(col.Float)+len(col.Code), b.N)
			}
			for _, code := range col.Code {
				if code != model.MissingCode && int(code) >= len(col.Levels) {
					t.Fatalf("column %d: code %d of %d levels", f, code, len(col.Levels))
				}
			}
		}
		s := &model.Scores{}
		s.Reset(b.N, len(d.o.Schema.Classes))
		out, err := e.Encode(nil, b, s, model.NewLevels(d.o.Schema), c)
		if err != nil {
			t.Fatalf("it was read, and the stage has learnt it, but has no scores: %v", err)
		}
		for _, err := range Tables(out, 1<<30) {
			if err != nil {
				t.Fatalf("our own message: %v", err)
			}
		}
	}
	bad, err = d.DecodeLabels(&Message{Value: value}, l)
	check(l.N, bad, err)
	for table, err := range Tables(value, 1<<20) {
		if err != nil {
			check(0, nil, err)
			continue
		}
		for i := range min(table.Rows(), 100) {
			table.AppendJSON(nil, i)
			table.AppendCSV(nil, i)
		}
	}
	s, err := NewTableStream(bytes.NewReader(value))
	for err == nil {
		_, err = s.Next()
	}
}

func survivor(t testing.TB, o Options) (*Decoder, *ScoreEncoder) {
	t.Helper()
	o.MaxMessage = 1 << 20
	o.Features = FeaturesSelected
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return mustDecoder(t, o), e
}

// TestDecodeNoPanic damages valid messages at every byte, and cuts them at every length.
func TestDecodeNoPanic(t *testing.T) {
	modeltest.Computes(t)
	for _, seed := range seeds(t) {
		t.Run(seed.name, func(t *testing.T) {
			d, e := survivor(t, seed.o)
			var b model.Batch
			var l model.Labels
			var c Carry
			survive(t, d, e, seed.value, &b, &l, &c)
			step := 1 + len(seed.value)/400
			damaged := make([]byte, len(seed.value))
			for i := 0; i < len(seed.value); i += step {
				for _, x := range []byte{0xFF, 0x04} {
					copy(damaged, seed.value)
					damaged[i] ^= x
					survive(t, d, e, damaged, &b, &l, &c)
				}
			}
			for n := 0; n < len(seed.value); n += step {
				if _, err := d.Decode(&Message{Value: seed.value[:n]}, &b, nil); err == nil {
					t.Fatalf("cut to %d of %d bytes it was read", n, len(seed.value))
				}
			}
			if _, err := d.Decode(&Message{Value: append(bytes.Clone(seed.value), 0)}, &b, nil); err == nil {
				t.Fatal("a byte after the end mark went unnoticed")
			}
		})
	}
}

// TestLyingLengths: memory must not be allocated for bytes that a message announces and does not have.
func TestLyingLengths(t *testing.T) {
	modeltest.Computes(t)
	for _, seed := range seeds(t) {
		d, e := survivor(t, seed.o)
		var b model.Batch
		var l model.Labels
		var c Carry
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tries := uint64(0)
		for i := 0; i+8 <= len(seed.value); i += 8 * (1 + len(seed.value)/600) {
			for _, v := range []uint64{1 << 40, 1<<63 - 1, 1 << 31, ^uint64(0) - 1} {
				damaged := bytes.Clone(seed.value)
				binary.LittleEndian.PutUint64(damaged[i:], v)
				survive(t, d, e, damaged, &b, &l, &c)
				tries++
			}
		}
		runtime.ReadMemStats(&after)
		if mean := (after.TotalAlloc - before.TotalAlloc) / tries; mean > 24<<20 {
			t.Errorf("%s: %d bytes allocated for a message in the mean", seed.name, mean)
		}
	}
}

func FuzzDecode(f *testing.F) {
	all := seeds(f)
	for _, seed := range all {
		if len(seed.value) < 8192 {
			f.Add(seed.value)
		}
	}
	small := goldens(f)
	for _, g := range small {
		if len(g.value) < 8192 {
			f.Add(g.value)
		}
	}
	type reader struct {
		d *Decoder
		e *ScoreEncoder
		b model.Batch
		l model.Labels
		c Carry
	}
	var readers []*reader // made once: a message must be read alike after any other
	for _, o := range []Options{all[0].o, all[3].o, small[0].o, small[3].o, all[len(all)-1].o} {
		r := &reader{}
		r.d, r.e = survivor(f, o)
		readers = append(readers, r)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, r := range readers {
			survive(t, r.d, r.e, value, &r.b, &r.l, &r.c)
		}
	})
}

func FuzzDecodeLabels(f *testing.F) {
	f.Add(testdata(f, "labels.arrows"))
	f.Add(encodeStream(f, []arrow.Record{bankRecord(2)}))
	for _, g := range goldens(f) {
		if len(g.value) < 8192 {
			f.Add(g.value)
		}
	}
	var decoders []*Decoder
	for _, c := range []struct{ id, label string }{{"", "class"}, {"customer", "class"}, {"id", "b"}} {
		decoders = append(decoders, mustDecoder(f, Options{Schema: &model.Schema{Classes: []string{"no", "yes"}},
			Label: c.label, ID: c.id, MaxMessage: 1 << 20}))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, d := range decoders {
			var l model.Labels
			bad, err := d.DecodeLabels(&Message{Value: value}, &l)
			if err == nil && len(l.Class) != l.N {
				t.Fatalf("%d classes of %d", len(l.Class), l.N)
			}
			for _, r := range bad {
				d.AppendRow(nil, r.Row)
			}
		}
	})
}

// The ids of two batches may each fit the indices of their dictionaries, and together not.
func TestDictionariesThatDoNotFitTogether(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: dt, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64}}, nil)
	var recs []arrow.Record
	for batch := range 3 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range 100 {
			b.Field(1).(*array.Float64Builder).Append(float64(i))
			if i == 50 {
				b.Field(0).AppendNull()
				continue
			}
			if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprintf("id%d", 100*batch+i)); err != nil {
				t.Fatal(err)
			}
		}
		recs = append(recs, b.NewRecord())
	}
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "x", Kind: model.Continuous}}}, ID: "id"}
	d, e := survivor(t, o)
	var b model.Batch
	var l model.Labels
	var c Carry
	value := encodeStream(t, recs)
	survive(t, d, e, value, &b, &l, &c)
	bad, err := d.Decode(&Message{Value: value}, &b, &c)
	if err != nil || len(bad) != 3 || b.N != 297 {
		t.Fatalf("%d rows, %v, %v", b.N, bad, err)
	}
	if a, err := plain([]arrow.Array{recs[0].Column(0), recs[1].Column(0)}); err != nil || a.Len() != 200 ||
		!a.IsNull(50) || !a.IsNull(150) || a.NullN() != 2 || a.ValueStr(151) != "id151" {
		t.Errorf("%v %v", a, err)
	}
	var s model.Scores
	s.Reset(b.N, 2)
	out, err := e.Encode(nil, &b, &s, model.NewLevels(o.Schema), &c)
	if err != nil {
		t.Fatal(err)
	}
	for table, err := range Tables(out, 1<<30) {
		if err != nil || table.Rows() != 297 {
			t.Fatalf("%v", err)
		}
		for at, row := range []int{0, 49, 51, 99, 100, 151, 299} {
			i := []int{0, 49, 50, 98, 99, 149, 296}[at]
			if got, _ := table.Text(table.Column("id"), i); got != fmt.Sprint("id", row) {
				t.Errorf("row %d: %s", row, got)
			}
		}
	}
}

// Arrow combines the dictionaries of few types of values.
func TestDictionariesOfEveryTypeAreHandedOn(t *testing.T) {
	mem := memory.DefaultAllocator
	for _, of := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		arrow.BinaryTypes.StringView, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Float16, arrow.FixedWidthTypes.Boolean, &arrow.Decimal128Type{Precision: 10, Scale: 2},
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us} {
		dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: of}
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: dt, Nullable: true}}, nil)
		c := Carry{rows: 8}
		for _, texts := range [][]string{{"1", "0"}, {"0", "1"}} {
			values, indices := array.NewBuilder(mem, of), array.NewInt8Builder(mem)
			for _, text := range texts {
				if of.ID() == arrow.DATE32 || of.ID() == arrow.TIMESTAMP {
					text = "2026-01-1" + text
				}
				if err := values.AppendValueFromString(text); err != nil {
					t.Fatalf("%s: %v", of, err)
				}
			}
			indices.AppendNull()
			indices.AppendValues([]int8{0, 1}, nil)
			indices.AppendNull()
			c.recs = append(c.recs,
				array.NewRecord(schema, []arrow.Array{array.NewDictionaryArray(dt, indices.NewArray(), values.NewArray())}, 4))
		}
		a, err := c.column(0)
		if err != nil || a.Len() != 8 || a.NullN() != 4 || !a.IsNull(3) || !a.IsNull(4) {
			t.Errorf("%s: %v, %v", of, a, err)
			continue
		}
		for k, rec := range c.recs {
			for i := range 4 {
				if want := rec.Column(0).ValueStr(i); a.ValueStr(4*k+i) != want {
					t.Errorf("%s: row %d is %s, want %s", of, 4*k+i, a.ValueStr(4*k+i), want)
				}
			}
		}
	}
}
