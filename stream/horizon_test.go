package stream

import (
	"testing"
	"time"
)

// TestEachOpenTransactionHasAClockOfItsOwn: producers whose transactions follow each other hold nothing back for long,
// though one is always open.
func TestEachOpenTransactionHasAClockOfItsOwn(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name   string
		stable func(minute int64) int64 // the last stable offset; the end of the topic is 100 + minute
		over   int                      // first minute in which labels wait no longer; -1 = none
	}{
		{"nothing is open", func(m int64) int64 { return 100 + m }, -1},
		{"one transaction", func(int64) int64 { return 50 }, 10},
		{"another one each minute", func(m int64) int64 { return 50 + m }, -1},
		{"another one in between", func(m int64) int64 { return 50 + m/4 }, -1},
		{"one after some time", func(m int64) int64 { return min(100+m, 120) }, 31},
	} {
		h, over := horizon{}, -1
		for m := range int64(60) {
			now := begin.Add(time.Duration(m) * time.Minute)
			h.see(100+m, c.stable(m), now)
			h.reach(c.stable(m))
			if over < 0 && h.over(now, 10*time.Minute) {
				over = int(m)
			}
		}
		if over != c.over {
			t.Errorf("%s: labels wait no longer from minute %d on, want %d", c.name, over, c.over)
		}
	}
}
