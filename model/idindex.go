package model

import "hash/maphash"

// idIndex finds the number of an entry of the pending store by its id. It keeps 16 bits of a hash and the low 32 bits
// of the number for each, in open addressing; the caller compares the ids themselves. The hash has a key of its
// process: the key decides on places in memory alone, and nobody can send ids that all fall on one.
type idIndex struct {
	key    maphash.Seed
	tables []idTable // idTables of them, by further bits of the hash; nil = no id was added yet
}

const (
	idTables = 1024
	// idBytes is the number of bytes that an id is reckoned to take in the index.
	idBytes = 8
)

// idTable is one part of the index: it grows and shrinks by itself.
type idTable struct {
	tags    []uint16 // of the hash; 0 = free
	numbers []uint32
	used    int
}

func newIDIndex() idIndex { return idIndex{key: maphash.MakeSeed()} }

// of returns the table of an id and its tag, which is not 0.
func (x *idIndex) of(id string) (t *idTable, tag uint16) {
	if x.tables == nil {
		x.tables = make([]idTable, idTables)
	}
	h := maphash.String(x.key, id)
	return &x.tables[h%idTables], max(uint16(h>>48), 1)
}

// home is the slot in which the search for a tag begins.
func (t *idTable) home(tag uint16) int { return int(tag) * len(t.tags) >> 16 }

// find returns the number of the entry with that id; is compares it with an entry. low is the smallest number that an
// entry has.
func (x *idIndex) find(id string, low uint64, is func(n uint64) bool) (n uint64, ok bool) {
	t, tag := x.of(id)
	slot := t.slot(tag, low, is)
	if slot < 0 {
		return 0, false
	}
	return t.number(slot, low), true
}

// number returns the number in a slot: no two numbers of a store are 2^32 apart.
func (t *idTable) number(slot int, low uint64) uint64 {
	return low + uint64(t.numbers[slot]-uint32(low))
}

// slot returns the slot of the entry, -1 where there is none.
func (t *idTable) slot(tag uint16, low uint64, is func(n uint64) bool) int {
	if t.used == 0 {
		return -1
	}
	for i := t.home(tag); t.tags[i] != 0; i = t.after(i) {
		if t.tags[i] == tag && is(t.number(i, low)) {
			return i
		}
	}
	return -1
}

func (t *idTable) after(i int) int {
	if i++; i == len(t.tags) {
		return 0
	}
	return i
}

// add adds an id that is not there.
func (x *idIndex) add(id string, n uint64) {
	t, tag := x.of(id)
	if size := len(t.tags); (t.used+1)*6 > size*5 {
		t.resize(size + size/8 + 8)
	}
	t.put(tag, uint32(n))
	t.used++
}

func (t *idTable) put(tag uint16, number uint32) {
	i := t.home(tag)
	for t.tags[i] != 0 {
		i = t.after(i)
	}
	t.tags[i], t.numbers[i] = tag, number
}

func (t *idTable) resize(size int) {
	tags, numbers := t.tags, t.numbers
	t.tags, t.numbers = make([]uint16, size), make([]uint32, size)
	for i, tag := range tags {
		if tag != 0 {
			t.put(tag, numbers[i])
		}
	}
}

// move gives the entry with that id another number.
func (x *idIndex) move(id string, to, low uint64, is func(n uint64) bool) {
	t, tag := x.of(id)
	if slot := t.slot(tag, low, is); slot >= 0 {
		t.numbers[slot] = uint32(to)
	}
}

// remove takes an id out.
func (x *idIndex) remove(id string, low uint64, is func(n uint64) bool) {
	t, tag := x.of(id)
	i := t.slot(tag, low, is)
	if i < 0 {
		return
	}
	size := len(t.tags)
	for j := t.after(i); t.tags[j] != 0; j = t.after(j) {
		// An entry may fill the free slot unless its search begins behind that.
		if from := t.home(t.tags[j]); (j-from+size)%size >= (j-i+size)%size {
			t.tags[i], t.numbers[i] = t.tags[j], t.numbers[j]
			i = j
		}
	}
	t.tags[i] = 0
	if t.used--; size > 64 && t.used*2 < size {
		t.resize(t.used + t.used/2 + 8)
	}
}
