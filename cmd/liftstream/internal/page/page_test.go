package page

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/stream"
	"liftstream/stream/state"
)

func schema(positive int, classes ...string) *model.Schema {
	return &model.Schema{Classes: classes, Positive: positive, Features: []model.Feature{
		{Name: "age", Kind: model.Continuous}, {Name: "job", Kind: model.Nominal}}}
}

// scored makes a batch of n records at an offset: class and propensity are hashes of the record's number, such that
// higher propensities are more often right.
func scored(s *model.Schema, partition int32, offset int64, n int) (*model.Batch, *model.Scores, *model.Levels) {
	l := model.NewLevels(s)
	job := l.Code(1, "<b>student</b>")
	b := &model.Batch{N: n, Partition: partition, Offset: offset}
	out := &model.Scores{}
	k := len(s.Classes)
	out.Reset(n, k)
	out.Model = 7
	for i := range n {
		h := model.Hash(3, uint64(partition), uint64(offset), uint64(i))
		class := int32(h % uint64(k))
		b.Label = append(b.Label, class)
		b.Row = append(b.Row, int32(i))
		b.ID = append(b.ID, fmt.Sprintf("p%d-%d-%d", partition, offset, i))
		b.Time = append(b.Time, offset*1000+int64(i))
		sum := 0.0
		for c := range k {
			v := float64((h>>(8+9*c))%512+1) / 512
			if int32(c) == class {
				v += 0.3
			}
			out.P[i*k+c] = v
			sum += v
		}
		for c := range k {
			out.P[i*k+c] /= sum
		}
		target := max(s.Positive, 0)
		out.Target[i], out.Segment[i] = int32(target), class
		out.BaseRate[i], out.Lift[i] = 0.5, out.P[i*k+target]/0.5
		out.ProfileLift[i] = math.NaN()
		out.Why = append(out.Why, model.Reason{Feature: 1, Value: float64(job), Effect: 1.5, Lift: 2, N: 10},
			model.Reason{Feature: 0, Value: math.NaN(), Effect: -0.2, Lift: math.NaN()})
		out.WhyEnd[i] = int32(len(out.Why))
	}
	return b, out, l
}

func TestQualityIsThatOfEvaluate(t *testing.T) {
	const skip, messages, rows = 100, 50, 90
	for _, c := range []struct {
		name     string
		positive int
		classes  []string
	}{{"two classes", 1, []string{"no", "yes"}}, {"two without positive", -1, []string{"no", "yes"}},
		{"three", -1, []string{"a", "b", "c"}}} {
		s := schema(c.positive, c.classes...)
		board, set := NewBoard(s, skip), evaluate.NewSet(len(c.classes))
		for m := range int64(messages) {
			b, out, l := scored(s, 0, m, rows)
			board.Scores(0, b, out, l)
			for i := range rows {
				if at := int(m)*rows + i; at >= skip {
					if err := set.Add(int64(at), out.P[i*out.Classes:(i+1)*out.Classes], b.Label[i], 1); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		q := board.View().Quality
		if q.Records != uint64(set.Len()) {
			t.Errorf("%s: %d records counted, want %d", c.name, q.Records, set.Len())
		}
		want := set.Metrics(c.positive, 1)
		for _, x := range []struct {
			figure    string
			got, want evaluate.Number
			tolerance float64
		}{
			{"log-loss", q.LogLoss, want.LogLoss, 1e-12},
			{"AUC", q.AUC, want.AUC, 2e-4}, // scores within 0.012 of log-odds are tied
			{"AUC of blocks", q.AUCBlocks, want.AUCBlocks, 1e-12},
		} {
			if !(math.Abs(float64(x.got-x.want)) <= x.tolerance) {
				t.Errorf("%s: %s is %v, want %v", c.name, x.figure, x.got, x.want)
			}
		}
		if c.positive >= 0 {
			if got, want := float64(q.Lift), float64(want.LiftAt["0.1"]); math.Abs(got-want) > 0.03 {
				t.Errorf("%s: lift of the best tenth is %v, want %v", c.name, got, want)
			}
		}
		if len(q.Course) != set.Len()/evaluate.BlockRecords {
			t.Errorf("%s: %d blocks in the course, want %d", c.name, len(q.Course), set.Len()/evaluate.BlockRecords)
		}
	}
}

// A transaction that was aborted shows its messages again.
func TestBoardCountsAMessageOnce(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	for _, offset := range []int64{0, 1, 2, 1, 2, 3} {
		b, out, l := scored(s, 0, offset, 10)
		board.Scores(0, b, out, l)
	}
	if v := board.View(); v.Scored != 40 || v.Quality.Records != 40 {
		t.Errorf("%d scored, %d counted, want 40", v.Scored, v.Quality.Records)
	}
}

func TestCallListHoldsTheHighest(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	best := 0.0
	for offset := range int64(9) { // 4,500 records: five blocks
		b, out, l := scored(s, 0, offset, 500)
		for i := range out.N {
			best = max(best, out.P[2*i+1])
		}
		board.Scores(0, b, out, l)
	}
	v := board.View()
	if len(v.Calls) != callsKept || v.Calls[0].Propensity != best {
		t.Fatalf("%d records, the first of propensity %v; want %d and %v", len(v.Calls), v.Calls[0].Propensity, callsKept,
			best)
	}
	for i := range v.Calls[1:] {
		if v.Calls[i].Propensity < v.Calls[i+1].Propensity {
			t.Errorf("record %d is below the next", i)
		}
	}
	for range 12 { // the blocks turn over
		b, out, l := scored(s, 0, 100, 500)
		for i := range out.N {
			out.P[2*i+1] = 0.01
		}
		board.part(0).next = 0
		board.Scores(0, b, out, l)
	}
	if v := board.View(); v.Calls[0].Propensity != 0.01 {
		t.Errorf("a record of propensity %v is shown after 6,000 later ones", v.Calls[0].Propensity)
	}
}

func TestBoardTakesPartitionsAtOnce(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	var wg sync.WaitGroup
	for p := range int32(4) {
		wg.Go(func() {
			for offset := range int64(30) {
				b, out, l := scored(s, p, offset, 50)
				board.Scores(p, b, out, l)
				if offset%10 == 0 {
					board.View()
				}
			}
		})
	}
	wg.Wait()
	if v := board.View(); v.Scored != 4*30*50 || len(v.Last) != Kept {
		t.Errorf("%d scored and %d shown, want %d and %d", v.Scored, len(v.Last), 4*30*50, Kept)
	}
}

func server(t *testing.T, src *Source) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux, src)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, url string) (string, http.Header) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", url, r.StatusCode, err)
	}
	return string(b), r.Header
}

