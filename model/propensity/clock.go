package propensity

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/wire"
)

// maxGrowth is the exponent of two up to which weights grow before the counts are rescaled.
const maxGrowth = 40

// clock turns decay into growing weights (model/MODEL.md 3): a record of clock t weighs 2^((t-origin)/half-life), so
// that taking it back later needs nothing but its own clock.
type clock struct {
	records float64 // labelled records so far: the clock of the next one
	time    int64   // newest time learnt, 0 before the first
	origin  []float64
	since   []int64
	now     []float64 // weight of a record learnt now
}

func newClock(n int) clock {
	c := clock{origin: make([]float64, n), since: make([]int64, n), now: make([]float64, n)}
	for h := range c.now {
		c.now[h] = 1
	}
	return c
}

// start sets a new clock: a record of this clock weighs 1.
func (c *clock) start(records float64, time int64) {
	c.records, c.time = records, time
	for h := range c.now {
		c.origin[h], c.since[h] = records, time
	}
}

// exponent is the number of half-lives between the origin and a record.
func (c *clock) exponent(h int, half model.HalfLife, records float64, time int64) float64 {
	switch {
	case half.Records > 0:
		return (records - c.origin[h]) / half.Records
	case half.Duration > 0:
		if c.since[h] == 0 {
			return 0
		}
		if time == 0 {
			time = c.time
		}
		return (float64(time) - float64(c.since[h])) / float64(half.Duration)
	}
	return 0
}

func (c *clock) weight(h int, half model.HalfLife, records float64, time int64) float64 {
	if records == c.records && half.Duration == 0 {
		return c.now[h]
	}
	e := c.exponent(h, half, records, time)
	if e == 0 {
		return 1
	}
	return math.Exp2(min(e, maxGrowth+1))
}

// advance moves the clock to the given record count and time, never back; time 0 says nothing. rescale is told the
// factor of the counts of a half-life when weights have grown too large.
func (c *clock) advance(half []model.HalfLife, records float64, time int64, rescale func(h int, v float64)) {
	c.records = max(c.records, records)
	if c.time == 0 && time != 0 {
		c.time = time
		for h := range c.since {
			c.since[h] = time
		}
	}
	c.time = max(c.time, time)
	for h := range half {
		e := c.exponent(h, half[h], c.records, c.time)
		if e > maxGrowth {
			n := math.Floor(e/maxGrowth) * maxGrowth
			if half[h].Records > 0 {
				c.origin[h] += n * half[h].Records
			} else {
				c.since[h] += int64(n * float64(half[h].Duration))
			}
			rescale(h, math.Ldexp(1, -int(min(n, 4096))))
			e = c.exponent(h, half[h], c.records, c.time)
		}
		if e != 0 {
			c.now[h] = math.Exp2(e)
		} else {
			c.now[h] = 1
		}
	}
}

// notAfter takes back a clock that is ahead of a time, for the half-lives that are durations: the counts so far are
// then of that time.
func (c *clock) notAfter(half []model.HalfLife, time int64) {
	if c.time <= time {
		return
	}
	c.time = time
	for h := range half {
		if half[h].Duration > 0 {
			c.since[h] = min(c.since[h], time)
			c.now[h] = c.weight(h, half[h], c.records, time)
		}
	}
}

func (c *clock) append(b []byte) []byte {
	b = wire.AppendFloat(b, c.records)
	b = wire.AppendVarint(b, c.time)
	b = wire.AppendFloats(b, c.origin)
	b = wire.AppendInts(b, c.since)
	return wire.AppendFloats(b, c.now)
}

func readClock(r *wire.Reader, n int) clock {
	c := newClock(n)
	c.records = r.Float()
	c.time = r.Varint()
	r.FloatsInto(c.origin)
	if since := wire.Ints[int64](r); len(since) == n {
		c.since = since
	} else {
		r.Fail(fmt.Errorf("%d origins where %d should be", len(since), n))
	}
	r.FloatsInto(c.now)
	for h := range n {
		if !(math.Abs(c.origin[h]) < 1<<53) || !(c.now[h] > 1e-300 && c.now[h] < 1<<(maxGrowth+1)) {
			r.Fail(errNumber)
		}
	}
	if !(math.Abs(c.records) < 1<<53) {
		r.Fail(errNumber)
	}
	return c
}
