package txn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// limits is the knowledge of a client of the batches that topics take. It may be used by several goroutines.
type limits struct {
	mu sync.Mutex
	by map[string]topicLimits // by topic
}

// topicLimits is the knowledge of a client of the batches that a topic takes; the zero value is none.
type topicLimits struct {
	// bytes is the largest batch; 0 = unknown. The size of a batch is that of its compressed bytes; this package reckons
	// with the bytes before, which are more but for a few.
	bytes int
	// before and after say how far timestamps may lie from the broker's clock; 0 = unknown.
	before, after time.Duration
	// untimed: the topic has refused a timestamp all the same, so it gets none.
	untimed bool
	appends bool // the broker stamps records when they are appended
}

// leastBatch is the smallest limit that is kept to. Below it a topic takes no message of any stage.
const leastBatch = 1 << 10

// LearnLimits asks the brokers for the largest batch that each topic takes (max.message.bytes), and for the
// timestamps. Batches keep to the one from then on, and Limit tells it; Stamp tells of the other. Where it may not be
// asked (the right DescribeConfigs), refused batches tell later.
func (c *Client) LearnLimits(ctx context.Context, topics ...string) error {
	known, err := c.Describe(ctx, topics...)
	if err != nil {
		return fmt.Errorf("asking for the largest messages: %w", err)
	}
	c.limits.mu.Lock()
	defer c.limits.mu.Unlock()
	for _, t := range known {
		l := c.limits.by[t.Name]
		if n, err := strconv.Atoi(t.Configs["max.message.bytes"]); err == nil && n > 0 {
			l.bytes = max(n, leastBatch)
		}
		l.before, l.after = 0, 0
		if l.appends = t.Configs["message.timestamp.type"] == "LogAppendTime"; !l.appends {
			l.before = period(t.Configs["message.timestamp.before.max.ms"])
			l.after = period(t.Configs["message.timestamp.after.max.ms"])
		}
		c.limits.by[t.Name] = l
	}
	return nil
}

// Limit returns the most bytes that key, value and headers of one record may have, so that the topic takes it and
// readers under ExpandBytes do. Other headers take part of it: see RecordBytes.
func (c *Client) Limit(topic string) int {
	most := int(min(c.cfg.ExpandBytes, 1<<30))
	return min(c.limits.batch(topic, most), most-leastBatch/2)
}

// RecordBytes returns the part of Limit that a record takes.
func RecordBytes(r *Record) int {
	n, err := recordBound(r)
	if err != nil {
		return 1 << 31
	}
	return n
}

// batch returns the limit of a batch of a topic before compression, at most most.
func (l *limits) batch(topic string, most int) int {
	l.mu.Lock()
	n := l.by[topic].bytes
	l.mu.Unlock()
	if n == 0 {
		return most
	}
	// Bytes that do not compress grow by the frame around them.
	n -= batchHeader + leastBatch/4 + n/500
	return min(most, max(n, leastBatch/2))
}

func (s *session) batchLimit(topic string, most int) int {
	if s.client == nil {
		return most
	}
	return s.client.limits.batch(topic, most)
}

// refused takes note that a topic has not taken a batch of so many bytes, and reports whether there is something to
// learn from that. The limit becomes half of it: it was changed, or the client may not ask for it.
func (l *limits) refused(topic string, bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, n := l.by[topic], max(bytes/2, leastBatch)
	if x.bytes > 0 && x.bytes <= n {
		return false
	}
	x.bytes = n
	l.by[topic] = x
	return true
}

// Stamp returns the time that a record of a topic can have: t, or now where the broker would refuse t as too far from
// its clock.
func (c *Client) Stamp(topic string, t, now time.Time) time.Time {
	const slack = time.Minute // the clocks differ
	c.limits.mu.Lock()
	l := c.limits.by[topic]
	c.limits.mu.Unlock()
	switch {
	case t.IsZero():
	case l.after > 0 && t.Sub(now) > l.after-min(slack, l.after/2):
		return now
	case l.before > 0 && now.Sub(t) > l.before-min(slack, l.before/2):
		return now
	}
	return t
}

// Keeps reports whether a record of a topic will have the timestamp t, as far as the client knows the topic.
func (c *Client) Keeps(topic string, t, now time.Time) bool {
	c.limits.mu.Lock()
	l := c.limits.by[topic]
	c.limits.mu.Unlock()
	return !l.appends && (!l.untimed || t.IsZero()) && c.Stamp(topic, t, now).Equal(t)
}

// period reads a number of milliseconds; 0 where it is none, or more than any difference of two times.
func period(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 || ms >= math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// timestamp is that of a record in milliseconds, as its topic takes it.
func (s *session) timestamp(r *Record) int64 {
	if s.client != nil {
		s.client.limits.mu.Lock()
		untimed := s.client.limits.by[r.Topic].untimed
		s.client.limits.mu.Unlock()
		if untimed {
			return noTimestamp
		}
	}
	return milliseconds(r)
}

// learnRefusal learns from a produce error, where it says that a batch is too large or that a timestamp is refused. The
// next time they may be taken: then it sets Error.Shrunk.
func (s *session) learnRefusal(err error, batches []batch) error {
	var e *Error
	if !errors.As(err, &e) || e.Code == 0 {
		return err
	}
	if kafka.Error(e.Code) == kafka.InvalidTimestamp {
		l := &s.client.limits
		l.mu.Lock()
		defer l.mu.Unlock()
		if x := l.by[e.Topic]; !x.untimed {
			x.untimed, e.Shrunk = true, true
			l.by[e.Topic] = x
			e.Reason = "the topic refuses the timestamp; records there have none from now on"
		}
		return err
	}
	if e.Kind != TooLarge {
		return err
	}
	for i := range batches {
		b := &batches[i]
		if b.done || b.topic != e.Topic || int(b.partition) != e.Partition {
			continue
		}
		if s.client.limits.refused(b.topic, b.plain) {
			e.Shrunk = true
			e.Reason = fmt.Sprintf("above the topic's max.message.bytes; batches there have at most %d bytes from now on",
				s.client.limits.batch(b.topic, s.client.cfg.BatchBytes))
		}
		break
	}
	return err
}
