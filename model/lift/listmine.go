package lift

// runLists searches with a list of the covered records of every cell.
func (m *miner) runLists() error {
	n := m.n
	m.lastMissing = make([]int32, n)
	for i := range m.lastMissing {
		m.lastMissing[i] = -1
		for p := range m.item {
			if m.item[p][i] < 0 {
				m.lastMissing[i] = int32(p)
			}
		}
	}
	m.missingAfter = make([]bool, len(m.item))
	some := false
	for p := len(m.item) - 1; p >= 0; p-- {
		m.missingAfter[p] = some
		some = some || m.missing[m.fields[p]]
	}
	m.levels = make([]mineLevel, m.depth+1)
	root := &m.levels[0]
	root.record = make([]int32, m.n)
	total := make([]float64, m.classes)
	for i := range root.record {
		root.record[i] = int32(i)
		total[m.class[i]] += m.weight[i]
	}
	root.group = []mineGroup{{0, int32(m.n), 0, -1}}
	root.position = -1
	m.extend(1, total)
	return m.err
}

// mineLevel holds the records of one depth of the search, group after group.
type mineLevel struct {
	position int
	record   []int32
	group    []mineGroup
	complete []int32 // records complete on the features; nil = all
	buffer   []int32 // of complete
	count    []float64
	at       []int32
}

// mineGroup is a cell: records[from:to] of its level, the test by which it was split off, and its group one level up.
type mineGroup struct {
	from, to int32
	item     int32
	parent   int32
}

// extend adds one feature to the set of the level above. total holds the class weights of the complete cases there.
func (m *miner) extend(d int, total []float64) {
	up, l := &m.levels[d-1], &m.levels[d]
	if l.record == nil {
		l.record = make([]int32, m.n)
	}
	for p := up.position + 1; p < len(m.item); p++ {
		if m.visits++; m.visits%ctxEvery == 0 && m.ctx.Err() != nil {
			m.err = m.ctx.Err()
		}
		if m.err != nil {
			return
		}
		l.position = p
		ny := total
		l.complete = up.complete
		if m.missing[m.fields[p]] {
			ny = make([]float64, m.classes)
			if l.buffer == nil {
				l.buffer = make([]int32, m.n)
			}
			k := 0
			visit := func(r int32) {
				if m.item[p][r] >= 0 {
					l.buffer[k] = r
					k++
					ny[m.class[r]] += m.weight[r]
				}
			}
			if up.complete == nil {
				for r := range m.lastMissing {
					visit(int32(r))
				}
			} else {
				for _, r := range up.complete {
					visit(r)
				}
			}
			l.complete = l.buffer[:k]
		}
		n := 0.0
		for _, v := range ny {
			n += v
		}
		// The least number of complete cases that any extension can have.
		least := n
		if m.missingAfter[p] {
			least = 0
			add := func(r int32) {
				if m.lastMissing[r] <= int32(p) {
					least += m.weight[r]
				}
			}
			if l.complete == nil {
				for r := range m.lastMissing {
					add(int32(r))
				}
			} else {
				for _, r := range l.complete {
					add(r)
				}
			}
		}
		deeper := d < m.depth && p+1 < len(m.item)
		m.split(d, n, ny, least, deeper)
		if deeper && len(l.group) > 0 {
			m.extend(d+1, ny)
		}
	}
}

// split divides every group of the level above by the tests of the level's feature.
func (m *miner) split(d int, n float64, ny []float64, least float64, deeper bool) {
	up, l := &m.levels[d-1], &m.levels[d]
	item := m.item[l.position]
	k := len(m.items[l.position])
	if cap(l.count) < k*m.classes {
		l.count, l.at = make([]float64, k*m.classes), make([]int32, k)
	}
	count, at := l.count[:k*m.classes], l.at[:k]
	l.group = l.group[:0]
	used := int32(0)
	for g := range up.group {
		from := up.record[up.group[g].from:up.group[g].to]
		clear(count)
		clear(at)
		for _, r := range from {
			if c := item[r]; uint32(c) < uint32(k) {
				count[int(c)*m.classes+int(m.class[r])] += m.weight[r]
				at[c]++
			}
		}
		for c := 0; c < k; c++ {
			records := at[c]
			at[c] = -1
			if records == 0 {
				continue
			}
			xy := count[c*m.classes : (c+1)*m.classes]
			nx := 0.0
			for _, v := range xy {
				nx += v
			}
			if exceeds(nx, m.share*n) {
				m.frequent++
				m.offer(d, g, c, int(records), nx, xy, n, ny)
			}
			if deeper && nx > m.share*least*(1-tieTolerance) {
				at[c] = used
				l.group = append(l.group, mineGroup{used, used + records, int32(c), int32(g)})
				used += records
			}
		}
		if !deeper {
			continue
		}
		for _, r := range from {
			if c := item[r]; uint32(c) < uint32(k) && at[c] >= 0 {
				l.record[at[c]] = r
				at[c]++
			}
		}
	}
}

// offer puts the cell c of group g among the best of each wanted class.
func (m *miner) offer(d, g, c, cover int, nx float64, xy []float64, n float64, ny []float64) {
	for y, wanted := range m.classOf {
		if !wanted || !(ny[y] > 0) {
			continue
		}
		lift := xy[y] / nx * n / ny[y]
		if !m.wants(y, lift) {
			continue
		}
		rank := m.rankOf(lift, xy[y]/nx, cover)
		if !m.wants(y, rank) {
			continue
		}
		x := &mined{class: int32(y), position: make([]int32, d), item: make([]int32, d),
			lift: lift, rank: rank, nx: nx, cover: cover}
		x.position[d-1], x.item[d-1] = int32(m.levels[d].position), int32(c)
		for i, group := d-1, g; i > 0; i-- {
			up := m.levels[i].group[group]
			x.position[i-1], x.item[i-1], group = int32(m.levels[i].position), up.item, int(up.parent)
		}
		m.insert(x, m.coverWithout)
	}
}
