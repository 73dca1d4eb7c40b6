package codec

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"liftstream/model"
)

// BenchmarkArmour compares this package's reading of messages with that of Arrow's library, which checks nothing. Each
// reads a message into a batch; only the reader of the bytes differs.
//
//	go test ./codec -run xxx -bench Armour -count 6
func BenchmarkArmour(b *testing.B) {
	for _, c := range []struct {
		name string
		o    []ipc.Option
	}{{"plain", nil}, {"zstd", []ipc.Option{ipc.WithZstd()}}, {"lz4", []ipc.Option{ipc.WithLZ4()}}} {
		m := &Message{Value: encodeStream(b, []arrow.Record{bankRecord(1000)}, c.o...)}
		b.Run(c.name+"/armour", func(b *testing.B) {
			d := mustDecoder(b, bankOptions())
			var batch model.Batch
			var carry Carry
			for range b.N {
				if _, err := d.Decode(m, &batch, &carry); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/bare", func(b *testing.B) {
			d := mustDecoder(b, bankOptions())
			var batch model.Batch
			var carry Carry
			for range b.N {
				if err := decodeBare(d, m, &batch, &carry); err != nil {
					b.Fatal(err)
				}
			}
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
