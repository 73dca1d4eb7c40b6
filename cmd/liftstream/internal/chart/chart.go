// Package chart draws figures as SVG: bars, curves and heat maps. Equal figures give equal bytes. A number that is not
// finite is left out of a drawing, and a text is escaped, so that any data give well-formed XML.
//
// Begin at Bars.Draw, Lines.Draw and Heat.Draw.
package chart

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"liftstream/model/report/text"
)

// Style is the style sheet of drawings, for a page that holds them. A page that is dark shows them dark.
//
//go:embed chart.css
var Style string

// Width of all drawings, in units of their own; a pixel each on a telephone.
const Width = 360

const (
	lineHeight = 18
	letter     = 6.6 // room of a letter of the font, rather too much
)

// Drawing is a finished figure.
type Drawing struct {
	Title  string
	height float64
	body   strings.Builder
}

// Inline returns the drawing as an element of an HTML page, which holds Style.
func (d *Drawing) Inline() string { return d.svg("", "") }

// File returns the drawing as a file of its own.
func (d *Drawing) File() string {
	return d.svg(` xmlns="http://www.w3.org/2000/svg" width="`+number(2*Width)+`" height="`+number(2*d.height)+`"`,
		"<style>\n"+Style+"</style>\n") + "\n"
}

func (d *Drawing) svg(attributes, style string) string {
	return fmt.Sprintf("<svg%s class=\"chart\" role=\"img\" viewBox=\"0 0 %d %s\">\n<title>%s</title>\n%s"+
		"<rect class=\"back\" width=\"%d\" height=\"%s\"/>\n%s</svg>", attributes, Width, number(d.height),
		html.EscapeString(text.Visible(d.Title)), style, Width, number(d.height), d.body.String())
}

// text writes a text that ends at most at the given width, with the whole text as its hint where it is cut.
func (d *Drawing) text(class string, x, y, room float64, s string) {
	s = text.Visible(s)
	short := cut(s, room/letter)
	hint := ""
	if short != s {
		hint = "<title>" + html.EscapeString(text.Clip(s, hintRunes)) + "</title>"
	}
	fmt.Fprintf(&d.body, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s%s</text>\n", class, number(x), number(y), hint,
		html.EscapeString(short))
}

func (d *Drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.body, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, number(x1), number(y1),
		number(x2), number(y2))
}

func (d *Drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.body, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, number(x),
		number(y), number(w), number(h))
}

func (d *Drawing) dot(class string, x, y float64) {
	fmt.Fprintf(&d.body, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"3\"/>\n", class, number(x), number(y))
}

// path writes a polyline, or an area; points alternate x and y.
func (d *Drawing) path(class string, points []float64, closed bool) {
	if len(points) < 4 {
		return
	}
	element := "polyline"
	if closed {
		element = "polygon"
	}
	fmt.Fprintf(&d.body, "<%s class=\"%s\" points=\"", element, class)
	for i := 0; i < len(points); i += 2 {
		if i > 0 {
			d.body.WriteByte(' ')
		}
		d.body.WriteString(number(points[i]) + "," + number(points[i+1]))
	}
	d.body.WriteString("\"/>\n")
}

// number writes a coordinate to a tenth.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if s = strings.TrimSuffix(s, ".0"); s == "-0" {
		s = "0"
	}
	return s
}

func finite(v ...float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// letters is the room of a rune, in mean letters.
func letters(r rune) float64 {
	switch {
	case r >= 0x1100: // Chinese, Japanese, Korean and pictures are wide; a few others get too much
		return 1.9
	case strings.ContainsRune("MWmw@%", r):
		return 1.5
	case r >= 'A' && r <= 'Z':
		return 1.15
	}
	return 1
}

// cut shortens a text to a room of so many letters; a cut text ends with a mark.
func cut(s string, room float64) string {
	n := 0.
	for _, r := range s {
		n += letters(r)
	}
	if n <= room {
		return s
	}
	n = 1
	for i, r := range s {
		if n += letters(r); n > room {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// hintRunes bounds the hint of a text that is cut.
const hintRunes = 300

// scale maps values onto a range of the drawing.
type scale struct{ low, high, from, to float64 }

// newScale takes in all finite values; it has a width even where they have none.
func newScale(values []float64, from, to float64) scale {
	s := scale{math.Inf(1), math.Inf(-1), from, to}
	for _, v := range values {
		if finite(v) {
			v = max(-math.MaxFloat64/4, min(v, math.MaxFloat64/4))
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	switch {
	case s.low > s.high:
		s.low, s.high = 0, 1
	case s.high-s.low <= 1e-12*max(math.Abs(s.low), math.Abs(s.high)):
		half := max(math.Abs(s.low)*.1, .5)
		s.low, s.high = s.low-half, s.high+half
	}
	return s
}

func (s scale) at(v float64) float64 {
	v = max(s.low, min(v, s.high))
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// ticks are round values within the scale, about n of them.
func (s scale) ticks(n int) (at []float64, text []string) {
	step := (s.high - s.low) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5, 10} {
		if power*m >= step*.999 {
			step = power * m
			break
		}
	}
	if !finite(step) || !(step > 0) {
		return nil, nil
	}
	first := math.Ceil(s.low/step - 1e-9)
	for k := range 2*n + 2 {
		v := (first + float64(k)) * step
		if v > s.high+step*1e-9 {
			break
		}
		if math.Abs(v) < step*1e-9 {
			v = 0
		}
		at, text = append(at, v), append(text, tick(v))
	}
	return at, text
}

// tick writes a round value in few letters.
func tick(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e9 || a > 0 && a < 1e-4:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case a >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
