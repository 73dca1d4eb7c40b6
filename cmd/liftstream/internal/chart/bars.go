package chart

import (
	"math"
	"strings"
)

// Bar is a row of Bars. Low and High are the ends of an interval, NaN = none.
type Bar struct {
	Label            string
	Value, Low, High float64
	Text             string // the number in words
	Soft             bool   // of less weight
}

// Plain is a bar without an interval.
func Plain(label string, value float64, text string) Bar {
	return Bar{Label: label, Value: value, Low: math.NaN(), High: math.NaN(), Text: text}
}

// Bars are rows of one bar each, which begin at Base.
type Bars struct {
	Title string
	Axis  string // unit of the values
	Base  float64
	Rows  []Bar
	// Long says that labels stand above their bars, where they have all the width.
	Long bool
}

const (
	barLabel = 128 // room of the labels
	barText  = 62  // room of the numbers
)

// Draw draws one line a row, a bar from Base to the value with its interval, and the axis below.
func (b Bars) Draw() *Drawing {
	d := &Drawing{Title: b.Title}
	values := []float64{b.Base}
	for _, r := range b.Rows {
		values = append(values, r.Value, r.Low, r.High)
	}
	left, height, drop := float64(barLabel), lineHeight, 0.
	if b.Long {
		left, height, drop = 4, 2*lineHeight-4, lineHeight-4
	}
	s := newScale(values, left, Width-barText)
	bottom := float64(4 + height*len(b.Rows))
	at, text := s.ticks(3)
	for i, v := range at {
		d.line("grid", s.at(v), 2, s.at(v), bottom)
		d.text("soft mid", s.at(v), bottom+13, 60, text[i])
	}
	for i, r := range b.Rows {
		y := float64(4 + height*i)
		if b.Long {
			d.text("", left, y+10, Width-8, r.Label)
		} else {
			d.text("end", left-6, y+12, left-8, r.Label)
		}
		y += drop
		if finite(r.Value) {
			x, from := s.at(r.Value), s.at(b.Base)
			class := "bar"
			if r.Value < b.Base {
				class, x, from = "bar less", from, x
			}
			if r.Soft {
				class = "band"
			}
			d.rect(class, from, y+3, max(x-from, .5), lineHeight-7)
		}
		if finite(r.Low, r.High) {
			low, high, mid := s.at(r.Low), s.at(r.High), y+3+(lineHeight-7)/2.
			d.line("range", low, mid, high, mid)
			d.line("range", low, mid-3, low, mid+3)
			d.line("range", high, mid-3, high, mid+3)
		}
		d.text("soft", Width-barText+4, y+12, barText-4, r.Text)
	}
	d.line("axis", s.at(b.Base), 2, s.at(b.Base), bottom)
	d.height = bottom + 18
	if b.Axis != "" {
		d.text("soft mid", (left+Width-barText)/2, d.height+9, Width-20, b.Axis)
		d.height += 16
	}
	return d
}

// Heat is a table of lifts: 1 has no colour, a doubling and a halving have equal strength.
type Heat struct {
	Title   string
	Columns []string
	Rows    []HeatRow
}

// HeatRow is a row of Heat: NaN = an empty cell.
type HeatRow struct {
	Label string
	Cells []float64
	Text  []string // of the cells
}

// Draw draws a cell of one colour for each lift, with its text.
func (h Heat) Draw() *Drawing {
	d := &Drawing{Title: h.Title}
	cell := float64(Width-barLabel-4) / float64(max(1, len(h.Columns)))
	for j, c := range h.Columns {
		d.text("soft mid", barLabel+cell*(float64(j)+.5), 12, cell-2, c)
	}
	for i, r := range h.Rows {
		y := float64(18 + (lineHeight+2)*i)
		d.text("end", barLabel-6, y+14, barLabel-8, r.Label)
		for j, v := range r.Cells {
			if j >= len(h.Columns) || math.IsNaN(v) {
				continue
			}
			x := barLabel + cell*float64(j)
			d.rect(HeatClass(v), x+1, y+1, cell-2, lineHeight)
			if j < len(r.Text) {
				d.text("cell", x+cell/2, y+14, cell-2, r.Text[j])
			}
		}
	}
	d.height = float64(22 + (lineHeight+2)*len(h.Rows))
	return d
}

// HeatClass is the class of the colour of a lift: h4 near 1, a step for each factor of the square root of 2.
func HeatClass(lift float64) string {
	k := 4.
	switch {
	case math.IsNaN(lift):
	case lift <= 0:
		k = 0
	default:
		k = 4 + math.Round(2*math.Log2(lift))
	}
	return "h" + strings.TrimSpace(number(max(0, min(k, 8))))
}
