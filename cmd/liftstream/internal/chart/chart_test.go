package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hostile are texts that would break a drawing if they were not escaped.
var hostile = []string{"<script>alert(1)</script>", `"quotes" & 'more'`, "a\x00b\x1b[31m", "\xff\xfe",
	"\u202eright to left",
	strings.Repeat("long ", 400), "]]>", "שלום", "顧客の年齢と職業の一覧表の見出し", ""}

// wellFormed fails unless s is XML, and returns its elements.
func wellFormed(t *testing.T, s string) (names []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, s)
		}
		if e, ok := token.(xml.StartElement); ok {
			names = append(names, e.Name.Local)
		}
	}
}

// TestAnyDataAreDrawn: hostile texts and numbers give well-formed drawings of a bounded size, with their titles.
func TestAnyDataAreDrawn(t *testing.T) {
	odd := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e300, 1 + 1e-16}
	var bars Bars
	var lines Lines
	var heat Heat
	for _, s := range hostile {
		bars.Title, lines.Title, heat.Title = s, s, s
		heat.Columns = append(heat.Columns, s)
		for _, v := range odd {
			bars.Rows = append(bars.Rows, Bar{Label: s, Value: v, Low: -v, High: v, Text: s})
			heat.Rows = append(heat.Rows, HeatRow{Label: s, Cells: []float64{v, 1 / v, -v}, Text: []string{s, s}})
		}
		for kind := range Points + 1 {
			lines.Series = append(lines.Series, Series{Kind: kind, X: odd, Y: odd, Low: odd[:5], High: odd[2:]})
		}
		lines.X, lines.Y = s, s
		for name, d := range map[string]*Drawing{"bars": bars.Draw(), "lines": lines.Draw(), "heat": heat.Draw(),
			"empty bars": Bars{Title: s}.Draw(), "empty lines": Lines{Title: s}.Draw(), "empty heat": Heat{Title: s}.Draw()} {
			for _, text := range []string{d.Inline(), d.File()} {
				elements := wellFormed(t, text)
				if len(elements) < 2 || elements[0] != "svg" || elements[1] != "title" || slices.Contains(elements, "script") {
					t.Errorf("%s: elements %.200v", name, elements)
				}
				if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
					t.Errorf("%s: a number that is none in %.2000s", name, text)
				}
			}
			if first := d.Inline(); first != d.Inline() || strings.Contains(d.Inline(), "http") {
				t.Errorf("%s: %.300s", name, d.Inline())
			}
		}
	}
}

// TestBarsAreAsLongAsTheirValues: lengths are proportional to the distance from the base, and intervals end where they
// say.
func TestBarsAreAsLongAsTheirValues(t *testing.T) {
	nan := math.NaN()
	s := Bars{Title: "t", Base: 1, Rows: []Bar{{Label: "a", Value: 3, Low: 2, High: 4}, {Label: "b", Value: 0, Low: nan},
		{Label: "c", Value: 2, High: nan}}}.Draw().Inline()
	var lengths []float64
	for _, m := range regexp.MustCompile(`<rect class="bar( less)?" x="[\d.]+" y="[\d.]+" width="([\d.]+)"`).
		FindAllStringSubmatch(s, -1) {
		v, _ := strconv.ParseFloat(m[2], 64)
		lengths = append(lengths, v)
	}
	unit := float64(Width-barLabel-barText) / 4 // from 0 to 4
	if want := []float64{2 * unit, unit, unit}; len(lengths) != 3 || math.Abs(lengths[0]-want[0]) > .06 ||
		math.Abs(lengths[1]-want[1]) > .06 || math.Abs(lengths[2]-want[2]) > .06 {
		t.Errorf("lengths %v, want %v", lengths, want)
	}
	if n := strings.Count(s, `class="range"`); n != 3 || strings.Count(s, `"bar less"`) != 1 {
		t.Errorf("%d lines of intervals in\n%s", n, s)
	}
}

// TestHeatClasses: a class for each half of a doubling, and the same to both sides.
func TestHeatClasses(t *testing.T) {
	for lift, want := range map[float64]string{1: "h4", 1.1: "h4", 1.41: "h5", 2: "h6", 4: "h8", 100: "h8", .71: "h3",
		.5: "h2", .25: "h0", 0: "h0", math.Inf(1): "h8", -1: "h0"} {
		if got := HeatClass(lift); got != want {
			t.Errorf("a lift of %v has class %s, want %s", lift, got, want)
		}
	}
	if got := HeatClass(math.NaN()); got != "h4" {
		t.Errorf("no lift has class %s", got)
	}
}

// TestTicksAreRoundAndInside the scale, of any width.
func TestTicksAreRoundAndInside(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{{0, 100, []string{"0", "50", "100"}}, {-.21, .33, []string{"-0.2", "0", "0.2"}}, {0, 150_000, []string{"0", "50k",
		"100k", "150k"}}, {0, 3e6, []string{"0", "1M", "2M", "3M"}}, {7, 7, []string{"6.5", "7", "7.5"}}} {
		s := newScale([]float64{c.low, c.high}, 0, 300)
		at, got := s.ticks(3)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v to %v: ticks %v, want %v", c.low, c.high, got, c.want)
		}
		for _, v := range at {
			if v < s.low-1e-9*(s.high-s.low) || v > s.high+1e-9*(s.high-s.low) {
				t.Errorf("%v to %v: a tick at %v", s.low, s.high, v)
			}
		}
	}
}

// TestLongTextsAreCut to their room, and keep the whole text as a hint.
func TestLongTextsAreCut(t *testing.T) {
	for s, want := range map[string]string{"short": "short", "abcdefghijkl": "abcdefghi…", "顧客の年齢と職業": "顧客の年…",
		"ABCDEFGHIJ": "ABCDEFG…"} {
		if got := cut(s, 10); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
	s := Bars{Rows: []Bar{Plain(strings.Repeat("name ", 20), 1, "")}}.Draw().Inline()
	if !strings.Contains(s, "…</text>") || !strings.Contains(s, "<title>name name") {
		t.Errorf("the label is not cut with a hint:\n%s", s)
	}
}
