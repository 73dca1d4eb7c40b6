package factsheet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"liftstream/cmd/liftstream/internal/chart"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// hostile are names that would break a page if they were not escaped.
var hostile = []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "a\x00b\x1b[31m", "\xff\xfe",
	"\u202eright to left", "שלום", strings.Repeat("long ", 400), "{{.}}", "</style>", "http://example.org/"}

// input is a model of so many features and classes, with everything that a sheet can show, and hostile names.
func input(features, classes int) Input { return named(hostile, features, classes) }

// named is input with other names, of which there are five or more.
func named(names []string, features, classes int) Input {
	s := &model.Schema{Positive: -1}
	for i := range features {
		f := model.Feature{Name: fmt.Sprintf("%s %d", names[i%len(names)], i)}
		if i%2 == 1 {
			f.Kind = model.Nominal
		}
		s.Features = append(s.Features, f)
	}
	for i := range classes {
		s.Classes = append(s.Classes, fmt.Sprintf("%s class %d", names[i%len(names)], i))
	}
	if classes == 2 {
		s.Positive = 1
	}
	nan := report.Number(math.NaN())
	m := &model.Model{Version: 7, Levels: model.NewLevels(s), Parts: map[string][]byte{"lift": nil}}
	m.Info = model.Info{Records: 1000, Weight: 1000, Previous: 6,
		Verdict: model.Verdict{Reason: model.Better, New: .4, Old: .5, Records: 100}}
	row := func(v report.Number) []report.Number { return slices.Repeat([]report.Number{v}, classes) }
	r := &report.Report{Search: &report.SearchLog{Sets: 5, Entered: [][]string{{s.Features[0].Name, s.Features[1].Name}}}}
	fit := &report.Report{Name: names[0], Records: 1000, Labelled: 900, Classes: s.Classes,
		BaseRates: row(report.Number(1 / float64(classes)))}
	e := &evaluate.Result{Protocol: "prequential", Scored: 900, Classes: s.Classes, Positive: s.Classes[classes-1],
		Methods: map[string]*evaluate.Metrics{"all": {AUC: .8, LogLossInterval: evaluate.Interval{.3, .4}},
			"lift": {AUC: nan}}}
	r.Local = &report.Local{Prototypes: 9, Neighbours: 3}
	r.Kernel = &report.Kernel{Status: "optimal", Features: []string{s.Features[0].Name}}
	r.Trees = &report.Trees{Trees: 3, Leaves: 9}
	for i := range features {
		name := s.Features[i].Name
		x := report.Set{Features: []string{name, s.Features[(i+1)%features].Name}, Eta: .1, N: 100}
		for k := range 30 {
			x.Levels = append(x.Levels, fmt.Sprintf("Q%d & %s", k%5, names[k%len(names)]))
			x.Counts, x.Lift = append(x.Counts, row(3)), append(x.Lift, row(report.Number(k)/10))
			x.LiftLow, x.LiftHigh = append(x.LiftLow, row(nan)), append(x.LiftHigh, row(2))
		}
		r.Sets = append(r.Sets, x)
		r.Windows = append(r.Windows, report.Window{Features: x.Features, Levels: x.Levels, Eta: .2, EtaLow: nan})
		r.Profiles = append(r.Profiles, report.Profile{Class: s.Classes[i%classes], Text: name + "=1", ValidatedLift: 2,
			ValidatedLow: .9, ValidatedHigh: 3, Confirmed: i%2 == 0})
		curve := report.Curve{Feature: name, Neutral: .5, Grid: []report.Number{0, 1, 2}, Mean: []report.Number{.5, .6, .4},
			SD: []report.Number{.1, .1, .1}}
		if i%2 == 1 {
			curve.Levels = names[:3]
		}
		r.Local.Curves = append(r.Local.Curves, curve)
		r.Kernel.Weights = append(r.Kernel.Weights, report.KernelWeight{Feature: name, Width: 1, Alpha: .3})
		r.Trees.Features = append(r.Trees.Features, report.TreeFeature{Feature: name, Share: .1})
		fit.Features = append(fit.Features, report.Feature{Name: name, InformationValue: .1, AUC: .6,
			WOE: []report.WOE{{Cell: name, N: 3, WOE: -1}}, Warnings: []string{"goes with " + name}})
		e.Importance = append(e.Importance, evaluate.Importance{Feature: name, Effect: .3,
			Curve: []evaluate.EffectCell{{Cell: name, N: 3, Effect: -.2, SD: .1}, {Cell: "(missing)", Effect: nan}}})
		e.Drift = append(e.Drift, evaluate.Drift{Feature: name, PSI: .3})
		e.Alarms = append(e.Alarms, evaluate.Alarm{Feature: name, Kind: "feature_shift", PSI: .4, LogLoss: nan})
		e.DriftPoints = append(e.DriftPoints, evaluate.DriftPoint{At: int64(i), Before: .1, After: .2})
		e.Curve = append(e.Curve, evaluate.CurvePoint{Records: int64(i * 1000), LogLoss: .3, AUC: .7})
	}
	for k := range 20 {
		profit, interval := evaluate.Number(k), evaluate.Interval{0, evaluate.Number(2 * k)}
		e.Gains = append(e.Gains, evaluate.Gain{Share: float64(k+1) / 20, N: evaluate.Number(45 * (k + 1)),
			Positives: evaluate.Number(20 * (k + 1)), Capture: evaluate.Number(k+1) / 20, Lift: 1, MeanPropensity: .4,
			Profit: &profit, ProfitInterval: &interval})
	}
	e.Profit = &evaluate.Profit{Value: evaluate.Value{Hit: 40, Contact: 1}}
	group := evaluate.Group{Group: names[0], Records: 40, Rate: .2,
		Reasons: []evaluate.GroupReason{{Feature: names[1]}}}
	e.Groups = &evaluate.Groups{MinCount: 20, All: group, Columns: []evaluate.GroupColumn{{Column: names[3],
		Groups: slices.Repeat([]evaluate.Group{group, {Group: "few", Records: nan}}, 50)}},
		Segments: []evaluate.GroupCurve{{Group: group}}, Changes: []evaluate.GroupChange{{Segment: names[0], What: "rate"}}}
	return Input{Name: names[0], Model: m, Report: r, Fit: fit, Evaluation: e}
}

