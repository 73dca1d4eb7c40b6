package txn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addoffsetstotxn"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
	"github.com/segmentio/kafka-go/protocol/txnoffsetcommit"
)

// Transaction is the content of one Commit, which becomes visible as a whole or not at all.
type Transaction struct {
	// Records go to their partitions in this order. The slices are read until Commit returns, never changed.
	Records     []Record
	Compression Compression

	// Offsets are the group's next offsets to read, by topic and partition; empty = none.
	Offsets map[string]map[int]int64
	Group   string
	Note    string // stands beside each of the offsets; brokers take 4 KiB by default
	// Member and Generation are those of the group's generation in which the caller owns the partitions (see
	// Generation). They are always sent: they keep a former owner from committing.
	Member     string
	Generation int
}

// Producer runs transactions under one transactional id. It belongs to one goroutine at a time.
type Producer struct {
	client   *Client
	id       string
	timeout  time.Duration
	session  *session
	poisoned error // why Commit refuses; nil = usable
}

var errNotInitialised = errors.New("no producer id yet")

// NewProducer takes over transactionalID: it fences the producer that used it before, aborts or completes that one's
// open transaction, and gives a producer that is ready to Commit. timeout is the longest that one transaction may take,
// above 0 and at most the broker's transaction.max.timeout.ms (15 minutes by default); Commit keeps to it, and the
// broker aborts the transaction of an ended process after it.
//
// It waits while the broker's coordinators are starting or the former transaction is completing, for three of the
// client's timeouts at most.
func (c *Client) NewProducer(ctx context.Context, transactionalID string, timeout time.Duration) (*Producer, error) {
	p := &Producer{client: c, id: transactionalID, timeout: timeout, poisoned: errNotInitialised}
	if err := p.Recover(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Recover makes the producer usable after a failed Commit: InitProducerID again, which aborts an open transaction, ends
// one that was being completed, and bars every earlier request that is still under way. Whether the failed transaction
// took effect shows in its records, afterwards and not before; the caller must look and go on from there. All records
// that this id ever wrote are decided by then, and none of them lies above the last stable offset, but after the death
// of a broker: see Discard. ConsumerGroup.Offsets may be behind then for good.
func (p *Producer) Recover(ctx context.Context) error {
	s, err := p.client.initProducer(ctx, p.id, p.timeout)
	if err != nil {
		p.poisoned = err
		return err
	}
	p.session, p.poisoned = s, nil
	return nil
}

// initProducer asks for a producer id; an empty transactionalID asks for an idempotent one.
func (c *Client) initProducer(ctx context.Context, transactionalID string, timeout time.Duration) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.cfg.Timeout)
	defer cancel()
	// -1 and -1 always: zeros would claim to be producer 0 in epoch 0.
	req := &initproducerid.Request{
		TransactionalID:      transactionalID,
		TransactionTimeoutMs: int32(timeout.Milliseconds()),
		ProducerID:           -1,
		ProducerEpoch:        -1,
	}
	var res *initproducerid.Response
	err := c.step(ctx, opInit, func() error {
		m, err := c.roundTrip(ctx, req, 0)
		if err != nil {
			return failed(opInit, err)
		}
		res = m.(*initproducerid.Response)
		return coded(opInit, "", 0, res.ErrorCode)
	})
	if err != nil {
		return nil, err
	}
	return &session{
		client: c, transactionalID: transactionalID, id: res.ProducerID, epoch: res.ProducerEpoch,
		sequence: make(map[topicPartition]int32), written: make(map[topicPartition]int64),
	}, nil
}

