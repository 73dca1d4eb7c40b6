package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model/wire"
)

// sieveOf reads the sieve of these sections.
func sieveOf(sections map[string][]byte) (*Sieve, error) {
	return loadSieve(slices.Sorted(maps.Keys(sections)), func(name string, use func(b []byte) error) error {
		return use(sections[name])
	})
}

// Each check of the reader of a sieve refuses one kind of damage.
func TestSieveReaderChecks(t *testing.T) {
	const format, window, bytes, first, entries, rows = 0, 1, 2, 3, 4, 5
	id := make([]byte, 16)
	entry := func(b, id []byte) []byte { return wire.AppendBool(wire.AppendVarint(wire.AppendBytes(b, id), 7), true) }
	chunk := entry(entry(nil, id), append(make([]byte, 15), 1))
	for _, c := range []struct {
		name   string
		change func(head *[6]uint64)
		chunk  []byte
		more   []byte // behind the head
		want   string // in the error; "" = it is read
	}{
		{"as it was written", nil, chunk, nil, ""},
		{"without entries", func(h *[6]uint64) { h[entries] = 0 }, nil, nil, ""},
		{"the largest numbers", func(h *[6]uint64) {
			h[window], h[bytes], h[rows] = math.MaxInt64, math.MaxInt64, math.MaxUint64
		}, chunk, nil, ""},
		{"as many entries as fit", func(h *[6]uint64) { h[bytes] = 2 * sieveEntry }, chunk, nil, ""},
		{"one entry of few bytes", func(h *[6]uint64) { h[bytes], h[entries] = 1, 1 }, entry(nil, id), nil, ""},
		{"a later format", func(h *[6]uint64) { h[format] = 2 }, chunk, nil, "format 2, this build reads 1"},
		{"no format", func(h *[6]uint64) { h[format] = 0 }, chunk, nil, "format 0"},
		{"no window", func(h *[6]uint64) { h[window] = 0 }, chunk, nil, "window 0"},
		{"a window below 0", func(h *[6]uint64) { h[window] = 1 << 63 }, chunk, nil, "window"},
		{"bytes below 0", func(h *[6]uint64) { h[bytes] = 1 << 63 }, chunk, nil, "bytes"},
		{"entries from below 0", func(h *[6]uint64) { h[first] = 1 << 63 }, chunk, nil, "entries from"},
		{"more entries than fit", func(h *[6]uint64) { h[bytes] = 2*sieveEntry - 1 }, chunk, nil, "2 entries"},
		{"bytes behind the head", nil, chunk, []byte{0}, "decoding sieve"},
		{"a short id", nil, entry(entry(nil, id), id[:15]), nil, "entry 4 has no whole id"},
		{"a missing entry", nil, entry(nil, id), nil, "decoding sieve/0"},
		{"an entry too many", nil, entry(chunk, id), nil, "decoding sieve/0"},
		{"entries in another part", func(h *[6]uint64) { h[first] = sieveChunk }, chunk, nil, "decoding sieve/1"},
		{"entries in two parts", func(h *[6]uint64) { h[first] = sieveChunk - 1 }, chunk, nil, "decoding sieve/0"},
	} {
		h := [6]uint64{sieveFormat, uint64(time.Hour), 1 << 20, 3, 2, 9}
		if c.change != nil {
			c.change(&h)
		}
		var head []byte
		for _, n := range h {
			head = wire.AppendUvarint(head, n)
		}
		for range sieveTimes {
			head = wire.AppendVarint(head, 5)
		}
		head = wire.AppendUvarint(wire.AppendUvarint(head, 1), 2)
		s, err := sieveOf(map[string][]byte{"sieve": append(head, c.more...), "sieve/0": c.chunk})
		switch {
		case c.want == "" && (err != nil || s == nil || uint64(len(s.entries)) != h[entries] || s.sifted != Sifted{1, 2}):
			t.Errorf("%s: %+v, %v", c.name, s, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for i := range 16 {
		if _, err := sieveOf(map[string][]byte{"sieve": make([]byte, i)}); err == nil {
			t.Errorf("a head of %d bytes is read", i)
		}
	}
	if s, err := sieveOf(nil); s != nil || err != nil {
		t.Errorf("a state without a sieve: %+v, %v", s, err)
	}
}

// A code beyond the levels, or a clock that does not count, would be an index or a weight later.
func TestRecordsThatNoStateHolds(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "x", Kind: Continuous}, {Name: "c", Kind: Nominal},
		{Name: "o", Kind: Ordinal, Levels: []string{"a", "b"}}}}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		row   []float64
		clock float64
		ok    bool
	}{
		{[]float64{1.5, 0, 1}, 0, true}, {[]float64{nan, nan, nan}, 1 << 53, true},
		{[]float64{-1e300, MaxLevels, 2}, .5, true}, {[]float64{0, Cell(MaxLevels + 9), 0}, 0, true},
		{[]float64{0, 0, Cell(MaxLevels + 9)}, 0, false}, {[]float64{0, MaxLevels + 1e-9, 0}, 0, false},
		{[]float64{inf, 0, 0}, 0, false}, {[]float64{-inf, 0, 0}, 0, false},
		{[]float64{0, inf, 0}, 0, false}, {[]float64{0, -1, 0}, 0, false}, {[]float64{0, MaxLevels + 1, 0}, 0, false},
		{[]float64{0, .5, 0}, 0, false}, {[]float64{0, 0, 1.5}, 0, false}, {[]float64{0, 0, -1}, 0, false},
		{[]float64{0, 0, 0}, -1, false}, {[]float64{0, 0, 0}, 1<<53 + 2, false}, {[]float64{0, 0, 0}, nan, false},
		{[]float64{0, 0, 0}, inf, false}, {nil, 3, true}, {nil, -3, false},
	} {
		if got := s.possible(c.row, c.clock); got != c.ok {
			t.Errorf("row %v at clock %v: %v, want %v", c.row, c.clock, got, c.ok)
		}
	}
}
