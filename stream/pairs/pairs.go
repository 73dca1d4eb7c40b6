// Package pairs reads the topics of two stages that score the same events, and brings their scores together with the
// labels of the records: a record is counted when its label has come or, where records without one count under a class,
// when its window has closed. A label by an id means the record that came last, under any labels.match of the stage.
//
// Begin at Join.
package pairs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// Stage names a stage and the topic of its scores.
type Stage struct{ Name, Scores string }

// Options say whose scores are joined. All but Second are those of the first stage.
type Options struct {
	Client         *txn.Client
	First, Second  Stage
	Events, Labels string        // topics; Labels is empty where labels come with the events alone
	Codec          codec.Options // of events, labels and classes
	Window         time.Duration // for which a record waits for its label; 0 = for ever
	Expired        int32         // class of a record whose label did not come within Window; Unlabelled = none
	WaitBytes      int64         // bounds the records of a partition that wait; at the bound the oldest wait no more
	// Events outside [From, To], by the times of their messages, are left out; a zero time sets no bound.
	From, To time.Time
}

// Record is a record that both stages have scored.
type Record struct {
	Partition     int32
	Offset        int64
	Row           int32
	Class         int32 // Unlabelled: not known
	First, Second []float64
	Weight        float64
}

// Counts tell of the records that were met.
type Counts struct {
	Records      int64 `json:"records"`       // readable, within the times
	FirstOnly    int64 `json:"first_only"`    // scored by the first stage alone
	SecondOnly   int64 `json:"second_only"`   // scored by the second stage alone
	Both         int64 `json:"both"`          // scored by both
	Labelled     int64 `json:"labelled"`      // of these: their class is known
	Late         int64 `json:"late"`          // of these: by the labels topic
	Expired      int64 `json:"expired"`       // of these: because the window was over
	Waiting      int64 `json:"waiting"`       // scored by both, and wait for their labels
	Dropped      int64 `json:"dropped"`       // scored by both, and wait no more
	LabelsUnused int64 `json:"labels_unused"` // labels without such a record
	Repeated     int64 `json:"repeated"`      // labels of a record that had one; the first one counts
}

// Join reads all partitions up to their present ends and calls each once for each record that both stages have scored,
// with the class where it is known. Records of one partition come in the order in which their classes did; those
// without a class come last. The record and its slices are valid during the call. It reads committed messages only and
// writes nothing. Messages that cannot be read have no scores and are passed over. An error of each ends it.
func Join(ctx context.Context, o Options, each func(*Record) error) (Counts, error) {
	var all Counts
	n, err := o.Client.Partitions(ctx, o.Events)
	if err != nil {
		return all, fmt.Errorf("looking at topic %s: %w", o.Events, err)
	}
	for _, topic := range []string{o.First.Scores, o.Second.Scores, o.Labels} {
		if topic == "" {
			continue
		}
		if m, err := o.Client.Partitions(ctx, topic); err != nil {
			return all, fmt.Errorf("looking at topic %s: %w", topic, err)
		} else if m != n {
			return all, fmt.Errorf("topic %s has %d partitions, %s has %d: they must be equal", topic, m, o.Events, n)
		}
	}
	for p := range n {
		j, err := newJoiner(ctx, &o, p, &all, each)
		if err == nil {
			err = j.run(ctx)
		}
		if err != nil {
			return all, fmt.Errorf("joining partition %d: %w", p, err)
		}
	}
	return all, nil
}

// joiner joins one partition.
type joiner struct {
	o              *Options
	counts         *Counts
	each           func(*Record) error
	partition      int32
	events, labels *cursor
	first, second  *answers
	decoder        *codec.Decoder
	batch          model.Batch
	named          model.Labels
	store          *store
	now            int64 // largest time of an event so far, Unix nanoseconds
}

