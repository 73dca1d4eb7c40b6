package codec

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// golden is a valid message with the options that read it.
type golden struct {
	name  string
	o     Options
	value []byte
}

// smallColumns are columns of three rows, of every type that Arrow's library can write, a few for each message: a sweep
// goes over every bit.
func smallColumns() [][]arrow.Field {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int16)
	return [][]arrow.Field{
		{field("id", utf8Type), field("a", arrow.PrimitiveTypes.Int8), field("b", arrow.PrimitiveTypes.Uint64)},
		{field("id", int64Type), field("a", arrow.PrimitiveTypes.Float32), field("b", arrow.FixedWidthTypes.Boolean)},
		{field("id", arrow.BinaryTypes.LargeString), field("a", realType), field("b", arrow.Null)},
		{field("id", arrow.BinaryTypes.StringView), field("a", &arrow.Decimal128Type{Precision: 20, Scale: 2})},
		{field("id", utf8Type), field("t", arrow.FixedWidthTypes.Timestamp_us), field("z", arrow.FixedWidthTypes.Date32)},
		{field("id", utf8Type), field("a", &arrow.Decimal256Type{Precision: 40, Scale: 3}), field("z", list)},
		{field("id", utf8Type), field("z", arrow.StructOf(field("k", utf8Type), field("v", arrow.BinaryTypes.Binary)))},
		{field("id", utf8Type), field("z", arrow.MapOf(utf8Type, int64Type))},
		{field("id", utf8Type), field("z", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8)),
			field("y", arrow.FixedWidthTypes.Duration_ms), field("x", &arrow.FixedSizeBinaryType{ByteWidth: 3})},
	}
}

const smallRows = 3

// smallRecord fills the columns with short values and a null in each.
func smallRecord(t testing.TB, fields []arrow.Field) arrow.Record {
	t.Helper()
	texts := map[arrow.Type][]string{
		arrow.TIMESTAMP: {"2026-01-02", "2026-01-03"}, arrow.DATE32: {"2026-01-02", "2026-01-03"},
		arrow.LIST: {"[1,2]", "[3]"}, arrow.STRUCT: {`{"k":"p","v":"AQI="}`, `{"k":"q","v":null}`},
		arrow.MAP:             {`[{"key":"p","value":1}]`, `[]`},
		arrow.FIXED_SIZE_LIST: {"[1,2]", "[3,4]"}, arrow.FIXED_SIZE_BINARY: {"YWJj", "ZGVm"}, arrow.DURATION: {"1ms", "2ms"},
		arrow.BOOL: {"true", "false"}, arrow.STRING_VIEW: {"a text of more than twelve bytes", "short"},
	}
	cols := make([]arrow.Array, len(fields))
	for i, f := range fields {
		b := array.NewBuilder(memory.DefaultAllocator, f.Type)
		for k := range smallRows {
			values := texts[f.Type.ID()]
			if values == nil {
				values = []string{"7", "12"}
			}
			if k == 1 && f.Name != "id" || f.Type.ID() == arrow.NULL {
				b.AppendNull()
			} else if err := b.AppendValueFromString(values[k%2]); err != nil {
				t.Fatalf("%s: %v", f.Type, err)
			}
		}
		cols[i] = b.NewArray()
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), cols, smallRows)
}

// smallDictionary is a stream of two batches whose dictionary is replaced.
func smallDictionary(t testing.TB) []arrow.Record {
	t.Helper()
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}
	schema := arrow.NewSchema([]arrow.Field{field("id", dt), field("b", dt)}, nil)
	var recs []arrow.Record
	for _, texts := range [][]string{{"p", "q"}, {"r", "p"}} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, text := range append(texts, "p") {
			for f := range 2 {
				if f == 1 && i == 1 {
					b.Field(f).AppendNull()
				} else if err := b.Field(f).(*array.BinaryDictionaryBuilder).AppendString(text); err != nil {
					t.Fatal(err)
				}
			}
		}
		recs = append(recs, b.NewRecord())
	}
	return recs
}

