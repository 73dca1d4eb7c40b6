package portable

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// PMML writes a document of version 4.4: derived fields for effects, sets and curves, and a regression model of one
// predictor, the log-odds. Its outputs are log_odds and the propensities of both classes.
func (c *Card) PMML(w io.Writer) error {
	p := &document{Writer: bufio.NewWriter(w), c: c}
	p.line(xml.Header + `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">`)
	p.line(`<Header description=%s><Application name="liftstream"/></Header>`, quoted(c.about()))
	p.line(`<DataDictionary>`)
	for i := range c.Features {
		f := &c.Features[i]
		if f.Pieces != nil {
			p.line(`<DataField name=%s optype="continuous" dataType="double"/>`, quoted(f.Name))
			continue
		}
		p.line(`<DataField name=%s optype="categorical" dataType="string">`, quoted(f.Name))
		texts, _ := c.missingTexts()
		for _, m := range texts {
			p.line(`<Value value=%s property="missing"/>`, quoted(m))
		}
		p.line(`</DataField>`)
	}
	p.line(`<DataField name=%s optype="categorical" dataType="string"><Value value=%s/><Value value=%s/></DataField>`,
		quoted(c.Label), quoted(c.Other), quoted(c.Target))
	p.line(`</DataDictionary>`)
	p.line(`<TransformationDictionary>`)
	for i := range c.Features {
		for k := range c.Margins {
			p.field(fmt.Sprintf("ls:e%d_%d", i, k), "double", p.effect(&c.Features[i], k))
		}
	}
	for i := range c.Sets {
		p.set(i)
	}
	var curves []string
	for k := range c.Margins {
		terms := []string{constant(c.Margins[k].Intercept)}
		for i := range c.Features {
			terms = append(terms, ref(fmt.Sprintf("ls:e%d_%d", i, k)))
		}
		for i := range c.Sets {
			terms = append(terms, apply("*", constant(c.Sets[i].Weight[k]), ref(fmt.Sprintf("ls:s%d", i))))
		}
		z := fmt.Sprintf("ls:z%d", k)
		p.field(z, "double", sum(terms))
		curves = append(curves, curve(&c.Margins[k], z))
	}
	p.field("ls:log_odds", "double", sum(curves))
	p.field("ls:held", "double", apply("max", constant(-c.Clip), apply("min", constant(c.Clip), ref("ls:log_odds"))))
	p.line(`</TransformationDictionary>`)
	p.line(`<RegressionModel functionName="classification" normalizationMethod="logit">`)
	p.line(`<MiningSchema><MiningField name=%s usageType="target"/>`, quoted(c.Label))
	for i := range c.Features {
		p.line(`<MiningField name=%s/>`, quoted(c.Features[i].Name))
	}
	p.line(`</MiningSchema><Output>`)
	const output = `<OutputField name=%s optype="continuous" dataType="double" feature=`
	p.line(output+`"transformedValue">%s</OutputField>`, quoted("log_odds"), ref("ls:log_odds"))
	for _, class := range []string{c.Target, c.Other} {
		p.line(output+`"probability" value=%s/>`, quoted("propensity_"+class), quoted(class))
	}
	p.line(`</Output>`)
	p.line(`<RegressionTable intercept="0" targetCategory=%s>`, quoted(c.Target))
	p.line(`<NumericPredictor name="ls:held" coefficient="1"/></RegressionTable>`)
	p.line(`<RegressionTable intercept="0" targetCategory=%s/>`, quoted(c.Other))
	p.line(`</RegressionModel></PMML>`)
	return p.Flush()
}

type document struct {
	*bufio.Writer
	c *Card
}

func (p *document) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// field writes a derived field; the text of its expression may be long.
func (p *document) field(name, kind, expression string) {
	optype := "continuous"
	if kind == "integer" {
		optype = "categorical"
	}
	p.line(`<DerivedField name="%s" optype="%s" dataType="%s">%s</DerivedField>`, name, optype, kind, expression)
}

// effect is the expression of the effect of a feature on margin k.
func (p *document) effect(f *Feature, k int) string {
	if f.Pieces == nil {
		var rows [][2]string
		for _, l := range f.Levels {
			rows = append(rows, [2]string{l.Level, decimal(l.Effect[k])})
		}
		return mapped(f.Name, "double", decimal(f.Missing[k]), decimal(f.Unknown[k]), rows)
	}
	v, missing := ref(f.Name), constant(f.Missing[k])
	steps := make([]step, len(f.Pieces))
	for j := range f.Pieces {
		x := &f.Pieces[j]
		u := apply("-", v, constant(x.Origin))
		terms := []string{constant(x.Constant[k])}
		if x.Slope[k] != 0 {
			terms = append(terms, apply("*", constant(x.Slope[k]), u))
		}
		for _, t := range x.Logs {
			above := apply("+", constant(t.A), apply("*", constant(t.B), u))
			below := apply("+", constant(1), apply("*", constant(t.C), u))
			terms = append(terms, apply("*", constant(t.Weight[k]), apply("ln", apply("/", above, below))))
		}
		steps[j] = step{value: sum(terms), closed: x.Closed}
		if x.End != nil {
			steps[j].end = *x.End
		}
	}
	return f.finiteOr(missing, func(c Code) string { return constant(c.Effect[k]) }, tree(v, steps))
}