func newJoiner(ctx context.Context, o *Options, p int, counts *Counts, each func(*Record) error) (*joiner, error) {
	j := &joiner{o: o, counts: counts, each: each, partition: int32(p), store: newStore(o.WaitBytes),
		now: math.MinInt64}
	c := o.Codec
	c.Future, c.Past = 0, 0 // messages that were refused for their times have no scores
	var err error
	if j.decoder, err = codec.NewDecoder(c); err != nil {
		return nil, err
	}
	if j.events, err = newCursor(ctx, o.Client, o.Events, p); err != nil {
		return nil, err
	}
	if o.Labels != "" {
		if j.labels, err = newCursor(ctx, o.Client, o.Labels, p); err != nil {
			return nil, err
		}
	}
	if j.first, err = newAnswers(ctx, o, o.First, p); err != nil {
		return nil, err
	}
	j.second, err = newAnswers(ctx, o, o.Second, p)
	return j, err
}

// run goes through events and labels in the order of the times of their messages, events first, as a stage that keeps
// up meets them.
func (j *joiner) run(ctx context.Context) error {
	for {
		event, err := j.events.peek(ctx)
		if err != nil {
			return err
		}
		if event == nil {
			break
		}
		if err := j.takeLabels(ctx, event.Time); err != nil {
			return err
		}
		j.events.pop()
		if err := j.takeEvent(ctx, event); err != nil {
			return err
		}
	}
	if err := j.takeLabels(ctx, time.Unix(0, math.MaxInt64)); err != nil {
		return err
	}
	return j.finish()
}

// takeEvent takes the scores of an events message.
func (j *joiner) takeEvent(ctx context.Context, r *txn.Record) error {
	if r.Unread != nil || r.Value == nil || !j.o.From.IsZero() && r.Time.Before(j.o.From) ||
		!j.o.To.IsZero() && r.Time.After(j.o.To) {
		return nil
	}
	defer j.decoder.Release()
	if _, err := j.decoder.Decode(message(ctx, r, j.partition), &j.batch, nil); errors.Is(err, codec.ErrStopped) {
		return ctx.Err()
	} else if err != nil {
		return nil // it is a dead letter
	}
	if err := j.first.to(ctx, r.Offset); err != nil {
		return err
	}
	if err := j.second.to(ctx, r.Offset); err != nil {
		return err
	}
	if !r.Time.IsZero() && len(j.first.rows) > 0 { // a wild time has no scores
		j.now = max(j.now, r.Time.UnixNano())
	}
	b := &j.batch
	for i := range b.N {
		row := int32(i)
		if b.Row != nil {
			row = b.Row[i]
		}
		j.counts.Records++
		p, q := j.first.row(row), j.second.row(row)
		switch {
		case p == nil && q == nil:
			continue
		case q == nil:
			j.counts.FirstOnly++
			continue
		case p == nil:
			j.counts.SecondOnly++
			continue
		}
		j.counts.Both++
		x := Record{Partition: j.partition, Offset: r.Offset, Row: row, Class: b.Label[i], First: p, Second: q, Weight: 1}
		if b.Weight != nil {
			x.Weight = b.Weight[i]
		}
		id := ""
		if b.ID != nil {
			id = b.ID[i]
		}
		if err := j.take(&x, id); err != nil {
			return err
		}
	}
	return j.expire()
}

// closes reports whether records count as their windows close. Where those without a label count under a class, a label
// comes sooner than its absence is known: counted as it comes, the newest records would be those of one class.
func (j *joiner) closes() bool { return j.o.Expired >= 0 && j.o.Window > 0 && j.labels != nil }

// take counts a record whose class came with it, and lets others wait where labels may come.
func (j *joiner) take(x *Record, id string) error {
	known := x.Class >= 0 && !j.closes()
	if j.labels != nil {
		j.store.admit(x, id, j.now, known)
	}
	switch {
	case known:
		j.counts.Labelled++
	case j.labels == nil:
		x.Class = model.Unlabelled
		j.counts.Waiting++
	default:
		return nil
	}
	return j.each(x)
}

