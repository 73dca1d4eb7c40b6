// Package page shows a running stage to people: the scores and their quality so far, the strongest profiles, and the
// records to call first. A Board takes the scores as they are made and holds a bounded view of them; Register serves
// that view as one self-contained page and as JSON. Begin at these two.
package page

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"liftstream/model"
	"liftstream/model/groups"
)

// Kept is the number of newest records that are shown, and kept of each partition.
const Kept = 12

const (
	callsKept    = 8    // records of the call list, and kept of each block
	callsRecords = 1000 // records of a block
	callsBlocks  = 5    // blocks of a partition, the one being filled among them
)

// Record is one scored record as people read it. Its texts are copies.
type Record struct {
	Who        string    `json:"who"` // its id, else its position
	Partition  int32     `json:"source_partition"`
	Offset     int64     `json:"source_offset"`
	Row        int32     `json:"source_row"`
	Time       time.Time `json:"time"`
	Model      int64     `json:"model"`
	Status     string    `json:"status"`
	Segment    string    `json:"segment"`
	Target     string    `json:"target"`
	Propensity float64   `json:"propensity"` // of the target
	BaseRate   float64   `json:"base_rate"`
	Lift       float64   `json:"lift"`
	Percentile float64   `json:"percentile"`
	Profile    string    `json:"profile,omitempty"`
	Label      string    `json:"label,omitempty"`   // the class, when the event had it
	Control    bool      `json:"control,omitempty"` // it is in the control share
	Why        []Reason  `json:"why"`
}

// Reason is one contribution to a record's propensity.
type Reason struct {
	Feature string   `json:"feature"`
	Value   *string  `json:"value"` // null = missing
	Effect  float64  `json:"effect"`
	Lift    *float64 `json:"lift"` // null where undefined
	N       float64  `json:"n"`
}

// String is the reason in a few words, such as "poutcome is success".
func (r Reason) String() string {
	switch {
	case strings.HasPrefix(r.Feature, "("):
		return r.Feature
	case r.Value == nil:
		return r.Feature + " is not known"
	}
	return r.Feature + " is " + *r.Value
}

// Board is the bounded view of the scores of one process. Its methods may be called from several goroutines.
type Board struct {
	schema *model.Schema
	skip   uint64
	// Groups counts the scores by group too; nil counts none. It is set before the first score.
	Groups *groups.Tally
	// Goals counts the goals of the scores; nil counts none. It is set before the first score.
	Goals *GoalTally

	archive *archive

	mu    sync.RWMutex // guards parts; each part guards itself
	parts map[int32]*part
}

// part is the board's view of one partition. Each has a lock, so that partitions do not wait for each other.
type part struct {
	mu        sync.Mutex
	row       int32 // last one seen of the message before next
	next      int64 // offset after the last message seen
	seen      uint64
	untrained uint64
	degraded  uint64
	model     int64
	running   *running
	last      []kept // ring
	lastAt    int
	calls     [callsBlocks][]kept // the best of each block; the block being filled first
	inBlock   int
	moved     moved
}

// NewBoard returns an empty board. The first skip records of each partition do not count in Quality.
func NewBoard(s *model.Schema, skip int) *Board {
	return &Board{schema: s, skip: uint64(max(skip, 0)), parts: map[int32]*part{}, archive: newArchive(s)}
}

