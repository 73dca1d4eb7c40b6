package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/stream/txn"
)

// PositionHeader is the header of an events message that tells how many records of the data are in the topic once it
// is.
const PositionHeader = "demo-position"

const (
	fetchBytes = 4 << 20
	listed     = 10 // records of the call list
)

// Ledger holds the committed content of the topics: the events with their labels, and the scores of each.
type Ledger struct {
	Position int // records of the data that are in the events topic
	Events   int // readable records there
	Scored   int // of them
	Twice    int // scores of a record that had one already
	Strange  int // scores of a record that is not there
	Dead     int // messages in the dead-letter topic
	// Best are the scores of highest propensity, best first.
	Best []page.Record

	schema *model.Schema
	events map[place]event
	order  []place // of the events, as they came
	p      []float64
}

// Missing is the number of events without a score.
func (l *Ledger) Missing() int { return l.Events - l.Scored }

type place struct {
	partition int32
	offset    int64
	row       int32
}

type event struct {
	class int32
	score int // index of its propensities in p; -1 = none yet
}

// Topics names the topics of a Ledger.
type Topics struct{ Events, Scores, Dead string }

// Watch is called with the batches and scores that are read, in the order of their partition. Nil functions are not
// called; an argument is valid during the call.
type Watch struct {
	Events func(*model.Batch)
	Scores func(page.Past)
}

