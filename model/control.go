package model

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
)

// Control draws the control share, the records that users leave untargeted (MODEL.md 7).
type Control struct {
	// Share is that of the ids, or of the records where ByRecord says so, in 0 to 1; 0 = there is none.
	Share float64
	// ByRecord draws each record by its position. Else all records of an id are in the share or none is.
	ByRecord bool
	// Seed draws another share.
	Seed uint64
	// Learn says from which records is learnt.
	Learn Learn
	// Uplift estimates the effect of the treatment.
	Uplift bool
}

// tells reports whether the chances to be untreated are counted.
func (c *Control) tells() bool { return c.Learn == LearnUntreated || c.Uplift }

// Holds reports whether a record is in the control share. The draw is a big-endian number, the first 8 bytes of
// SHA-256("SEED:ID"), or of SHA-256("SEED:PARTITION/OFFSET/ROW"); draws below the share of 2^64 are in. So other
// programs find the same records, and a larger share holds all of a smaller one. An empty id is in no share by id.
func (c *Control) Holds(id string, partition int32, offset int64, row int32) bool {
	if c.Share <= 0 || !c.ByRecord && id == "" {
		return false
	}
	var buffer [96]byte
	b := append(strconv.AppendUint(buffer[:0], c.Seed, 10), ':')
	if c.ByRecord {
		b = append(strconv.AppendInt(b, int64(partition), 10), '/')
		b = append(strconv.AppendInt(b, offset, 10), '/')
		b = strconv.AppendInt(b, int64(row), 10)
	} else {
		b = append(b, id...)
	}
	sum := sha256.Sum256(b)
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) < c.Share*math.Exp2(53)
}

// Of reports whether record i of a batch is in the control share.
func (c *Control) Of(b *Batch, i int) bool {
	id, row := "", int32(i)
	if b.ID != nil {
		id = b.ID[i]
	}
	if b.Row != nil {
		row = b.Row[i]
	}
	return c.Holds(id, b.Partition, b.Offset, row)
}

// flag writes into out which records of the batch are in the control share; nothing where there is none.
func (c *Control) flag(b *Batch, out *Scores) {
	out.Control, out.Uplift = out.Control[:0], out.Uplift[:0]
	if c.Share <= 0 {
		return
	}
	for i := range b.N {
		out.Control = append(out.Control, c.Of(b, i))
	}
}