func (b *Board) part(n int32) *part {
	b.mu.RLock()
	p := b.parts[n]
	b.mu.RUnlock()
	if p != nil {
		return p
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p = b.parts[n]; p == nil {
		p = &part{running: newRunning(len(b.schema.Classes), b.schema.Positive)}
		b.parts[n] = p
	}
	return p
}

// Scores takes a scored batch; it fits stream.Options.OnScores. Messages below the last one seen of their
// partition are ignored: an aborted transaction shows them again.
func (b *Board) Scores(partition int32, batch *model.Batch, s *model.Scores, l *model.Levels) {
	p := b.part(partition)
	p.mu.Lock()
	defer p.mu.Unlock()
	// The records of a large message come in turn.
	further := batch.Offset == p.next-1 && batch.N > 0 && len(batch.Row) > 0 && batch.Row[0] > p.row
	if batch.Offset < p.next && !further {
		return
	}
	if p.row = -1; batch.N > 0 && len(batch.Row) > 0 {
		p.row = batch.Row[batch.N-1]
	}
	p.next, p.model = batch.Offset+1, s.Model
	b.Groups.Add(batch, s)
	b.Goals.Add(batch, s)
	b.archive.add(partition, batch, s, l)
	for i := range s.N {
		p.seen++
		switch s.Status[i] {
		case model.StatusUntrained:
			p.untrained++
		case model.StatusDegraded:
			p.degraded++
		}
		prob := s.P[i*s.Classes : (i+1)*s.Classes]
		if class := batch.Label[i]; class >= 0 && p.seen > b.skip && s.Status[i] != model.StatusUntrained {
			w := 1.0
			if batch.Weight != nil {
				w = batch.Weight[i]
			}
			p.running.add(prob, class, w)
		}
		if s.Status[i] != model.StatusUntrained {
			p.moved.add(b.schema, s, i)
		}
		if s.Status[i] == model.StatusOK {
			if r := b.rank(prob[s.Target[i]], s.Lift[i], s.BaseRate[i]); b.wants(p, r) {
				b.offer(p, r).of(b.schema, partition, batch, s, l, i)
			}
		}
		p.turn()
		if i >= s.N-Kept {
			p.newest().of(b.schema, partition, batch, s, l, i)
		}
	}
}

// Past is a score that was there before this process, such as one read from the scores topic.
type Past struct {
	Partition int32
	Offset    int64
	Class     int32 // model.Unlabelled when unknown
	P         []float64
	Trained   bool
	Degraded  bool
	Model     int64 // version that scored
	// propensity of the positive class, or the record's lift where none is configured; NaN = not to be called
	Rank   float64
	Newest bool          // among the last of its message
	Record func() Record // renders it
}

// Restore takes a score of the past as Scores would have taken it. Those of a partition come in their order.
func (b *Board) Restore(x Past) {
	p := b.part(x.Partition)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = max(p.next, x.Offset+1)
	p.model = max(p.model, x.Model)
	p.seen++
	switch {
	case !x.Trained:
		p.untrained++
	case x.Degraded:
		p.degraded++
	}
	if x.Class >= 0 && p.seen > b.skip && x.Trained {
		p.running.add(x.P, x.Class, 1)
	}
	if b.wants(p, x.Rank) {
		r := x.Record()
		b.offer(p, x.Rank).past = &r
	}
	p.turn()
	if x.Newest {
		r := x.Record()
		p.newest().past = &r
	}
}

// rank is the place of a record in the call list, see Rank.
func (b *Board) rank(propensity, lift, base float64) float64 {
	return Rank(b.schema, propensity, lift, base)
}

// Rank is the order of the call list: the propensity of the positive class, else the lift of the record's own target,
// for propensities of different classes do not compare. Over a base rate of 0 the lift is infinite, and such a record
// stands first, though it is shown without a lift.
func Rank(s *model.Schema, propensity, lift, base float64) float64 {
	switch {
	case s.Positive >= 0:
		return propensity
	case base == 0 && propensity > 0:
		return math.Inf(1)
	}
	return lift
}

// turn counts a record of the block and begins the next block when it is full; the oldest goes.
func (p *part) turn() {
	if p.inBlock++; p.inBlock < callsRecords {
		return
	}
	p.inBlock = 0
	oldest := p.calls[callsBlocks-1]
	copy(p.calls[1:], p.calls[:])
	p.calls[0] = oldest[:0]
}

// finite keeps numbers out of JSON that it has no form for.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// View is the content of a Board at one moment. It owns its memory.
type View struct {
	Scored    uint64   `json:"scored"` // by this process, and those restored
	Untrained uint64   `json:"untrained"`
	Degraded  uint64   `json:"degraded"`
	Model     int64    `json:"model"` // newest version that scored
	Quality   Quality  `json:"quality"`
	Moved     []Mover  `json:"reasons"`    // of the newest records, the strongest first
	Calls     []Record `json:"call_first"` // highest first, among about the last 5,000 records of each partition
	Last      []Record `json:"last"`       // newest first
}

// View returns the present view.
func (b *Board) View() View {
	b.mu.RLock()
	order := make([]int32, 0, len(b.parts))
	for n := range b.parts {
		order = append(order, n)
	}
	slices.Sort(order)
	parts := make([]*part, len(order))
	for i, n := range order {
		parts[i] = b.parts[n]
	}
	b.mu.RUnlock()

	v := View{Calls: []Record{}, Last: []Record{}}
	measures := make([]*running, len(parts))
	var all moved
	for i, p := range parts {
		p.mu.Lock()
		v.Scored += p.seen
		v.Untrained += p.untrained
		v.Degraded += p.degraded
		v.Model = max(v.Model, p.model)
		measures[i] = p.running.snapshot()
		all.merge(&p.moved)
		for _, best := range p.calls {
			for k := range best {
				v.Calls = append(v.Calls, best[k].shown(b.schema))
			}
		}
		for k := range p.last {
			v.Last = append(v.Last, p.last[(p.lastAt+len(p.last)-1-k)%len(p.last)].shown(b.schema))
		}
		p.mu.Unlock()
	}
	v.Quality = quality(measures)
	v.Moved = all.movers()
	slices.SortStableFunc(v.Last, func(x, y Record) int { return y.Time.Compare(x.Time) })
	v.Last = v.Last[:min(len(v.Last), Kept)]
	v.Calls = b.callFirst(v.Calls)
	return v
}

// callFirst sorts the candidates and keeps the newest record of each id.
func (b *Board) callFirst(all []Record) []Record {
	newest := map[string]int{}
	for i := range all {
		if k, ok := newest[all[i].Who]; !ok || later(&all[i], &all[k]) {
			newest[all[i].Who] = i
		}
	}
	kept := all[:0]
	for i, r := range all {
		if newest[r.Who] == i {
			kept = append(kept, r)
		}
	}
	slices.SortStableFunc(kept, func(x, y Record) int {
		return cmp.Compare(b.rank(y.Propensity, y.Lift, y.BaseRate), b.rank(x.Propensity, x.Lift, x.BaseRate))
	})
	return kept[:min(len(kept), callsKept)]
}

// later compares records of one id, which one partition holds unless its events are not split by id.
func later(x, y *Record) bool {
	return cmp.Or(cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.Row, y.Row)) > 0
}
