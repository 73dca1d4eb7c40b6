package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Synthetic is the generator of the paper's experiment (Algorithm 3). Every class is made of Patterns / classes
// patterns, each with its own subspace in which its values are normal. The other features, and all of a noise record,
// are uniform on [0, 1]. The paper does not print the sizes of the subspaces and the deviations.
type Synthetic struct {
	Features, Classes, Patterns int
	SizeLow, SizeHigh           int // features of a subspace
	DeviationLow, DeviationHigh float64
	Noise                       float64 // share of records without a pattern
	Seed                        uint64
}

// WideSubspaces and NarrowSubspaces are two settings of the paper's experiment: 50 features, 4 classes, 24 patterns, 15
// % noise; deviations .01 to .03 in 5 to 15 features, and .005 to .02 in 10 to 20.
func WideSubspaces(seed uint64) Synthetic { return Synthetic{50, 4, 24, 5, 15, .01, .03, .15, seed} }

// NarrowSubspaces is described at WideSubspaces.
func NarrowSubspaces(seed uint64) Synthetic {
	return Synthetic{50, 4, 24, 10, 20, .005, .02, .15, seed}
}

func (g *Synthetic) uniform(words ...uint64) float64 {
	return (float64(model.Hash(g.Seed, words...)>>12) + .5) / (1 << 52)
}

// Truth returns the features of a pattern, ascending.
func (g *Synthetic) Truth(pattern int) []int32 {
	n := g.SizeLow + int(g.uniform(1, uint64(pattern))*float64(g.SizeHigh-g.SizeLow+1))
	order := make([]int32, g.Features)
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if g.uniform(2, uint64(pattern), uint64(a)) < g.uniform(2, uint64(pattern), uint64(b)) {
			return -1
		}
		return 1
	})
	slices.Sort(order[:n])
	return order[:n:n]
}

// Record returns record i, its class, and the features of its pattern, nil of a noise record.
func (g *Synthetic) Record(i int) (row model.Row, class int32, truth []int32) {
	at := uint64(i)
	pattern := int(g.uniform(3, at) * float64(g.Patterns))
	row = make(model.Row, g.Features)
	for j := range row {
		row[j] = g.uniform(4, at, uint64(j))
	}
	class = int32(pattern % g.Classes)
	if g.uniform(5, at) < g.Noise {
		return row, int32(g.uniform(6, at) * float64(g.Classes)), nil
	}
	truth = g.Truth(pattern)
	for _, j := range truth {
		mean := .1 + .8*g.uniform(7, uint64(pattern), uint64(j))
		sd := g.DeviationLow + (g.DeviationHigh-g.DeviationLow)*g.uniform(8, uint64(pattern), uint64(j))
		radius, angle := math.Sqrt(-2*math.Log(g.uniform(9, at, uint64(j)))), 2*math.Pi*g.uniform(10, at, uint64(j))
		row[j] = mean + sd*radius*math.Cos(angle)
	}
	return row, class, truth
}

// Schema describes the records.
func (g *Synthetic) Schema() *model.Schema {
	s := &model.Schema{Positive: -1}
	for j := range g.Features {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("x%02d", j)})
	}
	for c := range g.Classes {
		s.Classes = append(s.Classes, fmt.Sprint(c))
	}
	return s
}

// Recovery compares the subspaces of records with those of their patterns: recall = mean |DS n T| / |T|, precision =
// mean |DS n T| / |DS| over the records that have a pattern.
type Recovery struct{ Recall, Precision float64 }

// Experiment is the result of the paper's experiment on one seed.
type Experiment struct {
	// Local is the recovery by paper A's features at Theta. Published is that by the published subspace, where an empty
	// one counts as neither recall nor precision.
	Local, Published Recovery
	// Global is the recovery by the features of largest mean score, as many as Local selected for the record. Frequent is
	// the recovery by the features in most of the training records' patterns, which no program knows.
	Global, Frequent Recovery
	Chance           float64 // precision of a random choice
	Size             float64 // mean number of features that paper A selects
	PublishedSize    float64 // mean number of features of the published subspace
	Accuracy, Plain  float64 // of the chosen distance, and of plain neighbours
	Theta            float64
	Measure          Measure
}

// Run fits on the first train records and scores the test ones that follow.
func (g *Synthetic) Run(ctx context.Context, o Options, train, test int) (Experiment, error) {
	s := g.Schema()
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, g.Features), Seed: g.Seed}
	frequency := make([]float64, g.Features)
	for i := range train {
		row, class, truth := g.Record(i)
		for j, v := range row {
			ev.Columns[j] = append(ev.Columns[j], v)
		}
		for _, j := range truth {
			frequency[j]++
		}
		ev.Class, ev.Weight = append(ev.Class, class), append(ev.Weight, 1)
		ev.Clock, ev.Time, ev.Partition = append(ev.Clock, float64(i)), append(ev.Time, 0), append(ev.Partition, 0)
	}
	f := New(o, s)
	part, err := f.Fit(ctx, ev, nil)
	if err != nil {
		return Experiment{}, err
	}
	c := f.New(ev.Levels).(*Component)
	if err := c.Rebase(&model.Rebase{Part: part}); err != nil {
		return Experiment{}, fmt.Errorf("serving what was fitted: %w", err)
	}
	mean := make([]float64, g.Features)
	for i := range train {
		for j := range mean {
			m, _, _ := c.structure.features[j].gaussian(ev.Columns[j][i])
			mean[j] += m
		}
	}
	byMean, byFrequency := descending(mean), descending(frequency)
	x := Experiment{Theta: c.structure.theta, Measure: c.structure.measure}
	l := c.structure.prototypes.limits(Measure{})
	p := make([]float64, g.Classes)
	var rows, patterned float64
	for i := train; i < train+test; i++ {
		row, class, truth := g.Record(i)
		published, _ := c.Select(row, nil, nil)
		x.PublishedSize += float64(len(published)) / float64(test)
		if truth != nil {
			patterned++
			if len(published) > 0 {
				x.Published.add(published, truth)
			}
		}
		selected, _ := c.structure.subspace(row, c.structure.theta, c.work, nil, nil)
		x.Size += float64(len(selected)) / float64(test)
		c.Predict(row, p)
		if slices.Index(p, slices.Max(p)) == int(class) {
			x.Accuracy += 1 / float64(test)
		}
		c.structure.neighbourhood(row, Measure{}, &l, -1, c.work)
		if c.work.best() == int(class) {
			x.Plain += 1 / float64(test)
		}
		if truth == nil || len(selected) == 0 {
			continue
		}
		rows++
		x.Local.add(selected, truth)
		x.Global.add(byMean[:len(selected)], truth)
		x.Frequent.add(byFrequency[:len(selected)], truth)
		x.Chance += float64(len(truth)) / float64(g.Features)
	}
	for _, r := range []*Recovery{&x.Local, &x.Global, &x.Frequent} {
		r.Recall /= rows
		r.Precision /= rows
	}
	x.Published.Recall /= patterned
	x.Published.Precision /= patterned
	x.Chance /= rows
	return x, nil
}

func (r *Recovery) add(selected, truth []int32) {
	hits := 0.0
	for _, j := range selected {
		if _, ok := slices.BinarySearch(truth, j); ok {
			hits++
		}
	}
	r.Recall += hits / float64(len(truth))
	r.Precision += hits / float64(len(selected))
}

// descending returns the indices by falling value, ties ascending.
func descending(v []float64) []int32 {
	order := make([]int32, len(v))
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if v[a] > v[b] {
			return -1
		} else if v[a] < v[b] {
			return 1
		}
		return 0
	})
	return order
}
