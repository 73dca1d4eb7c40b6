package txn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// limits are the largest batches that the topics take, as far as the client knows them. The size of a batch is that of
// its compressed bytes; this package reckons with the bytes before, which are more but for a few.
type limits map[string]int

// leastBatch is the smallest limit that is kept to. Below it a topic takes no message of any stage.
const leastBatch = 1 << 10

// LearnLimits asks the brokers for the largest batch that each topic takes (max.message.bytes). Batches keep to it from
// then on, and Limit tells it. Where it may not be asked (the right DescribeConfigs), the sizes of refused batches tell
// it later.
func (c *Client) LearnLimits(ctx context.Context, topics ...string) error {
	known, err := c.Describe(ctx, topics...)
	if err != nil {
		return fmt.Errorf("asking for the largest messages: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range known {
		if n, err := strconv.Atoi(t.Configs["max.message.bytes"]); err == nil && n > 0 {
			c.limits[t.Name] = max(n, leastBatch)
		}
	}
	return nil
}

// Limit returns the most bytes that key, value and headers of one record may have, so that the topic takes it and
// readers under ExpandBytes do. Other headers take part of it: see RecordBytes.
func (c *Client) Limit(topic string) int {
	return min(c.batchLimit(topic, int(min(c.cfg.ExpandBytes, 1<<30))), int(c.cfg.ExpandBytes)-leastBatch/2)
}

// RecordBytes returns the part of Limit that a record takes.
func RecordBytes(r *Record) int {
	n, err := recordBound(r)
	if err != nil {
		return 1 << 31
	}
	return n
}

// batchLimit returns the limit of a batch of a topic before compression, at most most.
func (c *Client) batchLimit(topic string, most int) int {
	c.mu.Lock()
	n, ok := c.limits[topic]
	c.mu.Unlock()
	if !ok {
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
	return s.client.batchLimit(topic, most)
}

// refused takes note that a topic has not taken a batch of so many bytes, and reports whether there is something to
// learn from that. The limit becomes half of it: it was changed, or the client may not ask for it.
func (c *Client) refused(topic string, bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := max(bytes/2, leastBatch)
	if old, ok := c.limits[topic]; ok && old <= n {
		return false
	}
	c.limits[topic] = n
	return true
}

// learnRefusal learns from a produce error, where it says that a batch is too large. Smaller ones may be taken the next
// time: then it sets Error.Shrunk.
func (s *session) learnRefusal(err error, batches []batch) error {
	var e *Error
	if !errors.As(err, &e) || e.Kind != TooLarge || e.Code == 0 {
		return err
	}
	for i := range batches {
		b := &batches[i]
		if b.done || b.topic != e.Topic || int(b.partition) != e.Partition {
			continue
		}
		if s.client.refused(b.topic, b.plain) {
			e.Shrunk = true
			e.Reason = fmt.Sprintf("above the topic's max.message.bytes; batches there have at most %d bytes from now on",
				s.client.batchLimit(b.topic, s.client.cfg.BatchBytes))
		}
		break
	}
	return err
}
