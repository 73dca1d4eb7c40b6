package lift

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model/report"
)

// Bounds of the memory of a bitMiner.
const (
	maxBitWords = 1 << 25 // words of the tests' bitmaps
	maxBitPairs = 1 << 25 // entries of the pair tables
)

// bitMiner is the search of a miner on records of equal weight: the records that meet a test are a bitmap, in which the
// records of a class stand together, so that the members of one class are counted by themselves.
//
// All single tests and all pairs come first. Then the pairs are extended depth first, the most promising ones first. A
// conjunction is given up when no extension can have more than the minimum support, or when none can reach the rank of
// the worst profile kept of any wanted class (METHOD.md 5.1, 5.2). With s the least support of an extension in records,
// o the present complete cases, and o_E the cases that are also complete on every feature that may be added,
//
//	L' <= min(1, n_xy/s) (1 + n_not-y(o)/n_y(o_E))
//
// where n_xy is at most that of any pair of the tests. The result does not depend on the order: profiles that tie with
// the worst one kept are never given up.
type bitMiner struct {
	*miner
	words    int
	from     []int // first word of each class, and the end
	base     []int // first test of each position; as long as the positions, and the end
	bit      [][]uint64
	complete [][]uint64 // by position; nil where no record lacks the feature
	wanted   []int
	weight   float64

	pairs  []int32   // by test and test: covered records, or a bound above them
	pairsY [][]int32 // by wanted class, as pairs: its members among them
	dead   []bool    // tests that no profile of enough support holds

	sets   *caseSet
	cover  [][]uint64 // by number of tests
	work   []uint64
	member []int32 // by wanted class
}

// newBitMiner returns nil when the records differ in weight or the bitmaps would be too large.
func newBitMiner(m *miner) *bitMiner {
	b := &bitMiner{miner: m, from: make([]int, m.classes+1), base: make([]int, len(m.item)+1)}
	for r := 0; r < m.n; r++ {
		if m.sample.weight[r] != m.sample.weight[0] || !(m.sample.weight[0] > 0) {
			return nil
		}
	}
	b.weight = m.sample.weight[0]
	size := make([]int, m.classes)
	for r := 0; r < m.n; r++ {
		size[m.class[r]]++
	}
	for y, k := range size {
		b.from[y+1] = b.from[y] + (k+63)/64
	}
	b.words = b.from[m.classes]
	for p := range m.items {
		b.base[p+1] = b.base[p] + len(m.items[p])
	}
	for y, w := range m.classOf {
		if w && size[y] > 0 {
			b.wanted = append(b.wanted, y)
		}
	}
	tests := b.base[len(m.item)]
	if (tests+len(m.item))*b.words > maxBitWords || tests*tests*(1+len(b.wanted)) > maxBitPairs {
		return nil
	}
	place := make([]int32, m.n) // bit of each record
	at := make([]int, m.classes)
	for r := range place {
		y := m.class[r]
		place[r] = int32(64*b.from[y] + at[y])
		at[y]++
	}
	all := make([]uint64, tests*b.words)
	b.bit = make([][]uint64, tests)
	for i := range b.bit {
		b.bit[i] = all[i*b.words : (i+1)*b.words]
	}
	b.complete = make([][]uint64, len(m.item))
	codes := make([]uint8, 64*b.words) // of a feature by place; noRecord between the classes
	for i := range codes {
		codes[i] = noRecord
	}
	for p, item := range m.item {
		if m.missing[m.fields[p]] {
			b.complete[p] = make([]uint64, b.words)
		}
		if len(m.items[p]) < noTest {
			b.lay(p, item[:m.n], place, codes)
			continue
		}
		for r, c := range item[:m.n] {
			if uint32(c) < uint32(len(m.items[p])) {
				b.bit[b.base[p]+int(c)][place[r]>>6] |= 1 << (place[r] & 63)
			}
			if c >= 0 && b.complete[p] != nil {
				b.complete[p][place[r]>>6] |= 1 << (place[r] & 63)
			}
		}
	}
	b.work = make([]uint64, b.words)
	b.member = make([]int32, len(b.wanted))
	b.cover = make([][]uint64, m.depth+1)
	b.sets = b.cases(nil)
	return b
}

