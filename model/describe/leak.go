package describe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// MissingAUC is the AUC inside blocks of 1,000 records above which whether a value is missing is taken for a leak.
const MissingAUC = 0.75

const (
	leakCells = 30   // quantile cells of a number, atoms apart
	leakWarm  = 1000 // records from which the cells are cut
	leakPrior = 5    // pseudo-records of the base rate in a cell
	maxCells  = 4096 // of one column; further levels share one
)

// alone scores records by one column: every record by the lifts of the classes among the earlier records of its cell,
//
//	L_c = (n_c + 5 h_c) / (n + 5) / h_c,
//
// with the base rates h of all earlier records, scaled to sum 1. Rates instead of lifts would rank records of different
// times by the base rate of their time, which a column cannot be blamed for.
type alone struct {
	column int
	number bool
	onlyIf bool // the cells are missing and not missing
	marks  []string
	quoted bool // texts that look like marks are levels
	atoms  []float64
	cuts   []float64
	levels map[string]int
	n      []float64 // cell by cell, classes innermost
	odd    []float64 // of these, every second record
	second bool

	block   *evaluate.Set
	sum     float64
	blocks  int
	skipped bool // the first block has passed: it is not counted, as eval does not count it
	p       []float64
}

// leaks measures every feature alone, and takes out the leaks.
func (d *Description) leaks(t Table, label int, profiles []profile) error {
	if len(d.Classes) < 2 {
		return nil
	}
	class := map[string]int32{}
	for i, c := range d.Classes {
		class[c.Text] = int32(i)
	}
	base := make([]float64, len(d.Classes))
	var scorers []*alone
	missing := map[int]*alone{}
	for c := range d.Columns {
		col := &d.Columns[c]
		if col.Role != Feature && col.Role != Left {
			continue
		}
		if col.Role == Feature {
			scorers = append(scorers, newAlone(c, col, len(base), false))
		}
		if col.Missing > 0 && col.Missing < d.Records {
			missing[c] = newAlone(c, col, len(base), true)
			scorers = append(scorers, missing[c])
		}
	}
	later := d.newLater(profiles)

	held := newSample(d.labelled(), len(scorers))
	score := func(row []string) error {
		later.add(row)
		y, ok := class[row[label]]
		if !ok {
			return nil
		}
		hold := held.next(y, held.seen%2 == 1)
		for i, s := range scorers {
			cell := s.cell(row[s.column])
			if err := s.add(cell, y, base); err != nil {
				return err
			}
			if hold {
				held.cells[i] = append(held.cells[i], int32(cell))
			}
		}
		base[y]++
		return nil
	}
	var warm [][]string
	begin := func() error {
		for _, s := range scorers {
			s.cut(warm)
		}
		for _, row := range warm {
			if err := score(row); err != nil {
				return err
			}
		}
		return nil
	}
	var n int64
	for row, err := range t.cells(" again") {
		if err != nil {
			return err
		}
		n++
		if n > leakWarm {
			if err := score(row); err != nil {
				return err
			}
			continue
		}
		own := make([]string, len(row))
		for c := range row {
			own[c] = strings.Clone(row[c])
		}
		if warm = append(warm, own); n == leakWarm {
			if err := begin(); err != nil {
				return err
			}
		}
	}
	if n < leakWarm {
		if err := begin(); err != nil {
			return err
		}
	}
	if n != d.Records {
		return fmt.Errorf("reading the table again: %d records, the first time %d", n, d.Records)
	}
	for c := range d.Columns {
		if s := missing[c]; s != nil {
			d.flagMissing(&d.Columns[c], s, base)
		}
	}
	if err := d.removeLeaks(held, scorers, base); err != nil {
		return err
	}
	later.flag(d)
	return nil
}

func newAlone(c int, col *Column, classes int, onlyIf bool) *alone {
	s := &alone{column: c, number: col.Kind == model.Continuous && !onlyIf, onlyIf: onlyIf, marks: col.Marks,
		quoted: col.textMarks, block: evaluate.NewSet(classes), p: make([]float64, classes)}
	if !s.number && !onlyIf {
		s.levels = map[string]int{}
	}
	return s
}

