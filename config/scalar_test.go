package config

import (
	"math"
	"testing"
	"time"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"0": 0, "1": 1, "512B": 512, "512KB": 512000, "512kb": 512000, "1e6": 1000000, "64MiB": 64 << 20, "64 MiB": 64 << 20,
		"8mib":   8 << 20,
		"1.5KiB": 1536, "2Gi": 2 << 30, "3k": 3000, "1TiB": 1 << 40, "2TB": 2e12, "-1": -1, "9007199254740992": 1 << 53,
	} {
		var b ByteSize
		if err := b.setText(text); err != nil || b != want {
			t.Errorf("%q: %d, %v; want %d", text, b, err, want)
		}
		var again ByteSize
		if err := again.setText(b.String()); err != nil || again != b {
			t.Errorf("%q is written as %q, which reads as %d, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"", "B", "MiB", "1.5", "1 2", "1e30", "NaN", "inf", "0x10", "1_000", "12 parsecs",
		"1MiBB", "--1", "8388608TiB"} {
		var b ByteSize
		if err := b.setText(text); err == nil {
			t.Errorf("%q was taken for %d", text, b)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "100ms": 100 * time.Millisecond, "60s": time.Minute, "1h30m": 90 * time.Minute,
		"7d": 168 * time.Hour, "2w": 336 * time.Hour,
		"1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "250us": 250 * time.Microsecond, "250µs": 250 * time.Microsecond,
		"1ns": 1, "-5m": -5 * time.Minute,
		"106751d": 106751 * 24 * time.Hour,
	} {
		var d Duration
		if err := d.setText(text); err != nil || d.Std() != want {
			t.Errorf("%q: %v, %v; want %v", text, d, err, want)
		}
		var again Duration
		if err := again.setText(d.String()); err != nil || again != d {
			t.Errorf("%q is written as %q, which reads as %v, %v", text, d, again, err)
		}
	}
	for _, text := range []string{"", "-", "60", "s", "1x", "1h 30m", "1h-30m", "106752d", "99999999999w", "1d1", "NaN",
		"1..5h", "d1", "--1s", "+1s", "100000d10000d"} {
		var d Duration
		if err := d.setText(text); err == nil {
			t.Errorf("%q was taken for %v", text, d)
		}
	}
}

func TestHalfLife(t *testing.T) {
	for text, want := range map[string]HalfLife{
		"0": {}, "0s": {}, "20": {Records: 20}, "2e3": {Records: 2000}, "2.5": {Records: 2.5},
		"24h": {Duration: 24 * time.Hour}, "1d": {Duration: 24 * time.Hour},
	} {
		var h HalfLife
		if err := h.setText(text); err != nil || h != want || h.Forever() != (want == HalfLife{}) {
			t.Errorf("%q: %+v, %v; want %+v", text, h, err, want)
		}
		var again HalfLife
		if err := again.setText(h.String()); err != nil || again != h {
			t.Errorf("%q is written as %q, which reads as %+v, %v", text, h, again, err)
		}
	}
	for _, text := range []string{"", "never", "inf", "NaN", "20 records", "0x14"} {
		var h HalfLife
		if err := h.setText(text); err == nil {
			t.Errorf("%q was taken for %+v", text, h)
		}
	}
}

func TestAutoFloat(t *testing.T) {
	for text, want := range map[string]AutoFloat{"auto": {Auto: true}, "0": {}, "0.25": {Value: 0.25},
		"1e-3": {Value: 0.001}, "-1": {Value: -1}} {
		var a AutoFloat
		if err := a.setText(text); err != nil || a != want {
			t.Errorf("%q: %+v, %v; want %+v", text, a, err, want)
		}
		var again AutoFloat
		if err := again.setText(a.String()); err != nil || again != a {
			t.Errorf("%q is written as %q, which reads as %+v, %v", text, a, again, err)
		}
	}
	for _, text := range []string{"", "Auto", "nan", "inf", "1,5"} {
		var a AutoFloat
		if err := a.setText(text); err == nil {
			t.Errorf("%q was taken for %+v", text, a)
		}
	}
}

func TestFormatFloatReadsBack(t *testing.T) {
	for _, v := range []float64{0, 1, -3, 0.1, 0.005, 1e12, 1 << 53, 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64,
		1.0 / 3} {
		if got, err := parseFloat(formatFloat(v)); err != nil || got != v {
			t.Errorf("%v is written as %q, which reads as %v, %v", v, formatFloat(v), got, err)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "bac", 1}, {"abcd", "xbca",
			2}, {"kitten", "sitting", 3},
		{"ab", "xa", 2}, {"ca", "abc", 3}, {"half_life", "half_lives", 2},
	} {
		if got := editDistance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"min_support", "max_features", "top", "of", "redundant"}
	for text, want := range map[string]string{
		"min-support": "min_support", "minSupport": "min_support", "max_feature": "max_features", "tpo": "top", "fo": "of",
		"redundent": "redundant",
		"zebra":     "", "x": "", "": "", "ab": "",
	} {
		if got := Nearest(text, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", text, got, want)
		}
	}
}
