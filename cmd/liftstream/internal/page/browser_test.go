package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"liftstream/cmd/liftstream/internal/factsheet"
	"liftstream/model"
	"liftstream/model/groups"
	"liftstream/model/report"
	"liftstream/stream/state"
)

// tab is a page in a real browser, with the things that it said and asked for.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	said  []string
	asked []string
}

// browse opens a page in Chromium.
func browse(t *testing.T, url string) *tab {
	t.Helper()
	var browser string
	for _, name := range []string{os.Getenv("LIFTSTREAM_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("NOT PROVED: that the page works in a browser; install chromium or name one in LIFTSTREAM_BROWSER")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	// The window has the focus, as that of a person.
	b.do(chromedp.Navigate("about:blank"), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled,
			emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	}))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.size(1280)
	b.do(chromedp.Navigate(url))
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprint("console: ", e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.said = append(b.said, "log: "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// size gives the window a width, and a height of 800.
func (b *tab) size(width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 800))
}

func (b *tab) scheme(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// js is the value of an expression.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for a condition; on a slow machine it takes long.
func (b *tab) until(condition string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute)))
	if err != nil {
		b.t.Fatalf("waiting for %s: %v", condition, err)
	}
}

// quiet fails the test when the page has said something, or asked another than its server.
func (b *tab) quiet(url string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.t.Errorf("the page says %s", s)
	}
	for _, a := range b.asked {
		if !strings.HasPrefix(a, url+"/") && !strings.HasPrefix(a, "data:") {
			b.t.Errorf("the page asks for %s", a)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("no request of the page was seen")
	}
}

// shot writes a picture of the whole page where LIFTSTREAM_SCREENSHOTS names a directory.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("LIFTSTREAM_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// TestPageInABrowser: the page's own script runs under its content policy; nothing that a record says runs; figures
// change in their place, and focus, selection and scroll stay.
func TestPageInABrowser(t *testing.T) {
	src := hostileSource(60)
	src.Notes = append(src.Notes, `<img src=x onerror="document.title='broken into'">`)
	s := server(t, src)
	b := browse(t, s.URL+"/")
	b.until(`document.getElementById("scored").textContent === "60"`)
	if got := js[string](b, `document.title`); got != "liftstream: <i>name</i>" {
		t.Errorf("the title is %q", got)
	}
	before := js[bool](b, `(function () {
		window.was = document.getElementById("scored");
		window.numbers = document.querySelector("#part-gains details");
		window.numbers.open = true;
		document.getElementById("hold").focus();
		var s = document.querySelector("footer code"); // the footer never changes
		window.getSelection().selectAllChildren(s);
		window.scrollTo(0, 120);
		return document.activeElement.id === "hold" && window.scrollY === 120;
	})()`)
	if !before {
		t.Fatal("the page cannot be prepared")
	}
	more := func(offset int64) {
		batch, out, l := scored(src.Board.schema, 0, offset, 40)
		src.Board.Scores(0, batch, out, l)
	}
	more(1)
	b.until(`document.getElementById("scored").textContent === "100"`)
	for what, x := range map[string]string{
		"the element": `window.was === document.getElementById("scored")`,
		"the focus":   `document.activeElement.id === "hold"`,
		"the scroll":  `window.scrollY === 120`,
		"the numbers": `window.numbers.isConnected && window.numbers.open`,
		"selection":   `window.getSelection().toString() === "<s>there</s>"`,
	} {
		if !js[bool](b, x) {
			t.Errorf("%s did not stay", what)
		}
	}
	if got := js[string](b, `window.numbers.querySelector("tbody tr:last-child td").textContent`); got != "100" {
		t.Errorf("the open numbers have %s records", got)
	}
	// The source is 7 messages behind.
	b.until(`/^[\d,]+ a second$/.test(document.getElementById("rate").textContent)`)
	if got := js[string](b, `document.getElementById("behind").textContent`); got != "7 messages to go" {
		t.Errorf("the page says %q", got)
	}

	// A part in which somebody selects, or has the focus in a row, waits, and others go on; then it catches up.
	for k, c := range []struct{ begin, stays, end string }{
		{`window.getSelection().selectAllChildren(window.row)`, `window.getSelection().toString() === window.text`,
			`window.getSelection().removeAllRanges()`},
		{`window.row.querySelector("a").focus()`, `window.row.contains(document.activeElement)`,
			`document.activeElement.blur()`},
	} {
		js[bool](b, `window.row = document.querySelector("#part-last tbody th"), window.text = window.row.textContent, `+
			c.begin+`, true`)
		more(int64(2 + k))
		b.until(fmt.Sprintf(`document.getElementById("scored").textContent === "%d"`, 140+40*k))
		b.until(`document.getElementById("part-last").classList.contains("held")`)
		if !js[bool](b, `window.row.isConnected && window.row.textContent === window.text && `+c.stays) {
			t.Errorf("after %s the row has changed", c.begin)
		}
		js[bool](b, c.end+`, true`)
		b.until(`document.querySelector("#part-last tbody th").textContent !== window.text`)
	}

	// Held still, all waits.
	js[bool](b, `document.getElementById("hold").click(), true`)
	more(4)
	b.until(`document.getElementById("hold").getAttribute("aria-pressed") === "true"`)
	if got := js[string](b, `new Promise(function (r) { setTimeout(function () {
		r(document.getElementById("scored").textContent); }, 2500); })`); got != "180" {
		t.Errorf("a page that is held still shows %s", got)
	}
	js[bool](b, `document.getElementById("hold").click(), true`)
	b.until(`document.getElementById("scored").textContent === "220"`)

	// A record is looked up by the keyboard.
	js[bool](b, `document.getElementById("find").focus(), true`)
	b.do(chromedp.KeyEvent("p0-3-17"))
	if _, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if got := js[string](b, `document.querySelector("#record h2").textContent`); got != "Record p0-3-17" {
		t.Errorf("the page shows %q", got)
	}
	b.until(`document.getElementById("scored").textContent === "220"`) // and goes on
	b.quiet(s.URL)

	s.CloseClientConnections()
	s.Listener.Close()
	b.until(`document.getElementById("link").textContent.indexOf("No answer") === 0`)
}

