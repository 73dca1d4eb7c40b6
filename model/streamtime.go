package model

import (
	"fmt"
	"slices"
	"time"

	"liftstream/model/wire"
)

// Stream time is the time that the records and labels of a partition tell, MODEL.md 3.1. It is a function of their
// times in their order, so a replay comes to the same; no single time moves it far.
const (
	// reach is how far ahead of stream time a time may lie that is followed at once.
	reach = uint64(5 * time.Minute)
	// witnesses is the number of times beyond reach, each another one, that move stream time over a gap.
	witnesses = 8
	// firstWitnesses is the number of times with which stream time begins.
	firstWitnesses = 4
)

// streamTime is the clock of the records of a partition. The zero value has not begun.
type streamTime struct {
	now   int64 // 0 = it has not begun
	last  int64 // time seen last: equal ones, such as those of one message, are one witness
	ahead [witnesses]int64
	n     int // of ahead, in their order
}

// observe takes note of the time of a record or label, 0 = it has none. It reports whether stream time has begun, or
// has passed a gap.
func (s *streamTime) observe(t int64) (jumped bool) {
	if t == 0 || t == s.last {
		return false
	}
	s.last = t
	switch {
	case s.now == 0:
		return s.begin(t)
	case t <= s.now:
		if distance(t, s.now) <= reach {
			s.contradict()
		}
		return false
	case distance(s.now, t) <= reach:
		s.now = t
		s.contradict()
		return false
	}
	s.ahead[s.n] = t
	if s.n++; s.n < witnesses {
		return false
	}
	s.follow(slices.Min(s.ahead[:]))
	return true
}

// contradict drops the oldest witness of a gap: the stream goes on where it was.
func (s *streamTime) contradict() {
	if s.n > 0 {
		copy(s.ahead[:], s.ahead[1:s.n])
		s.n--
	}
}

// begin takes one of the first times. The second smallest begins: one time that is too early or too late does not.
func (s *streamTime) begin(t int64) bool {
	s.ahead[s.n] = t
	if s.n++; s.n < firstWitnesses {
		return false
	}
	first := s.ahead
	slices.Sort(first[:s.n])
	s.follow(first[1])
	return true
}

// follow moves stream time to t, and on with the witnesses within reach; the others stay.
func (s *streamTime) follow(t int64) {
	s.now = t
	for moved := true; moved; {
		moved = false
		n := 0
		for _, a := range s.ahead[:s.n] {
			if a > s.now && distance(s.now, a) > reach {
				s.ahead[n] = a
				n++
				continue
			}
			moved = moved || a > s.now
			s.now = max(s.now, a)
		}
		s.n = n
	}
}

// of is the time as which a record of time t is learnt: none that is ahead of stream time.
func (s *streamTime) of(t int64) int64 {
	if t == 0 {
		return s.now
	}
	if s.now == 0 {
		return t // until it begins, see tell
	}
	return min(t, s.now)
}

// distance is to - from, which must not be negative, without an overflow.
func distance(from, to int64) uint64 { return uint64(to) - uint64(from) }

func (s *streamTime) append(b []byte) []byte {
	b = wire.AppendVarint(b, s.now)
	b = wire.AppendVarint(b, s.last)
	return wire.AppendInts(b, s.ahead[:s.n])
}

func readStreamTime(r *wire.Reader) (s streamTime) {
	s.now, s.last = r.Varint(), r.Varint()
	ahead := wire.Ints[int64](r)
	if len(ahead) >= witnesses {
		r.Fail(fmt.Errorf("%d witnesses of a gap", len(ahead)))
		return s
	}
	s.n = copy(s.ahead[:], ahead)
	return s
}

// heal brings a state to stream time whose time was the largest that any record had told: one record of a wild clock
// could move it for good. was is that time. The newest records tell a better one where enough of them are held, else it
// begins anew.
func heal(p *Partition, was int64) {
	const most = 64
	var times []int64
	note := func(t int64) {
		if t != 0 {
			times = append(times, t)
		}
	}
	newestTimes(p.store, most, note)
	t := p.sample.tail
	for k := t.next; k > t.first && t.next-k < most; k-- {
		note(t.time[(k-1)%t.capacity])
	}
	slices.Sort(times)
	p.time = streamTime{}
	if times = slices.Compact(times); len(times) >= witnesses {
		p.time.now = times[len(times)-witnesses]
		if was > p.time.now && distance(p.time.now, was) <= reach {
			p.time.now = was
		}
	}
	p.store.stamp(p.time.now)
	notAhead(p)
}

// notAhead takes back the times of learnt records, and the clocks of the components, that are ahead of stream time.
func notAhead(p *Partition) {
	limit := p.time.now
	if limit == 0 {
		return
	}
	t := p.sample.tail
	for i, at := range t.time {
		if at > limit {
			t.time[i] = limit
			t.touch(i)
		}
	}
	r := p.sample.reservoir
	for i := range r.items {
		if x := &r.items[i]; x.Time > limit {
			x.Time = limit
			r.version++
		}
	}
	editAll(p.store, func(w *waiting) bool {
		ahead := w.learnt && w.Time > limit
		if ahead {
			w.Time = limit
		}
		return ahead
	})
	for _, c := range p.scorer.all() {
		if x, ok := c.(Timed); ok {
			x.NotAfter(limit)
		}
	}
}
