package state

import (
	"time"
)

// Pace keeps the bytes of snapshots to a rate, also where a transaction comes before the next piece is due.
type Pace struct {
	Rate float64   // bytes a second
	paid time.Time // when the bytes written so far would have been written at that rate
}

// Start takes note that a snapshot begins: it may write the bytes of its first 100 ms at once.
func (p *Pace) Start(now time.Time) { p.since(now.Add(-100 * time.Millisecond)) }

func (p *Pace) since(t time.Time) {
	if p.paid.Before(t) {
		p.paid = t
	}
}

// Allows returns how many bytes may be written now, at most those of a second; 0 and less = none.
func (p *Pace) Allows(now time.Time) int64 {
	p.since(now.Add(-time.Second))
	return int64(p.Rate * now.Sub(p.paid).Seconds())
}

// Spend takes note of written bytes.
func (p *Pace) Spend(bytes int) {
	p.paid = p.paid.Add(time.Duration(float64(bytes) / p.Rate * float64(time.Second)))
}
