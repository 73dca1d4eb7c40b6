package codec

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"liftstream/model"
)

// intern numbers texts in order of first sight and keeps them, so that the levels of a column, the same in message
// after message, cost neither an allocation nor, mostly, a map look-up. It is emptied between messages when it has
// grown large.
type intern struct {
	index map[string]uint32
	raw   []string
	bytes int
	cache [256]uint32 // by hash of the text; id + 1
}

const (
	internTexts = 1 << 14
	internBytes = 1 << 20
)

func (t *intern) full() bool { return len(t.raw) > internTexts || t.bytes > internBytes }

func (t *intern) reset() {
	t.index, t.raw, t.bytes = make(map[string]uint32), t.raw[:0], 0
	clear(t.cache[:])
}

func hashText(b []byte) uint8 {
	var x uint64
	switch n := len(b); {
	case n >= 8:
		x = binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[n-8:])<<1
	case n >= 4:
		x = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		x = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return uint8((x + uint64(len(b))) * 0x9E3779B97F4A7C15 >> 56)
}

// id returns the number of the text; fresh tells that it is the next one.
func (t *intern) id(b []byte) (id uint32, fresh bool) {
	h := hashText(b)
	if c := t.cache[h]; c != 0 && t.raw[c-1] == string(b) {
		return c - 1, false
	}
	id, ok := t.index[string(b)]
	if !ok {
		s := string(b)
		id = uint32(len(t.raw))
		t.raw = append(t.raw, s)
		t.index[s] = id
		t.bytes += len(s)
	}
	t.cache[h] = id + 1
	return id, !ok
}

// levelColumn codes the texts of one nominal or ordinal feature by their first appearance in a batch.
type levelColumn struct {
	intern
	missing map[string]bool
	fixed   map[string]bool // the levels that the configuration names: their texts stay as they are
	// by id: the id of the canonical text; MissingCode for a text that means missing
	canon  []uint32
	stamp  []uint32 // by id: the batch in which code is valid
	code   []uint32
	batch  uint32
	levels []string
}

// begin starts a batch, whose level texts are appended to levels.
func (c *levelColumn) begin(levels []string) {
	c.levels = levels[:0]
	if c.index == nil || c.full() || c.batch == ^uint32(0) {
		c.reset()
		c.canon, c.stamp, c.code, c.batch = c.canon[:0], c.stamp[:0], c.code[:0], 0
	}
	c.batch++
}

func (c *levelColumn) lookup(b []byte) uint32 {
	id, fresh := c.id(b)
	if fresh {
		c.admit(id, b)
	}
	k := c.canon[id]
	if k == model.MissingCode {
		return model.MissingCode
	}
	if c.stamp[k] != c.batch {
		c.stamp[k] = c.batch
		c.code[k] = uint32(len(c.levels))
		c.levels = append(c.levels, c.raw[k])
	}
	return c.code[k]
}

func (c *levelColumn) admit(id uint32, b []byte) {
	c.canon, c.stamp, c.code = append(c.canon, id), append(c.stamp, 0), append(c.code, 0)
	t := trim(b)
	if !utf8.Valid(t) {
		t = bytes.ToValidUTF8(t, []byte("\uFFFD")) // published values must be text
	}
	gone := c.missing[string(t)]
	if !c.fixed[string(t)] {
		t = model.CanonicalText(nil, t)
		gone = gone || c.missing[string(t)]
	}
	switch {
	case gone:
		c.canon[id] = model.MissingCode
	case string(t) != string(b):
		k, fresh := c.id(t)
		if fresh {
			c.canon, c.stamp, c.code = append(c.canon, k), append(c.stamp, 0), append(c.code, 0)
		}
		c.canon[id] = k
	}
}

// classColumn maps texts to classes.
type classColumn struct {
	intern
	schema  *model.Schema
	missing map[string]bool
	class   []int32
}

func (c *classColumn) begin() {
	if c.index == nil || c.full() {
		c.reset()
		c.class = c.class[:0]
	}
}

func (c *classColumn) lookup(b []byte) int32 {
	id, fresh := c.id(b)
	if fresh {
		t := string(trim(b))
		k := c.schema.ClassOf(t)
		if k < 0 {
			k = int(model.UnknownClass)
			if c.missing[t] || c.missing[string(model.CanonicalText(nil, []byte(t)))] {
				k = int(model.Unlabelled)
			}
		}
		c.class = append(c.class, int32(k))
	}
	return c.class[id]
}

// trim cuts ASCII spaces around a text.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
