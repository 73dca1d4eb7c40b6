package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDecisions answers one step of a commit with each code that decides something, and looks at the outcome of the
// transaction.
func TestDecisions(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	b := &broker{name: "kfake", addrs: cluster.ListenAddrs()}
	ctx, c := testContext(t), b.client(t)
	s, _ := newConsume(t, c, 4000)

	// answer refuses the next requests of that kind.
	answer := func(api int16, code int16, times int) {
		for range times {
			cluster.ControlKey(api, func(req kmsg.Request) (kmsg.Response, error, bool) { return refusal(req, code), nil, true })
		}
	}
	steps := []int16{apiAddPartitions, apiProduce, apiAddOffsets, apiTxnOffsetCommit, apiEndTxn}
	for _, test := range []struct {
		code kafka.Error
		want Kind
	}{
		{kafka.ConcurrentTransactions, Retry},
		{kafka.NotEnoughReplicas, Retry},
		{kafka.ProducerFenced, Fenced},
		{kafka.InvalidProducerEpoch, Fenced},
		{kafka.IllegalGeneration, StaleGeneration},
		{kafka.UnknownMemberId, StaleGeneration},
		{kafka.RebalanceInProgress, StaleGeneration},
		{kafka.InvalidTransactionState, Unknown},
		{kafka.InvalidProducerIDMapping, Unknown},
		{kafka.OutOfOrderSequenceNumber, Unknown},
		{kafka.NotEnoughReplicasAfterAppend, Unknown},
		{kafka.RequestTimedOut, Unknown},
		{kafka.Unknown, Unknown},
		{kafka.MessageSizeTooLarge, TooLarge},
		{kafka.TopicAuthorizationFailed, Denied},
		{kafka.TransactionalIDAuthorizationFailed, Denied},
		{kafka.InvalidRecord, Invalid},
		{kafka.UnknownTopicOrPartition, NoTopic},
		{kafka.NotLeaderForPartition, Environment},
		{kafka.NotCoordinatorForGroup, Environment},
		{kafka.GroupLoadInProgress, Environment},
		{kafka.GroupCoordinatorNotAvailable, Environment},
		{kafka.KafkaStorageError, Environment},
		{kafka.Error(12345), Environment}, // a code of the future
	} {
		for _, step := range steps {
			what := fmt.Sprintf("code %d at step %d", int(test.code), step)
			answer(step, int16(test.code), 3)
			before := s.next
			err := s.once(ctx, 3)
			if test.want == Retry {
				if err != nil || s.next != before+3 {
					t.Errorf("%s: got %v, want the step to be repeated", what, err)
				}
				continue
			}
			mustKind(t, what, err, test.want)
			var e *Error
			if !errors.As(err, &e) || e.Code != int(test.code) || e.Reason == "" || !errors.Is(err, test.code) {
				t.Errorf("%s: got %#v", what, err)
			}
			for err != nil { // the refusals that are left
				err = s.once(ctx, 3)
			}
		}
	}
	var got []string
	for partition := range 2 {
		got = append(got, values(read(t, c, s.out, partition, 0))...)
	}
	slices.Sort(got)
	for i, v := range got {
		if v != fmt.Sprintf("%06d", i) {
			t.Fatalf("record %d of the output is %s", i, v)
		}
	}
	if int64(len(got)) != s.next {
		t.Errorf("%d records, offset %d", len(got), s.next)
	}

	t.Run("InitProducerID", func(t *testing.T) {
		for _, test := range []struct {
			code kafka.Error
			want Kind
		}{
			{kafka.ConcurrentTransactions, 0}, {kafka.GroupLoadInProgress, 0}, {kafka.GroupCoordinatorNotAvailable, 0},
			{kafka.NotCoordinatorForGroup, 0},
			{kafka.InvalidTransactionTimeout, Invalid}, {kafka.TransactionalIDAuthorizationFailed, Denied},
		} {
			answer(apiInitProducerID, int16(test.code), 3)
			if err := s.p.Recover(ctx); KindOf(err) != test.want {
				t.Errorf("code %d: got %v, want kind %v", int(test.code), err, test.want)
			}
			for s.p.Recover(ctx) != nil {
			}
		}
	})

	t.Run("RetryEnds", func(t *testing.T) {
		// A step that is to be repeated for ever is given up at the transaction's timeout.
		p, err := c.NewProducer(ctx, unique("id"), 500*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		cluster.ControlKey(apiAddPartitions, func(req kmsg.Request) (kmsg.Response, error, bool) {
			if stop.Load() {
				return nil, nil, false
			}
			cluster.KeepControl()
			return refusal(req, int16(kafka.ConcurrentTransactions)), nil, true
		})
		mustKind(
			t,
			"CONCURRENT_TRANSACTIONS for ever",
			p.Commit(ctx, Transaction{Records: []Record{record(s.out, 0, "x")}}),
			Environment,
		)
		stop.Store(true)
	})

	t.Run("Cancelled", func(t *testing.T) {
		p := mustProducer(t, c, unique("id"))
		gone, cancel := context.WithCancel(ctx)
		cancel()
		err := p.Commit(gone, Transaction{Records: []Record{record(s.out, 0, "x")}})
		mustKind(t, "a cancelled commit", err, Unknown)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// refusal answers a request with one code everywhere.
func refusal(req kmsg.Request, code int16) kmsg.Response {
	res := req.ResponseKind()
	switch req := req.(type) {
	case *kmsg.InitProducerIDRequest:
		res.(*kmsg.InitProducerIDResponse).ErrorCode = code
	case *kmsg.AddPartitionsToTxnRequest:
		for _, t := range req.Topics {
			rt := kmsg.NewAddPartitionsToTxnResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			r := res.(*kmsg.AddPartitionsToTxnResponse)
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.ProduceRequest:
		for _, t := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.BaseOffset = p.Partition, code, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			r := res.(*kmsg.ProduceResponse)
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.AddOffsetsToTxnRequest:
		res.(*kmsg.AddOffsetsToTxnResponse).ErrorCode = code
	case *kmsg.TxnOffsetCommitRequest:
		for _, t := range req.Topics {
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			r := res.(*kmsg.TxnOffsetCommitResponse)
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.EndTxnRequest:
		res.(*kmsg.EndTxnResponse).ErrorCode = code
	}
	return res
}

func TestKindNames(t *testing.T) {
	for k := Environment; k <= Retry; k++ {
		if k.String() == "" || k.String()[0] == 'K' {
			t.Errorf("kind %d has no name", int(k))
		}
	}
	if KindOf(nil) != 0 || KindOf(errors.New("x")) != 0 {
		t.Error("errors of others have no kind")
	}
}

func TestErrorsNameThePlaceThatTheyAreAbout(t *testing.T) {
	for want, e := range map[string]*Error{
		"Fetch t/0: x (environment: y)": {Op: "Fetch", Topic: "t", Kind: Environment, Reason: "y", Err: errors.New("x")},
		"Metadata t: x (no such topic: y)": {Op: "Metadata", Topic: "t", Partition: -1, Kind: NoTopic, Reason: "y",
			Err: errors.New("x")},
		"EndTxn: x (unknown outcome: y)": {Op: "EndTxn", Partition: -1, Kind: Unknown, Reason: "y", Err: errors.New("x")},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}