// columns are n values of both features of schema.
func columns(n int) []model.Column {
	c := []model.Column{{Float: make([]float64, n)}, {Code: make([]uint32, n), Levels: []string{"<b>student</b>"}}}
	for i := range n {
		c[0].Float[i] = float64(20 + i%50)
	}
	return c
}

// full is a page with all its parts.
func full(t *testing.T) (*Source, *httptest.Server) {
	t.Helper()
	src := hostileSource(0)
	s := src.Board.schema
	src.Board.Groups = groups.NewTally(s, []groups.Segment{{Name: "of no job", Condition: groups.Condition{Feature: 1,
		Operator: groups.NotEqual}}}, 20)
	for offset := range int64(8) {
		b, out, l := subspaced(s, offset, 500)
		for i := range b.ID {
			if b.ID[i] != "p0-7-499" {
				b.ID[i] = strings.Repeat("a long id ", 1+i%3) + b.ID[i]
			}
			out.Profile[i] = "balance in (1261, inf) & poutcome=success & contact=cellular"
		}
		src.Board.Scores(0, b, out, l)
	}
	numbers := func(v ...report.Number) []report.Number { return v }
	curves := []report.Curve{{Feature: "age", Neutral: .5, Grid: numbers(20, 40, 60), Mean: numbers(.5, .7, .3),
		SD: numbers(.1, .2, .1)}}
	src.Curves = func() []report.Curve { return curves }
	src.Model = func() ([]byte, error) {
		m := &model.Model{Version: 7, Levels: model.NewLevels(s)}
		r := &report.Report{Local: &report.Local{Curves: curves}, Kernel: &report.Kernel{Features: []string{"age"},
			Weights: []report.KernelWeight{{Feature: "age", Width: 1, Alpha: .3}}}}
		set := report.Set{Features: []string{"age", "job"}, Eta: .1, N: 100}
		for k := range 6 {
			set.Levels = append(set.Levels, fmt.Sprintf("Q%d & a long level %d", k/3+1, k%3))
			set.Counts, set.Lift = append(set.Counts, numbers(3, 4)), append(set.Lift, numbers(1, report.Number(k)/2))
			set.LiftLow, set.LiftHigh = append(set.LiftLow, numbers(0, 0)), append(set.LiftHigh, numbers(9, 9))
			r.Profiles = append(r.Profiles, report.Profile{Class: "yes", Text: fmt.Sprint("age in (20, 30] & job=", k),
				ValidatedLift: 2, ValidatedLow: 1.5, ValidatedHigh: 3})
		}
		r.Sets = []report.Set{set}
		var b bytes.Buffer
		err := factsheet.New(factsheet.Input{Name: "x", Model: m, Report: r, Home: "./"}).HTML(&b)
		return b.Bytes(), err
	}
	src.Flow = func() Flow {
		return Flow{Delay: &Delay{Half: .5, Most: 2.5, Over: 11, Messages: 12}, Dead: []Counted{{"schema", 6}},
			Waiting: map[int32]Waiting{0: {Records: 61, Bytes: 62, Oldest: 63}}}
	}
	src.Verdicts = func() []*state.GateVerdict {
		return []*state.GateVerdict{{Version: 2, Time: time.Unix(1e9, 0), Verdict: model.Verdict{Reason: model.Better,
			New: .25, Old: .5, Low: -.375, High: -.125, Records: 400, Gate: .0625}}}
	}
	return src, server(t, src)
}

