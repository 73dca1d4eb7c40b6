package model

import (
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// Waits are the figures of the pending store of a partition.
type Waits struct {
	Records int   // that wait, or were learnt and may still be corrected
	Bytes   int64 // that they take, see Partition.Waiting
	Oldest  int64 // nanoseconds of stream time for which the oldest of them has waited; 0 where none waits
}

// WaitsOf returns the figures of the pending store of p.
func WaitsOf(p *Partition) (w Waits) {
	w = Waits{Records: len(p.store.entries) - p.store.gaps, Bytes: p.store.bytes}
	if since, ok := oldest(p.store); ok && since < p.time.now {
		w.Oldest = int64(min(distance(since, p.time.now), 1<<63-1))
	}
	return w
}

// oldest returns the stream time since which the oldest entry waits.
func oldest(s *pendingStore) (since int64, ok bool) {
	for _, w := range s.entries {
		if w != nil {
			return w.since, true
		}
	}
	return 0, false
}

// sectionWaiting is the name of the section with the losses of the pending store. States without such losses have
// none, so that their bytes are those of builds that do not know it.
const sectionWaiting = "waiting"

// waitingFormat is the version of the binary form of that section.
const waitingFormat = 1

// appendWaiting appends the section.
func (l *Losses) appendWaiting(b []byte) []byte {
	return wire.AppendUvarint(wire.AppendUvarint(b, waitingFormat), l.Evicted)
}

// loadWaiting reads the section of a state, if there is one.
func (l *Losses) loadWaiting(names []string, read reader) error {
	if !slices.Contains(names, sectionWaiting) {
		return nil
	}
	err := read(sectionWaiting, func(b []byte) error {
		r := wire.NewReader(b)
		if format := r.Uvarint(); r.Err() == nil && format != waitingFormat {
			return fmt.Errorf("format %d, this build reads %d", format, waitingFormat)
		}
		l.Evicted = r.Uvarint()
		return r.Done()
	})
	if err != nil {
		return fmt.Errorf("decoding %s: %w", sectionWaiting, err)
	}
	return nil
}
