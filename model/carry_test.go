package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// carrySpec has the components whose states are carried over.
func carrySpec(s *model.Schema) *model.Spec {
	o := propensity.Default()
	o.Blocks = []propensity.Block{
		{Name: "lift", Inputs: lift.MaxEntered, Fitted: true},
		{Name: "local", Inputs: 1},
		{Name: "kernel", Inputs: 1},
	}
	spec := newSpec(func(o *model.Options) { o.TailBytes, o.Frame = 1, 5 })
	spec.Schema, spec.Scorecard = s, propensity.New(o, s)
	spec.Components = []model.Factory{
		lift.New(lift.Options{Quantiles: 4, Enter: true, Sets: lift.SetOptions{Min: 1, Max: 3, Top: 20},
			Profiles: lift.ProfileOptions{Top: 5, MinSupport: .01, MaxFeatures: 2}}, s),
		local.New(local.Options{Theta: .1, Prototypes: 128}, s),
		kernel.New(kernelOptions(), s),
	}
	spec.Options.Fingerprint = uint64(len(s.Features))<<8 + uint64(len(s.Classes))
	return spec
}

func kernelOptions() kernel.Options {
	o := kernel.Default()
	o.Triples, o.Gamma1, o.Gamma2 = 300, 1, 1
	return o
}

// wide is the schema before the change: two continuous features are cut together, and a set of features is at work.
var wide = &model.Schema{
	Features: []model.Feature{
		{Name: "age", Kind: model.Continuous},
		{Name: "job", Kind: model.Nominal},
		{Name: "grade", Kind: model.Ordinal, Levels: []string{"low", "mid", "high"}},
		{Name: "sum", Kind: model.Continuous},
		{Name: "side", Kind: model.Nominal, Levels: []string{"left", "right"}},
	},
	Classes: []string{"no", "yes"}, Positive: 1,
}

// wideRows gives records of wide in the columns of s; columns that wide lacks are missing. The class is that of a pair.
func wideRows(s *model.Schema, from, n int, labelled bool) *model.Batch {
	b := rows(from, n)
	side, sum := model.Column{Levels: []string{"left", "right", "middle"}}, model.Column{}
	for i := range n {
		h := model.Hash(11, uint64(from+i))
		c := uint32(h & 1)
		if h>>1&15 == 0 {
			c = 2
		}
		side.Code = append(side.Code, c)
		sum.Float = append(sum.Float, 30*float64(h>>20&1023)/1024-b.Columns[0].Float[i]/4)
		if h>>8&3 > 0 { // neither says anything alone
			b.Label[i] = int32((h ^ uint64(b.Columns[1].Code[i])) & 1)
		}
		if !labelled {
			b.Label[i] = model.Unlabelled
		}
		b.Row[i] = int32(from + i)
	}
	b.Offset = 0
	byName := map[string]model.Column{
		"age":   b.Columns[0],
		"job":   b.Columns[1],
		"grade": b.Columns[2],
		"sum":   sum,
		"side":  side,
	}
	b.Columns = nil
	for _, f := range s.Features {
		c, ok := byName[f.Name]
		for i := 0; !ok && i < n; i++ {
			if f.Kind == model.Continuous {
				c.Float = append(c.Float, math.NaN())
			} else {
				c.Code = append(c.Code, model.MissingCode)
			}
		}
		b.Columns = append(b.Columns, c)
	}
	return b
}

func take(t *testing.T, p *model.Partition, s *model.Schema, from, to int) {
	t.Helper()
	var out model.Scores
	for i := from; i < to; i += 100 {
		p.Events(wideRows(s, i, min(100, to-i), true), &out)
	}
}

// counts returns the counts of every monitored set by the names of its cells; of estimated sets only with all.
func counts(p *model.Partition, s *model.Schema) map[string]float64 {
	out := map[string]float64{}
	for _, c := range p.Component(lift.Name).(*lift.Component).Live() {
		var names []string
		for _, f := range c.Set.Features() {
			names = append(names, s.Features[f].Name)
		}
		slices.Sort(names)
		for x := range c.Table.Cells() {
			cell := strings.Split(c.Set.Label(p.Levels(), x), " & ")
			slices.Sort(cell)
			for y, v := range c.Table.Counts()[x*len(s.Classes) : (x+1)*len(s.Classes)] {
				if v != 0 {
					out[fmt.Sprint(names, c.Set.Cuts(), cell, s.Classes[y])] += v
				}
			}
		}
	}
	return out
}

// without leaves out the counts of sets that have the feature.
func without(m map[string]float64, names ...string) map[string]float64 {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(k string, _ float64) bool {
		set, _, _ := strings.Cut(k[1:], "]")
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(strings.Fields(set), n) })
	})
	return m
}

