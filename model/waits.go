package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model/wire"
)

// Waits tells of the records that wait for labels in a partition.
type Waits struct {
	Records int   // that wait, or were learnt and may still be corrected
	Bytes   int64 // that they take, see Partition.Waiting
	Scores  int64 // of these, the bytes of the memories of scores
	Kept    int   // one in so many records keeps the memory of its score
	Oldest  int64 // nanoseconds of stream time for which the oldest of them has waited; 0 where none waits
}

// WaitsOf tells of the records that wait for labels in p.
func WaitsOf(p *Partition) Waits {
	s := p.store
	w := Waits{Records: s.live, Bytes: s.held(), Scores: s.scores, Kept: 1 << min(s.level, 62)}
	if s.live > 0 {
		if since := s.oldest().since; since < p.time.now {
			w.Oldest = int64(min(distance(since, p.time.now), 1<<63-1))
		}
	}
	return w
}

// Crowded reports whether records that wait for labels, apart from the memories of their scores, take more than half of
// their bound.
func Crowded(p *Partition) bool { return rowBytes(p.store) > p.spec.Options.WaitBytes/2 }

// WaitRoom returns the number of records that the pending store of one partition has room for: at the least, where each
// value and each id, of that length in bytes, needs all of its bytes; and as a rule, where numbers have few digits and
// ids end in a number. The length is 0 where records have no id. The memories of scores keep their eighth of the bound.
// Both numbers are estimates from the schema alone.
func WaitRoom(s *Spec, length int) (least, usual int64) {
	levels := 0
	for f := range s.Schema.Features {
		if s.Schema.Features[f].Kind != Continuous {
			levels++
		}
	}
	numbers := len(s.Schema.Features) - levels
	// Place, class, clock, weight and times of a record, its share of its part, and that of the index of ids.
	all, few := float64(36+8*numbers+6*levels), 6+2*float64(numbers)+float64(levels)/2
	if length > 0 {
		all, few = all+float64(length+12), few+12
	}
	room := float64(s.Options.WaitBytes) / scoreShare * (scoreShare - 1)
	return int64(room / all), int64(room / few)
}

// sectionWaiting is the name of the section that counts the contents of the sections of a pending store, and the
// records and memories that left it because it was full. A state without any of these has none, so that its bytes are
// those of builds that do not know it.
const sectionWaiting = "waiting"

// waitingFormat is the version of the binary form of that section.
const waitingFormat = 2

// evictedAlone is that version of the section that counts nothing but the records that left.
const evictedAlone = 1

// waitingHead is the section.
type waitingHead struct {
	evicted, thinned uint64 // see Losses
	level            int
	records, scores  int // entries, and memories of scores
}

func waitingHeadOf(p *Partition) waitingHead {
	s := p.store
	return waitingHead{p.lost.Evicted, s.lost, s.level, s.live, s.memories()}
}

// append appends the section.
func (h waitingHead) append(b []byte) []byte {
	b = wire.AppendUvarint(wire.AppendUvarint(b, waitingFormat), h.evicted)
	b = wire.AppendUvarint(wire.AppendUvarint(b, h.thinned), uint64(h.level))
	return wire.AppendUvarint(wire.AppendUvarint(b, uint64(h.records)), uint64(h.scores))
}

// readWaitingHead reads the section of a state, if there is one.
func readWaitingHead(names []string, read reader) (h waitingHead, err error) {
	if !slices.Contains(names, sectionWaiting) {
		return h, nil
	}
	err = read(sectionWaiting, func(b []byte) error {
		r := wire.NewReader(b)
		format := r.Uvarint()
		if r.Err() == nil && format != waitingFormat && format != evictedAlone {
			return fmt.Errorf("format %d, this build reads %d and %d", format, evictedAlone, waitingFormat)
		}
		if h.evicted = r.Uvarint(); format == evictedAlone {
			return r.Done()
		}
		h.thinned, h.level = r.Uvarint(), r.Int(65)
		h.records, h.scores = r.Int(math.MaxInt32), r.Int(math.MaxInt32)
		return r.Done()
	})
	if err != nil {
		return h, fmt.Errorf("decoding %s: %w", sectionWaiting, err)
	}
	return h, nil
}

// restoreStore reads the sections of a pending store with the numbers from first to next into the empty one of p.
func (c *core) restoreStore(p *Partition, names []string, read reader) error {
	h, err := readWaitingHead(names, read)
	if err != nil {
		return fmt.Errorf("restoring state: %w", err)
	}
	s, pending := p.store, len(p.scorer.memory)
	if !p.spec.made(names) {
		pending = noPending
	}
	p.lost.Evicted, s.lost, s.level = h.evicted, h.thinned, h.level
	if err := s.load(c.format, c.pendingFirst, c.pendingNext, p.spec.Schema, pending, names, read); err != nil {
		return fmt.Errorf("restoring state: %w", err)
	}
	rooms := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "room/") })
	if n := s.memories(); !rooms && (s.live != h.records || pending != noPending && n != h.scores) {
		return fmt.Errorf("restoring state: %d waiting records and %d memories of scores, where %d and %d should be",
			s.live, n, h.records, h.scores)
	}
	return nil
}
