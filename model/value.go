package model

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The canonical text of a value (codec/CONTRACT.md 6): one value has one text, however it came. Levels and classes are
// compared by it. This file is the only place that makes it; package codec gives it typed values, and texts.

// AppendNumber appends the canonical text of a finite number of 32 or 64 bits: whole numbers as integers do, others in
// their shortest decimal form, with an exponent only outside 1e-7 .. 1e21. Negative zero is 0.
func AppendNumber(dst []byte, v float64, bits int) []byte {
	if math.Abs(v) < 1<<63 && v == math.Trunc(v) {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	format := byte('f')
	if x := math.Abs(v); x < 1e-7 || x >= 1e21 {
		format = 'g'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// CanonicalText returns the canonical text of a value that came as text, spaces around it cut before: the text itself
// where it is canonical, else a text in scratch, which it may grow. True and FALSE are true and false; 1.0 is 1 and
// 2.50 is 2.5; 1e+16 is the number; a date with or without a time of day is the text of codec/CONTRACT.md 6. Numbers
// with leading zeros or a plus sign, such as 007, are names and stay; so are integers with exponents, such as 2E5.
func CanonicalText(scratch, text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	switch c := text[0]; {
	case c-'0' <= 9:
		if len(text) >= 10 && text[4] == '-' {
			return canonicalTime(scratch, text)
		}
		return canonicalNumber(scratch, text, false)
	case c == '-' || c == '.':
		return canonicalNumber(scratch, text, false)
	case c == 't' || c == 'T' || c == 'f' || c == 'F':
		switch string(text) {
		case "True", "TRUE":
			return append(scratch[:0], "true"...)
		case "False", "FALSE":
			return append(scratch[:0], "false"...)
		}
	}
	return text
}

// numberForm says how a text writes a number; ok is false where it does not.
type numberForm struct {
	negative, exponent, signed bool
	point, end                 int // places of the point, or of the end of the digits before it; end of the digits
	ok                         bool
}

func formOf(text []byte) (f numberForm) {
	i := 0
	if text[0] == '-' {
		f.negative = true
		i++
	}
	from := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	digits := i - from
	if digits > 1 && text[from] == '0' {
		return f // a name
	}
	f.point = i
	if i < len(text) && text[i] == '.' {
		i++
		for i < len(text) && text[i]-'0' <= 9 {
			i++
			digits++
		}
	}
	f.end = i
	if digits > 0 && i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		f.exponent = true
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			f.signed = true
			i++
		}
		from = i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		digits = i - from
	}
	f.ok = digits > 0 && i == len(text)
	return f
}

func canonicalNumber(scratch, text []byte, anyExponent bool) []byte {
	f := formOf(text)
	if !f.ok {
		return text
	}
	if f.exponent {
		if !f.signed && f.point == f.end && !anyExponent {
			return text // a name, such as 2E5
		}
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return text
		}
		return AppendNumber(scratch[:0], v, 64)
	}
	end := f.end
	if f.point < end {
		for text[end-1] == '0' {
			end--
		}
		if text[end-1] == '.' {
			end--
		}
	}
	from := 0
	if f.negative {
		from = 1
	}
	switch {
	case end == from || end == from+1 && text[from] == '0': // .0 and -0
		return append(scratch[:0], '0')
	case f.point == from: // .5
		out := append(scratch[:0], text[:from]...)
		return append(append(out, '0'), text[from:end]...)
	}
	return text[:end]
}

var timeForms = [...]string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

func canonicalTime(scratch, text []byte) []byte {
	if len(text) == 10 || len(text) < 19 || len(text) > 40 || text[7] != '-' || text[13] != ':' {
		return text
	}
	plain := zoneOf(string(text))
	for _, form := range timeForms {
		t, err := time.Parse(form, plain)
		if err != nil {
			continue
		}
		t = t.UTC()
		if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 && t.Nanosecond() == 0 {
			return t.AppendFormat(scratch[:0], time.DateOnly)
		}
		return t.AppendFormat(scratch[:0], time.RFC3339Nano)
	}
	return text
}

// SameValue is the text that all texts of one value share, beyond their canonical text: true is also 1, false is also
// 0, and 2E5 is also 200000. Where two levels or classes share it, only their own texts tell them apart.
func SameValue(text string) string {
	if text == "" {
		return text
	}
	b := []byte(text)
	if c := CanonicalText(nil, b); string(c) != text {
		b = c
	}
	if c := b[0]; c-'0' <= 9 || c == '-' || c == '.' {
		b = canonicalNumber(nil, b, true)
	}
	switch string(b) {
	case "true":
		return "1"
	case "false":
		return "0"
	}
	return string(b)
}

var timeLayouts = [...]string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999", time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04Z07:00",
	"2006-01-02 15:04Z07:00", "2006/01/02", "2006/01/02 15:04:05.999999999", "2006/01/02 15:04"}

// zoneOf gives the zone behind a time of day the form of RFC 3339: databases and libraries write +00 (PostgreSQL,
// DuckDB), +0000 (Polars), a space before it (Snowflake), and UTC (BigQuery). Other texts stay.
func zoneOf(s string) string {
	const shortest = len("2006-01-02T15:04")
	if len(s) <= shortest || s[13] != ':' {
		return s
	}
	if day, is := strings.CutSuffix(s, "UTC"); is {
		return strings.TrimSuffix(day, " ") + "Z"
	}
	i := strings.LastIndexAny(s, "+-")
	if i < shortest {
		return s
	}
	day, zone := strings.TrimSuffix(s[:i], " "), s[i:]
	switch len(zone) {
	case len("+00"):
		zone += ":00"
	case len("+0000"):
		zone = zone[:3] + ":" + zone[3:]
	}
	return day + zone
}

// ParseTime reads a text that is a time, in Unix nanoseconds: RFC 3339, also with a space for the T, without seconds,
// without a zone (UTC), with a zone as zoneOf reads it, with slashes, or the date alone. Times outside the range of
// int64 nanoseconds are none.
func ParseTime(s string) (int64, bool) {
	if len(s) < 10 || len(s) > 40 || s[4] != '-' && s[4] != '/' {
		return 0, false
	}
	s = zoneOf(s)
	for _, l := range timeLayouts {
		if t, err := time.Parse(l, s); err == nil {
			if y := t.Year(); y < 1678 || y > 2261 {
				return 0, false
			}
			return t.UnixNano(), true
		}
	}
	return 0, false
}