// Codes of a record that meets none of a feature's tests, and of one that lacks the feature or is none.
const (
	noTest   = 254
	noRecord = 255
)

// lay makes the bitmaps of a feature of fewer than noTest tests from the test of each record.
func (b *bitMiner) lay(position int, item, place []int32, codes []uint8) {
	known := uint32(len(b.items[position]))
	for r, c := range item {
		v := uint8(c)
		if uint32(c) >= known {
			if v = noTest; c < 0 {
				v = noRecord
			}
		}
		codes[place[r]] = v
	}
	for t := range known {
		match(b.bit[b.base[position]+int(t)], codes, uint8(t))
	}
	if complete := b.complete[position]; complete != nil {
		match(complete, codes, noRecord)
		for i := range complete {
			complete[i] = ^complete[i]
		}
	}
}

// support is the least number of records above the minimum support of n complete cases.
func (b *bitMiner) support(n float64) float64 {
	return math.Floor(b.share*n*(1+tieTolerance)) + 1
}

// reaches reports whether a profile of class y with that lift would be kept.
func (b *bitMiner) reaches(y int, lift float64) bool {
	best := b.best[y]
	return b.counting || len(best) < b.top || b.top > 0 && lift*(1+1e-9) >= best[b.top-1].rank
}

// alive reports whether tests that cover at most nx records, with at most the given members of the wanted classes, may
// be a profile over the cases c or, with deeper, become one by later tests.
func (b *bitMiner) alive(c *caseSet, nx float64, members []int32, deeper bool) bool {
	n, low := c.n, c.ny
	if deeper {
		n, low = c.least, c.leastY
	}
	s := b.support(n)
	if nx < s {
		return false
	}
	for i, y := range b.wanted {
		var bound float64
		if deeper {
			bound = 1 + (c.n-c.ny[y])/low[y]
		} else {
			bound = n / low[y]
		}
		if !(low[y] > 0) {
			bound = math.Inf(1)
		}
		v := float64(members[i])
		switch {
		case v == 0:
			bound = 0
		case b.by == ByLower:
			low, _ := report.Wilson(min(v/s, 1), max(v, s)) // of v of the class under as few records as there can be
			bound *= low
		case v < s:
			bound *= v / s
		}
		if b.reaches(y, bound) {
			return true
		}
	}
	return b.counting
}

// run finds the best profiles of up to depth tests.
func (b *bitMiner) run() error {
	if len(b.wanted) == 0 && !b.counting {
		return nil
	}
	least := b.support(b.cases(b.allPositions()).least)
	b.singles(least)
	if b.depth < 2 {
		return nil
	}
	pairs, err := b.allPairs(least)
	if err != nil {
		return err
	}
	slices.SortStableFunc(pairs, func(x, y testPair) int { return cmp.Compare(y.promise, x.promise) })
	for _, x := range pairs {
		if b.visits++; b.visits%ctxEvery == 0 && b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		c := b.of([]int32{x.p, x.q})
		at := int(x.s)*len(b.bit) + int(x.t)
		for i := range b.wanted {
			b.member[i] = b.pairsY[i][at]
		}
		if !b.alive(c, float64(b.pairs[at]), b.member, true) {
			continue
		}
		e := b.buffer(2)
		for i, v := range b.bit[x.s] {
			e[i] = v & b.bit[x.t][i]
		}
		items := []int32{x.s - int32(b.base[x.p]), x.t - int32(b.base[x.q])}
		err := b.extend([]int32{x.p, x.q}, items, float64(b.pairs[at]), slices.Clone(b.member))
		if err != nil {
			return err
		}
	}
	return nil
}

