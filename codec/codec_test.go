package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// bankSchema has the columns of a bank campaign: seven numbers, nine texts.
func bankSchema() *model.Schema {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, n := range []string{"age", "balance", "day", "duration", "campaign", "pdays", "previous"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Continuous})
	}
	for _, n := range []string{"job", "marital", "education", "default", "housing", "loan", "contact", "month",
		"poutcome"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	return s
}

func bankOptions() Options {
	return Options{Schema: bankSchema(), ID: "customer", Label: "class", Missing: []string{"", "NA", "?"}}
}

func bankRecord(n int) arrow.Record {
	s := bankSchema()
	fields := []arrow.Field{{Name: "customer", Type: arrow.BinaryTypes.String}}
	for _, f := range s.Features {
		var t arrow.DataType = arrow.PrimitiveTypes.Int64
		if f.Kind == model.Nominal {
			t = arrow.BinaryTypes.String
		}
		fields = append(fields, arrow.Field{Name: f.Name, Type: t, Nullable: true})
	}
	fields = append(fields, arrow.Field{Name: "class", Type: arrow.BinaryTypes.String, Nullable: true})
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	texts := []string{"management", "technician", "blue-collar", "retired", "unknown", "no", "yes", "may"}
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("c%06d", i))
		for f := range 7 {
			b.Field(1 + f).(*array.Int64Builder).Append(int64(i*7919%1000 + f))
		}
		for f := range 9 {
			b.Field(8 + f).(*array.StringBuilder).Append(texts[(i*31+f*17)%len(texts)])
		}
		b.Field(17).(*array.StringBuilder).Append(s.Classes[i%2])
	}
	return b.NewRecord()
}

func encodeStream(t testing.TB, recs []arrow.Record, o ...ipc.Option) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, append(o, ipc.WithSchema(recs[0].Schema()))...)
	for _, r := range recs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func mustDecoder(t testing.TB, o Options) *Decoder {
	t.Helper()
	d, err := NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func bankScores(n int) *model.Scores {
	s := &model.Scores{}
	s.Reset(n, 2)
	for i := range n {
		s.P[2*i], s.P[2*i+1] = .9, .1
		s.BaseRate[i], s.Lift[i], s.Percentile[i] = .117, .1/.117, .25
		s.Target[i] = 1
		for k := range 4 {
			s.Subspace = append(s.Subspace, int32(k+5))
			s.Relevance = append(s.Relevance, float32(k)/7)
		}
		s.SubspaceEnd[i] = int32(len(s.Subspace))
		s.Profile[i], s.ProfileLift[i] = "contact=cellular & poutcome=success", 5.5
		for k := range 5 {
			s.Why = append(s.Why, model.Reason{Feature: int32(k + 4), Value: float64(i % 5), Effect: .1 * float64(k), Lift: 1.25,
				N: 1234.5})
		}
		s.WhyEnd[i] = int32(len(s.Why))
	}
	return s
}

func TestDecodeBank(t *testing.T) {
	rec := bankRecord(100)
	d := mustDecoder(t, bankOptions())
	for _, c := range []struct {
		name string
		opts []ipc.Option
	}{{"plain", nil}, {"lz4", []ipc.Option{ipc.WithLZ4()}}, {"zstd", []ipc.Option{ipc.WithZstd()}}} {
		value := encodeStream(t, []arrow.Record{rec.NewSlice(0, 60), rec.NewSlice(60, 100)}, c.opts...)
		for round := range 3 {
			var b model.Batch
			m := &Message{Value: value, Headers: EventHeaders(value, 100), Partition: 3, Offset: 17, Time: 99}
			bad, err := d.Decode(m, &b, nil)
			if err != nil || len(bad) > 0 {
				t.Fatalf("%s, round %d: %v %v", c.name, round, err, bad)
			}
			if b.N != 100 || b.Partition != 3 || b.Offset != 17 || b.Time[99] != 99 {
				t.Fatalf("%s: N %d, partition %d, offset %d", c.name, b.N, b.Partition, b.Offset)
			}
			for i := range b.N {
				if want := float64(i*7919%1000 + 2); b.Columns[2].Float[i] != want {
					t.Fatalf("%s: row %d: day %v, want %v", c.name, i, b.Columns[2].Float[i], want)
				}
				job := b.Columns[7]
				if got, want := job.Levels[job.Code[i]], rec.Column(8).(*array.String).Value(i); got != want {
					t.Fatalf("%s: row %d: job %q, want %q", c.name, i, got, want)
				}
				if b.ID[i] != fmt.Sprintf("c%06d", i) || b.Label[i] != int32(i%2) || b.Row[i] != int32(i) {
					t.Fatalf("%s: row %d: id %q, label %d, row %d", c.name, i, b.ID[i], b.Label[i], b.Row[i])
				}
			}
		}
	}
}

func TestEncodeScores(t *testing.T) {
	o := bankOptions()
	o.Features = FeaturesSelected
	d := mustDecoder(t, o)
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	levels := model.NewLevels(o.Schema)
	for f := range o.Schema.Features {
		if o.Schema.Features[f].Kind == model.Nominal {
			levels.Code(f, "a")
			levels.Code(f, "b")
		}
	}
	var b model.Batch
	var c Carry
	if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{bankRecord(3)}), Partition: 1, Offset: 5}, &b,
		&c); err != nil {
		t.Fatal(err)
	}
	s := bankScores(3)
	s.Status[1], s.Status[2], s.Reason[2] = model.StatusUntrained, model.StatusDegraded, "no_local"
	s.Percentile[2] = float32(math.NaN())
	for range 2 {
		value, err := e.Encode(nil, &b, s, levels, &c)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for table, err := range Tables(value, 0) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range table.Rows() {
				line := table.AppendJSON(nil, i)
				var v map[string]any
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				t.Logf("%s", line)
				n++
			}
		}
		if n != 3 {
			t.Fatalf("%d rows", n)
		}
	}
}

