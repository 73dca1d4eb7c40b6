package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"liftstream/stream/state"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

const (
	// transactionTimeout is how long the broker keeps an open transaction of a process that is gone.
	transactionTimeout = 30 * time.Second
	// outputBytes is how much output makes a transaction due before its time.
	outputBytes = 8 << 20
	// letterBytes is what a dead letter takes beside its row and what it repeats of its message.
	letterBytes = 1 << 10
)

// Phases of a partition that others look at.
const (
	phaseRunning = "running"
	phaseEnded   = "ended"
)

// PolicyError is returned by Run where the world does not match the state and the configuration says to stop.
type PolicyError struct {
	Policy    string // the key of the configuration; "" = no setting makes it go on
	Partition int
	Problem   string
	Remedy    string // what to do; "" = set the policy to rebuild
}

func (e *PolicyError) Error() string {
	if e.Policy == "" {
		return e.Problem
	}
	if e.Remedy != "" {
		return fmt.Sprintf("partition %d: %s; %s", e.Partition, e.Problem, e.Remedy)
	}
	return fmt.Sprintf("partition %d: %s; policy.%s is fail: set it to rebuild to go on with an empty state from what is there", e.Partition, e.Problem, e.Policy)
}

// owned is what a task knows of its partition. A generation that ends in order hands all of it to the next one.
type owned struct {
	part     *model.Partition
	snap     *state.Snapshotter
	at       state.Position    // what the state has taken in
	last     state.Done        // of the last committed transaction
	answered int64             // one past the last event that has scores
	scoresAt int64             // where in the scores topic this line of transactions begins
	deadAt   int64             // where in the dead-letter topic the letters of the next transaction must be looked for
	letters  map[letterID]bool // dead letters that are there though their transaction is not
	journal  uint64            // number of the next journal record
	refused  int64             // model version that Swap refused; not tried again
	end      int64             // where the events topic ended when last asked
	newest   time.Time         // of the events

	deadEvents, deadLabels deadWindow
}

// task owns one input partition as long as it lives: it alone moves the partition's state.
type task struct {
	s   *Stage
	id  int
	gen *txn.Generation
	log *zap.Logger

	spec     *model.Spec // Options.Spec, but while a state of another schema is replayed
	producer *txn.Producer
	decoder  *codec.Decoder
	encoder  *codec.ScoreEncoder
	owned
	done     state.Position   // what is committed
	claimed  bool             // the last transaction says in state and group where the partition stands
	redo     redo             // what a transaction that was committed in part has left undone
	ahead    map[string]ahead // of the replays, by topic
	kept     *kept            // what this member's task of the generation before left; nil = nothing
	read     int64            // bytes of input taken since the last snapshot began
	wrote    int64            // bytes of state written since then
	progress bool             // something was committed since the last failure
	broken   bool             // a transaction has failed
	settled  bool             // nothing is in doubt: the state is the committed one
	told     model.Losses     // those of the state that the metric has
	working  bool             // the state is restored, and events are being taken in
	left     string           // what the last attempt did not bring to an end; "" = nothing
	carried  bool             // the state is not one that a replay leads to: nothing is learnt before there is a snapshot of it

	heard struct{ events, labels atomic.Bool } // there was an answer since the last failure

	batch  model.Batch
	carry  codec.Carry
	labels model.Labels
	scores model.Scores
	value  []byte

	mu     sync.Mutex
	status PartitionStatus
}

func newTask(s *Stage, gen *txn.Generation, id int) (*task, error) {
	t := &task{s: s, id: id, gen: gen, spec: s.o.Spec, log: s.o.Log.With(zap.Int("partition", id))}
	t.status = PartitionStatus{Partition: int32(id), Phase: "taking over", Offset: -1}
	var err error
	if t.decoder, err = codec.NewDecoder(s.o.Codec); err != nil {
		return nil, err
	}
	t.encoder, err = codec.NewScoreEncoder(s.o.Codec)
	return t, err
}

func (t *task) phase(text string) {
	t.mu.Lock()
	t.status.Phase = text
	t.mu.Unlock()
}

