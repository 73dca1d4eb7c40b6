// Package factsheet writes a model down for people, in one HTML file that asks for nothing else, and its figures as SVG
// files: the answer of 'liftstream report'. All numbers are those of the model, of a fit's report and of the result of
// eval; equal input gives equal bytes. Lists are bounded, and say how many more there are.
//
// Begin at New.
package factsheet

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// Input holds the sources of a Sheet. Model and Report are required: Report has the sections of the model's parts. Fit
// is the report of its fit, Evaluation the result of an eval, Card its scorecard; each nil where there is none.
type Input struct {
	Name       string
	Model      *model.Model
	Report     *report.Report
	Fit        *report.Report
	Evaluation *evaluate.Result
	Card       *portable.Card
	// NoCard tells why a configuration has given no Card; "" where none was asked for one.
	NoCard string
	// Home is the address of a page to go back to; "" = none.
	Home string
}

// Sheet is the content in its order.
type Sheet struct {
	Title    string
	Home     string
	Lead     []string // the first sentences
	Facts    []Fact
	Sections []Section
}

// Fact is a line of the first table.
type Fact struct{ Name, Value string }

// Section is a heading with sentences, figures and tables.
type Section struct {
	ID, Title string
	Text      []string
	Blocks    []Block
	Notes     []string // small print
}

// Block is a figure, a table with its numbers, or both.
type Block struct {
	Figure *Figure
	Table  *Table
}

// Figure is a drawing with the name of its file, less the extension.
type Figure struct {
	Name, Caption string
	Drawing       *chart.Drawing
}

// Table has a caption and headings; a column whose heading begins with a space is of numbers. The first cell of a row
// is its heading.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]Cell
	Folded  bool // shown when it is asked for: a figure says the same
}

// Cell is a text, with the class of a colour.
type Cell struct{ Text, Class string }

// builder gathers the sections.
type builder struct {
	Input
	sheet   *Sheet
	classes []string
	target  int             // class of the effects and lifts, -1 = each class by itself
	names   map[string]bool // of the files of figures
}

// New builds the sheet.
func New(in Input) *Sheet {
	s := in.Model.Schema()
	b := &builder{Input: in, sheet: &Sheet{Home: in.Home}, classes: s.Classes, target: s.Positive,
		names: map[string]bool{}}
	if b.target < 0 && len(s.Classes) == 2 {
		b.target = 1
	}
	b.lead()
	for _, section := range []func(){b.quality, b.goals, b.importance, b.effects, b.together, b.lifts, b.profiles,
		b.windows,
		b.alone, b.local, b.kernel, b.trees, b.groups, b.drift, b.points, b.limits} {
		section()
	}
	return b.sheet
}

// add appends a section that has something to show.
func (b *builder) add(s Section) {
	if len(s.Blocks) > 0 || len(s.Text) > 0 {
		b.sheet.Sections = append(b.sheet.Sections, s)
	}
}

// figure gives a drawing the name of a file that no other figure has.
func (b *builder) figure(name, caption string, d *chart.Drawing) *Figure {
	taken := name
	for n := 2; b.names[taken]; n++ {
		taken = fmt.Sprintf("%s-%d", name, n)
	}
	b.names[taken] = true
	return &Figure{Name: taken, Caption: caption, Drawing: d}
}

// Figures are those of all sections in their order.
func (s *Sheet) Figures() (out []*Figure) {
	for _, x := range s.Sections {
		for _, y := range x.Blocks {
			if y.Figure != nil {
				out = append(out, y.Figure)
			}
		}
	}
	return out
}

//go:embed page.html
var page string

//go:embed page.css
var style string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(style + chart.Style) },
	"svg":     func(d *chart.Drawing) template.HTML { return template.HTML(d.Inline()) },
	"visible": visible,
	"head":    func(s string) string { return strings.TrimPrefix(s, " ") },
	"label": func(t *Table, i int) string {
		if i >= len(t.Head) {
			return ""
		}
		return visible(strings.TrimPrefix(t.Head[i], " "))
	},
	"numeric": func(t *Table, i int) bool { return i < len(t.Head) && strings.HasPrefix(t.Head[i], " ") },
}).Parse(page))

// HTML writes the sheet as a page.
func (s *Sheet) HTML(w io.Writer) error {
	if err := pages.Execute(w, s); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// longest bounds the runes of a text of a user in a table.
const longest = 120

// visible makes a text of a user harmless to the text around it, and bounds it.
func visible(s string) string { return text.Clip(s, longest) }

// cells makes a row of plain cells.
func cells(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// first bounds a list, and says how many it has left out: "" = none.
func first[T any](list []T, n int, noun string) ([]T, string) {
	if len(list) <= n {
		return list, ""
	}
	return list[:n], fmt.Sprintf("Of %d %s the first %d are shown.", len(list), noun, n)
}

// noting puts a note, if there is one, behind a caption.
func noting(caption, note string) string {
	if note == "" {
		return caption
	}
	return strings.TrimSuffix(caption, ".") + ". " + note
}

// noted drops empty notes.
func noted(notes ...string) []string {
	return slices.DeleteFunc(notes, func(s string) bool { return s == "" })
}
