package factsheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const (
	shownSets     = 20 // rows of the table of sets
	shownTables   = 6  // sets with a heat map
	shownColumns  = 10 // of a heat map
	shownProfiles = 20
	shownWindows  = 10
	shownLevels   = 8 // cells of a window
)

// together lists the sets of features that say something together.
func (b *builder) together() {
	s := Section{ID: "together", Title: "Features that act together"}
	if l := b.Report.Search; l != nil {
		if len(l.Entered) > 0 {
			t := &Table{Caption: "Sets in the score beside the single features, in the order in which they entered",
				Head: []string{"Features"}}
			list, note := first(l.Entered, shownSets, "sets")
			for _, e := range list {
				t.Rows = append(t.Rows, cells(joined(e)))
			}
			s.Text = append(s.Text, "These combinations say more than their features one by one: the score takes them in "+
				"as a whole.")
			s.Blocks, s.Notes = append(s.Blocks, Block{Table: t}), noted(note)
		} else {
			s.Text = append(s.Text, fmt.Sprintf("No set of features says more together than one by one, beyond chance: none "+
				"of the %d sets that were tried is in the score.", l.Sets))
		}
	}
	if len(b.Report.Sets) > 0 {
		list, note := first(b.Report.Sets, shownSets, "sets")
		t := &Table{Caption: "Sets of features that tell the classes apart", Head: []string{"Features", " Explained",
			" On records left out", " Records", " Cells"}}
		for i := range list {
			x := &list[i]
			t.Rows = append(t.Rows, cells(joined(x.Features), text.Percent(x.Eta), text.Percent(x.EtaLeaveOneOut),
				text.Number(x.N), strconv.Itoa(len(x.Levels))))
		}
		s.Blocks = append(s.Blocks, Block{Table: t})
		s.Notes = append(s.Notes, noted(note, "Explained is eta, the share of the uncertainty about the class that goes "+
			"away when the values of the set are known; on records left out of the counts it is free of chance.")...)
	}
	b.add(s)
}

func joined(features []string) string { return strings.Join(shown(features), " & ") }

// lifts draws the lifts of the cells of the best sets, of each size in turn.
func (b *builder) lifts() {
	s := Section{ID: "lifts", Title: "Lift by value"}
	bySize := map[int][]*report.Set{}
	for i := range b.Report.Sets {
		x := &b.Report.Sets[i]
		bySize[len(x.Features)] = append(bySize[len(x.Features)], x)
	}
	for rank := 0; len(s.Blocks) < shownTables; rank++ {
		before := len(s.Blocks)
		for _, n := range sizes(bySize) {
			if rank < len(bySize[n]) && len(s.Blocks) < shownTables {
				s.Blocks = append(s.Blocks, heatBlock(b, bySize[n][rank]))
			}
		}
		if len(s.Blocks) == before {
			break
		}
	}
	if len(s.Blocks) == 0 {
		return
	}
	of := "each class"
	if b.target >= 0 {
		of = "“" + visible(b.classes[b.target]) + "”"
	}
	s.Text = []string{fmt.Sprintf("A lift of 2 says that %s is twice as frequent there as on average, one of 0.5 half as "+
		"frequent. Green is more, red is less.", of)}
	s.Notes = []string{"Of a large set the rows of the most records are drawn. Q1 is the fifth of the lowest values " +
		"where a feature is cut into five, and so on. An interval of 95 % is of its cell by itself; of many cells some miss."}
	b.add(s)
}