// expire lets records out that have waited too long, or that have no room.
func (j *joiner) expire() error {
	for {
		w, late := j.store.overdue(j.now, int64(j.o.Window))
		if w == nil {
			return nil
		}
		if w.counted {
			continue
		}
		switch {
		case late && w.Class >= 0:
			j.counts.Labelled++
			if w.late {
				j.counts.Late++
			}
		case late && j.o.Expired >= 0:
			w.Class = j.o.Expired
			j.counts.Labelled++
			j.counts.Expired++
		default:
			w.Class = model.Unlabelled
			j.counts.Dropped++
		}
		if err := j.each(&w.Record); err != nil {
			return err
		}
	}
}

// takeLabels takes the labels messages up to a time. One without a time is taken at once.
func (j *joiner) takeLabels(ctx context.Context, to time.Time) error {
	if j.labels == nil {
		return nil
	}
	for {
		r, err := j.labels.peek(ctx)
		if err != nil || r == nil || !r.Time.Before(to) {
			return err
		}
		j.labels.pop()
		if r.Unread != nil || r.Value == nil {
			continue
		}
		if err := j.takeLabel(ctx, r); err != nil {
			return err
		}
	}
}

func (j *joiner) takeLabel(ctx context.Context, r *txn.Record) error {
	defer j.decoder.Release()
	if _, err := j.decoder.DecodeLabels(message(ctx, r, j.partition), &j.named); errors.Is(err, codec.ErrStopped) {
		return ctx.Err()
	} else if err != nil {
		return nil // it is a dead letter
	}
	l := &j.named
	for i := range l.N {
		n := name{byID: l.ID != nil}
		if n.byID {
			n.id = l.ID[i]
		} else if n.offset, n.row = l.Offset[i], l.Row[i]; l.Partition[i] != j.partition {
			j.counts.LabelsUnused++
			continue
		}
		if l.Class[i] < 0 {
			continue
		}
		w := j.store.find(n)
		if w == nil {
			at := int64(0)
			if !r.Time.IsZero() {
				at = r.Time.UnixNano()
			}
			if !j.store.keep(n, l.Class[i], at) {
				j.counts.LabelsUnused++
			}
			continue
		}
		if err := j.label(w, l.Class[i]); err != nil {
			return err
		}
	}
	return nil
}

// label counts a record under its class, at once or when its window closes.
func (j *joiner) label(w *waiting, class int32) error {
	if w.Class >= 0 {
		j.counts.Repeated++
		return nil
	}
	w.Class, w.late = class, true
	if j.closes() {
		return nil
	}
	w.counted = true
	j.counts.Labelled++
	j.counts.Late++
	return j.each(&w.Record)
}

// skew is the time by which the clocks of the producers of events and of labels may differ.
const skew = 5 * time.Minute

// finish takes the labels that came before their records by the clocks of their producers, then the records without a
// class.
func (j *joiner) finish() error {
	for _, k := range j.store.kept {
		w := j.store.find(k.name)
		if w == nil || k.byID && k.at != 0 && w.since > k.at+int64(skew) { // of another record of the id, which has left
			j.counts.LabelsUnused++
			continue
		}
		if err := j.label(w, k.class); err != nil {
			return err
		}
	}
	for _, w := range j.store.rest() {
		if !w.counted {
			j.counts.Waiting++
			w.Class = model.Unlabelled
			if err := j.each(&w.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// message is a record as a decoder takes it, which gives up with ctx: the schema registry may be away.
func message(ctx context.Context, r *txn.Record, partition int32) *codec.Message {
	m := &codec.Message{Value: r.Value, Partition: partition, Offset: r.Offset, Done: ctx.Done()}
	if !r.Time.IsZero() {
		m.Time = r.Time.UnixNano()
	}
	for _, h := range r.Headers {
		m.Headers.Set(h.Key, h.Value)
	}
	return m
}
