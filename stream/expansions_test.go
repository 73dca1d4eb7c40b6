package stream

import (
	"bytes"
	"context"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/stream/embedded"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestExpansionsThroughAStage sends little messages that stand for much memory to two partitions, again and again: each
// is answered or dead, the messages after it are scored, and the memory stays flat.
func TestExpansionsThroughAStage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it decodes some gigabytes")
	}
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 2)
	ctx := context.Background()
	bomb := func(name string, text, rows int) []byte {
		dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
		long, indices := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt8Builder(memory.DefaultAllocator)
		long.Append(strings.Repeat("a", text))
		for range rows {
			indices.Append(0)
		}
		column := array.NewDictionaryArray(dt, indices.NewArray(), long.NewArray())
		var fields []arrow.Field
		var columns []arrow.Array
		for _, n := range []string{"id", "x", "c", "y"} {
			a := arrow.Array(array.NewNull(rows))
			if n == name {
				a = column
			}
			fields, columns = append(fields, arrow.Field{Name: n, Type: a.DataType(), Nullable: true}), append(columns, a)
		}
		var out bytes.Buffer
		p := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema(fields, nil)), ipc.WithZstd())
		if err := p.Write(array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(rows))); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	sent := 0
	for range 8 {
		for p := range 2 {
			for _, v := range [][]byte{bomb("id", 64<<10, 200_000), bomb("y", 1<<20, 200_000), bomb("c", 16<<20, 200_000)} {
				if err := w.Client.Produce(ctx, []txn.Record{{Topic: w.Topics.Events, Partition: p, Value: v}},
					txn.None); err != nil {
					t.Fatal(err)
				}
			}
		}
		sent += 3
	}
	w.Produce(50, 10, true)
	o := w.options(w.Client)
	o.Codec.MaxMessage, o.Codec.Budget = 4<<20, codec.NewBudget(64<<20)
	peak, stop, stopped := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	r := w.run(o)
	w.caught(r)
	r.end(t)
	close(stop)
	<-stopped
	w.ExactlyOnce()
	letters := len(w.Records(w.Topics.Dead, 0)) + len(w.Records(w.Topics.Dead, 1))
	if letters != 2*sent {
		t.Errorf("%d dead letters of %d messages", letters, 2*sent)
	}
	streamtest.Eventually(t, time.Second, "memory of messages is held", func() bool { return o.Codec.Budget.InUse() == 0 })
	if peak > 400<<20 {
		t.Errorf("%d MiB of memory were in use", peak>>20)
	}
	t.Logf("%d messages to each partition, %d dead letters, %d MiB in use at most", sent, letters, peak>>20)
}
