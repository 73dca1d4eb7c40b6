package orders

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Forgetting is the work on orders to forget: it gives them, reads the answers of the partitions, and empties the
// orders that all have obeyed.
type Forgetting struct {
	Options         // of a stage, without a verb
	State   string  // topic of the states
	Models  []int64 // versions that the model topic held at Begin, ascending
	held    *state.Models
	answers []*answers
}

// MayHoldRecords reports whether a model that the topic held at Begin may hold records, see model.MayHoldRecords: one
// that cannot be read may.
func (f *Forgetting) MayHoldRecords(s *model.Spec) bool {
	return slices.ContainsFunc(f.Models, func(v int64) bool {
		m, err := f.held.Under(v, s.Schema)
		return err != nil || model.MayHoldRecords(s, m)
	})
}

// Answer is the answer of a partition to an order.
type Answer struct {
	Partition int
	Obeyed    bool
	// Clean says that no snapshot of the partition, and no record beside its journal, is left that names the ids or holds
	// a forgotten record; compaction takes their older values out of the topic.
	Clean bool
	Found model.Forgotten
	Keys  []uint64 // of the prototypes that were found
}

// answers follows a partition of the state topic.
type answers struct {
	partition int
	next      int64
	obeyed    map[uint64]*state.Erased // by journal number
}

// Begin reads the orders, and the answers so far of all partitions of the state topic.
func (f *Forgetting) Begin(ctx context.Context, partitions int) ([]*state.Erasure, error) {
	f.answers = nil
	for p := range partitions {
		f.answers = append(f.answers, &answers{partition: p, obeyed: map[uint64]*state.Erased{}})
	}
	models := state.NewModels(f.Client, f.Topic, nil)
	if err := f.read(ctx, models); err != nil {
		return nil, err
	}
	f.held = models
	f.Models = slices.Sorted(maps.Keys(models.Versions()))
	return state.Erasures(models), f.Advance(ctx)
}

// Advance reads the answers to the end of the state topic.
func (f *Forgetting) Advance(ctx context.Context) error {
	for _, a := range f.answers {
		start, end, err := f.Client.Bounds(ctx, f.State, a.partition)
		if err == nil {
			a.next, err = f.Client.Read(ctx, f.State, a.partition, max(a.next, start), end, a.take)
		}
		if err != nil {
			return fmt.Errorf("reading the state topic: %w", err)
		}
	}
	return nil
}

func (a *answers) take(r *txn.Record) {
	if string(r.Key) == state.BeginKey {
		clear(a.obeyed)
	}
	if !strings.HasPrefix(string(r.Key), state.ErasedKeys) {
		return
	}
	e, err := state.DecodeErased(r.Value, state.Format)
	if err != nil || string(r.Key) != state.ErasedKey(e.Journal) {
		return
	}
	if was := a.obeyed[e.Journal]; was != nil && was.Number == e.Number && len(e.Keys) == 0 {
		e.Keys = was.Keys // one that was emptied after its order has none
	}
	a.obeyed[e.Journal] = e
}

// Answers returns the answers of the partitions to the order of that number.
func (f *Forgetting) Answers(number uint64) []Answer {
	out := make([]Answer, len(f.answers))
	for i, a := range f.answers {
		out[i] = Answer{Partition: a.partition, Clean: true}
		for _, e := range a.obeyed {
			if e.Number == number {
				out[i].Found, out[i].Keys = e.Found, e.Keys
			}
			out[i].Obeyed = out[i].Obeyed || e.Number >= number
			out[i].Clean = out[i].Clean && (e.Number > number || e.Emptied || !e.Found.Any())
		}
		out[i].Clean = out[i].Clean && out[i].Obeyed
	}
	return out
}

// Await waits until all partitions have obeyed the order and are clean, at most so long.
func (f *Forgetting) Await(ctx context.Context, number uint64, most time.Duration) ([]Answer, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		if err := f.Advance(ctx); err != nil {
			return nil, err
		}
		all := f.Answers(number)
		if !slices.ContainsFunc(all, func(a Answer) bool { return !a.Clean }) {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return all, ctx.Err()
		case <-late.C:
			return all, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Forget gives the order to forget ids, or prototypes by their keys.
func (f *Forgetting) Forget(ctx context.Context, ids []model.IDSum, keys []uint64) (*state.Erasure, error) {
	if len(ids) > state.ErasureIDs {
		return nil, refuse("%d ids: an order takes %d at most", len(ids), state.ErasureIDs)
	}
	var next *state.Erasure
	err := f.write(ctx, func(all []*state.Erasure) ([]*state.Erasure, error) {
		next = &state.Erasure{Erasure: model.Erasure{Number: f.next(all), IDs: ids, Keys: keys}, Time: f.Now, Client: f.Who,
			Why: f.Why}
		for _, e := range all {
			if !e.Emptied && state.ErasureKey(e.Number) == state.ErasureKey(next.Number) {
				return nil, refuse("order %d has not been obeyed by all partitions yet, and so many others came since that a "+
					"further one would take its place: let the stage run, then say 'liftstream forget' without an id", e.Number)
			}
		}
		return []*state.Erasure{next}, nil
	})
	return next, err
}

// next is the number of the next order: above all others, those included that a model topic of before has held and that
// the states have obeyed. They would pass over a number that is not.
func (f *Forgetting) next(all []*state.Erasure) (number uint64) {
	for _, e := range all {
		number = max(number, e.Number)
	}
	for _, a := range f.answers {
		for _, e := range a.obeyed {
			number = max(number, e.Number)
		}
	}
	return number + 1
}

// Finish empties the orders up to that number, which all partitions have obeyed.
func (f *Forgetting) Finish(ctx context.Context, number uint64) error {
	return f.write(ctx, func(all []*state.Erasure) (out []*state.Erasure, err error) {
		for _, e := range all {
			if e.Number <= number && !e.Emptied {
				out = append(out, e.Empty())
			}
		}
		return out, nil
	})
}

// write writes the orders that change makes of the former ones, in one transaction.
func (f *Forgetting) write(ctx context.Context, change func(all []*state.Erasure) ([]*state.Erasure, error)) error {
	p, err := f.Client.NewProducer(ctx, ID(f.Name), transaction)
	if err != nil {
		return fmt.Errorf("taking over the transactional id %s: %w", ID(f.Name), err)
	}
	models := state.NewModels(f.Client, f.Topic, nil)
	if err := f.read(ctx, models); err != nil {
		return err
	}
	orders, err := change(state.Erasures(models))
	if err != nil || len(orders) == 0 {
		return err
	}
	var records []txn.Record
	for _, e := range orders {
		records = append(records, e.Record(f.Topic))
	}
	if err := p.Commit(ctx, txn.Transaction{Records: records}); err != nil {
		return fmt.Errorf("writing the order: %w", err)
	}
	return nil
}
