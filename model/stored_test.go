package model

import "testing"

// TestRecordsOfNoClassBesideAGoalAreRead: an earlier build stored UnknownClass beside a known goal. It is read as
// Unlabelled; without a goal it is damage, as other numbers below it are.
func TestRecordsOfNoClassBesideAGoalAreRead(t *testing.T) {
	goal := Outcomes(0).With(1, 1)
	for _, c := range []struct {
		ex   Example
		ok   bool
		read int32
	}{
		{Example{Class: UnknownClass, Outcomes: goal}, true, Unlabelled},
		{Example{Class: Unlabelled, Outcomes: goal}, true, Unlabelled},
		{Example{Class: 1, Outcomes: goal}, true, 1},
		{Example{Class: 2, Outcomes: goal}, false, 2},
		{Example{Class: UnknownClass}, false, UnknownClass},
		{Example{Class: Unlabelled}, false, Unlabelled},
		{Example{Class: UnknownClass - 1, Outcomes: goal}, false, UnknownClass - 1},
		{Example{Class: UnknownClass, Outcomes: goal.With(3, 0)}, false, Unlabelled},
	} {
		v := c.ex.stored()
		class, o := unstored(v)
		if ok := isStored(v, 2, 2); ok != c.ok || class != c.read || o != c.ex.Outcomes {
			t.Errorf("%+v: stored %v, read as class %d and %v", c.ex, ok, class, o)
		}
	}
}
