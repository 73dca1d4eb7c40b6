package stream

import (
	"context"
	"slices"
	"strconv"
	"time"

	"liftstream/model"
	"liftstream/stream/txn"
)

// Late labels wait for their records. A label is learnt once all events that were in the topic when it was read are
// processed, be they readable by then or behind an open transaction. In a backlog that would be too late: the records
// would fill the pending store. So a label may come earlier, by the timestamps of both topics, once its records are
// there; no single timestamp decides.

// neighbours is the number of neighbouring messages whose median timestamp stands for one of them.
const neighbours = 5

// outvoting is the number of timestamps whose median no single one decides.
const outvoting = 3

// timestamps are those of the newest messages of a topic, a ring.
type timestamps struct {
	at [neighbours]time.Time
	n  int
}

func (s *timestamps) add(t time.Time) {
	if !t.IsZero() {
		s.at[s.n%neighbours] = t
		s.n++
	}
}

// newest appends the last n timestamps to dst.
func (s *timestamps) newest(dst []time.Time, n int) []time.Time {
	for k := max(s.n-min(n, neighbours), 0); k < s.n; k++ {
		dst = append(dst, s.at[k%neighbours])
	}
	return dst
}

// median is the zero time where there is none. It orders at.
func median(at []time.Time) time.Time {
	if len(at) == 0 {
		return time.Time{}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at[len(at)/2]
}

// around returns the timestamps of the next label, the two that were learnt before it and the next two. Their median
// stands for the next label.
func (l lateLabels) around(before *timestamps) []time.Time {
	at := before.newest(make([]time.Time, 0, neighbours), 2)
	want := len(at) + 3
	for i := range l {
		for k := range l[i].Records {
			if t := l[i].Records[k].Time; !t.IsZero() {
				at = append(at, t)
			}
			if len(at) == want {
				return at
			}
		}
	}
	return at
}

// ripe reports whether the next label can be learnt.
func (p *pipeline) ripe(x *transaction) bool {
	t := p.t
	if t.m.At.Events >= p.late[0].events || t.horizon.over(t.s.o.Now(), t.s.o.Held) {
		return true
	}
	labels, events := p.late.around(&t.labelTimes), t.eventTimes.newest(make([]time.Time, 0, neighbours), neighbours)
	at, now := median(labels), median(events)
	if at.IsZero() || now.IsZero() {
		return awaited(t, x, &p.late[0].Records[0])
	}
	if at.After(now) {
		return false
	}
	// Its records should be there. Where they are not, the clocks of the topics may differ, or its neighbours be much
	// older, so it waits a little longer, unless the records that wait need the room.
	if awaited(t, x, &p.late[0].Records[0]) {
		return true
	}
	if len(labels) < outvoting || len(events) < outvoting {
		return false
	}
	if own := p.late[0].Records[0].Time; own.After(now) {
		return false
	} else if own.After(at) {
		at = own
	}
	o := &t.s.o.Spec.Options
	patience := time.Duration(o.WaitWindow / 8)
	if o.WaitWindow <= 0 {
		patience = 24 * time.Hour
	}
	return now.Sub(at) >= patience || model.Crowded(t.m.Part)
}

// awaited reports whether all records of a labels message wait for their labels, or it can be learnt for other reasons.
func awaited(t *task, x *transaction, r *txn.Record) bool {
	x.judging.begin(t.dead.clock(t.s.o.Topics.Labels, r.Offset, t.s.o.Now()), t.m)
	defer t.m.Release()
	if _, err := t.m.ReadLabels(r); err != nil {
		return true // it becomes a dead letter
	}
	return model.Awaits(t.m.Part, &t.m.Labels)
}

// learnLate learns the late labels that are ripe. It reports whether the labels' offset has moved.
func (p *pipeline) learnLate(ctx context.Context, x *transaction) (moved bool) {
	t := p.t
	for len(p.late) > 0 {
		f := &p.late[0]
		for len(f.Records) > 0 {
			r := &f.Records[0]
			if x.judging.stale(t, t.s.o.Topics.Labels, r.Offset) || !p.ripe(x) {
				return moved
			}
			p.whole = totalsOf(t)
			if !t.learnLabels(ctx, x, r) {
				p.giveUp(r.Offset, t.s.o.Topics.Labels)
				return moved
			}
			t.labelTimes.add(r.Time)
			t.m.At.Labels, moved = r.Next(), true
			f.Records = f.Records[1:]
		}
		t.m.At.Labels, moved = f.Next, true
		x.reserved.labels += f.reserved
		t.read += f.Bytes
		p.late = p.late[1:]
	}
	return moved
}

// showLate brings the metric of the labels that wait up to date.
func (p *pipeline) showLate() {
	if o := &p.t.s.o; o.Topics.Labels != "" {
		o.Metrics.LateWaiting.WithLabelValues(strconv.Itoa(p.t.id)).Set(float64(p.late.reserved()))
	}
}
