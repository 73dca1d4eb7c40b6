package stream

import (
	"time"

	"liftstream/stream/state"
)

// agreement is the format on which the members of the group agree. A member joins with the newest format that it reads,
// and all write the oldest of these formats: while builds of two versions are in one group, each reads the values of
// the other. A newer format is written only after all members have read it for a while, so that a build that is started
// again meets no value that it does not read.
type agreement struct {
	written int
	all     int       // read by all members
	since   time.Time // when all began to
}

// agree takes note of the format that all members of a generation read.
func (s *Stage) agree(all int) {
	all = min(max(all, state.OldestFormat), s.newest)
	if f := s.o.Format; f > 0 {
		all = min(all, max(f, state.OldestFormat))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if all != s.agreement.all {
		s.agreement.all, s.agreement.since = all, s.o.Now()
	}
	s.agreement.written = min(s.agreement.written, all)
}

// found takes note of the format of a state that was taken over: its group has agreed on it before.
func (s *Stage) found(format int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agreement.written = max(s.agreement.written, min(format, s.agreement.all))
}

// format returns the format in which values are written now.
func (s *Stage) format() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := &s.agreement; a.written < a.all && s.o.Now().Sub(a.since) >= s.hesitation {
		a.written = a.all
	}
	return s.agreement.written
}