// cut makes the cells of a number: a value that holds more than 1/(2 leakCells) of the records is a cell of its own,
// the rest are quantiles.
func (s *alone) cut(warm [][]string) {
	if !s.number {
		return
	}
	var v []float64
	for _, row := range warm {
		if x, ok := number(row[s.column]); ok {
			v = append(v, x)
		}
	}
	slices.Sort(v)
	rest := v[:0:0]
	for a := 0; a < len(v); {
		b := a
		for b < len(v) && v[b] == v[a] {
			b++
		}
		if (b-a)*2*leakCells > len(v) {
			s.atoms = append(s.atoms, v[a])
		} else {
			rest = append(rest, v[a:b]...)
		}
		a = b
	}
	for k := 1; k < leakCells && len(rest) > 0; k++ {
		s.cuts = append(s.cuts, rest[len(rest)*k/leakCells])
	}
	s.cuts = slices.Compact(s.cuts)
}

// cell 0 is missing.
func (s *alone) cell(text string) int {
	if slices.Contains(s.marks, text) || isMark(text) && !s.quoted {
		return 0
	}
	if s.onlyIf {
		return 1
	}
	if s.number {
		v, ok := number(text)
		if !ok {
			return 0
		}
		if k, ok := slices.BinarySearch(s.atoms, v); ok {
			return 1 + k
		}
		k, _ := slices.BinarySearch(s.cuts, v)
		return 1 + len(s.atoms) + k
	}
	k, ok := s.levels[text]
	if !ok {
		k = min(2+len(s.levels), maxCells)
		if k < maxCells {
			s.levels[strings.Clone(text)] = k
		}
	}
	return k
}

// add scores a record of a cell and a class, and then counts it.
func (s *alone) add(cell int, y int32, base []float64) error {
	k, at := len(base), cell*len(base)
	for len(s.n) < at+k {
		s.n, s.odd = append(s.n, 0), append(s.odd, 0)
	}
	n := s.n[at : at+k]
	var all, here float64
	for c := range n {
		all += base[c]
		here += n[c]
	}
	var total float64
	for c := range n {
		h := (base[c] + 1) / (all + float64(k))
		s.p[c] = (n[c] + leakPrior*h) / (here + leakPrior) / h
		total += s.p[c]
	}
	for c := range s.p {
		s.p[c] = min(1, s.p[c]/total)
	}
	if err := s.block.Add(int64(s.block.Len()), s.p, y, 1); err != nil {
		return err
	}
	n[y]++
	if s.second {
		s.odd[at+int(y)]++
	}
	s.second = !s.second
	if s.block.Len() == evaluate.BlockRecords {
		if s.skipped {
			s.close()
		}
		s.skipped = true
		s.empty()
	}
	return nil
}

func (s *alone) close() {
	if a := s.block.AUC(); !math.IsNaN(a) {
		s.sum += a
		s.blocks++
	}
}

func (s *alone) empty() {
	*s.block = evaluate.Set{Classes: s.block.Classes, P: s.block.P[:0], Class: s.block.Class[:0],
		Weight: s.block.Weight[:0], Index: s.block.Index[:0]}
}

// auc is the mean inside whole blocks after the first, or inside all blocks when there are fewer; NaN when no block has
// two classes.
func (s *alone) auc() float64 {
	if s.blocks == 0 {
		s.close()
		s.empty()
	}
	return s.sum / float64(s.blocks)
}

// pooledAUC ranks all records by the rate in their cell, each half of them (every second record) by the rates of the
// other half, so that cells of few records earn nothing by heart. Several classes: the mean, one against the rest.
func (s *alone) pooledAUC(base []float64) float64 {
	k := len(base)
	cells := len(s.n) / k
	all := 0.0
	for _, v := range base {
		all += v
	}
	even := make([]float64, len(s.n))
	for i := range even {
		even[i] = s.n[i] - s.odd[i]
	}
	var sum float64
	defined := 0
	r := &evaluate.Ranking{}
	for _, half := range [][2][]float64{{even, s.odd}, {s.odd, even}} {
		mine, other := half[0], half[1]
		size, learnt := make([]float64, cells), make([]float64, cells)
		for i := range mine {
			size[i/k] += mine[i]
			learnt[i/k] += other[i]
		}
		for c := range k {
			// Two entries a cell: its records of the class, and the rest.
			r.Reset(2*cells, func(i int) (score float64, positive bool, weight float64) {
				cell := i / 2
				of := mine[cell*k+c]
				score = (other[cell*k+c] + leakPrior*base[c]/all) / (learnt[cell] + leakPrior)
				if i%2 == 1 {
					return score, true, of
				}
				return score, false, size[cell] - of
			})
			if a := r.AUC(); !math.IsNaN(a) {
				sum += a
				defined++
			}
		}
	}
	return sum / float64(defined)
}