func sizes(m map[int][]*report.Set) (out []int) {
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// cell is a cell of a set by its row and column of a heat map.
type cell struct {
	row, column string
	at          int // in the lists of the set
}

// heatBlock draws the lifts of a set: its cells by class where there is no target, else the values of the feature with
// the fewest values against the combinations of the others.
func heatBlock(b *builder, x *report.Set) Block {
	title := "Lift by " + joined(x.Features)
	h := chart.Heat{Title: title}
	t := &Table{Caption: title + legend(x), Folded: true, Head: []string{joined(x.Features), " Records", " Lift", " 95 %"}}
	class := b.target
	order := make([]int, len(x.Levels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(weight(x, j), weight(x, i)) })
	order, note := first(order, 2*shownCells, "cells, the largest first,")
	t.Caption = noting(t.Caption, note)
	drawn := slices.Clone(order[:min(len(order), shownCells)])
	slices.Sort(order)
	if class < 0 {
		heatByClass(b, x, order, drawn, &h, t)
	} else {
		for _, i := range order {
			t.Rows = append(t.Rows, cells(x.Levels[i], text.Number(weight(x, i)), text.Lift(at(x.Lift, i, class), 2),
				liftBounds(evaluate.Interval{at(x.LiftLow, i, class), at(x.LiftHigh, i, class)}, 2)))
		}
		matrix(x, class, &h)
	}
	return Block{b.figure("lift-"+fileName(strings.Join(x.Features, "-")), title+legend(x), h.Draw()), t}
}

// heatByClass makes a column of each class: of the cells in order for the table, of drawn ones for the heat map.
func heatByClass(b *builder, x *report.Set, order, drawn []int, h *chart.Heat, t *Table) {
	classes := b.classes[:min(len(b.classes), shownColumns)]
	h.Columns = classes
	t.Head = []string{joined(x.Features), " Records"}
	for _, c := range classes {
		t.Head = append(t.Head, " "+c)
	}
	if len(classes) < len(b.classes) {
		t.Caption = noting(t.Caption, fmt.Sprintf("Of %d classes the first %d are shown.", len(b.classes), len(classes)))
	}
	for _, i := range order {
		row := chart.HeatRow{Label: x.Levels[i]}
		cs := cells(x.Levels[i], text.Number(weight(x, i)))
		for y := range classes {
			v := at(x.Lift, i, y)
			row.Cells, row.Text = append(row.Cells, float64(v)), append(row.Text, text.Decimals(v, 1))
			cs = append(cs, Cell{text.Lift(v, 2), "heat " + chart.HeatClass(float64(v))})
		}
		if slices.Contains(drawn, i) {
			h.Rows = append(h.Rows, row)
		}
		t.Rows = append(t.Rows, cs)
	}
}

// matrix fills a heat map with the cells of a set, values of one feature against those of the others: the rows of the
// most records, in the order of the cells.
func matrix(x *report.Set, class int, h *chart.Heat) {
	list, across := split(x)
	rows := map[string][]cell{}
	records := map[string]report.Number{}
	var order []string
	for _, c := range list {
		if across && !slices.Contains(h.Columns, c.column) {
			h.Columns = append(h.Columns, c.column)
		}
		if rows[c.row] == nil {
			order = append(order, c.row)
		}
		rows[c.row] = append(rows[c.row], c)
		records[c.row] += weight(x, c.at)
	}
	if !across {
		h.Columns = []string{"lift"}
	}
	slices.SortStableFunc(h.Columns, func(a, b string) int { return cmp.Compare(quantile(a), quantile(b)) })
	heavy := slices.Clone(order)
	slices.SortStableFunc(heavy, func(r, s string) int { return cmp.Compare(records[s], records[r]) })
	heavy = heavy[:min(len(heavy), shownCells)]
	for _, r := range order {
		if !slices.Contains(heavy, r) {
			continue
		}
		row := chart.HeatRow{Label: r, Cells: make([]float64, len(h.Columns)), Text: make([]string, len(h.Columns))}
		for j := range row.Cells {
			row.Cells[j] = math.NaN()
		}
		for _, c := range rows[r] {
			j := 0
			if across {
				j = slices.Index(h.Columns, c.column)
			}
			v := at(x.Lift, c.at, class)
			row.Cells[j], row.Text[j] = float64(v), text.Decimals(v, 2)
		}
		h.Rows = append(h.Rows, row)
	}
}

// quantile is the place of a column: cells of quantiles in their order, then the others as they came.
func quantile(cell string) byte {
	if len(cell) == 2 && cell[0] == 'Q' {
		return cell[1]
	}
	return math.MaxUint8
}

const and = " & " // between the parts of the name of a cell

// split takes the cells' names apart. across says that they have columns: the values of the last of the features with
// the fewest values. Where a level has the separator in its name, or ends in a part of it, they have none.
func split(x *report.Set) (list []cell, across bool) {
	n := len(x.Features)
	across = n > 1
	for _, level := range x.Levels {
		across = across && strings.Count(level, and) == n-1 && !strings.Contains(and+level+and, " & & ")
	}
	column := 0
	if across {
		best := math.MaxInt
		for f := range n {
			values := map[string]bool{}
			for _, level := range x.Levels {
				values[strings.Split(level, and)[f]] = true
			}
			if len(values) > 1 && len(values) <= best {
				best, column = len(values), f
			}
		}
		across = best <= shownColumns
	}
	for i, level := range x.Levels {
		if !across {
			list = append(list, cell{row: level, at: i})
			continue
		}
		parts := strings.Split(level, and)
		list = append(list, cell{strings.Join(slices.Delete(slices.Clone(parts), column, column+1), and), parts[column], i})
	}
	return list, across
}

// legend names the cuts of a set with a single continuous feature.
func legend(x *report.Set) string {
	if len(x.Cuts) == 0 || len(x.Cuts) > 9 {
		return ""
	}
	cuts := make([]string, len(x.Cuts))
	for i, c := range x.Cuts {
		if i > 0 && c < x.Cuts[i-1] {
			return "" // those of several features
		}
		cuts[i] = text.Number(c)
	}
	return "; cuts at " + strings.Join(cuts, ", ")
}

func at(table [][]report.Number, i, class int) report.Number {
	if i >= len(table) {
		return report.Number(math.NaN())
	}
	return number(table[i], class)
}

// weight is the number of records of a cell.
func weight(x *report.Set, i int) (n report.Number) {
	if i < len(x.Counts) {
		for _, v := range x.Counts[i] {
			n += v
		}
	}
	return n
}

// profiles lists the profiles, confirmed ones first, those of the target before the others.
func (b *builder) profiles() {
	if len(b.Report.Profiles) == 0 {
		return
	}
	order := slices.Clone(b.Report.Profiles)
	rank := func(p *report.Profile) (k int) {
		if b.target >= 0 && p.Class != b.classes[b.target] {
			k = 2
		}
		if !p.Confirmed {
			k++
		}
		return k
	}
	slices.SortStableFunc(order, func(x, y report.Profile) int { return cmp.Compare(rank(&x), rank(&y)) })
	confirmed := 0
	for _, p := range order {
		if p.Confirmed {
			confirmed++
		}
	}
	list, note := first(order, shownProfiles, "profiles")
	x := chart.Bars{Title: "Profiles", Axis: "lift on records held back", Base: 1, Long: true}
	t := &Table{Caption: "Profiles: conditions under which a class is more frequent", Head: []string{"Profile", "Class",
		"Confirmed", " Lift, held back", " 95 %", " Lift, all", " Records", " of the class"}}
	below := false
	for i := range list {
		p := &list[i]
		yes := "no"
		if p.Confirmed {
			yes, below = "yes", below || p.ValidatedLow < 1
		}
		x.Rows = append(x.Rows, chart.Bar{Label: p.Text, Value: float64(p.ValidatedLift), Low: float64(p.ValidatedLow),
			High: float64(p.ValidatedHigh), Text: text.Lift(p.ValidatedLift, 2), Soft: !p.Confirmed})
		t.Rows = append(t.Rows, cells(p.Text, p.Class, yes, text.Lift(p.ValidatedLift, 2),
			liftBounds(evaluate.Interval{p.ValidatedLow, p.ValidatedHigh}, 2), text.Lift(p.Lift, 2), text.Number(p.NX),
			text.Number(p.NXY)))
	}
	said := fmt.Sprintf("%d of %s are confirmed: on records that took no part in finding them they are more than chance.",
		confirmed, text.Count(len(order), "profile"))
	if confirmed == 0 {
		said = fmt.Sprintf("No profile of %d is confirmed: on records that took no part in finding them they could be "+
			"chance.", len(order))
	}
	if confirmed == 0 && !slices.ContainsFunc(order, func(p report.Profile) bool { return p.ValidatedAmong > 0 }) {
		said = fmt.Sprintf("No profile of %d is confirmed: no records were held back, so that all of them may be chance.",
			len(order))
	}
	s := Section{ID: "profiles", Title: "Profiles", Text: []string{said},
		Notes: noted(note, "The lift on records held back is the one to believe; on all records, among which the profile "+
			"was searched, chance makes it higher. Intervals hold for all profiles at once.")}
	if below {
		s.Notes = append(s.Notes, report.IntervalNote+".")
	}
	s.Blocks = []Block{{Figure: b.figure("profiles", "Lift of the profiles on records held back, with 95 % intervals; "+
		"pale bars are not confirmed", x.Draw())}, {Table: t}}
	b.add(s)
}

// windows lists the windows with their intervals.
func (b *builder) windows() {
	if len(b.Report.Windows) == 0 {
		return
	}
	list, note := first(b.Report.Windows, shownWindows, "windows")
	t := &Table{Caption: "Windows: the values of a set among which it says most", Head: []string{"Features", "Values",
		" Records", " Share", " Explained", " 95 %"}}
	for i := range list {
		w := &list[i]
		t.Rows = append(t.Rows, cells(joined(w.Features), text.Some(shown(w.Levels), shownLevels), text.Number(w.N),
			text.Percent(w.Mass), text.Percent(w.EtaCorrected), percents(float64(w.EtaLow), float64(w.EtaHigh))))
	}
	b.add(Section{ID: "windows", Title: "Where a few values settle it", Blocks: []Block{{Table: t}}, Text: []string{
		"Among the records with these values the class is clearer than elsewhere: explained is the share of the " +
			"uncertainty that goes away there, less the gain by chance."},
		Notes: noted(note, "Intervals hold at 95 % for the windows of all sets that were tried at once.")})
}
