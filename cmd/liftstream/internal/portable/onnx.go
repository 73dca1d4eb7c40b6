package portable

import (
	"io"
	"math"
	"slices"
)

// ONNX writes a model of opset 17 and ai.onnx.ml 3. Each feature is an input of its name, records x 1: a number of
// double precision, NaN where it is missing, or a text, empty or one of the missing texts where it is missing. The
// outputs log_odds and propensity_TARGET are records x 1.
func (c *Card) ONNX(w io.Writer) error {
	g := &graph{value: make([]column, len(c.Features))}
	terms := make([][]string, len(c.Margins))
	for i := range c.Features {
		f, kind := &c.Features[i], int64(onnxString)
		if f.Pieces != nil {
			kind = onnxDouble
		}
		g.input(f.Name, kind)
		effects := g.feature(c, i)
		for k := range terms {
			terms[k] = append(terms[k], effects[k])
		}
	}
	for i := range c.Sets {
		v := g.set(c, i)
		for k, weight := range c.Sets[i].Weight {
			terms[k] = append(terms[k], g.node("Mul", v, g.floats([]float64{weight}, 1, 1)))
		}
	}
	var curves []string
	for k := range c.Margins {
		m := &c.Margins[k]
		z := g.node("Sum", append(terms[k], g.floats([]float64{m.Intercept}, 1, 1))...)
		curves = append(curves, g.curve(m, z))
	}
	g.name("log_odds", g.node("Sum", curves...))
	held := g.node("Clip", "log_odds", g.floats([]float64{-c.Clip}), g.floats([]float64{c.Clip}))
	one := g.floats([]float64{1}, 1, 1)
	propensity := "propensity_" + c.Target
	g.name(propensity, g.node("Div", one, g.node("Add", one, g.node("Exp", g.node("Neg", held)))))
	g.output("log_odds")
	g.output(propensity)
	_, err := w.Write(g.model(c.about()))
	return err
}

// column is the value of a continuous feature in the graph: held within the numbers, and whether it is one and no
// special code.
type column struct{ number, ok string }

// feature adds the effects of feature i and returns them by margin.
func (g *graph) feature(c *Card, i int) []string {
	f := &c.Features[i]
	out := make([]string, len(c.Margins))
	if f.Pieces == nil {
		rows := [][]float64{f.Missing}
		keys, codes := c.missingTexts()
		for j, l := range f.Levels {
			keys, codes, rows = append(keys, l.Level), append(codes, int64(j+1)), append(rows, l.Effect)
		}
		at := g.encode(f.Name, keys, codes, int64(len(rows)))
		rows = append(rows, f.Unknown)
		for k := range out {
			out[k] = lookUpOf(g, at, rows, func(r []float64) []float64 { return r[k : k+1] })
		}
		return out
	}
	g.value[i].ok = g.node("LessOrEqual", g.node("Abs", f.Name), g.floats([]float64{math.MaxFloat64}, 1, 1))
	var coded []string
	for _, s := range f.Special {
		is := g.node("Equal", f.Name, g.floats([]float64{s.Code}, 1, 1))
		coded = append(coded, is)
		g.value[i].ok = g.node("And", g.value[i].ok, g.node("Not", is))
	}
	far := g.node("Where", g.value[i].ok, f.Name, g.floats([]float64{0}, 1, 1))
	g.value[i].number = g.node("Clip", far, g.floats([]float64{-farthest}), g.floats([]float64{farthest}))
	var ends []float64
	pieces, terms := []Piece{{Constant: f.Missing, Slope: make([]float64, len(c.Margins))}}, 0
	for _, p := range f.Pieces {
		if p.End != nil {
			end := *p.End
			if !p.Closed {
				end = math.Nextafter(end, math.Inf(-1))
			}
			ends = append(ends, end)
		}
		pieces, terms = append(pieces, p), max(terms, len(p.Logs))
	}
	piece := g.node("Add", g.above(g.value[i].number, ends), g.ints([]int64{1}, 1, 1))
	at := g.node("Where", g.value[i].ok, piece, g.ints([]int64{0}, 1, 1))
	for j, s := range f.Special {
		at = g.node("Where", coded[j], g.ints([]int64{int64(len(pieces))}, 1, 1), at)
		pieces = append(pieces, Piece{Constant: s.Effect, Slope: make([]float64, len(c.Margins))})
	}
	u := g.node("Sub", g.value[i].number, lookUpOf(g, at, pieces, func(p Piece) []float64 { return []float64{p.Origin} }))
	logs := ""
	if terms > 0 {
		part := func(of func(t *Log) float64, none float64) string {
			return lookUpOf(g, at, pieces, func(p Piece) []float64 {
				row := slices.Repeat([]float64{none}, terms)
				for t := range p.Logs {
					row[t] = of(&p.Logs[t])
				}
				return row
			})
		}
		a, b := part(func(t *Log) float64 { return t.A }, 1), part(func(t *Log) float64 { return t.B }, 0)
		one := g.floats([]float64{1}, 1, 1)
		below := g.node("Add", one, g.node("Mul", part(func(t *Log) float64 { return t.C }, 0), u))
		logs = g.node("Log", g.node("Div", g.node("Add", a, g.node("Mul", b, u)), below))
	}
	for k := range out {
		out[k] = g.node("Add", lookUpOf(g, at, pieces, func(p Piece) []float64 { return p.Constant[k : k+1] }),
			g.node("Mul", u, lookUpOf(g, at, pieces, func(p Piece) []float64 { return p.Slope[k : k+1] })))
		if terms > 0 {
			weights := lookUpOf(g, at, pieces, func(p Piece) []float64 {
				row := make([]float64, terms)
				for t := range p.Logs {
					row[t] = p.Logs[t].Weight[k]
				}
				return row
			})
			out[k] = g.node("Add", out[k], g.node("ReduceSum", g.node("Mul", weights, logs), g.ints([]int64{1}, 1)))
		}
	}
	return out
}

