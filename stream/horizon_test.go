package stream

import (
	"testing"
	"time"
)

// TestEachOpenTransactionHasAClockOfItsOwn: producers whose transactions follow each other hold nothing back for long,
// though one is always open. As long as events before the transaction are to be processed, labels wait for those.
func TestEachOpenTransactionHasAClockOfItsOwn(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name   string
		stable func(minute int64) int64 // the last stable offset; the end of the topic is 100 + minute
		slow   int64                    // minutes in which the stage has events before it to process
		over   int                      // first minute in which labels wait no longer; -1 = none
	}{
		{"nothing is open", func(m int64) int64 { return 100 + m }, 0, -1},
		{"one transaction", func(int64) int64 { return 50 }, 0, 10},
		{"one transaction, and a stage with a backlog", func(int64) int64 { return 50 }, 25, 25},
		{"one transaction, and a stage that stands", func(int64) int64 { return 50 }, 60, -1},
		{"another one each minute", func(m int64) int64 { return 50 + m }, 0, -1},
		{"another one in between", func(m int64) int64 { return 50 + m/4 }, 0, -1},
		{"one after some time", func(m int64) int64 { return min(100+m, 120) }, 0, 31},
	} {
		h, over := horizon{}, -1
		for m := range int64(60) {
			now := begin.Add(time.Duration(m) * time.Minute)
			h.see(100+m, c.stable(m), now)
			h.reach(c.stable(m))
			if m < c.slow {
				h.reach(c.stable(m) - 1)
			}
			if over < 0 && h.over(now, 10*time.Minute) {
				over = int(m)
			}
		}
		if over != c.over {
			t.Errorf("%s: labels wait no longer from minute %d on, want %d", c.name, over, c.over)
		}
	}
}
