// Package bootstrap hands a stage the state that it would have after records of the past: one state for each partition
// and the model that they serve, learnt from files. The stage that starts next goes on from there, as after a takeover.
//
// Begin at Look, which comes before the learning, and Write.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// From says where the stage begins to read its topics.
type From string

// The places.
const (
	Committed From = ""      // at the group's offsets; in empty topics where there are none
	First     From = "first" // at the first messages that are left
	End       From = "end"   // behind the last messages
)

// Options name the stage.
type Options struct {
	Client *txn.Client
	Name   string // of the stage
	Topics topics.Names
	Spec   *model.Spec
	From   From
	// Replace takes the place of the states that are there. Else they are refused.
	Replace bool
	Now     time.Time
}

// Plan is the place for the states.
type Plan struct {
	Starts []state.Position // by partition: offsets of the first messages that the stage reads
	Model  int64            // newest version of the model topic and the states; 0 = none

	places []place
}

// place is the content of the topics in one partition.
type place struct {
	log    *state.Log
	done   state.Done
	number uint64 // of the newest transaction
	scores int64  // end of the scores
	dead   int64  // end of the dead letters
}

// RefusedError is returned where no state may be written.
type RefusedError struct{ Problem string }

func (e *RefusedError) Error() string { return e.Problem }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// transaction is the timeout of one transaction, which holds the whole state of a partition.
const transaction = 5 * time.Minute

