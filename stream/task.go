package stream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

const (
	// transactionTimeout is how long the broker keeps an open transaction of a process that is gone.
	transactionTimeout = 30 * time.Second
	// longestTransaction is the timeout of transactions that need more, as on a slow connection. Brokers take 15 minutes
	// unless set otherwise.
	longestTransaction = 8 * time.Minute
)

// owned is the state of a partition with its task's knowledge of it. A generation that ends in order hands it to the
// next one.
type owned struct {
	m          *replay.Machine // the state, and its position
	snap       *state.Snapshotter
	last       state.Done // of the last committed transaction
	answered   int64      // one past the last event that has scores
	scoresFrom int64      // where in the scores topic this line of transactions begins
	dead       deadLetters
	refused    state.Serving // model that Swap refused; not tried again
	eventTimes timestamps
	labelTimes timestamps
	// seen holds the newest messages that were taken in, noted the ones of the state topic. noting: the next transaction
	// with new ones tells them.
	seen, noted state.Seen
	noting      bool

	windows deadWindows
	purge   purging // after orders to forget
}

// course says how far an attempt to own a partition has come.
type course uint8

const (
	restoring course = iota // the partition is being taken over
	working                 // the state is restored, and messages are being taken in
	broken                  // a transaction has failed
	drained                 // everything is committed, nothing is in doubt
)

// task owns one input partition as long as it lives: it alone moves the partition's state. An attempt takes the
// partition over (takeover) and works on it (pipeline); after an error of the environment follows another attempt.
type task struct {
	s   *Stage
	id  int
	gen *txn.Generation
	log *zap.Logger

	producer *txn.Producer
	owned
	committed state.Position // of the last committed transaction
	kept      *kept          // left by this member's task of the generation before; nil = nothing
	notices   notices        // of dead letters
	left      string         // work that the last attempt did not bring to an end, in words; "" = nothing
	// snapshotFirst: no replay leads to the state, for it was carried over or its labels begin elsewhere. So nothing is
	// learnt before there is a snapshot of it.
	snapshotFirst bool
	torn          bool // a broker had left a transaction open that is not repaired yet

	// grown is the number of offsets that the task has taken in the scores topic, or is about to: messages, and a marker
	// for each transaction.
	grown atomic.Int64

	read  int64 // bytes of input taken since the last snapshot began
	wrote int64 // bytes of state written since then

	scoring   scoring
	board     board
	questions chan *question // of Ask
	// answerable is the number of records of questions that answerAsked may answer; below 0 it has answered too many.
	answerable int
	peeked     model.Scores // of the last question

	timeout time.Duration // of transactions; it grows when one has needed more

	// Of the attempt:

	course   course
	advanced bool                                 // a transaction was committed
	heard    struct{ events, labels atomic.Bool } // there was an answer
	horizon  horizon
	ahead    ahead

	labelsHorizon horizon // of the labels topic, for metrics and status alone
}

func newTask(s *Stage, gen *txn.Generation, id int) *task {
	t := &task{s: s, id: id, gen: gen, timeout: s.o.transactionTimeout(), log: s.o.Log.With(zap.Int("partition", id)),
		questions: make(chan *question, askers)}
	t.notices.log = t.log
	t.board.begin(&s.o, id, t.log)
	return t
}

