package model

import (
	"encoding/binary"
	"fmt"
	"math"

	"liftstream/model/wire"
)

// percentileWindow is the number of scores among which a percentile is a rank.
const percentileWindow = 100_000

// percentileBuckets is the resolution: buckets of equal width in log-odds between -12 and 12.
const percentileBuckets = 4096

// percentile ranks a propensity among the last percentileWindow ones: a ring of buckets and a Fenwick tree over them
// (Fenwick 1994), O(log buckets) a score.
type percentile struct {
	ring []uint16
	at   int
	tree [percentileBuckets + 1]int32
}

func percentileBucket(p float64) uint16 {
	z := math.Log(p/(1-p))/24 + 0.5
	return uint16(min(max(z, 0), 1) * (percentileBuckets - 1))
}

func (q *percentile) move(b uint16, d int32) {
	for i := int(b) + 1; i <= percentileBuckets; i += i & -i {
		q.tree[i] += d
	}
}

func (q *percentile) below(b uint16) (n int32) {
	for i := int(b); i > 0; i -= i & -i {
		n += q.tree[i]
	}
	return n
}

// rank returns the share of the window that lies below p, those in p's own bucket counted by half; 0.5 of an empty
// window. Then it takes p into the window.
func (q *percentile) rank(p float64) float32 {
	b := percentileBucket(p)
	r := float32(0.5)
	if n := len(q.ring); n > 0 {
		lo := q.below(b)
		r = (float32(lo) + float32(q.below(b+1)-lo)/2) / float32(n)
	}
	q.move(b, 1)
	if len(q.ring) < percentileWindow {
		q.ring = append(q.ring, b)
		return r
	}
	q.move(q.ring[q.at], -1)
	q.ring[q.at] = b
	q.at = (q.at + 1) % percentileWindow
	return r
}

func (q *percentile) appendState(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(q.at))
	b = wire.AppendUvarint(b, uint64(2*len(q.ring)))
	for _, x := range q.ring {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func (q *percentile) load(b []byte) error {
	r := wire.NewReader(b)
	q.at = r.Int(percentileWindow - 1)
	raw := r.Bytes()
	if err := r.Done(); err != nil {
		return fmt.Errorf("decoding percentiles: %w", err)
	}
	if len(raw)%2 != 0 || len(raw) > 2*percentileWindow {
		return fmt.Errorf("decoding percentiles: %d bytes", len(raw))
	}
	for i := 0; i < len(raw); i += 2 {
		x := binary.LittleEndian.Uint16(raw[i:])
		if x >= percentileBuckets {
			return fmt.Errorf("decoding percentiles: bucket %d", x)
		}
		q.ring = append(q.ring, x)
		q.move(x, 1)
	}
	return nil
}
