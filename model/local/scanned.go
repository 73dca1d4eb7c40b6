package local

import (
	"slices"

	"liftstream/model"
	"liftstream/model/local/scan"
)

// On processors with vector instructions, records are bounded by package scan: of each record a cell a feature, of each
// feature an entry a cell for the record in hand. Bounds and exact distances are others than those of packed.go and
// coarse.go, and the neighbours are the same.

const (
	// mostScanned is the number of features beyond which entries of a byte say too little.
	mostScanned = 40
	// fewScanned is the number of records that are measured without bounds.
	fewScanned = 64
	// mostLanes is the largest number of neighbours whose distance the minima of scan.Lanes bound well.
	mostLanes = 24
	// aim is the bound at which the farthest of the neighbours should lie.
	aim = 128
	// slack is more than the roundings of single precision add to a term.
	slack = 1. / (1 << 20)
	// passes are the attempts at a unit.
	passes = 8
)

// way is a way of seeking neighbours. All find the same ones.
type way uint8

const (
	fastest way = iota // on this processor
	byScan
	byPacks
)

// scans reports whether neighbours are sought by package scan, where that can have them.
func (s *structure) scans() bool {
	return (s.way == byScan || s.way == fastest && scan.Fast()) && s.neighbours <= mostLanes
}

// lanes are the prototypes as package scan has them.
type lanes struct {
	codes  scan.Codes
	of     []int32 // the lane of each feature, -1 = none
	lanes  []lane
	stride int // of the places
}

// lane is the cells of a feature.
type lane struct {
	ranges    scan.Range
	low, high []int32
}

// padded is the number of places that m features take in the rows of package scan.
func padded(m int) int { return (m + scan.Together - 1) / scan.Together * scan.Together }

// tame reports whether all places of a column are such as place returns: a state may hold others.
func (c *column) tame() bool {
	most := float64(farthest)
	if c.nominal {
		most = (model.MaxLevels + 1) * levelStep
	}
	for _, v := range c.at {
		if v < -most || v > most || c.nominal && int(v)%levelStep != 0 {
			return false
		}
	}
	return true
}

// prepareLanes fills p.lanes, and reports whether package scan can have the prototypes.
func (p *prototypes) prepareLanes() bool {
	l := &p.lanes
	*l = lanes{of: make([]int32, len(p.columns)), stride: p.stride}
	for j := range p.columns {
		c := &p.columns[j]
		l.of[j] = -1
		if len(c.at) == 0 {
			continue
		}
		if !c.tame() || len(l.lanes) == mostScanned {
			return false
		}
		places := c.values()
		slices.Sort(places)
		var x lane
		x.low, x.high = cells(places)
		for i := range x.low {
			x.ranges.Low[i], x.ranges.High[i] = float32(x.low[i]), float32(x.high[i])
		}
		l.of[j] = int32(len(l.lanes))
		l.lanes = append(l.lanes, x)
	}
	wide := len(l.lanes)
	l.codes = make(scan.Codes, scan.Size(len(p.class), wide))
	for j := range p.columns {
		if i := int(l.of[j]); i >= 0 {
			for k, v := range p.columns[j].values() {
				cell, _ := slices.BinarySearch(l.lanes[i].high, v)
				l.codes[scan.At(k, i, wide)] = uint8(cell)
			}
		}
	}
	return wide > 0
}

// laneTerm is a feature of a distance for the bounds of its cells.
type laneTerm struct {
	ranges *scan.Range // nil of levels
	own    int         // the cell of the level, -1 = none
	gap    bool        // cell 0 is that of absent places
	q      float32
	cap    float64
	weight float64
	absent float64
}

// search is the working memory of searches by package scan.
type search struct {
	quads    []scan.Quad
	terms    []laneTerm
	features []uint32 // the lanes of the terms
	tables   []scan.Table
	sums     []uint8
	list     []int32 // the records that can be among the nearest, ascending, counted from base
	base     int
	distance []int64 // of each
	unit     float64 // of the entries
	most     float64 // the sum of the largest terms
}

func newSearch(features, records int) (q search) {
	return search{
		quads: make([]scan.Quad, padded(features)/scan.Together), terms: make([]laneTerm, 0, features),
		features: make([]uint32, 0, features), tables: make([]scan.Table, features),
		sums: make([]uint8, padTo(records, scan.Group)+scan.Group), list: make([]int32, 0, records+scan.Group),
		distance: make([]int64, records+scan.Group), unit: unit * unit / aim,
	}
}

func padTo(n, step int) int { return (n + step - 1) / step * step }

// begin forgets the terms.
func (q *search) begin(features int) {
	q.terms, q.features, q.most = q.terms[:0], q.features[:0], 0
	q.quads = q.quads[:padded(features)/scan.Together]
	clear(q.quads)
}

// add adds a term: of the feature at this place of a row and with this lane.
func (q *search) add(at int, lane uint32, t laneTerm, place int32) {
	q.terms, q.features = append(q.terms, t), append(q.features, lane)
	u, i := &q.quads[at/scan.Together], at%scan.Together
	u.Q[i], u.Most[i], u.Weight[i], u.Absent[i] = float64(place), t.cap, t.weight, t.absent
	q.most += min(t.cap, 4*farthest*farthest) * t.weight
}

