package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Stage is one process's share of the work. Run it once.
type Stage struct {
	o              Options
	budget         inFlight
	models         *state.Models
	partitions     int
	deadPartitions int
	unusual        []topics.Fault // settings of topics, since the start; under mu

	shownPartitions int // partitions, for readers beside Run; under mu

	fits, refusals atomic.Uint64
	stop, hurry    atomic.Bool
	share          atomic.Int64 // bytes of one fetch
	commit         func(ctx context.Context, p *txn.Producer, t txn.Transaction) error

	newest     int           // format that this process reads
	hesitation time.Duration // how long all members must read a format before it is written
	agreement  agreement     // of formats, under mu

	// force ends when the grace period is nearly over: it cuts off the transactions that are still under way.
	force context.Context
	cut   context.CancelFunc

	mu         sync.Mutex
	waiting    string    // why it has no generation, in words; "" when it has one
	joining    time.Time // since when that is so
	generation int
	tasks      []*task
	shared     []string      // topics into which another stage writes too, in words
	kept       map[int]*kept // left by the tasks of the generation before, by partition
	lacks      []string      // Status.Lacking
	untrained  string        // why the trainer publishes nothing, in words; "" = it works or runs elsewhere
	failed     error         // why it stops by itself; nil = it does not
	unflushed  []string      // uncommitted work when the stage stopped, in words
}

// kept is a partition as its task left it when its generation ended: everything committed, nothing in doubt.
type kept struct {
	generation int
	owned
}

// New returns a stage; Run runs it.
func New(o Options) *Stage {
	if o.Patience <= 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Held <= 0 {
		o.Held = 15 * time.Minute
	}
	s := &Stage{o: o, waiting: "not started", newest: state.Format, hesitation: o.Patience}
	s.budget = newInFlight(max(o.InFlight, 1<<20), o.Topics.Labels != "")
	s.models = state.NewModels(o.Client, o.Topics.Model, o.Spec.Schema)
	s.models.Keep = o.Keep
	s.models.Fingerprint = o.Spec.Options.Fingerprint
	s.agreement = agreement{written: state.OldestFormat, all: state.OldestFormat}
	s.commit = func(ctx context.Context, p *txn.Producer, t txn.Transaction) error { return p.Commit(ctx, t) }
	s.force, s.cut = context.WithCancel(context.Background())
	return s
}

func (s *Stage) stopping() bool { return s.stop.Load() }
func (s *Stage) hurried() bool  { return s.hurry.Load() }

func (s *Stage) wait(text string) {
	s.mu.Lock()
	s.waiting = text
	s.mu.Unlock()
}

// Serving returns the published model that is to serve, as far as this process knows; nil before the first.
func (s *Stage) Serving() *model.Model {
	v := s.models.Serves().Version
	if v == 0 {
		return nil
	}
	m, err := s.models.Get(v)
	if err != nil {
		return nil
	}
	return m
}