func hostileSource(records int) *Source {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	if records > 0 {
		b, out, l := scored(s, 0, 0, records)
		b.ID[records-1] = `"><script>alert(1)</script>`
		out.Profile[records-1] = "job=<img src=x onerror=alert(2)>"
		board.Scores(0, b, out, l)
	}
	return &Source{Name: "<i>name</i>", Positive: "yes", Notes: []string{"a <u>note</u>"},
		Places: []Place{{"where", "<s>there</s>"}}, Board: board,
		Status: func() stream.Status {
			return stream.Status{Waiting: []string{"waiting for <em>something</em>"},
				Partitions: []stream.PartitionStatus{{Offset: 3, End: 10, Dead: 2, UnknownClass: 5, Expired: 4},
					{UnknownClass: 1}}}
		},
		Profiles: func() Profiles {
			return Profiles{Model: 7, Features: []string{"<w>feature", "job"},
				Best: []Profile{{Class: "yes", Text: "job=<q>x</q>", Lift: 2, Validated: evaluate.Number(math.NaN()),
					ValidatedLow: evaluate.Number(math.NaN()), ValidatedHigh: evaluate.Number(math.NaN()), Records: 1234}}}
		}}
}

func TestPageEscapesEverything(t *testing.T) {
	s := server(t, hostileSource(60))
	for _, path := range []string{"/"} {
		html, h := get(t, s.URL+path)
		for _, bad := range []string{"<script>alert", "<img", "<i>name", "<u>note", "<s>there", "<em>something", "<q>x",
			"<b>student", "<w>feature"} {
			if strings.Contains(html, bad) {
				t.Errorf("%s contains %s unescaped", path, bad)
			}
		}
		for _, want := range []string{"&lt;b&gt;student", "&lt;i&gt;name", "&lt;q&gt;x", "&lt;w&gt;feature, job", "1,234",
			"60"} {
			if !strings.Contains(html, want) {
				t.Errorf("%s does not show %s", path, want)
			}
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "script-src 'unsafe-inline'") {
			t.Errorf("%s: content policy %q", path, csp)
		}
	}
}

// TestPageSaysWhatIsConfirmed: profiles that are not are marked, and when none is the page says so.
func TestPageSaysWhatIsConfirmed(t *testing.T) {
	src := hostileSource(60)
	src.Profiles = func() Profiles {
		return Profiles{Model: 7, Best: []Profile{{Class: "yes", Text: "job=student", Confirmed: true, Lift: 4, Validated: 2,
			ValidatedLow: 1.003, ValidatedHigh: 2.7},
			{Class: "yes", Text: "month=mar", Lift: 5, Validated: 1.9, ValidatedLow: .1, ValidatedHigh: 3}}}
	}
	html, _ := get(t, server(t, src).URL+"/")
	if strings.Count(html, "(not confirmed)") != 1 || strings.Contains(html, "None of them is confirmed") ||
		!strings.Contains(html, "1.003 to 2.7") || strings.Contains(html, report.IntervalNote) {
		t.Errorf("of two profiles one is confirmed:\n%s", html)
	}
	src.Profiles = func() Profiles {
		return Profiles{Model: 7, Best: []Profile{{Confirmed: true, Validated: 1.3, ValidatedLow: .96, ValidatedHigh: 1.8}}}
	}
	if html, _ := get(t, server(t, src).URL+"/"); !strings.Contains(html, "0.96 to 1.8") ||
		!strings.Contains(html, report.IntervalNote) {
		t.Errorf("an interval below 1 of a confirmed profile is not explained:\n%s", html)
	}
	if html, _ := get(t, server(t, hostileSource(60)).URL+"/"); !strings.Contains(html, "None of them is confirmed") {
		t.Error("the page does not say that no profile is confirmed")
	}
}

