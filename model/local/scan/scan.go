// Package scan compares one record with many stored ones at a time: 128 by look-ups of 16 entries in vector registers,
// and then the few that are left by exact distances. Processors without AVX2 get the same numbers from plain Go, more
// slowly than by other ways; Fast tells.
//
// Look-ups of 16 bytes in a register: André, F., Kermarrec, A.-M. and Le Scouarnec, N. (2015). Cache locality is not
// enough: high-performance nearest neighbor search with product quantization fast scan. Proceedings of the VLDB
// Endowment 9(4). Tables of lower bounds in place of estimates, so that the neighbours are exact, are ours.
package scan

import "math"

const (
	// Group is the number of records that lie side by side in codes.
	Group = 128
	// Cells is the number of cells of a feature at most.
	Cells = 16
	// Lanes is the number of minima that Sums returns.
	Lanes = 32
	// Together is the number of features that a Quad holds.
	Together = 4
	// Full is the sum that stands for itself and everything above.
	Full = 255
	// Absent is a place that is missing.
	Absent = math.MinInt32
)

// Fast reports whether this processor has the vector instructions.
func Fast() bool { return fast }

// Range is the lowest and the highest place of each cell of a feature, infinite ones among them.
type Range struct{ Low, High [Cells]float32 }

// Table is an entry for each cell of a feature.
type Table [Cells]uint8

// Codes are the cells of records: group by group, in each feature by feature, in each record by record.
type Codes []uint8

// At returns the index of the cell of record k in feature j of wide ones.
func At(k, j, wide int) int { return (k/Group*wide+j)*Group + k%Group }

// Size is the length of the codes of n records.
func Size(n, wide int) int { return (n + Group - 1) / Group * Group * wide }

// Bound fills t with the least terms of places of the cells: min(min(d^2, most) factor, 255), d being the distance of q
// from the range of the cell, rounded down after single precision. A finite q gives numbers only.
func (t *Table) Bound(r *Range, q, most, factor float32) { bound(r, q, most, factor, t) }

// Sums adds, to the sum of each record, the entries of tables at its cells, tables[i] being that of feature features[i]
// of wide ones; sums of 255 and more are 255. It returns the least sum of each 32nd record: least[i] is that of the
// records i, i + 32, i + 64 and so on. len(sums) is a multiple of Group, codes are those of as many records.
func Sums(codes Codes, wide int, features []uint32, tables []Table, sums []uint8) (least [Lanes]uint8) {
	groups := len(sums) / Group
	if len(sums)%Group != 0 || len(codes) < Size(len(sums), wide) || len(tables) != len(features) {
		panic("scan: codes, features, tables and sums do not fit")
	}
	for _, j := range features {
		if int(j) >= wide {
			panic("scan: no such feature")
		}
	}
	for i := range least {
		least[i] = Full
	}
	if groups > 0 && len(features) > 0 {
		sumUp(codes, wide, features, tables, sums, &least)
		return least
	}
	for k, s := range sums {
		least[k%Lanes] = min(least[k%Lanes], s)
	}
	return least
}

// AtMost appends the numbers of the sums that are at most limit, ascending.
func AtMost(sums []uint8, limit uint8, to []int32) []int32 { return atMost(sums, limit, to) }

// Quad is four features of a distance: min((place - Q)^2, Most) Weight, or Absent where the place is.
type Quad struct{ Q, Most, Weight, Absent [Together]float64 }

// Exact is the bound below which sums of terms are exact.
const Exact = 1 << 53

// Distances fills out with the distances of the records of list, which hold 4 len(quads) places each. Terms are whole
// numbers, those at Most as well, and the sums of the largest are below Exact.
func Distances(places []int32, quads []Quad, list []int32, out []int64) {
	n := len(places)
	for _, k := range list {
		if k < 0 || (int(k)+1)*len(quads)*Together > n {
			panic("scan: no such record")
		}
	}
	if out = out[:len(list)]; len(list) > 0 && len(quads) > 0 {
		measure(places, quads, list, out)
		return
	}
	clear(out)
}