// run owns the partition until ctx ends, another member owns it, or an error comes that waiting does not mend. After a
// failed transaction it takes the partition over anew, from the committed state.
func (t *task) run(ctx context.Context) error {
	defer t.board.phase(Ended, "")
	defer func() { t.notices.tick(t.s.o.Now(), true) }()
	const shortest = 50 * time.Millisecond
	wait, since := shortest, time.Time{}
	for {
		err := t.attempt(ctx)
		if ctx.Err() != nil {
			t.leave(err)
			return nil
		}
		if err == nil {
			return nil
		}
		switch kind := txn.KindOf(err); {
		case txn.Shrunk(err): // smaller messages, or such without the refused timestamps, may be taken
			t.log.Warn("a topic refuses what others take", zap.Error(err))
			continue
		case kind == txn.Fenced, kind == txn.StaleGeneration:
			t.log.Info("partition has another owner", zap.Error(err))
			return nil
		case kind == txn.Environment, kind == txn.Unknown, kind == txn.NoTopic:
		case kind == txn.Credentials, kind == txn.Handshake: // this member has joined by them: they are being changed
		case kind == txn.OutOfRange: // messages to be read are gone: the policies decide
		default:
			return err
		}
		t.s.o.Metrics.Commits.WithLabelValues("aborted").Inc()
		now := t.s.o.Now()
		if t.advanced || t.idle() || since.IsZero() {
			since, wait = now, shortest
		}
		if now.Sub(since) > t.s.o.Patience {
			return fmt.Errorf("giving up after %v: %w", t.s.o.Patience, err)
		}
		t.log.Warn("starting over from the last commit", zap.Error(err), zap.Duration("wait", wait))
		t.board.phase(Waiting, err.Error())
		select {
		case <-ctx.Done():
			t.leave(err)
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// idle reports whether the attempt lacked nothing but messages to commit.
func (t *task) idle() bool {
	return t.m != nil && t.course != broken && t.m.At == t.committed && t.heard.events.Load() &&
		(t.heard.labels.Load() || t.s.o.Topics.Labels == "")
}

// leave ends the ownership with its generation, or with the stage. A drained state is left to the next generation; the
// stage is told of uncommitted work.
func (t *task) leave(err error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping() && t.left != "":
		s.unflushed = append(s.unflushed, t.left)
	case !s.stopping() && err == nil && t.course == drained:
		if s.kept == nil {
			s.kept = map[int]*kept{}
		}
		s.kept[t.id] = &kept{t.gen.ID, t.owned}
	case err != nil:
		t.log.Info("uncommitted work is left to the next owner", zap.Error(err))
	}
}

// attempt takes the partition over and works on it until ctx ends (nil) or a transaction fails.
func (t *task) attempt(ctx context.Context) (err error) {
	t.course, t.advanced = restoring, false
	t.heard.events.Store(false)
	t.heard.labels.Store(false)
	t.board.phase(TakingOver, "")
	began := t.s.o.Now()
	o := &t.s.o
	// InitProducerID first: it ends the transactions that a former owner left open, and only after it the state topic
	// tells how far the partition is committed.
	id := o.Name + "-" + strconv.Itoa(t.id)
	if t.producer, err = t.newProducer(ctx, id); err != nil {
		return fmt.Errorf("taking over the transactional id %s: %w", id, err)
	}
	t.board.phase(Restoring, "")
	if err := takeOver(ctx, t); err != nil {
		return err
	}
	t.course, t.left = working, ""
	o.Metrics.RestoreTime.Observe(o.Now().Sub(began).Seconds())
	t.board.phase(Running, "")

	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	t.horizon.forget(t.m.At.Events)
	t.labelsHorizon.forget(t.m.At.Labels)
	t.board.restored()
	p := newPipeline(t)
	p.events = t.s.read(inner, &readers, t.s.budget.events, t.seeEvents, o.Topics.Events, t.id, t.m.At.Events)
	if o.Topics.Labels != "" {
		p.labels = t.s.read(inner, &readers, t.s.budget.labels, t.seeLabels, o.Topics.Labels, t.id, t.m.At.Labels)
	}
	if err = p.run(ctx); err != nil {
		t.left = fmt.Sprintf("partition %d was not written to a last snapshot: %v", t.id, err)
		if t.m.At != t.committed {
			t.left = fmt.Sprintf("partition %d was not flushed beyond offset %d: %v", t.id, t.committed.Events, err)
		}
	}
	return err
}

// newProducer takes the transactional id over. A broker that takes no such long timeout gets the usual one.
func (t *task) newProducer(ctx context.Context, id string) (*txn.Producer, error) {
	p, err := t.s.o.Client.NewProducer(ctx, id, t.timeout)
	if usual := t.s.o.transactionTimeout(); txn.KindOf(err) == txn.Invalid && t.timeout > usual {
		t.timeout = usual
		p, err = t.s.o.Client.NewProducer(ctx, id, t.timeout)
	}
	return p, err
}

// outlived notes that a transaction has taken all of its time: the next attempt has twice as much.
func (t *task) outlived(took time.Duration) {
	if took >= t.timeout*9/10 {
		t.timeout = min(2*t.timeout, longestTransaction)
	}
}
