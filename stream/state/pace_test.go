package state

import (
	"testing"
	"time"
)

// TestThePaceSavesUpOneSecondAtMost: a snapshot that nobody has written on for long must not come all at once then.
func TestThePaceSavesUpOneSecondAtMost(t *testing.T) {
	now := time.Unix(1000, 0)
	p := Pace{Rate: 1000}
	p.Start(now)
	for _, c := range []struct {
		name  string
		later time.Duration
		want  int64
		spent int
	}{
		{"the first 100 ms come at once", 0, 100, 100},
		{"nothing more then", 0, 0, 0},
		{"half a second later", 500 * time.Millisecond, 500, 700},
		{"too many were written", 100 * time.Millisecond, -100, 0},
		{"a second at most", time.Hour, 1000, 0},
	} {
		now = now.Add(c.later)
		if got := p.Allows(now); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
		p.Spend(c.spent)
	}
}