func clone(t *testing.T, spec *model.Spec, p *model.Partition) *model.Partition {
	t.Helper()
	q, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func fitted(t *testing.T, spec *model.Spec, p *model.Partition, version int64) *model.Model {
	t.Helper()
	m, err := model.Fit(context.Background(), spec, model.Held{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Version = version
	return m
}

//nolint:gocyclo // each figure of one carried partition is compared with its counterpart
func TestChangedSchemaKeepsWhatItDoesNotTouch(t *testing.T) {
	modeltest.Computes(t)
	spec := carrySpec(wide)
	p := model.NewPartition(spec, 0)
	take(t, p, wide, 0, 6000)
	if err := p.Swap(fitted(t, spec, p, 1)); err != nil {
		t.Fatal(err)
	}
	take(t, p, wide, 6000, 8000)
	if n := p.Component(lift.Name).InputCount(); n == 0 {
		t.Fatal("no set has entered: half of the test would say nothing")
	}
	f := func(name string) model.Feature { return wide.Features[wide.Feature(name)] }
	renamed, graded, sided := f("job"), f("grade"), f("side")
	renamed.Name = "work"
	graded.Levels = []string{"low", "mid", "high", "top"}
	sided.Levels = []string{"left", "right", "behind"}
	extra, city := model.Feature{Name: "extra", Kind: model.Continuous}, model.Feature{Name: "city", Kind: model.Nominal}
	rank := model.Feature{Name: "rank", Kind: model.Ordinal, Levels: []string{"a", "b"}, Monotone: model.Up}
	kinds := f("grade")
	kinds.Kind = model.Nominal
	two, three := wide.Classes, []string{"no", "yes", "maybe"}
	for _, c := range []struct {
		name     string
		features []model.Feature
		classes  []string
		gone     []string // features whose sets go
		bound    float64  // on the change of a propensity; < 0 = none stated
	}{
		{"nothing", wide.Features, two, nil, 0},
		{
			"features added", []model.Feature{extra, f("age"), city, f("job"), f("grade"), rank, f("sum"), f("side")},
			two, nil, 1e-12,
		},
		{"reordered", []model.Feature{f("side"), f("sum"), f("grade"), f("age"), f("job")}, two, nil, 1e-12},
		{"removed", []model.Feature{f("age"), f("grade"), f("sum"), f("side")}, two, []string{"job"}, -1},
		{"renamed", []model.Feature{f("age"), renamed, f("grade"), f("sum"), f("side")}, two, []string{"job"}, -1},
		{"another kind", []model.Feature{f("age"), f("job"), kinds, f("sum"), f("side")}, two, []string{"grade"}, -1},
		// The linear input of an ordinal feature counts from the middle of its levels.
		{"levels added", []model.Feature{f("age"), f("job"), graded, f("sum"), sided}, two, nil, 1e-5},
		// Weights that two classes share speak of the third, too.
		{"a class added", wide.Features, three, nil, 0.13},
		{"all at once", []model.Feature{extra, f("side"), f("sum"), graded, f("age"), rank}, three, []string{"job"}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := &model.Schema{Features: c.features, Classes: c.classes, Positive: 1}
			nspec := carrySpec(next)
			q, change, err := clone(t, spec, p).Carry(nspec)
			if err != nil {
				t.Fatal(err)
			}
			q = clone(t, nspec, q) // it reads its own bytes
			want := without(counts(p, wide), c.gone...)
			got := counts(q, next)
			if !maps.Equal(got, want) {
				t.Errorf("counts differ: %d cells, want %d (%s)", len(got), len(want), change)
				for k, v := range want {
					if got[k] != v {
						t.Fatalf("%s: %v, want %v", k, got[k], v)
					}
				}
			}
			if q.Labelled() != p.Labelled() || q.Seen() != p.Seen() || q.ModelVersion() != 1 || !q.Trained() ||
				q.NextOffset() != p.NextOffset() {
				t.Errorf("clock %v, seen %v, model %v", q.Labelled(), q.Seen(), q.ModelVersion())
			}
			// Scores of new records, in which the new features are missing.
			var a, b model.Scores
			old := clone(t, spec, p)
			one := clone(t, nspec, q)
			old.Events(wideRows(wide, 8000, 500, false), &a)
			one.Events(wideRows(next, 8000, 500, false), &b)
			worst := 0.
			for i := range 500 {
				for y := range wide.Classes {
					worst = max(worst, math.Abs(a.P[i*2+y]-b.P[i*len(c.classes)+y]))
				}
			}
			if t.Logf("propensities move by at most %.2g", worst); c.bound >= 0 && worst > c.bound {
				t.Errorf("propensities move by up to %v, want at most %v", worst, c.bound)
			}
			sameSubspaces(t, &a, &b, next, len(c.gone) == 0)
			// The opinions of the local part and of the kernel reach the scorecard: one input each, before and after.
			for _, name := range []string{local.Name, kernel.Name} {
				if n := q.Component(name).InputCount(); n != 1 || p.Component(name).InputCount() != 1 {
					t.Errorf("%s offers %d inputs", name, n)
				}
			}
			farthest, told, flips := liftsMoved(t, &a, &b, change)
			near, most := 1e-9, 0
			if len(c.features) != len(wide.Features) { // the test of which lifts are shown depends on their number
				most = told / 10
			}
			if len(c.classes) > len(wide.Classes) { // the floor of a new class's base rate, and of those of the others
				near, most = .001, max(most, told/100)
			}
			t.Logf("%d lifts move by at most %.2g, %d come or go", told, farthest, flips)
			if told < 200 || farthest > near || flips > most {
				t.Errorf("of %d lifts the farthest moves by %v, want at most %v; %d come or go, want at most %d",
					told, farthest, near, flips, most)
			}
			// It learns on as one that was never interrupted, and a fit keeps the counts.
			take(t, old, wide, 8500, 9500)
			take(t, one, next, 8500, 9500)
			want, got = without(counts(old, wide), c.gone...), counts(one, next)
			if !maps.Equal(got, want) {
				t.Errorf("counts differ after learning on: %d cells, want %d", len(got), len(want))
			}
			if err := one.Swap(fitted(t, nspec, one, 2)); err != nil {
				t.Fatal(err)
			}
			after, kept := counts(one, next), 0
			for k, v := range want {
				if after[k] == v {
					kept++
				} else if _, there := after[k]; there {
					t.Fatalf("after a fit %s: %v, want %v", k, after[k], v)
				}
			}
			if kept < len(want)*3/4 {
				t.Errorf("a fit keeps the counts of %d of %d cells", kept, len(want))
			}
		})
	}
}

// subspaceOf is the subspace of record i, by name, with its relevances.
func subspaceOf(s *model.Scores, schema *model.Schema, i int) string {
	from, text := int32(0), ""
	if i > 0 {
		from = s.SubspaceEnd[i-1]
	}
	for k := from; k < s.SubspaceEnd[i]; k++ {
		text += fmt.Sprintf("%s %.5f ", schema.Features[s.Subspace[k]].Name, s.Relevance[k])
	}
	return text
}

// sameSubspaces compares the local part's reasons and subspaces before and after a change of the schema. all says that
// every feature has stayed: then they are the same.
func sameSubspaces(t *testing.T, a, b *model.Scores, next *model.Schema, all bool) {
	t.Helper()
	whole := 0
	for i := range 500 {
		if b.Status[i] != model.StatusOK {
			if all && b.Reason[i] != a.Reason[i] {
				t.Fatalf("record %d: degraded, %s, was %q", i, b.Reason[i], a.Reason[i])
			}
			continue
		}
		whole++
		if was, is := subspaceOf(a, wide, i), subspaceOf(b, next, i); all && was != is {
			t.Fatalf("record %d: subspace %q, was %q", i, is, was)
		}
	}
	if whole < 450 {
		t.Errorf("%d of 500 records have a whole answer", whole)
	}
}

// evidenceOf are the lift and the records of each cell of record i, as reasons show them, by feature.
func evidenceOf(s *model.Scores, schema *model.Schema, i int) map[string][2]float64 {
	m := map[string][2]float64{}
	from := int32(0)
	if i > 0 {
		from = s.WhyEnd[i-1]
	}
	for _, r := range s.Why[from:s.WhyEnd[i]] {
		if r.Feature >= 0 {
			m[schema.Features[r.Feature].Name] = [2]float64{r.Lift, r.N}
		}
	}
	return m
}

// liftsMoved compares the lifts of the features that stay: the largest move of the lifts shown on both sides, their
// number, and the number of lifts shown on one side alone.
func liftsMoved(t *testing.T, a, b *model.Scores, c *model.Change) (farthest float64, told, flips int) {
	t.Helper()
	for i := range 500 {
		was, is := evidenceOf(a, wide, i), evidenceOf(b, c.To, i)
		for o, f := range wide.Features {
			if c.Index(o) < 0 {
				continue
			}
			x, y := was[f.Name], is[f.Name]
			if x[1] != y[1] {
				t.Fatalf("record %d: %s has %v records, had %v", i, f.Name, y[1], x[1])
			}
			switch {
			case math.IsNaN(x[0]) != math.IsNaN(y[0]):
				flips++
			case !math.IsNaN(x[0]):
				told++
				farthest = max(farthest, math.Abs(x[0]-y[0]))
			}
		}
	}
	return farthest, told, flips
}

func TestWhatCannotBeCarriedOverIsRefused(t *testing.T) {
	spec := carrySpec(wide)
	p := model.NewPartition(spec, 0)
	for name, s := range map[string]*model.Schema{
		"a class less":     {Features: wide.Features, Classes: []string{"no"}, Positive: -1},
		"classes swapped":  {Features: wide.Features, Classes: []string{"yes", "no"}, Positive: 0},
		"another positive": {Features: wide.Features, Classes: wide.Classes, Positive: 0},
	} {
		if _, _, err := clone(t, spec, p).Carry(carrySpec(s)); !errors.Is(err, model.ErrModelForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOriginOfAState(t *testing.T) {
	p := model.NewPartition(carrySpec(wide), 0)
	section := p.Snapshot()[model.SectionSchema]
	s, frame, err := model.Origin(section)
	if err != nil || frame != 5 {
		t.Fatal(err, frame)
	}
	if c, err := model.Relate(s, wide); err != nil || !slices.Equal(c.Feature, []int{0, 1, 2, 3, 4}) {
		t.Errorf("%v %v", err, c)
	}
	before := p.Snapshot() // as builds wrote it that did not know the section
	delete(before, model.SectionSchema)
	if _, err := model.RestorePartition(carrySpec(wide), before); err != nil {
		t.Errorf("a state without its schema: %v", err)
	}
	for n := range section {
		bad := slices.Clone(section)
		bad[n] ^= 0x55
		_, _, _ = model.Origin(bad) // no panic
		if _, _, err := model.Origin(section[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for a schema", n, len(section))
		}
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add(model.NewPartition(carrySpec(wide), 0).Snapshot()[model.SectionSchema])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, frame, err := model.Origin(b)
		if err != nil {
			return
		}
		spec := carrySpec(wide)
		spec.Schema, spec.Options.Frame = s, frame
		read := &model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s), Options: spec.Options}
		again, same, err := model.Origin(model.NewPartition(read, 0).Snapshot()[model.SectionSchema])
		if err != nil || same != frame || len(again.Features) != len(s.Features) {
			t.Fatalf("%v %v", err, again)
		}
	})
}

// TestHostileStateIsNotCarriedOverNoPanic: a damaged state that can be read is carried over as one that can be read.
func TestHostileStateIsNotCarriedOverNoPanic(t *testing.T) {
	modeltest.Computes(t)
	p, factories, c := carried(t)
	carries := 0
	for i, f := range factories {
		good := p.Component(f.Name()).AppendState(nil)
		for k := 0; k < len(good); k += max(len(good)/400, 1) {
			for _, flip := range []byte{1, 0x80, 0xff} {
				bad := slices.Clone(good)
				bad[k] ^= flip
				if carry(t, factories[i], c, bad) {
					carries++
				}
			}
			carry(t, f, c, good[:k])
		}
	}
	if carries == 0 {
		t.Error("no damage passes the decoders: nothing is tested")
	}
}

func carried(t testing.TB) (*model.Partition, []model.Factory, *model.Change) {
	spec := carrySpec(wide)
	p := model.NewPartition(spec, 0)
	var out model.Scores
	for i := 0; i < 1500; i += 100 {
		p.Events(wideRows(wide, i, 100, true), &out)
	}
	next := carrySpec(
		&model.Schema{
			Features: append([]model.Feature{{Name: "extra", Kind: model.Continuous}}, wide.Features[1:]...),
			Classes:  []string{"no", "yes", "maybe"},
			Positive: 1,
		},
	)
	c, err := model.Relate(wide, next.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return p, append(slices.Clone(next.Components), modeltest.Scorecard(next.Scorecard)), c
}

func carry(t *testing.T, f model.Factory, c *model.Change, state []byte) bool {
	t.Helper()
	out, _, err := f.(model.Carrier).CarryState(c, state)
	if err != nil {
		return false
	}
	if err := f.New(model.NewLevels(c.To)).LoadState(out); err != nil {
		t.Fatalf("what %s carried over is not read: %v", f.Name(), err)
	}
	return true
}

// FuzzCarryState: states of any origin are carried over or refused.
func FuzzCarryState(f *testing.F) {
	p, factories, c := carried(f)
	for i, x := range factories {
		f.Add(i, p.Component(x.Name()).AppendState(nil))
		f.Add(i, x.New(model.NewLevels(wide)).AppendState(nil))
	}
	f.Fuzz(func(t *testing.T, i int, state []byte) {
		carry(t, factories[uint(i)%uint(len(factories))], c, state)
	})
}
