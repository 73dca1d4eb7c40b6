package codec

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"liftstream/model"
)

// BenchmarkArmour compares this package's reading of messages of 1,000 rows with that of Arrow's library, which checks
// nothing. Each reads a message into a batch; only the reader of the bytes differs. They run in turn, and the ratio is
// that of their median times, which other work on the machine hardly moves.
//
//	GOMAXPROCS=1 go test ./codec -run xxx -bench Armour -benchtime 600x -count 6
func BenchmarkArmour(b *testing.B) {
	for _, c := range []struct {
		name string
		o    []ipc.Option
	}{{"plain", nil}, {"zstd", []ipc.Option{ipc.WithZstd()}}, {"lz4", []ipc.Option{ipc.WithLZ4()}}} {
		b.Run(c.name, func(b *testing.B) {
			m := &Message{Value: encodeStream(b, []arrow.Record{bankRecord(1000)}, c.o...)}
			d, bare := mustDecoder(b, bankOptions()), mustDecoder(b, bankOptions())
			var batches [2]model.Batch
			var carries [2]Carry
			var times [2][]time.Duration
			for range b.N {
				began := time.Now()
				if _, err := d.Decode(m, &batches[0], &carries[0]); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if err := decodeBare(bare, m, &batches[1], &carries[1]); err != nil {
					b.Fatal(err)
				}
				times[0], times[1] = append(times[0], middle.Sub(began)), append(times[1], time.Since(middle))
			}
			slices.Sort(times[0])
			slices.Sort(times[1])
			armour, without := times[0][b.N/2], times[1][b.N/2]
			b.ReportMetric(float64(armour)/1000, "ns/row")
			b.ReportMetric(float64(without)/1000, "bare-ns/row")
			b.ReportMetric(float64(armour)/float64(without), "ratio")
		})
	}
}

// decodeBare decodes a message that Arrow's library reads.
func decodeBare(d *Decoder, m *Message, b *model.Batch, c *Carry) error {
	r, err := ipc.NewReader(bytes.NewReader(m.Value))
	if err != nil {
		return err
	}
	d.in.account.begin(nil)
	d.in.last = d.in.last[:0]
	for r.Next() {
		rec := r.Record()
		rec.Retain()
		d.in.last = append(d.in.last, rec)
	}
	if err := r.Err(); err != nil {
		return err
	}
	if _, err := d.contract(d.planEvents(r.Schema()), d.in.last, 0, m, b, c); err != nil {
		return err
	}
	return nil
}
