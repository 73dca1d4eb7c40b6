package drift

import "slices"

// fewValues is the number of values up to which a sort by comparisons is the faster one.
const fewValues = 64

// sort orders present values of column c as c.order does. A reference sorts each column of a monitor between two
// records, so it goes by digits: by comparisons a thousand columns hold the records up for a fifth of a second.
func (m *Monitor) sort(c *watched, v []uint32) {
	if c.Kind != Numbers {
		m.sortKeys(v)
		return
	}
	var plus, minus bool
	for i, u := range v {
		plus, minus = plus || u == 0, minus || u == signBit
		v[i] = keyOf(u)
	}
	if !plus || !minus {
		m.sortKeys(v)
	}
	for i, k := range v {
		v[i] = numberOf(k)
	}
	if plus && minus {
		slices.SortFunc(v, c.order) // which of two zeros comes first must stay as it is in states of earlier builds
	}
}

const signBit = 1 << 31

// keyOf returns numbers that are ordered as the float32 of those bits, -0 before 0; numberOf is its inverse.
func keyOf(u uint32) uint32 {
	if u&signBit != 0 {
		return ^u
	}
	return u | signBit
}

func numberOf(k uint32) uint32 {
	if k&signBit != 0 {
		return k &^ signBit
	}
	return ^k
}

// sortKeys sorts by the four bytes of the keys, the lowest first.
func (m *Monitor) sortKeys(v []uint32) {
	if len(v) <= fewValues {
		slices.Sort(v)
		return
	}
	var count [4][256]int
	for _, k := range v {
		for d := range count {
			count[d][byte(k>>(8*d))]++
		}
	}
	m.room = slices.Grow(m.room[:0], len(v))[:len(v)]
	from, to := v, m.room
	for d := range count {
		n := &count[d]
		if n[byte(from[0]>>(8*d))] == len(v) {
			continue // they have this byte in common
		}
		at := 0
		for b, c := range n {
			n[b], at = at, at+c
		}
		for _, k := range from {
			b := byte(k >> (8 * d))
			to[n[b]] = k
			n[b]++
		}
		from, to = to, from
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}
