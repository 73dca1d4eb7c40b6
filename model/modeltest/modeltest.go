// Package modeltest is the conformance suite of model.Component: the rules that every implementation keeps.
//
// Begin at Suite.Run.
package modeltest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

// Suite describes a component and its tests.
type Suite struct {
	Schema *model.Schema
	// New makes the factory under test for a schema: the Suite's, or the same with its features in another order.
	New func(s *model.Schema) model.Factory
	// Records is the number of generated records; 0 = 1,200.
	Records int
	// PathDependent says that the state depends on the order of learning, as a scorecard's weights do: Retract then
	// need not restore it, and states of parts of a stream do not add up.
	PathDependent bool
	// Same compares two live components beyond their Inputs; nil compares just those. tolerance is relative.
	Same func(t *testing.T, what string, got, want model.Component, tolerance float64)
	// Golden is a file with a state and a part as an earlier build has written them, which this one must read; "" = none.
	// LIFTSTREAM_GOLDEN=write makes it anew: right for a format that no release has written, and for no other.
	Golden string
}

// Run runs the suite, each rule as a subtest.
func (s Suite) Run(t *testing.T) {
	if s.Records == 0 {
		s.Records = 1200
	}
	x := newFixture(t, s)
	for _, c := range []struct {
		name string
		test func(*testing.T, *fixture)
	}{
		{"Empty", testEmpty},
		{"LearnKeepsItsInput", testInputKept},
		{"WeightlessChangesNothing", testWeightless},
		{"SameCallsSameBytes", testSameBytes},
		{"FitGivesSameBytes", testFitSameBytes},
		{"FitKeepsEvidence", testFitKeepsEvidence},
		{"FitObeysContext", testFitContext},
		{"FitOnPoorEvidence", testFitPoor},
		{"InputsArePure", testPure},
		{"RecordsAllocateNothing", testAllocations},
		{"SnapshotRestoresExactly", testSnapshot},
		{"RetractTakesBack", testRetract},
		{"MoverRebasesAlike", testMover},
		{"RebaseKeepsUnchanged", testRebaseKeeps},
		{"RebaseLearnsSince", testRebaseSince},
		{"MergeIsSum", testMerge},
		{"RecodeIsRenaming", testRecode},
		{"FeatureOrderHasNoEffect", testFeatureOrder},
		{"HostileBytesNoPanic", testHostile},
		{"ChangedSchemaCarriesOver", testCarry},
		{"Scorecard", testScorecard},
		{"FormatIsReadForEver", testFormat},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasPrefix(c.name, "Fit") {
				Computes(t)
			}
			c.test(t, x)
		})
	}
}

// fixture is a generated stream with a model fitted on its first two thirds. The tests share it and change nothing in
// it.
type fixture struct {
	Suite
	levels   *model.Levels
	examples []model.Example
	factory  model.Factory
	fitted   int
	part     []byte
}

func newFixture(t *testing.T, s Suite) *fixture {
	t.Helper()
	x := &fixture{Suite: s, factory: s.New(s.Schema)}
	x.levels, x.examples = Generate(s.Schema, s.Records, 1)
	x.fitted = s.Records * 2 / 3
	x.part = x.fit(t, x.factory, x.evidence(x.examples[:x.fitted]), nil)
	return x
}

func (x *fixture) fit(t *testing.T, f model.Factory, ev *model.Evidence, previous []byte) []byte {
	t.Helper()
	part, err := f.Fit(context.Background(), ev, previous)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	return part
}

func (x *fixture) evidence(ex []model.Example) *model.Evidence {
	return Evidence(x.Schema, x.levels, ex)
}

// live returns a component of partition self under the part, which has learnt since.
func (x *fixture) live(t *testing.T, part []byte, self int32, since []model.Example) model.Component {
	t.Helper()
	c := x.factory.New(x.levels)
	rebase(t, c, part, self, nil, since)
	return c
}

func rebase(t *testing.T, c model.Component, part []byte, self int32, r model.Recode, since []model.Example) {
	t.Helper()
	rb := &model.Rebase{Part: part, Self: self, Recode: r, Since: yield(since)}
	if n := len(since); n > 0 {
		rb.Clock = since[n-1].Clock + 1
	}
	if err := c.Rebase(rb); err != nil {
		t.Fatalf("rebasing: %v", err)
	}
}

func yield(ex []model.Example) func(func(*model.Example) bool) {
	return func(yield func(*model.Example) bool) {
		var e model.Example
		for i := range ex {
			e = ex[i]
			e.Row = slices.Clone(ex[i].Row)
			if !yield(&e) {
				return
			}
		}
	}
}

// inputs returns the inputs of the component for the row; entries that it leaves untouched stay NaN.
func (x *fixture) inputs(c model.Component, row model.Row) []float64 {
	dst := make([]float64, c.InputCount()*len(x.Schema.Classes))
	for i := range dst {
		dst[i] = math.NaN()
	}
	c.Inputs(row, dst)
	return dst
}

func (x *fixture) same(t *testing.T, what string, got, want model.Component, tolerance float64) {
	t.Helper()
	if got.InputCount() != want.InputCount() {
		t.Fatalf("%s: %d inputs, want %d", what, got.InputCount(), want.InputCount())
	}
	for _, ex := range x.examples {
		a, b := x.inputs(got, ex.Row), x.inputs(want, ex.Row)
		for i := range a {
			if math.Abs(a[i]-b[i]) > tolerance*max(1, math.Abs(b[i])) {
				t.Fatalf("%s: input %d is %v, want %v", what, i, a[i], b[i])
			}
		}
	}
	if x.Same != nil {
		x.Same(t, what, got, want, tolerance)
	}
}
