package model

import (
	"container/heap"
	"fmt"
	"sort"

	"liftstream/model/wire"
)

// reservoir is a bottom-k sample of the examples that left the tail: of the offered examples it keeps those of the
// smallest keys, a key being the hash of the record's position. Any k of n are kept with the same chance, so each
// stands for n/k records, and no order, trend or tie of the values can mislead it. It is a mergeable sketch: the k
// smallest of the keys of two reservoirs are the reservoir of both streams, and n adds up. How well the ranks of a
// feature in it, or of any function of several, are those among all n says Evidence.RankError. The tail before it holds
// all of the newest records, so that the sample as a whole is weighted for recency.
type reservoir struct {
	limit   int
	goals   int
	items   []reserved // max-heap by key
	seen    uint64     // examples offered
	version uint64
}

type reserved struct {
	key uint64
	record
}

func newReservoir(features, records int, bytes int64) *reservoir {
	per := int64(8*features + 56)
	return &reservoir{limit: max(int(min(int64(records), bytes/per)), 1)}
}

func (r *reservoir) Len() int           { return len(r.items) }
func (r *reservoir) Less(i, j int) bool { return r.items[i].key > r.items[j].key }
func (r *reservoir) Swap(i, j int)      { r.items[i], r.items[j] = r.items[j], r.items[i] }

// Push and Pop are heap.Interface's.
func (r *reservoir) Push(x any) { r.items = append(r.items, x.(reserved)) }
func (r *reservoir) Pop() any {
	x := r.items[len(r.items)-1]
	r.items = r.items[:len(r.items)-1]
	return x
}

// add offers a record; it is copied when kept.
func (r *reservoir) add(rec *record, key uint64) {
	r.seen++ // which stands in the partition's core: a record that is not kept leaves the section as it is
	if len(r.items) == r.limit {
		if key >= r.items[0].key {
			return
		}
		r.version++
		row := append(r.items[0].Row[:0], rec.Row...)
		r.items[0] = reserved{key, *rec}
		r.items[0].Row = row
		heap.Fix(r, 0)
		return
	}
	r.version++
	c := reserved{key, *rec}
	c.Row = append(Row(nil), rec.Row...)
	heap.Push(r, c)
}

// order makes a heap of the records again.
func (r *reservoir) order() { heap.Init(r) }

// relabel corrects the class and the outcomes of the record with that key, if it is kept: none of a key above the
// root's is.
func (r *reservoir) relabel(key uint64, class int32, o Outcomes) {
	if len(r.items) == 0 || key > r.items[0].key {
		return
	}
	for i := range r.items {
		if r.items[i].key == key {
			r.items[i].Class, r.items[i].Outcomes = class, o
			r.version++
			return
		}
	}
}

// whole reports whether every record that was offered is here.
func (r *reservoir) whole() bool { return r.seen == uint64(len(r.items)) }

// sample yields the records oldest first with the number of records that each stands for.
func (r *reservoir) sample(yield func(rec *record, standsFor float64)) {
	order := make([]int, len(r.items))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return r.items[order[a]].Clock < r.items[order[b]].Clock })
	for _, i := range order {
		yield(&r.items[i].record, float64(r.seen)/float64(len(r.items)))
	}
}

func (r *reservoir) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	for i := range r.items {
		for f := range r.items[i].Row {
			r.items[i].Row[f] = rc.Value(f, r.items[i].Row[f])
		}
	}
	r.version++
}

func (r *reservoir) appendState(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(len(r.items)))
	for i := range r.items { // in heap order, so that restoring gives the same heap
		x := &r.items[i]
		b = wire.AppendUvarint(b, x.key)
		b = wire.AppendFloats(b, x.Row)
		b = wire.AppendVarint(b, x.stored())
		b = wire.AppendFloat(b, x.Weight)
		b = wire.AppendFloat(b, x.Clock)
		b = wire.AppendVarint(b, x.Time)
		b = wire.AppendVarint(b, x.offset)
		b = wire.AppendVarint(b, int64(x.row))
	}
	return b
}

// load is the inverse of appendState for a reservoir that was offered seen records; ids is the section of their ids.
// Where it held more than the limit now allows, the smallest keys stay.
func (r *reservoir) load(b, ids []byte, seen uint64, features, classes int) error {
	w := wire.NewReader(b)
	r.seen = seen
	n := w.Int(len(b)) // a record has more than one byte
	who, err := appendWho(nil, ids, n)
	if err != nil {
		return fmt.Errorf("decoding the ids of the reservoir: %w", err)
	}
	for i := 0; i < n && w.Err() == nil; i++ {
		x := reserved{key: w.Uvarint()}
		x.who = who[i]
		x.Row = w.Floats()
		stored := w.Varint()
		x.Class, x.Outcomes = unstored(stored)
		x.Weight, x.Clock, x.Time, x.offset, x.row = w.Float(), w.Float(), w.Varint(), w.Varint(), int32(w.Varint())
		if len(x.Row) != features || !isStored(stored, classes, r.goals) {
			w.Fail(fmt.Errorf("record %d does not fit the schema", i))
		}
		if i > 0 && x.key > r.items[(i-1)/2].key {
			w.Fail(fmt.Errorf("record %d is out of order", i))
		}
		r.items = append(r.items, x)
	}
	if r.seen < uint64(len(r.items)) || len(r.items) == 0 && r.seen > 0 {
		w.Fail(fmt.Errorf("%d records of %d", len(r.items), r.seen))
	}
	if err := w.Done(); err != nil {
		return fmt.Errorf("decoding reservoir: %w", err)
	}
	for len(r.items) > r.limit {
		heap.Pop(r)
	}
	r.version = 1
	return nil
}

// carry takes over the sample of another schema. When the bytes are enough for fewer records now, the smallest keys
// stay.
func (r *reservoir) carry(old *reservoir, c *Change) {
	r.seen = old.seen
	for i := range old.items {
		x := old.items[i]
		x.Row = c.Row(x.Row, nil)
		r.items = append(r.items, x)
	}
	for len(r.items) > r.limit {
		heap.Pop(r)
	}
	r.version++
}
