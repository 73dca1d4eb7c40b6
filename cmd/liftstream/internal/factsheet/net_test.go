package factsheet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// distinct gives each number behind a value one of its own, in the order of the fields: a sheet that shows one in the
// place of another has another text. Nil pointers and empty lists stay.
type distinct struct{ n int }

func (d *distinct) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.fill(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			d.fill(v.Index(i))
		}
	case reflect.Map:
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int {
			return strings.Compare(a.String(), b.String())
		}) {
			d.fill(v.MapIndex(k))
		}
	case reflect.Float64, reflect.Float32:
		if v.CanSet() {
			d.n++
			v.SetFloat(.02 + .96*float64(d.n*6180%9973)/9973)
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		if v.CanSet() && v.CanInt() {
			d.n++
			v.SetInt(int64(1000 + 17*d.n))
		}
	}
}

// rich is an input of that number of classes with every section, in which no two numbers are alike.
func rich(classes int) Input {
	in := named([]string{"age", "job", "plan", "visits", "city"}, 5, classes)
	for i := range in.Report.Sets {
		x := &in.Report.Sets[i]
		x.Counts, x.Lift, x.LiftLow, x.LiftHigh = nil, nil, nil, nil
		x.Levels = x.Levels[:6]
		for range x.Levels {
			for _, list := range []*[][]report.Number{&x.Counts, &x.Lift, &x.LiftLow, &x.LiftHigh} {
				*list = append(*list, make([]report.Number, classes))
			}
		}
	}
	m := in.Model.Schema()
	m.Features[4].Use = model.UseReport
	goal := report.Goal{Goal: "leaves", Classes: []string{"stays", "leaves"}, Fitted: true, Sets: in.Report.Sets[:1],
		Features: in.Fit.Features[:2]}
	in.Fit.Goals = []report.Goal{goal}
	e := in.Evaluation
	e.Goals = []evaluate.Goal{{Goal: "leaves", Metrics: &evaluate.Metrics{}, Gains: make([]evaluate.Gain, 2),
		Profit: &evaluate.Profit{}}}
	e.Uplift = &evaluate.Uplift{Curve: make([]evaluate.UpliftPoint, 3)}
	e.Gains, e.Curve, e.Drift = e.Gains[:4], e.Curve[:3], e.Drift[:2]
	e.Groups.Columns[0].Groups = e.Groups.Columns[0].Groups[:2]
	in.Card = &portable.Card{Name: "shop", Label: "y", Target: m.Classes[classes-1], Other: m.Classes[0],
		LeftOut: []string{"learning"}, Margins: []portable.Margin{{Z: make([]float64, 2), Value: make([]float64, 2)}},
		Points: &portable.Points{},
		Features: []portable.Feature{
			{Name: m.Features[1].Name, Kind: "nominal", Missing: make([]float64, 1), Unknown: make([]float64, 1),
				Levels: []portable.Level{{Level: "nurse", Effect: make([]float64, 1)},
					{Level: "student", Effect: make([]float64, 1)}}},
			{Name: m.Features[0].Name, Kind: "continuous", Missing: make([]float64, 1),
				Special: []portable.Code{{Effect: make([]float64, 1)}},
				Pieces: []portable.Piece{{End: new(float64), Constant: make([]float64, 1), Slope: make([]float64, 1)},
					{Constant: make([]float64, 1), Slope: make([]float64, 1)}}}}}
	d := &distinct{}
	for _, v := range []any{&in.Model.Info, in.Report, in.Fit, e, in.Card} {
		d.fill(reflect.ValueOf(v))
	}
	in.Model.Version = 7
	in.Model.Info.Verdict.Reason = model.Better
	for i := range e.Gains { // ascending, as an evaluation has them
		e.Gains[i].Share = float64(i+1) / 10
		e.Gains[i].N, e.Gains[i].Positives = evaluate.Number(100*(i+1)), evaluate.Number(40*(i+1)+i*i)
		e.Gains[i].MeanPropensity = .5 - evaluate.Number(i)/20
	}
	for i := range e.Drift {
		e.Drift[i].PSI++ // beyond its threshold
	}
	large := []*evaluate.Number{}
	for _, p := range []*evaluate.Profit{e.Profit, e.Goals[0].Profit} {
		large = append(large, &p.PayingProfit, &p.PayingInterval[0], &p.PayingInterval[1], &p.All)
	}
	for _, gains := range [][]evaluate.Gain{e.Gains, e.Goals[0].Gains} {
		for i := range gains {
			if g := &gains[i]; g.Profit != nil {
				large = append(large, g.Profit, &g.ProfitInterval[0], &g.ProfitInterval[1])
			}
		}
	}
	for _, v := range large { // profits are shown as whole numbers
		*v *= 10_000
	}
	return in
}

// lines are all texts of a sheet, and its drawings.
func lines(f *modeltest.Figures, s *Sheet) {
	f.Add("title", s.Title)
	f.Text("lead", strings.Join(s.Lead, "\n"))
	for _, x := range s.Facts {
		f.Add("fact "+x.Name, x.Value)
	}
	for i := range s.Sections {
		x := &s.Sections[i]
		f.Add(x.ID, x.Title)
		f.Text(x.ID+".text", strings.Join(x.Text, "\n"))
		f.Text(x.ID+".notes", strings.Join(x.Notes, "\n"))
		for k, b := range x.Blocks {
			name := fmt.Sprintf("%s[%d]", x.ID, k)
			if t := b.Table; t != nil {
				f.Add(name+".table", t.Caption)
				f.Add(name+".head", strings.Join(t.Head, " |"))
				for r, row := range t.Rows {
					var texts []string
					for _, c := range row {
						texts = append(texts, strings.TrimSpace(c.Text+" "+c.Class))
					}
					f.Add(fmt.Sprintf("%s.row[%d]", name, r), strings.Join(texts, " | "))
				}
			}
			if b.Figure != nil {
				f.Add(name+".figure", b.Figure.Name+": "+b.Figure.Caption)
				f.Text(name+".drawing", strings.NewReplacer(`"`, " ", "<", "", "/>", "", ">", " ").Replace(
					b.Figure.Drawing.Inline()))
			}
		}
	}
}

// TestNetOfASheet holds every text and every drawing of two sheets, whose numbers are all different.
func TestNetOfASheet(t *testing.T) {
	for _, classes := range []int{2, 3} {
		var f modeltest.Figures
		whole := rich(classes)
		lines(&f, New(whole))
		alone := rich(classes)
		alone.Fit, alone.Evaluation, alone.Card, alone.NoCard = nil, nil, nil, "it has more than two classes"
		s := New(alone)
		s.Sections = slices.DeleteFunc(s.Sections, func(x Section) bool { return x.ID != "limits" && x.ID != "rates" })
		f.Add("without fit, evaluation and card", "")
		lines(&f, s)
		f.Golden(t, fmt.Sprintf("testdata/net-%d.txt", classes))
	}
}
