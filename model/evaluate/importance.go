package evaluate

import (
	"cmp"
	"math"
	"slices"

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

// importanceMeter keeps the values and the contributions of the newest records, in a ring.
type importanceMeter struct {
	schema *model.Schema
	n      int // records so far
	value  [][]float64
	effect [][]float64
	levels []map[string]int // of each feature: number of a level, in order of appearance
	names  [][]string
}

func newImportanceMeter(s *model.Schema) *importanceMeter {
	m := &importanceMeter{schema: s}
	for range s.Features {
		m.value, m.effect = append(m.value, nil), append(m.effect, nil)
		m.levels, m.names = append(m.levels, map[string]int{}), append(m.names, nil)
	}
	return m
}

// add takes a record that has contributions.
func (m *importanceMeter) add(r *Record, s *model.Scores) {
	k := len(m.schema.Features)
	if len(s.Effects) < (r.Row+1)*k || s.Status[r.Row] == model.StatusUntrained {
		return
	}
	for f, e := range s.Effects[r.Row*k : (r.Row+1)*k] {
		v := m.number(f, &r.Batch.Columns[f], r.Row)
		if len(m.value[f]) < importanceRecords {
			m.value[f], m.effect[f] = append(m.value[f], v), append(m.effect[f], e)
			continue
		}
		m.value[f][m.n%importanceRecords], m.effect[f][m.n%importanceRecords] = v, e
	}
	m.n++
}

// number is the value of a continuous feature in a Row, or the number of a level; NaN = missing. Levels beyond the
// first 4,096 share a number.
func (m *importanceMeter) number(f int, c *model.Column, row int) float64 {
	if m.schema.Features[f].Kind == model.Continuous {
		return m.schema.Features[f].Value(c.Float[row])
	}
	code := c.Code[row]
	if code == model.MissingCode {
		return math.NaN()
	}
	text := c.Levels[code]
	i, known := m.levels[f][text]
	if !known {
		if i = len(m.names[f]); i == model.MaxLevels {
			text = "(other)"
		} else if i > model.MaxLevels {
			return model.MaxLevels
		}
		m.levels[f][text], m.names[f] = i, append(m.names[f], text)
	}
	return float64(i)
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
			name = m.names[f][int(low)]
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