func render(t *testing.T, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := New(in).HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// void elements have no end.
var void = []string{"meta", "link", "br", "img"}

// look fails unless the elements of a page close in order, ask for nothing outside of it, and can be read aloud. It
// returns how many there are of each name.
func look(t *testing.T, page string) map[string]int {
	t.Helper()
	count := map[string]int{}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%v are open at the end", open)
			}
			return count
		case html.StartTagToken:
			count[token.Data]++
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" ||
					a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "data:," {
					t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
				}
			}
		case html.SelfClosingTagToken:
			count[token.Data]++
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// TestThePageIsWhole: hostile names are shown and do nothing, every picture has a title and every table a caption and
// headings; equal input gives equal bytes.
func TestThePageIsWhole(t *testing.T) {
	for _, c := range []struct{ features, classes int }{{15, 2}, {3, 5}, {2, 2}} {
		in := input(c.features, c.classes)
		page := render(t, in)
		n := look(t, page)
		if n["script"] != 0 || n["img"] != 0 || n["style"] != 1 || n["html"] != 1 || n["main"] != 1 {
			t.Errorf("%v: elements %v", c, n)
		}
		if n["svg"] < 10 || n["title"] < n["svg"]+1 || strings.Count(page, `role="img"`) != n["svg"] {
			t.Errorf("%v: %d pictures, %d titles", c, n["svg"], n["title"])
		}
		if n["table"] < 10 || n["caption"] != n["table"] || strings.Count(page, "<thead ") != n["table"]-1 {
			t.Errorf("%v: %d tables, %d captions", c, n["table"], n["caption"])
		}
		if page != render(t, input(c.features, c.classes)) {
			t.Errorf("%v: the same input gives other bytes", c)
		}
		for _, want := range []string{"&lt;script&gt;alert(1)", "prefers-color-scheme: dark", "width=device-width",
			"What each value does", "By group and segment", "Profiles"} {
			if !strings.Contains(page, want) {
				t.Errorf("%v: the page lacks %q", c, want)
			}
		}
		for _, never := range []string{"\x00", "\u202e", "\x1b", "NaN", "+Inf", "-Inf", "ZgotmplZ"} {
			if strings.Contains(page, never) {
				t.Errorf("%v: the page has %q", c, never)
			}
		}
		if regexp.MustCompile(`(src|href|url)\s*[=(]\s*["']?\s*https?:`).MatchString(page) {
			t.Errorf("%v: the page asks for something", c)
		}
	}
}

