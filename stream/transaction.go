package stream

import (
	"context"
	"sync"
	"time"

	"liftstream/stream/deadletter"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// transaction holds the output of processed messages until it is committed.
type transaction struct {
	records  []txn.Record
	bytes    int64
	reserved reserved
	since    time.Time // when its first message was processed; zero = it is empty
	snapshot bool      // it holds the manifest of the snapshot being written
	to       state.Position
	spans    spans
	counts   tallies
	reported *reported
	answers  []time.Time            // times of the messages of events that it scores
	ended    time.Time              // when the commit had ended
	took     time.Duration          // of the commit
	done     state.Done             // number 0 = there is nothing to commit
	dead     map[deadletter.ID]bool // dead letters of its messages, known ones included
	repairs  bool                   // it makes a transaction whole that was committed in part
	judging  judging
}

// judging is the time by which a transaction judges the times of its messages. All messages that follow a refused one
// are judged by the same time, so that a replay needs to know no more than that.
type judging struct {
	now  time.Time
	kept bool           // a message was refused for its time: now stays as it is, and the journal has it
	from state.Position // of the first such message: those before were refused by none
}

// begin has a machine judge the next message by that time, or by the kept one.
func (j *judging) begin(now time.Time, m *replay.Machine) {
	if !j.kept {
		j.now = now
	}
	m.Now = j.now.UnixNano()
}

// note takes note of the judgement of the last message that the machine has read, at that position.
func (j *judging) note(m *replay.Machine, events, labels int64) {
	if !j.kept && m.Untimely && m.Now != 0 {
		j.kept, j.from = true, state.Position{Events: events, Labels: labels}
	}
}

// stale reports whether the next message needs another time, so another transaction: a later one, or that of its known
// dead letter.
func (j *judging) stale(t *task, topic string, offset int64) bool {
	now := t.s.o.Now()
	if at := t.dead.clock(topic, offset, now); !at.Equal(now) {
		return j.kept && !at.Equal(j.now)
	}
	return j.kept && now.Sub(j.now) > min(t.s.o.Codec.Future/2, time.Minute)
}

func (x *transaction) add(r txn.Record) {
	x.records = append(x.records, r)
	x.bytes += int64(len(r.Value) + len(r.Key))
}

// addDead counts a dead letter of a message of the transaction.
func (x *transaction) addDead(id deadletter.ID) {
	if x.dead == nil {
		x.dead = map[deadletter.ID]bool{}
	}
	x.dead[id] = true
}

// lateLabels are answers of the labels topic that are not learnt yet.
type lateLabels []fetched

func (l lateLabels) reserved() (n int64) {
	for i := range l {
		n += l[i].reserved
	}
	return n
}

// fetched is one answer of the broker, or the error that ended the reader.
type fetched struct {
	txn.Fetched
	reserved int64
	events   int64 // of labels: where the events topic ended once they were read
	err      error
}

// budgetOf returns the budget that pays for the messages of a topic, and the bytes of one fetch.
func (s *Stage) budgetOf(topic string) (replay.Budget, int64) {
	share := max(s.share.Load(), 64<<10)
	if topic == s.o.Topics.Labels {
		return s.budget.labels, share
	}
	return s.budget.events, share
}

// maxFailures is how many fetches in a row may go without an answer before the partition counts as waiting for its
// brokers.
const maxFailures = 3

// read fetches a partition from offset on into a channel. Each answer is paid for from the in-flight budget, and its
// receiver gives the bytes back. see is called with each answer, an empty one included. It ends with ctx or after an
// error.
func (s *Stage) read(
	ctx context.Context, wg *sync.WaitGroup, budget *budget, see func(context.Context, *fetched), topic string,
	partition int, offset int64,
) <-chan fetched {
	out := make(chan fetched)
	wg.Add(1)
	go func() {
		defer wg.Done()
		failures := 0
		large := int64(0) // bytes of the last answer, where it was one large batch
		for {
			size := max(s.share.Load(), large)
			if budget.Acquire(ctx, size) != nil {
				return
			}
			f, err := s.o.Client.FetchWithin(ctx, topic, partition, offset, int(size), 500*time.Millisecond,
				func(ctx context.Context, n int64) error {
					budget.Charge(-size)
					size, large = 0, 0
					if err := budget.Acquire(ctx, n); err != nil {
						return err
					}
					size, large = n, n
					return nil
				})
			if f.Bytes <= s.share.Load() {
				large = 0
			}
			if err == nil {
				failures = 0
			} else if failures++; txn.KindOf(err) == txn.Unknown && failures < maxFailures && ctx.Err() == nil {
				budget.Charge(-size) // a fetch has no effect: ask again
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
				}
				continue
			}
			budget.Charge(f.Bytes - size)
			answer := fetched{Fetched: f, reserved: f.Bytes, err: err}
			if err == nil {
				see(ctx, &answer)
			}
			if err == nil && f.Next == offset {
				budget.Charge(-f.Bytes)
				continue
			}
			select {
			case out <- answer:
			case <-ctx.Done():
				budget.Charge(-f.Bytes)
				return
			}
			if err != nil {
				return
			}
			offset = f.Next
		}
	}()
	return out
}