// Look looks whether states may be written, and where the stage would begin. It changes nothing. A member of the group
// that runs, a state that is there, and messages of which nobody has said whether they are to be scored, are each a
// RefusedError.
func Look(ctx context.Context, o Options) (*Plan, error) {
	partitions, dead, err := topics.Check(ctx, o.Client, o.Topics)
	if err != nil {
		return nil, err
	}
	group, err := o.Client.ConsumerGroup(o.Name).Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the members of the group %s: %w", o.Name, err)
	}
	if n := len(group.Members); n > 0 {
		return nil, refuse("%d members of the group %s run: stop them first, and wait 10 s where one was killed", n, o.Name)
	}
	p := &Plan{}
	models := state.NewModels(o.Client, o.Topics.Model, o.Spec.Schema)
	for end := false; !end; {
		if end, err = models.Advance(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	p.Model, _ = models.Head()
	for i := range partitions {
		x, at, err := o.look(ctx, i, i%dead)
		if err != nil {
			return nil, err
		}
		p.places, p.Starts = append(p.places, *x), append(p.Starts, at)
		p.Model = max(p.Model, x.newest())
	}
	if p.Model+1 >= state.MaxNumber {
		return nil, fmt.Errorf("the model topic holds version/%d, which no stage has written: delete it by a tombstone",
			p.Model)
	}
	return p, nil
}

// look looks at one partition, whose dead letters go to the partition dead of their topic.
func (o *Options) look(ctx context.Context, partition, dead int) (*place, state.Position, error) {
	none := state.Position{}
	x := &place{log: state.NewLog()}
	x.log.Limit = state.Bound(o.Spec)
	if err := x.log.Follow(ctx, o.Client, o.Topics.State, partition); err != nil {
		return nil, none, err
	}
	high, err := o.Client.ListOffsets(ctx, o.Topics.State, []int{partition}, txn.HighWatermark)
	if err != nil {
		return nil, none, fmt.Errorf("reading the state topic: %w", err)
	}
	if high[partition] > x.log.Next {
		return nil, none, &txn.Error{Op: "reading the state topic", Topic: o.Topics.State, Partition: partition,
			Kind: txn.Environment, Reason: "its outcome decides what the state is",
			Err: errors.New("a transaction is open there")}
	}
	if x.done, err = x.log.Done(); err != nil {
		return nil, none, fmt.Errorf("reading the state topic: %w", err)
	}
	owner, err := x.log.Owner()
	if err != nil {
		return nil, none, fmt.Errorf("reading the state topic: %w", err)
	}
	switch {
	case owner.Stage != "" && owner.Stage != o.Name:
		return nil, none, refuse("the topic %s holds the state of the stage %s, and this is the stage %s: give each stage a "+
			"topic of its own (topics.state)", o.Topics.State, owner.Stage, o.Name)
	case !x.log.Empty() && !o.Replace:
		return nil, none, refuse("partition %d of %s holds a state already, up to event offset %d: say --replace %s to "+
			"give it up and begin with the files", partition, o.Topics.State, x.done.Events, o.Name)
	}
	at, number, err := o.start(ctx, partition, x.done)
	if err != nil {
		return nil, none, err
	}
	x.number = max(number, x.done.Number)
	if _, x.scores, err = o.Client.Bounds(ctx, o.Topics.Scores, partition); err != nil {
		return nil, none, fmt.Errorf("looking at %s: %w", o.Topics.Scores, err)
	}
	if _, x.dead, err = o.Client.Bounds(ctx, o.Topics.Dead, dead); err != nil {
		return nil, none, fmt.Errorf("looking at %s: %w", o.Topics.Dead, err)
	}
	return x, at, nil
}

// start returns the position at which the stage begins, and the number of the newest transaction of which the group
// tells.
func (o *Options) start(ctx context.Context, partition int, done state.Done) (state.Position, uint64, error) {
	var at state.Position
	r := committed.Reader{Client: o.Client, Group: o.Name, Topics: o.Topics, Partition: partition}
	group, err := r.Offsets(ctx)
	if err != nil {
		return at, 0, err
	}
	own, _ := group.Offsets(done)
	if at.Events, err = o.begin(ctx, o.Topics.Events, partition, own.Events); err != nil {
		return at, 0, err
	}
	if o.Topics.Labels != "" {
		at.Labels, err = o.begin(ctx, o.Topics.Labels, partition, own.Labels)
	}
	return at, group.Number(), err
}

// begin returns the offset of one topic at which the stage begins; own is its committed one, below 0 where there is
// none.
func (o *Options) begin(ctx context.Context, topic string, partition int, own int64) (int64, error) {
	first, end, err := o.Client.Bounds(ctx, topic, partition)
	switch {
	case err != nil:
		return 0, fmt.Errorf("looking at %s: %w", topic, err)
	case o.From == First || first == end && own < 0:
		return first, nil
	case o.From == End:
		return end, nil
	case own >= 0:
		return own, nil
	}
	return 0, refuse("partition %d of %s holds messages already, the offsets %d to %d: say --from end where the files "+
		"hold their records, or --from first where they do not", partition, topic, first, end-1)
}

// newest is the newest version that the snapshots and the journal of a former state name.
func (x *place) newest() (version int64) {
	found, _ := x.log.Manifests()
	for _, m := range found {
		version = max(version, m.Model)
		if entries, err := x.log.Journal(m.Journal); err == nil {
			for _, e := range entries {
				version = max(version, e.Model)
			}
		}
	}
	return version
}

// PartlyError is returned by Write where some partitions have their states and others have not.
type PartlyError struct {
	Done, All int // partitions, the first ones
	Err       error
}

func (e *PartlyError) Error() string {
	return fmt.Sprintf("%d of %d partitions have their states, and the others not (the same command with --replace "+
		"writes all of them): %v", e.Done, e.All, e.Err)
}

// Unwrap returns the cause.
func (e *PartlyError) Unwrap() error { return e.Err }

// Write publishes the model, where it is not nil, and then writes the states, one for each partition, as Look has
// found them; the model is one of a version above Plan.Model. Each partition has one transaction, by its own
// transactional id, as if a stage had committed it: the state, the record that tells of the files, and the group's
// offsets. Write takes all of these ids over first, so a stage that starts meanwhile takes them back and makes Write
// fail, which has then written nothing, or the first partitions (PartlyError). It returns the positions at which the
// stage begins.
func Write(ctx context.Context, o Options, states []*model.Partition, m *model.Model) ([]state.Position, error) {
	producers := make([]*txn.Producer, len(states))
	for i := range producers {
		producer, err := o.producer(ctx, fmt.Sprint(i))
		if err != nil {
			return nil, err
		}
		producers[i] = producer
	}
	trainer, err := o.producer(ctx, "trainer")
	if err != nil {
		return nil, err
	}
	p, err := Look(ctx, o)
	if err != nil {
		return nil, err
	}
	switch {
	case len(p.places) != len(states):
		return nil, refuse("%s has %d partitions by now, and the records were learnt for %d", o.Topics.Events, len(p.places),
			len(states))
	case m != nil && m.Version <= p.Model:
		return nil, refuse("model %d was published while the records were learnt: begin anew", p.Model)
	}
	if m != nil {
		if err := o.publish(ctx, trainer, m); err != nil {
			return nil, err
		}
	}
	for i, part := range states {
		t, err := o.records(i, part, &p.places[i], p.Starts[i])
		if err == nil {
			err = producers[i].Commit(ctx, t)
		}
		if err != nil {
			return nil, &PartlyError{i, len(states), fmt.Errorf("writing the state of partition %d: %w", i, err)}
		}
	}
	return p.Starts, nil
}

func (o *Options) producer(ctx context.Context, of string) (*txn.Producer, error) {
	id := o.Name + "-" + of
	p, err := o.Client.NewProducer(ctx, id, transaction)
	if err != nil {
		err = fmt.Errorf("taking over the transactional id %s: %w", id, err)
	}
	return p, err
}

// publish writes the model as the trainer of the stage does, and deletes no other one.
func (o *Options) publish(ctx context.Context, trainer *txn.Producer, m *model.Model) error {
	packer := state.NewPacker()
	packer.Limit = o.Client.Limit(o.Topics.Model)
	none := state.NewModels(o.Client, o.Topics.Model, o.Spec.Schema)
	records, err := none.Publication(packer, m, nil, o.Now, state.Format)
	if err != nil {
		return err
	}
	for i := range records {
		records[i].Headers = []txn.Header{{Key: codec.HeaderName, Value: []byte(o.Name)}}
	}
	if err := trainer.Commit(ctx, txn.Transaction{Records: records}); err != nil {
		return fmt.Errorf("publishing model %d: %w", m.Version, err)
	}
	return nil
}

// records returns the transaction that begins a state. The tombstones of a former one go first, then the done record,
// as in a claim that gives a state up: verify finds by that where this one begins.
func (o *Options) records(partition int, part *model.Partition, x *place, at state.Position) (txn.Transaction, error) {
	d := state.Done{Number: x.number + 1, Events: at.Events, Labels: at.Labels, EventsFrom: at.Events,
		LabelsFrom: at.Labels, Answered: at.Events, ScoresFrom: x.scores, DeadFrom: x.dead}
	names := &o.Topics
	owner := state.Owner{Stage: o.Name, Events: names.Events, Labels: names.Labels, Scores: names.Scores,
		Dead: names.Dead, State: names.State, Models: names.Model}
	told := state.Bootstrap{Number: d.Number, Records: part.Seen(), Labelled: part.Labelled(), Time: o.Now.UnixNano()}
	changes := []state.Change{{Key: state.BeginKey, Value: state.EncodeBegin(d.Number)}}
	for _, key := range x.log.History() {
		changes = append(changes, state.Change{Key: key})
	}
	changes = append(changes, state.Change{Key: state.DoneKey, Value: d.Encode(state.Format)},
		state.Change{Key: state.BootstrapKey, Value: told.Encode()},
		state.Change{Key: state.OwnerKey, Value: owner.Encode()})
	if x.done.Number > 0 { // the messages that the former state has seen
		changes = append(changes, state.Change{Key: state.SeenKey})
	}
	for _, key := range x.log.Orphans() {
		changes = append(changes, state.Change{Key: key})
	}
	snapshot, err := o.snapshot(part, at)
	if err != nil {
		return txn.Transaction{}, err
	}
	t := txn.Transaction{Compression: txn.Lz4, Group: o.Name, Generation: -1, Note: d.Note(),
		Offsets: map[string]map[int]int64{names.Events: {partition: at.Events}}}
	if names.Labels != "" {
		t.Offsets[names.Labels] = map[int]int64{partition: at.Labels}
	}
	for _, c := range append(changes, snapshot...) {
		t.Records = append(t.Records, txn.Record{Topic: names.State, Partition: partition, Key: []byte(c.Key),
			Value: c.Value, Time: o.Now})
	}
	return t, nil
}

// snapshot returns the records of the first snapshot of a state.
func (o *Options) snapshot(part *model.Partition, at state.Position) (out []state.Change, err error) {
	at.Model = part.ModelVersion()
	s := state.NewSnapshotter()
	s.Within(o.Client.Limit(o.Topics.State))
	s.Start(part, o.Spec.Options.Fingerprint, at, 0, state.Format)
	for s.Busy() {
		pieces, whole := s.Take(64 << 20)
		if out = append(out, pieces...); whole {
			return out, nil
		}
	}
	return nil, s.Problem
}