// fill makes the tables of the terms in q.unit. An entry is at most the least term of its cell.
func (q *search) fill() {
	factor := (1 - slack) / q.unit
	for i := range q.terms {
		x, t := &q.terms[i], &q.tables[i]
		if x.ranges != nil {
			t.Bound(x.ranges, x.q, float32(x.cap), float32(x.weight*factor))
		} else {
			v := uint8(min(x.cap*x.weight*factor, scan.Full))
			for c := range t {
				t[c] = v
			}
			if x.own >= 0 {
				t[x.own] = 0
			}
		}
		if x.gap {
			t[0] = uint8(min(x.absent*factor, scan.Full))
		}
	}
}

// kth returns the k-th of the values in ascending order; k is at most mostLanes and the number of values.
func kth[T uint8 | int64](values []T, k int) T {
	var least [mostLanes]T
	n := 0
	for _, v := range values {
		if n == k && v >= least[n-1] {
			continue
		}
		at := n
		if n < k {
			n++
		} else {
			at--
		}
		for at > 0 && least[at-1] > v {
			least[at] = least[at-1]
			at--
		}
		least[at] = v
	}
	return least[n-1]
}

// seek fills q.list with all records, from first to before end but for skip, that can be among the k nearest of them,
// and q.distance with their distances. The records have these codes, in wide lanes, and these places.
func (q *search) seek(codes scan.Codes, wide int, places []int32, first, end, skip, k int) {
	q.base = first / scan.Group * scan.Group
	codes, places = codes[scan.At(q.base, 0, wide):], places[q.base*len(q.quads)*scan.Together:]
	first, end, skip = first-q.base, end-q.base, skip-q.base
	if end-first > max(fewScanned, 2*k) {
		for range passes {
			if q.attempt(codes, wide, places, first, end, skip, k) {
				return
			}
		}
	}
	q.list = q.list[:0]
	for i := first; i < end; i++ {
		if i != skip {
			q.list = append(q.list, int32(i))
		}
	}
	q.measure(places)
}

func (q *search) measure(places []int32) {
	scan.Distances(places, q.quads, q.list, q.distance[:len(q.list)])
}

// attempt is seek in q.unit. It reports false where that is too small or too large for bounds that tell, and sets
// another one.
func (q *search) attempt(codes scan.Codes, wide int, places []int32, first, end, skip, k int) bool {
	q.fill()
	sums := q.sums[:padTo(end, scan.Group)]
	clear(sums)
	for i := range sums[:first] {
		sums[i] = scan.Full
	}
	for i := end; i < len(sums); i++ {
		sums[i] = scan.Full
	}
	if skip >= 0 {
		sums[skip] = scan.Full
	}
	least := scan.Sums(codes, wide, q.features, q.tables[:len(q.terms)], sums)
	limit := kth(least[:], k)
	if limit == scan.Full {
		q.unit *= 16
		return false
	}
	// The k-th of the nearest is no farther than the farthest of k others.
	q.list = scan.AtMost(sums, limit, q.list[:0])
	if len(q.list) > 4*k {
		q.list = q.list[:4*k]
	}
	q.measure(places)
	far := float64(kth(q.distance[:len(q.list)], k))
	to := far / q.unit
	if to >= scan.Full {
		q.unit = far / aim
		return false
	}
	q.list = scan.AtMost(sums, uint8(to), q.list[:0])
	if to > 0 && to < aim/4 && len(q.list) > fewScanned {
		q.unit = far / aim
		return false
	}
	q.measure(places)
	if far > 0 {
		q.unit = (q.unit + far/aim) / 2
	}
	return true
}

// scan is neighbourhood without the votes, by package scan; ok = false where sums of terms might not be exact, and
// nothing is found.
func (w *scratch) scan(s *structure, row model.Row, m Measure, l *limits, skip int) (n int, ok bool) {
	p, q := &s.prototypes, &w.search
	w.choose(s, row, m)
	q.begin(len(p.columns))
	add := func(j int32) {
		c := &p.columns[j]
		lane := p.lanes.of[j]
		if lane < 0 {
			return
		}
		at := c.place(s.features[j].clean(row, j))
		if at == absent {
			return
		}
		t := laneTerm{cap: float64(l.cap[j]), weight: 1, absent: float64(l.expected[j])}
		if m.Weighted {
			if w.weights != nil {
				t.weight = float64(w.weights[j])
			} else {
				t.weight = float64(s.features[j].weight(row[j]))
			}
			if t.weight == 0 {
				return
			}
			t.absent *= t.weight
		}
		x := &p.lanes.lanes[lane]
		if t.gap = len(c.missing) > 0; c.nominal {
			t.own = x.level(at)
		} else {
			t.ranges, t.q = &x.ranges, float32(at)
		}
		q.add(int(j), uint32(lane), t, at)
	}
	if len(w.features) == 0 {
		for j := range s.features {
			add(int32(j))
		}
	} else {
		for _, j := range w.features {
			add(j)
		}
	}
	if q.most >= scan.Exact {
		return 0, false
	}
	w.ties = w.ties[:0]
	if len(q.terms) == 0 || w.prototypes == 0 {
		return 0, true
	}
	q.seek(p.lanes.codes, len(p.lanes.lanes), p.places, 0, w.prototypes, skip, len(w.near))
	return w.settle(q.list, q.distance), true
}

// level returns the cell of a level, -1 where none has it.
func (x *lane) level(at int32) int {
	for i, high := range x.high {
		if at <= high {
			if at < x.low[i] {
				break
			}
			return i
		}
	}
	return -1
}
