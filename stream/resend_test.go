package stream

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/stream/internal/sample"
	"liftstream/stream/resend"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// Rows that were refused are scored once their letters are sent again under a configuration that takes them; the rows
// beside them, which were scored at once, are not scored a second time.
func TestRowsSentAgainAreScoredOnce(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		for p := range w.N {
			var out []txn.Record
			for i := range 10 {
				v := weighted(t, p, 20*i, 20)
				h := codec.EventHeaders(v, 20)
				out = append(out, txn.Record{Topic: w.Topics.Events, Partition: p, Key: []byte{byte(i)}, Value: v,
					Time: time.UnixMilli(1_700_000_000_000 + int64(i)), Headers: []txn.Header{
						{Key: codec.HeaderRows, Value: h.Rows}, {Key: codec.HeaderCRC32C, Value: h.CRC32C}}})
			}
			if err := w.Client.Produce(t.Context(), out, txn.Lz4); err != nil {
				t.Fatal(err)
			}
		}
		w.Send(w.Topics.Events, "no event")
		strict := w.options(w.Client)
		strict.Codec.Weight = "w" // of which every other one is negative
		r := w.run(strict)
		w.caught(r)
		r.end(t)
		letters := len(w.Records(w.Topics.Dead, 0)) + len(w.Records(w.Topics.Dead, 1))
		told := map[resend.Outcome]int{}
		o := resend.Options{Client: w.Client, Name: w.Name, Dead: w.Topics.Dead,
			Targets: map[string]int{w.Topics.Events: w.N, w.Topics.Labels: w.N}, Now: time.Now, Most: 3,
			Each: func(_ *resend.Letter, o resend.Outcome) { told[o]++ }}
		for range 2 {
			if err := resend.Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		if told[resend.Sent] != letters || letters < 100 {
			t.Fatalf("%d letters, told of %v", letters, told)
		}
		r = w.run(w.options(w.Client))
		w.caught(r)
		r.end(t)
		for p := range w.N {
			seen := map[string]int{}
			for _, id := range w.IDs(p) {
				seen[id]++
			}
			if len(seen) != 200 || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
				t.Errorf("partition %d: %d ids with scores", p, len(seen))
			}
		}
		// The message that no configuration reads has died again, once for each time that it was sent.
		clear(told)
		for range 5 {
			if err := resend.Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			r := w.run(w.options(w.Client))
			w.caught(r)
			r.end(t)
		}
		if told[resend.Sent] != 2 || told[resend.Exhausted] != 3 {
			t.Errorf("the message that always dies: told of %v", told)
		}
	})
}

// weighted is World.Message with a column w that is -1 in every other record.
func weighted(t *testing.T, partition, from, n int) []byte {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "c", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String},
		{Name: "w", Type: arrow.PrimitiveTypes.Float64}}, nil))
	defer b.Release()
	x := sample.Records(partition*1_000_000+from, n)
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(streamtest.RecordID(partition, from+i))
		b.Field(1).(*array.Float64Builder).Append(x.Columns[0].Float[i])
		b.Field(2).(*array.StringBuilder).Append(x.Columns[1].Levels[x.Columns[1].Code[i]])
		b.Field(3).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		b.Field(4).(*array.Float64Builder).Append(float64(1 - i%2*2))
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
