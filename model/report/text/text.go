// Package text writes numbers, lists and tables for people.
package text

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Count writes a number with its noun, whose plural ends in s, or in es behind ch.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
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

// Joined lists file names in a message.
func Joined(files []string) string {
	if len(files) > 3 {
		return fmt.Sprintf("%s and %d more files", files[0], len(files)-1)
	}
	return strings.Join(files, ", ")
}

// Number writes a count or a weight: whole numbers without decimals.
func Number[F ~float64](n F) string {
	v := float64(n)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// Decimals writes a figure with n decimals, "-" where it is not defined.
func Decimals[F ~float64](f F, n int) string {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// Lift writes a lift, or a bound of one, with n decimals, "-" where it is not defined. It takes more of them, up to
// nine, where a lift above or below 1 would read as 1.
func Lift[F ~float64](f F, n int) string {
	s := Decimals(f, n)
	for ; f != 1 && s == Decimals(1., n) && n < 9; s = Decimals(f, n) {
		n++
	}
	return s
}

// Percent writes a share.
func Percent[F ~float64](v F) string { return Decimals(100*v, 1) + " %" }

// Rate writes a number of records a second.
func Rate[N int | int64](n N, d time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(n)/max(d.Seconds(), 1e-9))
}

// Bytes writes a size.
func Bytes(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Table writes rows of cells in aligned columns; a column whose heading begins with a space is right-aligned.
func Table(w io.Writer, indent string, heading []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	width := make([]int, len(heading))
	for c, h := range heading {
		width[c] = len([]rune(strings.TrimPrefix(h, " ")))
		for _, r := range rows {
			width[c] = max(width[c], len([]rune(r[c])))
		}
	}
	line := func(cells []string) {
		out := make([]string, len(cells))
		for c, x := range cells {
			x = strings.TrimPrefix(x, " ")
			if strings.HasPrefix(heading[c], " ") {
				x = strings.Repeat(" ", width[c]-len([]rune(x))) + x
			}
			out[c] = x
		}
		fmt.Fprintln(t, strings.TrimRight(indent+strings.Join(out, "\t"), " \t"))
	}
	line(heading)
	for _, r := range rows {
		line(r)
	}
	return t.Flush()
}
