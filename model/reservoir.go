package model

import (
	"container/heap"
	"fmt"
	"math"
	"sort"

	"liftstream/model/wire"
)

// reservoir is a bottom-k sample of the examples that left the tail, weighted for recency: record i has the key
// ln(E_i) - clock_i ln 2 / halfLife with E_i a unit exponential drawn from the hash of its position (Efraimidis and
// Spirakis 2006, in logarithms), and the k smallest keys are kept. With the smallest key that was ever dropped as
// threshold tau, record i was kept with probability 1 - exp(-w_i e^tau), w_i = 2^(clock_i/halfLife).
type reservoir struct {
	limit    int
	halfLife float64
	items    []reserved // max-heap by key
	tau      float64    // smallest key dropped; +Inf while nothing was
	version  uint64
}

type reserved struct {
	key float64
	record
}

func newReservoir(features, records int, bytes int64) *reservoir {
	per := int64(8*features + 56)
	n := int(min(int64(records), bytes/per))
	return &reservoir{limit: max(n, 1), halfLife: float64(max(n, 1)), tau: math.Inf(1)}
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
func (r *reservoir) add(rec *record, hash uint64) {
	key := math.Log(exponential(hash)) - rec.Clock*math.Ln2/r.halfLife
	if len(r.items) == r.limit {
		if key >= r.items[0].key {
			r.tau = min(r.tau, key)
			return
		}
		r.version++
		r.tau = min(r.tau, r.items[0].key)
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

// sample yields the records oldest first with the inverse of their chance to be kept.
func (r *reservoir) sample(yield func(rec *record, inverse float64)) {
	order := make([]int, len(r.items))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return r.items[order[a]].Clock < r.items[order[b]].Clock })
	for _, i := range order {
		p := 1.0
		if !math.IsInf(r.tau, 1) {
			p = -math.Expm1(-math.Exp(r.items[i].Clock*math.Ln2/r.halfLife + r.tau))
		}
		yield(&r.items[i].record, 1/max(p, 1e-9))
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
	b = wire.AppendFloat(b, r.tau)
	b = wire.AppendUvarint(b, uint64(len(r.items)))
	for i := range r.items { // in heap order, so that restoring gives the same heap
		x := &r.items[i]
		b = wire.AppendFloat(b, x.key)
		b = wire.AppendFloats(b, x.Row)
		b = wire.AppendVarint(b, int64(x.Class))
		b = wire.AppendFloat(b, x.Weight)
		b = wire.AppendFloat(b, x.Clock)
		b = wire.AppendVarint(b, x.Time)
		b = wire.AppendVarint(b, x.offset)
		b = wire.AppendVarint(b, int64(x.row))
	}
	return b
}

func (r *reservoir) load(b []byte, features, classes int) error {
	w := wire.NewReader(b)
	r.tau = w.Float()
	n := w.Int(r.limit)
	for i := 0; i < n && w.Err() == nil; i++ {
		x := reserved{key: w.Float()}
		x.Row = w.Floats()
		x.Class = int32(w.Varint())
		x.Weight, x.Clock, x.Time, x.offset, x.row = w.Float(), w.Float(), w.Varint(), w.Varint(), int32(w.Varint())
		if len(x.Row) != features || x.Class < 0 || int(x.Class) >= classes {
			w.Fail(fmt.Errorf("record %d does not fit the schema", i))
		}
		r.items = append(r.items, x)
	}
	if err := w.Done(); err != nil {
		return fmt.Errorf("decoding reservoir: %w", err)
	}
	r.version = 1
	return nil
}
