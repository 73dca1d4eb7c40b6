package scan

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// fast is a property of the processor. The POPCNT and FMA of newer ones are not asked for.
var fast = cpu.X86.HasAVX2

//go:noescape
func boundAVX2(r *Range, q, most, factor float32, t *Table)

//go:noescape
func sumUpAVX2(codes *uint8, wide int, features *uint32, tables *Table, n int, sums *uint8, groups int,
	least *[Lanes]uint8)

//go:noescape
func maskAVX2(sums *[Group]uint8, limit uint8, masks *[Group / 64]uint64)

//go:noescape
func measureAVX2(places *int32, quads *Quad, n int, list *int32, count int, out *int64)

func bound(r *Range, q, most, factor float32, t *Table) {
	if !fast {
		boundPlain(r, q, most, factor, t)
		return
	}
	boundAVX2(r, q, most, factor, t)
}

func sumUp(codes Codes, wide int, features []uint32, tables []Table, sums []uint8, least *[Lanes]uint8) {
	if !fast {
		sumUpPlain(codes, wide, features, tables, sums, least)
		return
	}
	sumUpAVX2(&codes[0], wide, &features[0], &tables[0], len(features), &sums[0], len(sums)/Group, least)
}

func atMost(sums []uint8, limit uint8, to []int32) []int32 {
	if !fast {
		return atMostPlain(sums, limit, to)
	}
	var masks [Group / 64]uint64
	at := int32(0)
	for ; len(sums) >= Group; sums = sums[Group:] {
		maskAVX2((*[Group]uint8)(sums), limit, &masks)
		for i, m := range masks {
			for ; m != 0; m &= m - 1 {
				to = append(to, at+int32(64*i+bits.TrailingZeros64(m)))
			}
		}
		at += Group
	}
	for k, s := range sums {
		if s <= limit {
			to = append(to, at+int32(k))
		}
	}
	return to
}

func measure(places []int32, quads []Quad, list []int32, out []int64) {
	if !fast {
		measurePlain(places, quads, list, out)
		return
	}
	measureAVX2(&places[0], &quads[0], len(quads), &list[0], len(list), &out[0])
}