// Read reads topics to their present end.
func Read(ctx context.Context, c *txn.Client, topics Topics, o codec.Options, w Watch) (*Ledger, error) {
	l := &Ledger{schema: o.Schema, events: map[place]event{}}
	decoder, err := codec.NewDecoder(o)
	if err != nil {
		return nil, err
	}
	var b model.Batch
	err = each(ctx, c, topics.Events, func(r *txn.Record) error {
		defer decoder.Release()
		for _, h := range r.Headers {
			if n, err := strconv.Atoi(string(h.Value)); h.Key == PositionHeader && err == nil {
				l.Position = max(l.Position, n)
			}
		}
		// A message that cannot be read has become a dead letter.
		if _, err := decoder.Decode(&codec.Message{Value: r.Value, Partition: int32(r.Partition), Offset: r.Offset,
			Time: r.Time.UnixNano()}, &b, nil); err == nil {
			l.admit(int32(r.Partition), r.Offset, &b)
			if w.Events != nil {
				w.Events(&b)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := each(ctx, c, topics.Scores, func(r *txn.Record) error { return l.take(r, o, w.Scores) }); err != nil {
		return nil, err
	}
	err = each(ctx, c, topics.Dead, func(*txn.Record) error { l.Dead++; return nil })
	return l, err
}

// admit takes the events of a message.
func (l *Ledger) admit(partition int32, offset int64, b *model.Batch) {
	for i := range b.N {
		at := place{partition, offset, int32(i)}
		if b.Row != nil {
			at.row = b.Row[i]
		}
		l.events[at] = event{b.Label[i], -1}
		l.order = append(l.order, at)
	}
	l.Events += b.N
}

// each calls f with every committed record of a topic, partition by partition.
func each(ctx context.Context, c *txn.Client, topic string, f func(r *txn.Record) error) error {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	parts := make([]int, n)
	for i := range parts {
		parts[i] = i
	}
	first, err := c.ListOffsets(ctx, topic, parts, txn.Start)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	last, err := c.ListOffsets(ctx, topic, parts, txn.End)
	if err != nil {
		return fmt.Errorf("reading %s: %w", topic, err)
	}
	for _, p := range parts {
		for at := first[p]; at < last[p]; {
			got, err := c.Fetch(ctx, topic, p, at, fetchBytes, 100*time.Millisecond)
			if err != nil {
				return fmt.Errorf("reading %s: %w", topic, err)
			}
			for i := range got.Records {
				got.Records[i].Topic, got.Records[i].Partition = topic, p
				if u := got.Records[i].Unread; u != nil {
					return fmt.Errorf("reading %s: %w", topic, u)
				}
				if err := f(&got.Records[i]); err != nil {
					return err
				}
			}
			at = got.Next
		}
	}
	return nil
}

// take reads one scores message.
func (l *Ledger) take(r *txn.Record, o codec.Options, past func(page.Past)) error {
	for t, err := range codec.Tables(r.Value, 4*o.MaxMessage) {
		if err != nil {
			return fmt.Errorf("reading %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		v, err := codec.NewScoreReader(t, l.schema.Classes)
		if err != nil {
			return fmt.Errorf("reading %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		for i := range t.Rows() {
			var at place
			at.partition, at.offset, at.row = v.Place(i)
			e, known := l.events[at]
			switch {
			case !known:
				l.Strange++
				continue
			case e.score >= 0:
				l.Twice++
				continue
			}
			l.Scored++
			e.score = len(l.p)
			l.events[at] = e
			for class := range l.schema.Classes {
				l.p = append(l.p, v.Propensity(class, i))
			}
			record := func() page.Record { return l.record(v, i, at, e.class) }
			rank := l.rank(v, i)
			l.offer(rank, record)
			if past != nil {
				status, _ := v.Text(codec.ScoreStatus, i)
				version, _ := v.Int(codec.ScoreModel, i)
				past(page.Past{Partition: at.partition, Offset: at.offset, Class: e.class, P: l.p[e.score:],
					Trained: status != model.StatusUntrained.String(), Degraded: status == model.StatusDegraded.String(),
					Model: version, Rank: rank, Newest: i >= t.Rows()-page.Kept, Record: record})
			}
		}
	}
	return nil
}

// offer keeps the records of highest rank.
func (l *Ledger) offer(rank float64, record func() page.Record) {
	value := func(r page.Record) float64 { return page.Rank(l.schema, r.Propensity, r.Lift, r.BaseRate) }
	if math.IsNaN(rank) || len(l.Best) == listed && rank <= value(l.Best[listed-1]) {
		return
	}
	at, _ := slices.BinarySearchFunc(l.Best, rank, func(r page.Record, x float64) int {
		if value(r) >= x {
			return -1
		}
		return 1
	})
	l.Best = slices.Insert(l.Best, at, record())
	l.Best = l.Best[:min(len(l.Best), listed)]
}

// Set returns the propensities of the labelled events in the order of the topic, without the first skip of them.
func (l *Ledger) Set(skip int) *evaluate.Set {
	k := len(l.schema.Classes)
	s := evaluate.NewSet(k)
	for i, at := range l.order {
		if e := l.events[at]; i >= skip && e.score >= 0 && e.class >= 0 {
			_ = s.Add(int64(i), l.p[e.score:e.score+k], e.class, 1) // refuses numbers that are no propensities
		}
	}
	return s
}

// rank is the order of the call list (page.Rank), NaN for records that do not belong there.
func (l *Ledger) rank(v *codec.ScoreReader, i int) float64 {
	if s, _ := v.Text(codec.ScoreStatus, i); s != "ok" {
		return math.NaN()
	}
	if l.schema.Positive >= 0 {
		return v.Propensity(l.schema.Positive, i)
	}
	lift, _ := v.Float(codec.ScoreLift, i)
	base, known := v.Float(codec.ScoreBaseRate, i)
	target, _ := v.Text(codec.ScoreTarget, i)
	if c := l.schema.Class(target); known && c >= 0 {
		return page.Rank(l.schema, v.Propensity(c, i), lift, base)
	}
	return lift
}

// record is row i of the scores for the page.
func (l *Ledger) record(v *codec.ScoreReader, i int, at place, class int32) page.Record {
	float := func(c codec.Score) float64 {
		x, _ := v.Float(c, i)
		return x
	}
	version, _ := v.Int(codec.ScoreModel, i)
	r := page.Record{Who: v.Kept(codec.ScoreID, i), Partition: at.partition, Offset: at.offset, Row: at.row,
		Model:  version,
		Status: v.Kept(codec.ScoreStatus, i), Segment: v.Kept(codec.ScoreSegment, i), Target: v.Kept(codec.ScoreTarget, i),
		BaseRate: float(codec.ScoreBaseRate), Lift: float(codec.ScoreLift), Percentile: float(codec.ScorePercentile),
		Profile: v.Kept(codec.ScoreProfile, i), Why: []page.Reason{}}
	if c := l.schema.Class(r.Target); c >= 0 {
		r.Propensity = v.Propensity(c, i)
	}
	if ns, ok := v.Int(codec.ScoreTime, i); ok {
		r.Time = time.Unix(0, ns).UTC()
	}
	if class >= 0 {
		r.Label = l.schema.Classes[class]
	}
	if list, ok := v.Text(codec.ScoreWhy, i); ok {
		_ = json.Unmarshal([]byte(list), &r.Why) // the page shows no reasons where the list cannot be read
	}
	return r
}
