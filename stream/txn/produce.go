package txn

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
)

const (
	opProduce = "Produce"
	// requestBytes is where one produce request ends and the next begins; brokers take 100 MiB by default.
	requestBytes = 32 << 20
	// slowest is the rate, in bytes a second, of a connection on which large requests still have their time.
	slowest = 128 << 10
)

// produce sends the batches: each request has one leader's partitions and one batch of each, and goes out after the
// answer to the one before.
func (s *session) produce(ctx context.Context, batches []batch) error {
	for {
		sent := false
		err := s.client.step(ctx, opProduce, func() error {
			request, err := s.request(ctx, batches)
			if err != nil || request == nil {
				return err
			}
			sent = true
			m, err := s.client.roundTrip(ctx, request, s.sending)
			if err != nil {
				return failed(opProduce, err)
			}
			return s.acknowledge(batches, m.(*produce.Response))
		})
		if err != nil {
			err = s.learnRefusal(err, batches)
			s.release(true)
			return err
		}
		if !sent {
			s.release(false)
			return nil
		}
	}
}

// request picks the next batches: of the leader of the first one that is not acknowledged, the first one of each
// partition. nil = all done.
func (s *session) request(ctx context.Context, batches []batch) (*rawproduce.Request, error) {
	var leaders map[topicPartition]int32
	leader, size := int32(-1), 0
	req := &rawproduce.Request{
		TransactionalID: s.transactionalID,
		Acks:            -1,
		Timeout:         int32(s.client.cfg.Timeout.Milliseconds() / 2),
	}
	var last topicPartition
	for i := range batches {
		b := &batches[i]
		if b.done || (leaders != nil && b.topicPartition == last) {
			continue // acknowledged, or behind another of its partition, sent now or not
		}
		last = b.topicPartition
		if leaders == nil {
			var err error
			if leaders, err = s.client.leaders(ctx, batches[i:]); err != nil {
				return nil, err
			}
			leader = leaders[b.topicPartition]
		}
		if leaders[b.topicPartition] != leader || (size > 0 && size+len(b.data) > requestBytes) {
			continue
		}
		size += len(b.data)
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != b.topic {
			req.Topics = append(req.Topics, rawproduce.RequestTopic{Topic: b.topic})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, rawproduce.RequestPartition{
			Partition: b.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(b.data)},
		})
	}
	if size == 0 {
		return nil, nil
	}
	s.sending = time.Duration(size) * time.Second / slowest
	return req, nil
}

// acknowledge marks the records that the broker has taken. A partition that the answer leaves out is an unknown
// outcome.
func (s *session) acknowledge(batches []batch, res *produce.Response) error {
	var worst error
	answered := false
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			answered = true
			code := kafka.Error(p.ErrorCode)
			if code != 0 {
				worst = worse(worst, failedAt(opProduce, t.Topic, int(p.Partition), told(code, p.ErrorMessage)))
				continue
			}
			for i := range batches {
				if b := &batches[i]; !b.done && b.topic == t.Topic && b.partition == p.Partition {
					b.done = true
					if p.BaseOffset >= 0 { // else it had been there before
						s.written[b.topicPartition] = p.BaseOffset
					}
					break
				}
			}
		}
	}
	if !answered {
		return &Error{Op: opProduce, Kind: Unknown, Reason: "the answer names no partition", Err: errors.New("empty answer")}
	}
	return worst
}

// leaders looks up who leads the batches' partitions.
func (c *Client) leaders(ctx context.Context, batches []batch) (map[topicPartition]int32, error) {
	var topics []string
	for _, b := range batches { // sorted by topic
		if n := len(topics); n == 0 || topics[n-1] != b.topic {
			topics = append(topics, b.topic)
		}
	}
	known, err := c.metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	leaders := make(map[topicPartition]int32)
	for _, t := range known {
		for _, p := range t.Partitions {
			leaders[topicPartition{t.Name, p.PartitionIndex}] = p.LeaderID
		}
	}
	for _, b := range batches {
		switch leader, ok := leaders[b.topicPartition]; {
		case !ok:
			return nil, failedAt(opProduce, b.topic, int(b.partition), protocol.ErrNoPartition)
		case leader < 0:
			return nil, failedAt(opProduce, b.topic, int(b.partition), protocol.ErrNoLeader)
		}
	}
	return leaders, nil
}

// metadata is the cluster's description of the topics, nil for all of them; at most metadataTTL old.
func (c *Client) metadata(ctx context.Context, topics []string) ([]metadata.ResponseTopic, error) {
	m, err := c.roundTrip(ctx, &metadata.Request{TopicNames: topics}, 0)
	if err != nil {
		return nil, failed("Metadata", err)
	}
	return m.(*metadata.Response).Topics, nil
}

// Produce sends records outside of any transaction, each exactly once as long as this Client lives: an idempotent
// producer, whose batches are sent again under the same sequence when an answer is lost. Records of one partition keep
// their order. Calls are served one at a time.
//
// It tries for three timeouts, or until ctx ends. After an error, of each partition's records some first ones may have
// been written.
func (c *Client) Produce(ctx context.Context, records []Record, compression Compression) error {
	if len(records) == 0 {
		return nil
	}
	c.idempotent.Lock()
	defer c.idempotent.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 3*c.cfg.Timeout)
	defer cancel()
	if c.producer == nil {
		s, err := c.initProducer(ctx, "", 0)
		if err != nil {
			return err
		}
		c.producer = s
	}
	batches, err := c.producer.encode(records, compression, c.cfg.BatchBytes)
	if err == nil {
		err = c.producer.produceAgain(ctx, batches)
	}
	if err != nil {
		c.producer = nil // the sequences are in doubt: the next call begins with a new producer id
	}
	return err
}

// produceAgain produces the batches, again and again while that can help.
func (s *session) produceAgain(ctx context.Context, batches []batch) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	var missing time.Duration // how long a topic has been unknown
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := s.produce(ctx, batches)
		var e *Error
		if !errors.As(err, &e) {
			return err
		}
		switch e.Kind {
		case Environment, Unknown:
			if kafka.Error(e.Code) == kafka.OutOfOrderSequenceNumber || kafka.Error(e.Code) == kafka.UnknownProducerId {
				return err // the broker has lost track of this producer: sending again could write twice
			}
		case NoTopic:
			if missing += pause; missing > 2*metadataTTL {
				return err
			}
		default:
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
	}
}