// run owns the partition until ctx ends, somebody else owns it, or an error that waiting does not mend. After a failed
// transaction it begins anew from what is committed.
func (t *task) run(ctx context.Context) error {
	defer t.phase(phaseEnded)
	const shortest = 50 * time.Millisecond
	wait, since := shortest, time.Time{}
	for {
		t.progress, t.broken, t.settled, t.working = false, false, false, false
		t.heard.events.Store(false)
		t.heard.labels.Store(false)
		err := t.own(ctx)
		if err != nil && t.working {
			if t.left = fmt.Sprintf("partition %d was not written to a last snapshot: %v", t.id, err); t.at != t.done {
				t.left = fmt.Sprintf("partition %d was not flushed beyond offset %d: %v", t.id, t.done.Events, err)
			}
		}
		if ctx.Err() != nil {
			t.leave(err)
			return nil
		}
		if err == nil {
			return nil
		}
		switch txn.KindOf(err) {
		case txn.Fenced, txn.StaleGeneration:
			t.log.Info("partition has another owner", zap.Error(err))
			return nil
		case txn.Environment, txn.Unknown, txn.NoTopic:
		case txn.Credentials, txn.Handshake: // this member has joined by them: they are being changed
		case txn.OutOfRange: // what was to be read is gone: the policies decide
		default:
			return err
		}
		t.s.o.Metrics.Commits.WithLabelValues("aborted").Inc()
		now := t.s.o.Now()
		if t.progress || t.idle() || since.IsZero() {
			since, wait = now, shortest
		}
		if now.Sub(since) > t.s.o.Patience {
			return fmt.Errorf("giving up after %v: %w", t.s.o.Patience, err)
		}
		t.log.Warn("starting over from the last commit", zap.Error(err), zap.Duration("wait", wait))
		t.phase("waiting: " + err.Error())
		select {
		case <-ctx.Done():
			t.leave(err)
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// idle reports whether all that was lacking was something to commit.
func (t *task) idle() bool {
	return !t.broken && t.at == t.done && t.heard.events.Load() && (t.heard.labels.Load() || t.s.o.Topics.Labels == "")
}

// leave ends the ownership with its generation, or with the stage: a state without doubt is left to the next
// generation; what could not be committed is told to whoever stops the stage.
func (t *task) leave(err error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping() && t.left != "":
		s.unflushed = append(s.unflushed, t.left)
	case !s.stopping() && err == nil && t.settled:
		if s.kept == nil {
			s.kept = map[int]*kept{}
		}
		s.kept[t.id] = &kept{t.gen.ID, t.owned}
	case err != nil:
		t.log.Info("what was not committed is left to the next owner", zap.Error(err))
	}
}

// transaction is what is processed and not yet committed.
type transaction struct {
	records  []txn.Record
	bytes    int64
	reserved reserved
	begun    time.Time
	snapshot bool // holds the manifest of the snapshot being written
	to       state.Position
	done     state.Done        // number 0 = there is nothing to commit
	buried   map[letterID]bool // dead letters of its messages, those among them that are there already
}

func (x *transaction) add(r txn.Record) {
	x.records = append(x.records, r)
	x.bytes += int64(len(r.Value) + len(r.Key))
}

// bury counts a dead letter of a message of the transaction.
func (x *transaction) bury(id letterID) {
	if x.buried == nil {
		x.buried = map[letterID]bool{}
	}
	x.buried[id] = true
}

// own takes the partition over and processes it until ctx ends (nil) or a transaction fails.
func (t *task) own(ctx context.Context) (err error) {
	t.phase("taking over")
	began := t.s.o.Now()
	o := &t.s.o
	// InitProducerID first: it ends what a former owner left open, and only after it the state topic tells all that is
	// committed.
	id := o.Name + "-" + strconv.Itoa(t.id)
	if t.producer, err = o.Client.NewProducer(ctx, id, transactionTimeout); err != nil {
		return fmt.Errorf("taking over the transactional id %s: %w", id, err)
	}
	t.phase("restoring")
	if err := t.restore(ctx); err != nil {
		return err
	}
	if !t.claimed || t.redo.claim || len(t.redo.x.records) > 0 {
		if err := t.claim(); err != nil {
			return err
		}
	}
	t.redo.x, t.ahead, t.working, t.left = nil, nil, true, ""
	o.Metrics.RestoreTime.Observe(o.Now().Sub(began).Seconds())
	t.phase(phaseRunning)

	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	events := t.s.read(inner, &readers, t.s.budget.events, &t.heard.events, o.Topics.Events, t.id, t.at.Events)
	var labels <-chan fetched
	if o.Topics.Labels != "" {
		labels = t.s.read(inner, &readers, t.s.budget.labels, &t.heard.labels, o.Topics.Labels, t.id, t.at.Labels)
	}
	return t.loop(ctx, events, labels)
}

// loop is the pipeline of depth one: the next transaction is processed while the one before is committed.
func (t *task) loop(ctx context.Context, events, labels <-chan fetched) error {
	o := &t.s.o
	var (
		open       = &transaction{}
		committing *transaction
		done       = make(chan error, 1)
		late       lateLabels
		timer      = time.NewTimer(time.Hour)
		lastSnap   time.Time
		pace       = state.Pace{Rate: float64(o.SnapshotRate)}
	)
	if t.snap.Last != nil { // else the first commit begins the first snapshot
		lastSnap = o.Now()
	}
	defer timer.Stop()
	defer func() {
		t.s.budget.release(open.reserved)
		t.s.budget.labels.charge(-late.reserved())
	}()
	// settle waits for the transaction under way.
	settle := func() error {
		if committing == nil {
			return nil
		}
		err := <-done
		x := committing
		committing = nil
		t.s.budget.release(x.reserved)
		o.Metrics.InFlight.Set(float64(t.s.budget.inUse()))
		if err != nil {
			t.broken = true
			return err
		}
		t.progress = true
		o.Metrics.Commits.WithLabelValues("committed").Inc()
		if x.snapshot {
			t.snap.Complete()
			t.carried = false
		}
		t.committed(x)
		t.report()
		return nil
	}
	// commit closes the open transaction, labels and model included, and sends it.
	commit := func() error {
		if err := settle(); err != nil {
			return err
		}
		if err := t.close(open, &late, &lastSnap, &pace); err != nil {
			return err
		}
		if open.done.Number == 0 {
			t.s.budget.release(open.reserved)
			open = &transaction{}
			return nil
		}
		committing, open = open, &transaction{}
		go t.send(committing, done)
		return nil
	}
	// due commits when the open transaction has waited or grown enough and the one before has ended.
	due := func() error {
		if open.begun.IsZero() {
			return nil
		}
		if open.bytes >= outputBytes || o.Now().Sub(open.begun) >= o.Commit && committing == nil {
			return commit()
		}
		return nil
	}
	begin := func() {
		if open.begun.IsZero() {
			open.begun = o.Now()
			timer.Reset(o.Commit)
		}
	}
	tick := time.NewTicker(max(o.Commit, 20*time.Millisecond))
	defer tick.Stop()
	if t.carried {
		lastSnap = time.Time{}
		err := t.settleCarried(ctx, func() error { return cmp.Or(commit(), settle()) })
		if err != nil || t.carried {
			return err
		}
		t.phase(phaseRunning)
	}
	if first, err := t.awaitModel(ctx); err != nil {
		return err
	} else if first {
		if err := commit(); err != nil {
			return err
		}
	}
	_, changed := t.s.models.Head()
	var current fetched // events being worked through, message by message
	defer func() { t.s.budget.events.charge(-current.reserved) }()
	for {
		if ctx.Err() != nil {
			// First of all: an answer taken now would hide the records before it that are not processed yet.
			return t.drain(commit, settle, &lastSnap)
		}
		if stop := t.tripped(); stop != nil {
			if err := commit(); err != nil {
				return err
			}
			return cmp.Or(settle(), stop)
		}
		if len(current.Records) > 0 {
			begin()
			if err := t.process(open, &current.Records[0]); err != nil {
				return errors.Join(err, settle())
			}
			current.Records = current.Records[1:]
			if len(current.Records) == 0 {
				t.passed(open, &current)
			}
			select {
			case err := <-done:
				done <- err
				if err := settle(); err != nil {
					return err
				}
			default:
			}
			if err := due(); err != nil {
				return err
			}
			continue
		}
		arriving := labels
		if late.reserved() > t.s.share.Load() {
			arriving = nil // they wait for their records; more of them would keep those from being fetched
		}
		select {
		case <-ctx.Done():
		case current = <-events:
			if current.err != nil {
				return errors.Join(current.err, settle())
			}
			if len(current.Records) == 0 {
				begin() // what was aborted or compacted away is passed over, and so is the group's offset
				t.passed(open, &current)
			}
		case f := <-arriving:
			if f.err != nil {
				return errors.Join(f.err, settle())
			}
			late = append(late, f)
			begin()
		case <-timer.C:
			if err := due(); err != nil {
				return err
			}
		case <-changed:
			_, changed = t.s.models.Head()
			if err := commit(); err != nil {
				return err
			}
		case <-tick.C: // an idle partition still finishes its snapshots
			if open.begun.IsZero() && (t.snap.Busy() || t.snapshotDue(lastSnap)) {
				if err := commit(); err != nil {
					return err
				}
			}
		case err := <-done:
			done <- err
			if err := settle(); err != nil {
				return err
			}
			if err := due(); err != nil {
				return err
			}
		}
	}
}

// awaitModel waits, where a partition is empty and Options.Initial is to score its first record, until the trainer has
// published that model, wherever it runs: then the journal says that the model came before the first event. It reports
// whether there is a model. A trainer without that model is waited for as long as a sick environment; then the
// partition begins without one.
func (t *task) awaitModel(ctx context.Context) (bool, error) {
	o := &t.s.o
	if o.Initial == nil || t.part.NextOffset() >= 0 || t.part.ModelVersion() > 0 {
		return false, nil
	}
	t.phase("waiting for the model that serves first")
	defer t.phase(phaseRunning)
	late := time.NewTimer(o.Patience)
	defer late.Stop()
	for {
		newest, changed := t.s.models.Head()
		if newest > 0 {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil // the loop ends it
		case <-changed:
		case <-late.C:
			t.log.Warn("the model that was to serve first is not published: the process that owns partition 0 does not have it; beginning without")
			return false, nil
		}
	}
}

// passed ends the work on one answer of the broker.
func (t *task) passed(x *transaction, f *fetched) {
	x.reserved.events += f.reserved
	t.read += f.Bytes
	f.reserved = 0
	t.at.Events, t.end = f.Next, f.LastStable
	t.mu.Lock()
	t.status.End = f.LastStable
	t.mu.Unlock()
	t.s.o.Metrics.Lag.WithLabelValues(strconv.Itoa(t.id)).Set(float64(max(f.LastStable-f.Next, 0)))
}

func (t *task) report() {
	m, lost := t.s.o.Metrics, t.part.Losses()
	m.Losses.WithLabelValues("unknown_class").Add(float64(lost.UnknownClass - t.told.UnknownClass))
	m.Losses.WithLabelValues("expired").Add(float64(lost.Expired - t.told.Expired))
	t.told = lost
	m.Waiting.WithLabelValues(strconv.Itoa(t.id)).Set(float64(t.part.Waiting()))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Offset, t.status.Model = t.done.Events, t.done.Model
	t.status.Labelled, t.status.Trained = t.part.Labelled(), t.part.Trained()
	t.shares()
}

// drain commits what is processed and, when the whole stage stops, writes a last snapshot, so that the next start has
// nothing to replay.
func (t *task) drain(commit, settle func() error, lastSnap *time.Time) error {
	t.phase("draining")
	if err := commit(); err != nil {
		return err
	}
	if err := settle(); err != nil || !t.s.stopping() {
		t.settled = err == nil
		return err
	}
	for t.snap.Busy() || t.unsaved() {
		if t.s.hurried() {
			return nil
		}
		*lastSnap = time.Time{}
		if err := commit(); err != nil {
			return err
		}
		if err := settle(); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) snapshotDue(last time.Time) bool {
	if share := t.s.o.SnapshotShare; share > 0 && share < 1 && !t.s.stopping() && !t.carried && float64(t.read)*share < float64(t.wrote) {
		return false
	}
	return !t.snap.Busy() && t.s.o.Now().Sub(last) >= t.s.o.Snapshot && t.unsaved()
}

// unsaved reports whether the newest snapshot is not of the state as it is, or in another format than is written now,
// or the one before it in a later one, which a build that reads no such format must not meet.
func (t *task) unsaved() bool {
	f := t.s.format()
	return t.snap.Last == nil || t.carried || t.snap.Last.Position != t.at || t.snap.Last.Format != f || t.snap.Before != nil && t.snap.Before.Format > f
}

// lateLabels are answers of the labels topic that are not learnt yet.
type lateLabels []fetched

func (l lateLabels) reserved() (n int64) {
	for i := range l {
		n += l[i].reserved
	}
	return n
}

// learnLate learns the late labels whose records can have been processed: while events are behind, labels wait for the
// events that are not younger than they, else those of a backlog would all come before their records. It reports
// whether the labels' offset has moved.
func (t *task) learnLate(x *transaction, late *lateLabels) (moved bool) {
	caughtUp := t.at.Events >= t.end
	for len(*late) > 0 {
		f := &(*late)[0]
		for len(f.Records) > 0 {
			r := &f.Records[0]
			if !caughtUp && !r.Time.IsZero() && r.Time.After(t.newest) {
				return moved
			}
			t.takeLabels(x, r)
			t.at.Labels, moved = r.Offset+1, true
			f.Records = f.Records[1:]
		}
		t.at.Labels, moved = f.Next, true
		x.reserved.labels += f.reserved
		t.read += f.Bytes
		*late = (*late)[1:]
	}
	return moved
}

// close completes a transaction: late labels, then a newer model, the journal record if either was there, and the next
// pieces of a snapshot.
func (t *task) close(x *transaction, late *lateLabels, lastSnap *time.Time, pace *state.Pace) error {
	journaled := t.learnLate(x, late)
	if v, _ := t.s.models.Head(); v > t.part.ModelVersion() && v != t.refused && !t.carried {
		err := t.swap(v)
		if err != nil {
			t.refused = v
			t.s.o.Metrics.Restores.WithLabelValues("model_refused").Inc()
			t.log.Warn("model not taken over", zap.Int64("model", v), zap.Error(err))
		} else {
			t.at.Model = v
			journaled = true
		}
	}
	if journaled {
		t.record(x)
	}
	now := t.s.o.Now()
	unsaved := t.journal
	if t.snap.Last != nil {
		unsaved -= t.snap.Last.Journal
	}
	// A quarter of the ring each: the snapshot before the last must be able to replay too.
	if t.snapshotDue(*lastSnap) || unsaved >= state.JournalRing/4 && !t.snap.Busy() {
		t.snap.Start(t.part, t.s.o.Spec.Options.Fingerprint, t.at, t.journal, t.s.format())
		t.read, t.wrote = 0, 0
		*lastSnap = now
		pace.Start(now)
	}
	if t.snap.Pending() {
		limit := pace.Allows(now)
		if t.s.stopping() || unsaved >= state.JournalRing/2 || t.carried { // better too many bytes a second than a journal that is overwritten
			limit = outputBytes
		}
		pieces, done := t.snap.Take(limit)
		for _, c := range pieces {
			t.state(x, c)
			pace.Spend(len(c.Value))
		}
		x.snapshot = done
	}
	if t.at != t.done || len(x.records) > 0 {
		t.finish(x, t.done)
	}
	return nil
}

// record adds a journal record of where the state is now.
func (t *task) record(x *transaction) {
	e := state.JournalEntry{Number: t.journal, Position: t.at, Format: t.s.format()}
	t.state(x, state.Change{Key: state.JournalKey(e.Number), Value: e.Encode()})
	t.journal++
}

// state adds a record of the state topic to a transaction.
func (t *task) state(x *transaction, c state.Change) {
	x.add(txn.Record{Topic: t.s.o.Topics.State, Partition: t.id, Key: []byte(c.Key), Value: c.Value, Time: t.s.o.Now()})
	t.wrote += int64(len(c.Key) + len(c.Value))
	t.s.o.Metrics.StateBytes.Add(float64(len(c.Key) + len(c.Value)))
}

// finish numbers a transaction that began at from, and says in it what it commits.
func (t *task) finish(x *transaction, from state.Position) {
	x.to = t.at
	x.done = state.Done{Number: t.last.Number + 1, Events: t.at.Events, Labels: t.at.Labels, EventsFrom: min(from.Events, t.at.Events), LabelsFrom: min(from.Labels, t.at.Labels),
		Answered: min(t.answered, t.at.Events), ScoresFrom: t.scoresAt, Letters: len(x.buried), LettersFrom: t.deadAt}
	t.state(x, state.Change{Key: state.DoneKey, Value: x.done.Encode(t.s.format())})
}

// committed takes note of a transaction that is.
func (t *task) committed(x *transaction) {
	t.done, t.last = x.to, x.done
	offset, ok := t.producer.Written(t.s.o.Topics.Dead, t.id%t.s.deadPartitions)
	if t.forgetLetters(x.to); ok && len(t.letters) == 0 { // else the next owner must find those that are there already
		t.deadAt = offset
	}
}

// claim commits, before anything else is answered, what a transaction before has left undone, and what the partition
// begins with when the group's offsets are not those of a numbered transaction: from then on an offset without number
// is one that somebody else has set.
func (t *task) claim() error {
	x := t.redo.x
	t.finish(x, t.redo.from)
	done := make(chan error, 1)
	t.send(x, done)
	if err := <-done; err != nil {
		return fmt.Errorf("claiming the partition: %w", err)
	}
	t.s.o.Metrics.Commits.WithLabelValues("committed").Inc()
	t.committed(x)
	t.claimed = true
	return nil
}

// swap makes a published version the partition's serving model.
func (t *task) swap(version int64) error {
	get := t.s.models.Get
	if t.spec != t.s.o.Spec {
		get = func(v int64) (*model.Model, error) { return t.s.models.Under(v, t.spec.Schema) }
	}
	m, err := get(version)
	if err != nil {
		return err
	}
	return state.Contain(func() error { return t.part.Swap(m) })
}

// send commits one transaction. Neither the end of the generation nor that of the stage cuts it short: its outcome
// would be unknown.
func (t *task) send(x *transaction, done chan<- error) {
	o := &t.s.o
	began := o.Now()
	err := t.s.commit(t.s.force, t.producer, txn.Transaction{
		Records: x.records, Compression: txn.Lz4, Group: o.Name, Member: t.gen.Member, Generation: t.gen.ID, Offsets: t.offsets(x.to), Note: x.done.Note(),
	})
	o.Metrics.CommitTime.Observe(o.Now().Sub(began).Seconds())
	done <- err
}

func (t *task) offsets(at state.Position) map[string]map[int]int64 {
	out := map[string]map[int]int64{t.s.o.Topics.Events: {t.id: at.Events}}
	if t.s.o.Topics.Labels != "" {
		out[t.s.o.Topics.Labels] = map[int]int64{t.id: at.Labels}
	}
	return out
}

// process takes one events message into the state and its scores into the transaction.
func (t *task) process(x *transaction, r *txn.Record) error {
	t.at.Events = r.Offset + 1
	if r.Time.After(t.newest) {
		t.newest = r.Time
	}
	if !t.decode(x, r) {
		return nil
	}
	n := t.batch.N
	t.part.Events(&t.batch, &t.scores)
	if cap(t.value)-len(t.value) < 64<<10 {
		t.value = make([]byte, 0, 1<<20) // the transactions keep what they have; growing would copy it
	}
	start := len(t.value)
	var err error
	if t.value, err = t.encoder.Encode(t.value, &t.batch, &t.scores, t.part.Levels(), &t.carry); err != nil {
		return fmt.Errorf("encoding the scores of offset %d: %w", r.Offset, err)
	}
	x.add(txn.Record{
		Topic: t.s.o.Topics.Scores, Partition: t.id, Key: r.Key, Value: t.value[start:len(t.value):len(t.value)], Time: r.Time,
		Headers: scoreHeaders(r, n, t.part.ModelVersion()),
	})
	t.answered = r.Offset + 1
	if t.s.o.OnScores != nil {
		t.s.o.OnScores(int32(t.id), &t.batch, &t.scores, t.part.Levels())
	}
	t.count(n)
	return nil
}

func (t *task) count(n int) {
	var by [3]int
	for _, s := range t.scores.Status[:n] {
		by[s]++
	}
	for s, c := range by {
		if c > 0 {
			t.s.o.Metrics.Records.WithLabelValues(model.Status(s).String()).Add(float64(c))
		}
	}
	var all, against int
	for i := range t.scores.Why {
		if t.scores.Why[i].Counts() {
			all++
		}
		if t.scores.Why[i].Conflicts() {
			against++
		}
	}
	t.s.o.Metrics.Reasons.WithLabelValues("follows").Add(float64(all - against))
	t.s.o.Metrics.Reasons.WithLabelValues("conflicts").Add(float64(against))
	t.mu.Lock()
	t.status.Scored += uint64(n)
	t.mu.Unlock()
}

// Headers of a scores message, beside those of its event.
const (
	HeaderScoreRows   = "liftstream-rows"
	HeaderScoreModel  = "liftstream-model"
	HeaderScoreOffset = "liftstream-offset" // of the event that it answers
)

func scoreHeaders(event *txn.Record, rows int, version int64) []txn.Header {
	out := make([]txn.Header, 0, len(event.Headers)+3)
	for _, h := range event.Headers {
		// These two describe the event's own value.
		if h.Key != codec.HeaderRows && h.Key != codec.HeaderCRC32C {
			out = append(out, h)
		}
	}
	return append(out,
		txn.Header{Key: HeaderScoreRows, Value: strconv.AppendInt(nil, int64(rows), 10)},
		txn.Header{Key: HeaderScoreModel, Value: strconv.AppendInt(nil, version, 10)},
		txn.Header{Key: HeaderScoreOffset, Value: strconv.AppendInt(nil, event.Offset, 10)})
}

func (t *task) message(r *txn.Record) *codec.Message {
	m := &codec.Message{Value: r.Value, Partition: int32(t.id), Offset: r.Offset, Time: r.Time.UnixNano(), Now: r.Time.UnixNano()}
	if r.Time.IsZero() {
		m.Time, m.Now = 0, 0
	}
	for _, h := range r.Headers {
		m.Headers.Set(h.Key, h.Value)
	}
	return m
}

// readEvents reads an events message into t.batch, readLabels a labels message into t.labels.
func (t *task) readEvents(r *txn.Record) ([]codec.RowError, error) {
	bad, err := t.decoder.Decode(t.message(r), &t.batch, &t.carry)
	return t.bounded(r, bad, err)
}

func (t *task) readLabels(r *txn.Record) ([]codec.RowError, error) {
	bad, err := t.decoder.DecodeLabels(t.message(r), &t.labels)
	return t.bounded(r, bad, err)
}

// bounded refuses a message whose bad rows would make dead letters of more than four times Options.Codec.MaxMessage:
// they lie in memory together and in one transaction, and a few bytes of Arrow can stand for millions of rows.
func (t *task) bounded(r *txn.Record, bad []codec.RowError, err error) ([]codec.RowError, error) {
	if err != nil || len(bad) == 0 {
		return bad, err
	}
	each := int64(letterBytes + len(r.Key))
	for _, h := range r.Headers {
		each += int64(len(h.Key) + len(h.Value))
	}
	if row, err := t.decoder.AppendRow(nil, bad[0].Row); err == nil {
		each += int64(len(row))
	} else {
		each += int64(len(r.Value)) // what bury takes instead
	}
	if int64(len(bad))*each <= 4*cmp.Or(t.s.o.Codec.MaxMessage, codec.DefaultMaxMessage) {
		return bad, nil
	}
	return nil, &codec.MessageError{Reason: codec.ReasonTooLarge, Err: fmt.Errorf("dead letters of %d rows, the first of them %w", len(bad), bad[0])}
}

// decode reads an events message into t.batch; bad rows, or the whole message, become dead letters of x, which may be
// nil during a replay. It reports whether there is a batch.
func (t *task) decode(x *transaction, r *txn.Record) bool {
	bad, err := t.readEvents(r)
	t.deadEvents.add(weighed(t.batch.N, bad, err))
	if x != nil {
		t.bury(x, r, codec.StageEvents, t.s.o.Topics.Events, bad, err)
	}
	return err == nil
}

// takeLabels learns one labels message.
func (t *task) takeLabels(x *transaction, r *txn.Record) {
	bad, err := t.readLabels(r)
	t.deadLabels.add(weighed(t.labels.N, bad, err))
	if x != nil {
		t.bury(x, r, codec.StageLabels, t.s.o.Topics.Labels, bad, err)
	}
	if err != nil {
		return
	}
	c := t.part.Labels(&t.labels)
	if x == nil {
		return
	}
	for outcome, n := range map[string]int{"learnt": c.Learnt, "corrected": c.Corrected, "repeated": c.Repeated, "unmatched": c.Unmatched, "misrouted": c.Misrouted, "unknown": c.Unknown} {
		if n > 0 {
			t.s.o.Metrics.Labels.WithLabelValues(outcome).Add(float64(n))
		}
	}
}

// bury adds the dead letters of a message: each bad row as a one-row stream, or the message as it came.
func (t *task) bury(x *transaction, r *txn.Record, stage, topic string, bad []codec.RowError, err error) {
	letter := func(value []byte, reason codec.Reason, text string, row int32) {
		id := letterID{topic, r.Offset, int(row)}
		if x.bury(id); t.letters[id] {
			return
		}
		if x == t.redo.x {
			t.letters[id] = true
		}
		h := slices.Clone(r.Headers)
		put := func(k, v string) { h = append(h, txn.Header{Key: k, Value: []byte(v)}) }
		put(codec.DeadReason, string(reason))
		put(codec.DeadStage, stage)
		put(codec.DeadError, text)
		put(codec.DeadTopic, topic)
		put(codec.DeadPartition, strconv.Itoa(t.id))
		put(codec.DeadOffset, strconv.FormatInt(r.Offset, 10))
		if row >= 0 {
			put(codec.DeadRow, strconv.Itoa(int(row)))
		}
		put(codec.DeadFirstSeen, t.s.o.Now().UTC().Format(time.RFC3339Nano))
		x.add(txn.Record{Topic: t.s.o.Topics.Dead, Partition: t.id % t.s.deadPartitions, Key: r.Key, Value: value, Time: r.Time, Headers: h})
		t.s.o.Metrics.Dead.WithLabelValues(string(reason)).Inc()
		t.mu.Lock()
		t.status.Dead++
		t.mu.Unlock()
	}
	if err != nil {
		reason := codec.ReasonDamaged
		var m *codec.MessageError
		if errors.As(err, &m) {
			reason = m.Reason
		}
		letter(r.Value, reason, err.Error(), -1)
		t.log.Debug("message refused", zap.String("topic", topic), zap.Int64("offset", r.Offset), zap.Error(err))
		return
	}
	for _, b := range bad {
		value, err := t.decoder.AppendRow(nil, b.Row)
		if err != nil {
			value = r.Value // better the whole message than nothing
		}
		letter(value, b.Reason, b.Error(), b.Row)
	}
}

// fetched is one answer of the broker, or the error that ended the reader.
type fetched struct {
	txn.Fetched
	reserved int64
	err      error
}

// read fetches a partition from offset on into a channel, each answer paid for from the in-flight budget, which whoever
// takes it gives back. heard is set when there was an answer, if only that there is nothing. It ends with ctx or after
// an error.
func (s *Stage) read(ctx context.Context, wg *sync.WaitGroup, budget *budget, heard *atomic.Bool, topic string, partition int, offset int64) <-chan fetched {
	out := make(chan fetched)
	wg.Add(1)
	go func() {
		defer wg.Done()
		failures := 0
		for {
			size := s.share.Load()
			if budget.acquire(ctx, size) != nil {
				return
			}
			f, err := s.o.Client.Fetch(ctx, topic, partition, offset, int(size), 500*time.Millisecond)
			if err == nil {
				failures = 0
				heard.Store(true)
			} else if failures++; txn.KindOf(err) == txn.Unknown && failures < maxFailures && ctx.Err() == nil {
				budget.charge(-size) // a fetch has no effect: ask again
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
				}
				continue
			}
			budget.charge(f.Bytes - size)
			if err == nil && f.Next == offset {
				budget.charge(-f.Bytes)
				continue
			}
			select {
			case out <- fetched{f, f.Bytes, err}:
			case <-ctx.Done():
				budget.charge(-f.Bytes)
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

// maxFailures is how many fetches in a row may go without an answer before the partition counts as waiting for its
// brokers.
const maxFailures = 3