// finiteOr is the expression of a number that the feature has, code that of a special code, and missing else.
func (f *Feature) finiteOr(missing string, code func(Code) string, expression string) string {
	v := ref(f.Name)
	for _, c := range f.Special {
		expression = apply("if", apply("equal", v, constant(c.Code)), code(c), expression)
	}
	high, low := constant(math.MaxFloat64), constant(-math.MaxFloat64)
	return apply("if", apply("isMissing", v), missing, apply("if", apply("lessOrEqual", v, high),
		apply("if", apply("greaterOrEqual", v, low), expression, missing), missing))
}

// step is an expression of the values up to end, or below it unless closed.
type step struct {
	end    float64
	closed bool
	value  string
}

// tree is the expression of the first step that a value does not exceed, the last one beyond; it asks in the middle
// first, so that expressions are not deep.
func tree(v string, steps []step) string {
	if len(steps) == 1 {
		return steps[0].value
	}
	n := (len(steps) - 1) / 2
	than := "lessThan"
	if steps[n].closed {
		than = "lessOrEqual"
	}
	return apply("if", apply(than, v, constant(steps[n].end)), tree(v, steps[:n+1]), tree(v, steps[n+1:]))
}

// set writes the fields of set i: its indices, its cell and its value.
func (p *document) set(i int) {
	s := &p.c.Sets[i]
	none := "-1000000" // far below 0: with it no sum over the axes is a cell
	var axes []string
	for j := range s.Axes {
		a := &s.Axes[j]
		name := fmt.Sprintf("ls:a%d_%d", i, j)
		axes = append(axes, ref(name))
		if a.Levels == nil {
			var steps []step
			for x := range len(a.Cuts) + 1 {
				steps = append(steps, step{value: whole(strconv.Itoa(x * a.Stride)), closed: true})
				if x < len(a.Cuts) {
					steps[x].end = a.Cuts[x]
				}
			}
			f := &p.c.Features[slices.IndexFunc(p.c.Features, func(f Feature) bool { return f.Name == a.Feature })]
			p.field(name, "integer", f.finiteOr(whole(none), func(Code) string { return whole(none) },
				tree(ref(a.Feature), steps)))
			continue
		}
		var rows [][2]string
		for x, l := range a.Levels {
			rows = append(rows, [2]string{l, strconv.Itoa(x * a.Stride)})
		}
		rest := none
		if a.Unknown != nil {
			rest = strconv.Itoa(*a.Unknown * a.Stride)
		}
		p.field(name, "integer", mapped(a.Feature, "integer", none, rest, rows))
	}
	cell := fmt.Sprintf("ls:c%d", i)
	p.field(cell, "integer", sum(axes))
	var rows [][2]string
	for _, x := range s.Cells {
		rows = append(rows, [2]string{strconv.Itoa(x.Cell), decimal(x.Value)})
	}
	p.field(fmt.Sprintf("ls:s%d", i), "double", mapped(cell, "double", "0", "0", rows))
}

// curve is the expression of the contribution of a margin to the log-odds.
func curve(m *Margin, z string) string {
	line := func(j int, slope float64) string {
		return apply("+", constant(m.Value[j]), apply("*", constant(slope), apply("-", ref(z), constant(m.Z[j]))))
	}
	last := len(m.Z) - 1
	steps := []step{{m.Z[0], true, line(0, m.Share)}}
	for j := 1; j <= last; j++ {
		steps = append(steps, step{m.Z[j], true, line(j-1, (m.Value[j]-m.Value[j-1])/(m.Z[j]-m.Z[j-1]))})
	}
	return tree(ref(z), append(steps, step{value: line(last, m.Share)}))
}

// mapped is the expression of a table.
func mapped(field, kind, missing, rest string, rows [][2]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<MapValues outputColumn="to" dataType="%s" mapMissingTo="%s" defaultValue="%s">`, kind, missing, rest)
	fmt.Fprintf(&b, `<FieldColumnPair field=%s column="from"/><InlineTable>`, quoted(field))
	if len(rows) == 0 {
		rows = [][2]string{{"ls:none", rest}}
	}
	for _, r := range rows {
		b.WriteString("<row><from>" + escaped(r[0]) + "</from><to>" + r[1] + "</to></row>")
	}
	b.WriteString("</InlineTable></MapValues>")
	return b.String()
}

func apply(function string, arguments ...string) string {
	return `<Apply function="` + function + `">` + strings.Join(arguments, "") + `</Apply>`
}

// sum adds expressions two by two, so that they are not deep.
func sum(terms []string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	n := len(terms) / 2
	return apply("+", sum(terms[:n]), sum(terms[n:]))
}

func ref(field string) string   { return "<FieldRef field=" + quoted(field) + "/>" }
func constant(v float64) string { return `<Constant dataType="double">` + decimal(v) + `</Constant>` }
func whole(v string) string     { return `<Constant dataType="integer">` + v + `</Constant>` }
func decimal(v float64) string  { return strconv.FormatFloat(v, 'g', -1, 64) }
func quoted(s string) string    { return `"` + escaped(s) + `"` }

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
