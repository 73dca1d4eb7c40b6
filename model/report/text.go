package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Some joins the first n texts and says how many more there are.
func Some(texts []string, n int) string {
	if len(texts) <= n {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:n], ", "), len(texts)-n)
}

// Whole writes a count or a weight: whole numbers without decimals.
func Whole(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// Decimals writes a figure with n decimals, "-" where it is not defined.
func Decimals(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}
