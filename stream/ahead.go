package stream

import (
	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
)

// ahead is a swap that is prepared beside the records (model.Prepared), so that it holds the loop for a short time. The
// journal has the place of the swap itself alone: a replay swaps there in one step, to the same state.
type ahead struct {
	of   state.Serving
	swap *model.Prepared // nil = none is prepared
	done chan struct{}   // closed when the records of the present round are learnt
}

// learn has a goroutine learn the records of a round.
func (a *ahead) learn() {
	done, swap := make(chan struct{}), a.swap
	a.done = done
	go func() {
		defer close(done)
		swap.Learn()
	}()
}

// ready returns a channel that is closed when the transaction can be completed with the swap, or another round can
// begin; nil = nothing is prepared.
func (a *ahead) ready() <-chan struct{} {
	if a.swap == nil {
		return nil
	}
	return a.done
}

// learning reports whether the records of a round are not learnt yet.
func (a *ahead) learning() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// drop gives the preparation up.
func (a *ahead) drop() {
	if a.swap == nil {
		return
	}
	a.swap.Interrupt()
	<-a.done
	a.swap.End()
	a.swap = nil
}

// swapAhead makes a version serve, unless its preparation has just begun or goes on: then it reports false.
func swapAhead(t *task, s state.Serving) (swapped bool, err error) {
	a := &t.ahead
	if a.swap != nil && a.of != s {
		a.drop()
	}
	if a.swap == nil && s.Order == 0 {
		if a.of, a.swap = s, replay.Prepare(t.m, s.Version); a.swap != nil {
			t.log.Info("the swap to a model is prepared beside the records", zap.Int64("model", s.Version))
			a.learn()
			return false, nil
		}
	}
	if a.swap == nil {
		return true, t.m.Swap(s.Version)
	}
	if a.learning() {
		return false, nil
	}
	if a.swap.More() {
		a.learn()
		return false, nil
	}
	prepared := a.swap
	a.swap = nil
	if replay.SwapPrepared(t.m, s.Version, prepared) {
		return true, nil
	}
	t.log.Info("the swap to a model is made in one step: the state has changed otherwise than by new records",
		zap.Int64("model", s.Version))
	return true, t.m.Swap(s.Version)
}
