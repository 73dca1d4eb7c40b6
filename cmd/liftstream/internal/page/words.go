package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// Count writes a whole number with its thousands apart, such as 45,211.
func Count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Percent writes a share, such as 11.7 %; a dash where it is not defined.
func Percent(v evaluate.Number) string {
	switch f := 100 * float64(v); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "–"
	case f > 0 && f < 0.1:
		return "under 0.1 %"
	default:
		return strconv.FormatFloat(f, 'f', 1, 64) + " %"
	}
}

// Times writes a lift, such as 5.2 times; a dash where it is not defined.
func Times(v evaluate.Number) string {
	if f := Lift(v); f != "–" {
		return f + " times"
	}
	return "–"
}

// Lift writes a lift, or a bound of one, such as 5.2 or 1.003; a dash where it is not defined.
func Lift(v evaluate.Number) string {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "–"
	}
	return text.Lift(v, 1)
}

// signed writes a difference of shares in percent with its sign.
func signed(v evaluate.Number) string {
	f := 100 * float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "–"
	}
	return fmt.Sprintf("%+.1f", f)
}

func figure(v evaluate.Number) string {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "–"
	}
	return strconv.FormatFloat(f, 'f', 4, 64)
}

// Width and height of the course of AUC, in its own units.
const sparkWidth, sparkHeight = 600, 80

// spark returns the points of the course of AUC between 0.5 and 1 for a polyline, "" for fewer than two.
func spark(course []evaluate.Number) string {
	var b strings.Builder
	if len(course) < 2 {
		return ""
	}
	for i, a := range course {
		v := float64(a)
		if math.IsNaN(v) {
			continue
		}
		x := float64(i) / float64(len(course)-1) * sparkWidth
		y := (1 - (min(max(v, 0.5), 1)-0.5)/0.5) * sparkHeight
		fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
	}
	return strings.TrimSpace(b.String())
}
