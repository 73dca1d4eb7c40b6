package evaluate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/report"
)

const (
	importanceRecords = 10000 // newest scored records that importances are of
	importanceCells   = 10    // of a continuous feature, and listed levels of another one
)

// Importance is how much a feature contributes to the scores, over the newest 10,000 records.
type Importance = report.Importance

// EffectCell is a cell of the values of a feature.
type EffectCell = report.EffectCell

// ImportanceOf lists the scored features, the most important first, over the records of a batch. The scores have
// effects (model.Options.Effects); records without them are passed over.
func ImportanceOf(s *model.Schema, b *model.Batch, scores *model.Scores) []Importance {
	m := newImportanceMeter(s)
	for i := range b.N {
		m.add(&Record{Batch: b, Row: i}, scores)
	}
	return m.result()
}

// GoalImportanceOf is ImportanceOf of a goal: by its contributions in the scores; none of a goal without a structure.
func GoalImportanceOf(s *model.Schema, b *model.Batch, scores *model.Scores, goal int) []Importance {
	m := newImportanceMeter(s)
	n, k := len(scores.Goals)/max(scores.N, 1), len(s.Features)
	for i := range b.N {
		if at := (i*n + goal) * k; at+k <= len(scores.GoalEffects) {
			m.take(&Record{Batch: b, Row: i}, scores.GoalEffects[at:at+k])
		}
	}
	return m.result()
}

// importanceMeter keeps the values and the contributions of the newest records, in a ring, and of each feature the
// levels that those have.
type importanceMeter struct {
	schema *model.Schema
	most   int // records
	n      int // records so far
	value  [][]float64
	effect [][]float64
	levels []levelNumbers
}

// levelNumbers number the levels of the records of a ring. The number of a level that no record has any more is free.
type levelNumbers struct {
	number  map[string]int
	names   []string
	records []int // by number
	free    []int
}

func newImportanceMeter(s *model.Schema) *importanceMeter {
	n := len(s.Features)
	m := &importanceMeter{schema: s, most: importanceRecords, value: make([][]float64, n), effect: make([][]float64, n),
		levels: make([]levelNumbers, n)}
	for f := range m.levels {
		m.levels[f].number = map[string]int{}
	}
	return m
}

// take returns the number of the level of one more record.
func (l *levelNumbers) take(text string) int {
	i, known := l.number[text]
	if !known {
		text = strings.Clone(text)
		if n := len(l.free); n > 0 {
			i, l.free = l.free[n-1], l.free[:n-1]
			l.names[i] = text
		} else {
			i = len(l.names)
			l.names, l.records = append(l.names, text), append(l.records, 0)
		}
		l.number[text] = i
	}
	l.records[i]++
	return i
}

// leave takes a record out of its level.
func (l *levelNumbers) leave(i int) {
	if l.records[i]--; l.records[i] == 0 {
		delete(l.number, l.names[i])
		l.free = append(l.free, i)
	}
}

// add takes a record that has contributions.
func (m *importanceMeter) add(r *Record, s *model.Scores) {
	k := len(m.schema.Features)
	if len(s.Effects) < (r.Row+1)*k || s.Status[r.Row] == model.StatusUntrained {
		return
	}
	m.take(r, s.Effects[r.Row*k:(r.Row+1)*k])
}

// take takes the contributions of a record; it has none where they are NaN.
func (m *importanceMeter) take(r *Record, effects []float64) {
	if len(effects) == 0 || math.IsNaN(effects[0]) {
		return
	}
	for f, e := range effects {
		v := m.number(f, &r.Batch.Columns[f], r.Row)
		if len(m.value[f]) < m.most {
			m.value[f], m.effect[f] = append(m.value[f], v), append(m.effect[f], e)
			continue
		}
		at := m.n % m.most
		if was := m.value[f][at]; m.schema.Features[f].Kind != model.Continuous && !math.IsNaN(was) {
			m.levels[f].leave(int(was))
		}
		m.value[f][at], m.effect[f][at] = v, e
	}
	m.n++
}

// number is the value of a continuous feature in a Row, or the number of a level; NaN = missing.
func (m *importanceMeter) number(f int, c *model.Column, row int) float64 {
	if m.schema.Features[f].Kind == model.Continuous {
		return m.schema.Features[f].Value(c.Float[row])
	}
	if code := c.Code[row]; code != model.MissingCode {
		return float64(m.levels[f].take(c.Levels[code]))
	}
	return math.NaN()
}

// result lists the scored features, the most important first; none without records.
func (m *importanceMeter) result() (out []Importance) {
	for f := range m.schema.Features {
		if m.schema.Features[f].Use != model.UseScore || len(m.value[f]) == 0 {
			continue
		}
		x := Importance{Feature: m.schema.Features[f].Name, Curve: m.curve(f)}
		for _, e := range m.effect[f] {
			x.Effect += Number(math.Abs(e) / float64(len(m.effect[f])))
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Importance) int { return cmp.Compare(b.Effect, a.Effect) })
	return out
}

// curve is the contribution of a feature by its values. Equal values share a cell.
func (m *importanceMeter) curve(f int) []EffectCell {
	value, effect := m.value[f], m.effect[f]
	order := make([]int, len(value))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value[a], value[b]) }) // NaN first
	missing := 0
	for missing < len(order) && math.IsNaN(value[order[missing]]) {
		missing++
	}
	out := []EffectCell{}
	none := func(code int, name string) {
		var at []int
		for _, i := range order[:missing] {
			if model.SpecialOf(value[i]) == code {
				at = append(at, i)
			}
		}
		if len(at) > 0 {
			out = append(out, effectCell(name, effect, at))
		}
	}
	for k := range m.schema.Features[f].Special {
		none(k, m.schema.Features[f].SpecialName(k))
	}
	none(-1, "(missing)")
	order = order[missing:]
	continuous := m.schema.Features[f].Kind == model.Continuous
	var cells []EffectCell
	for from, k := 0, 1; from < len(order); {
		to := from + 1
		if continuous {
			for k*len(order)/importanceCells <= from { // a frequent value has taken many tenths
				k++
			}
			to = k * len(order) / importanceCells
		}
		for to < len(order) && value[order[to]] == value[order[to-1]] {
			to++
		}
		low, high := value[order[from]], value[order[to-1]]
		name := digits(low)
		if !continuous {
			name = m.levels[f].names[int(low)]
		} else if high > low {
			name += " to " + digits(high)
		}
		cells = append(cells, effectCell(name, effect, order[from:to]))
		from = to
	}
	if !continuous {
		slices.SortStableFunc(cells, func(a, b EffectCell) int { return cmp.Compare(b.N, a.N) })
		cells = cells[:min(len(cells), importanceCells)]
	}
	return append(cells, out...)
}

// effectCell returns the moments of the contributions of the records at these places.
func effectCell(name string, effect []float64, at []int) EffectCell {
	c := EffectCell{Cell: name, N: len(at)}
	mean, square := 0., 0.
	for _, i := range at {
		mean += effect[i] / float64(len(at))
	}
	for _, i := range at {
		square += (effect[i] - mean) * (effect[i] - mean) / float64(len(at))
	}
	c.Effect, c.SD = Number(mean), Number(math.Sqrt(square))
	return c
}