// TestManyFeaturesAndClassesStayBounded, and the page tells of its cuts.
func TestManyFeaturesAndClassesStayBounded(t *testing.T) {
	for _, c := range []struct{ features, classes int }{{1000, 2}, {1000, 100}} {
		page := render(t, input(c.features, c.classes))
		n := look(t, page)
		if len(page) > 2_000_000 || n["tr"] > 1200 || n["svg"] > 70 || n["rect"] > 1800 || n["th"] > 1700 {
			t.Errorf("%v: %d bytes, %v", c, len(page), n)
		}
		if n := strings.Count(page, "Of 1000 "); n < 8 {
			t.Errorf("%v: %d lists say that they are cut", c, n)
		}
	}
}

// TestFiguresHaveNamesOfTheirOwn, of letters that every file system takes.
func TestFiguresHaveNamesOfTheirOwn(t *testing.T) {
	in := input(40, 2)
	for i, name := range []string{"x", "x", "x-2", "x 2"} { // files of the same letters
		in.Evaluation.Importance[i].Feature = name
	}
	figures := New(in).Figures()
	seen := map[string]bool{}
	for _, f := range figures {
		if seen[f.Name] || !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`).MatchString(f.Name) || len(f.Name) > 80 ||
			strings.HasSuffix(f.Name, "-") {
			t.Errorf("a figure is named %q", f.Name)
		}
		seen[f.Name] = true
	}
	if len(figures) < 20 || !seen["gains"] || !seen["importance"] {
		t.Errorf("%d figures: %v", len(figures), seen)
	}
}

// TestTwoClassesOfWhichNoneIsPositive: gains and groups are of the second class, and effects of each record's target.
func TestTwoClassesOfWhichNoneIsPositive(t *testing.T) {
	in := input(2, 2)
	in.Model.Schema().Positive, in.Model.Schema().Classes[1], in.Evaluation.Positive = -1, "yes", ""
	in.Evaluation.Classes = in.Model.Schema().Classes
	page := render(t, in)
	for _, want := range []string{"of all “yes”", "share of “yes” among", "score for each record&#39;s target class",
		"value makes each record&#39;s target class more"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if in.Evaluation = nil; !strings.Contains(render(t, in), "twice as many") {
		t.Error("no base rate")
	}
}

// TestBaseRatesWithoutAFit are those of the set that most records have, over all of its cells.
func TestBaseRatesWithoutAFit(t *testing.T) {
	set := func(feature string, n report.Number, counts ...[]report.Number) report.Set {
		return report.Set{Features: []string{feature}, N: n, Counts: counts}
	}
	few := set("few", 10, []report.Number{8, 1, 1})
	many := set("many", 200, []report.Number{20, 30, 50}, []report.Number{20, 50, 30})
	some := set("some", 50, []report.Number{40, 5, 5})
	for _, sets := range [][]report.Set{{few, many, some}, {many, few, some}, {some, few, many}} {
		b := &builder{Input: Input{Report: &report.Report{Sets: sets}}, classes: []string{"a", "b", "c"}}
		rates, from := b.baseRates()
		if !slices.Equal(rates, []report.Number{.2, .4, .4}) || !strings.Contains(from, "200") ||
			!strings.Contains(from, "many") {
			t.Errorf("of %s first: %v %s", sets[0].Features[0], rates, from)
		}
	}
	b := &builder{Input: Input{Report: &report.Report{Sets: []report.Set{set("none", 0)}}}, classes: []string{"a", "b"}}
	if rates, from := b.baseRates(); rates != nil || from != "" {
		t.Errorf("of no record: %v %s", rates, from)
	}
}

// TestProfilesThatNobodyCouldConfirm: the page says so where no records were held back, and else speaks of chance.
func TestProfilesThatNobodyCouldConfirm(t *testing.T) {
	for among, want := range map[int]string{0: "no records were held back", 4: "in finding them they could be chance"} {
		in := input(2, 2)
		for i := range in.Report.Profiles {
			in.Report.Profiles[i].Confirmed, in.Report.Profiles[i].ValidatedAmong = false, among
		}
		if !strings.Contains(render(t, in), want) {
			t.Errorf("validated among %d: the page lacks %q", among, want)
		}
	}
}

// TestAnEmptyModelHasAPage that says how to fill it, and no section without content.
func TestAnEmptyModelHasAPage(t *testing.T) {
	s := &model.Schema{Positive: -1, Classes: []string{"a", "b", "c"}}
	m := &model.Model{Levels: model.NewLevels(s)}
	m.Info.Verdict.New = math.NaN()
	page := render(t, Input{Name: "x", Model: m, Report: &report.Report{}})
	n := look(t, page)
	if n["section"] != 1 || n["svg"] != 0 || !strings.Contains(page, "The model is empty") ||
		!strings.Contains(page, "eval --json") || strings.Contains(page, "NaN") {
		t.Errorf("%v in\n%s", n, page)
	}
}

// TestFiguresOfThePage: the numbers are those of the input.
func TestFiguresOfThePage(t *testing.T) {
	in := input(4, 2)
	in.Fit = nil
	in.Report.Sets = in.Report.Sets[:1]
	in.Report.Sets[0].Counts = [][]report.Number{{30, 10}, {30, 30}}
	in.Report.Sets[0].Levels = []string{"Q1", "Q2"}
	in.Evaluation.Gains = []evaluate.Gain{{Share: .1, N: 100, Positives: 60, Capture: .3, Lift: 3, MeanPropensity: .5,
		LiftInterval: evaluate.Interval{2.5, 3.5}}, {Share: .2, N: 300, Positives: 100, Capture: .5, Lift: 2.5,
		MeanPropensity: .3}}
	page := render(t, in)
	for _, want := range []string{
		"40.0 % of the records are",                   // 40 of 100 counted
		"hold 30.0 % of all",                          // of the first tenth
		"3.0 times as many",                           // with its interval
		"(95 %: 2.5 to 3.5)",                          //
		`<bdi>20.0 %</bdi>`,                           // 100 - 60 of 300 - 100 between the two lines
		`<th role="rowheader" scope="row"><bdi>0.200`, // (.3 300 - .5 100)/200
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestCellsAreTakenApart by the separator, unless a level has it in its own name.
func TestCellsAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		levels []string
		across bool
	}{{[]string{"Q1 & a", "Q2 & b"}, true}, {[]string{"Q1 & a & b", "Q1 & c"}, false}, {[]string{"& a & Q1"}, false},
		{[]string{"& a & & b", "c & d"}, false}, {[]string{"a & b &", "c & d"}, false}} {
		x := &report.Set{Features: []string{"f", "g"}, Levels: c.levels}
		list, across := split(x)
		if across != c.across || len(list) != len(c.levels) || !across && list[0].row != c.levels[0] {
			t.Errorf("%q: %+v, %v", c.levels, list, across)
		}
	}
	list, _ := split(&report.Set{Features: []string{"f", "g", "h"},
		Levels: []string{"Q1 & a & x", "Q2 & a & y", "Q3 & a & x"}})
	if list[1].row != "Q2 & a" || list[1].column != "y" {
		t.Errorf("%+v", list)
	}
}

// TestHeatMapsHaveTheHeavyRowsAndQuantilesInOrder, beside columns that are none.
func TestHeatMapsHaveTheHeavyRowsAndQuantilesInOrder(t *testing.T) {
	x := &report.Set{Features: []string{"f", "g"}, Levels: []string{"a & Q2", "b & x", "c & Q1", "d & x"}}
	var h chart.Heat
	matrix(x, 0, &h)
	if !slices.Equal(h.Columns, []string{"Q1", "Q2", "x"}) {
		t.Errorf("columns %q", h.Columns)
	}
	in := input(2, 3)
	wide := report.Set{Features: []string{"f"}}
	for k := range 60 {
		wide.Levels = append(wide.Levels, fmt.Sprintf("level %d.", k))
		wide.Counts = append(wide.Counts, []report.Number{report.Number(k)})
	}
	in.Report.Sets, in.Fit.Features[0].WOE = []report.Set{wide}, slices.Repeat(in.Fit.Features[0].WOE, 50)
	page := render(t, in)
	svg := page[strings.Index(page, "<title>Lift by"):]
	svg = svg[:strings.Index(svg, "</svg>")]
	if !strings.Contains(svg, "level 59.") || !strings.Contains(svg, "level 36.") || strings.Contains(svg, "level 35.") {
		t.Errorf("the heat map has not the 24 cells of the most records:\n%s", svg)
	}
	if !strings.Contains(page, "Of 50 cells the first 24 are shown") {
		t.Error("the evidence of a feature does not say that it is cut")
	}
}

// TestQualityThatIsChanceIsCalledSo, and better quality is not.
func TestQualityThatIsChanceIsCalledSo(t *testing.T) {
	for low, want := range map[evaluate.Number]bool{.9: true, 1.1: false} {
		in := input(2, 2)
		in.Evaluation.Gains = []evaluate.Gain{{Share: .1, N: 100, Positives: 60, Capture: .12, Lift: 1.2, MeanPropensity: .5,
			LiftInterval: evaluate.Interval{low, 1.5}}}
		if got := strings.Contains(render(t, in), "Picking at random may do as well"); got != want {
			t.Errorf("a lift of at least %v: %v", low, got)
		}
	}
}

// TestBoundsOfLiftsAreToldApartFromOne: an interval that begins just below or above 1 does not read as one from 1.
func TestBoundsOfLiftsAreToldApartFromOne(t *testing.T) {
	in := input(2, 2)
	in.Report.Profiles[0].ValidatedLow = .9996
	in.Evaluation.Gains[1].Lift, in.Evaluation.Gains[1].LiftInterval = 1.04, evaluate.Interval{1.0041, 1.2}
	page := render(t, in)
	for _, want := range []string{"0.9996 to 3.00", "1.04 times as many", "(95 %: 1.004 to 1.2)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestColumnsThatMoveByChanceAreNoDrift: the page shows the columns that moved far and beyond chance; without such a
// column it says so.
func TestColumnsThatMoveByChanceAreNoDrift(t *testing.T) {
	for _, c := range []struct {
		drift evaluate.Drift
		moved bool
	}{{evaluate.Drift{Feature: "x", PSI: .3, Threshold: .4}, false}, {evaluate.Drift{Feature: "x", PSI: .05}, false},
		{evaluate.Drift{Feature: "x", PSI: .3, Threshold: .2}, true}} {
		in := input(2, 2)
		in.Evaluation.Drift, in.Evaluation.DriftPoints, in.Evaluation.Alarms = []evaluate.Drift{c.drift}, nil, nil
		page := render(t, in)
		if strings.Contains(page, "moved beyond chance, and how far") != c.moved ||
			strings.Contains(page, "No column moved far") == c.moved {
			t.Errorf("%+v: moved is to be %v", c.drift, c.moved)
		}
	}
}

// TestWrongFilesAreRefused: files that belong to another model, or to none.
func TestWrongFilesAreRefused(t *testing.T) {
	in := input(3, 2)
	dir := t.TempDir()
	file := func(name string, v any) string {
		path := filepath.Join(dir, name)
		b, ok := v.([]byte)
		if !ok {
			b, _ = json.Marshal(v)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Names that are no UTF-8 do not survive JSON.
	s := in.Model.Schema()
	for i := range s.Features {
		s.Features[i].Name = fmt.Sprint("f", i)
		in.Fit.Features[i].Name, in.Evaluation.Importance[i].Feature = s.Features[i].Name, s.Features[i].Name
	}
	if _, err := ReadFit(file("fit", in.Fit), in.Model); err != nil {
		t.Error(err)
	}
	e, err := ReadEvaluation(file("eval", in.Evaluation), in.Model)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(float64(e.Methods["lift"].AUC)) {
		t.Errorf("a null was read as %v", e.Methods["lift"].AUC)
	}
	other, triples := *in.Evaluation, *in.Evaluation
	other.Classes, triples.Protocol = []string{"x", "y"}, "triples"
	foreign := *in.Fit
	foreign.Features = []report.Feature{{Name: "another"}}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"no file":          {read(ReadFit, dir+"/none", in), "no such file"},
		"an empty file":    {read(ReadFit, file("0", []byte{}), in), "it is empty"},
		"no JSON":          {read(ReadEvaluation, file("1", []byte("a,b\n")), in), "eval --json"},
		"an array":         {read(ReadEvaluation, file("2", []byte("[]")), in), "eval --json"},
		"a fit as an eval": {read(ReadEvaluation, file("3", in.Fit), in), "protocol"},
		"an eval as a fit": {read(ReadFit, file("4", map[string]any{"classes": nil}), in), "classes are none"},
		"other classes":    {read(ReadEvaluation, file("5", &other), in), "its classes are x, y"},
		"other features":   {read(ReadFit, file("6", &foreign), in), `no feature "another"`},
		"triples":          {read(ReadEvaluation, file("7", &triples), in), "protocol"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, c.err, c.says)
		}
	}
}

func read[T any](by func(string, *model.Model) (T, error), path string, in Input) error {
	_, err := by(path, in.Model)
	return err
}

// TestAFailingWriterIsTold of.
func TestAFailingWriterIsTold(t *testing.T) {
	if err := New(input(2, 2)).HTML(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

var errBroken = errors.New("no room")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
