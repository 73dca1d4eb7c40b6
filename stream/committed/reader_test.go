package committed_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"liftstream/stream/committed"
	"liftstream/stream/embedded"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// partition is one partition of a stage that has committed transaction 7: event 3 of 5 messages and label 1 of 2 are
// the newest that it has seen.
type partition struct {
	*streamtest.World
	committed.Reader
	done state.Done
	seen state.Seen
}

func newPartition(t *testing.T) *partition {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	p := &partition{World: streamtest.NewWorld(t, b.Addr(), 1)}
	p.Reader = committed.Reader{Client: p.World.Client, Group: p.Name, Topics: p.World.Topics, Fingerprint: 9,
		Newest: state.Format, Limit: 1 << 20}
	p.Send(p.World.Topics.Events, "0", "1", "2", "3", "4")
	p.Send(p.World.Topics.Labels, "0", "1")
	p.seen = state.Seen{Events: state.MessageOf(&p.Records(p.World.Topics.Events, 0)[3]),
		Labels: state.MessageOf(&p.Records(p.World.Topics.Labels, 0)[1])}
	p.done = state.Done{Number: 7, Events: 4, Labels: 2, EventsFrom: 3, LabelsFrom: 1, Answered: 4}
	p.put(state.OwnerKey, p.owner().Encode())
	p.put(state.SeenKey, p.seen.Encode())
	p.put(state.DoneKey, p.done.Encode(1))
	for i := range 3 {
		p.answer(int64(i + 1))
	}
	p.commit(p.World.Client, p.done)
	return p
}

func (p *partition) owner() state.Owner {
	n := p.World.Topics
	return state.Owner{Stage: p.Name, Events: n.Events, Labels: n.Labels, Scores: n.Scores, Dead: n.Dead, State: n.State,
		Models: n.Model}
}

// put writes a record of the state topic.
func (p *partition) put(key string, value []byte) {
	p.T.Helper()
	p.produce(txn.Record{Topic: p.World.Topics.State, Key: []byte(key), Value: value})
}

func (p *partition) produce(r txn.Record) {
	p.T.Helper()
	if err := p.World.Client.Produce(context.Background(), []txn.Record{r}, txn.None); err != nil {
		p.T.Fatal(err)
	}
}

// answer writes scores of an event.
func (p *partition) answer(event int64) {
	p.T.Helper()
	p.produce(txn.Record{Topic: p.World.Topics.Scores, Value: []byte("scores"),
		Headers: scores.Headers(&txn.Record{Offset: event}, p.Name, 1, 0)})
}

// commit commits the offsets of a transaction for the group.
func (p *partition) commit(c *txn.Client, d state.Done) {
	p.T.Helper()
	producer, err := c.NewProducer(context.Background(), p.Name+"-0", time.Minute)
	if err == nil {
		err = producer.Commit(context.Background(), txn.Transaction{Group: p.Name, Generation: -1, Note: d.Note(),
			Offsets: map[string]map[int]int64{p.World.Topics.Events: {0: d.Events}, p.World.Topics.Labels: {0: d.Labels}}})
	}
	if err != nil {
		p.T.Fatal(err)
	}
}

// read reads the facts, which must be there.
func (p *partition) read() *committed.Facts {
	p.T.Helper()
	f, _, err := p.Read(context.Background(), nil, false)
	if err != nil {
		p.T.Fatal(err)
	}
	return f
}

