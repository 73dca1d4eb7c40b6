package evaluate

import (
	"context"
	"fmt"

	"liftstream/model"
)

// Fold says in which fold a record is scored, from 0; negative = it is only learnt from. It is asked once for each
// record in every pass over the source, in stream order, and must answer the same each time.
type Fold func(index int64, class int32) int

// StratifiedFolds returns the maker of a Fold of k folds whose classes are spread evenly: the j-th record of a class
// goes to fold pi(j mod k), where pi is a permutation drawn by the hash of (seed, class, j / k). A maker is called once
// for each pass. Records without a class are treated as a class of their own.
func StratifiedFolds(k int, seed uint64) func() Fold {
	return func() Fold {
		seen := map[int32]int{}
		perm := map[int32][]int{}
		return func(_ int64, class int32) int {
			j := seen[class]
			seen[class]++
			pi := perm[class]
			if j%k == 0 {
				pi = pi[:0]
				for n := range k {
					pi = append(pi, n)
				}
				for n := k - 1; n > 0; n-- {
					o := int(model.Hash(seed, uint64(uint32(class)), uint64(j/k), uint64(n)) % uint64(n+1))
					pi[n], pi[o] = pi[o], pi[n]
				}
				perm[class] = pi
			}
			return pi[j%k]
		}
	}
}

// Folds is cross-validation: for each of k folds the methods learn every other record from nothing, a method with a
// Spec by one exact fit of all of them as the command fit does it, and score the records of the fold. The sink gets the
// records fold by fold; Set.Sort brings them back into stream order. fold is called before each pass over the source.
func Folds(
	ctx context.Context, s *model.Schema, src Source, methods []Method, k int, fold func() Fold, sink Sink,
) (Run, error) {
	run := Run{Protocol: "folds", Partitions: 1, Stability: (&change{}).stability()}
	for f := range k {
		d := newDriver(s, methods, Options{}, func(*Record) error { return nil })
		builders := make([]*model.Builder, len(methods))
		for m := range methods {
			if methods[m].Spec != nil {
				builders[m] = model.NewBuilder(methods[m].Spec)
				d.learners[m][0], d.live[m] = idle{}, nil
			}
		}
		train := func(index int64, b *model.Batch, i, of int) error {
			if of == f {
				return nil
			}
			if b.Label[i] >= 0 {
				run.Learnt++
			}
			return d.take(ctx, index, b, i, b.Label[i], builders)
		}
		n, err := pass(src, fold(), d, train)
		run.Records = n
		if err == nil {
			err = d.finish(ctx, builders)
		}
		if err != nil {
			return run, fmt.Errorf("fold %d: %w", f, err)
		}
		for m := range methods {
			if builders[m] == nil {
				continue
			}
			fitted, err := builders[m].Fit(ctx)
			if err != nil {
				return run, fmt.Errorf("fold %d: %s: %w", f, methods[m].Name, err)
			}
			p := model.NewPartition(methods[m].Spec, 0)
			if err := p.Swap(fitted); err != nil {
				return run, fmt.Errorf("fold %d: %s: %w", f, methods[m].Name, err)
			}
			d.learners[m][0], d.live[m] = p, []*model.Partition{p}
			run.Fits++
		}
		d.sink = sink
		score := func(index int64, b *model.Batch, i, of int) error {
			if of != f {
				return nil
			}
			return d.take(ctx, index, b, i, model.Unlabelled, nil)
		}
		if _, err = pass(src, fold(), d, score); err == nil {
			err = d.flush(ctx)
		}
		if err != nil {
			return run, fmt.Errorf("fold %d: %w", f, err)
		}
	}
	return run, nil
}

// pass calls each for every record with its fold, and returns their number.
func pass(
	src Source, fold Fold, d *driver, each func(index int64, b *model.Batch, i, of int) error,
) (n int64, err error) {
	for b, err := range src {
		if err != nil {
			return n, fmt.Errorf("after record %d: %w", n, err)
		}
		d.messages[0].from(b)
		for i := range b.N {
			if err := each(n, b, i, fold(n, b.Label[i])); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// take adds a record to the message, and hands it over when it is full. builders are nil where it is scored.
func (d *driver) take(
	ctx context.Context, index int64, b *model.Batch, i int, shown int32, builders []*model.Builder,
) error {
	m := d.messages[0]
	d.order = append(d.order, place{index: index, class: b.Label[i], row: int32(m.batch.N), treated: treatmentOf(b, i),
		outcomes: outcomesOf(b, i)})
	var told model.Outcomes
	if builders != nil { // a record of the fold is scored, and nothing is learnt from it
		told = outcomesOf(b, i)
	}
	m.addWith(index, i, shown, told)
	if len(d.order) < messageRows {
		return nil
	}
	return d.finish(ctx, builders)
}

func (d *driver) finish(ctx context.Context, builders []*model.Builder) error {
	for _, x := range builders {
		if x != nil {
			x.Add(&d.messages[0].batch)
		}
	}
	return d.flush(ctx)
}

// idle stands in for a method while its builder gathers the records.
type idle struct{}

func (idle) Events(*model.Batch, *model.Scores) {}

func (idle) Labels(*model.Labels) (c model.LabelCounts) { return c }
