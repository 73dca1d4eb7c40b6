package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// A scalar reads itself from the text of a value. Its error names the form that the text must have and never repeats
// the text, which may be a secret.
type scalar interface{ setText(string) error }

// hinted is an error with the word that was probably meant.
type hinted struct{ message, hint string }

func (h *hinted) Error() string { return h.message }

// Secret is a text that no formatting, marshalling or dump ever shows; only Reveal does.
type Secret string

const redacted = "***"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns three stars, or nothing for the empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format writes the text of String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the text of String; encoding/json uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML returns the text of String.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

func (s *Secret) setText(t string) error {
	*s = Secret(t)
	return nil
}

// ByteSize is a number of bytes. It is written as a number with or without a unit: B, kB MB GB TB (powers of 1000),
// KiB MiB GiB TiB (powers of 1024), also without the B, in any case.
type ByteSize int64

var byteUnits = []struct {
	name string
	size float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// String writes the size in the largest binary unit that divides it.
func (b ByteSize) String() string {
	for _, u := range byteUnits[:4] {
		if n := ByteSize(u.size); b != 0 && b%n == 0 {
			return strconv.FormatInt(int64(b/n), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func (b *ByteSize) setText(t string) error {
	const must = "must be a whole number of bytes such as 64MiB, 512KB or 1e6"
	number, unit := splitUnit(t)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "xX_") {
		return errors.New(must)
	}
	factor := 0.0
	for _, u := range byteUnits {
		if strings.EqualFold(unit, u.name) || strings.EqualFold(unit+"B", u.name) {
			factor = u.size
			break
		}
	}
	if factor == 0 {
		return errors.New(must)
	}
	v *= factor
	if v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
		return errors.New(must)
	}
	*b = ByteSize(v)
	return nil
}

// splitUnit parts a number from the letters behind it: 1e6 is all number.
func splitUnit(t string) (number, unit string) {
	i := strings.LastIndexAny(t, "0123456789.") + 1
	return t[:i], strings.TrimSpace(t[i:])
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Duration is a time span. It is written as numbers with units, as in 100ms, 60s, 1h30m, 7d or 2w.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the span in the largest unit from ns to d that divides it.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	for _, u := range []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond,
		"us"}} {
		if time.Duration(d)%u.size == 0 {
			return strconv.FormatInt(int64(time.Duration(d)/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

func (d *Duration) setText(t string) error {
	v, err := parseDuration(t)
	if err == nil {
		*d = Duration(v)
	}
	return err
}

func parseDuration(t string) (time.Duration, error) {
	const must = "must be a duration such as 100ms, 60s, 1h30m or 7d"
	if v, err := strconv.ParseFloat(t, 64); err == nil {
		if v == 0 {
			return 0, nil
		}
		return 0, &hinted{must + " (a unit is missing)", t + "s"}
	}
	rest, sign := t, time.Duration(1)
	if strings.HasPrefix(rest, "-") {
		rest, sign = rest[1:], -1
	}
	if rest == "" {
		return 0, errors.New(must)
	}
	var sum time.Duration
	for rest != "" {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		u := n + len(rest[n:]) - len(strings.TrimLeft(rest[n:], "abcdefghijklmnopqrstuvwxyzµμ"))
		number, unit, factor := rest[:n], rest[n:u], time.Duration(1)
		switch unit {
		case "d":
			unit, factor = "h", day/time.Hour
		case "w":
			unit, factor = "h", week/time.Hour
		}
		if n == 0 || unit == "" {
			return 0, errors.New(must)
		}
		part, err := time.ParseDuration(number + unit)
		if err != nil || part > (math.MaxInt64-sum)/factor {
			return 0, errors.New(must)
		}
		sum += part * factor
		rest = rest[u:]
	}
	return sign * sum, nil
}

// HalfLife is the memory of a count: a number of labelled records of a partition, or a duration; both zero = for ever.
type HalfLife struct {
	Records  float64
	Duration time.Duration
}

// Forever reports whether nothing is forgotten.
func (h HalfLife) Forever() bool { return h.Records == 0 && h.Duration == 0 }

// String writes the half-life as a configuration has it.
func (h HalfLife) String() string {
	if h.Duration != 0 {
		return Duration(h.Duration).String()
	}
	return formatFloat(h.Records)
}

func (h *HalfLife) setText(t string) error {
	if v, err := parseFloat(t); err == nil {
		*h = HalfLife{Records: v}
		return nil
	}
	d, err := parseDuration(t)
	if err != nil {
		return errors.New("must be a number of records, a duration such as 24h, or 0 for never")
	}
	*h = HalfLife{Duration: d}
	return nil
}

// AutoFloat is a number, or auto: then it is chosen on the evidence. Value is 0 while Auto.
type AutoFloat struct {
	Auto  bool
	Value float64
}

// String writes the number, or auto.
func (a AutoFloat) String() string {
	if a.Auto {
		return "auto"
	}
	return formatFloat(a.Value)
}

func (a *AutoFloat) setText(t string) error {
	if t == "auto" {
		*a = AutoFloat{Auto: true}
		return nil
	}
	v, err := parseFloat(t)
	if err != nil {
		return errors.New("must be a number or auto")
	}
	*a = AutoFloat{Value: v}
	return nil
}

// parseFloat reads a finite decimal number.
func parseFloat(t string) (float64, error) {
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(t, "xX_") {
		return 0, errors.New("must be a number")
	}
	return v, nil
}

// parseInt reads a whole number; 1e6 is one.
func parseInt(t string) (int64, error) {
	if v, err := strconv.ParseInt(t, 10, 64); err == nil {
		return v, nil
	}
	v, err := parseFloat(t)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, errors.New("must be a whole number")
	}
	return int64(v), nil
}

// formatFloat writes the shortest decimal that reads back as v.
func formatFloat(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
