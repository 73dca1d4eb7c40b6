package codec

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

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
	account *account
	scratch []byte
	// by id: the id of the canonical text; MissingCode for a text that means missing
	canon  []uint32
	stamp  []uint32 // by id: the batch in which code is valid
	code   []uint32
	odd    []uint8 // by id: the change that canon made to the text, besides spaces
	batch  uint32
	levels []string

	spelt  map[string]string // first text of a number with a fraction, by its canonical text
	found  *Findings
	name   string // of the feature
	merged bool   // found has two texts that are one number

	dict      arrow.ArrayData // dictionary of byValue; its values do not change within a batch
	byValue   []uint32
	oddValues map[int][2]int // of the dictionary's values whose text is changed: by how much the counts below rise
	replaced  int            // values of the batch whose text was not UTF-8
	shortened int            // values of the batch whose text was too long
}

const (
	oddText = 1 << iota // not UTF-8
	oddLength
)

// maxLevel is the length of a level's text. States, models and scores hold levels; of a longer text they hold the
// beginning and a hash.
const maxLevel = model.MaxLevelBytes

// begin starts a batch, whose level texts are appended to levels.
func (c *levelColumn) begin(levels []string) {
	c.levels, c.dict, c.replaced, c.shortened = levels[:0], nil, 0, 0
	if c.index == nil || c.full() || c.batch == ^uint32(0) {
		c.forget()
		c.reset()
	}
	c.batch++
}

// forget gives up all knowledge of texts.
func (c *levelColumn) forget() {
	c.intern = intern{}
	c.canon, c.stamp, c.code, c.odd, c.batch, c.dict, c.byValue = nil, nil, nil, nil, 0, nil, nil
	c.spelt = nil
}

func (c *levelColumn) lookup(b []byte) uint32 {
	id, fresh := c.id(b)
	if fresh {
		c.admit(id, b)
	}
	if odd := c.odd[id]; odd != 0 {
		c.replaced += int(odd & oddText)
		c.shortened += int(odd&oddLength) >> 1
	}
	if c.stamp[id] == c.batch {
		return c.code[id]
	}
	return c.first(id, len(b))
}

// first numbers a text that the batch holds for the first time. Its count must not depend on earlier batches.
func (c *levelColumn) first(id uint32, size int) uint32 {
	if !c.account.take(int64(levelCost + size)) {
		return model.MissingCode
	}
	c.stamp[id] = c.batch
	k := c.canon[id]
	switch k {
	case model.MissingCode:
		c.code[id] = model.MissingCode
	case id:
		c.code[id] = uint32(len(c.levels))
		c.levels = append(c.levels, c.raw[k])
	default:
		if c.stamp[k] != c.batch {
			c.first(k, len(c.raw[k]))
		}
		c.code[id] = c.code[k]
	}
	return c.code[id]
}

// levelCost is the memory for a text besides its bytes.
const levelCost = 160

func (c *levelColumn) add(canon uint32, odd uint8) {
	c.canon, c.stamp, c.code = append(c.canon, canon), append(c.stamp, 0), append(c.code, 0)
	c.odd = append(c.odd, odd)
}

func (c *levelColumn) admit(id uint32, b []byte) {
	c.add(id, 0)
	t := trim(b)
	if !utf8.Valid(t) {
		t = bytes.ToValidUTF8(t, []byte("\uFFFD")) // published values must be text; it may be longer than before
		c.odd[id] |= oddText
	}
	if len(t) > maxLevel {
		t = shorten(t)
		c.odd[id] |= oddLength
	}
	gone := c.missing[string(t)]
	if !c.fixed[string(t)] {
		text := t
		t = model.CanonicalText(nil, t)
		c.spell(text, t)
		gone = gone || c.missing[string(t)]
	}
	switch {
	case gone:
		c.canon[id] = model.MissingCode
	case string(t) != string(b):
		k, fresh := c.id(t)
		if fresh {
			c.add(k, 0)
		}
		c.canon[id] = k
	}
}

// spell notes the first two texts of one number with a fraction, such as 3.1 and 3.10, which might be names.
func (c *levelColumn) spell(text, canonical []byte) {
	if c.found == nil || c.merged || len(text) > 24 || bytes.IndexByte(canonical, '.') < 0 || canonical[0] > '9' {
		return
	}
	first, ok := c.spelt[string(canonical)]
	switch {
	case !ok && c.spelt == nil:
		c.spelt = map[string]string{}
		fallthrough
	case !ok:
		c.spelt[string(canonical)] = string(text)
	case first != string(text):
		c.merged = true
		c.found.Merged = append(c.found.Merged, Merged{c.name, first, string(text)})
	}
}

// shorten returns the beginning of a long text and a hash of it.
func shorten(t []byte) []byte {
	sum := sha256.Sum256(t)
	t = t[:maxLevel-40]
	for len(t) > 0 && !utf8.RuneStart(t[len(t)-1]) {
		t = t[:len(t)-1]
	}
	return fmt.Appendf(nil, "%s...%x", t[:max(len(t)-1, 0)], sum[:16])
}

// classColumn maps texts to classes.
type classColumn struct {
	intern
	known   *model.ClassIndex
	missing map[string]bool
	account *account
	scratch []byte
	class   []int32
	found   *Findings

	dict    arrow.ArrayData // dictionary of byValue
	byValue []int32
}

func (c *classColumn) begin() {
	c.dict = nil
	if c.index == nil {
		c.reset()
		c.class = c.class[:0]
	}
}

func (c *classColumn) lookup(b []byte) int32 {
	if len(b) > maxLevel {
		return c.of(b)
	}
	if id, ok := c.index[string(b)]; ok {
		return c.class[id]
	}
	if c.full() {
		return c.of(b)
	}
	k := c.of(b)
	c.id(b)
	c.class = append(c.class, k)
	return k
}

// of is the class that a text names.
func (c *classColumn) of(b []byte) int32 {
	t := trim(b)
	if len(t) > maxLevel {
		return c.none(t)
	}
	if k := c.known.Class(t); k >= 0 {
		return k
	}
	if c.missing[string(t)] || c.missing[string(model.CanonicalText(nil, t))] {
		return model.Unlabelled
	}
	return c.none(t)
}

func (c *classColumn) none(t []byte) int32 {
	if c.found.UnknownClass == "" {
		c.found.UnknownClass = cut(string(t))
	}
	return model.UnknownClass
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
