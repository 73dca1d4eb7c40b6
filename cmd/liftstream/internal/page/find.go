package page

import (
	"cmp"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

const (
	shownCurves = 6  // of a record
	shownShares = 12 // classes of a record, the likeliest
)

// Found is a record that was looked up.
type Found struct {
	Record
	Classes []Share `json:"classes"` // the likeliest first
	// Known has the features whose values tell about the class of this record; empty of records of a former process.
	Known []Known `json:"subspace"`
}

// Share is the propensity of a class.
type Share struct {
	Class      string  `json:"class"`
	Propensity float64 `json:"propensity"`
}

// Known is a feature of the subspace of a record.
type Known struct {
	Feature   string          `json:"feature"`
	Value     *string         `json:"value"`     // null = missing
	Relevance evaluate.Number `json:"relevance"` // nats
	// Mean, SD and Neutral are of the curve of the serving model at the value: the score there, its standard deviation,
	// and that of a value that says nothing. Null where it has none.
	Mean    evaluate.Number `json:"curve_mean"`
	SD      evaluate.Number `json:"curve_sd"`
	Neutral evaluate.Number `json:"curve_neutral"`

	Curve template.HTML `json:"-"` // a figure; "" = none
	value float64       // NaN unless it is a number
}

// number writes a value of a feature.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// found writes the entry for people, without the curves.
func (e *entry) found(s *model.Schema) *Found {
	f := &Found{Record: e.record(s), Known: []Known{}}
	for c, p := range e.p {
		f.Classes = append(f.Classes, Share{s.Classes[c], p})
	}
	slices.SortStableFunc(f.Classes, func(a, b Share) int { return cmp.Compare(b.Propensity, a.Propensity) })
	f.Classes = f.Classes[:min(len(f.Classes), shownShares)]
	nan := evaluate.Number(math.NaN())
	for k, feature := range e.subspace {
		x := Known{Feature: s.Features[feature].Name, Relevance: evaluate.Number(e.relevance[k]), Mean: nan, SD: nan,
			Neutral: nan, value: math.NaN()}
		if !e.missing[k] {
			value := e.texts[k]
			if s.Features[feature].Kind == model.Continuous {
				value, x.value = number(e.values[k]), e.values[k]
			}
			x.Value = &value
		}
		f.Known = append(f.Known, x)
	}
	return f
}

// Find looks a record up by its id, or by its position PARTITION/OFFSET/ROW where records have none: the newest one of
// about the last 4,096 of this process, or one of the lists of a View, without its subspace. nil = there is none; of
// tells among how many it was sought.
func (s *Source) Find(who string) (found *Found, of int) {
	if found, of = s.Board.archive.find(who); found == nil {
		v := s.Board.View()
		for _, list := range [][]Record{v.Last, v.Calls} {
			for i := range list {
				if list[i].Who == who {
					return &Found{Record: list[i], Classes: []Share{{list[i].Target, list[i].Propensity}}, Known: []Known{}}, of
				}
			}
		}
		return nil, of
	}
	if s.Curves == nil || len(found.Known) == 0 {
		return found, of
	}
	curves, drawn := s.Curves(), 0
	for k := range found.Known {
		x := &found.Known[k]
		for i := range curves {
			if c := &curves[i]; c.Feature == x.Feature && x.Value != nil {
				if at(c, x); drawn < shownCurves && len(c.Levels) == 0 && !math.IsNaN(float64(x.Mean)) {
					x.Curve, drawn = curveOf(c, x), drawn+1
				}
			}
		}
	}
	return found, of
}

// at sets the curve's figures at a value: between two points of its grid they lie on the line, beyond its ends they are
// those of the end.
func at(c *report.Curve, x *Known) {
	n := min(len(c.Grid), len(c.Mean), len(c.SD))
	if n == 0 {
		return
	}
	x.Neutral = evaluate.Number(c.Neutral)
	if len(c.Levels) > 0 {
		for k, g := range c.Grid[:n] {
			if g := int(g); g >= 0 && g < len(c.Levels) && c.Levels[g] == *x.Value {
				x.Mean, x.SD = evaluate.Number(c.Mean[k]), evaluate.Number(c.SD[k])
			}
		}
		return
	}
	v := report.Number(x.value)
	if math.IsNaN(x.value) {
		return
	}
	k, _ := slices.BinarySearch(c.Grid[:n], v)
	switch k {
	case 0:
		x.Mean, x.SD = evaluate.Number(c.Mean[0]), evaluate.Number(c.SD[0])
	case n:
		x.Mean, x.SD = evaluate.Number(c.Mean[n-1]), evaluate.Number(c.SD[n-1])
	default:
		t := (v - c.Grid[k-1]) / (c.Grid[k] - c.Grid[k-1])
		x.Mean = evaluate.Number(c.Mean[k-1] + t*(c.Mean[k]-c.Mean[k-1]))
		x.SD = evaluate.Number(c.SD[k-1] + t*(c.SD[k]-c.SD[k-1]))
	}
}

// curveOf draws a curve with its band, and the record on it.
func curveOf(c *report.Curve, x *Known) template.HTML {
	y := chart.Series{}
	for k := range min(len(c.Grid), len(c.Mean), len(c.SD)) {
		mean, sd := float64(c.Mean[k]), float64(c.SD[k])
		y.X, y.Y = append(y.X, float64(c.Grid[k])), append(y.Y, mean)
		y.Low, y.High = append(y.Low, mean-2*sd), append(y.High, mean+2*sd)
	}
	here, mean, sd := min(max(x.value, y.X[0]), y.X[len(y.X)-1]), float64(x.Mean), float64(x.SD)
	point := chart.Series{Kind: chart.Points, X: []float64{here}, Y: []float64{mean}, Low: []float64{mean - 2*sd},
		High: []float64{mean + 2*sd}}
	return drawing(chart.Lines{Title: "Curve of " + c.Feature + ", with the record at " + *x.Value, X: c.Feature,
		Y: "mean", Series: []chart.Series{y, point}, Level: float64(c.Neutral), Leveled: true})
}

// question is a record to look up, and the answer; the zero value asks for none.
type question struct {
	Who   string
	Found *Found
	Of    int
}

// ask looks up the record of a query.
func (s *Source) ask(who string) (q question) {
	if who == "" {
		return q
	}
	q.Who = text.Clip(who, 200)
	q.Found, q.Of = s.Find(who)
	return q
}

// answer serves a record as JSON.
func (s *Source) answer(w http.ResponseWriter, r *http.Request) {
	found, of := s.Find(r.URL.Query().Get("id"))
	if found == nil {
		http.Error(w, "no record of that id is among the newest "+Count(int64(of))+" of this process: ?id=ID names one",
			http.StatusNotFound)
		return
	}
	b, err := json.Marshal(found)
	if err != nil {
		http.Error(w, "the record cannot be written", http.StatusInternalServerError)
		return
	}
	secure(w, "application/json")
	_, _ = w.Write(append(b, '\n'))
}

// model serves the page on the serving model.
func (s *Source) model(w http.ResponseWriter, _ *http.Request) {
	var b []byte
	var err error
	if s.Model != nil {
		b, err = s.Model()
	}
	switch {
	case err != nil:
		http.Error(w, "the model cannot be shown: "+err.Error(), http.StatusInternalServerError)
	case b == nil:
		http.Error(w, "no model is published yet", http.StatusNotFound)
	default:
		secure(w, "text/html; charset=utf-8")
		_, _ = w.Write(b)
	}
}