// singles offers all single tests, and marks the tests of fewer than least records.
func (b *bitMiner) singles(least float64) {
	b.dead = make([]bool, len(b.bit))
	b.pairs = make([]int32, len(b.bit)*len(b.bit))
	for p := range b.item {
		c := b.of([]int32{int32(p)})
		for t := b.base[p]; t < b.base[p+1]; t++ {
			nx := ones(b.bit[t])
			b.dead[t] = float64(nx) < least
			b.pairs[t*len(b.bit)+t] = int32(nx)
			for i, y := range b.wanted {
				b.member[i] = int32(ones(b.bit[t][b.from[y]:b.from[y+1]]))
			}
			b.keepProfile(c, []int32{int32(p)}, []int32{int32(t - b.base[p])}, int32(nx))
		}
	}
}

// others counts the records in both of two bitmaps that are of no wanted class.
func (b *bitMiner) others(s, t []uint64) (n int) {
	from := 0
	for _, y := range b.wanted {
		n += onesOf(s[from:b.from[y]], t[from:b.from[y]])
		from = b.from[y+1]
	}
	return n + onesOf(s[from:], t[from:])
}

// testPair is two tests s and t of the positions p and q.
type testPair struct {
	p, q, s, t int32
	promise    float64 // greatest lift of a wanted class, on at least the minimum support
}

// allPairs counts and offers all pairs of tests, and returns those of enough support to extend.
func (b *bitMiner) allPairs(least float64) ([]testPair, error) {
	tests := len(b.bit)
	b.pairsY = make([][]int32, len(b.wanted))
	for i := range b.pairsY {
		b.pairsY[i] = make([]int32, tests*tests)
	}
	var pairs []testPair
	for p := range b.item {
		for q := p + 1; q < len(b.item); q++ {
			if b.visits++; b.visits%ctxEvery == 0 && b.ctx.Err() != nil {
				return nil, b.ctx.Err()
			}
			c := b.of([]int32{int32(p), int32(q)})
			for s := b.base[p]; s < b.base[p+1]; s++ {
				if b.dead[s] {
					continue
				}
				for t := b.base[q]; t < b.base[q+1]; t++ {
					if b.dead[t] {
						continue
					}
					for i, y := range b.wanted {
						v := int32(onesOf(b.bit[s][b.from[y]:b.from[y+1]], b.bit[t][b.from[y]:b.from[y+1]]))
						b.member[i] = v
						b.pairsY[i][s*tests+t], b.pairsY[i][t*tests+s] = v, v
					}
					// A pair that cannot be wanted, for its members, keeps the records of one of its tests as a bound.
					nx := int(min(b.pairs[s*tests+s], b.pairs[t*tests+t]))
					wanted := b.alive(c, float64(nx), b.member, false) || b.depth > 2 && b.alive(c, float64(nx), b.member, true)
					if wanted {
						nx = b.others(b.bit[s], b.bit[t])
						for _, v := range b.member {
							nx += int(v)
						}
					}
					b.pairs[s*tests+t], b.pairs[t*tests+s] = int32(nx), int32(nx)
					if !wanted || float64(nx) < least {
						continue
					}
					b.keepProfile(c, []int32{int32(p), int32(q)}, []int32{int32(s - b.base[p]), int32(t - b.base[q])}, int32(nx))
					if b.depth > 2 && q+1 < len(b.item) && float64(nx) >= b.support(c.least) {
						promise := 0.0
						for i, y := range b.wanted {
							promise = max(promise, float64(b.member[i])/max(float64(nx), b.support(c.n))/max(c.ny[y], 1)*c.n)
						}
						pairs = append(pairs, testPair{int32(p), int32(q), int32(s), int32(t), promise})
					}
				}
			}
		}
	}
	return pairs, nil
}