// farthest is the largest number that is told apart: no piece ends beyond it.
const farthest = 1e300

// missingTexts are the texts of missing values, and a code of 0 for each.
func (c *Card) missingTexts() (texts []string, codes []int64) {
	for _, m := range append([]string{""}, c.Missing...) {
		if !slices.Contains(texts, m) {
			texts = append(texts, m)
		}
	}
	return texts, make([]int64, len(texts))
}

// above counts the ascending numbers below a value.
func (g *graph) above(value string, ends []float64) string {
	ends = append(slices.Clone(ends), math.MaxFloat64) // never empty
	past := g.cast(g.node("Greater", value, g.floats(ends, 1, int64(len(ends)))), onnxInt)
	return g.node("ReduceSum", past, g.ints([]int64{1}, 1))
}

// lookUpOf returns the numbers of each record's row: records x numbers of a row.
func lookUpOf[T any](g *graph, at string, rows []T, of func(T) []float64) string {
	var all []float64
	for _, r := range rows {
		all = append(all, of(r)...)
	}
	n := int64(len(rows))
	flat := g.node("Squeeze", at, g.ints([]int64{1}, 1))
	return g.node("Gather", g.floats(all, n, int64(len(all))/n), flat)
}

// set adds the value of set i.
func (g *graph) set(c *Card, i int) string {
	s := &c.Sets[i]
	cell, known := "", ""
	for j := range s.Axes {
		a := &s.Axes[j]
		f := slices.IndexFunc(c.Features, func(f Feature) bool { return f.Name == a.Feature })
		var at, ok string
		if a.Levels == nil {
			at, ok = g.above(g.value[f].number, a.Cuts), g.value[f].ok
		} else {
			keys, codes := c.missingTexts()
			for k := range codes {
				codes[k] = -1
			}
			for x, l := range a.Levels {
				keys, codes = append(keys, l), append(codes, int64(x))
			}
			rest := int64(-1)
			if a.Unknown != nil {
				rest = int64(*a.Unknown)
			}
			at = g.encode(a.Feature, keys, codes, rest)
			ok = g.node("Greater", at, g.ints([]int64{-1}, 1, 1))
		}
		at = g.node("Mul", at, g.ints([]int64{int64(a.Stride)}, 1, 1))
		if cell == "" {
			cell, known = at, ok
		} else {
			cell, known = g.node("Add", cell, at), g.node("And", known, ok)
		}
	}
	values := []float64{0}
	for _, x := range s.Cells {
		for len(values) < x.Cell+2 {
			values = append(values, 0)
		}
		values[x.Cell] = x.Value
	}
	none := g.ints([]int64{int64(len(values) - 1)}, 1, 1)
	return lookUpOf(g, g.node("Min", g.node("Where", known, cell, none), none), values,
		func(v float64) []float64 { return []float64{v} })
}

// curve adds the contribution of a margin z to the log-odds.
func (g *graph) curve(m *Margin, z string) string {
	type line struct{ z, value, slope float64 }
	lines := []line{{m.Z[0], m.Value[0], m.Share}}
	for j := range m.Z {
		slope := m.Share
		if j+1 < len(m.Z) {
			slope = (m.Value[j+1] - m.Value[j]) / (m.Z[j+1] - m.Z[j])
		}
		lines = append(lines, line{m.Z[j], m.Value[j], slope})
	}
	at := g.above(z, m.Z)
	from := lookUpOf(g, at, lines, func(l line) []float64 { return []float64{l.z} })
	value := lookUpOf(g, at, lines, func(l line) []float64 { return []float64{l.value} })
	slope := lookUpOf(g, at, lines, func(l line) []float64 { return []float64{l.slope} })
	return g.node("Add", value, g.node("Mul", slope, g.node("Sub", z, from)))
}