// TestTheFactsOfAPartition: each comes from its own topic, and they make the plan of a stage that ended in order.
func TestTheFactsOfAPartition(t *testing.T) {
	p := newPartition(t)
	m := &state.Manifest{Format: 1, Number: 3, Fingerprint: 9, Position: state.Position{Events: 2, Labels: 1}, Journal: 5}
	p.put(m.Key(), m.Encode())
	p.put(state.JournalKey(5), state.JournalEntry{Number: 5, Position: state.Position{Events: 4, Labels: 2}}.Encode())
	f := p.read()
	events, labels := f.Group.Events, f.Group.Labels
	if events != (txn.GroupOffset{Offset: 4, Note: "liftstream/7"}) || labels != (txn.GroupOffset{Offset: 2,
		Note: "liftstream/7"}) || !f.Group.HasLabels {
		t.Errorf("the group: %+v", f.Group)
	}
	if f.Owner != p.owner() || f.Stage != p.owner() || f.Seen != p.seen || f.Done != p.done || f.Journal != 6 || f.Empty ||
		len(f.Manifests) != 1 || f.Manifests[0].Number != 3 || f.DoneErr != nil || len(f.Unread)+len(f.Lesser) > 0 {
		t.Errorf("the state: %+v", f)
	}
	for topic, b := range map[string]committed.Bounds{p.World.Topics.Events: f.Events, p.World.Topics.Labels: f.Labels} {
		end := map[string]int64{p.World.Topics.Events: 5, p.World.Topics.Labels: 2}[topic]
		if b != (committed.Bounds{Topic: topic, Stable: end, High: end, Likeness: committed.Same}) {
			t.Errorf("bounds: %+v", b)
		}
	}
	if f.Scores != (scores.Tail{Next: 4, Known: true}) || f.ScoresOf != p.Name {
		t.Errorf("scores: %+v of %s", f.Scores, f.ScoresOf)
	}
	plan := committed.Decide(f, committed.Policies{})
	if plan.Stop != nil || plan.Label() != "snapshot" || plan.Target != (state.Position{Events: 4, Labels: 2}) ||
		!plan.Claimed || plan.Missing != committed.Nowhere {
		t.Errorf("%+v", plan)
	}
}

// TestFactsThatAreNotRead: a state that this member's own task has left asks the group alone, and a stage without a
// topic of labels asks nothing about one.
func TestFactsThatAreNotRead(t *testing.T) {
	p := newPartition(t)
	left := p.done
	if f, log, err := p.Read(t.Context(), &left, false); err != nil || log != nil || f.Left != &left ||
		committed.Decide(f, committed.Policies{}).Origin != committed.Kept {
		t.Errorf("%v, %+v", err, f)
	}
	if f, log, err := p.Read(t.Context(), &left, true); err != nil || log == nil || !f.Torn {
		t.Errorf("%v, %+v", err, f)
	}
	p.Reader.Topics.Labels = ""
	if f := p.read(); f.Group.HasLabels || f.Labels != (committed.Bounds{}) || f.NewOwner() != p.owner() {
		t.Errorf("without labels: %+v, owner %+v", f.Group, f.NewOwner())
	}
	p.Reader.Topics.Events = p.World.Topics.Scores
	if f := p.read(); f.NewOwner().Labels != "" || f.Seen.Events != (state.Message{}) {
		t.Errorf("of other events: owner %+v, seen %+v", f.NewOwner(), f.Seen)
	}
}

// TestWhetherATopicIsTheOneOfTheState goes by the message that the state tells of it.
func TestWhetherATopicIsTheOneOfTheState(t *testing.T) {
	p := newPartition(t)
	for _, c := range []struct {
		name string
		seen state.Message
		want committed.Likeness
	}{
		{"none is told", state.Message{}, committed.Untold},
		{"the message", p.seen.Events, committed.Same},
		{"another message", state.Message{Next: p.seen.Events.Next, Sum: p.seen.Events.Sum + 1}, committed.Other},
		{"the last one", state.MessageOf(&p.Records(p.World.Topics.Events, 0)[4]), committed.Same},
		{"beyond the end", state.Message{Next: 6, Sum: 1}, committed.Other},
	} {
		p.put(state.SeenKey, state.Seen{Events: c.seen}.Encode())
		if f := p.read(); f.Events.Likeness != c.want || f.Labels.Likeness != committed.Untold {
			t.Errorf("%s: %v, labels %v; want %v", c.name, f.Events.Likeness, f.Labels.Likeness, c.want)
		}
	}
}

// TestScoresOfAnotherTopicAreNoneOfTheLastTransaction.
func TestScoresOfAnotherTopicAreNoneOfTheLastTransaction(t *testing.T) {
	p := newPartition(t)
	owner := p.owner()
	owner.Scores = "before"
	p.put(state.OwnerKey, owner.Encode())
	if f := p.read(); f.Scores != (scores.Tail{Next: -1, Anew: true}) {
		t.Errorf("%+v", f.Scores)
	}
	p.put(state.DoneKey, nil)
	if f := p.read(); f.Scores != (scores.Tail{}) || f.Done.Number != 0 {
		t.Errorf("without a last transaction: %+v, %+v", f.Scores, f.Done)
	}
}