func TestPageAsksNobodyElse(t *testing.T) {
	html, _ := get(t, server(t, hostileSource(60)).URL+"/")
	for _, far := range []string{"http://", "https://", "//cdn", "url(", "@import"} {
		if strings.Contains(html, far) {
			t.Errorf("the page refers to %s", far)
		}
	}
}

func TestPageOfNothing(t *testing.T) {
	src := hostileSource(0)
	src.Profiles = func() Profiles { return Profiles{} }
	s := server(t, src)
	if html, _ := get(t, s.URL+"/"); !strings.Contains(html, "Nothing yet") || !strings.Contains(html, "Nobody yet") ||
		strings.Contains(html, "NaN") {
		t.Errorf("an empty page shows\n%s", html)
	}
	body, _ := get(t, s.URL+"/api/live")
	var live map[string]any
	if err := json.Unmarshal([]byte(body), &live); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"waiting", "call_first", "last"} {
		if _, ok := live[list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, live[list])
		}
	}
}

func TestLiveSumsThePartitions(t *testing.T) {
	body, h := get(t, server(t, hostileSource(60)).URL+"/api/live")
	var l struct {
		Scored, Behind, Dead int
		Unknown              int `json:"unknown_class"`
		Expired              int
		Quality              struct{ Records int }
		Profiles             struct{ Best []map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	if l.Scored != 60 || l.Behind != 7 || l.Dead != 2 || l.Unknown != 6 || l.Expired != 4 || l.Quality.Records != 60 ||
		l.Profiles.Best[0]["validated_lift"] != nil {
		t.Errorf("%+v", l)
	}
	if h.Get("Content-Type") != "application/json" {
		t.Errorf("content type %s", h.Get("Content-Type"))
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(45211), "45,211"},
		{Count(-1234567), "-1,234,567"},
		{Percent(0.117), "11.7 %"}, {Percent(0), "0.0 %"}, {Percent(0.0001), "under 0.1 %"},
		{Percent(evaluate.Number(math.NaN())), "–"},
		{Times(5.23), "5.2 times"}, {Times(1.04), "1.04 times"}, {Lift(.998), "0.998"},
		{Times(evaluate.Number(math.Inf(1))), "–"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func BenchmarkBoardScores(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			s := schema(1, "no", "yes")
			board := NewBoard(s, 0)
			batch, out, l := scored(s, 0, 0, rows)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				batch.Offset = int64(n)
				board.Scores(0, batch, out, l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/record")
		})
	}
}

// TestPageShowsTheLastVerdict: both figures, the interval and the fate of the model, and the same in the JSON.
func TestPageShowsTheLastVerdict(t *testing.T) {
	src := hostileSource(60)
	nan := math.NaN()
	for _, c := range []struct {
		v    state.GateVerdict
		want string
		json string
	}{
		{state.GateVerdict{Verdict: model.Verdict{Reason: model.Worse, Records: 1000, New: .31, Old: .3, Low: .002,
			High: .018, Gate: .005}},
			"last new model refused: log-loss 0.3100, the serving one 0.3000 (difference &#43;0.0100, 95 % &#43;0.0020 to " +
				"&#43;0.0180), on 1,000 records", `"reason":"worse","records":1000`},
		{state.GateVerdict{Version: 4, Verdict: model.Verdict{New: nan, Old: nan, Low: nan, High: nan}},
			"published as model 4: nothing to compare it with", `"log_loss":null`},
		{state.GateVerdict{Note: "labels look inverted: <b>", Verdict: model.Verdict{Reason: model.Inverted, Records: 9,
			New: .31, Old: .3}},
			"last new model refused: labels look inverted: &lt;b&gt;", `"note":"labels look inverted: `},
	} {
		src.Status = func() stream.Status { return stream.Status{Verdict: &c.v} }
		s := server(t, src)
		if html, _ := get(t, s.URL+"/"); !strings.Contains(html, c.want) {
			t.Errorf("the page does not show %q", c.want)
		}
		if body, _ := get(t, s.URL+"/api/live"); !strings.Contains(body, c.json) {
			t.Errorf("the figures do not hold %s", c.json)
		}
	}
}