// TestPageForEverybody: axe-core finds nothing serious in both themes, at the width of a desktop and of a telephone,
// and no column is cut.
func TestPageForEverybody(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: that axe-core finds nothing serious and no column is cut")
	}
	_, s := full(t)
	b := browse(t, s.URL+"/")
	for _, x := range []struct{ name, path string }{{"page", "/"}, {"record", "/?id=p0-7-499"}, {"model", "/model"}} {
		b.do(chromedp.Navigate(s.URL + x.path))
		if x.name == "page" { // open, for the numbers in them
			js[bool](b, `document.querySelectorAll("details").forEach(function (d) { d.open = true; }), true`)
		}
		inspect(t, b, x.name)
	}
	b.quiet(s.URL)
}

// inspect looks at the open page in both themes and three widths, axe-core in each theme and two of them.
func inspect(t *testing.T, b *tab, name string) {
	t.Helper()
	axe, err := os.ReadFile(os.Getenv("LIFTSTREAM_AXE"))
	if err == nil {
		js[bool](b, string(axe)+"\n;true")
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 800, 360} {
			b.scheme(scheme)
			b.size(width)
			at := fmt.Sprintf("%s, %s, %d wide", name, scheme, width)
			if cut := js[[]string](b, fmt.Sprintf(cutColumns, width)); len(cut) > 0 {
				t.Errorf("%s: cut are %q", at, cut[:min(5, len(cut))])
			}
			b.shot(fmt.Sprintf("%s-%s-%d", name, scheme, width))
			if err != nil || (scheme == "light") != (width == 1280) || width == 800 {
				continue
			}
			for _, v := range serious(t, js[string](b, `axe.run(document).then(function (r) {
				return JSON.stringify(r.violations); })`)) {
				t.Errorf("%s: %s", at, v)
			}
		}
	}
	if err != nil {
		t.Run("axe", func(t *testing.T) {
			t.Skip("NOT PROVED: that axe-core finds nothing serious; LIFTSTREAM_AXE names its file axe.min.js: ", err)
		})
	}
}

// cutColumns are the cells and headings that reach beyond the window, and the page where it is wider than that.
const cutColumns = `(function (width) {
	var out = [];
	if (document.documentElement.scrollWidth > width) { out.push("page of " + document.documentElement.scrollWidth); }
	document.querySelectorAll("td, th, h1, h2, p, .card, svg, form, a, button").forEach(function (x) {
		var r = x.getBoundingClientRect();
		if (r.width > 1 && r.right > width + 1 && !x.closest(".away, table.stack thead")) {
			out.push(x.nodeName + " " + x.textContent.slice(0, 40) + " to " + r.right);
		}
	});
	return out;
})(%d)`

// serious are the findings of axe-core of serious or critical impact.
func serious(t *testing.T, text string) (out []string) {
	t.Helper()
	var all []struct {
		ID, Impact, Help string
		Nodes            []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if slices.Contains([]string{"serious", "critical"}, v.Impact) {
			out = append(out, fmt.Sprintf("%s (%s): %.200s %s", v.ID, v.Help, v.Nodes[0].HTML, v.Nodes[0].Summary))
		}
	}
	return out
}
