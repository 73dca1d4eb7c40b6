package stream

import "testing"

// TestScoresDoNotKeepThoseBefore: the memory for scores is bounded by a few messages, of all sizes, and no more
// bytes of former messages are copied than are written.
func TestScoresDoNotKeepThoseBefore(t *testing.T) {
	const kb = 1 << 10
	blank := make([]byte, largeValues)
	for name, size := range map[string]func(i int) int{
		"one row":                 func(int) int { return 300 },
		"a thousand rows":         func(int) int { return 450 * kb },
		"just above the rest":     func(int) int { return 65 * kb },
		"several megabytes":       func(int) int { return 3500 * kb },
		"small and large":         func(i int) int { return []int{kb, 700 * kb}[i%2] },
		"each larger":             func(i int) int { return min((i+1)*70*kb, largeValues) },
		"large ones now and then": func(i int) int { return []int{kb, kb, kb, kb, kb, kb, 2000 * kb}[i%7] },
	} {
		var values []byte
		last, largest, copied, written := 0, 0, 0, 0
		for i := range 60 {
			n := size(i)
			largest = max(largest, n)
			values = roomFor(values, last)
			if cap(values)-len(values) < n {
				copied += len(values)
			}
			values = append(values, blank[:n]...)
			last, written = n, written+n
			if most := 4*largest + 2*valuesBytes; cap(values) > most {
				t.Fatalf("%s: %d bytes are kept after message %d, at most %d", name, cap(values), i, most)
			}
		}
		if copied > written {
			t.Errorf("%s: %d bytes are copied, of %d", name, copied, written)
		}
	}
}
