package page

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// subspaced is a batch of n records whose subspace is both features of schema.
func subspaced(s *model.Schema, offset int64, n int) (*model.Batch, *model.Scores, *model.Levels) {
	b, out, l := scored(s, 0, offset, n)
	b.Columns = columns(n)
	for i := range n {
		out.Subspace = append(out.Subspace, 1, 0)
		out.Relevance = append(out.Relevance, .5, .25)
		out.SubspaceEnd[i] = int32(len(out.Subspace))
	}
	return b, out, l
}

// lookedUp is a source of 30 records, three with the id twice, and of the curves of their features.
func lookedUp() *Source {
	src := hostileSource(0)
	s := src.Board.schema
	for offset := range int64(3) {
		b, out, l := subspaced(s, offset, 10)
		b.ID[4] = "twice"
		b.Columns[0].Float[4] = 25 + 10*float64(offset)
		b.Columns[0].Float[5] = math.NaN()
		b.Columns[1].Code[5] = model.MissingCode
		src.Board.Scores(0, b, out, l)
		for i := range out.Why { // an entry has copies
			out.Why[i].Effect = 99
		}
		clear(b.Columns[0].Float)
	}
	numbers := func(v ...report.Number) []report.Number { return v }
	src.Curves = func() []report.Curve {
		return []report.Curve{{Feature: "age", Neutral: .5, Grid: numbers(20, 40, 60), Mean: numbers(.5, .7, .3),
			SD: numbers(.1, .2, .1)}, {Feature: "job", Neutral: .5, Levels: []string{"nurse", "<b>student</b>"},
			Grid: numbers(0, 1), Mean: numbers(.2, .6), SD: numbers(.01, .02)}}
	}
	return src
}

// TestARecordIsFound with its reasons, its subspace and the curves at its values: the newest of its id.
func TestARecordIsFound(t *testing.T) {
	src := lookedUp()
	f, of := src.Find("twice")
	if f == nil || of != 30 || f.Offset != 2 || f.Row != 4 || len(f.Classes) != 2 || len(f.Known) != 2 {
		t.Fatalf("found %+v of %d", f, of)
	}
	if len(f.Why) != 2 || f.Why[0].String() != "job is <b>student</b>" || f.Why[0].Effect != 1.5 || *f.Why[0].Lift != 2 ||
		f.Why[1].String() != "age is not known" || f.Why[1].Lift != nil {
		t.Errorf("reasons %+v", f.Why)
	}
	job, age := &f.Known[0], &f.Known[1]
	if *job.Value != "<b>student</b>" || job.Relevance != .5 || job.Mean != .6 || job.SD != .02 || job.Curve != "" {
		t.Errorf("job %+v", job)
	}
	// At 45, a quarter of the way from 40 to 60: .7 - .4/4 and .2 - .1/4.
	if *age.Value != "45" || math.Abs(float64(age.Mean)-.6) > 1e-12 || math.Abs(float64(age.SD)-.175) > 1e-12 ||
		age.Neutral != .5 || !strings.Contains(string(age.Curve), "<svg") {
		t.Errorf("age %+v", age)
	}
	f, _ = src.Find("p0-1-5") // its values are missing
	if f == nil || f.Known[0].Value != nil || f.Known[1].Value != nil || !math.IsNaN(float64(f.Known[1].Mean)) ||
		f.Known[1].Curve != "" {
		t.Errorf("a record of missing values: %+v", f)
	}
	for _, who := range []string{"", "nobody", "0/2/4", "twice "} {
		if f, _ := src.Find(who); f != nil {
			t.Errorf("%q found %+v", who, f)
		}
	}

}

// TestThePageOfARecord and its JSON tell the same. An unknown id is shown as text.
func TestThePageOfARecord(t *testing.T) {
	url := server(t, lookedUp()).URL
	html, _ := get(t, url+"/?id=twice")
	for _, want := range []string{"Record twice", "&lt;b&gt;student", "0.6000", "Curve of age, with the record at 45"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page of a record lacks %q", want)
		}
	}
	if html, _ = get(t, url+"/?id=%3Cscript%3Ealert(1)%3C/script%3E"); strings.Contains(html, "<script>alert") ||
		!strings.Contains(html, "among the newest 30 of this process") {
		t.Error("the page of an unknown record is wrong")
	}
	text, _ := get(t, url+"/api/record?id=twice")
	var x struct {
		Who      string
		Subspace []struct {
			Feature   string
			CurveMean float64 `json:"curve_mean"`
		}
	}
	if err := json.Unmarshal([]byte(text), &x); err != nil || x.Who != "twice" || x.Subspace[0].CurveMean != .6 {
		t.Errorf("%v: %s", err, text)
	}
	if r, err := http.Get(url + "/api/record"); err != nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("no id: %v, %v", r.Status, err)
	}
}