// removeLeaks measures the features that are left, and takes out the leaks.
func (d *Description) removeLeaks(held *sample, scorers []*alone, base []float64) error {
	h := make([]float64, len(base))
	for c, n := range base {
		h[c] = (n + 1) / (float64(held.seen) + float64(len(base)))
	}
	var features []measured
	keep := func() { features = slices.DeleteFunc(features, func(f measured) bool { return f.col.Role != Feature }) }
	for i, s := range scorers {
		if !s.onlyIf {
			col := &d.Columns[s.column]
			col.AUC, col.AUCBlocks = s.pooledAUC(base), s.auc()
			features = append(features, measured{col: col, at: i, score: s})
		}
	}
	keep()
	for _, f := range features {
		d.copies(f, base)
	}
	keep()
	// A leak of one kind makes one of another look expected: neither vouches for the other.
	if found, others := departures(features, base); len(found) > 0 {
		leaks, _, err := held.beats(others, h)
		if err != nil {
			return err
		}
		d.departs(held, found, others[leaks:], h)
		keep()
	}
	return d.removeFarBetter(held, features, h)
}

// flagMissing flags a column whose being missing, or present, ranks the classes, or nearly excludes some: of the
// records on that side at least 20 were to be expected outside its main class, and at most a tenth of them are there.
func (d *Description) flagMissing(col *Column, s *alone, base []float64) {
	k := len(base)
	var all float64
	for _, n := range base {
		all += n
	}
	text := ""
	if auc := s.auc(); auc > MissingAUC {
		text = fmt.Sprintf("whether it is missing ranks the classes with an AUC of %.2f inside blocks of 1,000 records", auc)
	}
	for side, name := range []string{"missing", "present"} {
		if len(s.n) < (side+1)*k || text != "" {
			continue
		}
		n := s.n[side*k : (side+1)*k]
		var here float64
		top := 0
		for c, v := range n {
			here += v
			if v > n[top] {
				top = c
			}
		}
		if expected := here * (1 - base[top]/all); expected >= 20 && here-n[top] <= expected/10 {
			text = fmt.Sprintf("where it is %s, %s of %s records are %q, of all records %.1f %%", name, count(int64(n[top])),
				count(int64(here)), d.Classes[top].Text, 100*base[top]/all)
		}
	}
	if text == "" {
		return
	}
	text += ": is it filled in after the outcome?"
	if col.Role == Feature {
		col.Role, col.Why = Leak, text
	}
	d.warn(col.Name, WarnMissing, "%s", text)
}

// later counts, for columns of times, the records in which they lie after the record's own.
type later struct {
	own     int
	columns []int
	n, both []int64
	nanos   []func(string) (int64, bool)
	time    func(string) (int64, bool)
}

func (d *Description) newLater(profiles []profile) *later {
	l := &later{own: -1}
	for c := range d.Columns {
		switch col := &d.Columns[c]; {
		case col.Role == Time:
			l.own, l.time = c, profiles[c].nanos
		case col.Why == aTime:
			l.columns = append(l.columns, c)
			l.nanos = append(l.nanos, profiles[c].nanos)
		}
	}
	l.n, l.both = make([]int64, len(l.columns)), make([]int64, len(l.columns))
	return l
}

func (l *later) add(row []string) {
	if l.own < 0 {
		return
	}
	own, ok := l.time(row[l.own])
	if !ok {
		return
	}
	for k, c := range l.columns {
		if t, ok := l.nanos[k](row[c]); ok {
			l.both[k]++
			if t > own {
				l.n[k]++
			}
		}
	}
}

// flag warns of a time that lies after the record's own in one record of a hundred or more.
func (l *later) flag(d *Description) {
	for k, c := range l.columns {
		if l.n[k] > 0 && l.n[k]*100 >= l.both[k] {
			col := &d.Columns[c]
			col.Why = fmt.Sprintf("a time, after %s in %s of the records", d.Time, percent(l.n[k], l.both[k]))
			d.warn(col.Name, WarnLater, "lies after %s in %s of the records: it was not known then", d.Time,
				percent(l.n[k], l.both[k]))
		}
	}
}
