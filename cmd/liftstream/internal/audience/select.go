// Package audience chooses the records to talk to from their scores: the newest score of each id, ordered by the
// propensity of a class. Begin at Selection, which holds the scores, and at Run, which reads and writes them.
package audience

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"

	"liftstream/model/evaluate"
)

// Place is a position: of a record, or of a score in its input. Partition is the number of the file where files are
// read.
type Place struct {
	Partition int32
	Offset    int64
	Row       int32
}

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Partition, q.Partition), cmp.Compare(p.Offset, q.Offset), cmp.Compare(p.Row, q.Row))
}

// Score is a score as a selection sees it.
type Score struct {
	ID         string // "" = it has none
	Record, At Place  // of its record, and its own in the input
	Time       int64  // in Unix nanoseconds; the least where it is not known
	Propensity float64
	Control    bool // in the control share
	Untrained  bool // its propensity is a base rate
}

// Key tells records apart, and breaks ties of propensity: the first 16 bytes of SHA-256 of the id, or, of a record
// without an id, of PARTITION/OFFSET/ROW. So the order of equal members depends on neither the order of their scores
// nor a seed, and nobody can choose an id that comes first.
type Key [16]byte

func (x *Score) key() (k Key) {
	if x.ID != "" {
		sum := sha256.Sum256([]byte(x.ID))
		return Key(sum[:])
	}
	var buffer [64]byte
	b := append(strconv.AppendInt(buffer[:0], int64(x.Record.Partition), 10), '/')
	b = append(strconv.AppendInt(b, x.Record.Offset, 10), '/')
	sum := sha256.Sum256(strconv.AppendInt(b, int64(x.Record.Row), 10))
	return Key(sum[:])
}

// entry is the newest score of a record, or of all records of an id: 64 bytes.
type entry struct {
	key        Key
	time       int64
	offset     int64 // of the record, with row
	p          float64
	at         Place
	row        int32
	control    bool
	untrained  bool
	propensity bool // whether p is known
}

// newer reports whether e is a newer score than f: by time, then by the position of the record, then by its own.
func (e *entry) newer(f *entry) bool {
	return cmp.Or(cmp.Compare(e.time, f.time), cmp.Compare(e.at.Partition, f.at.Partition),
		cmp.Compare(e.offset, f.offset), cmp.Compare(e.row, f.row), e.at.compare(f.at)) > 0
}

// EntryBytes is about the memory that a selection takes for each id, garbage included: an entry has 64 bytes, and its
// place in the map half as many.
const EntryBytes = 300

// TooManyError is returned when there are more ids than a selection may hold.
type TooManyError struct{ Most int }

// Error is the message.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("there are more than %d ids to choose from", e.Most)
}

// Selection holds the newest score of each id. It takes EntryBytes for each; the length of the ids and the number of
// their scores do not count.
type Selection struct {
	// Most bounds the number of ids.
	Most int
	// Together has the scores of one key count as one. Else each score stands for itself.
	Together bool

	entries []entry
	at      map[Key]int32
	scores  int64
}

// Add takes a score. A propensity that is no number of 0 to 1 is not known; the score replaces an older one all the
// same. It returns a *TooManyError at the bound.
func (s *Selection) Add(x *Score) error {
	s.scores++
	e := entry{key: x.key(), time: x.Time, offset: x.Record.Offset, row: x.Record.Row, p: x.Propensity, at: x.At,
		control: x.Control, untrained: x.Untrained, propensity: x.Propensity >= 0 && x.Propensity <= 1}
	if s.Together {
		if s.at == nil {
			s.at = map[Key]int32{}
		}
		if i, ok := s.at[e.key]; ok {
			if e.newer(&s.entries[i]) {
				s.entries[i] = e
			}
			return nil
		}
	}
	if len(s.entries) >= s.Most {
		return &TooManyError{s.Most}
	}
	if s.Together {
		s.at[e.key] = int32(len(s.entries))
	}
	s.entries = append(s.entries, e)
	return nil
}

// Cut says where an audience ends. One of its fields is set; of none, it has everybody.
type Cut struct {
	Top   int             // that many members
	Share float64         // of the candidates, rounded down, but at least one
	Least *float64        // members have at least this propensity
	Value *evaluate.Value // members are expected to bring at least their cost
}

// With says who is a candidate too.
type With struct{ Control, Untrained bool }

// Summary counts an audience and its expected hits. Shares and rates are of 0 to 1; figures of nobody are NaN.
type Summary struct {
	Scores  int64 // that were read
	IDs     int   // that they are of; of scores that stand for themselves, their number
	Control int   // that are in the control share, and so were left out
	Unknown int   // whose newest score has no propensity
	Choice  int   // candidates: the others
	N       int   // members

	Untrained int     // members whose propensity is a base rate
	Tied      int     // other candidates of the propensity of the last member
	Last      float64 // propensity of the last member
	Hits      float64 // expected: the sum of the propensities
	Rate      float64 // expected: their mean
	Average   float64 // their mean over all candidates
	Lift      float64 // expected: Rate / Average
}

// Profit is the expected profit of an audience: hits * hit - n * contact.
func (s *Summary) Profit(v evaluate.Value) float64 { return s.Hits*v.Hit - float64(s.N)*v.Contact }

// Member is a member of an audience: where its score lies, and its propensity.
type Member struct {
	At         Place
	Propensity float64
}

// Choose orders the candidates by propensity, the highest first and equal ones by their keys, and returns those before
// the cut. Members of the control share, and those of an untrained score, are candidates only where with says so. The
// selection is empty afterwards. Scores in another order give the same audience, but for scores that stand for
// themselves.
func (s *Selection) Choose(c Cut, with With) ([]Member, Summary) {
	sum := Summary{Scores: s.scores, IDs: len(s.entries)}
	choice := slices.DeleteFunc(s.entries, func(e entry) bool {
		switch {
		case e.control && !with.Control:
			sum.Control++
		case !e.propensity:
			sum.Unknown++
		case e.untrained && !with.Untrained:
			sum.Untrained++
		default:
			return false
		}
		return true
	})
	s.entries, s.at = nil, nil
	slices.SortFunc(choice, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.p, a.p), bytes.Compare(a.key[:], b.key[:]), a.at.compare(b.at))
	})
	sum.Choice = len(choice)
	n := len(choice)
	before := func(in func(p float64) bool) int { // choice is in descending order
		k, _ := slices.BinarySearchFunc(choice, true, func(e entry, _ bool) int {
			if in(e.p) {
				return -1
			}
			return 1
		})
		return k
	}
	switch {
	case c.Top > 0:
		n = min(n, c.Top)
	case c.Share > 0:
		n = min(n, max(1, int(math.Floor(c.Share*float64(n)+1e-9))))
	case c.Least != nil:
		n = before(func(p float64) bool { return p >= *c.Least })
	case c.Value != nil:
		n = before(c.Value.Pays)
	}
	members := make([]Member, n)
	total := 0.0
	for i := range choice {
		e := &choice[i]
		total += e.p
		if i < n {
			members[i] = Member{e.at, e.p}
			sum.Hits += e.p
		} else if n > 0 && e.p == choice[n-1].p {
			sum.Tied++
		}
	}
	sum.N, sum.Last = n, math.NaN()
	if n > 0 {
		sum.Last = choice[n-1].p
	}
	sum.Rate, sum.Average = sum.Hits/float64(n), total/float64(len(choice))
	sum.Lift = sum.Rate / sum.Average
	return members, sum
}