// goldens are small messages of every type, plain and compressed; in the long run also those of pyarrow.
func goldens(t testing.TB) []golden {
	t.Helper()
	options := func(fields []arrow.Field) Options {
		s := &model.Schema{Classes: []string{"no", "yes"}, Positive: -1}
		o := Options{Schema: s, ID: "id", Missing: []string{""}, Features: FeaturesAll}
		for _, f := range fields[1:] {
			switch f.Name {
			case "t":
				o.Time = "t"
			case "a":
				s.Features = append(s.Features, model.Feature{Name: "a", Kind: model.Continuous})
			case "b":
				s.Features = append(s.Features, model.Feature{Name: "b", Kind: model.Nominal})
			}
		}
		return o
	}
	long := os.Getenv("LIFTSTREAM_LONG") != ""
	var out []golden
	for _, c := range []struct {
		name string
		o    []ipc.Option
	}{{"plain", nil}, {"lz4", []ipc.Option{ipc.WithLZ4()}}, {"zstd", []ipc.Option{ipc.WithZstd()}}} {
		for i, fields := range smallColumns() {
			if c.o != nil && i > 0 && !long {
				break // the layout of types is the same
			}
			out = append(out, golden{fmt.Sprintf("%d %s", i, c.name), options(fields),
				encodeStream(t, []arrow.Record{smallRecord(t, fields)}, c.o...)})
		}
		recs := smallDictionary(t)
		out = append(out, golden{"dictionary " + c.name, options(recs[0].Schema().Fields()), encodeStream(t, recs, c.o...)})
	}
	if !long {
		return out
	}
	for _, s := range seeds(t) {
		out = append(out, golden{s.name, s.o, s.value})
	}
	types := typesOptions(expected(t))
	types.ID = "l_string_view_long"
	for _, file := range []string{"types_lz4.arrows", "types_zstd.arrows"} {
		out = append(out, golden{file, types, testdata(t, file)})
	}
	return out
}

// allocated is the number of bytes that were ever allocated.
func allocated(sample []metrics.Sample) uint64 {
	sample[0].Name = "/gc/heap/allocs:bytes"
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestEveryDamage flips every bit of golden messages, and cuts them at every byte: each of them is read or refused by
// a typed error, in every way to read it, and none takes more memory than its bound allows.
func TestEveryDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it takes half a minute")
	}
	const budget, small = 16 << 20, 6 << 20 // of a message by survivor; of a small one
	sample := make([]metrics.Sample, 1)
	for _, g := range goldens(t) {
		d, e := survivor(t, g.o)
		var b model.Batch
		var l model.Labels
		var c Carry
		if bad, err := d.Decode(&Message{Value: g.value}, &b, &c); err != nil || b.N+len(bad) < smallRows {
			t.Fatalf("%s: %d rows, %v, %v", g.name, b.N, bad, err)
		}
		worst, where := uint64(0), ""
		try := func(value []byte, what string, i int) {
			t.Helper()
			before := allocated(sample)
			survive(t, d, e, value, &b, &l, &c)
			if n := allocated(sample) - before; n > worst {
				worst, where = n, fmt.Sprint(what, " ", i)
			}
		}
		damaged := bytes.Clone(g.value)
		for i := range 8 * len(damaged) {
			damaged[i/8] ^= 1 << (i % 8)
			try(damaged, "bit", i)
			damaged[i/8] ^= 1 << (i % 8)
		}
		for n := range damaged {
			try(damaged[:n], "cut", n)
		}
		most := uint64(small)
		if len(g.value) > 10_000 { // a damaged size of a zstd window is believed up to the budget
			most = budget
		}
		t.Logf("%s: %d bytes were allocated for one message, %s", g.name, worst, where)
		if worst > most {
			t.Errorf("%s: %d bytes were allocated for one message, %s", g.name, worst, where)
		}
	}
}