func benchmarkDecode(b *testing.B, rows int) {
	d := mustDecoder(b, bankOptions())
	m := &Message{Value: encodeStream(b, []arrow.Record{bankRecord(rows)})}
	var batch model.Batch
	var c Carry
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := d.Decode(m, &batch, &c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkDecode1(b *testing.B)    { benchmarkDecode(b, 1) }
func BenchmarkDecode1000(b *testing.B) { benchmarkDecode(b, 1000) }

// BenchmarkDecodeFresh is the cost of a message of one row whose schema was never seen.
func BenchmarkDecodeFresh(b *testing.B) {
	m := &Message{Value: encodeStream(b, []arrow.Record{bankRecord(1)})}
	var batch model.Batch
	for range b.N {
		if _, err := mustDecoder(b, bankOptions()).Decode(m, &batch, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkEncode(b *testing.B, rows int) {
	o := bankOptions()
	d := mustDecoder(b, o)
	var batch model.Batch
	var c Carry
	if _, err := d.Decode(&Message{Value: encodeStream(b, []arrow.Record{bankRecord(rows)})}, &batch, &c); err != nil {
		b.Fatal(err)
	}
	e, err := NewScoreEncoder(o)
	if err != nil {
		b.Fatal(err)
	}
	s, levels := bankScores(rows), model.NewLevels(o.Schema)
	var dst []byte
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if dst, err = e.Encode(dst[:0], &batch, s, levels, &c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkEncode1(b *testing.B)    { benchmarkEncode(b, 1) }
func BenchmarkEncode1000(b *testing.B) { benchmarkEncode(b, 1000) }

// TestKnownSchemaIsNotParsed: after the first message of a schema, the next cost a fraction of its allocations, which
// are those of Arrow's schema.
func TestKnownSchemaIsNotParsed(t *testing.T) {
	m := &Message{Value: encodeStream(t, []arrow.Record{bankRecord(1)})}
	d := mustDecoder(t, bankOptions())
	var b model.Batch
	decode := func(d *Decoder) {
		if _, err := d.Decode(m, &b, nil); err != nil {
			t.Fatal(err)
		}
	}
	decode(d)
	known := testing.AllocsPerRun(20, func() { decode(d) })
	first := testing.AllocsPerRun(20, func() {
		clear(d.in.known)
		decode(d)
	})
	if known > first*3/4 {
		t.Errorf("%v allocations for a known schema, %v for a new one", known, first)
	}
	if len(d.in.known) != 1 {
		t.Errorf("%d schemas are kept", len(d.in.known))
	}
}