// patiently repeats f while the environment is sick, at most for Options.Patience.
func (s *Stage) patiently(ctx context.Context, f func() error) error {
	wait, since := 50*time.Millisecond, s.o.Now()
	for {
		err := f()
		switch txn.KindOf(err) {
		case txn.Environment, txn.Unknown:
		default:
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		if s.o.Now().Sub(since) > s.o.Patience {
			return fmt.Errorf("giving up after %v: %w", s.o.Patience, err)
		}
		s.wait(err.Error())
		s.o.Log.Warn("waiting for the brokers", zap.Error(err))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// Status tells where the stage stands. It may be called at any time.
func (s *Stage) Status() Status {
	s.mu.Lock()
	tasks := slices.Clone(s.tasks)
	st := Status{Live: true, Generation: s.generation, Fits: s.fits.Load(), Refused: s.refusals.Load()}
	if s.waiting != "" {
		st.Waiting = append(st.Waiting, s.waiting)
	}
	for _, f := range s.unusual {
		st.Unusual = append(st.Unusual, f.String())
	}
	if s.untrained != "" {
		st.Waiting = append(st.Waiting, s.untrained)
	}
	st.Lacking = slices.Clone(s.lacks)
	if s.o.Lacks != nil {
		if lacks := s.o.Lacks(); lacks != "" {
			st.Waiting = append(st.Waiting, lacks)
		}
	}
	shared, failed := s.shared, s.failed
	s.mu.Unlock()
	st.Model, _ = s.models.Head()
	st.Serving = s.models.Serves().Version
	if o := s.models.Order(); o.Number > 0 {
		st.Order = &o
	}
	st.Verdict = s.models.Verdict()
	for _, t := range tasks {
		p := t.board.read()
		if p.Message != "" {
			st.Waiting = append(st.Waiting, fmt.Sprintf("partition %d: %s", p.Partition, p.Message))
		}
		if p.Phase != Running {
			st.Waiting = append(st.Waiting, fmt.Sprintf("partition %d: %s", p.Partition, p.Doing))
		}
		if p.Held != nil {
			p.Held = t.horizon.held(s.o.Now())
		}
		if p.Held != nil {
			text := fmt.Sprintf("partition %d: %s", p.Partition, p.Held)
			if st.Held = append(st.Held, text); p.Held.Seconds >= s.o.Held.Seconds() {
				st.Waiting = append(st.Waiting, text)
			}
		}
		if h := t.labelsHorizon.held(s.o.Now()); h != nil {
			st.Held = append(st.Held, fmt.Sprintf("partition %d: %s", p.Partition, h.of(codec.StageLabels)))
		}
		st.Partitions = append(st.Partitions, p)
	}
	st.Waiting = append(st.Waiting, shared...)
	if failed != nil {
		st.Waiting = append(st.Waiting, "stopping: "+failed.Error())
	} else if s.stopping() {
		st.Waiting = append(st.Waiting, "stopping")
	}
	st.Ready = len(st.Waiting) == 0
	return st
}

// Run works until ctx ends, then drains: it stops reading, commits the processed messages, writes a last snapshot and
// leaves the group, all within Options.Grace; a *StopError names the work that it could not flush. It returns earlier
// with an error that waiting does not mend. It runs once.
func (s *Stage) Run(ctx context.Context) error {
	defer s.cut()
	s.wait("looking at the topics")
	if err := s.patiently(ctx, func() (err error) {
		needs := topics.Needs{Message: cmp.Or(s.o.Codec.MaxMessage, codec.DefaultMaxMessage), Replication: s.o.Replication}
		if s.partitions, s.deadPartitions, err = topics.Check(ctx, s.o.Client, s.o.Topics); err != nil {
			return err
		}
		unusual, err := topics.Settings(ctx, s.o.Client, s.o.Topics, needs)
		s.mu.Lock()
		s.unusual, s.shownPartitions = unusual, s.partitions
		s.mu.Unlock()
		return err
	}); err != nil {
		return err
	}
	for _, f := range s.unusual {
		s.o.Log.Warn("a topic is unusual", zap.String("topic", f.Topic), zap.String("setting", f.Text))
	}
	// Without the right to ask, refused batches tell later.
	written := []string{s.o.Topics.Scores, s.o.Topics.Dead, s.o.Topics.State, s.o.Topics.Model}
	if err := s.o.Client.LearnLimits(ctx, written...); err != nil {
		s.o.Log.Debug("asking for the largest messages of the topics", zap.Error(err))
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	var children sync.WaitGroup
	defer children.Wait()
	defer end(nil)

	s.wait("reading the model topic")
	s.models.Newest = s.newest
	if err := s.patiently(ctx, func() error { return s.loadModels(ctx) }); err != nil {
		return err
	}
	if other := s.otherTrainer(); other != "" {
		s.o.Metrics.Policies.WithLabelValues(committed.TopicShared.String(), "fail").Inc()
		return &topics.MismatchError{Problem: fmt.Sprintf("the stage %s has written the newest model of the topic %s, and "+
			"this is the stage %s: give each stage a topic of its own (topics.model), or, where the other one has ended, set "+
			"policy.topic_shared to accept", other, s.o.Topics.Model, s.o.Name)}
	}
	children.Go(func() { s.followModels(life) })

	if s.o.Before != nil {
		s.wait("looking at the schema registry")
		if err := s.o.Before(ctx); err != nil {
			return err
		}
	}
	read := []string{s.o.Topics.Events}
	if s.o.Topics.Labels != "" {
		read = append(read, s.o.Topics.Labels)
	}
	s.wait("joining the group " + s.o.Name)
	if s.o.Instance != "" {
		if n, err := s.o.Client.ConsumerGroup(s.o.Name).Evict(ctx, s.o.Instance); err != nil || n > 0 {
			s.o.Log.Info("evicting what a killed process left in the group", zap.Int("members", n), zap.Error(err))
		}
	}
	if err := s.alone(ctx, read); err != nil {
		return err
	}
	work, stopWork := context.WithCancelCause(ctx)
	defer stopWork(nil)
	group, err := s.o.Client.JoinGroup(txn.GroupConfig{
		ID: s.o.Name, Topics: read, Session: s.o.Session, Format: s.newest, Identity: s.o.Topics.String(),
		OnWait: func(err error) {
			since := s.join("joining the group: " + err.Error())
			if s.o.Now().Sub(since) > s.o.Patience {
				stopWork(fmt.Errorf("giving up after %v: joining the group: %w", s.o.Patience, err))
			}
		},
	})
	if err != nil {
		return err
	}
	children.Go(func() { (&watch{s, map[string]int{}, map[int]growth{}}).run(work, stopWork) })
	left := s.generations(work, stopWork, group)
	if cause := context.Cause(work); cause != nil && !errors.Is(cause, context.Canceled) {
		return errors.Join(cause, left)
	}
	return left
}

// alone waits until the group holds no stage of other topics, as long as a killed one stays in it, and then refuses.
// Joining first and looking then would take partitions from a stage that runs.
func (s *Stage) alone(ctx context.Context, read []string) error {
	began := s.o.Now()
	for {
		err := s.patiently(ctx, func() error {
			return s.o.Client.ConsumerGroup(s.o.Name).Strangers(ctx, read, s.o.Topics.String())
		})
		var other *txn.StrangerError
		if !errors.As(err, &other) || ctx.Err() != nil {
			return err
		}
		if s.o.Now().Sub(began) > cmp.Or(s.o.Session, 10*time.Second)+2*time.Second {
			return s.mixed(err)
		}
		s.wait("waiting for another stage to leave: " + other.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// mixed says in full that a stage of the same name and other topics runs.
func (s *Stage) mixed(err error) error {
	var other *txn.StrangerError
	if !errors.As(err, &other) {
		return err
	}
	theirs := cmp.Or(other.Member.Identity, "reads "+strings.Join(other.Member.Topics, " and "))
	return &topics.MismatchError{Problem: fmt.Sprintf("two stages with the name %s and other topics run at once: "+
		"this one %s; %s at %s %s: give each stage a name of its own", s.o.Name, s.o.Topics, other.Member.ClientID,
		strings.TrimPrefix(other.Member.Host, "/"), theirs)}
}

// join notes that there is no generation, why, and returns since when.
func (s *Stage) join(text string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = text
	if s.joining.IsZero() {
		s.joining = s.o.Now()
	}
	return s.joining
}

// loadModels reads the model topic to its end.
func (s *Stage) loadModels(ctx context.Context) error {
	for {
		end, err := s.models.Advance(ctx, 100*time.Millisecond)
		if err != nil {
			return err
		}
		if end {
			showModels(s)
			return nil
		}
	}
}

// followModels keeps the model topic's content current until ctx ends.
func (s *Stage) followModels(ctx context.Context) {
	wait := time.Second
	for ctx.Err() == nil {
		if _, err := s.models.Advance(ctx, 500*time.Millisecond); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("reading the model topic", zap.Error(err), zap.Duration("wait", wait))
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, 30*time.Second)
			continue
		}
		wait = time.Second
		showModels(s)
	}
}

// showModels brings the metrics of the model topic up to date.
func showModels(s *Stage) {
	v, _ := s.models.Head()
	m, o := s.o.Metrics, s.models.Order()
	m.ModelVersion.Set(float64(v))
	m.ServingVersion.Set(float64(s.models.Serves().Version))
	for what, off := range map[string]bool{"fits": o.Frozen || o.Still || s.o.LearningOff,
		"learning": o.Still || s.o.LearningOff} {
		value := 0.
		if off {
			value = 1
		}
		m.Frozen.WithLabelValues(what).Set(value)
	}
}