// Discard aborts the transactions before Recover that are still open in the named partitions, by topic. None should be:
// but a broker that starts again while a transaction is being completed may take partitions whose leader it does
// not know yet for deleted ones, and say that the transaction is complete without having written its markers there
// (Kafka 4.4.0, TransactionMarkerChannelManager). Of one transaction some partitions are committed then, and others
// open for ever: readers of committed records wait there, and the next transaction of this producer decides, by its own
// end, over the open records. A transaction that holds nothing and is aborted ends them. Partitions with a marker stay
// as they are, so the transaction may be committed in part: a caller that cannot bear that compares the partitions and
// writes the missing records again.
func (p *Producer) Discard(ctx context.Context, partitions map[string][]int) error {
	if p.poisoned != nil {
		return &Error{Op: "Discard", Kind: Poisoned, Reason: "Recover must come first", Err: p.poisoned}
	}
	if len(partitions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	var empty []batch
	for _, topic := range sortedKeys(partitions) {
		for _, partition := range slices.Sorted(slices.Values(partitions[topic])) {
			empty = append(empty, batch{topicPartition: topicPartition{topic, int32(partition)}})
		}
	}
	err := p.addPartitions(ctx, empty)
	if err == nil {
		err = p.end(ctx, false)
	}
	if err != nil {
		p.poisoned = err
		return err
	}
	return p.Recover(ctx) // which waits for the markers
}

// Written is the offset of the first record of the last batch that this producer, since Recover, has written to a
// partition; false when it has written none. It is committed if Commit has returned nil since.
func (p *Producer) Written(topic string, partition int) (offset int64, ok bool) {
	if p.session == nil {
		return 0, false
	}
	offset, ok = p.session.written[topicPartition{topic, int32(partition)}]
	return offset, ok
}

// Commit runs one whole transaction: all partitions are added, the records produced, the offsets added and sent, the
// end committed, strictly one after another. A Transaction with neither records nor offsets does nothing. When it
// returns nil, everything is committed; the offset that the broker gives for the group may lag for an instant all the
// same, and the caller's own is right.
//
// After an error the producer refuses further use until Recover. ctx is for giving up (the outcome is then unknown),
// not for the end of a generation: a transaction under way had better be finished.
func (p *Producer) Commit(ctx context.Context, t Transaction) error {
	if p.poisoned != nil {
		return &Error{Op: "Commit", Kind: Poisoned, Reason: "Recover must come first", Err: p.poisoned}
	}
	if len(t.Records) == 0 && len(t.Offsets) == 0 {
		return nil // EndTxn of an empty transaction is an error to the broker
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	err := p.commit(ctx, &t)
	if err == nil {
		return nil
	}
	p.poisoned = err
	var e *Error
	if ctx.Err() != nil && errors.As(err, &e) && e.Kind == Fenced {
		// Past its time the broker itself bumps the epoch: that is not another owner.
		e.Kind, e.Reason = Unknown, "the transaction outlived its timeout, or was given up"
	}
	return err
}

func (p *Producer) commit(ctx context.Context, t *Transaction) error {
	s := p.session
	if len(t.Records) > 0 {
		batches, err := s.encode(t.Records, t.Compression, p.client.cfg.BatchBytes)
		if err != nil {
			return err
		}
		if err := p.addPartitions(ctx, batches); err != nil {
			return err
		}
		if err := s.produce(ctx, batches); err != nil {
			return err
		}
	}
	if len(t.Offsets) > 0 {
		if err := p.addOffsets(ctx, t); err != nil {
			return err
		}
	}
	return p.end(ctx, true)
}

func (p *Producer) addPartitions(ctx context.Context, batches []batch) error {
	const op = "AddPartitionsToTxn"
	s, c := p.session, p.client
	req := &addpartitionstotxn.Request{TransactionalID: p.id, ProducerID: s.id, ProducerEpoch: s.epoch}
	for i, b := range batches { // sorted by topic and partition
		if i > 0 && b.topicPartition == batches[i-1].topicPartition {
			continue
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Name != b.topic {
			req.Topics = append(req.Topics, addpartitionstotxn.RequestTopic{Name: b.topic})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, b.partition)
	}
	return c.step(ctx, op, func() error {
		m, err := c.roundTrip(ctx, req, 0)
		if err != nil {
			return failed(op, err)
		}
		var worst error
		for _, t := range m.(*addpartitionstotxn.Response).Results {
			for _, r := range t.Results {
				worst = worse(worst, coded(op, t.Name, int(r.PartitionIndex), r.ErrorCode))
			}
		}
		return worst
	})
}

func (p *Producer) addOffsets(ctx context.Context, t *Transaction) error {
	s, c := p.session, p.client
	const opAdd, opCommit = "AddOffsetsToTxn", "TxnOffsetCommit"
	add := &addoffsetstotxn.Request{TransactionalID: p.id, ProducerID: s.id, ProducerEpoch: s.epoch, GroupID: t.Group}
	err := c.step(ctx, opAdd, func() error {
		m, err := c.roundTrip(ctx, add, 0)
		if err != nil {
			return failed(opAdd, err)
		}
		return coded(opAdd, "", 0, m.(*addoffsetstotxn.Response).ErrorCode)
	})
	if err != nil {
		return err
	}
	commit := &txnoffsetcommit.Request{
		TransactionalID: p.id, GroupID: t.Group, ProducerID: s.id, ProducerEpoch: s.epoch,
		GenerationID: int32(t.Generation), MemberID: t.Member,
	}
	for _, topic := range sortedKeys(t.Offsets) {
		rt := txnoffsetcommit.RequestTopic{Name: topic}
		for _, partition := range sortedKeys(t.Offsets[topic]) {
			rt.Partitions = append(rt.Partitions, txnoffsetcommit.RequestPartition{
				Partition: int32(
					partition,
				), CommittedOffset: t.Offsets[topic][partition], CommittedLeaderEpoch: -1, CommittedMetadata: t.Note,
			})
		}
		commit.Topics = append(commit.Topics, rt)
	}
	return c.step(ctx, opCommit, func() error {
		m, err := c.roundTrip(ctx, commit, 0)
		if err != nil {
			return failed(opCommit, err)
		}
		var worst error
		for _, t := range m.(*txnoffsetcommit.Response).Topics {
			for _, r := range t.Partitions {
				worst = worse(worst, coded(opCommit, t.Name, int(r.Partition), r.ErrorCode))
			}
		}
		return worst
	})
}

func (p *Producer) end(ctx context.Context, commit bool) error {
	const op = "EndTxn"
	s, c := p.session, p.client
	req := &endtxn.Request{TransactionalID: p.id, ProducerID: s.id, ProducerEpoch: s.epoch, Committed: commit}
	return c.step(ctx, op, func() error {
		m, err := c.roundTrip(ctx, req, 0)
		if err != nil {
			return failed(op, err)
		}
		return coded(op, "", 0, m.(*endtxn.Response).ErrorCode)
	})
}

// step runs one step of the protocol again and again while its error is of Kind Retry. When ctx ends first, the step
// has had no effect, but the transaction cannot go on: Environment.
func (c *Client) step(ctx context.Context, op string, f func() error) error {
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := f()
		if KindOf(err) != Retry {
			return err
		}
		if !sleep(ctx, pause) {
			var e *Error
			errors.As(err, &e)
			return &Error{
				Op:        op,
				Topic:     e.Topic,
				Partition: e.Partition,
				Kind:      Environment,
				Code:      e.Code,
				Reason:    "still so at the time limit: " + e.Reason,
				Err:       e.Err,
			}
		}
	}
}

// coded turns the error code of an answer into an error, nil for 0.
func coded(op, topic string, partition int, code int16) error {
	if code == 0 {
		return nil
	}
	return failedAt(op, topic, partition, kafka.Error(code))
}

// notAttempted is said of partitions whose request failed because of another one's. kafka-go calls the code
// BrokerAuthorizationFailed.
const notAttempted = 55

// worse picks, of two errors of one answer, the one to decide by: one that ends the transaction before one that may be
// tried again, and before those two the one that is the cause.
func worse(a, b error) error {
	if a == nil || b != nil && (KindOf(a) == Retry || codeOf(a) == notAttempted) && codeOf(b) != notAttempted {
		return b
	}
	return a
}

func codeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
