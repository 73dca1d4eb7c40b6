// Package orders gives orders on the models of a stage: which version serves, whether models are fitted, and whether
// records are learnt. An order is a record of the model topic (state.Order), which every task and the trainer follow,
// whether the stage runs now or later.
//
// Begin at Give.
package orders

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Verb names the effect of an order.
type Verb string

// The verbs.
const (
	Pin      Verb = "pin"      // a version serves until unpin, and no newer one
	Unpin    Verb = "unpin"    // the newest version serves, with the counts of the partitions
	Rollback Verb = "rollback" // an earlier version serves as it was published, until the next one is accepted
	Freeze   Verb = "freeze"   // no model is fitted, or nothing learnt
	Unfreeze Verb = "unfreeze" // the end of both
	Publish  Verb = "publish"  // a model serves that a person gives
	// Trust has labels that look inverted fitted on, until the next model is published.
	Trust Verb = state.VerbTrust
)

// Options are an order and its place.
type Options struct {
	Client      *txn.Client
	Name        string // of the stage
	Topic       string // of its models
	Fingerprint uint64 // of its configuration
	Verb        Verb
	Version     int64        // of Pin, and of Rollback, where 0 is the one before the serving one
	Learning    bool         // of Freeze: records are not learnt either
	Model       *model.Model // of Publish
	Who, Why    string
	Now         time.Time
}

// RefusedError is returned where an order makes no sense.
type RefusedError struct{ Problem string }

func (e *RefusedError) Error() string { return e.Problem }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// transaction is the timeout of the one transaction.
const transaction = 30 * time.Second

// settled is how long the transactions of others may hold the end of the topic back.
const settled = 10 * time.Second

// ID is the transactional id of the orders on a stage.
func ID(name string) string { return name + "-orders" }

// Give writes an order and returns it. Two at the same time follow one another: the second one takes the transactional
// id over, reads the topic with the first one's order, or makes the first one fail. An order without sense is a
// RefusedError: an unknown or unreadable version, a rollback to a later one or while one is pinned, the end of an order
// that was not given.
func Give(ctx context.Context, o Options) (*state.Order, error) {
	p, err := o.Client.NewProducer(ctx, ID(o.Name), transaction)
	if err != nil {
		return nil, fmt.Errorf("taking over the transactional id %s: %w", ID(o.Name), err)
	}
	models := state.NewModels(o.Client, o.Topic, nil)
	models.Fingerprint = o.Fingerprint
	if err := o.read(ctx, models); err != nil {
		return nil, err
	}
	next := models.Order()
	next.Number++
	next.Verb, next.Client, next.Why, next.Time = string(o.Verb), o.Who, o.Why, o.Now
	if err := o.change(&next, models); err != nil {
		return nil, err
	}
	records := []txn.Record{next.Record(o.Topic)}
	if o.Verb == Publish {
		offer, err := o.offer(ctx, models)
		if err != nil {
			return nil, err
		}
		records = append(records, offer...)
	}
	if err := p.Commit(ctx, txn.Transaction{Records: records}); err != nil {
		return nil, fmt.Errorf("writing the order: %w", err)
	}
	return &next, nil
}

// read reads the topic to its end. A transaction that was ended just now may hold it back for a moment.
func (o *Options) read(ctx context.Context, models *state.Models) error {
	began := time.Now()
	for {
		for end := false; !end; {
			var err error
			if end, err = models.Advance(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		high, err := o.Client.ListOffsets(ctx, o.Topic, []int{0}, txn.HighWatermark)
		if err != nil {
			return fmt.Errorf("reading the model topic: %w", err)
		}
		if models.Next() >= high[0] {
			return nil
		}
		if time.Since(began) > settled {
			return fmt.Errorf("a transaction of another program has been open in %s for %v", o.Topic, settled)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// change makes the order of its verb out of the one before.
func (o *Options) change(next *state.Order, models *state.Models) error {
	serving := models.Serves().Version
	newest, _ := models.Head()
	pinned := int64(0)
	if next.Until == 0 {
		pinned = next.Serve
	}
	switch o.Verb {
	case Pin:
		if err := o.usable(models, o.Version); err != nil {
			return err
		}
		if o.Version != serving {
			next.Return = true
		} else if next.Serve != serving {
			next.Return = false
		}
		next.Serve, next.Until = o.Version, 0
	case Unpin:
		if pinned == 0 {
			return refuse("no version is pinned: model %d serves", serving)
		}
		next.Serve, next.Until, next.Return = newest, newest, false
	case Rollback:
		if pinned > 0 {
			return refuse("model %d is pinned, and serves whatever is published: unpin it first, or pin another one", pinned)
		}
		to, err := o.before(models, serving)
		if err != nil {
			return err
		}
		next.Serve, next.Until, next.Return = to, newest, true
	case Freeze:
		next.Frozen, next.Still = true, o.Learning
	case Unfreeze:
		if !next.Frozen && !next.Still {
			return refuse("nothing is frozen by an order; the key 'learning' of the configuration is not changed by one")
		}
		next.Frozen, next.Still = false, false
	case Publish:
	case Trust:
		all := models.Verdicts()
		if n := len(all); n == 0 || all[n-1].Reason != model.Inverted {
			return refuse("there is nothing to trust: the last model was not refused for labels that look inverted")
		}
	default:
		return fmt.Errorf("no order: %q", o.Verb)
	}
	return nil
}

// offer returns the records of the given model, in pieces that the topic takes.
func (o *Options) offer(ctx context.Context, models *state.Models) ([]txn.Record, error) {
	if o.Model.Fingerprint != o.Fingerprint {
		return nil, refuse("the model is of another configuration")
	}
	// Without the right to ask, refused batches tell.
	_ = o.Client.LearnLimits(ctx, o.Topic)
	p := state.NewPacker()
	p.Limit = o.Client.Limit(o.Topic)
	return state.Offering(models, p, o.Model, o.Now)
}

// before returns the version to which a rollback goes.
func (o *Options) before(models *state.Models, serving int64) (int64, error) {
	if o.Version > 0 {
		if o.Version >= serving {
			return 0, refuse("model %d serves: a rollback goes to an earlier one, and %d is none", serving, o.Version)
		}
		return o.Version, o.usable(models, o.Version)
	}
	for _, v := range slices.Backward(slices.Sorted(maps.Keys(models.Versions()))) {
		if v < serving && o.usable(models, v) == nil {
			return v, nil
		}
	}
	return 0, refuse("%s holds no readable model of this configuration before the serving one, %d", o.Topic, serving)
}

// usable returns an error where a version cannot serve.
func (o *Options) usable(models *state.Models, version int64) error {
	if _, held := models.Versions()[version]; !held {
		return refuse("%s holds no model %d", o.Topic, version)
	}
	m, err := models.Get(version)
	if err != nil {
		return &RefusedError{err.Error()}
	}
	if m.Fingerprint != o.Fingerprint {
		return refuse("model %d is of another configuration", version)
	}
	return nil
}
