package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
)

// Part is a piece of the page that changes as a whole: an element part-ID.
type Part struct {
	ID    string
	Title string // in the contents; "" = none
	Half  bool   // two of them stand side by side where there is room
	HTML  template.HTML
}

// parts are the pieces in their order; each is the template of its ID.
var parts = []Part{
	{ID: "head"},
	{ID: "cards"},
	{ID: "drift", Title: "Labels and drift"},
	{ID: "goals", Title: "Goals"},
	{ID: "groups", Title: "Groups"},
	{ID: "course", Title: "Quality"},
	{ID: "gains", Title: "Gains"},
	{ID: "calls", Title: "Call first", Half: true},
	{ID: "profiles", Title: "Profiles", Half: true},
	{ID: "moved", Title: "What moves the scores", Half: true},
	{ID: "verdicts", Title: "Models", Half: true},
	{ID: "last", Title: "Last scored"},
	{ID: "flow", Title: "Partitions"},
}

// moment is the content of the parts at one moment.
type moment struct {
	Live
	Pace string // records a second, in words; "" = not known yet
}

// Late says that all labels come after their events: the figures of the newest ones stand for those of the others.
func (m *moment) Late() bool { return m.Quality.Records == 0 && m.Drift != nil && m.Drift.Labels > 0 }

// render makes the parts. A part without content is empty.
func render(m *moment) ([]Part, error) {
	out := make([]Part, len(parts))
	var b bytes.Buffer
	for i, p := range parts {
		b.Reset()
		if err := pages.ExecuteTemplate(&b, p.ID, m); err != nil {
			return nil, fmt.Errorf("showing %s: %w", p.ID, err)
		}
		p.HTML = template.HTML(strings.TrimSpace(b.String()))
		out[i] = p
	}
	return out, nil
}

// contents are the titled parts that have something to show.
func contents(all []Part) (out []Part) {
	for _, p := range all {
		if p.Title != "" && p.HTML != "" {
			out = append(out, p)
		}
	}
	return out
}

//go:embed layout.html
var layout string

//go:embed parts.html
var source string

//go:embed find.html
var lookup string

//go:embed page.css
var style string

//go:embed page.js
var script string

var pages = template.Must(template.Must(template.Must(template.New("page").Funcs(template.FuncMap{
	"count": func(n any) string { return grouped(fmt.Sprint(n)) }, "percent": Percent, "times": Times, "figure": figure,
	"spark": spark, "join": strings.Join,
	"first":      func(n int, r []Reason) []Reason { return r[:min(n, len(r))] },
	"number":     func(v float64) evaluate.Number { return evaluate.Number(v) },
	"odds":       func(effect float64) string { return strconv.FormatFloat(math.Exp(effect), 'f', 2, 64) },
	"whole":      func(v float64) int64 { return int64(math.Round(v)) },
	"lift":       Lift,
	"gainscurve": gainsCurve, "calibrationcurve": calibrationCurve, "top": top, "duration": duration[evaluate.Number],
	"seconds": duration[float64], "size": size,
	"moment": func(t time.Time) string { return t.Format("2006-01-02 15:04 MST") },
	"signed": signed,
	"float":  func(v evaluate.Number) float64 { return float64(v) },
	"deref":  func(v *float64) float64 { return *v },
	"term":   func(feature string) bool { return strings.HasPrefix(feature, "(") },
	"inc":    func(i int) int { return i + 1 },
	"bar":    func(p float64) string { return strconv.FormatFloat(100*min(max(p, 0), 1), 'f', 1, 64) },
	"part": func(all []Part, id string) *Part {
		for i := range all {
			if all[i].ID == id {
				return &all[i]
			}
		}
		return nil
	},
	"style":  func() template.CSS { return template.CSS(style + chart.Style) },
	"script": func() template.JS { return template.JS(script) },
}).Parse(layout)).Parse(source)).Parse(lookup))
