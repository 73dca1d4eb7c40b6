package stream

import (
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/stream/deadletter"
)

// The log tells of the first noticeFirst dead letters of a reason. Of those after them it gives the number, first after
// noticeShortest, then after twice as long each time, up to noticeLongest. A reason that has been quiet for
// noticeLongest begins anew.
const (
	noticeFirst    = 3
	noticeShortest = 10 * time.Second
	noticeLongest  = 5 * time.Minute
)

// notices keep the log of dead letters short, however many there are. The dead letters themselves and the metric
// liftstream_dead_letters_total have all of them. The zero value needs a log.
type notices struct {
	log *zap.Logger
	by  map[noticeKind]*noticed
}

type noticeKind struct {
	stage  string
	reason codec.Reason
}

// noticed is the history of one kind.
type noticed struct {
	told    int       // letters that have a line of their own
	held    int       // letters since the last line
	last    time.Time // of the letters
	line    time.Time // when the last line was written
	wait    time.Duration
	example deadletter.ID // the last one
}

// add takes note of a dead letter.
func (n *notices) add(now time.Time, stage string, reason codec.Reason, id deadletter.ID) {
	if n.by == nil {
		n.by = map[noticeKind]*noticed{}
	}
	k := noticeKind{stage, reason}
	x := n.by[k]
	if x == nil || now.Sub(x.last) >= noticeLongest && x.held == 0 {
		x = &noticed{wait: noticeShortest}
		n.by[k] = x
	}
	x.last, x.example = now, id
	if x.told < noticeFirst {
		x.told++
		x.line = now
		n.log.Warn("dead letter", append(fieldsOf(k, id), zap.String("see", "liftstream dead list"))...)
		return
	}
	x.held++
	n.settle(now, k, x)
}

// tick writes the counts that are due; all of them where the task ends.
func (n *notices) tick(now time.Time, end bool) {
	for k, x := range n.by {
		if end && x.held > 0 {
			x.line = now.Add(-x.wait)
		}
		n.settle(now, k, x)
	}
}

func (n *notices) settle(now time.Time, k noticeKind, x *noticed) {
	since := now.Sub(x.line)
	if x.held == 0 || since < x.wait {
		return
	}
	n.log.Warn("more dead letters, without a line for each",
		append(fieldsOf(k, x.example), zap.Int("held_back", x.held))...)
	x.held, x.line, x.wait = 0, now, min(2*x.wait, noticeLongest)
}

func fieldsOf(k noticeKind, id deadletter.ID) []zap.Field {
	f := []zap.Field{zap.String("reason", string(k.reason)), zap.String("stage", k.stage), zap.String("topic", id.Topic),
		zap.Int64("offset", id.Offset)}
	if id.Row >= 0 {
		f = append(f, zap.Int("row", id.Row))
	}
	return f
}
