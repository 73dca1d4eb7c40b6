package orders

import (
	"errors"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/stream/state"
)

// TestOrdersOnNoModel: the effect of each order on the one before, where no model was published, and the refused ones.
func TestOrdersOnNoModel(t *testing.T) {
	none, pinned := state.Order{}, state.Order{Serve: 3, Return: true}
	still := state.Order{Frozen: true, Still: true}
	for name, c := range map[string]struct {
		before  state.Order
		order   Options
		want    state.Order
		refused string
	}{
		"pin":                   {none, Options{Verb: Pin, Version: 1}, none, "models holds no model 1"},
		"unpin":                 {pinned, Options{Verb: Unpin}, none, ""},
		"unpin of none":         {none, Options{Verb: Unpin}, none, "no version is pinned"},
		"unpin of a rollback":   {state.Order{Serve: 3, Until: 5}, Options{Verb: Unpin}, none, "no version is pinned"},
		"rollback":              {none, Options{Verb: Rollback}, none, "no readable model"},
		"rollback while pinned": {pinned, Options{Verb: Rollback, Version: 2}, none, "model 3 is pinned"},
		"freeze":                {pinned, Options{Verb: Freeze}, state.Order{Serve: 3, Return: true, Frozen: true}, ""},
		"freeze with learning":  {none, Options{Verb: Freeze, Learning: true}, still, ""},
		"freeze the fits alone": {still, Options{Verb: Freeze}, state.Order{Frozen: true}, ""},
		"unfreeze":              {still, Options{Verb: Unfreeze}, none, ""},
		"unfreeze of a fit":     {state.Order{Serve: 3, Frozen: true}, Options{Verb: Unfreeze}, state.Order{Serve: 3}, ""},
		"unfreeze of nothing":   {pinned, Options{Verb: Unfreeze}, none, "nothing is frozen"},
		"publish":               {pinned, Options{Verb: Publish}, pinned, ""},
		"trust":                 {none, Options{Verb: Trust}, none, "nothing to trust"},
	} {
		got := c.before
		c.order.Topic = "models"
		err := c.order.change(&got, state.NewModels(nil, "models", nil))
		var refused *RefusedError
		switch {
		case c.refused != "":
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want it refused: %s", name, err, c.refused)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %+v, want %+v, error %v", name, got, c.want, err)
		}
	}
}

// TestTooManyIDs are refused before anything is written.
func TestTooManyIDs(t *testing.T) {
	_, err := (&Forgetting{}).Forget(t.Context(), make([]model.IDSum, state.ErasureIDs+1), nil)
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
