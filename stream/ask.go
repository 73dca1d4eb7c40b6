package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"liftstream/model"
	"liftstream/stream/txn"
)

// A score that is asked for (Ask) is given by the task of the partition, between two records of a message or while it
// waits for something: it alone may touch the state. So the answer is of the state as it stands, no state is copied and
// no lock is taken for a record. The price is the wait for the record in hand, or longer while a message is decoded or
// its scores are encoded.

const (
	// askers bounds the questions that wait at one partition.
	askers = 256
)

// AskRows is the most records of a question. It is answered in one piece, so more records are asked for in several.
const AskRows = 1024

// answeredRows is the most records of questions that a task answers before it goes on with its messages. After that it
// answers as many as it takes in itself: questions cannot stop the stream.
const answeredRows = AskRows / 4

// question asks for the scores of the records of a batch.
type question struct {
	batch *model.Batch
	use   func(s *model.Scores, l *model.Levels)
	taken atomic.Bool // by the task, which then answers, or by the asker, who then goes away
	done  chan struct{}
	err   error // valid once done is closed
}

// NotHeldError is returned where another member of the group owns a partition, or nobody does at the moment.
type NotHeldError struct {
	Partition int
	Held      []int // the partitions of this process
}

func (e *NotHeldError) Error() string {
	return fmt.Sprintf("this process does not hold partition %d; it holds %v", e.Partition, e.Held)
}

// BusyError is returned where the task of a partition did not answer in time, or cannot answer yet.
type BusyError struct {
	Partition int
	Doing     string // its phase in words
	Full      bool   // too many questions wait already
}

func (e *BusyError) Error() string {
	if e.Full {
		return fmt.Sprintf("too many requests wait for partition %d", e.Partition)
	}
	return fmt.Sprintf("partition %d does not answer in time: %s", e.Partition, e.Doing)
}

// errAsked is returned where scoring has panicked, which no record may bring about.
var errAsked = errors.New("the records cannot be scored")

// Partitions returns the partitions that this process holds, ascending, and the number of all of them; none of 0 before
// the stage has joined its group.
func Partitions(s *Stage) (held []int, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation == 0 {
		return nil, 0
	}
	for _, t := range s.tasks {
		if t.board.read().Phase != Ended {
			held = append(held, t.id)
		}
	}
	return held, s.partitions
}

// PartitionOf is the partition, of n, of the records of an id.
func PartitionOf(id string, n int) int { return txn.Partition([]byte(id), n) }

// Ask scores the records of a batch by the state of a partition as it is now, as model.Peek does: nothing is learnt,
// and nothing moves. use gets the scores, and the levels with which they are rendered, on the goroutine that owns the
// state: it must be quick, and must copy its findings. The batch must not change meanwhile. Without an answer Ask
// returns a *NotHeldError or a *BusyError, the latter also where ctx ends.
func Ask(
	ctx context.Context, s *Stage, partition int, b *model.Batch, use func(s *model.Scores, l *model.Levels),
) error {
	t, err := holder(s, partition)
	if err != nil {
		return err
	}
	doing := t.board.read()
	if !doing.Phase.answers() {
		return &BusyError{Partition: partition, Doing: doing.Doing}
	}
	q := &question{batch: b, use: use, done: make(chan struct{})}
	select {
	case t.questions <- q:
	default:
		return &BusyError{Partition: partition, Full: true}
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
	}
	if q.taken.CompareAndSwap(false, true) {
		return &BusyError{Partition: partition, Doing: t.board.read().Doing}
	}
	<-q.done // it is being answered
	return q.err
}

// holder returns the task of a partition.
func holder(s *Stage, partition int) (*task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &NotHeldError{Partition: partition, Held: []int{}}
	for _, t := range s.tasks {
		if t.board.read().Phase == Ended {
			continue
		}
		if t.id == partition {
			return t, nil
		}
		e.Held = append(e.Held, t.id)
	}
	return nil, e
}

// answers reports whether a task in the phase has a state to answer from.
func (p Phase) answers() bool { return p == Running || p == Paused || p == Draining }

// answerAsked answers the questions that wait before a record of a message. Each such record makes room for one of a
// question, and a question may take more than there is: the records after it make up for that. Then it makes way for
// those who asked: each is the next to run on the processor of the task, which would go on with the message for up to
// ten milliseconds where the other processors are busy.
func answerAsked(t *task) {
	t.answerable = min(t.answerable+1, answeredRows)
	if t.answerable <= 0 || len(t.questions) == 0 {
		return
	}
	for t.answerable > 0 && len(t.questions) > 0 { // nobody else receives them
		q := <-t.questions
		t.answerable -= q.batch.N
		q.answer(t)
	}
	runtime.Gosched()
}

// answer answers a question whose asker still waits.
func (q *question) answer(t *task) {
	if !q.taken.CompareAndSwap(false, true) {
		return
	}
	defer close(q.done)
	defer func() {
		if p := recover(); p != nil {
			q.err = fmt.Errorf("%w: %v", errAsked, p)
		}
	}()
	model.Peek(t.m.Part, q.batch, &t.peeked, func(l *model.Levels) { q.use(&t.peeked, l) })
}

// asked is the channel of questions for the waits of a pipeline: nil where its state belongs to no position.
func (p *pipeline) asked() <-chan *question {
	if p.torn {
		return nil
	}
	return p.t.questions
}
