package page

import (
	"fmt"
	"html/template"
	"math"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// Gain counts the records of the highest propensities, a share of all of them. Figures are weights where records have
// some.
type Gain struct {
	Share     float64         `json:"share"`
	N         evaluate.Number `json:"n"`
	Positives evaluate.Number `json:"positives"`
	Capture   evaluate.Number `json:"capture"` // share of all positives
	Lift      evaluate.Number `json:"lift"`
	Mean      evaluate.Number `json:"mean_propensity"`
}

// Rate is the share of positives among them.
func (g *Gain) Rate() evaluate.Number { return g.Positives / g.N }

// Bin is a tenth of the records in the order of their propensity: the rate should be the mean propensity. Low and High
// are the 95 % interval of the rate (Wilson), for records that are independent.
type Bin struct {
	N    evaluate.Number `json:"n"`
	Mean evaluate.Number `json:"mean_propensity"`
	Rate evaluate.Number `json:"rate"`
	Low  evaluate.Number `json:"rate_low"`
	High evaluate.Number `json:"rate_high"`
}

// shares are those of the gains. All but the first end a tenth.
var shares = []float64{.05, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}

// middle is the propensity in the middle of a bucket.
func middle(i int) float64 {
	return 1 / (1 + math.Exp(-24*((float64(i)+.5)/(buckets-1)-.5)))
}

// gains are those of shares; nil of no records. A bucket at the end of a share counts in part, and its records count
// with its middle as their propensity, at most .003 from their own.
func (h *histogram) gains() []Gain {
	var all, positives float64
	for i := range h.pos {
		all += h.pos[i] + h.neg[i]
		positives += h.pos[i]
	}
	if !(all > 0) {
		return nil
	}
	var out []Gain
	var n, pos, sum, used float64 // used is of the bucket at i
	i := buckets - 1
	for _, share := range shares {
		for i >= 0 {
			w := h.pos[i] + h.neg[i]
			take := min(w-used, share*all-n)
			if w > 0 && take > 0 {
				n, pos, sum, used = n+take, pos+h.pos[i]*take/w, sum+middle(i)*take, used+take
			}
			if used < w*(1-1e-12) {
				break
			}
			i, used = i-1, 0
		}
		g := Gain{Share: share, N: evaluate.Number(n), Positives: evaluate.Number(pos),
			Capture: evaluate.Number(pos / positives), Mean: evaluate.Number(sum / n)}
		g.Lift = g.Capture / evaluate.Number(n/all)
		out = append(out, g)
	}
	return out
}

// bins are the tenths between gains, the highest first.
func bins(gains []Gain) (out []Bin) {
	var before Gain
	for _, g := range gains[min(1, len(gains)):] {
		n, positives := g.N-before.N, g.Positives-before.Positives
		b := Bin{N: n, Rate: positives / n, Mean: (g.Mean*g.N - before.Mean*before.N) / n}
		if before.N == 0 {
			b.Mean = g.Mean
		}
		low, high := report.Wilson(float64(b.Rate), float64(n))
		b.Low, b.High = evaluate.Number(low), evaluate.Number(high)
		out = append(out, b)
		before = g
	}
	return out
}

// gainsCurve draws the share of the positives over the share of the records.
func gainsCurve(q *Quality) template.HTML {
	y := chart.Series{X: []float64{0}, Y: []float64{0}}
	for _, g := range q.Gains {
		y.X, y.Y = append(y.X, 100*g.Share), append(y.Y, 100*float64(g.Capture))
	}
	chance := chart.Series{Kind: chart.Other, X: []float64{0, 100}, Y: []float64{0, 100}}
	return drawing(chart.Lines{Title: "Share of the positives among the records of the highest propensity",
		X: "% of the records, the highest first", Y: "% of the positives", Series: []chart.Series{y, chance}, Zero: true})
}

// calibrationCurve draws the rate of each tenth over its mean propensity.
func calibrationCurve(q *Quality) template.HTML {
	p, most := chart.Series{Kind: chart.Points}, 0.
	for i := len(q.Calibration) - 1; i >= 0; i-- {
		b := &q.Calibration[i]
		p.X, p.Y = append(p.X, 100*float64(b.Mean)), append(p.Y, 100*float64(b.Rate))
		p.Low, p.High = append(p.Low, 100*float64(b.Low)), append(p.High, 100*float64(b.High))
		most = max(most, 100*float64(b.Mean))
	}
	right := chart.Series{Kind: chart.Other, X: []float64{0, most}, Y: []float64{0, most}}
	return drawing(chart.Lines{Title: "Rate of each tenth of the records over its mean propensity",
		X: "mean propensity, %", Y: "rate, %", Series: []chart.Series{p, right}, Zero: true})
}

// drawing is a figure as an element; its package escapes each text.
func drawing(l chart.Lines) template.HTML { return template.HTML(l.Draw().Inline()) }

// top names a share of the records.
func top(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