// TestRecordsThatCannotBeReadAreFacts: those of a newer build all end the stage, and a damaged one is
// told.
func TestRecordsThatCannotBeReadAreFacts(t *testing.T) {
	damaged := []byte("damaged")
	newer := func(value []byte) []byte {
		payload, _, _ := state.Unseal(value, 1)
		return state.Seal(payload, 2)
	}
	for _, c := range []struct {
		key   string
		value []byte
		count func(f *committed.Facts) int
	}{
		{state.DoneKey, state.Done{Number: 1}.Encode(1), func(f *committed.Facts) int {
			if f.DoneErr != nil {
				return 1
			}
			return 0
		}},
		{"manifest/1", (&state.Manifest{Format: 1, Number: 1}).Encode(),
			func(f *committed.Facts) int { return len(f.Unread) }},
		{state.OwnerKey, state.Owner{Stage: "s", Events: "e"}.Encode(),
			func(f *committed.Facts) int { return len(f.Lesser) }},
		{state.SeenKey, state.Seen{}.Encode(), func(f *committed.Facts) int { return len(f.Lesser) }},
	} {
		p := newPartition(t)
		p.put(c.key, damaged)
		if f := p.read(); c.count(f) != 1 || f.Newer != nil {
			t.Errorf("%s is damaged: %d errors, newer %v", c.key, c.count(f), f.Newer)
		}
		p.put(c.key, newer(c.value))
		if f := p.read(); c.count(f) != 1 || f.Newer == nil || f.Newer.Format != 2 {
			t.Errorf("%s of a newer build: %d errors, newer %v", c.key, c.count(f), f.Newer)
		}
	}
}

// TestForeignValuesDoNotFillTheMemoryOfATakeover: it reads no more bytes of a state than the configuration can have
// written.
func TestForeignValuesDoNotFillTheMemoryOfATakeover(t *testing.T) {
	p := newPartition(t)
	p.Limit = 2000
	for i := range 4 {
		p.put(fmt.Sprint("part/core/0/", i), make([]byte, 600))
	}
	_, log, err := p.Read(t.Context(), nil, false)
	if err != nil || log.Foreign == 0 || log.Foreign > 3 || log.Limit != 2000 {
		t.Errorf("%v, %d values are left out of %d bytes", err, log.Foreign, log.Limit)
	}
}

// TestAnOpenTransactionOfSomebodyElseHidesTheState: its outcome decides about the state, so the takeover waits.
func TestAnOpenTransactionOfSomebodyElseHidesTheState(t *testing.T) {
	p := newPartition(t)
	broken := txn.NewClient(txn.Config{Brokers: p.Brokers, Timeout: 2 * time.Second,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return streamtest.Endless(c), nil
		}})
	defer broken.Close()
	open := func(topic string) (end func()) {
		t.Helper()
		id := p.Name + "-foreign-" + topic
		foreign, err := broken.NewProducer(t.Context(), id, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if foreign.Commit(t.Context(), txn.Transaction{Records: []txn.Record{{Topic: topic, Value: []byte("x")}}}) == nil {
			t.Fatal("a transaction without an end was committed")
		}
		return func() {
			if _, err := p.World.Client.NewProducer(t.Context(), id, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := open(p.World.Topics.State)
	_, _, err := p.Read(t.Context(), nil, false)
	var e *txn.Error
	if !errors.As(err, &e) || e.Kind != txn.Environment || e.Topic != p.World.Topics.State ||
		!strings.Contains(err.Error(), "somebody else's transaction") {
		t.Errorf("%v", err)
	}
	end()
	// One among the events hides no fact: the end of the topic lies behind it, and the message under it is not known.
	end = open(p.World.Topics.Events)
	p.put(state.SeenKey, state.Seen{Events: state.Message{Next: 6, Sum: 1}}.Encode())
	streamtest.Eventually(t, 10*time.Second, "the end of the transaction", func() bool {
		_, _, err = p.Read(t.Context(), nil, false)
		return err == nil
	})
	if f := p.read(); f.Events.Stable != 5 || f.Events.High != 6 || f.Events.Likeness != committed.Untold {
		t.Errorf("%+v", f.Events)
	}
	end()
}
