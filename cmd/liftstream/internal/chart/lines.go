package chart

import "slices"

// Kind is how a series is drawn.
type Kind int

// Line is a solid curve, Other a broken one to compare it with, Points are dots with their intervals.
const (
	Line Kind = iota
	Other
	Points
)

// Series is a curve: X ascending, and Y; Low and High are a band around it, or the intervals of points; nil = none.
type Series struct {
	Name      string
	Kind      Kind
	X, Y      []float64
	Low, High []float64
}

// Lines are curves over one axis.
type Lines struct {
	Title   string
	X, Y    string // names of the axes
	Series  []Series
	Zero    bool // the vertical axis holds 0
	Level   float64
	Leveled bool // a line at Level is drawn
}

const (
	plotLeft, plotRight = 44, Width - 20
	plotTop, plotBottom = 18, 176
)

// Draw draws the bands, the curves over them, and the axes.
func (l Lines) Draw() *Drawing {
	d := &Drawing{Title: l.Title, height: plotBottom + 36}
	var xs, ys []float64
	for _, s := range l.Series {
		xs, ys = append(xs, s.X...), slices.Concat(ys, s.Y, s.Low, s.High)
	}
	if l.Zero {
		ys = append(ys, 0)
	}
	if l.Leveled {
		ys = append(ys, l.Level)
	}
	x, y := newScale(xs, plotLeft, plotRight), newScale(ys, plotBottom, plotTop)
	at, text := y.ticks(4)
	for i, v := range at {
		d.line("grid", plotLeft, y.at(v), plotRight, y.at(v))
		d.text("soft end", plotLeft-4, y.at(v)+4, plotLeft-4, text[i])
	}
	at, text = x.ticks(4)
	for i, v := range at {
		d.line("axis", x.at(v), plotBottom, x.at(v), plotBottom+3)
		d.text("soft mid", x.at(v), plotBottom+14, 80, text[i])
	}
	for _, s := range l.Series {
		if s.Kind != Points {
			d.band(x, y, &s)
		}
	}
	if l.Leveled {
		d.line("axis", plotLeft, y.at(l.Level), plotRight, y.at(l.Level))
	}
	for _, s := range l.Series {
		d.series(x, y, &s)
	}
	d.line("axis", plotLeft, plotBottom, plotRight, plotBottom)
	d.text("soft", 2, 10, Width-4, l.Y)
	d.text("soft mid", (plotLeft+plotRight)/2, plotBottom+29, Width-20, l.X)
	return d
}

func (d *Drawing) band(x, y scale, s *Series) {
	var points []float64
	n := min(len(s.X), len(s.Low), len(s.High))
	for i := range n {
		if finite(s.X[i], s.Low[i], s.High[i]) {
			points = append(points, x.at(s.X[i]), y.at(s.High[i]))
		}
	}
	for i := n - 1; i >= 0; i-- {
		if finite(s.X[i], s.Low[i], s.High[i]) {
			points = append(points, x.at(s.X[i]), y.at(s.Low[i]))
		}
	}
	d.path("band", points, true)
}

func (d *Drawing) series(x, y scale, s *Series) {
	var points []float64
	for i := range min(len(s.X), len(s.Y)) {
		if !finite(s.X[i], s.Y[i]) {
			continue
		}
		points = append(points, x.at(s.X[i]), y.at(s.Y[i]))
		if s.Kind == Points && i < len(s.Low) && i < len(s.High) && finite(s.Low[i], s.High[i]) {
			d.line("range", x.at(s.X[i]), y.at(s.Low[i]), x.at(s.X[i]), y.at(s.High[i]))
		}
	}
	switch s.Kind {
	case Line:
		d.path("line", points, false)
	case Other:
		d.path("other", points, false)
		return
	}
	if s.Kind == Points || len(points) == 2 {
		for i := 0; i < len(points); i += 2 {
			d.dot("dot", points[i], points[i+1])
		}
	}
}