// TestCurvesBeyondTheirEnds are those of the end; a level that a curve does not know has none.
func TestCurvesBeyondTheirEnds(t *testing.T) {
	c := &report.Curve{Grid: []report.Number{1, 2}, Mean: []report.Number{.2, .4}, SD: []report.Number{.1, .3}}
	text := "x"
	for v, want := range map[float64]float64{-5: .2, 1: .2, 1.5: .3, 2: .4, 1e300: .4} {
		x := &Known{Value: &text, value: v}
		if at(c, x); math.Abs(float64(x.Mean)-want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", v, x.Mean, want)
		}
	}
	x := &Known{Value: &text, Mean: 7}
	c.Levels = []string{"a", "b"}
	if at(c, x); x.Mean != 7 {
		t.Errorf("an unknown level has %v", x.Mean)
	}
	if at(&report.Curve{}, x); x.Mean != 7 {
		t.Errorf("an empty curve has %v", x.Mean)
	}
}

// TestRecordsWithoutIDsAreFoundByTheirPlace.
func TestRecordsWithoutIDsAreFoundByTheirPlace(t *testing.T) {
	src := hostileSource(0)
	b, out, l := subspaced(src.Board.schema, 7, 10)
	b.ID = nil
	src.Board.Scores(0, b, out, l)
	if f, _ := src.Find("0/7/3"); f == nil || f.Row != 3 || f.Who != "0/7/3" {
		t.Errorf("found %+v", f)
	}
	if f, _ := src.Find("0/7/10"); f != nil {
		t.Errorf("found %+v", f)
	}
}

// TestTheNewestRecordOfAnIDIsFound wherever it lies in the ring: beside the oldest one, too.
func TestTheNewestRecordOfAnIDIsFound(t *testing.T) {
	s := schema(1, "no", "yes")
	a := newArchive(s)
	const n = archived / 4
	for offset := range int64(11) {
		b, out, l := subspaced(s, offset, n)
		b.ID[0], b.ID[n-1] = "same", "same"
		a.add(0, b, out, l)
		if f, _ := a.find("same"); f == nil || f.Offset != offset || f.Row != n-1 {
			t.Errorf("after message %d: found %+v", offset, f)
		}
	}
}

// TestTheArchiveIsBounded: it keeps the newest records, also of a batch that is larger than it is.
func TestTheArchiveIsBounded(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	for offset, n := range []int{3000, 3000, 3 * archived, 10} {
		b, out, l := subspaced(s, int64(offset), n)
		board.Scores(0, b, out, l)
		if most := board.archive.most; most != archived || len(board.archive.entries) > most {
			t.Fatalf("%d records are kept, at most %d", len(board.archive.entries), most)
		}
		for _, c := range []struct {
			row  int
			kept bool
		}{{n - 1, true}, {max(0, n-archived), true}, {n - archived - 1, false}} {
			if c.row < 0 {
				continue
			}
			if f, _ := board.archive.find(fmt.Sprintf("p0-%d-%d", offset, c.row)); (f != nil) != c.kept {
				t.Errorf("message %d, row %d: found is to be %v", offset, c.row, c.kept)
			}
		}
	}
	// Of the message before as many as there is room for.
	if f, _ := board.archive.find(fmt.Sprintf("p0-2-%d", 2*archived+10)); f == nil {
		t.Error("a record is gone before its time")
	}
	if f, _ := board.archive.find(fmt.Sprintf("p0-2-%d", 2*archived+9)); f != nil {
		t.Error("a record is kept beyond the bound")
	}
	classes := make([]string, 10_000)
	for i := range classes {
		classes[i] = fmt.Sprint(i)
	}
	if most := newArchive(schema(-1, classes...)).most; most*8*len(classes) > archivedBytes {
		t.Errorf("%d records of %d classes", most, len(classes))
	}
}

// TestAFullArchiveAllocatesTextsAlone, or less where they stay.
func TestAFullArchiveAllocatesTextsAlone(t *testing.T) {
	s := schema(1, "no", "yes")
	b, out, l := subspaced(s, 0, archived)
	a := newArchive(s)
	a.add(0, b, out, l)
	if n := testing.AllocsPerRun(3, func() { a.add(0, b, out, l) }); n > 0 {
		t.Errorf("%v allocations for %d records that it has", n, archived)
	}
}

func BenchmarkArchive(b *testing.B) {
	s := schema(1, "no", "yes")
	batch, out, l := subspaced(s, 0, 1000)
	other, _, _ := subspaced(s, 1, 1000)
	a := newArchive(s)
	for k := 0; b.Loop(); k++ {
		if k%2 == 0 {
			a.add(0, batch, out, l)
		} else {
			a.add(0, other, out, l)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/record")
}