func (b *bitMiner) allPositions() []int32 {
	all := make([]int32, len(b.item))
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

func (b *bitMiner) buffer(depth int) []uint64 {
	if b.cover[depth] == nil {
		b.cover[depth] = make([]uint64, b.words)
	}
	return b.cover[depth]
}

// extend adds every test of a later position to the tests whose records are in the buffer of their number.
func (b *bitMiner) extend(positions, items []int32, nx float64, members []int32) error {
	d := len(positions)
	e := b.cover[d]
	tests := len(b.bit)
	most := make([]int32, len(b.wanted))
	for p := int(positions[d-1]) + 1; p < len(b.item); p++ {
		own := append(positions[:d:d], int32(p))
		c := b.of(own)
		deeper := d+1 < b.depth && p+1 < len(b.item)
		for t := b.base[p]; t < b.base[p+1]; t++ {
			if b.dead[t] {
				continue
			}
			covered := nx
			copy(most, members)
			for i, q := range positions {
				s := b.base[q] + int(items[i])
				covered = min(covered, float64(b.pairs[s*tests+t]))
				for k := range most {
					most[k] = min(most[k], b.pairsY[k][s*tests+t])
				}
			}
			if !b.alive(c, covered, most, false) && !(deeper && b.alive(c, covered, most, true)) {
				continue
			}
			of := b.bit[t]
			k := 0
			for i, y := range b.wanted {
				most[i] = int32(onesOf(e[b.from[y]:b.from[y+1]], of[b.from[y]:b.from[y+1]]))
				k += int(most[i])
			}
			if !b.alive(c, covered, most, false) && !(deeper && b.alive(c, covered, most, true)) {
				continue
			}
			k += b.others(e, of)
			if k == 0 {
				continue
			}
			all := append(items[:d:d], int32(t-b.base[p]))
			copy(b.member, most)
			b.keepProfile(c, own, all, int32(k))
			if !deeper || !b.alive(c, float64(k), most, true) {
				continue
			}
			if b.visits++; b.visits%(64*ctxEvery) == 0 && b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			to := b.buffer(d + 1)
			for i, v := range e {
				to[i] = v & of[i]
			}
			if err := b.extend(own, all, float64(k), slices.Clone(most)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepProfile offers tests that cover nx records, with b.member of the wanted classes, to the best of each class.
func (b *bitMiner) keepProfile(c *caseSet, positions, items []int32, nx int32) {
	if nx == 0 || !exceeds(float64(nx), b.share*c.n) {
		return
	}
	b.frequent++
	for i, y := range b.wanted {
		if !(c.ny[y] > 0) {
			continue
		}
		lift := float64(b.member[i]) / float64(nx) * c.n / c.ny[y]
		if !b.wants(y, lift) {
			continue
		}
		rank := b.rankOf(lift, float64(b.member[i])/float64(nx), int(nx))
		if !b.wants(y, rank) {
			continue
		}
		x := &mined{class: int32(y), position: slices.Clone(positions), item: slices.Clone(items),
			lift: lift, rank: rank, nx: float64(nx) * b.weight, cover: int(nx)}
		b.insert(x, b.coverWithout)
	}
}

// coverWithout counts the records that meet the tests but one.
func (b *bitMiner) coverWithout(x *mined, without int) int {
	first := true
	for i, p := range x.position {
		if i == without {
			continue
		}
		of := b.bit[b.base[p]+int(x.item[i])]
		if first {
			copy(b.work, of)
			first = false
			continue
		}
		for k, v := range of {
			b.work[k] &= v
		}
	}
	return ones(b.work)
}

// maskOf returns the records that a profile covers, in the order of the bitmaps.
func (b *bitMiner) maskOf(x *mined) []uint64 {
	mask := slices.Clone(b.bit[b.base[x.position[0]]+int(x.item[0])])
	for i, p := range x.position[1:] {
		for k, v := range b.bit[b.base[p]+int(x.item[i+1])] {
			mask[k] &= v
		}
	}
	return mask
}
