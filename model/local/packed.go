package local

import (
	"slices"
)

// Most prototypes are too far to be compared one feature after the other. Each is first bounded by look-ups: its places
// in several features, in cells of a few places each, form one code, and a table made for the record holds the least
// sum of terms at each code. A prototype whose sum of these bounds exceeds the distance of the K-th of the nearest is
// not measured.
const (
	packSize = 256 // codes of a pack
	packed   = 16  // cells of a feature
)

// pack is a set of features whose cells in a prototype are one code.
type pack struct {
	members []member
	code    []uint8 // of each prototype
	size    int     // number of codes
}

// member is a feature of a pack, with the lowest and the highest place of its prototypes in each cell, ascending.
// Absent places are a cell of their own.
type member struct {
	feature   int32
	low, high []int32
}

// table is the least sum of terms at each code of a pack.
type table [packSize]int64

// cells cuts sorted places into cells of equally many prototypes, equal places together.
func cells(places []int32) (low, high []int32) {
	n, _ := slices.BinarySearch(places, absent+1)
	if n > 0 {
		low, high = []int32{absent}, []int32{absent}
		places = places[n:]
	}
	distinct := slices.Compact(slices.Clone(places))
	room := packed - len(low)
	if len(distinct) <= room {
		return append(low, distinct...), append(high, distinct...)
	}
	for len(places) > 0 && room > 0 {
		end := max(1, len(places)/room)
		if room == 1 {
			end = len(places)
		}
		for end < len(places) && places[end] == places[end-1] {
			end++
		}
		low, high = append(low, places[0]), append(high, places[end-1])
		places, room = places[end:], room-1
	}
	return low, high
}

// prepare fills the table of places, and the cells of the columns: in lanes where package scan can have them and scan
// says so, else packed.
func (p *prototypes) prepare(scan bool) {
	p.packs, p.exact, p.lanes = nil, make([]bool, len(p.columns)), lanes{}
	p.stride = padded(len(p.columns))
	p.places = make([]int32, len(p.class)*p.stride)
	for i := range p.places {
		p.places[i] = absent
	}
	for j := range p.columns {
		if len(p.columns[j].at) > 0 {
			for k, v := range p.columns[j].values() {
				p.places[k*p.stride+j] = v
			}
		}
	}
	if p.scanned = scan && p.prepareLanes(); !p.scanned {
		p.pack()
	}
}

// pack packs the columns: those of most cells first, each into the first pack that has space for it.
func (p *prototypes) pack() {
	p.lanes = lanes{}
	var all []member
	for j := range p.columns {
		if len(p.columns[j].at) == 0 {
			continue
		}
		places := p.columns[j].values()
		slices.Sort(places)
		m := member{feature: int32(j)}
		m.low, m.high = cells(places)
		p.exact[j] = slices.Equal(m.low, m.high)
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b member) int { return len(b.low) - len(a.low) })
	for _, m := range all {
		at := slices.IndexFunc(p.packs, func(k pack) bool { return k.size*len(m.low) <= packSize })
		if at < 0 {
			at = len(p.packs)
			p.packs = append(p.packs, pack{code: make([]uint8, len(p.class)), size: 1})
		}
		k := &p.packs[at]
		for i, v := range p.columns[m.feature].values() {
			cell, _ := slices.BinarySearch(m.high, v)
			k.code[i] += uint8(cell * k.size)
		}
		k.members, k.size = append(k.members, m), k.size*len(m.low)
	}
}

// fill makes the table of the pack for the terms of its features, and reports whether one of them has a weight.
func (k *pack) fill(terms []queryTerm, t *table) bool {
	if !slices.ContainsFunc(k.members, func(m member) bool { return terms[m.feature].weight != 0 }) {
		return false
	}
	t[0] = 0
	n := 1
	for i := range k.members {
		m := &k.members[i]
		term := &terms[m.feature]
		for c := len(m.low) - 1; c >= 0; c-- {
			v := term.least(m.low[c], m.high[c])
			to := t[c*n : c*n+n]
			for a, u := range t[:n] {
				to[a] = u + v
			}
		}
		n *= len(m.low)
	}
	return true
}

// least is the smallest term of a place between low and high.
func (t *queryTerm) least(low, high int32) int64 {
	if t.weight == 0 {
		return 0
	}
	if low == absent {
		return t.expected * t.weight
	}
	x := max(float64(low)-t.q, t.q-float64(high), 0)
	return min(int64(x*x), t.cap) * t.weight
}

// lookUp fills sum with the sums of the table entries at the codes, by prototype.
func lookUp(tables []table, codes [][]uint8, sum []int64) {
	clear(sum)
	for ; len(tables) >= 4; tables, codes = tables[4:], codes[4:] {
		a, b, c, d := codes[0][:len(sum)], codes[1][:len(sum)], codes[2][:len(sum)], codes[3][:len(sum)]
		t, u, v, w := &tables[0], &tables[1], &tables[2], &tables[3]
		for k := range sum {
			sum[k] += t[a[k]] + u[b[k]] + (v[c[k]] + w[d[k]])
		}
	}
	if len(tables) >= 2 {
		a, b := codes[0][:len(sum)], codes[1][:len(sum)]
		t, u := &tables[0], &tables[1]
		for k := range sum {
			sum[k] += t[a[k]] + u[b[k]]
		}
		tables, codes = tables[2:], codes[2:]
	}
	for i := range tables {
		c, t := codes[i][:len(sum)], &tables[i]
		for k := range sum {
			sum[k] += t[c[k]]
		}
	}
}
